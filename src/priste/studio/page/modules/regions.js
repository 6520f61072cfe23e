// Places: named sets of cells that the person paints, or takes from where the trace stays. A place that is
// painted is guarded at once: a secret speaks of it, and its times are chosen beside it.

import { button, element, freshId, keyed, show } from "./elements.js";
import { freeTone, toneClass } from "./colours.js";
import { addSecret } from "./events.js";
import { secretOf, secretPlaces } from "./secrets.js";
import { timeline } from "./timeline.js";
import { metres, plural } from "./words.js";

/**
 * Times that are chosen with one press.
 * @type {[string, string[]][]}
 */
const USUAL = [
  ["At all times", ["daily"]],
  ["Working hours", ["weekdays 08:00-18:00"]],
  ["Evenings", ["daily 18:00-00:00"]],
  ["Nights", ["daily 22:00-06:00"]],
  ["Weekends", ["weekends"]],
];

let ids = 0;
/** A place as the page holds it. */
export const regionOf = ({ name, cells, shape = null, painted = false }, tone) => ({
  id: (ids += 1),
  name,
  cells,
  shape,
  painted,
  tone,
});

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
  if (before === 0 && regions[number].painted) addSecret(store, regions[number].name);
}

/** Make a place, choose it and, as soon as it has cells, guard it; returns its name. */
export function addRegion(store, cells = [], name = null) {
  const regions = store.get("regions");
  const taken = new Set(regions.map((region) => region.name));
  let free = name ?? "place1";
  for (let number = 1; taken.has(free); number += 1) free = name ? `${name}${number + 1}` : `place${number}`;
  const own = [...new Set(cells)].sort((a, b) => a - b);
  store.set({
    regions: [...regions, regionOf({ name: free, cells: own, painted: true }, freeTone(regions))],
    activeRegion: regions.length,
    tool: cells.length ? store.get("tool") : "paint",
  });
  if (own.length) addSecret(store, free);
  return free;
}

