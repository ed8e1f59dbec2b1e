// What is shown, in the page's address: a link shows the same to somebody else.
import { $ } from "../common/dom.ts";
import { camera } from "./space.ts";
import { type Edges, page, state, view } from "./state.ts";

const short = (value: number): string => String(Number(value.toPrecision(7)));

function width(): number {
  return Math.max(1, $("regions").clientWidth);
}

/** What the address says now; the view as the width of the plane that is seen, whatever the screen's size. */
export function written(deepest: number): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | number | boolean, usual: string | number | boolean): void => {
    if (value !== usual) parts.set(name, value === true ? "1" : value === false ? "0" : String(value));
  };
  if (page.inputs === 2) parts.set("view", [view.x, view.y, width() / view.zoom].map(short).join(","));
  put("colour", state.colour, "pattern");
  put("output", state.output + 1, 1);
  put("edges", state.edges, "plain");
  put("layer", state.layer, deepest);
  put("time", state.index + 1, 1);
  put("decision", state.decision, false);
  put("points", state.points, true);
  put("surface", state.surface, false);
  if (state.surface || page.inputs === 3) {
    parts.set("camera", [camera.azimuth, camera.elevation, camera.distance].map(short).join(","));
  }
  if (state.cutAxis >= 0) parts.set("cut", `${page.axes[state.cutAxis]},${short(state.cutAt)}`);
  put("panel", state.panel, true);
  put("apart", Number(short(state.apart)), 0);
  if (state.place) parts.set("place", state.place.map(short).join(","));
  return parts.toString().replaceAll("%2C", ",");
}

function numbers(text: string | null, count: number): number[] | null {
  const found = (text ?? "").split(",").map(Number);
  return text && found.length === count && found.every(Number.isFinite) ? found : null;
}

/** Do what an address says, as far as it makes sense; the layer is returned, if there is one. */
export function read(text: string): number | null {
  const parts = new URLSearchParams(text);
  const whole = (name: string, most: number): number | null => {
    const value = Number(parts.get(name));
    return parts.has(name) && Number.isInteger(value) && value >= 1 && value <= most ? value : null;
  };
  const flag = (name: string, usual: boolean): boolean => (parts.has(name) ? parts.get(name) === "1" : usual);
  const choice = (name: string, known: string[], usual: string): string => {
    const value = parts.get(name);
    return value !== null && known.includes(value) ? value : usual;
  };
  const place = numbers(parts.get("place"), page.inputs);
  state.colour = choice("colour", ["pattern", "value", "gradient", "area", "bends"], state.colour);
  state.edges = choice("edges", ["plain", "layers", "none"], state.edges) as Edges;
  state.output = (whole("output", page.pictures[0]?.outputs ?? 1) ?? state.output + 1) - 1;
  state.index = (whole("time", Math.max(...page.panes.map((pane) => pane.length))) ?? state.index + 1) - 1;
  state.decision = flag("decision", state.decision);
  state.points = flag("points", state.points);
  state.surface = page.inputs === 2 && flag("surface", state.surface);
  state.place = place ?? state.place;
  state.panel = flag("panel", state.panel);
  const [axis, at] = (parts.get("cut") ?? "").split(",");
  if (page.axes.includes(axis) && Number(at) >= 0 && Number(at) <= 1 && page.inputs === 3) {
    state.cutAxis = page.axes.indexOf(axis);
    state.cutAt = Number(at);
  }
  state.apart = Math.min(1, Math.max(0, Number(parts.get("apart") ?? state.apart) || 0));
  const eye = numbers(parts.get("camera"), 3);
  if (eye) [camera.azimuth, camera.elevation, camera.distance] = eye;
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
