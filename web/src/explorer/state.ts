// What is shown, and where: shared by everything that follows.
import { type Field, type NetworkFacts, type Point, readJson } from "../common/data.ts";
import { $ } from "../common/dom.ts";
import type { Picture } from "./picture.ts";

/** What Python says about one picture; its arrays are apart. */
export interface PictureFacts extends NetworkFacts {
  label: string;
  regions: number;
  complete: boolean;
  network: string;
  domain: string;
  after: number[];
  bits: number;
  arrays: Record<string, Field>;
}

/** What Python says about the page. */
export interface PageFacts {
  centre: Point;
  scale: number;
  low: Point;
  high: Point;
  first: [Point, Point];
  points: Point[];
  pictures: PictureFacts[];
}

export type Edges = "plain" | "layers" | "none";

export interface State {
  index: number;
  layer: number;
  colour: string;
  output: number;
  edges: Edges;
  dark: boolean;
  hovered: number;
  pinned: number;
  place: Point | null;
  marked: Point | null;
  playing: number | null;
  picture: Picture;
}

/** The point in the middle, and pixels a unit. */
export interface View {
  x: number;
  y: number;
  zoom: number;
}

/** On top: what is chosen, points; takes mouse, fingers and keys. */
export const canvas = $("regions") as HTMLCanvasElement;
/** Below: all regions, drawn with WebGL. */
export const sheet = $("sheet") as HTMLCanvasElement;
export const page = readJson("about") as PageFacts;
export const view: View = { x: 0, y: 0, zoom: 1 };
export const state: State = {
  index: 0, layer: 1, colour: "pattern", output: 0, edges: "plain", dark: false,
  hovered: -1, pinned: -1, place: null, marked: null, playing: null,
  picture: null as unknown as Picture, // set before anything is drawn
};

export function ratio(): number {
  return window.devicePixelRatio || 1;
}

export function toScreen([x, y]: Point): Point {
  return [
    canvas.clientWidth / 2 + (x - view.x) * view.zoom,
    canvas.clientHeight / 2 - (y - view.y) * view.zoom,
  ];
}

export function toPlane(sx: number, sy: number): Point {
  return [
    view.x + (sx - canvas.clientWidth / 2) / view.zoom,
    view.y - (sy - canvas.clientHeight / 2) / view.zoom,
  ];
}
