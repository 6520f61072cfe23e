// What a setting will cost and what it guarantees, asked anew whenever a choice changes.

import { Problem, inWords } from "./api.js";
import { element, show } from "./elements.js";
import { say } from "./heard.js";
import { latest } from "./lateness.js";
import { missing, settingOf } from "./setting.js";
import { metres, plural } from "./words.js";

/**
 * Keep `node` showing the forecast, `glance` its one line that is always in sight, and `words` the guarantee
 * of the setting at hand.
 */
export function openForecast(store, { node, glance, words }, api) {
  // --- the guarantee in words ---------------------------------------------------------------------------------------
  const explain = latest(300, (signal, setting) => api.post("/explain", { setting }, { signal }), {
    answer: (found) => {
      store.set({ explained: found });
      show(
        words,
        element("p", {}, found.against),
        found.guaranteed.map((line) => element("p", {}, line)),
        element("h4", {}, "Not guaranteed"),
        element(
          "ul",
          {},
          found.not_guaranteed.map((line) => element("li", { class: "small" }, line)),
        ),
        found.unguarded.length
          ? [
              element("h4", {}, "Not guarded"),
              element(
                "ul",
                {},
                found.unguarded.map((line) => element("li", { class: "small" }, line)),
              ),
            ]
          : null,
        found.summary.map((line) => element("p", { class: "quiet small" }, line)),
        element(
          "details",
          {},
          element("summary", {}, "As a policy file"),
          element("pre", { class: "scroll", tabindex: "0", "aria-label": "The policy file" }, found.policy),
        ),
      );
    },
    failed: (error) => show(words, element("p", { class: "says bad" }, inWords(error))),
  });

  // --- the forecast moves with every choice, and gets better while nobody moves anything -----------------------------
  let job = null;
  let asked = null;
  let stop = () => {};
  let last = null; // the forecast of the setting before, on the same days and with the same random numbers
  const foretell = latest(
    500,
    async (signal, setting) => {
      if (job) await api.post(`/jobs/${job}/cancel`).catch(() => {});
      const started = await api.post("/forecasts", { setting }, { signal });
      job = started.job;
      store.set({ forecastJob: job });
      let soFar = null;
      const before = last;
      for await (const { name, data } of api.events(`/jobs/${job}/events`, { signal })) {
        if (signal.aborted) break;
        if (name === "progress" && !soFar)
          store.set({ forecast: { ...store.get("forecast"), progress: data } });
        // A figure that may still jump is not shown.
        if (name === "estimate" && (data.is_stable || soFar)) {
          soFar = data;
          store.set({ forecast: { state: "refining", found: data, setting, before } });
        } else if (name === "estimate")
          store.set({ forecast: { ...store.get("forecast"), progress: { words: notYet(data) } } });
        if (name === "done") return data;
        if (name === "failed") throw new Problem(data);
        if (name === "cancelled") break;
      }
      return soFar;
    },
    {
      waiting: () => store.set({ forecast: { state: "computing", progress: null } }),
      answer: (found, setting) => {
        if (found) {
          store.set({ forecast: { state: "known", found, setting, before: last } });
          last = found;
        } else {
          // A run took its place; it is asked for again when this step is opened again.
          asked = null;
          store.set({ forecast: { state: "stopped" } });
        }
      },
      failed: (error) => store.set({ forecast: { state: "failed", message: inWords(error) } }),
    },
  );
  let explainedFor = null;
  store.watch(["world"], () => {
    last = null;
    explainedFor = null;
  });
  store.watch(["events", "secrets", "regions", "protection", "tab", "world"], () => {
    if (!store.get("world") || !["protection", "run", "export"].includes(store.get("tab"))) return;
    if (missing(store)) return;
    const setting = settingOf(store);
    const key = JSON.stringify(setting);
    if (key === explainedFor) return;
    explainedFor = key;
    explain(setting);
  });
  store.watch(["events", "secrets", "regions", "protection", "tab", "world"], () => {
    const world = store.get("world");
    // Asked for when somebody looks at it: a forecast takes the processor that a run needs.
    if (!world || !["protection", "compare"].includes(store.get("tab"))) return;
    const wrong = missing(store);
    if (wrong) {
      stop();
      if (job && isBusy(store.get("forecast"))) void api.post(`/jobs/${job}/cancel`).catch(() => {});
      store.set({ forecast: { state: "missing", message: wrong } });
      asked = null;
      return;
    }
    const setting = settingOf(store);
    const key = JSON.stringify(setting);
    if (key === asked) return;
    asked = key;
    stop = foretell(setting);
  });
  store.watch(["forecast"], () => {
    const forecast = store.get("forecast");
    node.classList.toggle("computing", forecast?.state === "computing");
    show(node, forecastParts(forecast));
    const line = atAGlance(forecast);
    show(glance, line ? element("span", { class: isBusy(forecast) ? "busy" : null }, line) : null);
    say(worthHearing(forecast));
  });
}

