// Pictures to keep, with axes and key as on the page: PNG as it is on the screen, SVG with one path for every region.
import { css, layerColour, ramp } from "../common/colours.ts";
import { $ } from "../common/dom.ts";
import { paintAxisX, paintAxisY, paintScaleBar } from "./axes.ts";
import { type Part, paintKey } from "./key.ts";
import { paintChosen, paintDecisions, paintNeuron, paintPoints } from "./overlay.ts";
import { inSpace, type Pane } from "./pane.ts";
import { type Pen, SvgPen } from "./pen.ts";
import { ratio, state } from "./state.ts";

const MOST_PATHS = 50000;
const STOPS = 6;
const GAP = 12;
const CAPTION = "13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Where things are in a file, in CSS pixels: panes beside each other, their names above, the key below. */
class Layout {
  readonly left: number;
  readonly top: number;
  readonly below: number;
  readonly pane: [number, number];
  readonly width: number;
  readonly keyTop: number;
  readonly height: number;

  constructor(panes: Pane[], private readonly parts: Part[], measure: Pen) {
    const [first] = panes;
    [this.left, this.below] = inSpace() ? [0, 0] : [first.axisY.clientWidth, first.axisX.clientHeight];
    this.top = panes.length > 1 ? 24 : 6;
    this.pane = [first.canvas.clientWidth, first.canvas.clientHeight];
    this.width = panes.length * (this.left + this.pane[0] + GAP);
    this.keyTop = this.top + this.pane[1] + this.below + 8;
    this.height = Math.ceil(this.keyTop + paintKey(measure, parts, 0, 0, this.room(), false));
  }

  private room(): number {
    return this.width - this.left - GAP;
  }

  /** Where the pane of this number begins. */
  x(k: number): number {
    return k * (this.left + this.pane[0] + GAP) + this.left;
  }

  /** The names of the panes, and the key. */
  paintWords(pen: Pen, panes: Pane[]): void {
    pen.font = CAPTION;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = state.dark ? "#e8e8ee" : "#1d1e26";
    if (panes.length > 1) panes.forEach((pane, k) => pen.fillText(pane.caption.textContent ?? "", this.x(k), 12));
    paintKey(pen, this.parts, this.left + (inSpace() ? GAP : 0), this.keyTop, this.room());
  }
}

export function savePng(panes: Pane[], parts: Part[]): void {
  const copy = document.createElement("canvas");
  const pen = copy.getContext("2d")!;
  const layout = new Layout(panes, parts, pen);
  const scale = ratio();
  [copy.width, copy.height] = [Math.round(layout.width * scale), Math.round(layout.height * scale)];
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, copy.width, copy.height);
  panes.forEach((pane, k) => {
    const [x, y] = [layout.x(k) * scale, layout.top * scale];
    pane.paintSheet(); // the drawing buffer is only sure to be there right after drawing
    for (const layer of pane.layers()) pen.drawImage(layer, x, y);
    if (!inSpace()) {
      pen.drawImage(pane.axisY, x - layout.left * scale, y);
      pen.drawImage(pane.axisX, x, y + layout.pane[1] * scale);
    }
  });
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  layout.paintWords(pen, panes);
  copy.toBlob((blob) => { if (blob) download(blob, "regions.png"); });
}

