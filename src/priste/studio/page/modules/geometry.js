// Where the cells of a map lie on the earth, from the corners that the server sends.

/** Where a position lies on the map of the whole world, in pixels at zoom 0, as Leaflet has it. */
export function mercator(lat, lon) {
  const sine = Math.sin((lat * Math.PI) / 180);
  return [256 * (0.5 + lon / 360), 256 * (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI))];
}

export class Geometry {
  #edges = new WeakMap();
  #feet = new WeakMap();

  /** `lat` and `lon` hold (rows + 1) × (columns + 1) corners, row by row from the south. */
  constructor({ rows, columns, lat, lon, border = false }) {
    this.rows = rows;
    this.columns = columns;
    this.lat = lat;
    this.lon = lon;
    this.border = border;
    this.size = rows * columns;
    this.wide = columns + 1;
    this.x = new Float64Array(lat.length);
    this.y = new Float64Array(lat.length);
    for (let k = 0; k < lat.length; k += 1) [this.x[k], this.y[k]] = mercator(lat[k], lon[k]);
    this.bend = this.#bend();
  }

  /**
   * How far the map is from even, in pixels at scale 1: by the bend of its rows and columns, and by the
   * twist of one end against the other.
   */
  #bend() {
    const { x, y, rows, columns, wide } = this;
    const [east, north, far] = [columns, rows * wide, rows * wide + columns];
    let curve = 0;
    for (let row = 0; row <= rows; row += 1)
      for (const column of [0, columns >> 1, columns]) {
        const [up, right] = [row / rows, column / columns];
        for (const at of [x, y]) {
          const low = at[0] + right * (at[east] - at[0]);
          const high = at[north] + right * (at[far] - at[north]);
          curve = Math.max(curve, Math.abs(at[row * wide + column] - low - up * (high - low)));
        }
      }
    const twist = Math.max(...[x, y].map((at) => Math.abs(at[far] - at[north] - at[east] + at[0])));
    return { curve, twist };
  }

  /** The edges between some cells and all others, as pairs of corners; found once for each list. */
  edgesOf(cells) {
    const known = this.#edges.get(cells);
    if (known) return known;
    const { rows, columns, wide } = this;
    const inside = new Set(cells);
    const found = [];
    for (const cell of inside) {
      const [row, column] = this.place(cell);
      const k = row * wide + column;
      if (row === 0 || !inside.has(cell - columns)) found.push(k, k + 1);
      if (row === rows - 1 || !inside.has(cell + columns)) found.push(k + wide, k + wide + 1);
      if (column === 0 || !inside.has(cell - 1)) found.push(k, k + wide);
      if (column === columns - 1 || !inside.has(cell + 1)) found.push(k + 1, k + wide + 1);
    }
    this.#edges.set(cells, found);
    return found;
  }

  /** The middle of the southern edge of some cells: a name under it hides nothing that happens in them. */
  footOf(cells) {
    const known = this.#feet.get(cells);
    if (known) return known;
    const lowest = Math.min(...cells.map((cell) => this.place(cell)[0]));
    const columns = cells
      .map((cell) => this.place(cell))
      .flatMap(([row, at]) => (row === lowest ? [at] : []));
    const ends = [Math.min(...columns), Math.max(...columns) + 1].map((column) =>
      this.corner(lowest, column),
    );
    const found = [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2);
    this.#feet.set(cells, found);
    return found;
  }

  corner(row, column) {
    const k = row * this.wide + column;
    return [this.lat[k], this.lon[k]];
  }

  center(cell) {
    const [row, column] = this.place(cell);
    const [south, west] = this.corner(row, column);
    const [north, east] = this.corner(row + 1, column + 1);
    return [(south + north) / 2, (west + east) / 2];
  }

  place(cell) {
    return [Math.floor(cell / this.columns), cell % this.columns];
  }

  /** Whether a cell is of the ring that stands for everywhere beyond the map. */
  beyond(cell) {
    const [row, column] = this.place(cell);
    return this.border && (!row || !column || row === this.rows - 1 || column === this.columns - 1);
  }

  /** The box around the whole map, for Leaflet. */
  bounds() {
    let [south, west, north, east] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let k = 0; k < this.lat.length; k += 1) {
      south = Math.min(south, this.lat[k]);
      north = Math.max(north, this.lat[k]);
      west = Math.min(west, this.lon[k]);
      east = Math.max(east, this.lon[k]);
    }
    return [
      [south, west],
      [north, east],
    ];
  }

  /** The middle of the whole map. */
  middle() {
    return this.corner(this.rows >> 1, this.columns >> 1);
  }

  /** Return the cell that holds a position, or null beyond the map. */
  cellAt(lat, lon) {
    // The map is nearly a rectangle of degrees: a linear guess, corrected by the corners it lands on.
    let [row, column] = [Math.floor(this.rows / 2), Math.floor(this.columns / 2)];
    let [up, right] = [0, 0];
    for (let round = 0; round < 8; round += 1) {
      const [south, west] = this.corner(row, column);
      up = (lat - south) / (this.corner(row + 1, column)[0] - south);
      right = (lon - west) / (this.corner(row, column + 1)[1] - west);
      const next = [
        clamp(row + Math.floor(up), this.rows - 1),
        clamp(column + Math.floor(right), this.columns - 1),
      ];
      if (next[0] === row && next[1] === column) break;
      [row, column] = next;
    }
    // Half a pixel of doubt at the rim is not worth a refusal; a whole cell is.
    const inside = up > -0.02 && up < 1.02 && right > -0.02 && right < 1.02;
    return inside ? row * this.columns + column : null;
  }

  /** Cells on the straight line between two, so that a fast stroke leaves no gaps. */
  line(from, to) {
    const [r0, c0] = this.place(from);
    const [r1, c1] = this.place(to);
    const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0), 1);
    return Array.from({ length: steps + 1 }, (_, step) => {
      const row = Math.round(r0 + ((r1 - r0) * step) / steps);
      return row * this.columns + Math.round(c0 + ((c1 - c0) * step) / steps);
    });
  }

  /** All cells whose centre lies in a closed outline of [lat, lon], and those that the outline crosses. */
  inside(outline) {
    const cells = new Set();
    let last = null;
    for (const [lat, lon] of outline) {
      const cell = this.cellAt(lat, lon);
      if (cell === null) continue;
      for (const each of last === null ? [cell] : this.line(last, cell)) cells.add(each);
      last = cell;
    }
    // A line is drawn with hundreds of points: only cells between its ends are compared with all of them.
    const [south, north] = [
      Math.min(...outline.map(([lat]) => lat)),
      Math.max(...outline.map(([lat]) => lat)),
    ];
    const [west, east] = [
      Math.min(...outline.map(([, lon]) => lon)),
      Math.max(...outline.map(([, lon]) => lon)),
    ];
    for (let cell = 0; cell < this.size; cell += 1) {
      const [lat, lon] = this.center(cell);
      if (lat < south || lat > north || lon < west || lon > east || cells.has(cell)) continue;
      if (encloses(outline, [lat, lon])) cells.add(cell);
    }
    return [...cells];
  }
}

const clamp = (value, most) => Math.max(0, Math.min(most, value));

/** Whether a ray from the point to the east crosses the outline an odd number of times. */
function encloses(outline, [lat, lon]) {
  let within = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i, i += 1) {
    const [latI, lonI] = outline[i];
    const [latJ, lonJ] = outline[j];
    if (latI > lat !== latJ > lat && lon < ((lonJ - lonI) * (lat - latI)) / (latJ - latI) + lonI)
      within = !within;
  }
  return within;
}
