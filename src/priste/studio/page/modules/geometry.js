// Where the cells of a map lie on the earth, from the corners that the server sends.

export class Geometry {
  /** `lat` and `lon` hold (rows + 1) × (columns + 1) corners, row by row from the south. */
  constructor({ rows, columns, lat, lon }) {
    Object.assign(this, { rows, columns, lat, lon, size: rows * columns, wide: columns + 1 });
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
    for (let cell = 0; cell < this.size; cell += 1) if (encloses(outline, this.center(cell))) cells.add(cell);
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