/** Values are shaded by gradients, which is exact up to the ramp's steps. */
export function saveSvg(panes: Pane[], parts: Part[]): void {
  const words = new SvgPen();
  const layout = new Layout(panes, parts, words);
  const { width, height, top } = layout;
  const body: string[] = [];
  const gradients: string[] = [];
  let paths = 0;
  panes.forEach((pane, k) => {
    const regions = regionPaths(pane, k, gradients);
    paths += regions.length;
    body.push(`<g transform="translate(${layout.x(k)} ${top})">`, ...paneParts(pane, regions, layout), "</g>");
  });
  if (paths > MOST_PATHS) {
    $("answer").textContent =
      `${paths.toLocaleString("en")} regions are in view: zoom in, SVG takes up to ${MOST_PATHS.toLocaleString("en")}.`;
    return;
  }
  layout.paintWords(words, panes);
  const [w, h] = layout.pane;
  const text = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<defs><clipPath id="pane"><rect width="${w}" height="${h}"/></clipPath>`, ...gradients, "</defs>",
    `<rect width="${width}" height="${height}" fill="${getComputedStyle(document.body).backgroundColor}"/>`,
    ...body, ...words.parts, "</svg>",
  ];
  download(new Blob([text.join("\n")], { type: "image/svg+xml" }), "regions.svg");
}

/** A pane: regions, edges, what is chosen; its axes and the scale bar. */
function paneParts(pane: Pane, regions: string[], layout: Layout): string[] {
  const [width, height] = layout.pane;
  const over = new SvgPen();
  for (const paint of [paintDecisions, paintNeuron, paintPoints, paintChosen]) paint(over, pane);
  paintScaleBar(over, width, height);
  const [axisX, axisY] = [new SvgPen(), new SvgPen()];
  paintAxisX(axisX, width, layout.below);
  paintAxisY(axisY, layout.left, height);
  const line = state.dark ? "#343743" : "#dcdcd6";
  return [
    '<g clip-path="url(#pane)">',
    '<g class="regions" shape-rendering="crispEdges">', ...regions, "</g>", // crisp: no seams between them
    ...edgePaths(pane), ...over.parts, "</g>",
    `<rect width="${width}" height="${height}" fill="none" stroke="${line}"/>`,
    `<g class="axis-x" transform="translate(0 ${height})">`, ...axisX.parts, "</g>",
    `<g class="axis-y" transform="translate(${-layout.left} 0)">`, ...axisY.parts, "</g>",
  ];
}

function regionPaths(pane: Pane, number: number, gradients: string[]): string[] {
  const [width, height] = [pane.canvas.clientWidth, pane.canvas.clientHeight];
  const picture = pane.picture!;
  const paint = painted(pane, `g${number}-`, gradients);
  const paths: string[] = [];
  for (let region = 0; region < picture.count; region++) {
    const points = picture.polygon(region).map((point) => pane.toScreen(point));
    const xs = points.map((p) => p[0]);
    const ys = points.map((p) => p[1]);
    if (Math.max(...xs) < 0 || Math.min(...xs) > width) continue;
    if (Math.max(...ys) < 0 || Math.min(...ys) > height) continue;
    const corners = points.map((p) => `${p[0].toFixed(2)},${p[1].toFixed(2)}`).join("L");
    paths.push(`<path d="M${corners}Z" fill="${paint(region)}"/>`);
  }
  return paths;
}

/** One path for the edges of each layer, or one for all. */
function edgePaths(pane: Pane): string[] {
  if (state.edges === "none") return [];
  const picture = pane.picture!;
  const { pairs, ends } = picture.edges();
  const last = Math.min(state.layer, picture.depth);
  const byLayer = state.edges === "layers";
  const ink = state.dark ? "#000" : pane.shades.values ? "#fff" : "#28283c";
  const paths: string[] = [];
  for (let k = byLayer ? 0 : last; k <= last; k++) {
    const lines: string[] = [];
    for (let at = byLayer && k > 0 ? ends[k - 1] : 0; at < ends[k]; at++) {
      const [p, q] = [pairs[2 * at], pairs[2 * at + 1]].map((c) => pane.toScreen(picture.corner(c)));
      lines.push(`M${p.map((v) => v.toFixed(2)).join(" ")}L${q.map((v) => v.toFixed(2)).join(" ")}`);
    }
    const stroke = byLayer ? css(layerColour(k, picture.depth, state.dark)) : ink;
    const opacity = byLayer ? 0.9 : 0.6;
    if (lines.length) {
      paths.push(`<path class="edges" data-layer="${k}" d="${lines.join("")}" fill="none" stroke="${stroke}" ` +
        `stroke-width="0.75" stroke-opacity="${opacity}" stroke-linecap="round"/>`);
    }
  }
  return paths;
}

// What a region is filled with: its colour, or a gradient along which its number changes.
function painted(pane: Pane, prefix: string, gradients: string[]): (region: number) => string {
  const picture = pane.picture!;
  const { starts } = picture;
  const { colours, values = new Float32Array(), low, high } = pane.shades;
  if (colours) {
    const bytes = new Uint8Array(colours.buffer);
    return (region) => `rgb(${bytes.slice(4 * starts[region], 4 * starts[region] + 3).join()})`;
  }
  const tones = ramp();
  const tone = (value: number): string => {
    const share = (value - low) / (high - low || 1);
    const at = 4 * Math.round(255 * Math.min(1, Math.max(0, share)));
    return `rgb(${tones.slice(at, at + 3).join()})`;
  };
  return (region) => {
    const own = [...values.subarray(starts[region], starts[region + 1])];
    const [least, most] = [Math.min(...own), Math.max(...own)];
    if (tone(least) === tone(most)) return tone(least);
    const map = picture.map(region).subarray(3 * state.output);
    const from = pane.toScreen(picture.corner(starts[region] + own.indexOf(least)));
    const length = (most - least) / (map[0] ** 2 + map[1] ** 2);
    const scale = length * (pane.toScreen([1, 0])[0] - pane.toScreen([0, 0])[0]);
    const [x2, y2] = [from[0] + map[0] * scale, from[1] - map[1] * scale];
    const stops = Array.from({ length: STOPS }, (_, k) => {
      const share = k / (STOPS - 1);
      return `<stop offset="${share}" stop-color="${tone(least + share * (most - least))}"/>`;
    });
    const ends = [from[0], from[1], x2, y2].map((value) => value.toFixed(2));
    gradients.push(
      `<linearGradient id="${prefix}${region}" gradientUnits="userSpaceOnUse" x1="${ends[0]}" y1="${ends[1]}" ` +
      `x2="${ends[2]}" y2="${ends[3]}">${stops.join("")}</linearGradient>`);
    return `url(#${prefix}${region})`;
  };
}
