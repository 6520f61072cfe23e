// A setting in words.

import { guarded } from "./secrets.js";
import { knowsHome, same } from "./setting.js";
import { metres, odds, percent } from "./words.js";

/** The setting at hand in a few lines. */
export function describe(store, { secrets = true } = {}) {
  const { adversary, also, guarantee, mechanism, calibrator } = store.get("protection");
  const adversaries = store.get("world").adversaries;
  const found = adversaries.find((entry) => same(entry.adversary, adversary));
  const title = knowsHome(store) ? found?.title : found?.without_home.title;
  const who = `${title ?? adversary.knows}${adversary.knows === "population" && also.length ? `, perhaps that the week began at ${also.join(" or ")}` : ""}`;
  const what =
    "belief_at_most" in guarantee
      ? `at most ${percent(guarantee.belief_at_most)} sure`
      : `odds ${"epsilon" in guarantee ? "either way" : "upwards"} at most ${odds(guarantee.epsilon ?? guarantee.odds_up)}`;
  const names = guarded(store)
    .map(({ name }) => name)
    .join(", ");
  return [
    `Adversary: ${who.charAt(0).toLowerCase()}${who.slice(1)}`,
    `Guarantee: ${what}`,
    mechanism.alpha
      ? `Noise before calibration: about ${metres(2000 / mechanism.alpha)}`
      : `Mechanism: ${mechanism.kind}`,
    ...(calibrator === "optimal" ? [] : [`Calibrator: ${calibrator}`]),
    ...(secrets ? [`Secrets: ${names || "none"}`] : []),
  ];
}
