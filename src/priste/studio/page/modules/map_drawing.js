// What is drawn on the map, in order: where the model expects people, cells, places, paths, and the cursor.

import { tint, tone } from "./colours.js";
import { worstAt } from "./prior.js";
import { secretPlaces, spoken } from "./secrets.js";
import { homeStays, same, settingOf } from "./setting.js";

/** Hours of a path that are drawn: more is a tangle that says nothing about the moment shown. */
const HOURS = 12;
const LIVE_POINTS = 24;

/** What the map of the setting at hand shows. */
export function sceneAtHand(store) {
  const tab = store.get("tab");
  const run = store.get("run");
  // Beside another setting, only what this very setting released may stand.
  const strange = tab === "compare" && run && !same(run.setting, settingOf(store));
  return {
    tab,
    regions: marked(store.get("regions"), spoken(store.get("events"), store.get("secrets"))),
    active: tab === "places" ? store.get("activeRegion") : null,
    run: strange ? null : run,
    worst: tab === "run" ? worstShown(store, run) : [],
    painted: tab === "run" && store.get("prior") === "painted" ? store.get("paintedPrior") : null,
    live: store.get("live"),
  };
}

/** What the map of the setting that was kept shows. */
export function sceneKept(store) {
  const { setting, run } = store.get("kept");
  const tones = new Map(store.get("regions").map(({ name, tone: number }) => [name, number]));
  return {
    tab: "compare",
    regions: marked(
      setting.regions.map((region, place) => ({ ...region, tone: tones.get(region.name) ?? place })),
      spoken(setting.events, setting.secrets),
    ),
    active: null,
    run,
    worst: [],
    painted: null,
    live: null,
  };
}

/** Where the adversary who learns most believes that the week began, at the moment shown. */
function worstShown(store, run) {
  if (!run?.start) return [];
  const shown = Math.min(store.get("shown") ?? run.steps.length - 1, run.steps.length - 1);
  const number = Math.min(store.get("chosenEvent"), run.start.events.length - 1);
  return worstAt(run, shown, number, store.get("view")).map(([cell, share]) => ({ cell, share }));
}

/** Places, each with whether a secret speaks of it. */
function marked(regions, events) {
  const secret = secretPlaces(regions, events);
  return regions.map((region) => ({ ...region, secret: secret.has(region.name) }));
}

function inks() {
  const colours = getComputedStyle(document.documentElement);
  return (name) => colours.getPropertyValue(name).trim();
}

/** Draw the outlines of the world under everything else. */
export function paintWorld(world, brush) {
  const colour = inks();
  brush.world(world, colour("--coast"), colour("--quiet"), colour("--map-ground"));
}

/** Draw what stays while time goes on: where the model expects people, the cells, and the places. */
export function paintGround(store, scene, brush) {
  const colour = inks();
  const world = store.get("world") ?? {};
  if (scene.painted) brush.heat(scene.painted, colour("--cell-heat"));
  // Of a home that was painted elsewhere nobody has asked the model yet.
  else if (store.get("layers").population && world.population && homeStays(store))
    brush.heat(world.population, colour("--cell-heat"));
  if (world.map) {
    brush.grid(colour("--map-line"));
    brush.frame(colour("--strong-line"), { inner: world.map.border ? 1 : 0 });
    if (world.map.border) {
      const { columns } = brush.geometry;
      brush.frame(colour("--strong-line"), { dash: [3, 5] });
      // In the middle of the ring's south: tools lie over its north.
      const ends = [(columns - 1) >> 1, columns >> 1].map((cell) => brush.geometry.center(cell));
      if (brush.cellWidth > 13)
        brush.label(
          [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2),
          columns * brush.cellWidth > 330 ? "off-map: everything beyond the map" : "off-map",
          colour("--quiet"),
          colour("--map-ground"),
        );
    }
  }
  scene.regions.forEach((region, number) => {
    if (!region.cells.length) return;
    const active = number === scene.active;
    const ink = colour(tone(region.tone, region.secret));
    brush.fill(region.cells, ink, tint(active));
    brush.outline(region.cells, ink, active ? 3.5 : region.secret ? 3 : 2);
  });
}

/** Draw what moves: paths up to the moment that is shown, names above cells, the cursor. */
export function paintMoving(store, scene, brush, { cursor = null, outline = null }) {
  const colour = inks();
  const layers = store.get("layers");
  const { run, worst, live } = scene;
  const geometry = store.get("geometry");
  const shown = run ? Math.min(store.get("shown") ?? -1, run.steps.length - 1) : null;
  const done = run ? run.steps.slice(0, shown + 1) : [];
  const truth = store.get("world")?.trace;
  const recent = done.slice(-stepsOf(HOURS, store.get("world")?.clock));
  const edge = colour("--paper");
  if (layers.truth && truth) {
    if (done.length) {
      trail(
        brush,
        recent.map((step) => step.truth),
        colour("--true"),
        [],
      );
    } else brush.path(truth.points, colour("--true"), 2, { opacity: 0.55 });
  }
  // Names lie over cells and under paths: what is shown moving must be seen.
  for (const region of scene.regions) {
    if (!region.cells.length) continue;
    const name = region.secret ? `${region.name} (secret)` : region.name;
    const ink = colour(tone(region.tone, region.secret));
    brush.label(geometry.footOf(region.cells), name, ink, edge, 11);
  }
  for (const [name, ink, dash] of /** @type {[string, string, number[]][]} */ ([
    ["uncalibrated", "--uncalibrated", [5, 4]],
    ["released", "--released", []],
  ]))
    if (layers[name] && done.length)
      trail(
        brush,
        recent.map((step) => step[name]),
        colour(ink),
        dash,
      );
  if (layers.worst && worst.length) {
    brush.outline(
      worst.map(({ cell }) => cell),
      colour("--kept"),
      3,
      [6, 3],
    );
    // On small cells shares would lie over names and paths; the panel tells them too.
    if (worst.length <= 4 && brush.cellWidth > 34)
      for (const { cell, share } of worst)
        brush.label(
          geometry.center(cell),
          share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`,
          colour("--kept"),
          edge,
          -16,
        );
  }
  const now = done.at(-1);
  if (now) {
    if (layers.truth && now.truth) brush.dot(now.truth, 7, colour("--true"), edge);
    if (layers.uncalibrated && now.uncalibrated)
      brush.dot(now.uncalibrated, 6, colour("--uncalibrated"), edge);
    if (layers.released && now.released) brush.dot(now.released, 8, colour("--released"), edge);
  }
  if (live?.points.length) {
    trail(brush, live.points.slice(-LIVE_POINTS), colour("--released"), []);
    brush.dot(live.points.at(-1), 8, colour("--released"), edge);
  }
  if (outline) brush.path(outline, colour("--accent"), 2, { dash: [4, 4] });
  if (cursor !== null && cursor !== undefined) {
    brush.outline([cursor], edge, 6);
    brush.outline([cursor], colour("--ink"), 3);
  }
}

/** How many steps such a time is, two at least: a path needs a beginning and an end. */
const stepsOf = (hours, clock) => Math.max(2, Math.round((3600 * hours) / (clock?.step_seconds ?? 3600)));

/** A path with its positions: the older half of it is fainter. */
function trail(brush, positions, colour, dash) {
  const middle = Math.floor(positions.length / 2);
  if (middle > 0) brush.path(positions.slice(0, middle + 1), colour, 2, { opacity: 0.4, dash });
  brush.path(positions.slice(middle), colour, 2.5, { opacity: 0.9, dash });
  for (const position of positions) if (position) brush.dot(position, 2.5, colour);
}
