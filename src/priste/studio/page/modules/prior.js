// As which adversary the releases are read: the one who learns most, one who knows the population, one who
// knows nothing, or one whose belief is painted on the map.

import { choice, element, field, show } from "./elements.js";
import { latest } from "./lateness.js";
import { finite, inWords, unpacked } from "./api.js";
import { knower } from "./setting.js";

const priors = (known) => [
  ["worst", "the adversary who learns most"],
  ["population", known],
  ["uniform", "one who thinks every start equally likely"],
  ["painted", "one whose belief I paint on the map"],
];

/** Paints a belief about the first cell; every painted cell weighs the same. */
export class PriorBrush {
  constructor(store) {
    this.store = store;
  }

  paint(cells, erase) {
    const weights = new Map(this.store.get("paintedPrior"));
    for (const cell of cells) {
      if (erase) weights.delete(cell);
      else weights.set(cell, 1);
    }
    this.store.set({ paintedPrior: weights });
  }
}

/** The choice of a prior; its curves are put into the store as `view`. */
export function openPrior(store, api) {
  const select = choice(priors("one who knows the population"), store.get("prior"), (value) =>
    store.set({ prior: value, ...(value === "painted" ? { tool: "paint" } : {}) }),
  );
  const state = element("p", { class: "quiet small", "aria-live": "polite" });
  const tell = (words) => state.textContent !== words && show(state, words);
  const node = element("div", { class: "list" }, field("Read the releases as", select), state);

  const ask = latest(400, (signal, id, prior) => api.post(`/runs/${id}/prior`, { prior }, { signal }), {
    waiting: () => show(state, element("span", { class: "busy" }, "reading every release with that belief")),
    answer: (found) => {
      show(state, found.words ?? "");
      store.set({ view: { prior: store.get("prior"), events: found.events.map(curves) } });
    },
    failed: (error) => show(state, element("span", { class: "says bad" }, inWords(error))),
  });

  let asked = null;
  store.watch(["prior", "paintedPrior", "run"], () => {
    const run = store.get("run");
    const prior = store.get("prior");
    select.value = prior;
    if (store.get("world")) select.querySelector("[value=population]").textContent = knower(store);
    if (!run) return;
    const painted = store.get("paintedPrior");
    const key = `${run.id}:${run.state}:${prior}:${prior === "painted" ? [...painted.keys()].join() : ""}`;
    if (key === asked) return;
    asked = key;
    if (prior === "worst" || prior === "population") {
      // The run itself tells these two, step by step.
      store.set({ view: null });
      tell(
        prior === "worst"
          ? "Of all adversaries that the guarantee is against, the one who has learnt most by each moment."
          : `One adversary: ${knower(store)}.`,
      );
    } else if (run.state === "running" || run.state === "queued") {
      store.set({ view: null });
      tell("Shown when the run is over. Until then: an adversary who knows the population.");
    } else if (prior === "painted" && painted.size === 0) {
      store.set({ view: null });
      tell("Paint on the map where this adversary believes the week began.");
    } else
      ask(
        run.id,
        prior === "uniform" ? "uniform" : { cells: [...painted.keys()], weights: [...painted.values()] },
      );
  });
  return node;
}

function curves({
  before,
  leakage,
  belief,
  uncalibrated_leakage: uncalibratedLeakage,
  uncalibrated_belief: uncalibratedBelief,
  worst,
}) {
  return {
    before,
    leakage: unpacked(leakage),
    belief: unpacked(belief),
    uncalibratedLeakage: unpacked(uncalibratedLeakage),
    uncalibratedBelief: unpacked(uncalibratedBelief),
    worst,
  };
}

/** The curves of one event through the chosen eyes, from the run's own steps or from the server's answer. */
export function curvesOf(run, number, prior, view) {
  if (view && view.events[number]) return view.events[number];
  const event = run.start.events[number];
  const every = (pick) => run.steps.map((step) => finite(pick(step)) ?? NaN);
  const surest = prior === "worst";
  return {
    before: surest ? event.before.highest : event.before.population,
    leakage: every((step) => step.events[number]?.leakage),
    belief: every((step) =>
      surest ? (step.events[number]?.surest ?? step.events[number]?.belief) : step.events[number]?.belief,
    ),
    uncalibratedLeakage: every((step) => step.uncalibratedEvents?.[number]?.leakage),
    uncalibratedBelief: every((step) =>
      surest
        ? (step.uncalibratedEvents?.[number]?.surest ?? step.uncalibratedEvents?.[number]?.belief)
        : step.uncalibratedEvents?.[number]?.belief,
    ),
  };
}

/** The cells where the adversary who learns most believes that the week began: [cell, share] pairs. */
export const worstAt = (run, shown, number, view) =>
  view?.events[number]?.worst ?? run?.steps[shown]?.events[number]?.worst ?? [];
