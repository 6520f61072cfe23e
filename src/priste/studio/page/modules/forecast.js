// What a setting will cost and what it promises, asked anew whenever a choice changes.

import { Problem, inWords } from "./api.js";
import { element, show } from "./elements.js";
import { latest } from "./lateness.js";
import { missing, settingOf } from "./setting.js";
import { metres } from "./words.js";

/** Keep `node` showing the forecast and `words` showing the promise of the setting at hand. */
export function openForecast(store, { node, words }, api) {
  // --- the promise in words ---------------------------------------------------------------------------------------
  const explain = latest(300, (signal) => api.post("/explain", { setting: settingOf(store) }, { signal }), {
    answer: (found) =>
      show(
        words,
        element("p", {}, found.against),
        found.promised.map((line) => element("p", {}, line)),
        element("h4", {}, "Not promised"),
        element(
          "ul",
          {},
          found.not_promised.map((line) => element("li", { class: "small" }, line)),
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
      ),
    failed: (error) => show(words, element("p", { class: "says bad" }, inWords(error))),
  });

  // --- the forecast moves with every choice ---------------------------------------------------------------------------
  let job = null;
  let asked = null;
  const foretell = latest(
    500,
    async (signal) => {
      if (job) await api.post(`/jobs/${job}/cancel`).catch(() => {});
      const started = await api.post("/forecasts", { setting: settingOf(store) }, { signal });
      job = started.job;
      store.set({ forecastJob: job });
      for await (const { name, data } of api.events(`/jobs/${job}/events`, { signal })) {
        if (signal.aborted) break;
        if (name === "progress") store.set({ forecast: { ...store.get("forecast"), progress: data } });
        if (name === "done") return data;
        if (name === "failed") throw new Problem(data);
        if (name === "cancelled") break;
      }
      return null;
    },
    {
      waiting: () =>
        store.set({ forecast: { ...store.get("forecast"), state: "computing", progress: null } }),
      answer: (found, setting) => {
        if (found) store.set({ forecast: { state: "known", found, setting } });
        else {
          // A run took its place; it is asked for again when this step is opened again.
          asked = null;
          store.set({ forecast: { ...store.get("forecast"), state: "stopped" } });
        }
      },
      failed: (error) => store.set({ forecast: { state: "failed", message: inWords(error) } }),
    },
  );
  store.watch(["events", "regions", "protection", "tab", "world"], () => {
    const world = store.get("world");
    // Asked for when somebody looks at it: a forecast takes the processor that a run needs.
    if (!world || !["protection", "compare"].includes(store.get("tab"))) return;
    const wrong = missing(store);
    if (wrong) {
      store.set({ forecast: { state: "missing", message: wrong } });
      asked = null;
      return;
    }
    const setting = settingOf(store);
    const key = JSON.stringify(setting);
    if (key === asked) return;
    asked = key;
    explain();
    foretell(setting);
  });
  store.watch(["forecast"], () => show(node, forecastParts(store.get("forecast"))));
}

/** The forecast in its states. */
function forecastParts(forecast) {
  const { state, found, message, progress } = forecast ?? {};
  if (state === "missing") return [element("p", { class: "quiet" }, message)];
  if (state === "failed") return [element("p", { class: "says bad" }, message)];
  const busy =
    state === "computing"
      ? element("span", { class: "busy" }, progress?.words ?? "trying it on people drawn from the model")
      : null;
  if (!found)
    return [
      busy ??
        element(
          "p",
          { class: "quiet" },
          "Stopped, because a run needed the processor. Open this step again to go on.",
        ),
    ];
  return [element("div", { class: busy ? "computing list" : "list" }, costs(found)), busy];
}

function costs(found) {
  const ways = [
    ["with priste", "is-priste", found],
    ["noise alone", "is-alone", found.alone],
    ["one constant cell", "is-constant", found.constant],
  ].filter(([, , way]) => way);
  const most = Math.max(...ways.flatMap(([, , way]) => [way.near?.metres ?? 0, way.far?.metres ?? 0]), 1);
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
            style: { "--share": String((value?.metres ?? 0) / most) },
          }),
          element(
            "b",
            {},
            value ? metres(value.metres) : "–",
            value?.half
              ? element(
                  "small",
                  { class: "quiet" },
                  value.half < value.metres ? ` ± ${metres(value.half)}` : " roughly",
                )
              : null,
          ),
        );
      }),
    );
  return [
    element("p", {}, found.sentence),
    group("Far from the secret", "far"),
    group("Near it", "near"),
    found.basis ? element("p", { class: "quiet small" }, found.basis) : null,
    found.anybody?.length
      ? element(
          "div",
          {},
          element("h4", {}, "Observers outside the class could learn"),
          element(
            "ul",
            { class: "list small" },
            found.anybody.map((each) => element("li", {}, element("b", {}, each.event), `: ${each.words}`)),
          ),
        )
      : null,
  ];
}
