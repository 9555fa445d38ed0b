// Translates mouse, touch and keyboard events on a canvas into calls of its maps: point, zoomBy, moveBy, reset.

function listenToGestures(canvas, maps) {
  const fingers = new Map(); // the position of each finger, or of the pressed mouse
  const place = (event) => {
    const frame = canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    maps.point(place(event));
  });

  canvas.addEventListener("pointermove", (event) => {
    const [before, at] = [fingers.get(event.pointerId), place(event)];
    if (!before) {
      if (event.pointerType === "mouse") maps.point(at);
      return;
    }
    maps.box.classList.add("moving");
    const old = middle(fingers);
    fingers.set(event.pointerId, at);
    const now = middle(fingers);
    if (fingers.size > 1) maps.zoomBy(now.spread / old.spread, now);
    maps.moveBy(now.x - old.x, now.y - old.y);
  });

  const lift = (event) => {
    fingers.delete(event.pointerId);
    if (fingers.size === 0) maps.box.classList.remove("moving");
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && maps.point(null));
  canvas.addEventListener("dblclick", () => maps.reset());
  canvas.addEventListener("keydown", (event) => press(event, maps));
  canvas.addEventListener("wheel", (event) => turn(event, maps, place(event)), { passive: false });
}

// The middle of all fingers, and their largest distance from it.
function middle(fingers) {
  const all = [...fingers.values()];
  const x = all.reduce((sum, at) => sum + at.x, 0) / all.length;
  const y = all.reduce((sum, at) => sum + at.y, 0) / all.length;
  const spread = Math.max(...all.map((at) => Math.hypot(at.x - x, at.y - y)), 1);
  return { x, y, spread };
}

function turn(event, maps, at) {
  // The whole map cannot be zoomed out: the page scrolls instead.
  if (event.deltaY > 0 && maps.view.isWhole) return;
  event.preventDefault();
  const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
  maps.zoomBy(Math.exp(-within(pixels, -240, 240) / 400), at);
}

const KEYS = {
  "+": (maps) => maps.zoomBy(1.5),
  "=": (maps) => maps.zoomBy(1.5),
  "-": (maps) => maps.zoomBy(1 / 1.5),
  0: (maps) => maps.reset(),
  ArrowLeft: (maps) => maps.moveBy(40, 0),
  ArrowRight: (maps) => maps.moveBy(-40, 0),
  ArrowUp: (maps) => maps.moveBy(0, 40),
  ArrowDown: (maps) => maps.moveBy(0, -40),
};

function press(event, maps) {
  const known = KEYS[event.key];
  // Arrow keys scroll the page while the whole map is visible.
  const scrolls = maps.view.isWhole && event.key.startsWith("Arrow");
  if (!known || scrolls || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  known(maps);
}
