// Streets under the cells: from the user's own file, through the studio's server, or, only when switched on,
// from the one tile server that was named on the command line.

/* global L */

import { element } from "./elements.js";

/** Add what there is to the map; returns a layer that can be switched, or null. */
export async function basemap(map, api, info) {
  const { basemap: own, tiles } = info ?? {};
  if (own?.kind === "geojson") {
    const shapes = await (await api.basemap("geojson")).json();
    return L.geoJSON(shapes, {
      interactive: false,
      pointToLayer: () => null,
      style: () => ({ className: "streets", weight: 1 }),
    });
  }
  if (own) return own.kind === "raster" ? rasterTiles(api, own) : vectorTiles(api, own);
  return tiles ? L.tileLayer(tiles.url, { maxZoom: 19, referrerPolicy: "no-referrer" }) : null;
}

const between = ({ bounds, min_zoom: minNativeZoom, max_zoom: maxNativeZoom }) => ({
  minNativeZoom,
  maxNativeZoom,
  bounds: bounds
    ? [
        [bounds[0], bounds[1]],
        [bounds[2], bounds[3]],
      ]
    : undefined,
});

/** Images come by `fetch`, because only that carries the token. */
function rasterTiles(api, own) {
  /** @type {any} */
  const Tiles = L.GridLayer.extend({
    createTile(at, done) {
      const image = element("img", { alt: "" });
      api
        .basemap(`tiles/${at.z}/${at.x}/${at.y}`)
        .then((answer) => answer.blob())
        .then((blob) => {
          image.onload = () => URL.revokeObjectURL(image.src);
          image.src = URL.createObjectURL(blob);
          done(null, image);
        })
        .catch(() => done(null, image)); // an empty tile is no failure
      return image;
    },
  });
  return new Tiles(between(own));
}

const FINER = 4;

/** Vector tiles arrive as shapes in degrees and are drawn on a canvas in the page's own colours. */
function vectorTiles(api, own) {
  /** @type {any} */
  const Tiles = L.GridLayer.extend({
    createTile(at, done) {
      const size = this.getTileSize();
      const canvas = element("canvas", {});
      // Drawn finer than its size, because tiles of the last level are stretched when one goes nearer.
      canvas.width = FINER * size.x;
      canvas.height = FINER * size.y;
      api
        .basemap(`tiles/${at.z}/${at.x}/${at.y}`)
        .then((answer) => answer.json())
        .then((shapes) => {
          const context = canvas.getContext("2d");
          context.scale(FINER, FINER);
          const colours = getComputedStyle(document.documentElement);
          const corner = at.scaleBy(size);
          const pixel = ([lon, lat]) => this._map.project([lat, lon], at.z).subtract(corner);
          for (const feature of shapes.features) drawFeature(context, feature, pixel, colours);
          done(null, canvas);
        })
        .catch(() => done(null, canvas));
      return canvas;
    },
  });
  return new Tiles(between(own));
}

function drawFeature(context, { geometry, properties }, pixel, colours) {
  if (!geometry) return;
  const layer = String(properties?.layer ?? "");
  const colour = (name) => colours.getPropertyValue(name).trim();
  const lines = {
    LineString: (c) => [c],
    MultiLineString: (c) => c,
    Polygon: (c) => c,
    MultiPolygon: (c) => c.flat(),
  }[geometry.type]?.(geometry.coordinates);
  if (!lines) return;
  context.beginPath();
  for (const line of lines)
    line.forEach((position, number) => {
      const { x, y } = pixel(position);
      if (number) context.lineTo(x, y);
      else context.moveTo(x, y);
    });
  if (geometry.type.endsWith("Polygon")) {
    context.fillStyle = /water/.test(layer) ? colour("--accent-soft") : colour("--soft");
    context.fill("evenodd");
  } else {
    context.strokeStyle = colour("--strong-line");
    context.lineWidth = (/road|street|transport/.test(layer) ? 1.4 : 0.8) / FINER;
    context.stroke();
  }
}
