// Maps that zoom and pan together. Each `.maps` element has the places once and a canvas for each panel; see live_maps.rs.

const REACH = 28; // the largest distance between pointer and place, in CSS pixels

class Maps {
  constructor(box) {
    const { dataset } = box;
    const [west, north, width, height, squeeze] = dataset.plane.split(" ").map(Number);
    const places = unpackPlaces(dataset.places, width, height);
    const view = new View(width, height);
    Object.assign(this, { box, west, north, squeeze, places, view, near: -1, asked: false });
    const [low, high, metres] = [dataset.low, dataset.high, dataset.metres].map(Number);
    Object.assign(this, { low, high, geographic: dataset.geographic === "1" });
    this.panels = Array.from(box.querySelectorAll("canvas"), (canvas) => new Panel(canvas, places, metres));
    this.output = box.querySelector("output");
    this.invitation = this.output.textContent;
    this.readColours();
    this.listen();
    box.querySelector(".tools").hidden = false;
    this.change(() => {});
  }

  listen() {
    this.panels.forEach(({ canvas }) => listenToGestures(canvas, this));
    const tools = { in: () => this.zoomBy(1.6), out: () => this.zoomBy(1 / 1.6), reset: () => this.reset() };
    for (const button of this.box.querySelectorAll("button")) {
      button.addEventListener("click", tools[button.dataset.do]);
    }
    new ResizeObserver(() => this.ask()).observe(this.panels[0].canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.readColours();
      this.ask();
    });
  }

  // The colours are read from the legend, since the style sheet defines them for light and dark mode.
  readColours() {
    this.colours = Array.from(this.box.querySelectorAll("svg.plot rect"), (step) => getComputedStyle(step).fill);
  }

  colourOf(value) {
    const share = within((value - this.low) / (this.high - this.low), 0, 1);
    return this.colours[Math.round(share * (this.colours.length - 1))];
  }

  // Draws at most once for each frame of the screen.
  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.asked = false;
    this.measure();
    for (const panel of this.panels) panel.draw(this.view, (value) => this.colourOf(value), this.near);
  }

  // All panels have the same size, by the style sheet.
  measure() {
    const { clientWidth, clientHeight } = this.panels[0].canvas;
    this.view.panel = { w: Math.max(clientWidth, 1), h: Math.max(clientHeight, 1) };
  }

  zoomBy(factor, at) {
    this.change((view) => view.zoomBy(factor, at));
  }

  moveBy(dx, dy) {
    this.change((view) => view.moveBy(dx, dy));
  }

  reset() {
    this.change((view) => view.reset());
  }

  change(how) {
    this.measure();
    how(this.view);
    // While the whole map is visible, a finger scrolls the page; otherwise it moves the map.
    for (const { canvas } of this.panels) canvas.style.touchAction = this.view.isWhole ? "pan-y" : "none";
    this.ask();
  }

  // Shows the values of the place nearest to a point of a panel.
  point(at) {
    const row = at ? this.nearest(this.view.onPlane(at)) : -1;
    if (row === this.near) return;
    this.near = row;
    this.output.textContent = row < 0 ? this.invitation : this.describe(row);
    this.ask();
  }

  nearest({ x, y }) {
    const { places, view } = this;
    let best = -1;
    let distance = (REACH / view.scale) ** 2;
    for (let row = 0; row < places.count; row++) {
      const apart = (places.x[row] - x) ** 2 + (places.y[row] - y) ** 2;
      if (apart < distance) [best, distance] = [row, apart];
    }
    return best;
  }

  describe(row) {
    const values = this.panels.map(({ title, values }) => `${title}: ${written(values[row])}`);
    return [this.where(row), ...values].join("  ·  ");
  }

  where(row) {
    const [y, x] = [this.north - this.places.y[row], this.west + this.places.x[row] / this.squeeze];
    if (!this.geographic) return `${written(y)}, ${written(x)}`;
    const turned = ((((x + 180) % 360) + 360) % 360) - 180;
    return `${y.toFixed(5)}, ${turned.toFixed(5)}`.replaceAll("-", "−");
  }
}

document.querySelectorAll(".maps").forEach((box) => new Maps(box));
