// The key: what colours and lines mean. One list of parts, for the page and for the files that people save.
import { css, labelColour, layerColour, patternPalette, ramp } from "../common/colours.ts";
import { $, element } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import type { Cells, Shades } from "./cells.ts";
import { decisionColour, neighbourColour } from "./overlay.ts";
import { inSpace } from "./pane.ts";
import type { Pen } from "./pen.ts";
import { page, state } from "./state.ts";

type Shape = "box" | "line" | "dot";

/** Marks of one shape, and what they stand for. */
interface Item {
  shape: Shape;
  colours: string[];
  text: string;
}

export interface Part {
  title: string;
  /** The numbers at the ends and in the middle of the ramp, if there is one. */
  ramp?: string[];
  items: Item[];
}

function item(colour: string, text: string, shape: Shape): Item {
  return { shape, colours: [colour], text };
}

function rampPart(title: string, shades: Shades): Part {
  const size = Math.max(Math.abs(shades.low), Math.abs(shades.high));
  const text = (value: number): string =>
    shades.logarithmic ? number(10 ** value, 3) : number(value, 3, size);
  return { title, ramp: [shades.low, (shades.low + shades.high) / 2, shades.high].map(text), items: [] };
}

function layers(title: string, depth: number, last: number, shape: Shape, from: number): Part {
  const items: Item[] = [];
  for (let k = from; k <= last; k++) {
    items.push(item(css(layerColour(k, depth, state.dark)), k === 0 ? "domain" : `layer ${k}`, shape));
  }
  return { title, items };
}

function colours(cells: Cells, shades: Shades): Part {
  const of = cells.about.outputs > 1 ? ` of y${state.output + 1}` : "";
  if (state.colour === "value") return rampPart(`value${of}`, shades);
  if (state.colour === "gradient") return rampPart(`gradient norm${of}`, shades);
  if (state.colour === "area") return rampPart(page.inputs === 3 ? "volume (log)" : "area (log)", shades);
  if (state.colour === "bends") return layers("first bend", cells.depth, cells.depth, "box", 0);
  const palette = patternPalette(state.dark);
  const some = [0, 9, 18, 27, 36].map((k) => css([palette[4 * k], palette[4 * k + 1], palette[4 * k + 2]]));
  return { title: "pattern", items: [{ shape: "box", colours: some, text: "a colour for every pattern" }] };
}

/** What the key says now. */
export function keyParts(cells: Cells | null, shades: Shades, pinned: boolean): Part[] {
  const parts: Part[] = [];
  if (cells) parts.push(colours(cells, shades));
  if (cells && state.edges === "layers" && cells.depth > 1) {
    parts.push(layers("edges", cells.depth, state.layer, "line", 1));
  }
  if (page.labelNames.length && state.points && !state.surface) {
    const name = (text: string): string => text.replace(/^-(?=\d)/, "−");
    parts.push({
      title: "points", items: page.labelNames.map((text, k) => item(css(labelColour(k)), name(text), "dot")),
    });
  }
  const lines: Item[] = [];
  if (state.decision && !inSpace()) lines.push(item(decisionColour(), "decision boundary", "line"));
  if (pinned && !inSpace()) lines.push(item(neighbourColour(), "neighbours", "line"));
  if (lines.length) parts.push({ title: "", items: lines });
  return parts;
}

// --- on the page ---

function rampNode(texts: string[]): HTMLElement {
  const canvas = element("canvas", undefined, "ramp");
  [canvas.width, canvas.height] = [256, 1];
  canvas.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(ramp()), 256, 1), 0, 0);
  const numbers = element("span", undefined, "numbers");
  numbers.append(...texts.map((text) => element("span", text)));
  const box = element("span", undefined, "scale");
  box.append(canvas, numbers);
  return box;
}

function itemNode({ shape, colours: tones, text }: Item): HTMLElement {
  const node = element("span", undefined, "item");
  for (const tone of tones) {
    const mark = element("i", undefined, shape);
    mark.style.setProperty("--colour", tone);
    node.append(mark);
  }
  node.append(text);
  return node;
}

/** Write the key anew. */
export function showKey(parts: Part[]): void {
  $("key").replaceChildren(...parts.map(({ title, ramp: texts, items }) => {
    const node = element("div", undefined, "group");
    if (title) node.append(element("span", title, "name"));
    if (texts) node.append(rampNode(texts));
    node.append(...items.map(itemNode));
    return node;
  }));
}

// --- in a file ---

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const ROW = 30;
const RAMP = 160;

/** Paint the key into a box of this width, from a place on; returns how high it is. Without a pen it is measured. */
export function paintKey(pen: Pen, parts: Part[], left: number, top: number, width: number, draw = true): number {
  const [ink, soft] = state.dark ? ["#e8e8ee", "#9b9eab"] : ["#1d1e26", "#62646f"];
  let [x, y] = [0, 0];
  const room = (wanted: number): void => {
    if (x > 0 && x + wanted > width) [x, y] = [0, y + ROW];
  };
  const write = (text: string, colour: string): void => {
    pen.fillStyle = colour;
    if (draw) pen.fillText(text, left + x, top + y + 10);
    x += pen.measureText(text).width;
  };
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (const { title, ramp: texts, items } of parts) {
    const first = texts ? RAMP : items.length ? itemWidth(pen, items[0]) : 0;
    room(pen.measureText(title).width + 10 + first);
    if (title) {
      write(title, soft);
      x += 10;
    }
    if (texts) {
      x = Math.ceil(x); // whole pixels: no seams between its tones
      if (draw) paintRamp(pen, texts, left + x, top + y, ink);
      x += RAMP + 10;
    }
    for (const each of items) {
      room(itemWidth(pen, each));
      for (const colour of each.colours) {
        if (draw) paintMark(pen, each.shape, colour, left + x, top + y + 10);
        x += markWidth(each.shape);
      }
      x += 3;
      write(each.text, ink);
      x += 10;
    }
    x += 10;
  }
  return parts.length ? y + ROW : 0;
}

function markWidth(shape: Shape): number {
  return shape === "line" ? 20 : shape === "box" ? 15 : 12;
}

function itemWidth(pen: Pen, { shape, colours: tones, text }: Item): number {
  return tones.length * markWidth(shape) + 3 + pen.measureText(text).width;
}

function paintMark(pen: Pen, shape: Shape, colour: string, x: number, y: number): void {
  pen.fillStyle = colour;
  if (shape === "line") pen.fillRect(x, y - 1.5, 18, 3);
  else if (shape === "box") pen.fillRect(x, y - 6, 12, 12);
  else {
    pen.beginPath();
    pen.arc(x + 4.5, y, 4.5, 0, 2 * Math.PI);
    pen.fill();
  }
}

function paintRamp(pen: Pen, texts: string[], x: number, y: number, ink: string): void {
  const tones = ramp();
  for (let k = 0; k < RAMP; k += 2) {
    const at = 4 * Math.round((255 * k) / (RAMP - 2));
    pen.fillStyle = css([tones[at], tones[at + 1], tones[at + 2]]);
    pen.fillRect(x + k, y + 2, 2, 9);
  }
  pen.font = FONT.replace("12px", "11px");
  pen.fillStyle = ink;
  texts.forEach((text, k) => {
    pen.textAlign = (["left", "center", "right"] as const)[k];
    pen.fillText(text, x + (RAMP * k) / 2, y + 18);
  });
  pen.font = FONT;
  pen.textAlign = "left";
}
