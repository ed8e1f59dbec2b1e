// The page: what is shown, and what the mouse, fingers and keys do to it.
import { layerColour, ramp } from "./colours.js";
import { readAbout, readArrays } from "./data.js";
import { Painter } from "./draw.js";
import { describe, layerName, number, parsePattern, parsePoint } from "./panel.js";
import { Picture } from "./picture.js";

const $ = (id) => document.getElementById(id);
const canvas = $("regions"); // on top: what is chosen, points; takes mouse, fingers and keys
const sheet = $("sheet"); // below: all regions, drawn with WebGL
const SLOW = 25; // milliseconds
const page = readAbout();
const pictures = []; // decoded when first shown
const view = { x: 0, y: 0, zoom: 1 }; // the point in the middle, and CSS pixels a unit
const state = {
  index: 0, layer: 1, colour: "pattern", output: 0, edges: "plain", dark: false,
  hovered: -1, pinned: -1, place: null, marked: null, playing: null,
};
let painter;
let picture;
let waiting = false;
const drawn = { x: 0, y: 0, zoom: 0, cost: 0, stale: true, timer: null }; // the sheet

// --- drawing ---

function redraw() {
  if (waiting || !picture) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
  });
}

function ratio() {
  return window.devicePixelRatio || 1;
}

function colourOf(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

// Draw all regions now.
function paintSheet() {
  clearTimeout(drawn.timer);
  drawn.timer = null;
  const what = [{ ...view, zoom: view.zoom * ratio() }, { ...state, background: colourOf("--back") }];
  drawn.cost = painter.measure(...what);
  Object.assign(drawn, view, { stale: false });
  sheet.style.transform = "";
}

// Where drawing takes long (no graphics processor, very many regions), the sheet is moved and
// scaled as it is while people drag, and drawn again when they pause.
function moveSheet() {
  const factor = view.zoom / drawn.zoom;
  const dx = (drawn.x - view.x) * view.zoom;
  const dy = (view.y - drawn.y) * view.zoom;
  sheet.style.transform = `translate(${dx}px, ${dy}px) scale(${factor})`;
  clearTimeout(drawn.timer);
  drawn.timer = setTimeout(paintSheet, 150);
}

function paint() {
  const moved = view.x !== drawn.x || view.y !== drawn.y || view.zoom !== drawn.zoom;
  if (drawn.stale || (moved && drawn.cost < SLOW)) paintSheet();
  else if (moved) moveSheet();
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  paintDecisions(pen);
  paintPoints(pen);
  paintChosen(pen);
}

function toScreen([x, y]) {
  return [
    canvas.clientWidth / 2 + (x - view.x) * view.zoom,
    canvas.clientHeight / 2 - (y - view.y) * view.zoom,
  ];
}

function toPlane(sx, sy) {
  return [
    view.x + (sx - canvas.clientWidth / 2) / view.zoom,
    view.y - (sy - canvas.clientHeight / 2) / view.zoom,
  ];
}

function path(pen, region) {
  pen.beginPath();
  for (const point of picture.polygon(region)) pen.lineTo(...toScreen(point));
  pen.closePath();
}

function paintChosen(pen) {
  pen.lineJoin = "round";
  const ink = state.dark ? "#ffffff" : "#101018";
  if (state.pinned >= 0) {
    for (const neighbour of picture.neighbours(state.pinned)) {
      path(pen, neighbour);
      pen.fillStyle = state.dark ? "rgba(255,190,70,0.32)" : "rgba(240,140,0,0.34)";
      pen.fill();
      pen.lineWidth = 1.5;
      pen.strokeStyle = state.dark ? "#ffc760" : "#c46f00";
      pen.stroke();
    }
    path(pen, state.pinned);
    pen.fillStyle = state.dark ? "rgba(143,176,255,0.55)" : "rgba(47,91,208,0.5)";
    pen.fill();
    pen.lineWidth = 3;
    pen.strokeStyle = ink;
    pen.stroke();
  }
  if (state.hovered >= 0 && state.hovered !== state.pinned) {
    path(pen, state.hovered);
    pen.lineWidth = 2.5;
    pen.strokeStyle = ink;
    pen.stroke();
  }
  if (state.marked) {
    const [x, y] = toScreen(state.marked);
    pen.lineWidth = 2;
    pen.strokeStyle = ink;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(x + 3 * dx, y + 3 * dy);
      pen.lineTo(x + 9 * dx, y + 9 * dy);
    }
    pen.stroke();
  }
}

