// A setting in words.

import { knowsHome, same } from "./setting.js";
import { metres, odds, percent } from "./words.js";

/** The setting at hand in a few lines. */
export function describe(store) {
  const { observer, also, promise, mechanism, calibrator } = store.get("protection");
  const observers = store.get("world").observers;
  const found = observers.find((entry) => same(entry.observer, observer));
  const title = knowsHome(store) ? found?.title : found?.without_home.title;
  const who = `${title ?? observer.knows}${observer.knows === "population" && also.length ? `, perhaps that the week began at ${also.join(" or ")}` : ""}`;
  const what =
    "belief_at_most" in promise
      ? `at most ${percent(promise.belief_at_most)} sure`
      : `odds ${"epsilon" in promise ? "either way" : "upwards"} at most ${odds(promise.epsilon ?? promise.odds_up)}`;
  return [
    `Against: ${who}`,
    `Promise: ${what}`,
    mechanism.alpha ? `Noise: about ${metres(2000 / mechanism.alpha)}` : `Mechanism: ${mechanism.kind}`,
    `Calibrator: ${calibrator}`,
    `Secrets: ${
      store
        .get("events")
        .map((event) => event.name)
        .join(", ") || "none"
    }`,
  ];
}
