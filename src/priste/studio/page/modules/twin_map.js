// Beside the map of the setting at hand, one of the setting that was kept: the same part of the earth,
// the same moment, the same colours.

/* global L */

import { cellLayer } from "./cell_layer.js";
import { element, show } from "./elements.js";
import { paintGround, paintMoving, sceneKept } from "./map_drawing.js";

/** Put the second map into its frame; it is there only while two settings are compared. */
export function openTwin(store, frame) {
  let map = null;
  let cells = null;
  const container = element("div", {
    class: "map",
    role: "img",
    "aria-label": "Map of setting A at the same moment. It moves with the other map.",
  });
  const note = element("div", { class: "map-note" });
  show(frame, container, element("div", { class: "map-name", "aria-hidden": "true" }, "A"), note);

  const comparing = () => Boolean(store.get("tab") === "compare" && store.get("kept") && store.get("world"));

  store.watch(["tab", "kept", "geometry", "world"], () => {
    frame.hidden = !comparing();
    frame.parentNode.classList.toggle("two", !frame.hidden);
    map?.remove();
    map = null;
    if (frame.hidden) return;
    map = L.map(container, {
      keyboard: false,
      attributionControl: false,
      zoomControl: false,
      zoomSnap: 0,
      zoomAnimation: false,
      fadeAnimation: false,
      inertia: false,
    });
    follow();
    cells = cellLayer(store.get("geometry"), {
      ground: (brush) => paintGround(store, sceneKept(store), brush),
      moving: (brush) => paintMoving(store, sceneKept(store), brush, {}),
    });
    cells.addTo(map);
    map.on("move", () => {
      if (!map) return;
      const { lat, lng } = map.getCenter();
      if (!following) store.set({ camera: { lat, lon: lng, zoom: map.getZoom(), by: "twin" } });
    });
    note.textContent = store.get("kept").run ? "" : "A was not run.";
  });

  let following = false;
  function follow() {
    const camera = store.get("camera");
    if (!map || !camera || camera.by === "twin") return;
    following = true;
    map.setView([camera.lat, camera.lon], camera.zoom, { animate: false });
    following = false;
  }
  store.watch(["camera"], follow);
  store.watch(["shown"], () => map && cells.redraw("moving"));
  store.watch(["layers"], () => map && cells.redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => map && cells.redraw());
  new ResizeObserver(() => {
    if (!map || !container.clientWidth || !container.clientHeight) return;
    map.invalidateSize({ animate: false });
    follow();
  }).observe(container);
}
