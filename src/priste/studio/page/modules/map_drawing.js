// What is drawn on the map, in order: where people are, cells, places, paths, and the cursor.

import { tint, tone } from "./colours.js";

/** How many of the last positions of a path stand out. */
const RECENT = 24;

/** Draw everything that the store holds with a brush of the canvas. */
export function paintAll(store, brush, { cursor, outline }) {
  const colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue(name).trim();
  const layers = store.get("layers");
  const world = store.get("world") ?? {};
  const tab = store.get("tab");
  const geometry = store.get("geometry");

  if (layers.population && world.population && !(tab === "run" && store.get("prior") === "painted"))
    heat(brush, world.population, colour);
  const painted = store.get("paintedPrior");
  if (tab === "run" && store.get("prior") === "painted") heat(brush, painted, colour);
  if (world.map) {
    brush.grid(colour("--map-line"));
    brush.frame(colour("--strong-line"));
  }

  const regions = store.get("regions");
  regions.forEach((region, number) => {
    if (!region.cells.length) return;
    const active = tab === "places" && number === store.get("activeRegion");
    const ink = colour(tone(region.tone));
    brush.fill(region.cells, ink, tint(active));
    brush.outline(region.cells, ink, active ? 3 : 2);
  });

  const run = store.get("run");
  const shown = store.get("shown");
  const truth = world.trace;
  const edge = colour("--paper");
  if (layers.truth && truth) {
    if (run && shown !== null) {
      const done = run.steps.slice(0, shown + 1);
      brush.path(truth.points, colour("--true"), 2, { opacity: 0.18 });
      trail(
        brush,
        done.map((step) => step.truth),
        colour("--true"),
        [],
      );
    } else brush.path(truth.points, colour("--true"), 2, { opacity: 0.75 });
  }
  // Names lie over cells and under paths: what is shown moving must be seen.
  for (const region of regions) {
    if (!region.cells.length) continue;
    brush.label(
      middle(geometry, region.cells),
      region.name,
      colour(tone(region.tone)),
      edge,
      Math.min(20, brush.cellWidth / 3),
    );
  }
  if (run) {
    const done = run.steps.slice(0, (shown ?? -1) + 1);
    if (layers.bare)
      trail(
        brush,
        done.map((step) => step.bare),
        colour("--bare"),
        [5, 4],
      );
    if (layers.released)
      trail(
        brush,
        done.map((step) => step.released),
        colour("--released"),
        [],
      );
    const now = done.at(-1);
    if (layers.worst && tab === "run") {
      const worst = store.get("worstShown") ?? [];
      brush.outline(
        worst.map(({ cell }) => cell),
        colour("--bad"),
        3,
        [6, 3],
      );
      if (worst.length <= 4)
        for (const { cell, share } of worst)
          brush.label(
            geometry.center(cell),
            share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`,
            colour("--bad"),
            edge,
            -16,
          );
    }
    if (now) {
      if (layers.truth && now.truth) brush.dot(now.truth, 7, colour("--true"), edge);
      if (layers.bare && now.bare) brush.dot(now.bare, 6, colour("--bare"), edge);
      if (layers.released && now.released) brush.dot(now.released, 8, colour("--released"), edge);
    }
  }
  const live = store.get("live");
  if (live?.points.length) {
    trail(brush, live.points, colour("--released"), []);
    brush.dot(live.points.at(-1), 8, colour("--released"), edge);
  }
  if (outline) brush.path(outline, colour("--accent"), 2, { dash: [4, 4] });
  if (cursor !== null && cursor !== undefined) {
    brush.outline([cursor], edge, 6);
    brush.outline([cursor], colour("--ink"), 3);
  }
}

/** The last day or so of a path stands out; what is older fades. */
function trail(brush, positions, colour, dash) {
  if (positions.length > RECENT)
    brush.path(positions.slice(0, 1 - RECENT), colour, 1.2, { opacity: 0.16, dash });
  brush.path(positions.slice(-RECENT), colour, 2.5, { opacity: 0.9, dash });
  for (const position of positions.slice(-RECENT)) if (position) brush.dot(position, 2.5, colour);
}

function heat(brush, shares, colour) {
  const entries = shares instanceof Map ? [...shares] : shares.map((share, cell) => [cell, share]);
  const most = entries.reduce((largest, [, share]) => Math.max(largest, share), 0);
  if (!most) return;
  const levels = 6;
  const buckets = Array.from({ length: levels }, () => []);
  for (const [cell, share] of entries) {
    // The square root, because a few busy cells would leave all others white.
    const level = Math.min(levels - 1, Math.floor(levels * Math.sqrt(share / most)));
    if (share > 0 && level >= 0) buckets[level].push(cell);
  }
  buckets.forEach(
    (cells, level) => level && brush.fill(cells, `rgb(${colour("--cell-heat")})`, 0.07 * level),
  );
}

function middle(geometry, cells) {
  // The cell nearest to the mean, so that the name of a bent region does not lie outside it.
  const rows = cells.reduce((sum, cell) => sum + Math.floor(cell / geometry.columns), 0) / cells.length;
  const columns = cells.reduce((sum, cell) => sum + (cell % geometry.columns), 0) / cells.length;
  let best = cells[0];
  let least = Infinity;
  for (const cell of cells) {
    const far =
      (Math.floor(cell / geometry.columns) - rows) ** 2 + ((cell % geometry.columns) - columns) ** 2;
    if (far < least) [best, least] = [cell, far];
  }
  return geometry.center(best);
}
