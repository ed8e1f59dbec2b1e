// The panel's text. Everything from a model goes through textContent, never through HTML.
import { element } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import type { Cells } from "./cells.ts";
import { page, type PictureFacts, state } from "./state.ts";

/** Pieces are drawn as boxes of so many pixels, with gaps. */
const BOX = 7;
const FEW_FACETS = 60;

export function affineText(map: Float64Array, output: number, inputs: number): string {
  const row = map.subarray((inputs + 1) * output, (inputs + 1) * (output + 1));
  const size = Math.max(...row.map(Math.abs));
  let text = "";
  row.forEach((value, k) => {
    const shown = number(Math.abs(value), 4, size);
    if (shown === "0") return;
    const name = k < inputs ? (shown === "1" ? page.axes[k] : `${shown}\u00a0${page.axes[k]}`) : shown;
    text += text ? (value < 0 ? ` −\u00a0${name}` : ` +\u00a0${name}`) : value < 0 ? `−${name}` : name;
  });
  return `y${output + 1} = ${text || "0"}`;
}

export function layerName(about: PictureFacts, layer: number): string {
  const name = about.names[layer - 1];
  return name ? `layer ${layer} (${name})` : `layer ${layer}`;
}

function row(list: HTMLElement, name: string, ...values: (Node | string)[]): void {
  list.append(element("dt", name));
  const cell = element("dd");
  cell.append(...values);
  list.append(cell);
}

interface DescribeOptions {
  pinned: boolean;
  /** The name of the picture, where there are several. */
  name: string;
  /** Called when a neighbour is clicked. */
  choose: (region: number) => void;
}

/** What each part of the panel says. */
const said = new WeakMap<HTMLElement, unknown[]>();

/** Describe a region; what is said already stays, with the keyboard in it, and a click that is on its way. */
export function describe(target: HTMLElement, cells: Cells, region: number, options: DescribeOptions): void {
  const now = [cells, region, options.pinned, state.layer, state.dark];
  if (said.get(target)?.every((value, k) => value === now[k])) return;
  said.set(target, now);
  const label = target.contains(document.activeElement) ? document.activeElement!.getAttribute("aria-label") : null;
  write(target, cells, region, options);
  if (label === null) return;
  // who goes from neighbour to neighbour by the keyboard stays in the list of them
  const buttons = [...target.querySelectorAll<HTMLElement>("button, .pattern")];
  const same = buttons.find((each) => each.getAttribute("aria-label") === label);
  (same ?? target.querySelector<HTMLElement>(".facets button"))?.focus();
}

function write(
  target: HTMLElement, cells: Cells, region: number, { pinned, name, choose }: DescribeOptions,
): void {
  const scrolled = target.querySelector(".pattern")?.scrollTop ?? 0;
  target.replaceChildren();
  if (name) target.append(element("h3", name, "whose"));
  if (region < 0) {
    const text = name ? "No region here." : "Move over the picture, or type a point or a pattern above.";
    target.append(element("p", text, "hint"));
    return;
  }
  const { about } = cells;
  const heading = element("h2", `Region ${region.toLocaleString("en")}`);
  if (pinned) heading.append(element("span", "pinned", "badge"));
  target.append(heading);
  const facts = element("dl");
  const map = cells.map(region);
  const shown = Math.min(about.outputs, 12);
  const text = (k: number): string => affineText(map, k, cells.inputs);
  const maps = Array.from({ length: shown }, (_, k) => element("div", text(k), "formula"));
  if (about.outputs > shown) maps.push(element("div", `… and ${about.outputs - shown} more`));
  row(facts, "map", ...maps);
  row(facts, cells.inputs === 3 ? "volume" : "area", number(cells.areas[region], 5));
  row(facts, "neighbours", String(cells.neighbours(region).length));
  target.append(facts);
  if (cells.depth) {
    const table = patternTable(cells, region);
    target.append(patternHeading(cells, region), table);
    table.scrollTop = scrolled;
  }
  target.append(element("h3", "Facets"), facetList(cells, region, choose));
}

function patternHeading(cells: Cells, region: number): HTMLElement {
  const heading = element("h3", "Pattern");
  const button = element("button", "Copy", "small");
  button.type = "button";
  button.setAttribute("aria-label", "copy the pattern");
  button.addEventListener("click", () => {
    const pattern = cells.pattern(region);
    const text = cells.network.widths.map((width, k) => digits(pattern, cells.network.starts[k], width)).join("|");
    void navigator.clipboard?.writeText(text).then(() => { button.textContent = "Copied"; }, () => undefined);
  });
  heading.append(button);
  return heading;
}

