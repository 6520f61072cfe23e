// One secret on the page: its picture, its text, its sentence, and how likely it is.

import { button, choice, element, field, freshId, segments, show } from "./elements.js";
import { WHOLE_TIME, structureOf } from "./event_shape.js";
import { say } from "./heard.js";
import { knower } from "./setting.js";
import { timeline } from "./timeline.js";
import { later } from "./when.js";
import { percent, plural } from "./words.js";

const KINDS = [
  ["presence", "Here, at any of these times"],
  ["then", "Here, then there"],
  ["at_least", "Here, several times"],
  ["text", "In my own words"],
];
const EVERY = [
  ["", "one secret over the whole time"],
  ["day", "each day is a secret of its own"],
  ["day:2", "each two neighbouring days are guarded together"],
  ["week", "each week is a secret of its own"],
  ["week:2", "each two neighbouring weeks are guarded together"],
];
/** How often an event happens, and how many neighbouring times are guarded together, as one choice. */
const oftenOf = ({ every, span }) => `${every ?? ""}${span ? `:${span}` : ""}`;

/** Make the card of the event `id`; `change(id, part)` changes it in the store. */
export function eventCard(store, id, change) {
  const mine = () => store.get("events").find((event) => event.id === id);
  const reshape = (part) => change(id, { shape: { ...mine().shape, ...part }, writer: "picture" });
  const clockOf = store.get("world").clock;
  const name = element("input", {
    type: "text",
    maxlength: "80",
    autocomplete: "off",
    on: { change: () => name.value.trim() && change(id, { name: name.value.trim() }) },
  });
  const kinds = element("div", {});
  const stages = element("div", { class: "list" });
  const every = choice(EVERY, "", (value) => {
    const [often, span] = value.split(":");
    change(id, { every: often || null, span: span ? Number(span) : null });
  });
  const text = element("textarea", { rows: "2", spellcheck: "false", autocapitalize: "off" });
  const problem = element("p", { class: "says bad small", id: freshId("problem"), hidden: true });
  const sentence = element("p", { class: "says", "aria-live": "polite" });
  const chance = element("div", {});
  let told = "";
  text.addEventListener("input", () => change(id, { formula: text.value, writer: "text", shape: null }));
  text.addEventListener("blur", () => {
    const event = mine();
    if (event?.answer?.ok) text.value = event.formula;
  });
  const textField = field("As text, in the event language", text);
  text.setAttribute("aria-describedby", problem.id);
  const node = element(
    "section",
    { class: "card", "aria-label": "Secret" },
    element(
      "div",
      { class: "row" },
      element("div", { class: "grow" }, field("Name", name)),
      button("Remove", () => store.set({ events: store.get("events").filter((event) => event.id !== id) }), {
        class: "plain",
      }),
    ),
    kinds,
    stages,
    field("How often", every),
    textField,
    problem,
    sentence,
    chance,
  );
  let drawn = null;
  let widgets = [];

  function drawStages(event) {
    const { shape } = event;
    const places = store
      .get("regions")
      .filter((region) => region.cells.length)
      .map((region) => region.name)
      .concat(store.get("geometry").border ? ["off-map"] : []);
    const key = JSON.stringify([
      shape?.kind,
      shape?.stages.length,
      places,
      shape?.stages.map((stage) => stage.region),
      shape?.times,
    ]);
    if (key !== drawn) {
      drawn = key;
      const focus = document.activeElement?.getAttribute("data-part");
      widgets = [];
      show(
        kinds,
        segments("What happened", KINDS, shape?.kind ?? "text", (kind) => {
          if (kind === "text") return change(id, { writer: "text", shape: null });
          const old = mine().shape ?? { stages: [{ region: places[0] ?? "", when: [WHOLE_TIME] }], times: 2 };
          const first = old.stages[0];
          const second = old.stages[1] ?? {
            region: places.find((place) => place !== first.region) ?? first.region,
            when: first.when.map(later),
          };
          return change(id, {
            writer: "picture",
            shape: { ...old, kind, stages: kind === "then" ? [first, second] : [first] },
          });
        }),
      );
      show(
        stages,
        shape
          ? shape.stages.map((stage, number) => stageBox(shape, stage, number, places))
          : element(
              "p",
              { class: "quiet small" },
              "Write anything that the event language can say: and, or, not, counts, patterns. A simple text turns back into a picture.",
            ),
      );
      if (focus) stages.querySelector(`[data-part="${focus}"]`)?.focus();
    }
    widgets.forEach((widget, number) => widget.update(shape.stages[number].when));
  }

  function stageBox(shape, stage, number, places) {
    const options = places.includes(stage.region) ? places : [stage.region, ...places];
    const where = choice(
      options.map((place) => [place, place || "choose a place"]),
      stage.region,
      (region) =>
        reshape({ stages: mine().shape.stages.with(number, { ...mine().shape.stages[number], region }) }),
      { "data-part": `where-${number}` },
    );
    const widget = timeline({
      times: clockOf.times,
      stepMinutes: clockOf.step_seconds / 60,
      label: `When at ${stage.region}`,
      change: (when) =>
        reshape({ stages: mine().shape.stages.with(number, { ...mine().shape.stages[number], when }) }),
    });
    widgets.push(widget);
    const count = element("input", {
      type: "number",
      min: "1",
      max: "999",
      value: String(shape.times),
      "data-part": "times",
      on: {
        change: (event) =>
          reshape({ times: Math.max(1, Math.min(999, Math.round(Number(event.target.value)) || 1)) }),
      },
    });
    return element(
      "div",
      { class: shape.stages.length > 1 ? "stage-box" : "list" },
      element(
        "div",
        { class: "row" },
        element("div", { class: "grow" }, field(number ? "and there" : "Where", where)),
        shape.kind === "at_least" ? field("At least", count) : null,
      ),
      widget.node,
    );
  }

  return {
    node,
    update(event) {
      if (document.activeElement !== name) name.value = event.name;
      drawStages(event);
      const often = oftenOf(event);
      if (![...every.options].some(({ value }) => value === often))
        every.append(
          element("option", { value: often }, `each ${event.span} neighbouring ${event.every}s together`),
        );
      if (every.value !== often) every.value = often;
      // What somebody is writing is theirs; as soon as the picture speaks, the text follows it.
      const writing = document.activeElement === text && event.writer === "text";
      if (!writing && text.value !== event.formula) text.value = event.formula;
      const { answer } = event;
      const incomplete = event.shape && !structureOf(event.shape);
      const wrong = answer && !answer.ok && !incomplete;
      problem.hidden = !wrong;
      problem.textContent = wrong ? answer.problem.message : "";
      text.setAttribute("aria-invalid", String(Boolean(wrong)));
      node.setAttribute("aria-label", `Secret: ${event.name}`);
      // What is put there anew is said anew, so the same words stay where they are.
      const words = incomplete ? "Choose a place and at least one time." : (answer?.sentence ?? "");
      if (!answer && !incomplete) show(sentence, element("span", { class: "busy" }, "reading"));
      else if (!wrong && sentence.textContent !== words) show(sentence, words);
      sentence.hidden = Boolean(wrong);
      const chances = store.get("chances");
      const group = store.get("secrets").find(({ together }) => together?.includes(id));
      const alone = group
        ? element("p", { class: "quiet small" }, `Guarded together with others in “${group.name}”.`)
        : chanceWords(chances, event, knower(store));
      show(chance, wrong || incomplete ? null : alone);
      const likely = [...chance.querySelectorAll("p")].map((each) => each.textContent).join(" ");
      if (chances?.state === "known" && likely !== told) {
        told = likely;
        if (store.get("tab") === "secrets") say(`${event.name}: ${likely}`);
      }
    },
  };
}

