// The page begins here: it opens the parts, and keeps what the server sent in the form that they use.

import { Api, inWords, takeToken, unpacked } from "./api.js";
import { openCompare } from "./compare.js";
import { element, show } from "./elements.js";
import { eventOf, openEvents, renameInEvents } from "./events.js";
import { openExport } from "./exports.js";
import { Geometry } from "./geometry.js";
import { say } from "./heard.js";
import { openLive } from "./live.js";
import { followHistory } from "./history.js";
import { openMap } from "./map.js";
import { openPlayer } from "./player.js";
import { openProtection } from "./protection.js";
import { openRegions, regionOf } from "./regions.js";
import { openRun } from "./run.js";
import { secretsIn, secretsOf } from "./secrets.js";
import { openStart } from "./start.js";
import { Store } from "./store.js";
import { openTabs } from "./tabs.js";
import { openTwin } from "./twin_map.js";
import { openWeek } from "./week.js";
import { isUnsaved, keepWork, restore } from "./work.js";

const FRESH = {
  world: null,
  geometry: null,
  suggestions: [],
  regions: [],
  activeRegion: 0,
  events: [],
  secrets: [],
  explained: null,
  protection: null,
  chances: null,
  forecast: null,
  forecastJob: null,
  run: null,
  shown: null,
  follow: true,
  playing: false,
  view: null,
  chosenEvent: 0,
  prior: "worst",
  paintedPrior: new Map(),
  kept: null,
  live: null,
  cursor: null,
  camera: null,
  seen: null,
  readFor: null,
  touched: false,
  saved: null,
  tool: "move",
};

const store = new Store({
  ...FRESH,
  phase: "start",
  info: null,
  opening: null,
  tab: "week",
  layers: { truth: true, released: true, uncalibrated: false, population: true, worst: true },
});
const api = new Api(takeToken());
const at = (id) => document.getElementById(id);

/** Take in what was opened, and begin with the draft that the server made of it. */
function begin(opened) {
  const first = store.get("phase") !== "bench";
  const { map, clock, trace, setting } = opened;
  // Another map or clock keeps what somebody painted, and what nobody has looked at.
  const was = new Map(store.get("regions").map(({ name, painted }) => [name, painted]));
  const examples = new Set(store.get("events").flatMap(({ name, example }) => (example ? [name] : [])));
  const points = { lat: unpacked(trace.points.lat), lon: unpacked(trace.points.lon) };
  const geometry = new Geometry({
    rows: map.rows,
    columns: map.columns,
    lat: unpacked(map.mesh.lat),
    lon: unpacked(map.mesh.lon),
    border: map.border,
  });
  const events = setting.events.map((event) =>
    eventOf({ ...event, example: first ? opened.source.drafted : examples.has(event.name) }),
  );
  store.set({
    ...FRESH,
    phase: "bench",
    opening: null,
    touched: !first,
    geometry,
    world: {
      ...opened,
      map: { ...map, cellSize: map.cell_size_km },
      clock,
      trace: {
        cells: unpacked(trace.cells),
        stepsWithFix: trace.steps_with_fix,
        points: Array.from(points.lat, (lat, number) =>
          Number.isNaN(lat) ? null : [lat, points.lon[number]],
        ),
      },
      population: unpacked(opened.population),
    },
    suggestions: opened.suggestions.map((place) => ({
      ...place,
      cells: Array.from(unpacked(place.cells)),
      at: [place.lat, place.lon],
    })),
    regions: setting.regions.map((region, tone) =>
      regionOf({ ...region, cells: Array.from(unpacked(region.cells)), painted: was.get(region.name) }, tone),
    ),
    events,
    secrets: secretsOf(setting.secrets, events),
    protection: {
      ...known(setting.adversary),
      guarantee: setting.guarantee,
      mobility: setting.mobility,
      mechanism: setting.mechanism,
      calibrator: setting.calibrator ?? "optimal",
      outside: setting.outside,
      seed: store.get("info")?.seed ?? null,
    },
  });
  const size = `${map.columns} columns and ${map.rows} rows of cells, ${clock.steps} steps`;
  say(`${first ? "Your week is open" : "The week is laid out again"}: ${size}.`);
  // What was pressed is gone with the first page; whoever goes by keys goes on where the story does.
  if (first)
    queueMicrotask(() =>
      at(`view-${store.get("tab")}`)
        .querySelector("h2")
        .focus({ preventScroll: true }),
    );
}

/** What somebody decides about an event; the server's reading of it is no change of theirs. */
const essence = ({ name, every, span, example, shape, formula, writer }) => [
  name,
  every,
  span,
  example,
  writer ? [shape, formula] : "",
];