function digits(pattern: Uint8Array, start: number, width: number): string {
  return Array.from(pattern.subarray(start, start + width), (piece) => piece.toString(36)).join("");
}

// One line for each layer: its name, how many neurons are in which piece, and a box for every neuron.
function patternTable(cells: Cells, region: number): HTMLElement {
  const pattern = cells.pattern(region);
  const table = element("div", undefined, "pattern");
  table.tabIndex = 0;
  table.setAttribute("role", "group");
  table.setAttribute("aria-label", "the pattern, layer by layer");
  for (let k = 0; k < cells.depth; k++) {
    const start = cells.network.starts[k];
    const width = cells.network.widths[k];
    const part = pattern.subarray(start, start + width);
    const line = element("div", undefined, k < state.layer ? "" : "later");
    const pieces = cells.network.layers[k].slopes.length / width;
    const count = part.reduce((sum, piece) => sum + (piece > 0 ? 1 : 0), 0);
    line.append(element("span", layerName(cells.about, k + 1), "name"));
    const told = element("span", pieces === 2 ? `${count} of ${width}` : `${pieces} pieces`, "count");
    if (pieces === 2) told.title = `${count} of ${width} neurons are active`;
    line.append(boxes(part, pieces), told, element("code", digits(pattern, start, width), "spoken"));
    table.append(line);
  }
  return table;
}

function boxes(part: Uint8Array, pieces: number): HTMLElement {
  const canvas = element("canvas", undefined, "boxes");
  const across = Math.min(part.length, 36);
  const down = Math.ceil(part.length / across);
  [canvas.width, canvas.height] = [2 * across * (BOX + 1), 2 * down * (BOX + 2)];
  [canvas.style.width, canvas.style.height] = [`${canvas.width / 2}px`, `${canvas.height / 2}px`];
  const pen = canvas.getContext("2d")!;
  pen.scale(2, 2);
  part.forEach((piece, i) => {
    const share = piece / Math.max(1, pieces - 1);
    pen.fillStyle = share === 0
      ? (state.dark ? "#3a3e4b" : "#e1e2e6")
      : state.dark ? `rgba(143,176,255,${0.45 + 0.55 * share})` : `rgba(47,91,208,${0.4 + 0.6 * share})`;
    pen.fillRect((i % across) * (BOX + 1), Math.floor(i / across) * (BOX + 2), BOX, BOX + 1);
  });
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

function facetList(cells: Cells, region: number, choose: (region: number) => void): HTMLElement {
  const list = element("ul", undefined, "facets");
  const facets = cells.facets(region);
  for (const facet of facets.slice(0, FEW_FACETS)) {
    const item = element("li");
    const text = facet.neurons.map((neuron) => {
      const bend = neuron.bend ? `, breakpoint ${neuron.bend}` : "";
      return `${layerName(cells.about, neuron.layer)}, neuron ${neuron.index}${bend}`;
    });
    item.append(element("span", text.join(" and ") || "edge of the domain or the frame"));
    if (facet.behind >= 0) {
      const button = element("button", `→ ${facet.behind}`);
      button.type = "button";
      button.setAttribute("aria-label", `go to neighbour ${facet.behind}`);
      button.addEventListener("click", () => choose(facet.behind));
      item.append(button);
    }
    list.append(item);
  }
  if (facets.length > FEW_FACETS) list.append(element("li", `… and ${facets.length - FEW_FACETS} more`));
  return list;
}

/**
 * A pattern as typed: a digit (or a letter, from piece 10 on) for each neuron; bars and spaces
 * between layers do not matter.
 */
export function parsePattern(text: string, neurons: number): Uint8Array | null {
  const typed = text.toLowerCase().replace(/[^0-9a-z]/g, "");
  return typed.length === neurons ? Uint8Array.from(typed, (digit) => parseInt(digit, 36)) : null;
}

/** A point as typed: so many numbers. */
export function parsePoint(text: string, inputs: number): number[] | null {
  const parts = text.replace(/−/g, "-").trim().replace(/^[([]|[)\]]$/g, "").trim().split(/[\s,;]+/);
  const point = parts.map(Number);
  return point.length === inputs && parts.every((p) => p !== "") && point.every(Number.isFinite) ? point : null;
}
