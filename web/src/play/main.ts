// The playground: build a network, train it, and watch its exact regions.
import { css, layerColour } from "../common/colours.ts";
import { Diagram, type Skip, type WeightBlock, type WeightPlace } from "../common/diagram.ts";
import { $, element, input, select } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import { Chart, type Series } from "./charts.ts";
import { Controls } from "./controls.ts";
import { fromFragment, toFragment } from "./link.ts";
import { type Colouring, type Look, Plane } from "./plane.ts";
import { type Description, type Frame, type Notice, type Picture, type State, Wire } from "./wire.ts";

type Name = Picture["name"];

/** One network on the page. */
interface View {
  name: Name;
  figure: HTMLElement;
  title: HTMLButtonElement;
  counts: HTMLElement;
  facts: HTMLElement;
  corners: [HTMLElement, HTMLElement];
  plane: Plane;
}

const look: Look = {
  colouring: "value", layer: 1, edges: "layers", points: true,
  dark: window.matchMedia("(prefers-color-scheme: dark)").matches,
};
/** What the server takes in one message, less some room for the file's name. */
const MOST_BYTES = 63 * 2 ** 20;
/** Shown until the first frame comes, if that takes long. */
const PREPARING = "Preparing the engine: the first time after an installation this takes some seconds …";

const views = new Map<Name, View>();
let about: Description | null = null;
let frame: Frame | null = null;
let shown: Name = "skips";
let greeted = false;
let frames: number[] = [];
let drawn = 0;
let editing: { name: Name; place: number } | null = null;
let cameFrom: Element | null = null;
/** Where over a plane the pointer is, in parts of its sides, so that what it points at follows the training. */
let pointer: { view: View; x: number; y: number; keys: boolean } | null = null;

/** When the address was written, and the timer of the next time. */
let linked = -1000;
let linking = 0;

const wire = new Wire({ described, framed, noticed, received, changed });
const controls = new Controls(change, () => wire.soon(about!.settings));
const diagram = new Diagram($("diagram"), {
  onNeuron: (neuron) => {
    const index = neuron && about ? firstOf(neuron.layer) + neuron.index : null;
    for (const view of views.values()) view.plane.pointAtNeuron(index);
  },
  onSkip: toggle,
  onWeight: edit,
});
const lossChart = new Chart($("loss-chart") as HTMLCanvasElement, "loss", [], true);
const regionChart = new Chart($("region-chart") as HTMLCanvasElement, "regions", [], false);

// --- what comes from the server ---------------------------------------------------------------

function described(message: Description): void {
  const first = !greeted;
  greeted = true;
  if (about?.widths.join() !== message.widths.join()) {
    $("weight").hidden = true;
    editing = null;
  }
  about = message;
  if (first && location.hash.length > 1 && location.hash !== remembered()) follow(location.hash, message);
  hopes();
  const layers = message.widths.length - 2;
  input("layer").max = String(Math.max(1, layers));
  look.layer = Math.min(look.layer, Math.max(1, layers));
  diagram.setNetwork({
    widths: message.widths,
    skips: skipsNow(),
    possible: message.possible,
    labels: message.widths.map((_, layer) =>
      layer === 0 ? "input" : layer === layers + 1 ? "output" : `layer ${layer}`),
    colours: layerColours(layers),
  });
  for (const view of views.values()) {
    view.plane.describe(message);
    corners(view, message);
  }
  writeLink();
  document.documentElement.dataset.ready = "yes";
  if (first) {
    window.setTimeout(() => {
      if (!frame) say(PREPARING, false, true);
    }, 1500);
  }
}

/** What was clicked is seen at once, also where the server is busy; what was refused is seen, too. */
function hopes(): void {
  if (about) controls.show({ ...about, settings: wire.soon(about.settings) });
  transport();
}

function transport(): void {
  pressed("play", wire.hoped("running", frame?.running ?? false));
  pressed("record", wire.hoped("recording", frame?.recording ?? false));
}

/** The skips of the network, and those that were clicked a moment ago. */
function skipsNow(): readonly Skip[] {
  const { settings, skips } = about!;
  const soon = wire.soon(settings).skips;
  return soon === settings.skips ? skips : soon;
}

/** The colours of edges, layer by layer: the diagram is their key. */
function layerColours(layers: number): string[] {
  if (look.edges !== "layers") return [];
  return Array.from({ length: layers + 1 }, (_, k) => (k ? css(layerColour(k, layers, look.dark)) : ""));
}

