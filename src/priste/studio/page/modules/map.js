// The map: cells, regions, paths, and the ways to paint on it by mouse, finger or keyboard.

/* global L */

import { button, checkbox, element, show } from "./elements.js";
import { basemap } from "./basemap.js";
import { cellLayer } from "./cell_layer.js";
import { adopt, openSuggestions, paintCells } from "./regions.js";
import { paintGround, paintMoving, paintWorld, sceneAtHand } from "./map_drawing.js";
import { PriorBrush } from "./prior.js";
import { loadWorld } from "./world.js";

const TOOLS = [
  ["move", "Move", "Drag to move the map"],
  ["paint", "Paint", "Drag over cells to add them to the chosen place"],
  ["erase", "Erase", "Drag over cells to take them out of the chosen place"],
  ["outline", "Draw around", "Draw a line around an area to add everything inside"],
];

/** Put the map on the page; it follows the store from then on. */
export function openMap(store, frame, legend, api) {
  let map = null;
  let cells = null;
  let marks = null;
  let streets = null;
  let outline = null;
  const container = element("div", {
    class: "map",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Map of cells. Arrow keys move a cursor, Space paints or erases a cell, plus and minus zoom.",
  });
  const heard = element("div", { class: "only-heard", "aria-live": "polite" });
  const tools = element("div", { class: "tools", role: "toolbar", "aria-label": "Map tools" });
  const legendRows = element("div", { class: "rows" });
  // Folded away where the map is small.
  const room = matchMedia("(min-width: 980px)");
  const fold = element("details", { open: room.matches }, element("summary", {}, "Layers"), legendRows);
  room.addEventListener("change", () => {
    fold.open = room.matches;
  });
  show(legend, fold);
  const name = element("div", { class: "map-name", "aria-hidden": "true" }, "B");
  const note = element("div", { class: "map-note" });
  show(frame, container, name, tools, note, heard);
  store.watch(["tab", "kept"], () => {
    name.hidden = store.get("tab") !== "compare" || !store.get("kept");
  });

  store.watch(["geometry"], () => {
    const geometry = store.get("geometry");
    map?.remove();
    map = null;
    if (!geometry) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    map = L.map(container, {
      keyboard: false, // the arrows move the cursor of cells
      attributionControl: false,
      zoomSnap: 0.25,
      zoomAnimation: !still,
      fadeAnimation: !still,
      inertia: !still,
      maxBoundsViscosity: 0.8,
    });
    if (hasRoom(container)) fit();
    else map.setView(geometry.center(0), 12, { animate: false });
    map.setMinZoom(Math.min(3, map.getZoom()));
    const look = () => {
      if (!map) return; // a window that was resized tells a map that has just been closed
      const seen = map.getBounds();
      const { lat, lng } = map.getCenter();
      store.set({
        camera: { lat, lon: lng, zoom: map.getZoom(), by: "map" },
        seen: { south: seen.getSouth(), west: seen.getWest(), north: seen.getNorth(), east: seen.getEast() },
      });
    };
    map.on("move moveend", () => following || look());
    look();
    L.control.scale({ imperial: false }).addTo(map);
    cells = cellLayer(geometry, {
      world: (brush) => world && (store.get("layers").world ?? true) && paintWorld(world, brush),
      ground: (brush) => paintGround(store, sceneAtHand(store), brush),
      moving: (brush) =>
        paintMoving(store, sceneAtHand(store), brush, {
          cursor: cursorShown() ? store.get("cursor") : null,
          outline,
        }),
    });
    cells.addTo(map);
    marks = L.layerGroup().addTo(map);
    streets = null;
    showStreets();
    showSuggestions();
    applyTool();
  });

  // The map beside this one was moved: go where it is.
  let following = false;
  store.watch(["camera"], () => {
    const camera = store.get("camera");
    if (!map || camera?.by !== "twin") return;
    following = true;
    map.setView([camera.lat, camera.lon], camera.zoom, { animate: false });
    following = false;
  });

  let world = null;
  void loadWorld().then((found) => {
    world = found;
    cells?.redraw("world");
  });
  const redraw = () => cells?.redraw("moving");
  store.watch(
    ["regions", "events", "secrets", "activeRegion", "layers", "tab", "paintedPrior", "prior", "kept"],
    () => cells?.redraw(),
  );
  store.watch(["run", "shown", "cursor", "view", "chosenEvent", "live"], redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cells?.redraw());
  let [width, height] = [0, 0];
  let fitted = null;
  const another = (now, before) => Math.abs(now - before) > 0.25 * before;
  const view = () => `${map.getZoom()} ${map.getCenter()}`;
  /** Show the whole map. */
  function fit() {
    map.fitBounds(store.get("geometry").bounds(), { padding: [14, 14], animate: false });
    fitted = view();
  }
  new ResizeObserver(() => {
    // A window that is folded away has no room to fit anything into: wait until it is back.
    if (!map || !hasRoom(container)) return;
    const still = view() === fitted;
    map.invalidateSize({ animate: false });
    // Nobody moved it, a phone was turned, a window was halved: show the whole map again.
    if (still || another(container.clientWidth, width) || another(container.clientHeight, height)) fit();
    [width, height] = [container.clientWidth, container.clientHeight];
  }).observe(container);

  // --- tools -----------------------------------------------------------------------------------
  const paintsPrior = () => store.get("tab") === "run" && store.get("prior") === "painted";
  const mayPaint = () => store.get("tab") === "places" || paintsPrior();

  store.watch(["tool", "tab", "prior"], () => {
    tools.hidden = !mayPaint();
    show(
      tools,
      TOOLS.map(([tool, words, title]) =>
        button(words, () => store.set({ tool }), { title, "aria-pressed": store.get("tool") === tool }),
      ),
    );
    applyTool();
  });

  function applyTool() {
    if (!map) return;
    const painting = mayPaint() && store.get("tool") !== "move";
    container.classList.toggle("painting", painting);
    if (painting) map.dragging.disable();
    else map.dragging.enable();
    if (painting) map.doubleClickZoom.disable();
    else map.doubleClickZoom.enable();
  }

  // --- painting with a pointer --------------------------------------------------------------------
  const priorBrush = new PriorBrush(store);
  let stroke = null;

  function position(event) {
    const at = map.mouseEventToLatLng(event);
    return { latlon: [at.lat, at.lng], cell: store.get("geometry").cellAt(at.lat, at.lng) };
  }

  function apply(found, erase) {
    if (paintsPrior()) priorBrush.paint(found, erase);
    else paintCells(store, found, erase);
  }

  container.addEventListener("pointerdown", (event) => {
    if (!map || !container.classList.contains("painting") || event.button !== 0) return;
    // A mark under the brush does not take the stroke: see .painting in style/map.css.
    if (event.target.closest(".leaflet-control")) return;
    event.preventDefault();
    container.focus({ preventScroll: true });
    container.setPointerCapture(event.pointerId);
    const { cell, latlon } = position(event);
    stroke = { last: cell, line: [latlon] };
    if (store.get("tool") !== "outline" && cell !== null) apply([cell], store.get("tool") === "erase");
  });
  container.addEventListener("pointermove", (event) => {
    if (!stroke) return;
    const { cell, latlon } = position(event);
    stroke.line.push(latlon);
    if (store.get("tool") === "outline") {
      outline = stroke.line;
      redraw();
    } else if (cell !== null && cell !== stroke.last) {
      const geometry = store.get("geometry");
      apply(stroke.last === null ? [cell] : geometry.line(stroke.last, cell), store.get("tool") === "erase");
      stroke.last = cell;
    }
  });
  const endStroke = () => {
    if (stroke && store.get("tool") === "outline" && stroke.line.length > 2)
      apply(store.get("geometry").inside(stroke.line), false);
    stroke = null;
    outline = null;
    redraw();
  };
  container.addEventListener("pointerup", endStroke);
  container.addEventListener("pointercancel", endStroke);

  // --- painting with the keyboard ------------------------------------------------------------------
  const cursorShown = () => container.matches(":focus-visible");
  container.addEventListener("focus", redraw);
  container.addEventListener("blur", redraw);
  container.addEventListener("keydown", (event) => {
    if (!map || event.target !== container || event.ctrlKey || event.metaKey || event.altKey) return;
    const geometry = store.get("geometry");
    const here =
      store.get("cursor") ??
      Math.floor(geometry.rows / 2) * geometry.columns + Math.floor(geometry.columns / 2);
    const [row, column] = [Math.floor(here / geometry.columns), here % geometry.columns];
    const far = event.shiftKey ? 5 : 1;
    const moves = { ArrowUp: [far, 0], ArrowDown: [-far, 0], ArrowLeft: [0, -far], ArrowRight: [0, far] };
    if (event.key in moves) {
      const [up, right] = moves[event.key];
      const next =
        Math.max(0, Math.min(geometry.rows - 1, row + up)) * geometry.columns +
        Math.max(0, Math.min(geometry.columns - 1, column + right));
      store.set({ cursor: next });
      map.panInside(geometry.center(next), { padding: [40, 40], animate: false });
      heard.textContent = describe(next);
    } else if (event.key === " " || event.key === "Enter") {
      if (!mayPaint()) {
        heard.textContent = describe(here);
      } else {
        const held = paintsPrior()
          ? store.get("paintedPrior").has(here)
          : holds(store.get("regions")[store.get("activeRegion")], here);
        const erase = store.get("tool") === "erase" || held;
        apply([here], erase);
        store.set({ cursor: here });
        heard.textContent = `${erase ? "Erased" : "Painted"}. ${describe(here)}`;
      }
    } else if (event.key === "+" || event.key === "=") map.zoomIn(1, { animate: false });
    else if (event.key === "-") map.zoomOut(1, { animate: false });
    else return;
    event.preventDefault();
  });

  function describe(cell) {
    const geometry = store.get("geometry");
    const inside = store.get("regions").filter((region) => holds(region, cell));
    const where = `Row ${Math.floor(cell / geometry.columns) + 1} from the south, column ${(cell % geometry.columns) + 1} from the west`;
    return `${where}${inside.length ? `, in ${inside.map((region) => region.name).join(" and ")}` : ""}`;
  }

  // --- places that the trace suggests -------------------------------------------------------------
  store.watch(["suggestions", "regions", "tab"], () => showSuggestions());

  function showSuggestions() {
    if (!marks) return;
    marks.clearLayers();
    if (store.get("tab") !== "places") return;
    const geometry = store.get("geometry");
    for (const { place, number } of openSuggestions(store)) {
      const face = element("div", { class: "place-mark" }, element("span", {}, String(number)));
      const mark = L.marker(place.at ?? geometry.center(place.cells[0]), {
        icon: L.divIcon({ html: face, className: "", iconSize: [30, 30], iconAnchor: [15, 34] }),
        keyboard: true,
      });
      mark.on("click", () => adopt(store, place));
      mark.on("keypress", (event) => event.originalEvent.key === "Enter" && adopt(store, place));
      mark.addTo(marks);
      const node = mark.getElement();
      node.setAttribute("aria-label", `Guard this place: ${place.words}`);
      mark.bindTooltip(element("span", {}, `${place.words}. Click to guard it.`), {
        direction: "top",
        offset: [0, -32],
      });
    }
  }

  // --- streets, if there are any ---------------------------------------------------------------------
  async function showStreets() {
    const mine = map;
    const layer = await basemap(map, api, store.get("info")).catch(() => null);
    if (!layer || map !== mine) return;
    streets = layer;
    switchStreets();
  }

  function switchStreets() {
    if (!streets || !map) return;
    // Tiles from the network are asked for only after somebody switched them on.
    const on = store.get("layers").streets ?? Boolean(store.get("info")?.basemap);
    if (on) streets.addTo(map);
    else streets.remove();
  }
  store.watch(["layers"], switchStreets);

  // --- legend ---------------------------------------------------------------------------------------
  store.watch(["layers", "run", "tab", "world", "live", "info", "geometry"], () => {
    const layers = store.get("layers");
    const toggle = (layer) => (on) => store.set({ layers: { ...store.get("layers"), [layer]: on } });
    const run = store.get("run");
    const rows = [];
    const line = (kind) => element("span", { class: `line ${kind}`, "aria-hidden": "true" });
    if (store.get("world")?.trace)
      rows.push(checkbox([line("is-true"), "true path"], layers.truth, toggle("truth")));
    if (run || store.get("live"))
      rows.push(checkbox([line("is-released"), "released path"], layers.released, toggle("released")));
    if (run)
      rows.push(
        checkbox(
          [line("is-uncalibrated"), "without calibration"],
          layers.uncalibrated,
          toggle("uncalibrated"),
        ),
      );
    if (store.get("world")?.population)
      rows.push(checkbox("where the model expects you", layers.population, toggle("population")));
    if (run)
      rows.push(checkbox("where the worst adversary believes you began", layers.worst, toggle("worst")));
    rows.push(checkbox("coasts, borders and cities", layers.world ?? true, toggle("world")));
    const info = store.get("info");
    if (info?.basemap) rows.push(checkbox("streets", layers.streets ?? true, toggle("streets")));
    else if (info?.tiles)
      rows.push(
        checkbox(
          `streets from ${info.tiles.host} (asks it for this part of the map)`,
          layers.streets ?? false,
          toggle("streets"),
        ),
      );
    legend.hidden = rows.length === 0 || !store.get("geometry");
    // Re-made only when the list of rows changes, so that a key press on a box keeps its focus.
    const key = `${rows.length}:${JSON.stringify(layers)}`;
    if (legend.dataset.key === key) return;
    legend.dataset.key = key;
    const focused = [...legendRows.querySelectorAll("input")].indexOf(document.activeElement);
    show(legendRows, rows);
    if (focused >= 0) legendRows.querySelectorAll("input")[focused]?.focus();
  });

  store.watch(["tab", "tool", "regions", "activeRegion", "prior", "phase", "geometry"], () => {
    const active = store.get("regions")[store.get("activeRegion")];
    const empty = store.get("phase") === "live" && !store.get("geometry");
    note.classList.toggle("alone", empty);
    if (empty) note.textContent = "The map opens with the first release.";
    else if (!mayPaint()) note.textContent = "";
    else if (paintsPrior()) note.textContent = "Paint where this adversary believes the week began.";
    else if (!active) note.textContent = "Make a place first, or click a numbered mark.";
    else
      note.textContent =
        {
          paint: `Painting “${active.name}”`,
          erase: `Erasing from “${active.name}”`,
          outline: `Draw around an area for “${active.name}”`,
        }[store.get("tool")] ?? "";
  });

  return { focus: () => container.focus() };
}

const hasRoom = ({ clientWidth, clientHeight }) => Math.min(clientWidth, clientHeight) > 60;
const holds = (region, cell) => Boolean(region) && region.cells.includes(cell);
