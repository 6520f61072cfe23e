// One canvas over the map for everything that has the shape of cells. 40,000 elements would be slow;
// 40,000 quadrangles on one canvas, drawn colour by colour, are not.

/* global L */

/** Make a Leaflet layer. `paint(brush)` is called to draw; call `layer.redraw()` when something changed. */
export function cellLayer(geometry, paint) {
  const Layer = L.Layer.extend({
    onAdd(map) {
      this._canvas = L.DomUtil.create("canvas", "cells", map.getPane("overlayPane"));
      this._canvas.setAttribute("aria-hidden", "true");
      map.on("moveend zoomend resize viewreset", this._place, this);
      map.on("zoomanim", this._hideWhileZooming, this);
      this._place();
    },
    onRemove(map) {
      map.off("moveend zoomend resize viewreset", this._place, this);
      map.off("zoomanim", this._hideWhileZooming, this);
      this._canvas.remove();
    },
    _hideWhileZooming() {
      this._canvas.classList.add("leaving");
    },
    _place() {
      const size = this._map.getSize();
      const scale = window.devicePixelRatio || 1;
      const corner = this._map.containerPointToLayerPoint([0, 0]);
      L.DomUtil.setPosition(this._canvas, corner);
      this._canvas.width = size.x * scale;
      this._canvas.height = size.y * scale;
      this._canvas.style.width = `${size.x}px`;
      this._canvas.style.height = `${size.y}px`;
      this._canvas.classList.remove("leaving");
      this._corners = this._project();
      this.redraw();
    },
    // The corners of all cells in pixels of the canvas, once per movement of the map.
    _project() {
      const xs = new Float32Array(geometry.lat.length);
      const ys = new Float32Array(xs.length);
      for (let k = 0; k < xs.length; k += 1) {
        const point = this._map.latLngToContainerPoint([geometry.lat[k], geometry.lon[k]]);
        xs[k] = point.x;
        ys[k] = point.y;
      }
      return { xs, ys };
    },
    redraw() {
      if (!this._map || this._drawing) return;
      // At most once a frame, however often it is asked for.
      this._drawing = requestAnimationFrame(() => {
        this._drawing = null;
        if (this._map) this._draw();
      });
    },
    _draw() {
      const context = this._canvas.getContext("2d");
      const scale = window.devicePixelRatio || 1;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, this._canvas.width, this._canvas.height);
      paint(new Brush(context, geometry, this._corners, this._map));
    },
  });
  return new Layer();
}

/** What a painter may do on the canvas, in cells. */
class Brush {
  constructor(context, geometry, corners, map) {
    this.context = context;
    this.geometry = geometry;
    this.corners = corners;
    this.map = map;
  }

  #trace(cell) {
    const { xs, ys } = this.corners;
    const wide = this.geometry.columns + 1;
    const k = Math.floor(cell / this.geometry.columns) * wide + (cell % this.geometry.columns);
    this.context.moveTo(xs[k], ys[k]);
    this.context.lineTo(xs[k + 1], ys[k + 1]);
    this.context.lineTo(xs[k + wide + 1], ys[k + wide + 1]);
    this.context.lineTo(xs[k + wide], ys[k + wide]);
    this.context.closePath();
  }

  /** Width of a cell in pixels, about. */
  get cellWidth() {
    return Math.abs(this.corners.xs[1] - this.corners.xs[0]);
  }

  fill(cells, colour, opacity = 1) {
    this.context.globalAlpha = opacity;
    this.context.fillStyle = colour;
    this.context.beginPath();
    for (const cell of cells) this.#trace(cell);
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  outline(cells, colour, width = 2, dash = []) {
    // Only edges between inside and outside, so that a region reads as one shape.
    const { rows, columns } = this.geometry;
    const inside = cells instanceof Set ? cells : new Set(cells);
    const { xs, ys } = this.corners;
    const wide = columns + 1;
    this.context.beginPath();
    for (const cell of inside) {
      const row = Math.floor(cell / columns);
      const column = cell % columns;
      const k = row * wide + column;
      const edge = (a, b) => {
        this.context.moveTo(xs[a], ys[a]);
        this.context.lineTo(xs[b], ys[b]);
      };
      if (row === 0 || !inside.has(cell - columns)) edge(k, k + 1);
      if (row === rows - 1 || !inside.has(cell + columns)) edge(k + wide, k + wide + 1);
      if (column === 0 || !inside.has(cell - 1)) edge(k, k + wide);
      if (column === columns - 1 || !inside.has(cell + 1)) edge(k + 1, k + wide + 1);
    }
    this.context.setLineDash(dash);
    this.context.lineWidth = width;
    this.context.strokeStyle = colour;
    this.context.stroke();
    this.context.setLineDash([]);
  }

  /** The lines between all cells, unless they would lie so close that they hide what is under them. */
  grid(colour) {
    if (this.cellWidth < 5) return;
    const { rows, columns } = this.geometry;
    const { xs, ys } = this.corners;
    const wide = columns + 1;
    this.context.beginPath();
    for (let row = 0; row <= rows; row += 1) {
      this.context.moveTo(xs[row * wide], ys[row * wide]);
      for (let column = 1; column <= columns; column += 1)
        this.context.lineTo(xs[row * wide + column], ys[row * wide + column]);
    }
    for (let column = 0; column <= columns; column += 1) {
      this.context.moveTo(xs[column], ys[column]);
      for (let row = 1; row <= rows; row += 1)
        this.context.lineTo(xs[row * wide + column], ys[row * wide + column]);
    }
    this.context.lineWidth = 1;
    this.context.strokeStyle = colour;
    this.context.stroke();
  }

  /** The frame of the whole map. */
  frame(colour) {
    const { rows, columns } = this.geometry;
    const { xs, ys } = this.corners;
    const wide = columns + 1;
    const corners = [0, columns, rows * wide + columns, rows * wide];
    this.context.beginPath();
    corners.forEach((k, place) =>
      place ? this.context.lineTo(xs[k], ys[k]) : this.context.moveTo(xs[k], ys[k]),
    );
    this.context.closePath();
    this.context.lineWidth = 1.5;
    this.context.strokeStyle = colour;
    this.context.stroke();
  }

  path(latlons, colour, width, { dash = [], opacity = 1 } = {}) {
    this.context.globalAlpha = opacity;
    this.context.beginPath();
    let open = false;
    for (const position of latlons) {
      if (position === null) {
        open = false;
        continue;
      }
      const { x, y } = this.map.latLngToContainerPoint(position);
      if (open) this.context.lineTo(x, y);
      else this.context.moveTo(x, y);
      open = true;
    }
    this.context.setLineDash(dash);
    this.context.lineWidth = width;
    this.context.lineJoin = "round";
    this.context.strokeStyle = colour;
    this.context.stroke();
    this.context.setLineDash([]);
    this.context.globalAlpha = 1;
  }

  dot(position, radius, colour, edge) {
    const { x, y } = this.map.latLngToContainerPoint(position);
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fillStyle = colour;
    this.context.fill();
    if (edge) {
      this.context.lineWidth = 2;
      this.context.strokeStyle = edge;
      this.context.stroke();
    }
  }

  label(position, text, colour, ground, lower = 0) {
    const point = this.map.latLngToContainerPoint(position);
    const [x, y] = [point.x, point.y + lower];
    this.context.font = "600 12px system-ui, sans-serif";
    this.context.textAlign = "center";
    this.context.textBaseline = "middle";
    this.context.lineWidth = 4;
    this.context.lineJoin = "round";
    this.context.strokeStyle = ground;
    this.context.strokeText(text, x, y);
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }
}
