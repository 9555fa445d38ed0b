// Decodes the numbers in the page's attributes (packed by live_maps.rs), and formats numbers.

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

// Positions are fractions of the map's width and height, in 24 bits each.
function unpackPlaces(base64, width, height) {
  const packed = bytes(base64);
  const share = (at) => (packed[at] + packed[at + 1] * 0x100 + packed[at + 2] * 0x10000) / 0xffffff;
  const count = packed.length / 6;
  const x = Float64Array.from({ length: count }, (_, row) => share(6 * row) * width);
  const y = Float64Array.from({ length: count }, (_, row) => share(6 * row + 3) * height);
  return { x, y, count };
}

function unpackValues(base64) {
  const view = new DataView(bytes(base64).buffer);
  return Float32Array.from({ length: view.byteLength / 4 }, (_, row) => view.getFloat32(4 * row, true));
}

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });

function written(value) {
  if (Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e9 || size < 1e-5) ? value.toExponential(3) : digits.format(value);
  return text.replaceAll("-", "−");
}

function within(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// 1, 2 or 5 times a power of ten.
function roundBelow(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * ([5, 2].find((digit) => digit * power <= length) ?? 1);
}
