// Protection: the adversary and the guarantee in words; the expert's numbers one click away.

import { button, checkbox, choice, element, field, freshId, segments, show } from "./elements.js";
import { openForecast } from "./forecast.js";
import { openKnowledge } from "./knowledge.js";
import { isOneOfMany, knowsHome } from "./setting.js";
import { exact, metres } from "./words.js";

const KINDS = [
  ["both", "Neither that it happened nor that it did not"],
  ["up", "Only that it happened"],
  ["belief", "How sure the adversary gets"],
];

const kindOf = (guarantee) =>
  "belief_at_most" in guarantee ? "belief" : "epsilon" in guarantee ? "both" : "up";

/** The number of a guarantee that its slider moves. */
const size = (guarantee) =>
  guarantee.belief_at_most ?? guarantee.epsilon ?? guarantee.odds_up ?? guarantee.odds_down;

export function openProtection(store, view, glance, api) {
  const whom = slider("Which adversary?", "knows the population", "any prior");
  const sure = slider("How sure may the adversary get?", "not at all", "quite sure");
  const blur = slider("How much noise before calibration, at most?", "exact where allowed", "very vague");
  const besides = element("fieldset", {});
  const sizeNote = element("p", { class: "says note small", hidden: true });
  const kinds = element("div", {});
  const expert = element("div", { class: "expert" });
  const words = element("div", { class: "list" });
  const forecast = element("div", { class: "list" });
  show(
    view,
    element("h2", { tabindex: "-1" }, "Against which adversary, and how strictly?"),
    element("section", { class: "card" }, whom.node, besides, sizeNote),
    element("section", { class: "card" }, kinds, sure.node),
    element("section", { class: "card" }, blur.node),
    openKnowledge(store, (part) => change(part), api),
    element(
      "details",
      {},
      element("summary", {}, "The expert’s numbers"),
      element("section", { class: "card" }, expert),
    ),
    element("section", { class: "card" }, element("h3", {}, "What it will cost"), forecast),
    element(
      "details",
      {},
      element("summary", {}, "The whole guarantee in words"),
      element("section", { class: "card" }, words),
    ),
    element(
      "div",
      { class: "row next" },
      button("Next: watch the adversary", () => store.set({ tab: "run" }), { class: "main" }),
    ),
  );
  store.watch(["tab"], () => {
    glance.hidden = store.get("tab") !== "protection";
  });
  const change = (part) => store.set({ protection: { ...store.get("protection"), ...part } });

  // --- sliders -------------------------------------------------------------------------------------------
  const ladders = () => {
    const world = store.get("world");
    const kind = kindOf(store.get("protection").guarantee);
    return {
      adversaries: world.adversaries,
      guarantees: kind === "belief" ? world.beliefs : kind === "up" ? world.upward : world.guarantees,
      noises: world.protections,
    };
  };
  whom.move((place) => change({ adversary: ladders().adversaries[place].adversary }));
  /** Another guarantee; guarded hours are a choice of their own. */
  const bound = (guarantee) => {
    const { guarded_hours: hours } = store.get("protection").guarantee;
    change({ guarantee: { ...guarantee, ...(hours ? { guarded_hours: hours } : {}) } });
  };
  sure.move((place) => bound(ladders().guarantees[place].guarantee));
  blur.move((place) =>
    change({ mechanism: { kind: "planar-laplace", alpha: ladders().noises[place].alpha } }),
  );

  // Places that one who knows the population may know besides: most people know where somebody lives.
  store.watch(["world", "protection", "regions"], () => {
    if (!store.get("world")) return;
    const { adversary, also } = store.get("protection");
    const places = store
      .get("regions")
      .filter((region) => region.cells.length)
      .map((region) => region.name);
    besides.hidden = adversary.knows !== "population" || places.length === 0;
    // Boxes stay while they are pressed; only another list of places makes new ones.
    const key = JSON.stringify(places);
    if (besides.dataset.key !== key) {
      besides.dataset.key = key;
      const turn = (name) => (on) =>
        change({
          also: places.filter((place) =>
            place === name ? on : store.get("protection").also.includes(place),
          ),
        });
      show(
        besides,
        element("legend", {}, "and may know that the week began at"),
        element(
          "div",
          { class: "row" },
          places.map((name) => checkbox(name, also.includes(name), turn(name))),
        ),
      );
    }
    besides.querySelectorAll("input").forEach((box, place) => {
      box.checked = also.includes(places[place]);
    });
  });

  store.watch(["world", "protection", "regions"], () => {
    if (!store.get("world")) return;
    const { adversary, guarantee, mechanism } = store.get("protection");
    const { adversaries, guarantees, noises } = ladders();
    const at = nearestAdversary(adversaries, adversary);
    const inWords = (entry) => (knowsHome(store) ? entry : entry.without_home);
    whom.show(adversaries.length, at, inWords(adversaries[at]).title, inWords(adversaries[at]).words);
    whom.begin(inWords(adversaries[0]).title);
    const { too_large: tooLarge, slow } = store.get("world").against_many;
    const large = isOneOfMany(store) ? tooLarge || slow : "";
    if (sizeNote.textContent !== large) sizeNote.textContent = large;
    sizeNote.hidden = !large;
    sizeNote.className = tooLarge ? "says bad small" : "says note small";
    const step = nearest(
      guarantees.map((entry) => size(entry.guarantee)),
      size(guarantee),
    );
    sure.show(
      guarantees.length,
      step,
      guaranteeTitle(guarantee),
      guarantees[step].words && sameNumber(size(guarantees[step].guarantee), size(guarantee))
        ? guarantees[step].words
        : "",
    );
    if (mechanism.kind === "planar-laplace") {
      const place = nearest(
        noises.map((entry) => Math.log(entry.alpha)),
        Math.log(mechanism.alpha),
      );
      const known = sameNumber(noises[place].alpha, mechanism.alpha);
      blur.show(
        noises.length,
        place,
        known ? noises[place].title : `about ${metres(2000 / mechanism.alpha)}`,
        known ? (noises[place].words ?? "") : "",
      );
      blur.node.hidden = false;
    } else blur.node.parentNode.hidden = mechanism.kind !== "planar-laplace";
    const kind = kindOf(guarantee);
    if (kinds.dataset.kind !== kind) {
      kinds.dataset.kind = kind;
      const focused = kinds.contains(document.activeElement);
      show(
        kinds,
        segments(
          "What stays deniable",
          KINDS,
          kind,
          (value) => {
            const world = store.get("world");
            const number = size(store.get("protection").guarantee);
            if (value === "belief") bound(world.beliefs[Math.floor(world.beliefs.length / 2)].guarantee);
            else {
              const epsilon = kindOf(store.get("protection").guarantee) === "belief" ? 1 : number;
              bound(value === "up" ? { odds_up: epsilon } : { epsilon });
            }
          },
          { heard: true },
        ),
      );
      if (focused) kinds.querySelector(":checked").focus();
    }
    showExpert();
  });

  // --- the expert's numbers --------------------------------------------------------------------------------------
  function showExpert() {
    if (expert.contains(document.activeElement) && document.activeElement.matches("input")) return;
    const { adversary, guarantee, mechanism, calibrator, seed } = store.get("protection");
    const number = (label, value, set, more = {}) =>
      field(
        label,
        element("input", {
          type: "number",
          step: "any",
          min: "0",
          value: String(value),
          ...more,
          on: {
            change: (event) => {
              const found = Number(event.target.value);
              if (event.target.value !== "" && Number.isFinite(found)) set(found);
            },
          },
        }),
      );
    const kind = kindOf(guarantee);
    const rows = [];
    if (kind === "both")
      rows.push(number("ε, both ways", guarantee.epsilon, (epsilon) => bound({ epsilon })));
    if (kind === "up") rows.push(number("ε, upwards", guarantee.odds_up, (up) => bound({ odds_up: up })));
    if (kind === "belief")
      rows.push(
        number("belief at most", guarantee.belief_at_most, (most) => bound({ belief_at_most: most }), {
          max: "1",
        }),
      );
    if (mechanism.kind === "planar-laplace")
      rows.push(
        number("α, per km", exactNumber(mechanism.alpha), (alpha) =>
          change({ mechanism: { ...mechanism, alpha } }),
        ),
      );
    rows.push(
      field(
        "Mechanism",
        choice(
          [
            ["planar-laplace", "planar Laplace"],
            ["identity", "exact cells"],
            ["uniform", "nothing"],
          ],
          mechanism.kind,
          (value) =>
            change({ mechanism: value === "planar-laplace" ? { kind: value, alpha: 4 } : { kind: value } }),
        ),
      ),
    );
    if (adversary.knows === "near")
      rows.push(
        number("within a factor", adversary.factor, (factor) =>
          change({ adversary: { ...adversary, factor } }),
        ),
      );
    if (adversary.knows === "stale")
      rows.push(
        number("stale by hours", adversary.hours, (hours) => change({ adversary: { ...adversary, hours } })),
      );
    const makers = store
      .get("info")
      ?.calibrators.filter((each) => each.guarantee)
      .map((each) => each.name) ?? [calibrator];
    rows.push(
      field(
        "Calibrator",
        choice(
          makers.map((name) => [name, name]),
          calibrator,
          (value) => change({ calibrator: value }),
        ),
      ),
    );
    rows.push(
      field(
        "Seed",
        element("input", {
          type: "number",
          min: "0",
          step: "1",
          value: seed === null ? "" : String(seed),
          on: {
            change: (event) =>
              change({
                seed: event.target.value === "" ? null : Math.max(0, Math.round(Number(event.target.value))),
              }),
          },
        }),
        "Leave it empty for private draws. A number repeats a run, for experiments.",
      ),
    );
    show(expert, rows);
  }

  openForecast(store, { node: forecast, glance, words }, api);
}

