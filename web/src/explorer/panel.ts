// The panel's text. Everything from a model goes through textContent, never through HTML.
import type { Point } from "../common/data.ts";
import { element } from "../common/dom.ts";
import { number } from "../common/numbers.ts";
import type { Picture } from "./picture.ts";
import type { PictureFacts } from "./state.ts";

export function affineText(map: Float64Array, output: number): string {
  const [a, b, c] = map.subarray(3 * output, 3 * output + 3);
  const join = (value: number): string => (value < 0 ? ` − ${number(-value)}` : ` + ${number(value)}`);
  return `y${output + 1} = ${number(a)}·x1${join(b)}·x2${join(c)}`;
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
  layer: number;
  pinned: boolean;
  choose: (region: number) => void;
}

/** Describe a region; `choose(region)` is called when a neighbour is clicked. */
export function describe(
  target: HTMLElement, picture: Picture, region: number, { layer, pinned, choose }: DescribeOptions,
): void {
  target.replaceChildren();
  if (region < 0) {
    target.append(element("p", "Move over the picture, or type a point or a pattern above.", "hint"));
    return;
  }
  const { about } = picture;
  const heading = element("h2", `Region ${region.toLocaleString("en")}`);
  if (pinned) heading.append(element("span", "pinned", "badge"));
  target.append(heading);
  const facts = element("dl");
  const map = picture.map(region);
  const shown = Math.min(about.outputs, 12);
  const maps = Array.from({ length: shown }, (_, k) => element("div", affineText(map, k), "formula"));
  if (about.outputs > shown) maps.push(element("div", `… and ${about.outputs - shown} more`));
  row(facts, "map", ...maps);
  row(facts, "area", number(picture.areas[region]));
  row(facts, "neighbours", String(picture.neighbours(region).length));
  target.append(facts);
  target.append(element("h3", "Pattern"), patternTable(picture, region, layer));
  target.append(element("h3", "Facets"), facetList(picture, region, choose));
}

function patternTable(picture: Picture, region: number, layer: number): HTMLElement {
  const pattern = picture.pattern(region);
  const table = element("div", undefined, "pattern");
  for (let k = 0; k < picture.depth; k++) {
    const start = picture.network.starts[k];
    const part = pattern.subarray(start, start + picture.network.widths[k]);
    const line = element("div", undefined, k < layer ? "" : "later");
    line.append(element("span", layerName(picture.about, k + 1), "name"));
    line.append(element("code", Array.from(part, (piece) => piece.toString(36)).join("")));
    table.append(line);
  }
  return table;
}

function facetList(picture: Picture, region: number, choose: (region: number) => void): HTMLElement {
  const list = element("ul", undefined, "facets");
  for (const facet of picture.facets(region)) {
    const item = element("li");
    const text = facet.neurons.map((neuron) => {
      const bend = neuron.bend ? `, breakpoint ${neuron.bend}` : "";
      return `${layerName(picture.about, neuron.layer)}, neuron ${neuron.index}${bend}`;
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
  return list;
}

// A pattern as typed: a digit (or a letter, from piece 10 on) for each neuron; bars and spaces
// between layers do not matter.
export function parsePattern(text: string, neurons: number): Uint8Array | null {
  const digits = text.toLowerCase().replace(/[^0-9a-z]/g, "");
  return digits.length === neurons ? Uint8Array.from(digits, (digit) => parseInt(digit, 36)) : null;
}

// A point as typed: two numbers.
export function parsePoint(text: string): Point | null {
  const parts = text.replace(/−/g, "-").trim().replace(/^[([]|[)\]]$/g, "").trim().split(/[\s,;]+/);
  const point = parts.map(Number);
  return point.length === 2 && parts.every((p) => p !== "") && point.every(Number.isFinite)
    ? [point[0], point[1]] : null;
}
