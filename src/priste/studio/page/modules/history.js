// The browser's Back goes to the step before, and from the first step to the first page; nothing is lost.

/** Follow the store into the browser's history, and the history into the store. */
export function followHistory(store) {
  const here = () => ({ phase: store.get("phase"), tab: store.get("tab") });
  let known = here();
  history.replaceState(known, "");
  store.watch(["phase", "tab"], () => {
    const next = here();
    if (next.phase === known.phase && next.tab === known.tab) return;
    known = next;
    history.pushState(next, "");
  });
  addEventListener("popstate", ({ state }) => {
    if (!state) return;
    // The work stays where it is: the first page offers to go on with it.
    const phase = state.phase === "bench" && !store.get("world") ? "start" : state.phase;
    known = { phase, tab: state.tab };
    store.set(known);
  });
}
