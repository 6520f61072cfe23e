// Places: named sets of cells that the person paints, or takes from where the trace stays.

import { button, element, freshId, show } from "./elements.js";
import { freeTone, toneClass } from "./colours.js";
import { metres, plural } from "./words.js";

/** Add cells to the chosen place, or take them out; beyond the map nothing can be painted. */
export function paintCells(store, touched, erase) {
  const cells = touched.filter((cell) => !store.get("geometry").beyond(cell));
  if (!cells.length) return;
  const regions = store.get("regions");
  const number = store.get("activeRegion");
  if (!regions[number]) {
    if (erase) return;
    addRegion(store, cells);
    return;
  }
  const held = new Set(regions[number].cells);
  const before = held.size;
  for (const cell of cells) {
    if (erase) held.delete(cell);
    else held.add(cell);
  }
  if (held.size === before) return;
  store.set({
    // A place that is painted anew is its cells, whatever shape it was drafted with.
    regions: regions.with(number, {
      ...regions[number],
      cells: [...held].sort((a, b) => a - b),
      shape: null,
    }),
  });
}

/** Make a place and choose it; returns its name. */
export function addRegion(store, cells = [], name = null) {
  const regions = store.get("regions");
  const taken = new Set(regions.map((region) => region.name));
  let free = name ?? "place1";
  for (let number = 1; taken.has(free); number += 1) free = name ? `${name}${number + 1}` : `place${number}`;
  const region = { name: free, cells: [...new Set(cells)].sort((a, b) => a - b), tone: freeTone(regions) };
  store.set({
    regions: [...regions, region],
    activeRegion: regions.length,
    tool: cells.length ? store.get("tool") : "paint",
  });
  return free;
}

/** Suggestions that no place has taken yet, each with the number of its mark on the map. */
export function openSuggestions(store) {
  const taken = store.get("regions").map((region) => ({ name: region.name, cells: new Set(region.cells) }));
  return (store.get("suggestions") ?? [])
    .map((place, number) => ({ place, number: number + 1 }))
    .filter(
      ({ place }) =>
        !taken.some(({ name, cells }) => name === place.name || place.cells.every((cell) => cells.has(cell))),
    );
}

/** The panel with the list of places. */
export function openRegions(store, view, { renameInEvents }) {
  const list = element("ul", { class: "list", "aria-label": "Places" });
  const ideas = element("ul", { class: "list", "aria-label": "Suggested places" });
  const ideasCard = element(
    "section",
    { class: "card" },
    element("h3", {}, "Where this person stays"),
    element(
      "p",
      { class: "quiet small" },
      "Found in the trace, on this machine. Take one and give it a name.",
    ),
    ideas,
  );
  const heard = element("p", { class: "only-heard", "aria-live": "polite" });
  show(
    view,
    element("h2", {}, "Which places are sensitive?"),
    element(
      "p",
      { class: "quiet" },
      "Paint cells on the map, draw around an area, or take one of the places where the trace stays.",
    ),
    list,
    element(
      "div",
      { class: "row" },
      button("New place", () => {
        addRegion(store);
        // When the list has heard of it: a name that is typed now must be the new place's.
        queueMicrotask(() => {
          const name = list.querySelector("li:last-child input");
          name.focus();
          name.select();
        });
      }),
    ),
    ideasCard,
    element(
      "div",
      { class: "row next" },
      button("Next: what happened there", () => store.set({ tab: "secrets" }), { class: "main" }),
    ),
    heard,
  );

  store.set({
    adopt: (place) => {
      const name = addRegion(store, place.cells, place.name);
      heard.textContent = `${name} is now a place.`;
    },
  });

  const rows = new Map();
  store.watch(["regions", "activeRegion", "world"], () => {
    const regions = store.get("regions");
    const active = store.get("activeRegion");
    if (regions.length === 0) {
      rows.clear();
      show(
        list,
        element("li", { class: "empty" }, "No place yet. Press Paint above the map and drag over cells."),
      );
      return;
    }
    for (const child of [...list.children]) if (!child.dataset.row) child.remove();
    // Rows are kept and updated: someone may be typing a name in one while another changes.
    regions.forEach((region, number) => {
      const row = rows.get(number) ?? makeRow(number);
      rows.set(number, row);
      if (row.node.parentNode !== list) list.append(row.node);
      row.update(region, number === active);
    });
    for (const [number, row] of rows) {
      if (number < regions.length) continue;
      row.node.remove();
      rows.delete(number);
    }
  });

  function makeRow(number) {
    const name = element("input", {
      type: "text",
      maxlength: "60",
      "aria-label": "Name of the place",
      autocomplete: "off",
    });
    const problem = element("p", { class: "says bad small", id: freshId("problem"), hidden: true });
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    const size = element("span", { class: "quiet small grow" });
    const paint = button("Paint", () => {
      store.set({ activeRegion: number, tool: "paint" });
    });
    const remove = button(
      "Remove",
      () => {
        const regions = store.get("regions");
        heard.textContent = `${regions[number].name} was removed.`;
        store.set({
          regions: regions.toSpliced(number, 1),
          activeRegion: Math.max(0, Math.min(store.get("activeRegion"), regions.length - 2)),
        });
      },
      { class: "plain" },
    );
    name.addEventListener("change", () => {
      const regions = store.get("regions");
      const wanted = name.value.trim();
      const other = regions.some((region, place) => place !== number && region.name === wanted);
      const wrong = !wanted
        ? "A place needs a name."
        : other
          ? `Another place is called “${wanted}”.`
          : /["\n\r\\]/.test(wanted)
            ? "A name has no quotation marks or backslashes."
            : "";
      problem.textContent = wrong;
      problem.hidden = !wrong;
      name.setAttribute("aria-invalid", String(Boolean(wrong)));
      name.setAttribute("aria-describedby", problem.id);
      if (wrong) return;
      const old = regions[number].name;
      store.set({ regions: regions.with(number, { ...regions[number], name: wanted }) });
      renameInEvents(old, wanted);
    });
    const node = element(
      "li",
      { class: "card", "data-row": "yes" },
      element("div", { class: "row" }, swatch, element("div", { class: "grow" }, name)),
      element("div", { class: "row" }, size, paint, remove),
      problem,
    );
    return {
      node,
      update(region, active) {
        node.classList.toggle("chosen", active);
        swatch.className = `swatch ${toneClass(region.tone)}`;
        if (document.activeElement !== name) name.value = region.name;
        const side = store.get("world")?.map.cellSize ?? 0;
        size.textContent = region.cells.length
          ? `${plural(region.cells.length, "cell")}, about ${metres(1000 * side * Math.sqrt(region.cells.length))} across`
          : "no cells yet";
        paint.setAttribute("aria-pressed", String(active));
        paint.setAttribute("aria-label", `Paint ${region.name}`);
        remove.setAttribute("aria-label", `Remove ${region.name}`);
      },
    };
  }

  store.watch(["suggestions", "regions"], () => {
    const left = openSuggestions(store);
    ideasCard.hidden = left.length === 0;
    show(
      ideas,
      left.map(({ place, number }) =>
        element(
          "li",
          { class: "row spread" },
          element(
            "span",
            {},
            element("b", {}, `${number}. ${place.name}`),
            element("span", { class: "quiet small" }, ` ${place.words}`),
          ),
          button("Make it a place", () => store.get("adopt")(place), {
            "aria-label": `Make a place of suggestion ${number}, ${place.name}`,
          }),
        ),
      ),
    );
  });
}
