// What is shown, in the page's address: a link shows the same to somebody else.
import { $ } from "../common/dom.ts";
import { camera } from "./space.ts";
import { type Edges, page, state, view } from "./state.ts";

/** Seven digits; 0 for what can't be seen beside numbers of another size. */
const short = (value: number, beside = 0): string =>
  String(Number((Math.abs(value) < 1e-7 * beside ? 0 : value).toPrecision(7)));

const list = (values: readonly number[]): string => values.map((value) => short(value)).join(",");

/** What an address need not say, as it is so if it says nothing: at first the page's own settings. */
const usual = { parts: parts(), camera: eye(), layer: null as number | null };

function eye(): [number, number, number] {
  return [camera.azimuth, camera.elevation, camera.distance];
}

/** What is chosen, as an address says it. */
function parts(): Record<string, string> {
  const flag = (on: boolean): string => (on ? "1" : "0");
  return {
    colour: state.colour, output: String(state.output + 1), edges: state.edges, time: String(state.index + 1),
    decision: flag(state.decision), points: flag(state.points), surface: flag(state.surface), panel: flag(state.panel),
    apart: short(state.apart), cut: state.cutAxis < 0 ? "none" : `${page.axes[state.cutAxis]},${short(state.cutAt)}`,
    place: state.place ? list(state.place) : "none",
  };
}

/** Begin with the settings that Python gave the page. */
export function begin(text: string): void {
  usual.layer = read(text);
  usual.parts = parts();
  usual.camera = eye();
}

/** What the page shows if its address says nothing; the layer is returned, if there is one. */
export function restore(): number | null {
  read(new URLSearchParams(usual.parts).toString());
  [camera.azimuth, camera.elevation, camera.distance] = usual.camera;
  return usual.layer;
}

function width(): number {
  return Math.max(1, $("regions").clientWidth);
}

/** What the address says now; the view as the width of the plane that is seen, whatever the screen's size. */
export function written(deepest: number): string {
  const said = new URLSearchParams();
  const size = width() / view.zoom;
  if (page.inputs === 2) said.set("view", [short(view.x, size), short(view.y, size), short(size)].join(","));
  for (const [name, value] of Object.entries(parts())) if (value !== usual.parts[name]) said.set(name, value);
  if (state.layer !== (usual.layer ?? deepest)) said.set("layer", String(state.layer));
  if (state.surface || page.inputs === 3) {
    said.set("camera", list(eye()));
  }
  return said.toString().replaceAll("%2C", ",");
}

function numbers(text: string | null, count: number): number[] | null {
  const found = (text ?? "").split(",").map(Number);
  return text && found.length === count && found.every(Number.isFinite) ? found : null;
}

/** Do what an address says, as far as it makes sense; the layer is returned, if there is one. */
export function read(text: string): number | null {
  const said = new URLSearchParams(text);
  const whole = (name: string, most: number): number | null => {
    const value = Number(said.get(name));
    return said.has(name) && Number.isInteger(value) && value >= 1 && value <= most ? value : null;
  };
  const flag = (name: string, usual: boolean): boolean => (said.has(name) ? said.get(name) === "1" : usual);
  const choice = (name: string, known: string[], usual: string): string => {
    const value = said.get(name);
    return value !== null && known.includes(value) ? value : usual;
  };
  const place = numbers(said.get("place"), page.inputs);
  state.colour = choice("colour", ["pattern", "value", "gradient", "area", "bends"], state.colour);
  state.edges = choice("edges", ["plain", "layers", "none"], state.edges) as Edges;
  state.output = (whole("output", page.pictures[0]?.outputs ?? 1) ?? state.output + 1) - 1;
  state.index = (whole("time", Math.max(...page.panes.map((pane) => pane.length))) ?? state.index + 1) - 1;
  state.decision = flag("decision", state.decision);
  state.points = flag("points", state.points);
  state.surface = page.inputs === 2 && flag("surface", state.surface);
  state.place = said.get("place") === "none" ? null : place ?? state.place;
  state.panel = flag("panel", state.panel);
  const [axis, at] = (said.get("cut") ?? "").split(",");
  if (page.axes.includes(axis) && Number(at) >= 0 && Number(at) <= 1 && page.inputs === 3) {
    state.cutAxis = page.axes.indexOf(axis);
    state.cutAt = Number(at);
  } else if (axis === "none") {
    state.cutAxis = -1;
  }
  state.apart = Math.min(1, Math.max(0, Number(said.get("apart") ?? state.apart) || 0));
  const seen = numbers(said.get("camera"), 3);
  if (seen) [camera.azimuth, camera.elevation, camera.distance] = seen;
  return whole("layer", 1e6);
}

/** Take the view over; returns whether the address has one. */
export function readView(text: string): boolean {
  const found = numbers(new URLSearchParams(text).get("view"), 3);
  if (!found || !(found[2] > 0)) return false;
  [view.x, view.y] = found;
  view.zoom = width() / found[2];
  return true;
}
