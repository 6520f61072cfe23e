// The setting: the policy as the server takes it, put together from what the page holds.

import { unpacked } from "./api.js";
import { guarded, secretsIn } from "./secrets.js";

/** Everything that decides what is released, as one value to post. */
export function settingOf(store) {
  const opened = store.get("world").setting;
  const { adversary, also, guarantee, mobility, mechanism, calibrator, outside } = store.get("protection");
  const regions = store
    .get("regions")
    .filter((region) => region.cells.length)
    .map(({ name, cells, shape }) => ({ name, cells, ...(shape ? { shape } : {}) }));
  const known = also.filter((name) => regions.some((region) => region.name === name));
  return {
    ...opened,
    mobility: livingIn(regions, mobility),
    mechanism,
    // Only one who knows the population may know a place besides; all others know more, or something else.
    adversary: adversary.knows === "population" && known.length ? { ...adversary, also: known } : adversary,
    guarantee,
    calibrator,
    ...(outside ? { outside } : {}),
    regions,
    events: store.get("events").map(({ name, formula, every, span, guarantee: own }) => ({
      name,
      formula,
      every,
      ...(span ? { span } : {}),
      ...(own ? { guarantee: own } : {}),
    })),
    secrets: secretsIn(store.get("secrets"), store.get("events")),
  };
}

/** How people move; without a home when its place is gone. */
function livingIn(regions, mobility) {
  if (!mobility.home || regions.some(({ name, cells }) => name === mobility.home && cells.length))
    return mobility;
  return Object.fromEntries(Object.entries(mobility).filter(([key]) => !/^(stay_|back_)?home/.test(key)));
}

/** Whether the model knows where somebody lives. */
export const knowsHome = (store) =>
  Boolean(livingIn(store.get("regions"), store.get("protection").mobility).home);

/** Whether the home that the model knows lies where it lay when the week was opened. */
export function homeStays(store) {
  const { mobility, regions } = store.get("world").setting;
  const cells = (all) => [...unpacked(all.find(({ name }) => name === mobility.home)?.cells ?? [])].sort();
  return !mobility.home || same(cells(regions), cells(store.get("regions")));
}

/** Who knows what the model knows, in words. */
export const knower = (store) => `one who knows the population${knowsHome(store) ? " and your home" : ""}`;

/** Whether two settings guarantee and release the same. */
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Whether the adversary at hand may believe anything about where the week began: that costs most. */
export const isOneOfMany = (store) =>
  !["population", "starts"].includes(store.get("protection").adversary.knows);

/** What is still missing before anything can be computed, in words; empty when nothing is. */
export function missing(store) {
  const { too_large: tooLarge } = store.get("world").against_many;
  if (tooLarge && isOneOfMany(store)) return tooLarge;
  if (!store.get("regions").some((region) => region.cells.length)) return "Paint a place on the map first.";
  const all = guarded(store);
  if (all.length === 0) return "Say what must stay deniable first.";
  const wrong = all.find((each) => each.answer && !each.answer.ok);
  if (wrong) return `“${wrong.name}” cannot be read yet: ${wrong.answer.problem.message.split("\n")[0]}`;
  if (all.some((each) => !each.answer)) return "Reading what you wrote …";
  return "";
}
