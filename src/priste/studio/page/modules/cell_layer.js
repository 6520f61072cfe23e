// Two canvases over the map: one for the ground, which has the shape of cells, and one for what moves on it.
// 40,000 elements would be slow, and so would be drawing 40,000 cells for every step of a run.

/* global L */

import { Brush } from "./brush.js";

/** Make a Leaflet layer. Its painters are called with a brush; `layer.redraw("ground")` asks for that. */
export function cellLayer(geometry, painters) {
  const names = Object.keys(painters);
  const Layer = L.Layer.extend({
    onAdd(map) {
      this._asked = new Set();
      this._canvases = names.map((name) => {
        const canvas = L.DomUtil.create(
          "canvas",
          `cells ${name} leaflet-zoom-animated`,
          map.getPane("overlayPane"),
        );
        canvas.setAttribute("aria-hidden", "true");
        return canvas;
      });
      map.on("move moveend zoomend resize viewreset", this._moved, this);
      map.on("zoomanim", this._zooming, this);
      this._moved();
    },
    onRemove(map) {
      map.off("move moveend zoomend resize viewreset", this._moved, this);
      map.off("zoomanim", this._zooming, this);
      for (const canvas of this._canvases) canvas.remove();
    },
    // What is drawn grows or shrinks with the map, and is drawn anew when it has arrived.
    _zooming({ zoom, center }) {
      const scale = this._map.getZoomScale(zoom, this._view.zoom);
      const offset = this._map._latLngBoundsToNewLayerBounds(this._view.bounds, zoom, center).min;
      for (const canvas of this._canvases) L.DomUtil.setTransform(canvas, offset, scale);
    },
    _moved() {
      for (const name of names) this._asked.add(name);
      this._replaced = true;
      this._soon();
    },
    redraw(name) {
      if (!this._map) return;
      for (const each of name ? [name] : names) this._asked.add(each);
      this._soon();
    },
    // At most once a frame, however often it is asked for.
    _soon() {
      this._drawing ??= requestAnimationFrame(() => {
        this._drawing = null;
        if (!this._map || this._map._animatingZoom) return;
        if (this._replaced) this._place();
        for (const name of this._asked) this._draw(name);
        this._asked.clear();
      });
    },
    _place() {
      const map = this._map;
      const { x: width, y: height } = map.getSize();
      const { min } = map.getPixelBounds();
      const zoom = map.getZoom();
      const ratio = window.devicePixelRatio || 1;
      this._view = {
        zoom,
        scale: 2 ** zoom,
        left: min.x,
        top: min.y,
        width,
        height,
        bounds: map.getBounds(),
      };
      for (const canvas of this._canvases) {
        L.DomUtil.setPosition(canvas, map.containerPointToLayerPoint([0, 0]));
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
          canvas.width = Math.round(width * ratio);
          canvas.height = Math.round(height * ratio);
          canvas.style.width = `${width}px`;
          canvas.style.height = `${height}px`;
        }
      }
      this._replaced = false;
    },
    _draw(name) {
      const canvas = this._canvases[names.indexOf(name)];
      const context = canvas.getContext("2d");
      const ratio = window.devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      painters[name](new Brush(context, geometry, this._view, ratio));
    },
  });
  return new Layer();
}
