// A run: releases are made one by one on this machine, and shown as they are made.

import { button, choice, element, field, show } from "./elements.js";
import { finite, inWords, unpacked } from "./api.js";
import { beliefChart, chartKeys, chartTable, leakageChart } from "./charts.js";
import { describe } from "./description.js";
import { say } from "./heard.js";
import { curvesOf, openPrior } from "./prior.js";
import { openStrip } from "./strip.js";
import { missing, same, settingOf } from "./setting.js";
import { exact, metres, offWords, percent, plural } from "./words.js";

/** Take a step message into the form that the page draws. */
function stepOf(message) {
  return {
    time: message.time,
    label: message.label,
    truth: message.true_at,
    released: message.released_at,
    releasedCell: message.released,
    error: message.error_m,
    level: message.level,
    budget: finite(message.budget),
    events: message.events.map((event) => ({ ...event, leakage: finite(event.leakage) })),
    uncalibrated: message.uncalibrated?.at ?? null,
    uncalibratedError: message.uncalibrated?.error_m ?? null,
    uncalibratedEvents: message.uncalibrated?.events.map((event) => ({ ...event, leakage: finite(event.leakage) })) ?? null,
  };
}

export class Runner {
  #store;
  #api;
  #reading = null;

  constructor(store, api) {
    this.#store = store;
    this.#api = api;
  }

