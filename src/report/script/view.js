// The visible part of the map, shared by all panels of a figure.

const MARGIN = 14; // around the whole map, in CSS pixels
const CLOSEST = 4000; // the largest zoom

class View {
  constructor(width, height) {
    Object.assign(this, { width, height, panel: { w: 1, h: 1 } });
    this.reset();
  }

  reset() {
    Object.assign(this, { x: this.width / 2, y: this.height / 2, zoom: 1 });
  }

  get isWhole() {
    return this.zoom === 1;
  }

  // CSS pixels for each unit of the map.
  get scale() {
    const { w, h } = this.panel;
    const room = [Math.max(w - 2 * MARGIN, 10), Math.max(h - 2 * MARGIN - 10, 10)];
    return Math.min(room[0] / this.width, room[1] / this.height) * this.zoom;
  }

  // The position of the map's north-western corner in the panel.
  get corner() {
    const { panel, scale } = this;
    return { x: panel.w / 2 - this.x * scale, y: panel.h / 2 - this.y * scale };
  }

  onPlane(at) {
    const { corner, scale } = this;
    return { x: (at.x - corner.x) / scale, y: (at.y - corner.y) / scale };
  }

  // Zooms around a point of the panel, which keeps its position.
  zoomBy(factor, at = { x: this.panel.w / 2, y: this.panel.h / 2 }) {
    const before = this.onPlane(at);
    this.zoom = within(this.zoom * factor, 1, CLOSEST);
    const after = this.onPlane(at);
    this.moveTo(this.x + before.x - after.x, this.y + before.y - after.y);
  }

  moveBy(dx, dy) {
    this.moveTo(this.x - dx / this.scale, this.y - dy / this.scale);
  }

  moveTo(x, y) {
    if (this.isWhole) {
      this.reset();
    } else {
      this.x = within(x, 0, this.width);
      this.y = within(y, 0, this.height);
    }
  }
}