function framed(now: Frame): void {
  if (now.version !== about?.version) return; // of another network or box: the next one is on its way
  if (!frame || now.step < frame.step || now.step === 0) {
    lossChart.clear();
    regionChart.clear();
  }
  if (!frame && $("notice").textContent === PREPARING) $("notice").hidden = true;
  frame = now;
  drawn++;
  frames = [...frames.slice(-29), performance.now()];
  const names = now.pictures.map((picture) => picture.name);
  for (const [name, view] of views) {
    if (!names.includes(name)) {
      view.figure.remove();
      views.delete(name);
      if (shown === name) shown = "skips";
    }
  }
  $("planes").classList.toggle("single", names.length === 1);
  for (const picture of now.pictures) {
    const view = views.get(picture.name) ?? build(picture.name);
    view.plane.show(picture);
    caption(view, picture, names.length > 1);
  }
  weights();
  point();
  curves(now);
  $("count-step").textContent = now.step.toLocaleString("en");
  $("count-epoch").textContent = number(now.epoch, 3);
  const span = frames[frames.length - 1] - frames[0];
  $("count-fps").textContent = now.running && span ? ((1000 * (frames.length - 1)) / span).toFixed(0) : "–";
  if (!now.running) frames = [];
  transport();
  $("record").title = now.recording ? `${now.film} pictures: stop recording` : "Record a film";
  document.documentElement.dataset.version = String(now.version);
  document.documentElement.dataset.step = String(now.step);
  document.documentElement.dataset.running = String(now.running);
  document.documentElement.dataset.film = String(now.film);
}

let hide = 0;

function noticed(message: Notice): void {
  if (message.running === false && frame) frame.running = false;
  hopes();
  const busy = message.busy;
  if (busy === null) {
    $("notice").hidden = true;
    return;
  }
  say(busy ? `Working: ${busy[0]} of ${busy[1]} …` : message.error ?? message.note ?? "", Boolean(message.error));
}

function say(text: string, bad = false, stay = false): void {
  if (!text) return;
  const box = $("notice");
  box.textContent = text;
  box.classList.toggle("bad", bad);
  box.hidden = false;
  window.clearTimeout(hide);
  if (!stay) hide = window.setTimeout(() => { box.hidden = true; }, bad ? 9000 : 5000);
}

function received(name: string, content: Blob): void {
  download(content, name);
  say(`${name}: ${(content.size / 1024).toFixed(0)} kB`);
}

const GONE: Record<Exclude<State, "open">, string> = {
  interrupted: "The connection was interrupted; trying again …",
  elsewhere: "Another page shows this run now; here it has stopped.",
  ended: "The server has ended. What you see stays, and pictures of it can still be saved.",
};

/** The connection to the server: where there is none, the page says so, and what one can do. */
function changed(state: State): void {
  document.documentElement.dataset.connection = state;
  $("gone").hidden = state === "open";
  if (state === "open") {
    if (frame && wire.hoped("running", frame.running)) wire.wish("play", { running: true });
    return;
  }
  $("notice").hidden = true;
  $("gone-text").textContent = GONE[state];
  $("again").hidden = state === "interrupted";
  $("again").textContent = state === "elsewhere" ? "Show it here" : "Try again";
  $("command").hidden = state !== "ended";
  if (state === "interrupted") return;
  if (frame) frame.running = frame.recording = false;
  hopes();
}

/** What cannot wait for a connection. */
function ask(command: string, values: object = {}): void {
  if (!wire.do(command, values)) say("There is no connection to the server.", true);
}

// --- the picture ------------------------------------------------------------------------------

