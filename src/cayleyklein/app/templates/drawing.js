// A drawing that needs no server: three views, and isometries by dragging. The frames were computed
// by the package, one for each K, in the coordinates z = L(x - μ), where geodesics are straight.
"use strict";

const {frames, palette, markers, place, letters, charts} = JSON.parse(document.getElementById("data").textContent);
const PIECES = 24; // of a straight piece in a view where it is bent
const FAR = 25; // w of a lift beyond which a piece follows the conic
const NEAREST = 1e-9; // of a point to the conic
const canvas = document.getElementById("drawing"), slider = document.getElementById("K");
const identity = () => [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
let moved = identity(), held = null;

const frame = () => frames[Number(slider.value)];
const chart = () => document.querySelector("input[name=chart]:checked").value;

// lifts P = (z, 1)/σ with ⟨P, P⟩ = K‖u‖² + w² = 1

function lift(x, y, K) {
  const root = Math.sqrt(Math.max(1 + K * (x * x + y * y), NEAREST));
  return [x / root, y / root, 1 / root];
}
const inner = (p, q, K) => K * (p[0] * q[0] + p[1] * q[1]) + p[2] * q[2];
const apply = (m, p) => m.map((row) => row[0] * p[0] + row[1] * p[1] + row[2] * p[2]);
const product = (m, n) => m.map((row) => [0, 1, 2].map((j) => row[0] * n[0][j] + row[1] * n[1][j] + row[2] * n[2][j]));

// the isometry that takes a to b along their geodesic: X - ⟨X, a + b⟩(a + b)/(1 + ⟨a, b⟩) + 2⟨X, a⟩b
function transvection(a, b, K) {
  const sum = a.map((v, i) => v + b[i]), size = 1 + inner(a, b, K), columns = identity().map((e) => {
    const along = inner(e, sum, K) / size, ahead = 2 * inner(e, a, K);
    return e.map((v, i) => v - along * sum[i] + ahead * b[i]);
  });
  return [0, 1, 2].map((i) => [0, 1, 2].map((j) => columns[j][i]));
}

function see(p, name, K) { // a place of the view
  if (name === "klein") {
    const w = Math.max(p[2], 1e-6), x = p[0] / w, y = p[1] / w, [[a, b], [c, d]] = place.matrix;
    return [a * x + b * y + place.center[0], c * x + d * y + place.center[1]];
  }
  const x = 2 * p[0] / (1 + p[2]), y = 2 * p[1] / (1 + p[2]);
  if (name === "poincare" || K >= 0) return [x, y];
  const k = Math.sqrt(-K), u = x * k / 2, v = y * k / 2, size = u * u + (1 - v) ** 2;
  return [2 * u / size / k, ((1 - u * u - v * v) / size - 1) / k];
}

function unsee(x, y, name, K) { // the lift of a place of the view
  if (name === "klein") {
    const [[a, b], [c, d]] = place.matrix, dx = x - place.center[0], dy = y - place.center[1], size = a * d - b * c;
    return lift((d * dx - b * dy) / size, (a * dy - c * dx) / size, K);
  }
  if (name === "half-plane" && K < 0) {
    const k = Math.sqrt(-K), u = x * k, v = Math.max(y * k + 1, 1e-6), size = u * u + (v + 1) ** 2;
    [x, y] = [2 * (2 * u / size) / k, 2 * ((u * u + v * v - 1) / size) / k];
  }
  const square = Math.min((x * x + y * y) * -K / 4, 1 - 1e-6), w = (1 + square) / (1 - square);
  return [x * (1 + w) / 2, y * (1 + w) / 2, w];
}

function scene() { // the window: its centre and half its width
  const K = frame().K, name = chart();
  if (name === "klein") return [0, 0, 1.6];
  return [0, name === "half-plane" && K < 0 ? 1.1 * Math.sqrt(-K) : 0, 2.6];
}

function toPixel([x, y]) {
  const [cx, cy, half] = scene(), size = canvas.width;
  return [size * (0.5 + (x - cx) / (2 * half)), size * (0.5 - (y - cy) / (2 * half))];
}

function trace(ink, path, bent, close) {
  const {K} = frame(), name = chart();
  ink.beginPath();
  let before = null, first = null;
  const step = (p) => { ink.lineTo(...toPixel(see(p, name, K))); };
  const along = (from, to) => { // in small steps at the ends, which charts stretch
    const rim = K < 0 && from[2] > FAR && to[2] > FAR, pieces = bent && !rim ? PIECES : 1;
    const [p, q] = K > 0 ? [from, to] : [from, to].map((r) => r.map((v) => v / r[2]));
    for (let i = 1; i <= pieces; i += 1) {
      const t = (1 - Math.cos(Math.PI * i / pieces)) / 2, m = p.map((v, j) => v + t * (q[j] - v)), size = Math.sqrt(Math.max(inner(m, m, K), 1e-12));
      step(m.map((v) => v / size));
    }
  };
  for (const spot of [...path, null]) {
    if (spot === null) {
      if (close && first && before) along(before, first);
      [before, first] = [null, null];
      continue;
    }
    const p = apply(moved, lift(...spot, K));
    if (before === null) { first = p; ink.moveTo(...toPixel(see(p, name, K))); } else along(before, p);
    before = p;
  }
}

const color = (name) => palette[name] ?? name;

function draw() {
  const ink = canvas.getContext("2d"), {K, shapes} = frame(), name = chart(), bent = name !== "klein", ratio = canvas.width / 720;
  ink.clearRect(0, 0, canvas.width, canvas.height);
  for (const shape of shapes) {
    ink.globalAlpha = shape.alpha;
    ink.fillStyle = color(shape.color);
    ink.strokeStyle = color(shape.color);
    if (shape.kind === "area") { trace(ink, shape.xy, bent, true); ink.fill("nonzero"); }
    if (shape.kind === "line") {
      trace(ink, shape.xy, bent, false);
      ink.lineWidth = shape.size * ratio;
      ink.setLineDash(shape.dash.map((v) => v * ratio));
      ink.stroke();
      ink.setLineDash([]);
    }
    if (shape.kind === "marks") for (const spot of shape.xy) {
      const [x, y] = toPixel(see(apply(moved, lift(...spot, K)), name, K)), size = shape.size * ratio;
      ink.beginPath();
      for (const [dx, dy] of markers[shape.marker]) ink.lineTo(x + size * dx, y + size * dy);
      ink.closePath();
      if (shape.color) ink.fill();
      ink.strokeStyle = color(shape.edge);
      ink.lineWidth = shape.edge_width * ratio;
      ink.stroke();
    }
    if (shape.kind === "words") {
      ink.font = `italic ${letters * ratio}px serif`;
      ink.textAlign = "center";
      ink.textBaseline = "middle";
      const [x, y] = toPixel(see(apply(moved, lift(...shape.xy[0], K)), name, K));
      ink.lineWidth = 3 * ratio;
      ink.strokeStyle = color("paper");
      ink.strokeText(shape.text, x + shape.shift[0] * ratio, y + shape.shift[1] * ratio);
      ink.fillText(shape.text, x + shape.shift[0] * ratio, y + shape.shift[1] * ratio);
    }
  }
  ink.globalAlpha = 1;
  drawRim(ink, K, name, ratio);
  document.getElementById("value").textContent = K.toFixed(2).replace("-", "−");
}

function drawRim(ink, K, name, ratio) { // which an isometry takes to itself
  if (K >= 0) return;
  ink.beginPath();
  for (let i = 0; i <= 256; i += 1) {
    const t = 2 * Math.PI * (i + 0.5) / 256, k = Math.sqrt(-K);
    const flat = [Math.cos(t) / k, Math.sin(t) / k, 1];
    const seen = name === "klein" ? see(flat, name, K) : name === "poincare" ? [2 * flat[0], 2 * flat[1]] : [4 * i - 512, -1 / k];
    ink.lineTo(...toPixel(seen));
  }
  ink.strokeStyle = color("ink");
  ink.lineWidth = 2.6 * ratio;
  ink.stroke();
}

function spot(event) {
  const box = canvas.getBoundingClientRect(), [cx, cy, half] = scene();
  const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
  return unsee(cx + half * (2 * x - 1), cy + half * (1 - 2 * y), chart(), frame().K);
}

function shift(from, to) {
  moved = product(transvection(from, to, frame().K), moved);
  draw();
}

canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held = spot(event); });
canvas.addEventListener("pointermove", (event) => {
  if (!held) return;
  const now = spot(event);
  shift(held, now);
  held = now;
});
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { held = null; });
const KEYS = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]};
canvas.addEventListener("keydown", (event) => {
  if (!KEYS[event.key]) return;
  event.preventDefault();
  shift(lift(0, 0, frame().K), lift(...KEYS[event.key], frame().K));
});
document.getElementById("back").addEventListener("click", () => { moved = identity(); draw(); });
slider.addEventListener("input", () => { moved = identity(); draw(); });
for (const input of document.querySelectorAll("input[name=chart]")) input.addEventListener("change", draw);
draw();
