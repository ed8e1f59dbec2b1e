// The key beside the picture: what its colours and lines mean.
import { css, labelColour, layerColour, patternPalette, ramp } from "../common/colours.ts";
import { $, element } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import type { Cells, Shades } from "./cells.ts";
import { decisionColour, neighbourColour } from "./overlay.ts";
import { inSpace } from "./pane.ts";
import { page, state } from "./state.ts";

function group(title: string): HTMLElement {
  const node = element("div", undefined, "group");
  if (title) node.append(element("span", title, "name"));
  return node;
}

function swatch(colour: string, text: string, shape: string): HTMLElement {
  const item = element("span", undefined, "item");
  const mark = element("i", undefined, shape);
  mark.style.setProperty("--colour", colour);
  item.append(mark, text);
  return item;
}

function rampGroup(title: string, shades: Shades): HTMLElement {
  const node = group(title);
  const canvas = element("canvas", undefined, "ramp");
  [canvas.width, canvas.height] = [256, 1];
  const image = new ImageData(new Uint8ClampedArray(ramp()), 256, 1);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  const size = Math.max(Math.abs(shades.low), Math.abs(shades.high));
  const text = (value: number): string =>
    shades.logarithmic ? number(10 ** value, 3) : number(value, 3, size);
  const box = element("span", undefined, "scale");
  const marks = [shades.low, (shades.low + shades.high) / 2, shades.high];
  const numbers = element("span", undefined, "numbers");
  numbers.append(...marks.map((value) => element("span", text(value))));
  box.append(canvas, numbers);
  node.append(box);
  return node;
}

function layers(title: string, depth: number, shape: string, from: number): HTMLElement {
  const node = group(title);
  for (let k = from; k <= depth; k++) {
    const name = k === 0 ? "domain" : `layer ${k}`;
    node.append(swatch(css(layerColour(k, depth, state.dark)), name, shape));
  }
  return node;
}

function colours(cells: Cells, shades: Shades): HTMLElement {
  const output = `y${state.output + 1}`;
  if (state.colour === "value") return rampGroup(cells.about.outputs > 1 ? `value of ${output}` : "value", shades);
  if (state.colour === "gradient") {
    return rampGroup(cells.about.outputs > 1 ? `gradient norm of ${output}` : "gradient norm", shades);
  }
  if (state.colour === "area") return rampGroup(page.inputs === 3 ? "volume (log)" : "area (log)", shades);
  if (state.colour === "bends") return layers("first bend", cells.depth, "box", 0);
  const node = group("pattern");
  const palette = patternPalette(state.dark);
  const boxes = element("span", undefined, "item");
  for (const k of [0, 9, 18, 27, 36]) {
    const mark = element("i", undefined, "box");
    mark.style.setProperty("--colour", css([palette[4 * k], palette[4 * k + 1], palette[4 * k + 2]]));
    boxes.append(mark);
  }
  boxes.append("a colour for every pattern");
  node.append(boxes);
  return node;
}

/** Write the key anew. */
export function showKey(cells: Cells | null, shades: Shades, pinned: boolean): void {
  const parts: HTMLElement[] = [];
  if (cells) parts.push(colours(cells, shades));
  const byLayer = cells && state.edges === "layers" && !inSpace() && state.layer > 1;
  if (byLayer) parts.push(layers("edges", state.layer, "line", 1));
  if (page.labelNames.length && state.points) {
    const node = group("points");
    page.labelNames.forEach((name, k) => node.append(swatch(css(labelColour(k)), name, "dot")));
    parts.push(node);
  }
  const lines = group("");
  if (state.decision && !inSpace()) lines.append(swatch(decisionColour(), "decision boundary", "line"));
  if (pinned && !inSpace()) lines.append(swatch(neighbourColour(), "neighbours", "line"));
  if (lines.childElementCount) parts.push(lines);
  $("key").replaceChildren(...parts);
}
