// Every day a row, every hour a place, coloured by how far the release was from the truth: the strip of
// the report, growing while releases are made. Pressing it goes to that moment.

import { element, show } from "./elements.js";
import { clockTime, metres } from "./words.js";

const LABEL = 76;
const ROW = 17;
export const LEVEL_WORDS = [
  "within 1 cell",
  "within 2 cells",
  "within 3 cells",
  "within 10 cells",
  "farther off",
];

/** Where each step lies: its day's row, and the shares of the day where it begins and ends. */
export function placesOf(times, stepSeconds) {
  const rows = new Map();
  return times.map((text) => {
    const at = clockTime(text);
    if (!rows.has(at.date)) rows.set(at.date, rows.size);
    const begin = at.minutes / 1440;
    return {
      row: rows.get(at.date),
      label: at.label,
      clock: at.clock,
      begin,
      end: Math.min(1, begin + stepSeconds / 86400),
    };
  });
}

export function openStrip(store) {
  const canvas = element("canvas", {
    role: "img",
    "aria-label":
      "Every day a row, from midnight to midnight, coloured by how far releases were from the truth.",
  });
  const table = element("div", {
    class: "scroll",
    tabindex: "0",
    role: "region",
    "aria-label": "Mean distance of each day",
  });
  const node = element(
    "div",
    { class: "strip list" },
    canvas,
    element(
      "ul",
      { class: "keys" },
      LEVEL_WORDS.map((words, level) =>
        element("li", {}, element("span", { class: `box level-${level}` }), words),
      ),
      element("li", {}, element("span", { class: "box event" }), "a secret speaks of this time"),
    ),
    element("details", {}, element("summary", {}, "As a table"), table),
  );
  let places = [];
  store.watch(["world"], () => {
    const clock = store.get("world")?.clock;
    if (clock) places = placesOf(clock.times, clock.step_seconds);
  });

  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };

  function draw() {
    const run = store.get("run");
    const width = canvas.clientWidth;
    if (!run || !places.length || !width) return;
    const days = places.at(-1).row + 1;
    const height = days * ROW + 16;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const colours = getComputedStyle(document.documentElement);
    const colour = (name) => colours.getPropertyValue(name).trim();
    const x = (share) => LABEL + share * (width - LABEL);
    context.font = `11px ${colour("--type")}`;
    context.textBaseline = "middle";
    places.forEach((place, step) => {
      const y = place.row * ROW;
      if (step === 0 || places[step - 1].row !== place.row) {
        context.fillStyle = colour("--quiet");
        context.fillText(place.label, 0, y + ROW / 2);
        context.fillStyle = colour("--soft");
        context.fillRect(LABEL, y + 1, width - LABEL, ROW - 3);
      }
      const made = run.steps[step];
      if (made && made.level >= 0) {
        context.fillStyle = colour(`--level-${made.level}`);
        context.fillRect(x(place.begin), y + 1, Math.max(1, x(place.end) - x(place.begin) + 0.4), ROW - 3);
      }
    });
    context.fillStyle = colour("--secret");
    for (const event of run.start?.events ?? []) {
      for (const step of event.steps) {
        const place = places[step];
        if (place)
          context.fillRect(x(place.begin), place.row * ROW + ROW - 5, x(place.end) - x(place.begin), 3);
      }
    }
    const now = places[store.get("shown")];
    if (now) {
      context.lineWidth = 2;
      context.strokeStyle = colour("--ink");
      context.strokeRect(
        x(now.begin) - 1,
        now.row * ROW,
        Math.max(4, x(now.end) - x(now.begin)) + 2,
        ROW - 1,
      );
    }
    context.fillStyle = colour("--quiet");
    for (const hour of [0, 6, 12, 18, 24]) {
      context.textAlign = hour === 24 ? "right" : hour ? "center" : "left";
      context.fillText(`${hour}:00`, x(hour / 24), height - 6);
    }
    context.textAlign = "left";
  }

  store.watch(["run", "shown", "tab"], redraw);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / ROW);
    const share = (event.clientX - box.left - LABEL) / (box.width - LABEL);
    const step = places.findIndex((place) => place.row === row && place.begin <= share && share < place.end);
    const run = store.get("run");
    if (step >= 0 && run && step < run.steps.length) store.set({ shown: step, follow: false });
  });

  node.querySelector("details").addEventListener("toggle", (event) => {
    const run = store.get("run");
    if (!event.target.open || !run) return;
    const days = new Map();
    run.steps.forEach((step, number) => {
      if (step.error === null) return;
      const { label } = places[number];
      if (!days.has(label)) days.set(label, []);
      days.get(label).push(step.error);
    });
    show(
      table,
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ["day", "mean distance", "farthest"].map((head) => element("th", { scope: "col" }, head)),
          ),
        ),
        element(
          "tbody",
          {},
          [...days].map(([label, errors]) =>
            element(
              "tr",
              {},
              element("td", {}, label),
              element("td", {}, metres(errors.reduce((sum, each) => sum + each, 0) / errors.length)),
              element("td", {}, metres(Math.max(...errors))),
            ),
          ),
        ),
      ),
    );
  });
  return node;
}