function build(name: Name): View {
  const figure = element("figure");
  figure.dataset.name = name;
  const title = element("button", undefined, "name");
  title.title = "Show the weights of this one in the diagram";
  const counts = element("span", undefined, "counts");
  const caption = element("figcaption");
  caption.append(title, counts);
  const box = element("div", undefined, "box");
  const [canvas, sheet] = [element("canvas"), element("canvas", undefined, "sheet")];
  const places: [HTMLElement, HTMLElement] = [
    element("div", undefined, "corner from"), element("div", undefined, "corner to"),
  ];
  box.append(canvas, sheet, ...places);
  const facts = element("p", undefined, "facts");
  sheet.tabIndex = 0;
  sheet.setAttribute("role", "img");
  figure.append(caption, box, facts);
  if (name === "skips") $("planes").prepend(figure);
  else $("planes").append(figure);
  const view: View = { name, figure, title, counts, facts, corners: places, plane: new Plane(canvas, sheet, look) };
  view.plane.describe(about!);
  corners(view, about!);
  title.addEventListener("click", () => { shown = name; weights(); mark(); });
  const follow = (event: PointerEvent) => {
    const { left, top, width, height } = sheet.getBoundingClientRect();
    pointer = { view, x: (event.clientX - left) / width, y: (event.clientY - top) / height, keys: false };
    point();
  };
  sheet.addEventListener("pointermove", follow);
  sheet.addEventListener("pointerdown", follow);
  sheet.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return; // a finger that was lifted still means what it touched
    pointer = null;
    point();
  });
  sheet.addEventListener("click", (event) => {
    draw(view.plane.toPlane(event.clientX, event.clientY), event.shiftKey);
  });
  sheet.addEventListener("keydown", (event) => steer(view, event));
  sheet.addEventListener("blur", () => {
    if (!pointer?.keys) return;
    pointer = null;
    point();
  });
  new ResizeObserver(() => view.plane.draw()).observe(box);
  views.set(name, view);
  return view;
}

function corners(view: View, { low, high }: Description): void {
  view.corners[0].textContent = `(${number(low[0], 3)}, ${number(low[1], 3)})`;
  view.corners[1].textContent = `(${number(high[0], 3)}, ${number(high[1], 3)})`;
}

/** Numbers change at every frame; the button beside them stays where it is: somebody may be about to press it. */
function caption(view: View, picture: Picture, pair: boolean): void {
  const name = pair ? (picture.name === "skips" ? "with skips" : "without skips") : "network";
  if (view.title.textContent !== name) view.title.textContent = name;
  view.plane.sheet.setAttribute("aria-label", `Regions, ${name}: arrow keys point at one, Enter puts a data point there`);
  const count = (value: number, complete: boolean) => (complete ? "" : "≥ ") + value.toLocaleString("en");
  const part = (value: string, text: string) => {
    const span = element("span");
    span.append(element("b", value), ` ${text}`);
    return span;
  };
  const numbers = [
    part(count(picture.regions, picture.complete), "regions in the box"),
    part(count(picture.whole, picture.wholeComplete), "over R²"),
    part(picture.loss === null ? "–" : number(picture.loss, 2), "loss"),
  ];
  if (about!.loss === "logistic" && picture.accuracy !== null) {
    numbers.push(part(`${Math.round(100 * picture.accuracy)}%`, "right"));
  }
  view.counts.replaceChildren(...numbers);
  view.figure.dataset.regions = String(picture.regions);
  view.figure.dataset.whole = String(picture.whole);
  mark();
}

function mark(): void {
  for (const view of views.values()) {
    view.title.setAttribute("aria-pressed", String(views.size > 1 && view.name === shown));
  }
}

function picture(name: Name): Picture | undefined {
  return frame?.pictures.find((each) => each.name === name);
}

/** The weights of the network that is shown, in the diagram. */
function weights(): void {
  const vector = picture(shown)?.vector;
  if (!vector || !about) return;
  const blocks: WeightBlock[] = about.terms.flatMap((terms, layer) =>
    terms.slice(0, 1).map(([source, start, rows, columns, used]) => ({
      from: source, to: layer + 1, rows, columns: used, stride: columns,
      values: vector.subarray(start, start + rows * columns),
    })));
  diagram.setWeights(blocks);
}

/** Show what is under the pointer: a region in both planes, its neurons in the diagram. */
function point(): void {
  if (!about || !pointer || !views.has(pointer.view.name)) {
    for (const view of views.values()) {
      view.plane.pointAtRegion(-1, null);
      view.facts.textContent = "";
    }
    diagram.setPattern(null);
    return;
  }
  const [x, y] = pointer.view.plane.at(pointer.x, pointer.y);
  for (const view of views.values()) {
    // read aloud where keys point, and not at every frame
    view.facts.setAttribute("aria-live", pointer.keys && view === pointer.view && !frame?.running ? "polite" : "off");
    const region = view.plane.regionAt(x, y);
    view.plane.pointAtRegion(region, pointer.keys && view === pointer.view ? [x, y] : null);
    describeRegion(view, region, x, y);
    if (view === pointer.view) diagram.setPattern(region < 0 ? null : view.plane.pattern(region));
  }
}

