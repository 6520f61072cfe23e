// Coasts, borders and cities of the whole earth, coarse and offline: enough to see where a trace lies. The data
// are Natural Earth's, in the public domain (world.json; frontend/make_world.py says how it was made).

import { mercator } from "./geometry.js";

/** Lines as points on the map of the world at zoom 0, each with the box around it. */
export function unpackedLines({ digits, lines }) {
  return lines.map((line) => {
    const [x, y] = [new Float64Array(line.length / 2), new Float64Array(line.length / 2)];
    let [lat, lon] = [0, 0];
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (let k = 0; k < x.length; k += 1) {
      lat += line[2 * k];
      lon += line[2 * k + 1];
      [x[k], y[k]] = mercator(Math.max(-85, Math.min(85, lat / digits)), lon / digits);
      box[0] = Math.min(box[0], x[k]);
      box[1] = Math.min(box[1], y[k]);
      box[2] = Math.max(box[2], x[k]);
      box[3] = Math.max(box[3], y[k]);
    }
    return { x, y, box };
  });
}

let loading = null;
/** Load the world once; null where it cannot be read, and the map goes without it. */
export function loadWorld() {
  loading ??= fetch("/page/world.json")
    .then((answer) => answer.json())
    .then((world) => ({
      lines: unpackedLines(world),
      cities: world.cities.map(([name, lat, lon]) => ({ name, lat, lon })),
    }))
    .catch(() => null);
  return loading;
}

/** Kilometres between two places. */
export function kilometres([lat, lon], [toLat, toLon]) {
  const radians = (degrees) => (degrees * Math.PI) / 180;
  const [a, b] = [radians(lat), radians(toLat)];
  const half =
    Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(radians(toLon - lon) / 2) ** 2;
  return 12742 * Math.asin(Math.sqrt(Math.min(1, half)));
}

/** The city nearest to a place, and how far it is. */
export function nearestCity(cities, at) {
  return cities.reduce(
    (best, city) => {
      const km = kilometres(at, [city.lat, city.lon]);
      return km < best.km ? { name: city.name, km } : best;
    },
    { name: "", km: Infinity },
  );
}
