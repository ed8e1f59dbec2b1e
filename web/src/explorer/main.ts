// The page: what is shown, and what the mouse, fingers and keys do to it.
import { type Colour, layerColour, ramp } from "../common/colours.ts";
import { type Point, readArrays } from "../common/data.ts";
import { $, input, select } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import { Painter } from "./draw.ts";
import { listenToKeys, listenToPointers } from "./input.ts";
import { paintChosen, paintDecisions, paintPoints } from "./overlay.ts";
import { describe, layerName, parsePattern, parsePoint } from "./panel.ts";
import { Picture } from "./picture.ts";
import { savePng, saveSvg } from "./save.ts";
import {
  canvas, type Edges, page, type PictureFacts, ratio, sheet, state, toPlane, toScreen, view,
} from "./state.ts";

const SLOW = 25; // milliseconds
const pictures: Picture[] = []; // decoded when first shown
let painter: Painter;
let waiting = false;
const drawn = { x: 0, y: 0, zoom: 0, cost: 0, stale: true, timer: 0 }; // the sheet

// --- drawing ---

function redraw(): void {
  if (waiting || !state.picture) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
  });
}

function colourOf(name: string): Colour {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const byte = (k: number) => parseInt(hex.slice(k, k + 2), 16);
  return [byte(1), byte(3), byte(5)];
}

// Draw all regions now.
function paintSheet(): void {
  clearTimeout(drawn.timer);
  drawn.timer = 0;
  const device = { ...view, zoom: view.zoom * ratio() };
  drawn.cost = painter.measure(device, { ...state, background: colourOf("--back") });
  Object.assign(drawn, view, { stale: false });
  sheet.style.transform = "";
}

// Where drawing takes long (no graphics processor, very many regions), the sheet is moved and
// scaled as it is while people drag, and drawn again when they pause.
function moveSheet(): void {
  const factor = view.zoom / drawn.zoom;
  const dx = (drawn.x - view.x) * view.zoom;
  const dy = (view.y - drawn.y) * view.zoom;
  sheet.style.transform = `translate(${dx}px, ${dy}px) scale(${factor})`;
  clearTimeout(drawn.timer);
  drawn.timer = window.setTimeout(paintSheet, 150);
}

function paint(): void {
  const moved = view.x !== drawn.x || view.y !== drawn.y || view.zoom !== drawn.zoom;
  if (drawn.stale || (moved && drawn.cost < SLOW)) paintSheet();
  else if (moved) moveSheet();
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  paintDecisions(pen);
  paintPoints(pen);
  paintChosen(pen);
}

function recolour(): void {
  const shades = state.picture.shades(state.colour, state);
  painter.shade(shades);
  drawn.stale = true;
  $("legend").hidden = !shades.values;
  if (shades.values) {
    const text = (value: number) => number(shades.logarithmic ? 10 ** value : value, 3);
    $("low").textContent = text(shades.low!);
    $("high").textContent = text(shades.high!);
  }
  const byLayer = state.colour === "bends" || state.edges === "layers";
  $("layers").hidden = !byLayer || !$("legend").hidden;
  $("layers").replaceChildren(...state.picture.about.widths.map((_, k) => {
    const item = document.createElement("span");
    const swatch = document.createElement("i");
    swatch.style.background = `rgb(${layerColour(k + 1, state.picture.depth, state.dark).join()})`;
    item.append(swatch, `layer ${k + 1}`);
    return item;
  }));
  redraw();
}

// --- the view ---

// CSS pixels a unit at which a box fits.
function fitting(low: Point, high: Point): number {
  return Math.min(canvas.clientWidth / (high[0] - low[0]), canvas.clientHeight / (high[1] - low[1]));
}

function limits(): { whole: number; least: number; most: number } {
  const whole = fitting(page.low, page.high);
  return { whole, least: whole / 4, most: whole * 50000 }; // float32 corners end there
}

function home(): void {
  const [low, high] = page.first;
  [view.x, view.y] = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  view.zoom = 0.94 * fitting(low, high);
  redraw();
}

function zoomAt(sx: number, sy: number, factor: number): void {
  const [x, y] = toPlane(sx, sy);
  const { least, most } = limits();
  view.zoom = Math.min(most, Math.max(least, view.zoom * factor));
  const [nx, ny] = toPlane(sx, sy);
  move(x - nx, y - ny);
}

function move(dx: number, dy: number): void {
  view.x = Math.min(page.high[0], Math.max(page.low[0], view.x + dx));
  view.y = Math.min(page.high[1], Math.max(page.low[1], view.y + dy));
  redraw();
}

function resize(): void {
  for (const each of [canvas, sheet]) {
    each.width = Math.max(1, Math.round(canvas.clientWidth * ratio()));
    each.height = Math.max(1, Math.round(canvas.clientHeight * ratio()));
  }
  drawn.stale = true;
  paint(); // at once: a canvas is empty after its size has changed
}