function describeRegion(view: View, region: number, x: number, y: number): void {
  view.figure.dataset.region = String(region);
  if (region < 0 || !view.plane.picture) {
    view.facts.textContent = "";
    return;
  }
  const [a, b, c] = view.plane.picture.maps.subarray(3 * region, 3 * region + 3);
  const pieces = view.plane.pattern(region);
  const active = pieces.filter((piece) => piece > 0).length;
  let at = 0;
  const layers = about!.widths.slice(1, -1).map((width) => {
    const part = pieces.subarray(at, at + width);
    at += width;
    return part.join("");
  });
  const sign = (value: number) => (value < 0 ? "−" : "+");
  const map = `${number(a, 3)} x ${sign(b)} ${number(Math.abs(b), 3)} y ${sign(c)} ${number(Math.abs(c), 3)}`;
  view.facts.replaceChildren(
    `${active} of ${pieces.length} neurons active, output ${number(a * x + b * y + c, 3)} = ${map} `,
    element("code", layers.join(" ")),
  );
}

function curves(now: Frame): void {
  const colour = { skips: "--skips", plain: "--plain" };
  const pair = now.pictures.length > 1;
  const name = (each: Picture) => (pair ? (each.name === "skips" ? "with" : "without") : "network");
  const test = now.pictures.some((each) => each.test !== null);
  const losses: Series[] = [];
  const values: (number | null)[] = [];
  const counts: Series[] = [];
  const regions: number[] = [];
  for (const each of now.pictures) {
    losses.push({ name: name(each), colour: colour[each.name] });
    values.push(each.loss);
    if (test) {
      losses.push({ name: "test", colour: colour[each.name], dashed: true });
      values.push(each.test);
    }
    counts.push({ name: name(each), colour: colour[each.name] });
    counts.push({ name: "over R²", colour: colour[each.name], dashed: true });
    regions.push(each.regions, each.whole);
  }
  lossChart.add(now.step, values);
  regionChart.add(now.step, regions);
  lossChart.drawSoon(losses);
  regionChart.drawSoon(counts);
}

// --- what people do ---------------------------------------------------------------------------

function toggle([from, to]: Skip): void {
  if (!about) return;
  const { skips } = wire.soon(about.settings);
  const there = skips.some((skip) => skip[0] === from && skip[1] === to);
  const others = skips.filter((skip) => skip[0] !== from || skip[1] !== to);
  change({ skips: there ? others : [...others, [from, to]] });
  diagram.setSkips(skipsNow());
}

function change(values: Partial<Description["settings"]>): void {
  wire.change(values);
  hopes();
}

/** Train, or do not; the button shows at once what was meant. */
function run(command: string, wish: { running?: boolean; recording?: boolean }, values: object = {}): void {
  wire.wish(command, wish, values);
  hopes();
}

function firstOf(layer: number): number {
  return about!.widths.slice(1, layer).reduce((sum, width) => sum + width, 0);
}

function edit({ from, to, row, column, value, x, y, keys }: WeightPlace): void {
  const term = about?.terms[to - 1][0];
  if (!term) return;
  editing = { name: shown, place: term[1] + row * term[3] + column };
  const form = $("weight");
  const source = from === 0 ? `input ${column + 1}` : `layer ${from}, neuron ${column}`; // neurons as in Python
  const target = to === about!.widths.length - 1 ? `output ${row + 1}` : `layer ${to}, neuron ${row}`;
  $("weight-name").textContent = `${source} → ${target}`;
  input("weight-range").value = String(value);
  input("weight-value").value = number(value, 4).replace("−", "-");
  form.hidden = false;
  form.style.left = `${Math.max(8, Math.min(x - 40, window.innerWidth - form.offsetWidth - 8))}px`;
  form.style.top = `${Math.min(y + 14, window.innerHeight - form.offsetHeight - 8)}px`;
  cameFrom = keys ? document.activeElement : null;
  if (keys) input("weight-value").select();
}

/** Close the field of a weight; the keyboard goes back to where it came from. */
function closeWeight(): void {
  const inside = $("weight").contains(document.activeElement);
  $("weight").hidden = true;
  if (inside && (cameFrom instanceof SVGElement || cameFrom instanceof HTMLElement)) cameFrom.focus();
}

function setWeight(value: number): void {
  if (editing && Number.isFinite(value)) {
    ask("weight", { network: editing.name, place: editing.place, value });
  }
}