function paintDecisions(pen) {
  if (!$("decision").checked) return;
  const ends = picture.decisionBoundary;
  pen.beginPath();
  for (let k = 0; k < ends.length; k += 4) {
    pen.moveTo(...toScreen([ends[k], ends[k + 1]]));
    pen.lineTo(...toScreen([ends[k + 2], ends[k + 3]]));
  }
  pen.lineCap = "round";
  pen.lineWidth = 4.5;
  pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
  pen.stroke();
  pen.lineWidth = 2.5;
  pen.strokeStyle = state.dark ? "#ff7b72" : "#d1242f";
  pen.stroke();
}

function paintPoints(pen) {
  if (!$("points").checked) return;
  pen.fillStyle = state.dark ? "#ffffff" : "#101018";
  pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
  pen.lineWidth = 1;
  for (const point of page.points) {
    const [x, y] = toScreen(point);
    if (x < -5 || y < -5 || x > canvas.clientWidth + 5 || y > canvas.clientHeight + 5) continue;
    pen.beginPath();
    pen.arc(x, y, 3, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

function recolour() {
  const shades = picture.shades(state.colour, state);
  painter.shade(shades);
  drawn.stale = true;
  $("legend").hidden = !shades.values;
  if (shades.values) {
    const text = (value) => number(shades.logarithmic ? 10 ** value : value, 3);
    $("low").textContent = text(shades.low);
    $("high").textContent = text(shades.high);
  }
  const byLayer = state.colour === "bends" || state.edges === "layers";
  $("layers").hidden = !byLayer || !$("legend").hidden;
  $("layers").replaceChildren(...picture.about.widths.map((_, k) => {
    const item = document.createElement("span");
    const swatch = document.createElement("i");
    swatch.style.background = `rgb(${layerColour(k + 1, picture.depth, state.dark)})`;
    item.append(swatch, `layer ${k + 1}`);
    return item;
  }));
  redraw();
}

// --- the view ---

function limits() {
  const whole = Math.min(
    canvas.clientWidth / (page.high[0] - page.low[0]),
    canvas.clientHeight / (page.high[1] - page.low[1]),
  );
  return { whole, least: whole / 4, most: whole * 50000 }; // float32 corners end there
}

function home() {
  [view.x, view.y] = page.centre;
  view.zoom = 0.94 * limits().whole;
  redraw();
}

function zoomAt(sx, sy, factor) {
  const [x, y] = toPlane(sx, sy);
  const { least, most } = limits();
  view.zoom = Math.min(most, Math.max(least, view.zoom * factor));
  const [nx, ny] = toPlane(sx, sy);
  move(x - nx, y - ny);
}

function move(dx, dy) {
  view.x = Math.min(page.high[0], Math.max(page.low[0], view.x + dx));
  view.y = Math.min(page.high[1], Math.max(page.low[1], view.y + dy));
  redraw();
}

function resize() {
  for (const each of [canvas, sheet]) {
    each.width = Math.max(1, Math.round(canvas.clientWidth * ratio()));
    each.height = Math.max(1, Math.round(canvas.clientHeight * ratio()));
  }
  drawn.stale = true;
  paint(); // at once: a canvas is empty after its size has changed
}

// Bring a region into view, closer if it would be tiny.
function goTo(region) {
  const points = picture.polygon(region);
  const size = Math.max(...[0, 1].map((k) => {
    const values = points.map((p) => p[k]);
    return Math.max(...values) - Math.min(...values);
  }));
  const { whole, most } = limits();
  const room = Math.min(canvas.clientWidth, canvas.clientHeight);
  if (size * view.zoom < 40) view.zoom = Math.min(most, (0.2 * room) / Math.max(size, 1e-12));
  if (size * view.zoom > room) view.zoom = Math.max(0.94 * whole, (0.6 * room) / size);
  const [x, y] = picture.middle(region);
  const [sx, sy] = toScreen([x, y]);
  const inside = sx > 40 && sy > 40 && sx < canvas.clientWidth - 40 && sy < canvas.clientHeight - 40;
  if (!inside) [view.x, view.y] = [x, y];
  redraw();
}

// --- regions ---

function showRegion() {
  const pinned = state.pinned >= 0;
  const region = pinned ? state.pinned : state.hovered;
  describe($("panel"), picture, region, {
    layer: state.layer, pinned, choose: (other) => {
      pin(other, picture.middle(other));
      goTo(other);
    },
  });
  redraw();
}

function hover(x, y) {
  const region = picture.locate(x, y);
  $("where").textContent = `${number(x)}, ${number(y)}`;
  if (region === state.hovered) return;
  state.hovered = region;
  if (state.pinned < 0) showRegion();
  else redraw();
}

// Pin a region; the place is kept, so that a film can show what becomes of it.
function pin(region, place) {
  state.pinned = region;
  state.place = region < 0 ? null : place;
  state.marked = null;
  showRegion();
}

function find(text) {
  const point = parsePoint(text);
  const pattern = point ? null : parsePattern(text, picture.network.neurons);
  const region = point ? picture.locate(...point) : pattern ? picture.table.find(pattern) : -1;
  if (!pattern && !point) {
    $("answer").textContent =
      `Type two numbers, or ${picture.network.neurons} digits: the piece of every neuron.`;
  } else if (region < 0) {
    $("answer").textContent = point ? "This point is in no region of the list." : "No region has this pattern.";
  } else {
    $("answer").textContent = `Region ${region}`;
    pin(region, point ?? picture.middle(region));
    state.marked = point;
    goTo(region);
  }
  return region;
}

// --- pictures of a film ---

async function show(index) {
  const facts = page.pictures[index];
  pictures[index] ??= new Picture(page, facts, await readArrays(index, facts.arrays));
  const deepest = !picture || state.layer === picture.depth;
  picture = pictures[index];
  state.index = index;
  state.layer = deepest ? picture.depth : Math.min(state.layer, picture.depth);
  state.hovered = -1;
  state.output = Math.min(state.output, facts.outputs - 1);
  if (state.place) state.pinned = picture.locate(...state.place);
  painter.show(picture);
  title(facts);
  controls(facts);
  recolour();
  showRegion();
}

function title(facts) {
  const deepest = state.layer === picture.depth;
  const count = deepest ? facts.regions : facts.after[state.layer - 1];
  const after = deepest ? "" : ` after layer ${state.layer}`;
  $("title").textContent = `${count.toLocaleString("en")} linear regions${after}`;
  $("subtitle").textContent = `${facts.network} on ${facts.domain}${facts.complete ? "" : ", not complete"}`;
  $("time").value = String(state.index);
  $("time").setAttribute("aria-valuetext", facts.label);
  $("time-label").textContent = facts.label;
}

function controls(facts) {
  $("layer").max = String(Math.max(1, picture.depth));
  $("layer").value = String(state.layer);
  $("layer").disabled = picture.depth < 2;
  layerText();
  $("output-control").hidden = facts.outputs < 2;
  $("output").replaceChildren(...Array.from({ length: facts.outputs }, (_, k) => new Option(`y${k + 1}`, k)));
  $("output").value = String(state.output);
}

function layerText() {
  $("layer-label").textContent = `${state.layer} of ${picture.depth}`;
  if (picture.depth) $("layer").setAttribute("aria-valuetext", `up to ${layerName(picture.about, state.layer)}`);
}

function play() {
  if (state.playing) {
    clearInterval(state.playing);
    state.playing = null;
  } else {
    state.playing = setInterval(() => show((state.index + 1) % page.pictures.length), 700);
  }
  $("play").textContent = state.playing ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", state.playing ? "pause" : "play");
}

// --- what people do ---

function setTheme(dark) {
  state.dark = dark;
  document.documentElement.classList.toggle("dark", dark);
  $("theme").textContent = dark ? "Light" : "Dark";
  if (picture) recolour();
}

function savePicture() {
  paintSheet(); // the drawing buffer is only sure to be there right after drawing
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext("2d");
  pen.drawImage(sheet, 0, 0);
  pen.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "regions.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function listenToPointers() {
  const down = new Map();
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (!before) {
      hover(...toPlane(...now));
      return;
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      zoomAt(...middle, spread(now) / Math.max(1, spread(before)));
      move((before[0] - now[0]) / 2 / view.zoom, (now[1] - before[1]) / 2 / view.zoom);
    } else if (moved > 4) {
      move((before[0] - now[0]) / view.zoom, (now[1] - before[1]) / view.zoom);
    }
    down.set(event.pointerId, now);
  });
  const up = (event) => {
    const clicked = down.size === 1 && moved <= 4 && event.type === "pointerup";
    down.delete(event.pointerId);
    if (!clicked) return;
    const point = toPlane(...at(event));
    const region = picture.locate(...point);
    pin(region === state.pinned ? -1 : region, point);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => {
    state.hovered = -1;
    $("where").textContent = "";
    showRegion();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    zoomAt(...at(event), Math.exp(-0.0018 * lines * event.deltaY));
  }, { passive: false });
}

function listenToKeys() {
  const middle = () => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const step = () => 60 / view.zoom;
  const actions = {
    ArrowLeft: () => move(-step(), 0), ArrowRight: () => move(step(), 0),
    ArrowUp: () => move(0, step()), ArrowDown: () => move(0, -step()),
    "+": () => zoomAt(...middle(), 1.25), "=": () => zoomAt(...middle(), 1.25),
    "-": () => zoomAt(...middle(), 0.8), 0: home,
    Enter: () => pin(picture.locate(view.x, view.y), [view.x, view.y]),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    hover(view.x, view.y);
    state.marked = [view.x, view.y];
  });
  canvas.addEventListener("blur", () => {
    state.marked = null;
    redraw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") pin(-1, null);
  });
}

