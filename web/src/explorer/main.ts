// The page: what is shown, and what the mouse, fingers and keys do to it.
import { type Point, readArrays } from "../common/data.ts";
import { $, element, input, select } from "../common/dom.ts";
import { coordinate } from "../common/numbers.ts";
import { begin, read, readView, restore, written } from "./address.ts";
import type { Cells, Shades } from "./cells.ts";
import { Diagrams } from "./graph.ts";
import { paintImage } from "./image.ts";
import { type Actions, listenToKeys, listenToPointers } from "./input.ts";
import { keyParts, type Part, showKey } from "./key.ts";
import { describe, layerName, parsePattern, parsePoint } from "./panel.ts";
import { inSpace, Pane } from "./pane.ts";
import { Picture } from "./picture.ts";
import { savePng, saveSvg } from "./save.ts";
import { Solid } from "./solid.ts";
import { camera } from "./space.ts";
import { type Edges, page, state, view } from "./state.ts";

const decoded: Cells[] = []; // pictures, decoded when first shown
const panes = page.panes.map((_, k) => new Pane(k));
const [first] = panes;
const films = Math.max(...page.panes.map((pictures) => pictures.length));
let diagrams: Diagrams;
let waiting = false;
let atHome = true;
let addressAtStart: string | null = null;
let addressTimer = 0;
/** How many pictures were asked for, and which of these is shown. */
let asked = 0;
let latest = 0;

function deepest(): number {
  return Math.max(1, ...panes.map((pane) => pane.cells?.depth ?? 1));
}

// --- drawing ---

function paint(): void {
  for (const pane of panes) pane.paint();
}

function redraw(): void {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
    clearTimeout(addressTimer);
    addressTimer = window.setTimeout(writeAddress, 250);
  });
}

function writeAddress(): void {
  const now = written(deepest());
  if (now === addressAtStart && !location.hash) return;
  try {
    history.replaceState(null, "", `#${now}`);
  } catch {
    // a page inside another one has no address of its own
  }
}

/** Panes that are compared share the range of their numbers. */
function recolour(): void {
  const all = panes.filter((pane) => pane.cells).map((pane) => pane.shade());
  const low = Math.min(...all.map((shades) => shades.low));
  const high = Math.max(...all.map((shades) => shades.high));
  const ranges = state.surface ? panes.map((pane) => pane.space.range()).filter((range) => range !== null) : [];
  const heights = ranges.length
    ? { low: Math.min(...ranges.map((r) => r.low)), high: Math.max(...ranges.map((r) => r.high)) } : null;
  for (const pane of panes) pane.colour(low, high, heights);
  key();
  redraw();
}

function parts(): Part[] {
  const shades: Shades = first.cells ? first.shades : { low: 0, high: 1 };
  return keyParts(first.cells, shades, panes.some((pane) => pane.pinned >= 0));
}

function key(): void {
  showKey(parts());
}

// --- the view ---

/** CSS pixels a unit at which a box fits. */
function fitting(low: number[], high: number[]): number {
  return Math.min(
    first.canvas.clientWidth / (high[0] - low[0]), first.canvas.clientHeight / (high[1] - low[1]),
  );
}

function limits(): { least: number; most: number } {
  const whole = fitting(page.low, page.high);
  return { least: whole / 4, most: whole * 50000 }; // float32 corners end there
}

function home(): void {
  atHome = true;
  camera.home();
  const [low, high] = page.first;
  [view.x, view.y] = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  view.zoom = 0.97 * fitting(low, high);
  redraw();
}

function zoomAt(pane: Pane, sx: number, sy: number, factor: number): void {
  if (inSpace()) {
    camera.approach(factor);
    redraw();
    return;
  }
  const [x, y] = pane.toPlane(sx, sy);
  const { least, most } = limits();
  view.zoom = Math.min(most, Math.max(least, view.zoom * factor));
  const [nx, ny] = pane.toPlane(sx, sy);
  move(x - nx, y - ny);
}