/** Arrow keys move a cross over the plane; Enter does what a click does. */
function steer(view: View, event: KeyboardEvent): void {
  const moves: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  };
  const move = moves[event.key];
  if (!move && event.key !== "Enter") return;
  event.preventDefault();
  const { x, y } = pointer?.view === view ? pointer : { x: 0.5, y: 0.5 };
  const part = event.shiftKey ? 0.1 : 0.02;
  const within = (value: number) => Math.min(1, Math.max(0, value));
  pointer = {
    view, x: within(x + part * (move?.[0] ?? 0)), y: within(y + part * (move?.[1] ?? 0)), keys: true,
  };
  point();
  if (!move) draw(view.plane.at(pointer.x, pointer.y), event.shiftKey);
}

/** With one's own data, a click puts a point there; near one, it takes it away. */
function draw([x, y]: [number, number], other: boolean): void {
  if (about?.settings.data !== "own") return;
  const { points } = wire.soon(about.settings);
  const near = (about.high[0] - about.low[0]) * 0.012;
  const rest = points.filter((point) => Math.hypot(point[0] - x, point[1] - y) > near);
  const label = Number(document.querySelector<HTMLInputElement>("input[name=class]:checked")!.value);
  const kept: [number, number, number][] = rest.length < points.length ? rest
    : [...points, [Number(x.toPrecision(6)), Number(y.toPrecision(6)), other ? -label : label]];
  change({ points: kept });
}

function pressed(id: string, on: boolean): void {
  $(id).setAttribute("aria-pressed", String(on));
}