/** Titles for guarantees of any number, also those that no stop of the slider has. */
function guaranteeTitle(guarantee) {
  if ("belief_at_most" in guarantee)
    return `The adversary gets at most ${exact(100 * guarantee.belief_at_most, 1)} % sure`;
  const factor = exact(Math.exp(size(guarantee)), 2);
  return "epsilon" in guarantee
    ? `Odds move at most ${factor} times, up or down`
    : `Odds rise at most ${factor} times`;
}

const sameNumber = (a, b) => Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(a));
const exactNumber = (value) => Number(value.toPrecision(6));

function nearest(values, value) {
  let best = 0;
  values.forEach((each, place) => {
    if (Math.abs(each - value) < Math.abs(values[best] - value)) best = place;
  });
  return best;
}

function nearestAdversary(adversaries, { knows, factor, hours }) {
  const alike = adversaries
    .map((entry, place) => [entry.adversary, place])
    .filter(([each]) => each.knows === knows);
  if (alike.length === 0) return adversaries.length - 1;
  const wanted = factor ?? hours ?? 0;
  return alike.reduce((best, next) =>
    Math.abs((next[0].factor ?? next[0].hours ?? 0) - wanted) <
    Math.abs((best[0].factor ?? best[0].hours ?? 0) - wanted)
      ? next
      : best,
  )[1];
}

/** A slider whose value is a sentence; the browser's own range input keeps it usable for all. */
function slider(title, low, high) {
  const input = element("input", { type: "range", min: "0", max: "1", step: "1", id: freshId("slider") });
  const output = element("output", { for: input.id });
  const begin = element("span", {}, low);
  const more = element("p", { class: "quiet small" });
  const node = element(
    "div",
    { class: "field slider" },
    element("label", { for: input.id }, title),
    output,
    input,
    element("div", { class: "ends", "aria-hidden": "true" }, begin, element("span", {}, high)),
    more,
  );
  return {
    node,
    begin: (words) => (begin.textContent = `${words.charAt(0).toLowerCase()}${words.slice(1)}`),
    move: (listener) => input.addEventListener("input", () => listener(Number(input.value))),
    show(count, place, words, sentence) {
      input.max = String(count - 1);
      input.value = String(place);
      input.setAttribute("aria-valuetext", words);
      output.textContent = words;
      more.textContent = sentence ?? "";
    },
  };
}