function move(dx: number, dy: number): void {
  atHome = false;
  view.x = Math.min(page.high[0], Math.max(page.low[0], view.x + dx));
  view.y = Math.min(page.high[1], Math.max(page.low[1], view.y + dy));
  redraw();
}

function turn(dx: number, dy: number): void {
  camera.turn(dx, dy);
  redraw();
}

function resize(): void {
  for (const pane of panes) pane.resize();
  if (atHome && page.inputs === 2) {
    const [low, high] = page.first;
    view.zoom = 0.97 * fitting(low, high);
  }
  paint(); // at once: a canvas is empty after its size has changed
}

/** Bring a region into view, closer if it would be tiny; `place` is a point of it that matters. */
function goTo(pane: Pane, region: number, place: number[]): void {
  redraw();
  const { picture } = pane;
  if (!picture || inSpace()) return;
  const points = picture.polygon(region);
  const size = Math.max(...[0, 1].map((k) => {
    const values = points.map((p) => p[k]);
    return Math.max(...values) - Math.min(...values);
  }));
  const [width, height] = [pane.canvas.clientWidth, pane.canvas.clientHeight];
  const room = Math.min(width, height);
  if (size * view.zoom < 40) {
    view.zoom = Math.min(limits().most, (0.2 * room) / Math.max(size, 1e-12));
    atHome = false;
  }
  const [sx, sy] = pane.toScreen(place);
  if (sx > 40 && sy > 40 && sx < width - 40 && sy < height - 40) return;
  [view.x, view.y] = place;
  atHome = false;
}

// --- regions ---

function showRegions(): void {
  panes.forEach((pane, k) => {
    const { cells } = pane;
    if (!cells) return;
    const region = pane.pinned >= 0 ? pane.pinned : pane.hovered;
    describe($("panel").children[k] as HTMLElement, cells, region, {
      pinned: pane.pinned >= 0,
      name: panes.length > 1 ? page.names[k] : "",
      choose: (other) => {
        const place = cells.middle(other);
        pin(place);
        goTo(pane, other, place);
      },
    });
    diagrams.show(k, cells, region < 0 ? null : cells.pattern(region));
  });
  showImage();
  key();
  redraw();
}

/** The image at the mouse, else at the chosen place, else in the middle. */
function showImage(): void {
  if (!page.image || !first.cells) return;
  const point = panes.find((pane) => pane.over)?.over ?? state.place ?? [view.x, view.y];
  const shown = paintImage($("image") as HTMLCanvasElement, first.cells.network, point);
  $("image-control").hidden = !shown;
}

function hover(pane: Pane, sx: number, sy: number, tell: boolean): void {
  const { region, point } = pane.at(sx, sy);
  const before = panes.map((each) => each.hovered).join();
  for (const each of panes) {
    each.over = point;
    each.hovered = each === pane ? region : point && each.cells ? each.cells.locate(point) : -1;
    if (tell && (each === pane || !inSpace())) each.tell(sx, sy);
  }
  const pixel = inSpace() ? page.scale / 200 : 1 / view.zoom;
  $("where").textContent = point ? point.map((value) => coordinate(value, pixel)).join(", ") : "";
  if (before !== panes.map((each) => each.hovered).join()) showRegions();
  else showImage();
}

function leave(): void {
  for (const pane of panes) {
    pane.hovered = -1;
    pane.over = null;
    pane.quiet();
  }
  $("where").textContent = "";
  showRegions();
}

/** Choose a place; its regions are pinned, and a film shows what becomes of them. */
function pin(place: number[] | null): void {
  state.place = place;
  state.marked = null;
  for (const pane of panes) pane.pinned = place && pane.cells ? pane.cells.locate(place) : -1;
  showRegions();
}

