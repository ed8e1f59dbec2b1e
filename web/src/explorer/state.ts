// What is shown, and how: shared by all pictures on the page.
import { type Field, type NetworkFacts, type Point, readJson } from "../common/data.ts";

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

/** A triangle mesh that is shown in space. */
export interface MeshFacts {
  label: string;
  arrays: Record<string, Field>;
}

/** Images of which a point of the slice is one: height, width, 1 or 3 channels, and what is black and white. */
export interface ImageFacts {
  height: number;
  width: number;
  channels: number;
  low: number;
  high: number;
}

/** What Python says about the page. Points have two coordinates, or three. */
export interface PageFacts {
  title: string;
  inputs: number;
  axes: string[];
  centre: number[];
  scale: number;
  low: number[];
  high: number[];
  first: [Point, Point];
  points: number[][];
  pointLabels: number[];
  labelNames: string[];
  image: ImageFacts | null;
  pictures: PictureFacts[];
  meshes: MeshFacts[];
  /** For each pane the pictures of its film. */
  panes: number[][];
  names: string[];
  settings: Record<string, string>;
}

export type Edges = "plain" | "layers" | "none";

export interface Settings {
  /** The picture of the film. */
  index: number;
  layer: number;
  colour: string;
  output: number;
  edges: Edges;
  dark: boolean;
  decision: boolean;
  points: boolean;
  mesh: boolean;
  /** Whether the output is shown as a surface over the plane. */
  surface: boolean;
  /** The plane that cuts cells open: its axis (or -1), and where, from 0 to 1. */
  cutAxis: number;
  cutAt: number;
  /** How far cells are apart, from 0 to 1. */
  apart: number;
  /** The chosen place; its regions are pinned. */
  place: number[] | null;
  /** A cross is drawn here. */
  marked: Point | null;
  /** A neuron whose boundary is drawn. */
  neuron: { layer: number; index: number } | null;
  playing: number | null;
  /** Whether the panel beside the pictures is shown. */
  panel: boolean;
}

/** The point in the middle, and pixels a unit. */
export interface View {
  x: number;
  y: number;
  zoom: number;
}

export const page = readJson("about") as PageFacts;
export const view: View = { x: 0, y: 0, zoom: 1 };
export const state: Settings = {
  index: 0, layer: 1, colour: "pattern", output: 0, edges: "plain", dark: false,
  decision: false, points: true, mesh: true, surface: false, cutAxis: -1, cutAt: 0.5, apart: 0,
  place: null, marked: null, neuron: null, playing: null, panel: true,
};

export function ratio(): number {
  return window.devicePixelRatio || 1;
}
