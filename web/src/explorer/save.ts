// Pictures to keep: PNG as it is on the screen, SVG with one path for every region in view.
import { ramp } from "../common/colours.ts";
import { $ } from "../common/dom.ts";
import type { Shades } from "./picture.ts";
import { canvas, sheet, state, toScreen } from "./state.ts";

const MOST_PATHS = 50000;

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function savePng(): void {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext("2d")!;
  pen.drawImage(sheet, 0, 0);
  pen.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => { if (blob) download(blob, "regions.png"); });
}

// Regions are written with one colour each: that of their mean value, if values are shown.
export function saveSvg(shades: Shades): void {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const paths: string[] = [];
  const colour = flatColours(shades);
  for (let region = 0; region < state.picture.count; region++) {
    const points = state.picture.polygon(region).map(toScreen);
    const xs = points.map((p) => p[0]);
    const ys = points.map((p) => p[1]);
    if (Math.max(...xs) < 0 || Math.min(...xs) > width) continue;
    if (Math.max(...ys) < 0 || Math.min(...ys) > height) continue;
    const corners = points.map((p) => `${p[0].toFixed(2)},${p[1].toFixed(2)}`).join("L");
    paths.push(`<path d="M${corners}Z" fill="${colour(region)}"/>`);
  }
  if (paths.length > MOST_PATHS) {
    $("answer").textContent = `${paths.length} regions are in view: zoom in, SVG takes up to ${MOST_PATHS}.`;
    return;
  }
  const stroke = state.edges === "none" ? "none" : state.dark ? "#000" : "#28283c";
  const text = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<g stroke="${stroke}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,
    ...paths, "</g>", "</svg>",
  ];
  download(new Blob([text.join("\n")], { type: "image/svg+xml" }), "regions.svg");
}

function flatColours(shades: Shades): (region: number) => string {
  const { starts } = state.picture;
  if (shades.colours) {
    const bytes = new Uint8Array(shades.colours.buffer);
    return (region) => `rgb(${bytes.slice(4 * starts[region], 4 * starts[region] + 3).join()})`;
  }
  const colours = ramp();
  const { values: all = new Float32Array(), low = 0, high = 1 } = shades;
  return (region) => {
    const values = all.subarray(starts[region], starts[region + 1]);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const share = (mean - low) / (high - low || 1);
    const at = 4 * Math.round(255 * Math.min(1, Math.max(0, share)));
    return `rgb(${colours.slice(at, at + 3).join()})`;
  };
}