function find(text: string): number {
  const cells = first.cells!;
  const point = parsePoint(text, page.inputs);
  const pattern = point ? null : parsePattern(text, cells.network.neurons);
  const region = point ? cells.locate(point) : pattern ? cells.table.find(pattern) : -1;
  if (!pattern && !point) {
    const count = page.inputs === 3 ? "three" : "two";
    $("answer").textContent = `Type ${count} numbers, or ${cells.network.neurons} digits: the piece of every neuron.`;
  } else if (region < 0) {
    $("answer").textContent = point ? "This point is in no region of the list." : "No region has this pattern.";
  } else {
    $("answer").textContent = `Region ${region}`;
    const place = point ?? cells.middle(region);
    pin(place);
    state.marked = point && page.inputs === 2 ? (point as Point) : null;
    goTo(first, region, place);
  }
  return region;
}

// --- pictures of a film ---

async function load(index: number): Promise<Cells> {
  const facts = page.pictures[index];
  if (!decoded[index]) {
    const arrays = await readArrays(`picture-${index}`, facts.arrays);
    decoded[index] = facts.inputs === 3 ? new Solid(page, facts, arrays) : new Picture(page, facts, arrays);
  }
  return decoded[index];
}

async function show(index: number): Promise<void> {
  const number = ++asked;
  const cells = await Promise.all(page.panes.map(async (pictures) => {
    const own = pictures.at(Math.min(index, pictures.length - 1));
    return own === undefined ? null : load(own);
  }));
  if (number < latest) return; // decoding took longer than that of one that was asked for later
  latest = number;
  const wasDeepest = !first.cells || state.layer === deepest();
  state.index = index;
  panes.forEach((pane, k) => pane.show(cells[k]));
  state.layer = wasDeepest ? deepest() : Math.min(state.layer, deepest());
  if (first.cells) state.output = Math.min(state.output, first.cells.about.outputs - 1);
  title();
  controls();
  recolour();
  showRegions();
}

function countOf({ depth, about }: Cells): number {
  return state.layer >= depth ? about.regions : about.after[state.layer - 1];
}

function title(): void {
  const all = panes.map((pane) => pane.cells).filter((cells) => cells !== null);
  $("time").setAttribute("aria-valuetext", all[0]?.about.label ?? "");
  input("time").value = String(state.index);
  if (!all.length) {
    $("title").textContent = page.title;
    return;
  }
  const counts = all.map((cells) => countOf(cells).toLocaleString("en"));
  const after = state.layer < deepest() ? ` after layer ${state.layer}` : "";
  const what = counts.join() === "1" ? "linear region" : "linear regions";
  $("title").textContent = `${counts.join(" and ")} ${what}${after}`;
  const texts = all.map(({ about }) => `${about.network} on ${about.domain}${about.complete ? "" : ", not complete"}`);
  $("subtitle").textContent = texts.join(" · ");
  $("time-label").textContent = all[0].about.label;
  panes.forEach((pane, k) => {
    pane.caption.hidden = panes.length < 2;
    pane.caption.replaceChildren(element("b", page.names[k]), ` ${counts[k]} regions`);
  });
}

/** Menus that do nothing are not there. */
function controls(): void {
  const { cells } = first;
  const show = (id: string, shown: boolean): void => { $(id).hidden = !shown; };
  show("find", cells !== null);
  show("controls", cells !== null);
  show("mesh-control", page.meshes.length > 0 && cells !== null);
  show("cut-control", page.inputs === 3);
  show("apart-control", page.inputs === 3 && cells !== null);
  show("surface-control", page.inputs === 2);
  show("svg", !inSpace());
  select("cut").value = String(state.cutAxis);
  input("cut-at").value = String(state.cutAt);
  input("apart").value = String(state.apart);
  cutText();
  if (!cells) return;
  const outputs = Math.max(...panes.map((pane) => pane.cells?.about.outputs ?? 1));
  const depth = deepest();
  input("layer").max = String(depth);
  input("layer").value = String(state.layer);
  show("layer-control", depth > 1);
  layerText();
  const numeric = state.colour === "value" || state.colour === "gradient" || state.surface;
  show("output-control", outputs > 1 && numeric);
  if (select("output").length !== outputs) {
    const option = (k: number): HTMLOptionElement => new Option(`y${k + 1}`, String(k));
    select("output").replaceChildren(...Array.from({ length: outputs }, (_, k) => option(k)));
  }
  select("output").value = String(state.output);
  option("colour", "bends", depth > 1);
  option("edges", "layers", depth > 1);
  select("colour").value = state.colour;
  select("edges").value = state.edges;
  show("decision-control", !inSpace() && hasDecisions());
  show("points-control", page.points.length > 0 && !state.surface);
  input("decision").checked = state.decision;
  input("points").checked = state.points;
  input("mesh").checked = state.mesh;
}

