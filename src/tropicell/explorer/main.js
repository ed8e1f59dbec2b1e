// The page: what is shown, and what the mouse, fingers and keys do to it.
import { layerColour, ramp } from "./colours.js";
import { readArrays } from "./data.js";
import { Painter } from "./draw.js";
import { listenToKeys, listenToPointers } from "./input.js";
import { paintChosen, paintDecisions, paintPoints } from "./overlay.js";
import { describe, layerName, number, parsePattern, parsePoint } from "./panel.js";
import { Picture } from "./picture.js";
import { savePng, saveSvg } from "./save.js";
import { $, canvas, page, ratio, sheet, state, toPlane, toScreen, view } from "./state.js";

const SLOW = 25; // milliseconds
const pictures = []; // decoded when first shown
let painter;
let waiting = false;
const drawn = { x: 0, y: 0, zoom: 0, cost: 0, stale: true, timer: null }; // the sheet

// --- drawing ---

function redraw() {
  if (waiting || !state.picture) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
  });
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

function recolour() {
  const shades = state.picture.shades(state.colour, state);
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
  $("layers").replaceChildren(...state.picture.about.widths.map((_, k) => {
    const item = document.createElement("span");
    const swatch = document.createElement("i");
    swatch.style.background = `rgb(${layerColour(k + 1, state.picture.depth, state.dark)})`;
    item.append(swatch, `layer ${k + 1}`);
    return item;
  }));
  redraw();
}

// --- the view ---

// CSS pixels a unit at which a box fits.
function fitting(low, high) {
  return Math.min(canvas.clientWidth / (high[0] - low[0]), canvas.clientHeight / (high[1] - low[1]));
}

function limits() {
  const whole = fitting(page.low, page.high);
  return { whole, least: whole / 4, most: whole * 50000 }; // float32 corners end there
}

function home() {
  const [low, high] = page.first;
  [view.x, view.y] = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  view.zoom = 0.94 * fitting(low, high);
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

// Bring a region into view, closer if it would be tiny; `place` is a point of it that matters.
function goTo(region, place = null) {
  const points = state.picture.polygon(region);
  const size = Math.max(...[0, 1].map((k) => {
    const values = points.map((p) => p[k]);
    return Math.max(...values) - Math.min(...values);
  }));
  const room = Math.min(canvas.clientWidth, canvas.clientHeight);
  if (size * view.zoom < 40) view.zoom = Math.min(limits().most, (0.2 * room) / Math.max(size, 1e-12));
  const [x, y] = place ?? state.picture.middle(region);
  const [sx, sy] = toScreen([x, y]);
  const inside = sx > 40 && sy > 40 && sx < canvas.clientWidth - 40 && sy < canvas.clientHeight - 40;
  const large = size * view.zoom > room; // some of it is seen already, its middle may be far away
  if (!inside && (place || !large)) [view.x, view.y] = [x, y];
  redraw();
}

// --- regions ---

function showRegion() {
  const pinned = state.pinned >= 0;
  const region = pinned ? state.pinned : state.hovered;
  describe($("panel"), state.picture, region, {
    layer: state.layer, pinned, choose: (other) => {
      pin(other, state.picture.middle(other));
      goTo(other);
    },
  });
  redraw();
}

function hover(x, y) {
  const region = state.picture.locate(x, y);
  $("where").textContent = `${number(x)}, ${number(y)}`;
  if (region === state.hovered) return;
  state.hovered = region;
  if (state.pinned < 0) showRegion();
  else redraw();
}

function leave() {
  state.hovered = -1;
  $("where").textContent = "";
  showRegion();
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
  const pattern = point ? null : parsePattern(text, state.picture.network.neurons);
  const region = point ? state.picture.locate(...point) : pattern ? state.picture.table.find(pattern) : -1;
  if (!pattern && !point) {
    $("answer").textContent =
      `Type two numbers, or ${state.picture.network.neurons} digits: the piece of every neuron.`;
  } else if (region < 0) {
    $("answer").textContent = point ? "This point is in no region of the list." : "No region has this pattern.";
  } else {
    $("answer").textContent = `Region ${region}`;
    pin(region, point ?? state.picture.middle(region));
    state.marked = point;
    goTo(region, point ?? state.picture.middle(region));
  }
  return region;
}

// --- pictures of a film ---

async function show(index) {
  const facts = page.pictures[index];
  pictures[index] ??= new Picture(page, facts, await readArrays(index, facts.arrays));
  const deepest = !state.picture || state.layer === state.picture.depth;
  state.picture = pictures[index];
  state.index = index;
  state.layer = deepest ? state.picture.depth : Math.min(state.layer, state.picture.depth);
  state.hovered = -1;
  state.output = Math.min(state.output, facts.outputs - 1);
  if (state.place) state.pinned = state.picture.locate(...state.place);
  painter.show(state.picture);
  title(facts);
  controls(facts);
  recolour();
  showRegion();
}

function title(facts) {
  const deepest = state.layer === state.picture.depth;
  const count = deepest ? facts.regions : facts.after[state.layer - 1];
  const after = deepest ? "" : ` after layer ${state.layer}`;
  $("title").textContent = `${count.toLocaleString("en")} linear regions${after}`;
  $("subtitle").textContent = `${facts.network} on ${facts.domain}${facts.complete ? "" : ", not complete"}`;
  $("time").value = String(state.index);
  $("time").setAttribute("aria-valuetext", facts.label);
  $("time-label").textContent = facts.label;
}

function controls(facts) {
  $("layer").max = String(Math.max(1, state.picture.depth));
  $("layer").value = String(state.layer);
  $("layer").disabled = state.picture.depth < 2;
  layerText();
  $("output-control").hidden = facts.outputs < 2;
  $("output").replaceChildren(...Array.from({ length: facts.outputs }, (_, k) => new Option(`y${k + 1}`, k)));
  $("output").value = String(state.output);
}

function layerText() {
  $("layer-label").textContent = `${state.layer} of ${state.picture.depth}`;
  if (state.picture.depth) $("layer").setAttribute("aria-valuetext", `up to ${layerName(state.picture.about, state.layer)}`);
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
  if (state.picture) recolour();
}

function listenToControls() {
  const middle = () => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const on = (id, name, action) => $(id).addEventListener(name, action);
  on("colour", "change", () => { state.colour = $("colour").value; recolour(); });
  on("output", "change", () => { state.output = Number($("output").value); recolour(); });
  on("edges", "change", () => { state.edges = $("edges").value; recolour(); });
  on("layer", "input", () => {
    state.layer = Math.min(Number($("layer").value), state.picture.depth);
    layerText();
    title(state.picture.about);
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
  on("png", "click", () => {
    paintSheet(); // the drawing buffer is only sure to be there right after drawing
    savePng();
  });
  on("svg", "click", () => saveSvg(painter.shades));
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
  const actions = { home, hover, leave, move, pin, redraw, zoomAt };
  listenToPointers(actions);
  listenToKeys(actions);
  listenToControls();
  resize();
  document.documentElement.dataset.ready = "yes";
  window.tropicell = { page, state, view, find, show, pin, toScreen, toPlane, paint, drawn, get picture() { return state.picture; } };
}

start().catch((error) => {
  $("title").textContent = "The page could not be shown";
  $("subtitle").textContent = error.message;
  throw error;
});
