// The picture of the first page: a true path through one secret cell, and a released one around it.

import { drawing } from "./elements.js";

export function picture() {
  const svg = drawing("svg", {
    viewBox: "0 0 400 300",
    role: "img",
    "aria-label":
      "A map of cells with a true path through a marked cell and a released path that does not show it.",
    class: "start-picture",
  });
  for (let row = 0; row < 6; row += 1) {
    for (let column = 0; column < 8; column += 1)
      svg.append(
        drawing("rect", {
          x: column * 50 + 1,
          y: row * 50 + 1,
          width: 48,
          height: 48,
          rx: 6,
          class:
            row === 1 && column === 5
              ? "cell secret"
              : (row * 3 + column * 5) % 7 === 0
                ? "cell busy-cell"
                : "cell",
        }),
      );
  }
  svg.append(
    drawing("path", {
      d: "M75 225 C 110 200, 150 190, 175 125 S 240 60, 275 75 S 320 150, 325 175 S 300 240, 225 225",
      class: "true-path",
    }),
    drawing("path", {
      d: "M75 225 C 110 200, 140 190, 175 175 S 230 190, 225 125 S 330 130, 325 175 S 300 240, 225 225",
      class: "released-path",
    }),
    ...[
      [75, 225],
      [175, 175],
      [225, 125],
      [325, 175],
      [225, 225],
    ].map(([cx, cy]) => drawing("circle", { cx, cy, r: 6, class: "released-dot" })),
    drawing("circle", { cx: 275, cy: 75, r: 6, class: "true-dot" }),
  );
  return svg;
}
