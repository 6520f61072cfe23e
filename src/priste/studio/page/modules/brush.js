// What a painter may do on a canvas over the map: fill cells, draw their edges, paths, dots and names.
//
// Everything is placed by one multiplication and one subtraction per corner, and what lies beyond the
// canvas is left out, so that a map of 40,000 cells can follow a finger.

import { mercator } from "./geometry.js";

/** Cells of a row that are filled as one piece: so few that the edge of the map's bend is not seen. */
const PIECE = 16;
/** Pixels by which a picture of all cells may lie beside them. */
const UNSEEN = 0.6;

const heats = new WeakMap();

export class Brush {
  /** `view` has the scale of the map and the pixels of its left and top edge; `ratio` is of the screen. */
  constructor(context, geometry, view, ratio) {
    this.context = context;
    this.geometry = geometry;
    this.view = view;
    this.ratio = ratio;
    const { scale, left, top } = view;
    this.x = (k) => geometry.x[k] * scale - left;
    this.y = (k) => geometry.y[k] * scale - top;
    this.near = 2 + PIECE * this.cellWidth;
  }

  /** Where a [lat, lon] lies on the canvas. */
  place([lat, lon]) {
    const [x, y] = mercator(lat, lon);
    return { x: x * this.view.scale - this.view.left, y: y * this.view.scale - this.view.top };
  }

  /** Width of a cell in pixels, about. */
  get cellWidth() {
    return Math.abs(this.x(1) - this.x(0));
  }

