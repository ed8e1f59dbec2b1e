// Pictures to keep: PNG as it is on the screen, SVG with one path for every region in view.
import { ramp } from "../common/colours.ts";
import { $ } from "../common/dom.ts";
import type { Pane } from "./pane.ts";
import { inSpace } from "./pane.ts";
import { ratio, state } from "./state.ts";

const MOST_PATHS = 50000;
const STOPS = 6;

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** All panes beside each other, with their axes. */
export function savePng(panes: Pane[]): void {
  const copy = document.createElement("canvas");
  const [first] = panes;
  const [left, below] = inSpace() ? [0, 0] : [first.axisY.width, first.axisX.height];
  const width = left + first.canvas.width;
  const gap = Math.round(12 * ratio());
  copy.width = panes.length * width + (panes.length - 1) * gap;
  copy.height = first.canvas.height + below;
  const pen = copy.getContext("2d")!;
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, copy.width, copy.height);
  panes.forEach((pane, k) => {
    const x = k * (width + gap);
    pane.paintSheet(); // the drawing buffer is only sure to be there right after drawing
    for (const layer of pane.layers()) pen.drawImage(layer, x + left, 0);
    if (!inSpace()) {
      pen.drawImage(pane.axisY, x, 0);
      pen.drawImage(pane.axisX, x + left, pane.canvas.height);
    }
  });
  copy.toBlob((blob) => { if (blob) download(blob, "regions.png"); });
}

/** The first pane's regions; values are shaded by gradients, which is exact up to the ramp's steps. */
export function saveSvg(pane: Pane): void {
  const [width, height] = [pane.canvas.clientWidth, pane.canvas.clientHeight];
  const picture = pane.picture!;
  const paths: string[] = [];
  const gradients: string[] = [];
  const paint = painted(pane, gradients);
  for (let region = 0; region < picture.count; region++) {
    const points = picture.polygon(region).map((point) => pane.toScreen(point));
    const xs = points.map((p) => p[0]);
    const ys = points.map((p) => p[1]);
    if (Math.max(...xs) < 0 || Math.min(...xs) > width) continue;
    if (Math.max(...ys) < 0 || Math.min(...ys) > height) continue;
    const corners = points.map((p) => `${p[0].toFixed(2)},${p[1].toFixed(2)}`).join("L");
    paths.push(`<path d="M${corners}Z" fill="${paint(region)}"/>`);
  }
  if (paths.length > MOST_PATHS) {
    $("answer").textContent =
      `${paths.length.toLocaleString("en")} regions are in view: zoom in, SVG takes up to ${MOST_PATHS.toLocaleString("en")}.`;
    return;
  }
  const stroke = state.edges === "none" ? "none" : state.dark ? "#000" : pane.shades.values ? "#fff" : "#28283c";
  const text = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<defs>${gradients.join("\n")}</defs>`,
    `<g stroke="${stroke}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,
    ...paths, "</g>", "</svg>",
  ];
  download(new Blob([text.join("\n")], { type: "image/svg+xml" }), "regions.svg");
}

// What a region is filled with: its colour, or a gradient along which its number changes.
function painted(pane: Pane, gradients: string[]): (region: number) => string {
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
    gradients.push(`<linearGradient id="g${region}" gradientUnits="userSpaceOnUse" x1="${ends[0]}" y1="${ends[1]}" ` +
      `x2="${ends[2]}" y2="${ends[3]}">${stops.join("")}</linearGradient>`);
    return `url(#g${region})`;
  };
}