function download(blob: Blob, name: string): void {
  const anchor = element("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

function keep(what: string): void {
  ($("keep") as HTMLDetailsElement).open = false;
  const view = views.get(shown);
  if (what === "png" && view) {
    const copy = element("canvas");
    [copy.width, copy.height] = [view.plane.canvas.width, view.plane.canvas.height];
    const pen = copy.getContext("2d")!;
    pen.drawImage(view.plane.canvas, 0, 0);
    pen.drawImage(view.plane.sheet, 0, 0);
    copy.toBlob((blob) => { if (blob) download(blob, "regions.png"); });
  } else if (what === "svg" && view) {
    download(new Blob([view.plane.svg()], { type: "image/svg+xml" }), "regions.svg");
  } else {
    ask("keep", { what, colouring: look.colouring });
  }
}

/** Show what a link says: nothing new after a reload, which goes on with the run that is there. */
function follow(link: string, { settings, defaults }: Description): void {
  const { values, view } = fromFragment(link, defaults);
  readView(view);
  const wanted = { ...defaults, ...values };
  if (toFragment(wanted, defaults, {}) !== toFragment(settings, defaults, {})) {
    wire.wish("settings", {}, { values, all: true });
  }
}

/** The address with all settings. */
function address(): string {
  const view: Record<string, string | number | boolean> = {};
  if (look.colouring !== "value") view.colours = look.colouring;
  if (look.colouring === "layer") view.layer = look.layer;
  if (look.edges !== "layers") view.edges = look.edges;
  if (!look.points) view.points = false;
  const fragment = about ? toFragment(about.settings, about.defaults, view) : "";
  return `${location.pathname}${location.search}${fragment ? `#${fragment}` : ""}`;
}

/** Browsers refuse to write an address all the time: several times a second are enough. */
function writeLink(): void {
  if (!about) return;
  window.clearTimeout(linking);
  const wait = linked + 300 - performance.now();
  if (wait > 0) {
    linking = window.setTimeout(writeLink, wait);
    return;
  }
  linked = performance.now();
  history.replaceState(null, "", address());
  remembered(location.hash);
}

/** The last address that this page wrote itself: a page that is loaded again with it goes on with the run. */
function remembered(hash?: string): string | null {
  try {
    if (hash !== undefined) sessionStorage.setItem("tropicell-play", hash);
    return sessionStorage.getItem("tropicell-play");
  } catch {
    return null; // inside of another page there may be none
  }
}

function readView(view: Map<string, string>): void {
  const colours = view.get("colours");
  if (colours && document.querySelector(`#colouring [data-value="${CSS.escape(colours)}"]`)) {
    look.colouring = colours as Colouring;
  }
  look.layer = Math.max(1, Number(view.get("layer") ?? 1) || 1);
  const edges = view.get("edges");
  if (edges === "plain" || edges === "none") look.edges = edges;
  look.points = view.get("points") !== "false";
  restyle();
}

function restyle(): void {
  document.documentElement.dataset.theme = look.dark ? "dark" : "light";
  for (const button of document.querySelectorAll<HTMLElement>("#colouring button")) {
    button.setAttribute("aria-pressed", String(button.dataset.value === look.colouring));
  }
  $("key").className = look.colouring;
  $("layer-label").hidden = look.colouring !== "layer";
  input("layer").value = String(look.layer);
  $("layer-out").textContent = String(look.layer);
  select("edges").value = look.edges;
  input("points").checked = look.points;
  for (const view of views.values()) view.plane.restyle(look);
  diagram.setLabelColours(layerColours(about ? about.widths.length - 2 : 0));
  diagram.refresh();
  if (frame) curves(frame);
  writeLink();
}

function listen(): void {
  const isPressed = (id: string) => $(id).getAttribute("aria-pressed") === "true";
  $("play").addEventListener("click", () => {
    if (isPressed("play")) run("pause", { running: false });
    else run("play", { running: true });
  });
  $("step").addEventListener("click", () => run("step", { running: false }));
  $("reset").addEventListener("click", () => run("reset", { running: false, recording: false }));
  $("record").addEventListener("click", () => {
    const on = !isPressed("record");
    run("record", { recording: on }, { on });
  });
  $("again").addEventListener("click", () => wire.again());
  $("command").addEventListener("click", () => {
    const command = `tropicell play --link '${new URL(address(), location.href).href}'`;
    navigator.clipboard.writeText(command).then(
      () => say("The command is in the clipboard; it opens these settings again."), () => say(command, false, true));
  });
  for (const button of document.querySelectorAll<HTMLElement>("[data-keep]")) {
    button.addEventListener("click", () => keep(button.dataset.keep!));
  }
  $("link").addEventListener("click", () => {
    const link = new URL(address(), location.href).href;
    navigator.clipboard.writeText(link).then(() => say("The link is in the clipboard."), () => say(link));
  });
  $("theme").addEventListener("click", () => { look.dark = !look.dark; restyle(); });
  for (const button of document.querySelectorAll<HTMLElement>("#colouring button")) {
    button.addEventListener("click", () => { look.colouring = button.dataset.value as Colouring; restyle(); });
  }
  $("layer").addEventListener("input", () => { look.layer = Number(input("layer").value); restyle(); });
  $("edges").addEventListener("change", () => { look.edges = select("edges").value as Look["edges"]; restyle(); });
  $("points").addEventListener("change", () => { look.points = input("points").checked; restyle(); });
  $("file").addEventListener("change", () => {
    const chosen = [...(input("file").files ?? [])].sort((a, b) => b.size - a.size);
    const large = chosen.find((file) => file.size > MOST_BYTES);
    if (large) say(`${large.name} is too large: files of up to ${MOST_BYTES >> 20} MB can be loaded.`, true);
    else void chosen.reduce((before, file) => before.then(() => wire.upload(file)), Promise.resolve());
    input("file").value = "";
  });
  $("weight-range").addEventListener("input", () => {
    input("weight-value").value = input("weight-range").value;
    setWeight(Number(input("weight-range").value));
  });
  $("weight-value").addEventListener("change", () => setWeight(Number(input("weight-value").value)));
  $("weight").addEventListener("submit", (event) => {
    event.preventDefault();
    setWeight(Number(input("weight-value").value));
    closeWeight();
  });
  document.addEventListener("click", (event) => {
    const menu = $("keep") as HTMLDetailsElement;
    if (menu.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      closeWeight();
      const menu = $("keep") as HTMLDetailsElement;
      if (menu.open && menu.contains(document.activeElement)) menu.querySelector("summary")!.focus();
      menu.open = false;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const button = { " ": "play", s: "step", r: "reset" }[event.key];
    // the space bar presses what has the keyboard, letters choose from lists
    const taken = event.key === " " ? "input, select, button, summary, g" : "input:not([type=checkbox]), select";
    if (!button || (event.target instanceof Element && event.target.closest(taken))) return;
    event.preventDefault();
    $(button).click();
  });
  // where it leads, and not where it is: the page may have written its own address meanwhile
  window.addEventListener("hashchange", ({ newURL }) => { if (about) follow(new URL(newURL).hash, about); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    look.dark = event.matches;
    restyle();
  });
}

listen();
restyle();
Object.assign(window, { play: { views, look, frame: () => frame, about: () => about, drawn: () => drawn } });
