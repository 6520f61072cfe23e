// Two settings side by side: one that was kept, and the one at hand.

import { button, drawing, element, show } from "./elements.js";
import { chart, finiteMost } from "./charts.js";
import { placesOf } from "./strip.js";
import { finite } from "./api.js";
import { curvesOf } from "./prior.js";
import { atWork, isBusy } from "./forecast.js";
import { describe } from "./description.js";
import { secretsOf } from "./secrets.js";
import { same, settingOf } from "./setting.js";
import { exact, metres, odds, percent, times } from "./words.js";

export function openCompare(store, view) {
  const body = element("div", { class: "list" });
  const keep = button(
    "Keep the setting at hand as A",
    () => {
      const forecast = store.get("forecast");
      const run = store.get("run");
      store.set({
        kept: {
          setting: settingOf(store),
          words: describe(store),
          forecast: ready(forecast),
          run: run?.done && same(run.setting, settingOf(store)) ? run : null,
        },
      });
    },
    { class: "main" },
  );
  show(
    view,
    element("h2", { tabindex: "-1" }, "Compare two settings"),
    element(
      "p",
      { class: "quiet" },
      "Keep one as A, change anything, run or forecast again: B is always the setting at hand.",
    ),
    element(
      "div",
      { class: "row" },
      keep,
      button("Swap A and B", () => swap(store), { "data-swap": "yes" }),
    ),
    body,
  );

  const curves = element("div", { class: "list" });
  const atHand = () => {
    const run = store.get("run");
    return {
      words: describe(store),
      forecast: store.get("forecast"),
      run: run?.done && same(run.setting, settingOf(store)) ? run : null,
    };
  };
  let frame = null;
  store.watch(["kept", "run", "protection", "events", "regions", "tab", "shown"], () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      if (store.get("world") && store.get("tab") === "compare")
        show(curves, together(store.get("kept")?.run, atHand().run, store.get("shown")));
    });
  });

  store.watch(["kept", "forecast", "run", "protection", "events", "regions", "tab"], () => {
    if (!store.get("world") || store.get("tab") !== "compare") return;
    const kept = store.get("kept");
    view.querySelector("[data-swap]").disabled = !kept;
    const hand = atHand();
    const { clock } = store.get("world");
    show(
      body,
      kept
        ? [
            table(kept, hand),
            curves,
            element("div", { class: "pair" }, side("A", kept, clock), side("B", hand, clock)),
          ]
        : [
            element(
              "div",
              { class: "empty" },
              "Nothing is kept yet. Keep the setting at hand as A, then change something.",
            ),
            side("B", hand, clock),
          ],
    );
  });
}

/** Leakage and belief of both runs about every secret they share, on one scale. */
function together(kept, hand, now) {
  if (!kept || !hand) return null;
  const both = hand.start.events
    .map((event, place) => ({
      event,
      b: curvesOf(hand, place, "worst", null),
      other: kept.start.events.findIndex(({ name }) => name === event.name),
    }))
    .filter(({ other }) => other >= 0)
    .map((each) => ({ ...each, a: curvesOf(kept, each.other, "worst", null) }));
  if (!both.length)
    return element("p", { class: "quiet small" }, "The two runs share no secret, so their curves are apart.");
  const longer = kept.start.steps > hand.start.steps ? kept : hand;
  const top = (part, pick) =>
    Math.max(...both.flatMap(({ a, b }) => [finiteMost(a[part]), finiteMost(b[part])]), ...both.map(pick));
  const leakage =
    1.25 *
    Math.max(
      0.08,
      top("leakage", ({ event, other }) => limit(event, kept, other, "bound")),
    );
  const sure = ({ b, event, other }) => Math.max(b.before ?? 0, limit(event, kept, other, "cap"));
  const belief = Math.min(1, 1.15 * Math.max(0.05, top("belief", sure)));
  return element(
    "section",
    { class: "card" },
    element("h3", {}, "What the adversary learns from each"),
    element(
      "ul",
      { class: "keys", "aria-hidden": "true" },
      element("li", {}, element("span", { class: "line is-kept" }), "A"),
      element("li", {}, element("span", { class: "line is-released" }), "B"),
      element("li", {}, element("span", { class: "line is-limit" }), "guaranteed"),
      element("li", {}, element("span", { class: "box when-key" }), "the secret’s time"),
    ),
    both.map(({ event, a, b, other }) => {
      const common = {
        steps: Math.max(kept.start.steps, hand.start.steps),
        marks: event.steps,
        now,
        moments: [longer.steps[0]?.label, longer.steps.at(-1)?.label].filter(Boolean),
      };
      const words = (part, format) =>
        `${event.name}: at most ${format(finiteMost(a[part]))} in A, ${format(finiteMost(b[part]))} in B.`;
      return [
        element("h4", {}, event.name),
        chart({
          ...common,
          title: "How far odds can have moved",
          words: words("leakage", odds),
          curves: [
            ["kept", a.leakage],
            ["with", b.leakage],
          ],
          limits: [event.bound, kept.start.events[other].bound],
          top: leakage,
          format: times,
        }),
        chart({
          ...common,
          title: "How sure that it happened",
          words: words("belief", percent),
          curves: [
            ["kept", a.belief],
            ["with", b.belief],
          ],
          limits: [event.cap, kept.start.events[other].cap],
          level: b.before,
          top: belief,
          format: (value) => `${exact(100 * value, 1)} %`,
        }),
      ];
    }),
  );
}