/** Make a place where the trace stays. */
export const adopt = (store, place) => addRegion(store, place.cells, place.name);

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
  const empty = element(
    "p",
    { class: "empty" },
    "No place yet. Press New place and drag over cells of the map.",
  );
  const ideas = element("ul", { class: "list", "aria-label": "Suggested places" });
  const ideasCard = element(
    "section",
    { class: "card" },
    element("h3", {}, "Where this person stays"),
    element("p", { class: "quiet small" }, "Found in the trace, on this machine. Take one to guard it."),
    ideas,
  );
  const heard = element("p", { class: "only-heard", "aria-live": "polite" });
  show(
    view,
    element("h2", { tabindex: "-1" }, "Which places are secret?"),
    element(
      "p",
      { class: "quiet" },
      "Paint cells on the map, draw around an area, or take a place where the trace stays. What you paint is guarded, at all times until you choose fewer.",
    ),
    empty,
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
      button("Next: what is secret about them", () => store.set({ tab: "secrets" }), { class: "main" }),
    ),
    heard,
  );

  const indexOf = (id) => store.get("regions").findIndex((region) => region.id === id);
  const fill = keyed(
    list,
    ({ id }) => id,
    ({ id }) => row(id),
  );
  store.watch(["regions", "activeRegion", "events", "world"], () => {
    const regions = store.get("regions");
    empty.hidden = regions.length > 0;
    fill(regions);
  });

  function row(id) {
    const mine = () => store.get("regions")[indexOf(id)];
    const name = element("input", {
      type: "text",
      maxlength: "60",
      "aria-label": "Name of the place",
      autocomplete: "off",
    });
    const problem = element("p", { class: "says bad small", id: freshId("problem"), hidden: true });
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    const size = element("span", { class: "quiet small grow whole" });
    const state = element("span", { class: "small state" });
    const paint = button("Paint", () => store.set({ activeRegion: indexOf(id), tool: "paint" }));
    const guard = button("Guard it", () => addSecret(store, mine().name));
    const times = element("div", { class: "list when-slot", hidden: true });
    const remove = button(
      "Remove",
      () => {
        const regions = store.get("regions");
        const place = indexOf(id);
        const { name: gone } = regions[place];
        heard.textContent = `${gone} was removed.`;
        store.set({
          regions: regions.toSpliced(place, 1),
          activeRegion: Math.max(0, Math.min(store.get("activeRegion"), regions.length - 2)),
          // The secret that was made for it goes with it.
          events: store.get("events").filter((event) => !(event.made && secretOf([event], gone))),
        });
      },
      { class: "plain" },
    );
    name.addEventListener("change", () => {
      const regions = store.get("regions");
      const number = indexOf(id);
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

    // The times of the secret of this place: the same as in the next step, chosen at once.
    let widget = null;
    const choose = (when) => {
      const mySecret = secretOf(store.get("events"), mine().name);
      if (!mySecret) return;
      const shape = { ...mySecret.shape, stages: [{ ...mySecret.shape.stages[0], when }] };
      store.set({
        events: store
          .get("events")
          .map((event) =>
            event.id === mySecret.id ? { ...event, shape, writer: "picture", example: false } : event,
          ),
      });
    };
    const usual = element(
      "div",
      { class: "segments", role: "group", "aria-label": "Usual times" },
      USUAL.map(([words, when]) =>
        button(words, () => choose(when), { class: "small", "data-when": when.join("|") }),
      ),
    );
    const cost = element(
      "p",
      { class: "quiet small" },
      "Fewer hours cost less: releases outside of them stay closer.",
    );
    function showTimes(secret, active) {
      times.hidden = !secret || !active;
      if (times.hidden) return;
      const { clock } = store.get("world");
      if (!widget) {
        widget = timeline({
          times: clock.times,
          stepMinutes: clock.step_seconds / 60,
          label: `When at ${mine().name}`,
          change: choose,
        });
        show(times, element("h3", { class: "small" }, "When is it secret?"), usual, widget.node, cost);
      }
      const { when } = secret.shape.stages[0];
      for (const each of usual.querySelectorAll("button"))
        each.setAttribute("aria-pressed", String(each.dataset.when === when.join("|")));
      cost.hidden = when.join() !== "daily";
      widget.update(when);
    }

    const node = element(
      "li",
      { class: "card", "data-row": "yes" },
      element("div", { class: "row" }, swatch, element("div", { class: "grow" }, name), state),
      element("div", { class: "row" }, size, guard, paint, remove),
      problem,
      times,
    );
    return {
      node,
      update(region, number) {
        const active = number === store.get("activeRegion");
        const events = store.get("events");
        const secret = secretPlaces([region], events).has(region.name);
        node.classList.toggle("chosen", active);
        swatch.className = `swatch ${toneClass(region.tone, secret)}`;
        if (document.activeElement !== name) name.value = region.name;
        const side = store.get("world")?.map.cellSize ?? 0;
        size.textContent = region.cells.length
          ? `${plural(region.cells.length, "cell")}, about ${metres(1000 * side * Math.sqrt(region.cells.length))} across`
          : "no cells yet: drag over the map";
        state.textContent = secret ? "secret" : "";
        state.className = `small state${secret ? " is-secret" : ""}`;
        guard.hidden = secret || region.cells.length === 0;
        guard.setAttribute("aria-label", `Guard ${region.name}`);
        paint.setAttribute("aria-pressed", String(active));
        paint.setAttribute("aria-label", `Paint ${region.name}`);
        remove.setAttribute("aria-label", `Remove ${region.name}`);
        showTimes(secretOf(events, region.name), active);
      },
    };
  }

  const fillIdeas = keyed(
    ideas,
    ({ place, number }) => `${number} ${place.name} ${place.words} ${place.cells[0]}`,
    ({ place, number }) => ({
      node: element(
        "li",
        { class: "row spread" },
        element(
          "span",
          {},
          element("b", {}, `${number}. ${place.name}`),
          element("span", { class: "quiet small" }, ` ${place.words}`),
        ),
        button(
          "Guard it",
          () => {
            heard.textContent = `${adopt(store, place)} is now a place, and guarded.`;
          },
          { "aria-label": `Guard suggestion ${number}, ${place.name}` },
        ),
      ),
    }),
  );
  store.watch(["suggestions", "regions"], () => {
    const left = openSuggestions(store);
    ideasCard.hidden = left.length === 0;
    fillIdeas(left);
  });
}