export const isBusy = (forecast) => forecast?.state === "computing" || forecast?.state === "refining";

/** What is at work, in words. */
export function atWork({ state, found, progress }) {
  if (state === "refining") return `from ${plural(found.runs, "stream")} so far; trying more`;
  return progress?.words ?? "trying it on your own days";
}

/** The forecast in one line. */
function atAGlance(forecast) {
  const { state, found } = forecast ?? {};
  if (state === "computing") return `What it will cost: ${atWork(forecast)}`;
  if (state === "failed") return "The cost cannot be forecast: see below.";
  if (!found || state === "missing" || state === "stopped") return "";
  const parts = [
    ["near the secret", found.near],
    [found.near ? "far from it" : "far from the secret", found.far],
  ].filter(([, value]) => value);
  const all = metres(found.everywhere.metres);
  if (parts.length === 1) return `Mean error about ${all}, all of it ${parts[0][0]}.`;
  const each = parts.map(([where, value]) => `${metres(value.metres)} ${where}`).join(", ");
  return `Mean error about ${all}${each ? `: ${each}` : ""}.`;
}

/** What somebody should hear who does not see the page: beginnings and ends, not every release. */
function worthHearing(forecast) {
  const { state, found, message } = forecast ?? {};
  if (state === "computing") return "The forecast is being made.";
  if (state === "known") return `The forecast is ready. ${found.sentence}`;
  if (state === "failed") return `The forecast failed. ${message}`;
  return state === "missing" ? message : "";
}

/** The forecast in its states. */
function forecastParts(forecast) {
  const { state, found, message, progress } = forecast ?? {};
  if (state === "missing") return [element("p", { class: "quiet" }, message)];
  if (state === "failed") return [element("p", { class: "says bad" }, message)];
  const busy = isBusy(forecast) ? element("span", { class: "busy" }, atWork(forecast)) : null;
  const bar =
    state === "computing" && progress?.total
      ? element("progress", {
          max: String(progress.total),
          value: String(progress.done),
          "aria-label": "Releases tried",
        })
      : null;
  if (!found)
    return [
      busy ??
        element(
          "p",
          { class: "quiet" },
          "Stopped, because a run needed the processor. Open this step again to go on.",
        ),
      bar,
    ];
  return [
    element(
      "div",
      { class: state === "computing" ? "computing list" : "list" },
      costs(found, changeWords(found, forecast.before)),
    ),
    bar,
    busy,
  ];
}

/** What another setting changes, on the same days and with the same random numbers. */
function changeWords(found, before) {
  if (!before || before.runs !== found.runs) return null;
  const more = found.everywhere.metres - before.everywhere.metres;
  const small = Math.abs(more) < 0.01 * before.everywhere.metres;
  return element(
    "p",
    { class: "small" },
    small
      ? "As much as the setting before."
      : `${metres(Math.abs(more))} ${more > 0 ? "more" : "less"} than the setting before, on the same days with the same random numbers.`,
  );
}

const notYet = ({ runs }) =>
  `from ${plural(runs, "stream")} so far, which still differ too much to name a figure`;

function costs(found, change) {
  const ways = [
    ["with priste", "is-priste", found],
    ["uncalibrated", "is-uncalibrated-bar", found.uncalibrated],
    ["constant point", "is-constant", found.constant],
  ].filter(([, , way]) => way);
  const values = ways.flatMap(([, , way]) => [way.near, way.far]).filter(Boolean);
  const largest = Math.max(...values.map((value) => value.metres), 1);
  // An interval may be many times as long as any bar; it is cut off at the edge then, and the words say it.
  const most = Math.max(largest, Math.min(2 * largest, ...values.map((value) => value.high)));
  const group = (title, part) =>
    element(
      "div",
      { class: "costs" },
      element("h4", {}, title),
      ways.map(([name, kind, way]) => {
        const value = way[part];
        return element(
          "div",
          { class: "cost" },
          element("span", {}, name),
          element("span", {
            class: `bar ${kind}`,
            "aria-hidden": "true",
            style: {
              "--share": String((value?.metres ?? 0) / most),
              "--low": String((value?.low ?? 0) / most),
              "--high": String(Math.min(1, (value?.high ?? 0) / most)),
            },
          }),
          element("b", {}, value ? metres(value.metres) : "–"),
        );
      }),
    );
  return [
    element("p", {}, found.sentence),
    found.models.map((words) => element("p", { class: "quiet" }, words)),
    change,
    found.far ? group("Far from the secret", "far") : null,
    found.near ? group("Near the secret", "near") : null,
    element(
      "p",
      { class: "quiet small" },
      `${found.basis} Thin lines are where one more stream lies in 80 of 100 cases.`,
    ),
  ];
}
