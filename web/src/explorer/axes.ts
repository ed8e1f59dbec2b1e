// Around the plane: numbers along both axes, and a bar that shows how long a unit is.
import { tickLabel, ticks } from "../common/numbers.ts";
import type { Pen } from "./pen.ts";
import { page, ratio, state, view } from "./state.ts";

const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

function ink(): { line: string; text: string; strong: string } {
  return state.dark
    ? { line: "#565a68", text: "#a9adba", strong: "#e8e8ee" }
    : { line: "#a3a5ad", text: "#595d69", strong: "#1d1e26" };
}

/** Fit a canvas to its place on the screen; returns its pen, in CSS pixels. */
export function fitted(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.round(size * ratio()));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d")!;
  pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  return pen;
}

/** A tick's label, "" if there is no room; far from 0, where all begin alike, the last digits alone: "…0.5003". */
function fitting(pen: Pen, value: number, step: number, room: number): string {
  const label = tickLabel(value, step);
  const most = Math.abs(value) > 1000 * step ? label.length - 2 : 1;
  for (let from = 0; from < most; from++) {
    const text = from ? `…${label.slice(from)}` : label;
    if (pen.measureText(text).width < room) return text;
  }
  return "";
}

/** Below the picture. */
export function paintAxisX(pen: Pen, width: number, height: number): void {
  const [low, high] = [view.x - width / 2 / view.zoom, view.x + width / 2 / view.zoom];
  const { values, step } = ticks(low, high, Math.max(2, width / 85));
  pen.font = FONT;
  pen.textBaseline = "top";
  pen.fillStyle = ink().text;
  pen.strokeStyle = ink().line;
  pen.beginPath();
  for (const value of values) {
    const x = width / 2 + (value - view.x) * view.zoom;
    pen.moveTo(x, 0);
    pen.lineTo(x, 5);
    const label = fitting(pen, value, step, 80);
    const half = pen.measureText(label).width / 2;
    pen.textAlign = "center";
    if (label && x + half < width - 22) pen.fillText(label, Math.max(x, half), 8);
  }
  pen.stroke();
  pen.textAlign = "right";
  pen.font = `600 ${FONT}`;
  pen.fillStyle = ink().strong;
  pen.fillText(page.axes[0], width - 2, Math.min(8, height - 12));
}

/** Left of the picture. */
export function paintAxisY(pen: Pen, width: number, height: number): void {
  const [low, high] = [view.y - height / 2 / view.zoom, view.y + height / 2 / view.zoom];
  const { values, step } = ticks(low, high, Math.max(2, height / 60));
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillStyle = ink().text;
  pen.strokeStyle = ink().line;
  pen.beginPath();
  for (const value of values) {
    const y = height / 2 - (value - view.y) * view.zoom;
    pen.moveTo(width, y);
    pen.lineTo(width - 5, y);
    const room = y > 24 ? width : width - 8 - pen.measureText(page.axes[1]).width; // the axis' name is up there
    const label = fitting(pen, value, step, width - 8);
    if (!label || pen.measureText(label).width + 8 >= room) continue;
    pen.fillText(label, width - 8, Math.max(6, Math.min(height - 6, y)));
  }
  pen.stroke();
  pen.font = `600 ${FONT}`;
  pen.fillStyle = ink().strong;
  pen.textAlign = "left";
  pen.fillText(page.axes[1], 2, 9);
}

/** In the picture's corner: a bar of a round length. */
export function paintScaleBar(pen: Pen, width: number, height: number): void {
  const most = 120 / view.zoom;
  const base = 10 ** Math.floor(Math.log10(most));
  const length = base * (most >= 5 * base ? 5 : most >= 2 * base ? 2 : 1);
  const pixels = length * view.zoom;
  const [right, y] = [width - 16, height - 16];
  const label = tickLabel(length, length / 2);
  pen.font = `600 ${FONT}`;
  pen.textAlign = "center";
  pen.textBaseline = "bottom";
  pen.lineCap = "butt";
  const halo = state.dark ? "rgba(20,21,26,0.85)" : "rgba(255,255,255,0.9)";
  for (const [extra, colour] of [[3, halo], [0, ink().strong]] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = 2 + extra;
    pen.beginPath();
    pen.moveTo(right - pixels, y - 5);
    pen.lineTo(right - pixels, y);
    pen.lineTo(right, y);
    pen.lineTo(right, y - 5);
    pen.stroke();
    pen.lineWidth = extra;
    if (extra) pen.strokeText(label, right - pixels / 2, y - 5);
  }
  pen.fillStyle = ink().strong;
  pen.fillText(label, right - pixels / 2, y - 5);
}