/** Show or hide an option of a menu. */
function option(menu: string, value: string, shown: boolean): void {
  const found = [...select(menu).options].find((each) => each.value === value)!;
  found.hidden = found.disabled = !shown;
}

// With many outputs all maps would have to be computed to know.
function hasDecisions(): boolean {
  return panes.some(({ picture }) => {
    if (!picture) return false;
    return picture.network.outputs > 2 || picture.count > 100000 || picture.decisionBoundary.length > 0;
  });
}

function layerText(): void {
  $("layer-label").textContent = `${state.layer} of ${deepest()}`;
  if (!first.cells?.depth) return;
  const shown = Math.min(state.layer, first.cells.depth);
  $("layer").setAttribute("aria-valuetext", `up to ${layerName(first.cells.about, shown)}`);
}

function cutText(): void {
  $("cut-at").hidden = $("cut-label").hidden = state.cutAxis < 0;
  if (page.inputs !== 3 || state.cutAxis < 0) return;
  $("cut-label").textContent = coordinate(first.space.planeAt(), page.scale / 100);
}

function play(): void {
  if (state.playing) {
    clearInterval(state.playing);
    state.playing = null;
  } else {
    state.playing = window.setInterval(() => void show((state.index + 1) % films), 700);
  }
  $("play").textContent = state.playing ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", state.playing ? "pause" : "play");
}

// --- what people do ---

function setTheme(dark: boolean): void {
  state.dark = dark;
  document.documentElement.classList.toggle("dark", dark);
  $("theme").textContent = dark ? "Light" : "Dark";
  if (!first.cells && !page.meshes.length) return;
  if (first.cells) recolour();
  diagrams.refresh();
  showRegions();
}

function setSurface(surface: boolean): void {
  state.surface = surface;
  $("plane-view").setAttribute("aria-pressed", String(!surface));
  $("surface-view").setAttribute("aria-pressed", String(surface));
  leave();
  controls();
  recolour();
}

function setPanel(shown: boolean): void {
  state.panel = shown;
  document.documentElement.classList.toggle("no-panel", !shown);
  $("panel-toggle").setAttribute("aria-pressed", String(shown));
  redraw();
}

