// The week as a picture: every day a row, coloured by the place where the person is, with the hours of the
// secret framed.

import { toneClass } from "./colours.js";
import { drawing, element } from "./elements.js";
import { secretPlaces } from "./secrets.js";
import { placesOf } from "./strip.js";

const [WIDTH, LEFT, ROW, FOOT] = [420, 70, 18, 16];
const MOST_ROWS = 62;

/** Neighbouring steps of a day that are alike as one piece: { row, begin, end, kind }. */
export function piecesOf(places, kindOf) {
  const pieces = [];
  places.forEach((place, step) => {
    const kind = kindOf(step);
    const last = pieces.at(-1);
    if (last && last.row === place.row && last.kind === kind && last.end >= place.begin - 1e-9)
      last.end = place.end;
    else pieces.push({ row: place.row, begin: place.begin, end: place.end, kind });
  });
  return pieces.filter(({ kind }) => kind !== null);
}

/** Draw the days of a trace; `steps` are those that a secret speaks of. */
export function weekPicture({ clock, cells, regions, events, steps }) {
  const places = placesOf(clock.times, clock.step_seconds);
  const days = Math.min(MOST_ROWS, (places.at(-1)?.row ?? 0) + 1);
  const height = days * ROW + FOOT;
  const secret = secretPlaces(regions, events);
  const owner = new Map();
  for (const region of regions) for (const cell of region.cells) owner.set(cell, region);
  const x = (share) => LEFT + share * (WIDTH - LEFT);
  const svg = drawing("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-label":
      "Every day a row, coloured by the place where the person is. The secret’s hours are framed.",
    class: "week-picture",
  });
  const kindOf = (step) => {
    const cell = cells[step];
    if (cell === undefined || cell < 0) return null;
    const region = owner.get(cell);
    return region ? toneClass(region.tone, secret.has(region.name)) : "between";
  };
  places.forEach((place, step) => {
    if (place.row >= days || (step && places[step - 1].row === place.row)) return;
    const y = place.row * ROW;
    svg.append(
      drawing("text", { x: 0, y: y + 13, class: "day-name" }, place.label),
      drawing("rect", {
        x: LEFT,
        y: y + 2,
        width: WIDTH - LEFT,
        height: ROW - 4,
        rx: 2,
        class: "day-ground",
      }),
    );
  });
  const put = (pieces, inset, kind) => {
    for (const { row, begin, end, kind: found } of pieces)
      if (row < days)
        svg.append(
          drawing("rect", {
            x: x(begin).toFixed(1),
            y: row * ROW + inset,
            width: Math.max(1, x(end) - x(begin)).toFixed(1),
            height: ROW - 2 * inset,
            class: kind ?? `day-at ${found}`,
          }),
        );
  };
  put(piecesOf(places, kindOf), 2);
  const guarded = new Set(steps);
  put(
    piecesOf(places, (step) => (guarded.has(step) ? "secret" : null)),
    0.5,
    "day-secret",
  );
  for (const hour of [0, 6, 12, 18, 24])
    svg.append(
      drawing(
        "text",
        {
          x: x(hour / 24),
          y: height - 3,
          "text-anchor": hour === 24 ? "end" : hour ? "middle" : "start",
          class: "hour-name",
        },
        `${hour}:00`,
      ),
    );
  const held = regions.filter((region) => region.cells.some((cell) => cells.includes(cell)));
  return element(
    "div",
    { class: "list" },
    svg,
    element(
      "ul",
      { class: "keys" },
      held.map((region) =>
        element(
          "li",
          {},
          element("span", { class: `box swatch ${toneClass(region.tone, secret.has(region.name))}` }),
          region.name,
        ),
      ),
      element("li", {}, element("span", { class: "box between" }), "between places"),
      steps.length
        ? element("li", {}, element("span", { class: "box secret-hours" }), "the secret’s hours")
        : null,
    ),
  );
}