function listenToControls() {
  const middle = () => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const on = (id, name, action) => $(id).addEventListener(name, action);
  on("colour", "change", () => { state.colour = $("colour").value; recolour(); });
  on("output", "change", () => { state.output = Number($("output").value); recolour(); });
  on("edges", "change", () => { state.edges = $("edges").value; recolour(); });
  on("layer", "input", () => {
    state.layer = Math.min(Number($("layer").value), picture.depth);
    layerText();
    title(picture.about);
    recolour();
    showRegion();
  });
  on("decision", "change", redraw);
  on("points", "change", redraw);
  on("find", "submit", (event) => { event.preventDefault(); find($("query").value); });
  on("zoom-in", "click", () => zoomAt(...middle(), 1.5));
  on("zoom-out", "click", () => zoomAt(...middle(), 1 / 1.5));
  on("home", "click", home);
  on("time", "input", () => show(Number($("time").value)));
  on("play", "click", play);
  on("theme", "click", () => setTheme(!state.dark));
  on("png", "click", savePicture);
}

async function start() {
  painter = new Painter(sheet);
  $("film").hidden = page.pictures.length < 2;
  $("time").max = String(page.pictures.length - 1);
  $("points-control").hidden = page.points.length === 0;
  $("ramp").getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(ramp()), 256, 1), 0, 0);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  home();
  await show(0);
  new ResizeObserver(resize).observe(canvas);
  listenToPointers();
  listenToKeys();
  listenToControls();
  resize();
  document.documentElement.dataset.ready = "yes";
  window.tropicell = { page, state, view, find, show, toScreen, toPlane, paint, drawn, get picture() { return picture; } };
}

start().catch((error) => {
  $("title").textContent = "The page could not be shown";
  $("subtitle").textContent = error.message;
  throw error;
});
