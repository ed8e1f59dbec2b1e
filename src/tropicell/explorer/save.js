// Pictures to keep: PNG as it is on the screen, SVG with one path for every region in view.
import { ramp } from "./colours.js";
import { $, canvas, sheet, state, toScreen } from "./state.js";

const MOST_PATHS = 50000;

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function savePng() {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext("2d");
  pen.drawImage(sheet, 0, 0);
  pen.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => download(blob, "regions.png"));
}

// Regions are written with one colour each: that of their mean value, if values are shown.
export function saveSvg(shades) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const paths = [];
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

function flatColours(shades) {
  const { starts } = state.picture;
  if (shades.colours) {
    const bytes = new Uint8Array(shades.colours.buffer);
    return (region) => `rgb(${bytes.slice(4 * starts[region], 4 * starts[region] + 3).join()})`;
  }
  const colours = ramp();
  return (region) => {
    const values = shades.values.subarray(starts[region], starts[region + 1]);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const share = (mean - shades.low) / (shades.high - shades.low || 1);
    const at = 4 * Math.round(255 * Math.min(1, Math.max(0, share)));
    return `rgb(${colours.slice(at, at + 3).join()})`;
  };
}
