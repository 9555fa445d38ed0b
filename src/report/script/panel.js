// Draws a panel: averages over squares when zoomed out, single places when zoomed in.

const CELL = 4; // side of the squares that values are averaged over, in CSS pixels: places would hide each other
const CROWDED = 1.3; // mean number of places in a square from which on squares are drawn
const ALWAYS_SINGLE = 60; // zoom from which on places are always drawn: coincident places never separate

class Panel {
  constructor(canvas, places, metres) {
    Object.assign(this, { canvas, places, metres, title: canvas.dataset.title });
    this.values = unpackValues(canvas.dataset.values);
    this.empty = this.values.every(Number.isNaN);
    this.pen = canvas.getContext("2d");
  }

  draw(view, colourOf, near) {
    this.clear(view.panel);
    const squares = this.average(view);
    const single = squares.count < CROWDED * squares.cells.size || view.zoom > ALWAYS_SINGLE;
    const drawn = single ? this.drawPlaces(view, colourOf) : this.drawSquares(view, squares.cells, colourOf);
    this.canvas.dataset.drawn = drawn;
    if (this.empty) this.write("nothing to show", view.panel.w / 2, view.panel.h / 2);
    if (near >= 0) this.ring(view, near);
    if (this.metres > 0) this.drawScaleBar(view);
  }

  // Uses the full resolution of the screen, with coordinates in CSS pixels.
  clear({ w, h }) {
    const dense = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(w * dense), Math.round(h * dense)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.pen.setTransform(dense, 0, 0, dense, 0, 0);
    this.pen.clearRect(0, 0, w, h);
    this.sharp = (length) => Math.round(length * dense) / dense;
    const { color, backgroundColor, fontFamily } = getComputedStyle(this.canvas);
    Object.assign(this, { ink: color, paper: backgroundColor, font: fontFamily });
  }

  // Calls `visit(row, x, y)` for each place with a value that is visible, or up to `beyond` pixels outside.
  eachInSight({ panel, corner, scale }, beyond, visit) {
    const { places, values } = this;
    for (let row = 0; row < places.count; row++) {
      const x = corner.x + places.x[row] * scale;
      const y = corner.y + places.y[row] * scale;
      const inSight = x > -beyond && x < panel.w + beyond && y > -beyond && y < panel.h + beyond;
      if (inSight && !Number.isNaN(values[row])) visit(row, x, y);
    }
  }

  // Squares are fixed to the map, so that they do not flicker while it moves.
  average(view) {
    const cells = new Map();
    let count = 0;
    const { places, values } = this;
    const { scale } = view;
    this.eachInSight(view, CELL, (row) => {
      count++;
      const column = Math.floor((places.x[row] * scale) / CELL);
      const line = Math.floor((places.y[row] * scale) / CELL);
      const key = column * 0x1000000 + line;
      const cell = cells.get(key);
      if (cell) {
        cell.sum += values[row];
        cell.count++;
      } else {
        cells.set(key, { column, line, sum: values[row], count: 1 });
      }
    });
    return { cells, count };
  }

  drawSquares({ corner }, cells, colourOf) {
    const { pen, sharp } = this;
    for (const { column, line, sum, count } of cells.values()) {
      pen.fillStyle = colourOf(sum / count);
      const [left, top] = [sharp(corner.x + column * CELL), sharp(corner.y + line * CELL)];
      const [right, bottom] = [sharp(corner.x + (column + 1) * CELL), sharp(corner.y + (line + 1) * CELL)];
      pen.fillRect(left, top, right - left, bottom - top);
    }
    return cells.size;
  }

  drawPlaces(view, colourOf) {
    const { pen, values } = this;
    const radius = this.radius(view);
    pen.strokeStyle = "rgb(128 128 128 / 0.6)";
    pen.lineWidth = radius > 4 ? 0.75 : 0;
    let drawn = 0;
    this.eachInSight(view, radius, (row, x, y) => {
      pen.fillStyle = colourOf(values[row]);
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
      if (radius > 4) pen.stroke();
      drawn++;
    });
    return drawn;
  }

  // Points are larger if there are few places, and grow with the zoom.
  radius({ zoom }) {
    return Math.min(Math.max(5 - 0.6 * Math.log10(this.places.count), 2.6) * zoom ** 0.3, 9);
  }

  ring(view, row) {
    const { corner, scale } = view;
    const [x, y] = [corner.x + this.places.x[row] * scale, corner.y + this.places.y[row] * scale];
    this.strokeTwice(2, (pen) => pen.arc(x, y, this.radius(view) + 4, 0, 2 * Math.PI));
  }

  drawScaleBar({ panel, scale }) {
    const metresPerPixel = this.metres / scale;
    const round = roundBelow(metresPerPixel * Math.min(panel.w / 4, 140));
    const [right, bottom] = [panel.w - 12, panel.h - 10];
    const left = right - round / metresPerPixel;
    this.strokeTwice(1.5, (pen) => {
      pen.moveTo(left, bottom - 4);
      pen.lineTo(left, bottom);
      pen.lineTo(right, bottom);
      pen.lineTo(right, bottom - 4);
    });
    this.write(round < 1000 ? `${written(round)} m` : `${written(round / 1000)} km`, (left + right) / 2, bottom - 8);
  }

  // Strokes with an outline in the background colour, so that the line is visible on any colour.
  strokeTwice(thick, trace) {
    for (const [colour, width] of [[this.paper, thick + 3], [this.ink, thick]]) {
      Object.assign(this.pen, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
      this.pen.beginPath();
      trace(this.pen);
      this.pen.stroke();
    }
  }

  write(text, x, y) {
    const look = { font: `12px ${this.font}`, textAlign: "center", lineJoin: "round", lineWidth: 4 };
    Object.assign(this.pen, look, { strokeStyle: this.paper, fillStyle: this.ink });
    this.pen.strokeText(text, x, y);
    this.pen.fillText(text, x, y);
  }
}