/** How far the beliefs of the chosen adversary go; nothing where they are one. */
function beliefsWords({ lowest, highest }) {
  const [low, high] = [percent(lowest), percent(highest)];
  return low === high ? "" : `Between ${low} and ${high}, depending on the belief of the adversary.`;
}

/** How likely something guarded is; `before` are words before the figure. */
export function chanceWords(chances, event, known, before = "") {
  if (!event.answer?.ok) return null;
  const found = (chances?.events ?? []).filter((each) => each.event === event.name);
  if (chances?.state === "failed") return element("p", { class: "says bad small" }, chances.message);
  if (found.length === 0)
    return chances?.state === "computing" ? element("span", { class: "busy" }, "How likely is it?") : null;
  const guess = found.map((each) => each.population).filter((each) => each !== null);
  const lowest = Math.min(...guess);
  const highest = Math.max(...guess);
  const head =
    percent(lowest) === percent(highest) ? percent(highest) : `${percent(lowest)} to ${percent(highest)}`;
  return element(
    "div",
    { class: chances.state === "computing" ? "computing" : "" },
    before ? element("p", { class: "quiet small" }, before) : null,
    element("p", { class: "chance" }, head),
    element(
      "p",
      { class: "quiet small" },
      `likely before any release, to ${known}${found.length > 1 ? ` (${plural(found.length, "period")})` : ""}. ${found.length === 1 ? beliefsWords(found[0]) : ""}`,
    ),
    found.length > 1 || event.answer.unguarded?.length
      ? element(
          "details",
          { class: "occurrences" },
          element("summary", {}, found.length > 1 ? `Each of the ${found.length} by itself` : "Not guarded"),
          element(
            "ul",
            { class: "list" },
            found.map((each) => element("li", {}, `${each.name}: ${each.words}`)),
            (event.answer.unguarded ?? []).map((each) =>
              element("li", { class: "quiet" }, `${each.period}: ${each.reason}`),
            ),
          ),
        )
      : null,
  );
}
