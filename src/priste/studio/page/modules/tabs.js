// The steps of the story as tabs, with the keys that tabs have everywhere.

const TABS = [
  ["week", "Week"],
  ["places", "Places"],
  ["secrets", "Secrets"],
  ["protection", "Protection"],
  ["run", "Run"],
  ["compare", "Compare"],
  ["export", "Export"],
];

import { element, show } from "./elements.js";

export function openTabs(store, list, views) {
  const tabs = TABS.map(([name, words]) =>
    element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `view-${name}`,
        "data-tab": name,
        on: { click: () => store.set({ tab: name }) },
      },
      words,
    ),
  );
  show(list, tabs);
  show(
    views,
    TABS.map(([name]) =>
      element("div", {
        class: "view",
        id: `view-${name}`,
        role: "tabpanel",
        tabindex: "0",
        "aria-labelledby": `tab-${name}`,
      }),
    ),
  );
  list.addEventListener("keydown", (event) => {
    const here = tabs.findIndex((tab) => tab.dataset.tab === store.get("tab"));
    const next = {
      ArrowRight: (here + 1) % tabs.length,
      ArrowLeft: (here + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    store.set({ tab: tabs[next].dataset.tab });
    tabs[next].focus();
  });
  let before = null;
  store.watch(["tab"], () => {
    const chosen = store.get("tab");
    for (const tab of tabs) {
      const on = tab.dataset.tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      const view = document.getElementById(`view-${tab.dataset.tab}`);
      const moved = view.contains(document.activeElement);
      view.hidden = !on;
      // Whoever pressed "Next" goes on where the next step begins.
      if (moved && !on && before !== null) document.getElementById(`view-${chosen}`).dataset.focus = "yes";
    }
    const view = document.getElementById(`view-${chosen}`);
    if (view.dataset.focus) {
      delete view.dataset.focus;
      // The heading, not the panel: a frame around everything would tell nothing.
      (view.querySelector("h2") ?? view).focus({ preventScroll: false });
    }
    if (before !== null && before !== chosen) view.scrollTop = 0;
    tabs.find((tab) => tab.dataset.tab === chosen).scrollIntoView({ block: "nearest", inline: "nearest" });
    before = chosen;
  });
}