// Bring a region into view, closer if it would be tiny; `place` is a point of it that matters.
function goTo(region: number, place: Point | null = null): void {
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

function showRegion(): void {
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

function hover(x: number, y: number): void {
  const region = state.picture.locate(x, y);
  $("where").textContent = `${number(x)}, ${number(y)}`;
  if (region === state.hovered) return;
  state.hovered = region;
  if (state.pinned < 0) showRegion();
  else redraw();
}

function leave(): void {
  state.hovered = -1;
  $("where").textContent = "";
  showRegion();
}

// Pin a region; the place is kept, so that a film can show what becomes of it.
function pin(region: number, place: Point | null): void {
  state.pinned = region;
  state.place = region < 0 ? null : place;
  state.marked = null;
  showRegion();
}

function find(text: string): number {
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

async function show(index: number): Promise<void> {
  const facts = page.pictures[index];
  pictures[index] ??= new Picture(page, facts, await readArrays(`picture-${index}`, facts.arrays));
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

function title(facts: PictureFacts): void {
  const deepest = state.layer === state.picture.depth;
  const count = deepest ? facts.regions : facts.after[state.layer - 1];
  const after = deepest ? "" : ` after layer ${state.layer}`;
  $("title").textContent = `${count.toLocaleString("en")} linear regions${after}`;
  $("subtitle").textContent = `${facts.network} on ${facts.domain}${facts.complete ? "" : ", not complete"}`;
  input("time").value = String(state.index);
  $("time").setAttribute("aria-valuetext", facts.label);
  $("time-label").textContent = facts.label;
}

function controls(facts: PictureFacts): void {
  input("layer").max = String(Math.max(1, state.picture.depth));
  input("layer").value = String(state.layer);
  input("layer").disabled = state.picture.depth < 2;
  layerText();
  $("output-control").hidden = facts.outputs < 2;
  $("output").replaceChildren(...Array.from({ length: facts.outputs }, (_, k) => new Option(`y${k + 1}`, String(k))));
  select("output").value = String(state.output);
}

function layerText(): void {
  $("layer-label").textContent = `${state.layer} of ${state.picture.depth}`;
  if (!state.picture.depth) return;
  $("layer").setAttribute("aria-valuetext", `up to ${layerName(state.picture.about, state.layer)}`);
}

function play(): void {
  if (state.playing) {
    clearInterval(state.playing);
    state.playing = null;
  } else {
    state.playing = window.setInterval(() => void show((state.index + 1) % page.pictures.length), 700);
  }
  $("play").textContent = state.playing ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", state.playing ? "pause" : "play");
}

// --- what people do ---

function setTheme(dark: boolean): void {
  state.dark = dark;
  document.documentElement.classList.toggle("dark", dark);
  $("theme").textContent = dark ? "Light" : "Dark";
  if (state.picture) recolour();
}

function listenToControls(): void {
  const middle = (): Point => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const on = (id: string, name: string, action: (event: Event) => void) => {
    $(id).addEventListener(name, action);
  };
  on("colour", "change", () => { state.colour = select("colour").value; recolour(); });
  on("output", "change", () => { state.output = Number(select("output").value); recolour(); });
  on("edges", "change", () => { state.edges = select("edges").value as Edges; recolour(); });
  on("layer", "input", () => {
    state.layer = Math.min(Number(input("layer").value), state.picture.depth);
    layerText();
    title(state.picture.about);
    recolour();
    showRegion();
  });
  on("decision", "change", redraw);
  on("points", "change", redraw);
  on("find", "submit", (event) => { event.preventDefault(); find(input("query").value); });
  on("zoom-in", "click", () => zoomAt(...middle(), 1.5));
  on("zoom-out", "click", () => zoomAt(...middle(), 1 / 1.5));
  on("home", "click", home);
  on("time", "input", () => void show(Number(input("time").value)));
  on("play", "click", play);
  on("theme", "click", () => setTheme(!state.dark));
  on("png", "click", () => {
    paintSheet(); // the drawing buffer is only sure to be there right after drawing
    savePng();
  });
  on("svg", "click", () => saveSvg(painter.shades));
}

async function start(): Promise<void> {
  painter = new Painter(sheet);
  $("film").hidden = page.pictures.length < 2;
  input("time").max = String(page.pictures.length - 1);
  $("points-control").hidden = page.points.length === 0;
  const points = new ImageData(new Uint8ClampedArray(ramp()), 256, 1);
  ($("ramp") as HTMLCanvasElement).getContext("2d")!.putImageData(points, 0, 0);
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
  Object.assign(window, {
    tropicell: {
      page, state, view, find, show, pin, toScreen, toPlane, paint, drawn, get picture() { return state.picture; },
    },
  });
}

start().catch((error: Error) => {
  $("title").textContent = "The page could not be shown";
  $("subtitle").textContent = error.message;
  throw error;
});
