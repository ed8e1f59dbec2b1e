// What is shown, and where: shared by everything that follows.
import { readAbout } from "./data.js";

export const $ = (id) => document.getElementById(id);
export const canvas = $("regions"); // on top: what is chosen, points; takes mouse, fingers and keys
export const sheet = $("sheet"); // below: all regions, drawn with WebGL
export const page = readAbout();
export const view = { x: 0, y: 0, zoom: 1 }; // the point in the middle, and CSS pixels a unit
export const state = {
  index: 0, layer: 1, colour: "pattern", output: 0, edges: "plain", dark: false,
  hovered: -1, pinned: -1, place: null, marked: null, playing: null, picture: null,
};

export function ratio() {
  return window.devicePixelRatio || 1;
}

export function toScreen([x, y]) {
  return [
    canvas.clientWidth / 2 + (x - view.x) * view.zoom,
    canvas.clientHeight / 2 - (y - view.y) * view.zoom,
  ];
}

export function toPlane(sx, sy) {
  return [
    view.x + (sx - canvas.clientWidth / 2) / view.zoom,
    view.y - (sy - canvas.clientHeight / 2) / view.zoom,
  ];
}