function listenToControls(): void {
  const middle = (): Point => [first.canvas.clientWidth / 2, first.canvas.clientHeight / 2];
  const on = (id: string, name: string, action: (event: Event) => void): void => {
    $(id).addEventListener(name, action);
  };
  const coloured = (): void => { controls(); recolour(); };
  const recut = (): void => {
    for (const pane of panes) pane.space.showCut();
    cutText();
    redraw();
  };
  on("colour", "change", () => { state.colour = select("colour").value; coloured(); });
  on("output", "change", () => { state.output = Number(select("output").value); coloured(); });
  on("edges", "change", () => { state.edges = select("edges").value as Edges; coloured(); });
  on("layer", "input", () => {
    state.layer = Math.min(Number(input("layer").value), deepest());
    layerText();
    title();
    recolour();
    showRegions();
  });
  on("decision", "change", () => { state.decision = input("decision").checked; key(); redraw(); });
  on("points", "change", () => { state.points = input("points").checked; key(); redraw(); });
  on("mesh", "change", () => { state.mesh = input("mesh").checked; void showMeshes(); });
  on("cut", "change", () => { state.cutAxis = Number(select("cut").value); recut(); });
  on("cut-at", "input", () => { state.cutAt = Number(input("cut-at").value); recut(); });
  on("apart", "input", () => { state.apart = Number(input("apart").value); recolour(); });
  on("find", "submit", (event) => { event.preventDefault(); find(input("query").value); });
  on("zoom-in", "click", () => zoomAt(first, ...middle(), 1.5));
  on("zoom-out", "click", () => zoomAt(first, ...middle(), 1 / 1.5));
  on("home", "click", home);
  on("plane-view", "click", () => setSurface(false));
  on("surface-view", "click", () => setSurface(true));
  on("panel-toggle", "click", () => setPanel(!state.panel));
  on("time", "input", () => void show(Number(input("time").value)));
  on("play", "click", play);
  on("theme", "click", () => setTheme(!state.dark));
  on("png", "click", () => savePng(panes, parts()));
  on("svg", "click", () => saveSvg(panes, parts()));
  // where it leads, and not where it is: the page may have written its own address meanwhile
  window.addEventListener("hashchange", ({ newURL }) => void follow(new URL(newURL).hash.slice(1)));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") pin(null);
  });
}

/** Show what an address says. */
async function follow(text: string): Promise<void> {
  const usual = restore();
  const layer = read(text) ?? usual;
  setPanel(state.panel);
  await show(state.index);
  state.layer = Math.min(layer ?? Infinity, deepest());
  if (readView(text)) atHome = false;
  if (page.inputs === 2) setSurface(state.surface);
  title();
  controls();
  if (first.cells) recolour();
  showRegions();
}

async function showMeshes(): Promise<void> {
  for (const [k, mesh] of page.meshes.entries()) {
    const arrays = state.mesh ? await readArrays(`mesh-${k}`, mesh.arrays) : null;
    if (state.mesh && arrays) first.space.addMesh(`mesh-${k}`, arrays); // it may have been switched off meanwhile
    else first.space.removeMesh(`mesh-${k}`);
  }
  redraw();
}

async function start(): Promise<void> {
  $("panes").append(...panes.map((pane) => pane.figure));
  $("panel").replaceChildren(...panes.map(() => element("section")));
  diagrams = new Diagrams($("diagrams"), panes.length, redraw);
  diagrams.show(0, null, null);
  $("film").hidden = films < 2;
  input("time").max = String(films - 1);
  select("cut").append(...page.axes.slice(0, page.inputs).map((name, k) => new Option(`across ${name}`, String(k))));
  input("query").placeholder = `${page.inputs === 3 ? "point 1, 0.5, −2" : "point 1.5, −2"} or pattern 0110…`;
  for (const pane of panes) pane.resize();
  home();
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  const settings = new URLSearchParams(page.settings).toString();
  begin(settings);
  if (readView(settings)) atHome = false;
  await follow(location.hash.slice(1));
  await showMeshes();
  const actions: Actions = { home, hover, leave, move, turn, pin, redraw, zoomAt };
  for (const pane of panes) {
    listenToPointers(pane, actions);
    listenToKeys(pane, actions);
  }
  listenToControls();
  const observer = new ResizeObserver(resize);
  for (const pane of panes) observer.observe(pane.canvas);
  resize();
  addressAtStart ??= written(deepest());
  document.documentElement.dataset.ready = "yes";
  Object.assign(window, {
    tropicell: {
      page, state, view, panes, camera, find, show, pin, paint, drawn: first.drawn,
      toScreen: (point: Point) => first.toScreen(point), toPlane: (sx: number, sy: number) => first.toPlane(sx, sy),
      get picture() { return first.cells; },
      /** Whether something is still to be decoded or drawn. */
      get busy() { return waiting || asked > latest || panes.some((pane) => pane.drawn.timer !== 0); },
    },
  });
}

start().catch((error: Error) => {
  $("title").textContent = "The page could not be shown";
  $("subtitle").textContent = error.message;
  throw error;
});
