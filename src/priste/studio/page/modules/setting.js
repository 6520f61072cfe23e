// The setting: the policy as the server takes it, put together from what the page holds.

/** Everything that decides what is released, as one value to post. */
export function settingOf(store) {
  const opened = store.get("world").setting;
  const { observer, promise, mechanism, calibrator, outside } = store.get("protection");
  return {
    ...opened,
    mechanism,
    observer,
    promise,
    calibrator,
    ...(outside ? { outside } : {}),
    regions: store.get("regions").filter((region) => region.cells.length).map(({ name, cells }) => ({ name, cells })),
    events: store.get("events").map(({ name, formula, every }) => ({ name, formula, every })),
  };
}

/** Whether two settings promise and release the same. */
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What is still missing before anything can be computed, in words; empty when nothing is. */
export function missing(store) {
  if (!store.get("regions").some((region) => region.cells.length)) return "Paint a place on the map first.";
  const events = store.get("events");
  if (events.length === 0) return "Say what must stay deniable first.";
  const wrong = events.find((event) => event.answer && !event.answer.ok);
  if (wrong) return `“${wrong.name}” cannot be read yet: ${wrong.answer.problem.message.split("\n")[0]}`;
  if (events.some((event) => !event.answer)) return "Reading what you wrote …";
  return "";
}