  async start() {
    const setting = settingOf(this.#store);
    const { seed } = this.#store.get("protection");
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    // `touched` grows with every change of the steps, which are one array that only ever gets longer.
    let run = {
      id: null,
      state: "queued",
      words: "starting",
      start: null,
      steps: [],
      done: null,
      message: null,
      setting,
      seed,
    };
    const tell = (part) => {
      if (reading.signal.aborted) return;
      run = { ...run, ...part };
      this.#store.set({ run });
    };
    this.#store.set({ run, shown: null, follow: true, view: null, playing: false });
    try {
      const forecast = this.#store.get("forecastJob");
      // A forecast that is still at work would keep the run waiting.
      if (forecast && ["computing", "refining"].includes(this.#store.get("forecast")?.state))
        await this.#api.post(`/jobs/${forecast}/cancel`).catch(() => {});
      const { run: id } = await this.#api.post("/runs", { setting, ...(seed === null ? {} : { seed }) });
      tell({ id });
      for await (const { name, data } of this.#api.events(`/jobs/${id}/events`, { signal: reading.signal })) {
        if (reading.signal.aborted) return;
        if (name === "started" || name === "progress") tell({ words: data.words });
        else if (name === "start")
          tell({
            state: "running",
            start: {
              ...data,
              events: data.events.map((event) => ({
                ...event,
                bound: finite(event.bound),
                steps: unpacked(event.steps),
              })),
            },
          });
        else if (name === "step") {
          run.steps[data.step] = stepOf(data);
          tell({});
          if (this.#store.get("follow")) this.#store.set({ shown: data.step });
        } else if (name === "done") tell({ state: "done", done: data });
        else if (name === "failed")
          tell({ state: "failed", message: [data.message, data.hint].filter(Boolean).join(" ") });
        else if (name === "cancelled") tell({ state: "cancelled" });
      }
    } catch (error) {
      tell({ state: "failed", message: inWords(error) });
    }
  }

  async cancel() {
    const run = this.#store.get("run");
    if (!run?.id) return;
    this.#store.set({ run: { ...run, words: "stopping" } });
    await this.#api.post(`/jobs/${run.id}/cancel`).catch(() => {});
  }
}

export function openRun(store, view, api) {
  const runner = new Runner(store, api);
  const head = element("div", { class: "list" });
  const results = element("div", { class: "list" });
  const prior = openPrior(store, api);
  const strip = openStrip(store);
  const charts = element("div", { class: "list" });
  const table = chartTable();
  const pick = element("div", {});
  const tiles = element("div", { class: "tiles" });
  const verdict = element("div", {});
  show(
    results,
    verdict,
    tiles,
    element(
      "section",
      { class: "card" },
      element("h3", {}, "What the adversary learns"),
      pick,
      prior,
      chartKeys(),
      charts,
      table.node,
    ),
    element("section", { class: "card" }, element("h3", {}, "When it is vague"), strip),
    element(
      "div",
      { class: "row next" },
      button("Compare with another setting", () => store.set({ tab: "compare" })),
      button("Export", () => store.set({ tab: "export" }), { class: "main" }),
    ),
  );
  show(view, element("h2", {}, "Watch the adversary"), head, results);

  // --- start, stop, state ---------------------------------------------------------------------------------
  const go = button("Run the week", () => runner.start(), { class: "main large" });
  const stop = button("Stop", () => runner.cancel());
  const bar = element("progress", { max: "1", value: "0", "aria-label": "Releases made" });
  const state = element("div", {});
  show(
    head,
    element(
      "p",
      { class: "quiet" },
      "Every step of the week is released as the setting says, in order, with nothing leaving this machine.",
    ),
    element("div", { class: "row" }, go, stop),
    bar,
    state,
  );

  store.watch(["run", "events", "regions", "protection", "world"], () => {
    if (!store.get("world")) return;
    const run = store.get("run");
    const wrong = missing(store);
    const busy = run && (run.state === "queued" || run.state === "running");
    go.disabled = Boolean(wrong) || Boolean(busy);
    go.textContent = run && !busy ? "Run again" : "Run the week";
    stop.hidden = !busy;
    bar.hidden = !busy;
    results.hidden = !run?.start;
    const total = run?.start?.steps ?? store.get("world").clock.steps;
    if (busy) bar.value = run.steps.length / total;
    const changed = run && !busy && !same(settingOf(store), run.setting);
    const parts = [];
    if (wrong) parts.push(element("p", { class: "says note" }, wrong));
    else if (!run) parts.push(beforehand(store));
    if (busy && !run.start) parts.push(element("span", { class: "busy" }, run.words ?? "preparing"));
    if (busy && run.start)
      parts.push(element("span", { class: "busy" }, `${run.steps.length} of ${total} released`));
    if (run?.state === "failed") parts.push(element("p", { class: "says bad", role: "alert" }, run.message));
    if (run?.state === "cancelled")
      parts.push(
        element(
          "p",
          { class: "says note" },
          `Stopped after ${plural(run.steps.length, "release")}. What is shown is what was released until then.`,
        ),
      );
    if (changed && !wrong)
      parts.push(
        element(
          "p",
          { class: "says note" },
          "The setting has changed since this run. Run again to see what it does now.",
        ),
      );
    show(state, parts);
    if (run) say(worthHearing(run, total));
  });

  // --- what it showed --------------------------------------------------------------------------------------
  let frame = null;
  store.watch(["run", "shown", "view", "prior", "chosenEvent", "tab"], () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      if (store.get("tab") === "run" && store.get("run")?.start) draw(store.get("run"));
    });
  });

  const sentenceOf = ({ event, text }) =>
    store.get("events").find((each) => each.name === event)?.answer?.sentence ?? text;

  function draw(run) {
    const shown = store.get("shown") ?? run.steps.length - 1;
    const done = run.steps.slice(0, shown + 1);
    const mean = (pick) => {
      const values = done.map(pick).filter((value) => value !== null && value !== undefined);
      return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
    };
    const now = done.at(-1);
    show(
      tiles,
      tile(metres(mean((step) => step.error)), "mean distance so far"),
      tile(metres(mean((step) => step.uncalibratedError)), "noise alone, so far"),
      tile(now ? metres(now.error) : "–", now ? now.label : "nothing yet"),
    );
    show(verdict, run.done ? verdictCard(run) : null);
    const events = run.start.events;
    const number = Math.min(store.get("chosenEvent"), events.length - 1);
    const key = events.map((event) => event.name).join("|");
    if (pick.dataset.key !== key) {
      pick.dataset.key = key;
      show(
        pick,
        events.length > 1
          ? field(
              "Which secret",
              choice(
                events.map((event, place) => [String(place), event.name]),
                String(number),
                (value) => store.set({ chosenEvent: Number(value) }),
              ),
            )
          : null,
      );
    }
    const event = events[number];
    if (!event) return show(charts, element("p", { class: "quiet" }, "No secret was named."));
    const curves = curvesOf(run, number, store.get("prior"), store.get("view"));
    const worst = store.get("view")?.events[number]?.worst ?? now?.events[number]?.worst ?? [];
    store.set({ worstShown: worst.map(([cell, share]) => ({ cell, share })) });
    const common = {
      curves,
      steps: run.start.steps,
      marks: event.steps,
      now: shown,
      moments: [0, run.start.steps - 1].map((step) => store.get("world").clock.labels[step]),
    };
    table.update(
      event.name,
      `${number}:${run.id}:${run.steps.length}:${store.get("prior")}:${Boolean(store.get("view"))}`,
      () =>
        run.steps.map((step, place) => [
          step.label,
          step.releasedCell < 0 ? "none" : String(step.releasedCell),
          metres(step.error),
          exact(curves.leakage[place], 3),
          exact(nothing(curves.uncalibratedLeakage[place]), 3),
          percent(curves.belief[place]),
          percent(nothing(curves.uncalibratedBelief[place])),
        ]),
    );
    return show(
      charts,
      element(
        "p",
        { class: "small" },
        event.sentence ?? sentenceOf(event),
        " ",
        element("span", { class: "quiet" }, `Guaranteed: ${event.guarantee}.`),
      ),
      leakageChart({ ...common, bound: event.bound }),
      beliefChart({ ...common, cap: event.cap }),
      worst.length && store.get("prior") === "worst"
        ? element("p", { class: "small quiet" }, worstWords(worst, store.get("regions")))
        : null,
    );
  }
  return runner;
}

/** What is said of a run: its beginning and end, the first release, and every quarter of them. */
function worthHearing(run, total) {
  const count = run.steps.length;
  const quarter = Math.floor((4 * count) / total);
  if (run.state === "queued") return "The run begins.";
  if (run.state === "cancelled") return `The run was stopped after ${plural(count, "release")}.`;
  if (run.state === "failed") return `The run failed. ${run.message}`;
  if (run.state === "done") return `The run is over. ${run.done.sentence} ${run.done.usefulness ?? ""}`;
  if (count === 0) return "The first release is being made.";
  const last = run.steps[quarter ? Math.ceil((quarter * total) / 4) - 1 : 0];
  const first = `The first ${last.released ? "release" : "step"} is there:`;
  const place = quarter ? `${quarter} of 4 parts are released, up to` : first;
  return `${place} ${last.label}, ${offWords(last)}.`;
}

/** What will be run: nobody should have to go back to see it. */
function beforehand(store) {
  const said = store.get("events").map((event) => event.answer?.sentence).filter(Boolean);
  return element(
    "section",
    { class: "card" },
    element("h3", {}, "What will be run"),
    element(
      "ul",
      { class: "list small" },
      [...said, ...describe(store)].map((line) => element("li", {}, line)),
    ),
    element(
      "p",
      { class: "quiet small" },
      "Each release appears on the map and in the curves as it is made. You can stop at any time, scrub back, and read it through other eyes.",
    ),
  );
}

/** Whom the dashed cells stand for: two cells are a person's guess, many are a whole belief. */
function worstWords(worst, regions) {
  const told = worst
    .filter(([, share], place) => place < 4 && (place === 0 || share >= 0.01))
    .map(([cell, share]) => {
      const place = regions.find((region) => region.cells.includes(cell));
      return place ? `${percent(share)} in ${place.name}` : percent(share);
    })
    .join(", ");
  const whole = worst.reduce((sum, [, share]) => sum + share, 0);
  if (whole < 0.99)
    return `At this moment the adversary who learns most has a belief spread over the map; its heaviest cells, dashed, have ${told} of it.`;
  return `At this moment the adversary who learns most believes the week began in ${worst.length === 1 ? "one cell" : `${worst.length} cells`} of the map (dashed): ${told}.`;
}

const nothing = (value) => (Number.isNaN(value) ? null : value);
const tile = (number, words) =>
  element("div", { class: "tile" }, element("b", {}, number), element("span", {}, words));

function verdictCard(run) {
  const kind = { kept: "", broken: " broken" }[run.done.verdict] ?? " unguaranteed";
  const ways = Object.entries(run.done.ways ?? {});
  return element(
    "section",
    { class: `card verdict${kind}` },
    element("h3", {}, run.done.sentence),
    (run.done.events ?? []).map((event) =>
      element(
        "p",
        { class: "small" },
        element("b", {}, event.name),
        `: ${event.reached}. `,
        element("span", { class: "quiet" }, event.anybody_words ?? ""),
      ),
    ),
    ways.length
      ? element(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Mean distances" },
          element(
            "table",
            {},
            element(
              "thead",
              {},
              element(
                "tr",
                {},
                ["mean distance", "everywhere", "far", "near"].map((head) =>
                  element("th", { scope: "col" }, head),
                ),
              ),
            ),
            element(
              "tbody",
              {},
              ways.map(([name, way]) =>
                element(
                  "tr",
                  {},
                  element("td", {}, name),
                  [way.everywhere, way.far, way.near].map((value) =>
                    element("td", {}, metres(finite(value))),
                  ),
                ),
              ),
            ),
          ),
        )
      : null,
    run.done.usefulness ? element("p", { class: "small quiet" }, run.done.usefulness) : null,
  );
}
