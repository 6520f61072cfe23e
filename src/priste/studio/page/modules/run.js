// A run: releases are made one by one on this machine, and shown as they are made.

import { button, choice, element, field, show } from "./elements.js";
import { finite, inWords, unpacked } from "./api.js";
import { beliefChart, chartKeys, chartTable, leakageChart } from "./charts.js";
import { openChecks } from "./checks.js";
import { describe } from "./description.js";
import { say } from "./heard.js";
import { curvesOf, openPrior, worstAt } from "./prior.js";
import { cellsOf, guarded, secretMoment } from "./secrets.js";
import { openStrip } from "./strip.js";
import { missing, same, settingOf } from "./setting.js";
import { exact, metres, offWords, percent, plural } from "./words.js";

/** Take a step message into the form that the page draws. */
function stepOf(message) {
  return {
    time: message.time,
    label: message.label,
    truth: message.true_at,
    trueCell: message.true,
    released: message.released_at,
    releasedCell: message.released,
    error: message.error_m,
    level: message.level,
    budget: finite(message.budget),
    events: message.events.map((event) => ({ ...event, leakage: finite(event.leakage) })),
    uncalibrated: message.uncalibrated?.at ?? null,
    uncalibratedError: message.uncalibrated?.error_m ?? null,
    uncalibratedEvents:
      message.uncalibrated?.events.map((event) => ({ ...event, leakage: finite(event.leakage) })) ?? null,
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

  /** Release every step under the setting at hand. */
  async start() {
    const setting = settingOf(this.#store);
    const { seed } = this.#store.get("protection");
    await this.#follow({ setting, seed }, async () => {
      const forecast = this.#store.get("forecastJob");
      // A forecast that is still at work would keep the run waiting.
      if (forecast && ["computing", "refining"].includes(this.#store.get("forecast")?.state))
        await this.#api.post(`/jobs/${forecast}/cancel`).catch(() => {});
      const made = await this.#api.post("/runs", { setting, ...(seed === null ? {} : { seed }) });
      return made.run;
    });
  }

  /** Go on with a run that the server has: a page that was loaded again hears all of it again. */
  async resume({ id, setting, seed }) {
    await this.#follow({ setting, seed }, async () => id);
  }

  async #follow(begun, ask) {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    // The steps are one array that only ever gets longer.
    let run = {
      id: null,
      state: "queued",
      words: "starting",
      start: null,
      steps: [],
      done: null,
      message: null,
    };
    run = { ...run, ...begun };
    const tell = (part) => {
      if (reading.signal.aborted) return;
      run = { ...run, ...part };
      this.#store.set({ run });
    };
    this.#store.set({ run, shown: null, follow: true, view: null, playing: false });
    try {
      const id = await ask();
      tell({ id });
      for await (const { name, data } of this.#api.events(`/jobs/${id}/events`, { signal: reading.signal })) {
        if (reading.signal.aborted) return;
        if (name === "started" || name === "progress") tell({ words: data.words });
        else if (name === "start") tell({ state: "running", start: startOf(data) });
        else if (name === "step") {
          run.steps[data.step] = stepOf(data);
          tell({});
          if (this.#store.get("follow")) this.#store.set({ shown: data.step });
        } else if (name === "done") {
          tell({ state: "done", done: data });
          // To the moment that all of this is about, unless somebody is looking at another one.
          if (this.#store.get("follow")) this.#store.set({ ...this.#moment(run), follow: false });
        } else if (name === "failed")
          tell({ state: "failed", message: [data.message, data.hint].filter(Boolean).join(" ") });
        else if (name === "cancelled") tell({ state: "cancelled" });
      }
    } catch (error) {
      tell({ state: "failed", message: inWords(error) });
    }
  }

  #moment(run) {
    return secretMoment(run, ({ event }) => cellsOf(this.#store, event));
  }

  async cancel() {
    const run = this.#store.get("run");
    if (!run?.id) return;
    this.#store.set({ run: { ...run, words: "stopping" } });
    await this.#api.post(`/jobs/${run.id}/cancel`).catch(() => {});
  }
}

const startOf = (data) => ({
  ...data,
  events: data.events.map((event) => ({
    ...event,
    bound: finite(event.bound),
    steps: unpacked(event.steps),
  })),
});

export function openRun(store, view, { open, api }) {
  const runner = new Runner(store, api);
  const prior = openPrior(store, api);
  const strip = openStrip(store);
  const charts = element("div", { class: "list" });
  const table = chartTable();
  const which = choice([], "0", (value) => store.set({ chosenEvent: Number(value) }));
  const pick = field("Which secret", which);
  const tiles = element("div", { class: "tiles" });
  const verdict = element("div", { class: "list verdict-slot" });
  const moment = element("p", { class: "moment-words" });
  const toSecret = button("Show the secret’s hours", () => {
    const cells = ({ event }) => cellsOf(store, event);
    store.set({ ...secretMoment(store.get("run"), cells), follow: false, playing: false });
  });
  const heading = element("h3", { class: "only-heard" }, "What the adversary learns");
  const more = element("div", { class: "list" });
  const results = element(
    "div",
    { class: "list results" },
    verdict,
    element("section", { class: "card" }, heading, moment, chartKeys(), charts, pick, table.node, prior),
    tiles,
    more,
    element("section", { class: "card" }, element("h3", {}, "When the error is large"), strip),
    element(
      "div",
      { class: "row next" },
      toSecret,
      button("Compare with another setting", () => store.set({ tab: "compare" })),
      button("Export", () => store.set({ tab: "export" }), { class: "main" }),
    ),
  );

  // --- start, stop, state ---------------------------------------------------------------------------------
  const go = button("Run the week", () => runner.start(), { class: "main" });
  const stop = button("Stop", () => runner.cancel());
  const bar = element("progress", { max: "1", value: "0", "aria-label": "Releases made" });
  const state = element("div", { class: "list" });
  const checks = openChecks(store, { open, api });
  show(
    view,
    element(
      "div",
      { class: "row spread" },
      element("h2", { tabindex: "-1" }, "Watch the adversary"),
      go,
      stop,
    ),
    checks,
    bar,
    state,
    results,
  );

  store.watch(["run", "events", "secrets", "regions", "protection", "world"], () => {
    if (!store.get("world")) return;
    const run = store.get("run");
    const wrong = missing(store);
    const busy = run && (run.state === "queued" || run.state === "running");
    go.disabled = Boolean(wrong) || Boolean(busy);
    go.textContent = run && !busy ? "Run again" : "Run the week";
    go.classList.toggle("large", !run);
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
    if (run?.start?.goes_on) parts.push(element("p", { class: "says note" }, run.start.goes_on));
    if (changed && !wrong)
      parts.push(
        element(
          "p",
          { class: "says note" },
          "The setting has changed since this run. Run again to see what it does now.",
        ),
      );
    show(state, parts);
    // After a run what it showed comes first.
    const after = run?.done && !changed ? null : bar;
    if (checks.nextSibling !== after) view.insertBefore(checks, after); // moved, it is heard again
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
  store.watch(["run"], () => {
    const run = store.get("run");
    show(verdict, run?.done ? verdictCard(run) : null);
    show(more, run?.done ? costCard(run) : null);
    toSecret.hidden = !run?.done;
    const names = (run?.start?.events ?? []).map((event) => event.name);
    pick.hidden = names.length < 2;
    if (names.join("|") === which.dataset.names) return;
    which.dataset.names = names.join("|");
    show(
      which,
      names.map((name, place) => element("option", { value: String(place) }, name)),
    );
  });

  const sentenceOf = ({ event, text }) =>
    guarded(store).find((each) => each.name === event)?.answer?.sentence ?? text;

  function draw(run) {
    const shown = store.get("shown") ?? run.steps.length - 1;
    const done = run.steps.slice(0, shown + 1);
    const mean = (part) => {
      const values = done.map(part).filter((value) => value !== null && value !== undefined);
      return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
    };
    const now = done.at(-1);
    show(
      tiles,
      tile(metres(mean((step) => step.error)), "mean error so far"),
      tile(metres(mean((step) => step.uncalibratedError)), "uncalibrated, so far"),
      tile(now ? metres(now.error) : "–", now ? now.label : "nothing yet"),
    );
    const events = run.start.events;
    const number = Math.min(store.get("chosenEvent"), events.length - 1);
    which.value = String(number);
    const event = events[number];
    if (!event) return show(charts, element("p", { class: "quiet" }, "No secret was named."));
    show(moment, momentWords(now, store.get("regions")));
    const curves = curvesOf(run, number, store.get("prior"), store.get("view"));
    const worst = worstAt(run, shown, number, store.get("view"));
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
      beliefChart({ ...common, cap: event.cap, several: event.answers > 2 }),
      leakageChart({ ...common, bound: event.bound }),
      element(
        "p",
        { class: "small" },
        sentenceOf(event),
        " ",
        element("span", { class: "quiet" }, `Guaranteed: ${event.guarantee}.`),
      ),
      worst.length && store.get("prior") === "worst"
        ? element("p", { class: "small quiet" }, worstWords(worst, store.get("regions")))
        : null,
    );
  }
  return runner;
}

/** Where the person is at the moment shown, and what was released. */
function momentWords(step, regions) {
  if (!step) return [];
  const at = (cell) => regions.find((region) => region.cells.includes(cell))?.name;
  const here = step.truth
    ? `you are ${at(step.trueCell) ? `at ${at(step.trueCell)}` : "between your places"}`
    : "there is no position";
  const there = at(step.releasedCell);
  const where = there && there !== at(step.trueCell) ? `, at ${there}` : "";
  return [element("b", {}, step.label), `: ${here}; ${offWords(step)}${step.released ? where : ""}.`];
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
  const said = guarded(store)
    .map((each) => each.answer?.sentence)
    .filter(Boolean);
  return element(
    "section",
    { class: "card" },
    element("h3", {}, "What will be run"),
    element(
      "ul",
      { class: "list small" },
      [...said, ...describe(store, { secrets: false })].map((line) => element("li", {}, line)),
    ),
    element(
      "p",
      { class: "quiet small" },
      "Each release appears on the map and in the curves as it is made. You can stop at any time, go back, and choose another adversary.",
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
  return element(
    "section",
    { class: `card verdict${kind}` },
    element("h3", {}, run.done.sentence),
    element(
      "details",
      {},
      element("summary", {}, "How far odds moved about each secret"),
      element(
        "ul",
        { class: "list small" },
        (run.done.events ?? []).map((event) =>
          element(
            "li",
            {},
            element("b", {}, event.name),
            `: ${event.reached}. `,
            element("span", { class: "quiet" }, event.other_words ?? ""),
          ),
        ),
      ),
    ),
  );
}

/** What the run cost in metres, beside the uncalibrated mechanism and a constant point. */
function costCard(run) {
  const ways = Object.entries(run.done.ways ?? {});
  const cells = (way) =>
    [way.everywhere, way.far, way.near].map((value) => element("td", {}, metres(finite(value))));
  return element(
    "section",
    { class: "card" },
    element("h3", {}, "What it cost"),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Mean errors" },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ["mean error", "everywhere", "far", "near"].map((head) => element("th", { scope: "col" }, head)),
          ),
        ),
        element(
          "tbody",
          {},
          ways.map(([name, way]) => element("tr", {}, element("td", {}, name), cells(way))),
        ),
      ),
    ),
    run.done.usefulness ? element("p", { class: "small quiet" }, run.done.usefulness) : null,
  );
}