const limit = (event, kept, other, part) => Math.max(event[part] ?? 0, kept.start.events[other][part] ?? 0);

/** A forecast that can be kept: there is an answer, better ones may have been on their way. */
const ready = (forecast) =>
  ["known", "refining"].includes(forecast?.state) ? { ...forecast, state: "known" } : null;

function side(name, { words, forecast, run }, clock) {
  const found = forecast?.found;
  return element(
    "section",
    { class: "card" },
    element("h3", {}, name),
    element(
      "ul",
      { class: "list small" },
      words.map((line) => element("li", {}, line)),
    ),
    element("h4", {}, "Forecast"),
    isBusy(forecast) ? element("span", { class: "busy" }, atWork(forecast)) : null,
    element(
      "p",
      { class: "small" },
      forecast?.state === "failed" || forecast?.state === "missing"
        ? forecast.message
        : (found?.sentence ?? (forecast?.state === "computing" ? "" : "Not computed.")),
    ),
    element("h4", {}, "Run"),
    run
      ? [element("p", { class: "small" }, run.done.sentence), smallStrip(run, clock, name)]
      : element("p", { class: "quiet small" }, "Not run yet."),
  );
}

/** The strip of a run in a small picture: neighbouring steps of one level are one piece. */
function smallStrip(run, clock, name) {
  const places = placesOf(clock.times, clock.step_seconds);
  const days = (places.at(-1)?.row ?? 0) + 1;
  const svg = drawing("svg", {
    viewBox: `0 0 240 ${days * 8}`,
    role: "img",
    "aria-label": `${name}: every day a row, coloured by how far releases were from the truth. ${run.done.usefulness ?? ""}`,
    class: "small-strip",
  });
  let piece = null;
  const put = () =>
    piece &&
    svg.append(
      drawing("rect", {
        x: (240 * piece.begin).toFixed(1),
        y: 8 * piece.row,
        width: (240 * (piece.end - piece.begin)).toFixed(1),
        height: 7,
        class: `level-${piece.level}`,
      }),
    );
  run.steps.forEach(({ level }, step) => {
    const { row, begin, end } = places[step];
    if (piece && piece.row === row && piece.level === level && piece.end >= begin - 1e-9) piece.end = end;
    else {
      put();
      piece = level < 0 ? null : { row, begin, end, level };
    }
  });
  put();
  return svg;
}

/** The numbers of both runs, or of both forecasts, in one table. */
function table(kept, hand) {
  const rows = [];
  const line = (words, a, b, format) =>
    rows.push(
      element(
        "tr",
        {},
        element("td", {}, words),
        element("td", {}, format(a)),
        element("td", { class: format(a) === format(b) ? null : "differs" }, format(b)),
      ),
    );
  const way = (each) => each.run?.done.ways["with priste"] ?? null;
  const cost = (each, part) => each.forecast?.found?.[part]?.metres ?? null;
  line("run: mean error", finite(way(kept)?.everywhere), finite(way(hand)?.everywhere), metres);
  line("run: far from the secret", finite(way(kept)?.far), finite(way(hand)?.far), metres);
  line("run: near it", finite(way(kept)?.near), finite(way(hand)?.near), metres);
  line("run: released exactly", finite(way(kept)?.exact), finite(way(hand)?.exact), percent);
  const most = (each) =>
    each.run
      ? Math.max(...each.run.steps.flatMap((step) => step.events.map((event) => event.leakage)))
      : null;
  line("run: odds moved at most", most(kept), most(hand), odds);
  line("forecast: far", cost(kept, "far"), cost(hand, "far"), metres);
  line("forecast: near", cost(kept, "near"), cost(hand, "near"), metres);
  return element(
    "section",
    { class: "card" },
    element("h3", {}, "Side by side"),
    element(
      "table",
      { class: "compare-table" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ["", "A", "B"].map((head) => (head ? element("th", { scope: "col" }, head) : element("td", {}))),
        ),
      ),
      element("tbody", {}, rows),
    ),
  );
}

/** Take A back to hand, and keep what was at hand. */
function swap(store) {
  const kept = store.get("kept");
  if (!kept) return;
  const now = settingOf(store);
  const run = store.get("run");
  const forecast = store.get("forecast");
  const {
    adversary: { also = [], ...adversary },
    guarantee,
    mechanism,
    calibrator,
  } = kept.setting;
  const next = {
    setting: now,
    words: describe(store),
    forecast: ready(forecast),
    run: run?.done && same(run.setting, now) ? run : null,
  };
  const old = store.get("regions");
  const regions = kept.setting.regions.map((region, number) => ({
    ...region,
    tone: old.find((each) => each.name === region.name)?.tone ?? number,
  }));
  const events = kept.setting.events.map((event, number) => ({
    ...(store.get("events")[number] ?? { id: -1 - number }),
    ...event,
    shape: null,
    answer: null,
    writer: null,
  }));
  store.set({
    kept: next,
    protection: { ...store.get("protection"), adversary, also, guarantee, mechanism, calibrator },
    regions,
    activeRegion: 0,
    events,
    secrets: secretsOf(kept.setting.secrets, events),
    run: kept.run ?? run,
    shown: kept.run ? kept.run.steps.length - 1 : store.get("shown"),
    forecast: kept.forecast ?? { state: "computing" },
  });
}