  #seen(k) {
    const { width, height } = this.view;
    const [x, y, near] = [this.x(k), this.y(k), this.near];
    return x > -near && x < width + near && y > -near && y < height + near;
  }

  /** Fill cells with one colour. They come in order, so neighbours of a row are filled as one. */
  fill(cells, colour, opacity = 1) {
    const { columns, wide } = this.geometry;
    const { context } = this;
    context.globalAlpha = opacity;
    context.fillStyle = colour;
    context.beginPath();
    for (let place = 0; place < cells.length;) {
      const first = cells[place];
      const column = first % columns;
      let last = first;
      for (place += 1; place < cells.length; place += 1, last += 1)
        if (cells[place] !== last + 1 || cells[place] % columns === 0 || last - first >= PIECE) break;
      const k = Math.floor(first / columns) * wide + column;
      if (!this.#seen(k)) continue;
      const end = k + last - first + 1;
      context.moveTo(this.x(k), this.y(k));
      context.lineTo(this.x(end), this.y(end));
      context.lineTo(this.x(end + wide), this.y(end + wide));
      context.lineTo(this.x(k + wide), this.y(k + wide));
      context.closePath();
    }
    context.fill();
    context.globalAlpha = 1;
  }

  /** Colour every cell by its share: [cell, share] pairs as a Map, or one share a cell. */
  heat(shares, rgb, levels = 6, step = 0.07) {
    let made = heats.get(shares);
    if (made?.rgb !== rgb) {
      made = heatOf(shares, rgb, this.geometry, levels, step);
      heats.set(shares, made);
    }
    if (!made.image) return;
    const { bend, rows, columns, wide } = this.geometry;
    const { context, ratio } = this;
    // One picture of a bent map is laid out in pieces, each so small that it lies on its cells.
    const far = this.view.scale / UNSEEN;
    const across = Math.min(columns, Math.ceil(Math.sqrt(bend.curve * far)) || 1);
    const bands = Math.min(rows, Math.max(across, Math.ceil(bend.twist * far)));
    const cut = (count, pieces, piece) => Math.round((piece * count) / pieces);
    context.save();
    context.imageSmoothingEnabled = false;
    for (let band = 0; band < bands; band += 1) {
      const [low, high] = [cut(rows, bands, band), cut(rows, bands, band + 1)];
      for (let part = 0; part < across; part += 1) {
        const [west, east] = [cut(columns, across, part), cut(columns, across, part + 1)];
        const [k, right, up] = [low * wide + west, low * wide + east, high * wide + west];
        const [x, y] = [this.x(k), this.y(k)];
        if (this.x(right) < 0 || x > this.view.width || y < 0 || this.y(up) > this.view.height) continue;
        const [width, height] = [east - west, high - low];
        context.setTransform(
          (ratio * (this.x(right) - x)) / width,
          (ratio * (this.y(right) - y)) / width,
          (ratio * (this.x(up) - x)) / height,
          (ratio * (this.y(up) - y)) / height,
          ratio * x,
          ratio * y,
        );
        context.drawImage(made.image, west, low, width, height, 0, 0, width, height);
      }
    }
    context.restore();
  }

  /** Only edges between inside and outside, so that a region reads as one shape. */
  outline(cells, colour, width = 2, dash = []) {
    const { context } = this;
    const edges = this.geometry.edgesOf(cells);
    context.beginPath();
    for (let place = 0; place < edges.length; place += 2) {
      const [a, b] = [edges[place], edges[place + 1]];
      if (!this.#seen(a)) continue;
      context.moveTo(this.x(a), this.y(a));
      context.lineTo(this.x(b), this.y(b));
    }
    context.setLineDash(dash);
    context.lineWidth = width;
    context.lineCap = dash.length ? "butt" : "square";
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  /** The lines between all cells, unless they would lie so close that they hide what is under them. */
  grid(colour) {
    if (this.cellWidth < 5) return;
    const { rows, columns, wide } = this.geometry;
    this.#lines(rows, columns, wide, 1);
    this.#lines(columns, rows, 1, wide, true);
    this.context.lineWidth = 1;
    this.context.strokeStyle = colour;
    this.context.stroke();
  }

  #lines(count, length, across, along, more = false) {
    const { context } = this;
    if (!more) context.beginPath();
    for (let line = 0; line <= count; line += 1) {
      let open = false;
      for (let place = 0; place <= length; place += 1) {
        const k = line * across + place * along;
        if (!this.#seen(k)) {
          open = false;
          continue;
        }
        if (open) context.lineTo(this.x(k), this.y(k));
        else context.moveTo(this.x(k), this.y(k));
        open = true;
      }
    }
  }

  /** The frame of the whole map, or of all but `inner` rows and columns on each side. */
  frame(colour, { inner = 0, dash = [] } = {}) {
    const { rows, columns, wide } = this.geometry;
    const [low, right, high] = [inner * wide, columns - inner, (rows - inner) * wide];
    const { context } = this;
    context.beginPath();
    [low + inner, low + right, high + right, high + inner].forEach((k, place) =>
      place ? context.lineTo(this.x(k), this.y(k)) : context.moveTo(this.x(k), this.y(k)),
    );
    context.closePath();
    context.setLineDash(dash);
    context.lineWidth = 1.5;
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  /** The outlines of the world that are in view, and the names of its cities. */
  world({ lines, cities }, colour, ink, ground) {
    const { context } = this;
    const { scale, left, top, width, height } = this.view;
    context.beginPath();
    for (const { x, y, box } of lines) {
      if (box[2] * scale < left || box[0] * scale > left + width) continue;
      if (box[3] * scale < top || box[1] * scale > top + height) continue;
      context.moveTo(x[0] * scale - left, y[0] * scale - top);
      for (let k = 1; k < x.length; k += 1) context.lineTo(x[k] * scale - left, y[k] * scale - top);
    }
    context.lineWidth = 1.2;
    context.lineJoin = "round";
    context.strokeStyle = colour;
    context.stroke();
    const taken = [];
    for (const { name, lat, lon } of cities) {
      const at = this.place([lat, lon]);
      if (at.x < 0 || at.x > width || at.y < 0 || at.y > height) continue;
      // Names that would lie over each other are left out.
      if (taken.some(({ x, y }) => Math.abs(x - at.x) < 90 && Math.abs(y - at.y) < 18)) continue;
      taken.push(at);
      this.dot([lat, lon], 2.5, ink);
      this.label([lat, lon], name, ink, ground, 12);
    }
  }

  path(latlons, colour, width, { dash = [], opacity = 1 } = {}) {
    const { context } = this;
    context.globalAlpha = opacity;
    context.beginPath();
    let open = false;
    for (const position of latlons) {
      if (position === null) {
        open = false;
        continue;
      }
      const { x, y } = this.place(position);
      if (open) context.lineTo(x, y);
      else context.moveTo(x, y);
      open = true;
    }
    context.setLineDash(dash);
    context.lineWidth = width;
    context.lineJoin = "round";
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  dot(position, radius, colour, edge) {
    const { context } = this;
    const { x, y } = this.place(position);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    if (edge) {
      context.lineWidth = 2;
      context.strokeStyle = edge;
      context.stroke();
    }
  }

  label(position, text, colour, ground, lower = 0) {
    const { context } = this;
    const { x, y } = this.place(position);
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = ground;
    context.strokeText(text, x, y + lower);
    context.fillStyle = colour;
    context.fillText(text, x, y + lower);
  }
}

/** A picture with one pixel a cell; none where there is nothing to see. */
function heatOf(shares, rgb, { rows, columns }, levels, step) {
  const known = shares.size ?? shares.length;
  let [least, most] = [known < rows * columns ? 0 : Infinity, 0];
  for (const share of shares.values()) {
    least = Math.min(least, share);
    most = Math.max(most, share);
  }
  if (!most) return { rgb, image: null };
  // Where everywhere is much alike, colour would say more than there is.
  const strength = 255 * step * Math.max(0.3, 1 - least / most);
  const image = new OffscreenCanvas(columns, rows);
  const context = image.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  const [red, green, blue] = rgb.split(",").map(Number);
  for (const [cell, share] of shares.entries()) {
    // The square root, because a few busy cells would leave all others white.
    const level = Math.min(levels - 1, Math.floor(levels * Math.sqrt(share / most)));
    if (share > 0 && level > 0) pixels.data.set([red, green, blue, Math.round(strength * level)], 4 * cell);
  }
  context.putImageData(pixels, 0, 0);
  return { rgb, image };
}