/** An adversary and, apart from it, the places where they may know that the week began. */
function known({ also, ...adversary }) {
  return { adversary, also: also ?? [] };
}

/** Ask the server to open something; while it does, and if it fails, the page says so. */
async function open(ask, what) {
  store.set({ opening: { state: "opening", what } });
  try {
    begin(await ask());
  } catch (error) {
    const parameter = error.problems?.map(({ path }) => path).find(Boolean) ?? "";
    store.set({ opening: { state: "failed", message: inWords(error), parameter } });
  }
}

/** Put a policy of the user's own in the place of the draft. */
async function openPolicy(file) {
  const policy = await file.text();
  await open(async () => {
    const found = await api.post("/policy/open", { policy });
    store.set({ phase: "start" }); // what was chosen for the draft has no place in it
    return found;
  }, `“${file.name}”`);
}

function close() {
  if (isUnsaved(store) && !confirm("Your work was not exported. Leave it?")) return;
  endLive();
  endWatch();
  void api.end();
  store.set({ ...FRESH, phase: "start", tab: "week", opening: null });
  queueMicrotask(() => at("main").focus({ preventScroll: true }));
}

// First of all, so that the map opens in a frame that has its size.
store.watch(["phase", "world"], () => {
  const phase = store.get("phase");
  at("start").hidden = phase !== "start";
  at("bench").hidden = phase === "start";
  at("panel-bench").hidden = phase !== "bench";
  const watching = phase === "live" && at("panel-live").hidden;
  at("panel-live").hidden = phase !== "live";
  if (watching) at("panel-live").focus({ preventScroll: true });
  const source = store.get("world")?.source;
  at("source").textContent =
    phase === "live"
      ? "watching priste live"
      : source
        ? source.kind === "town"
          ? "a made-up town"
          : [source.name, ...(source.people.length > 1 ? [source.person] : [])].join(", ")
        : "";
});

openTabs(store, at("tabs"), at("views"));
openStart(store, at("start"), { open, api });
const endWatch = openWeek(store, at("view-week"), { open, api, openPolicy, close: () => close() });
openRegions(store, at("view-places"), { renameInEvents: renameInEvents(store) });
openEvents(store, at("view-secrets"), api);
openProtection(store, at("view-protection"), at("glance"), api);
const runner = openRun(store, at("view-run"), { open, api });
openCompare(store, at("view-compare"));
openExport(store, at("view-export"), { open, api });
openPlayer(store, at("player"));
openMap(store, at("map"), at("legend"), api);
openTwin(store, at("map-kept"));
const endLive = openLive(store, at("live-alone"), api);
at("live-close").addEventListener("click", close);

// Watching a stream without a week of one's own: the map goes where the points are.
store.watch(["live", "phase"], () => {
  const point = store.get("live")?.points[0];
  if (store.get("phase") !== "live" || !point || store.get("geometry")) return;
  const [lat, lon] = point;
  store.set({
    geometry: new Geometry({
      rows: 1,
      columns: 1,
      lat: [lat - 0.03, lat - 0.03, lat + 0.03, lat + 0.03],
      lon: [lon - 0.04, lon + 0.04, lon - 0.04, lon + 0.04],
    }),
  });
});

// A page from the browser's memory asks for its session again.
addEventListener("pageshow", (event) => event.persisted && location.reload());
addEventListener("beforeunload", (event) => isUnsaved(store) && event.preventDefault());
keepWork(store, api);
// Anything that somebody does to what was opened is work that leaving would lose.
let drafted = null;
store.watch(["world", "protection", "regions", "events", "secrets", "run"], () => {
  const world = store.get("world");
  const secrets = secretsIn(store.get("secrets"), store.get("events"));
  const made = [store.get("protection"), store.get("regions"), secrets, store.get("run")?.id];
  const key = world ? JSON.stringify([...made, store.get("events").map(essence)]) : null;
  if (world !== drafted?.world) drafted = { world, key };
  else if (key !== drafted.key && !store.get("touched")) store.set({ touched: true });
});

try {
  store.set({ info: await api.info() });
  const before = await api.again();
  if (before?.opened) {
    begin(before.opened);
    restore(store, before.work);
    const { run } = before.work;
    if (run && before.runs.includes(run.id)) void runner.resume(run);
  }
  followHistory(store);
} catch (error) {
  show(
    at("start"),
    element(
      "div",
      { class: "says bad", role: "alert" },
      element(
        "h1",
        { class: "small-title" },
        error.status === 401 ? "This address has lost its token" : "The studio cannot be reached",
      ),
      element("p", {}, error.message, " ", error.hint ?? ""),
    ),
  );
}
document.documentElement.dataset.ready = "yes";
