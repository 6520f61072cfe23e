// The work of a tab, kept by the server in its memory as long as it runs, so that a reload or the browser's
// Back finds it again. Nothing of it is written to a disk or to the browser.

import { eventOf } from "./events.js";
import { regionOf } from "./regions.js";
import { secretsIn, secretsOf } from "./secrets.js";

const PAUSE = 400;

/** What is kept: all that somebody did, and nothing that can be computed again. */
export function workOf(store) {
  const run = store.get("run");
  return {
    base: store.get("world").setting,
    tab: store.get("tab"),
    protection: store.get("protection"),
    regions: store
      .get("regions")
      .map(({ name, cells, shape, painted, tone }) => ({ name, cells, shape, painted, tone })),
    secrets: secretsIn(store.get("secrets"), store.get("events")),
    events: store
      .get("events")
      .map(({ name, formula, every, span, guarantee, example, made, shape, writer }) => ({
        name,
        formula,
        every,
        span,
        guarantee,
        example,
        made,
        shape,
        writer,
      })),
    run: run?.id ? { id: run.id, setting: run.setting, seed: run.seed } : null,
    saved: store.get("saved"),
  };
}

/** Put kept work back over what was opened. */
export function restore(store, work) {
  if (!work.protection) return;
  const events = work.events.map((event) => ({
    ...eventOf(event),
    shape: event.shape,
    ...(event.writer ? { writer: event.writer } : {}),
  }));
  store.set({
    tab: work.tab ?? "week",
    protection: work.protection,
    regions: work.regions.map((region) => regionOf(region, region.tone)),
    events,
    secrets: secretsOf(work.secrets, events),
    saved: work.saved ?? null,
    touched: true,
  });
}

/** Whether there is something that leaving would lose: work that was changed or run, and not exported. */
export function isUnsaved(store) {
  if (store.get("phase") !== "bench" || !store.get("touched")) return false;
  return essence(store) !== store.get("saved");
}

/** What was made, as a text to compare. */
function essence(store) {
  const { protection, regions, events, secrets, run } = workOf(store);
  const decided = events.map(({ name, formula, every, span }) => [name, formula, every, span]);
  return JSON.stringify([protection, regions, decided, secrets, run?.id]);
}

/** Note that what was made is exported. */
export const markSaved = (store) => store.set({ saved: essence(store) });

/** Keep the work of this tab from now on; what is not kept yet is sent when the page is left. */
export function keepWork(store, api) {
  let timer = null;
  const send = (options) => {
    clearTimeout(timer);
    timer = null;
    if (store.get("phase") === "bench") void api.post("/work", workOf(store), options).catch(() => {});
  };
  store.watch(["world", "tab", "protection", "regions", "events", "secrets", "run"], () => {
    if (store.get("phase") !== "bench" || !store.get("world")) return;
    clearTimeout(timer);
    timer = setTimeout(send, PAUSE);
  });
  addEventListener("pagehide", () => {
    if (timer) send({ keepalive: true });
    api.leave();
  });
}
