// One picture on the screen: its canvases, what is under the mouse, what is pinned. Panes share the view.
import type { Colour } from "../common/colours.ts";
import type { Point } from "../common/data.ts";
import { element } from "../common/dom.ts";
import { coordinate, number } from "../common/numbers.ts";
import { fitted, paintAxisX, paintAxisY, paintScaleBar } from "./axes.ts";
import type { Cells, Shades } from "./cells.ts";
import { Painter } from "./draw.ts";
import { paintChosen, paintDecisions, paintNeuron, paintPoints, paintSpace } from "./overlay.ts";
import { Picture } from "./picture.ts";
import { Solid } from "./solid.ts";
import { Space } from "./space.ts";
import { page, ratio, state, view } from "./state.ts";

const SLOW = 25; // milliseconds

/** Whether this is a picture in space now. */
export function inSpace(): boolean {
  return page.inputs === 3 || state.surface;
}

export class Pane {
  readonly figure = element("figure", undefined, "pane");
  readonly caption = element("figcaption");
  readonly stage = element("div", undefined, "stage");
  /** On top: what is chosen, points; takes mouse, fingers and keys. */
  readonly canvas = element("canvas", undefined, "top");
  /** Below: all regions, drawn with WebGL. */
  readonly sheet = element("canvas", undefined, "sheet");
  private readonly under = element("canvas", undefined, "under");
  private readonly spaceCanvas = element("canvas", undefined, "space");
  readonly axisX = element("canvas", undefined, "axis-x");
  readonly axisY = element("canvas", undefined, "axis-y");
  private readonly tooltip = element("div", undefined, "tooltip");
  private painter: Painter | null = null;
  private ownSpace: Space | null = null;
  cells: Cells | null = null;
  hovered = -1;
  pinned = -1;
  /** Where the mouse is. */
  over: number[] | null = null;
  shades: Shades = { low: 0, high: 1 };
  /** The sheet as it was drawn last. */
  readonly drawn = { x: 0, y: 0, zoom: 0, cost: 0, stale: true, timer: 0 };

  constructor(readonly number: number) {
    this.stage.append(this.under, this.sheet, this.spaceCanvas, this.canvas, this.tooltip);
    this.figure.append(this.caption, this.axisY, this.stage, this.axisX);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-describedby", "keys");
    this.canvas.setAttribute("aria-label", `Linear regions of a network ${page.inputs === 3 ? "in space" : "in the plane"}`);
    for (const each of [this.under, this.sheet, this.spaceCanvas, this.axisX, this.axisY, this.tooltip]) {
      each.setAttribute("aria-hidden", "true");
    }
    if (number === 0) [this.canvas.id, this.sheet.id, this.stage.id] = ["regions", "sheet", "stage"];
  }

  /** The polygons, if the network has two inputs. */
  get picture(): Picture | null {
    return this.cells instanceof Picture ? this.cells : null;
  }

  get space(): Space {
    if (!this.ownSpace) {
      this.ownSpace = new Space(this.spaceCanvas, this.under);
      this.ownSpace.show(this.cells);
    }
    return this.ownSpace;
  }

  show(cells: Cells | null): void {
    this.cells = cells;
    this.hovered = -1;
    this.ownSpace?.show(cells);
    if (cells instanceof Picture) {
      this.painter ??= new Painter(this.sheet);
      this.painter.show(cells);
    }
    this.pinned = state.place && cells ? cells.locate(state.place) : -1;
  }

  // --- colours ---

  /** Numbers or colours of all regions; the range of numbers is set later, as panes share it. */
  shade(): Shades {
    if (this.cells instanceof Solid) this.shades = this.space.showCells();
    else if (this.picture) this.shades = this.picture.shades(state.colour, state);
    return this.shades;
  }

  /** Take over the shades, with a range that panes share. */
  colour(low: number, high: number, heights: { low: number; high: number } | null): void {
    Object.assign(this.shades, { low, high });
    if (this.picture) {
      this.painter!.shade(this.shades);
      if (state.surface && heights) this.space.showSurface(this.shades, heights);
    } else if (this.cells) {
      this.space.setRange(low, high);
    }
    this.drawn.stale = true;
  }

  // --- drawing ---

  resize(): void {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    for (const each of [this.canvas, this.sheet, this.under, this.spaceCanvas]) {
      each.width = Math.max(1, Math.round(width * ratio()));
      each.height = Math.max(1, Math.round(height * ratio()));
    }
    this.drawn.stale = true;
  }

  paint(): void {
    const space = inSpace();
    this.figure.classList.toggle("in-space", space);
    const pen = this.canvas.getContext("2d")!;
    pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (space) {
      this.space.paint(pen);
      paintSpace(pen, this);
      return;
    }
    if (!this.picture) return;
    this.paintSheetIfNeeded();
    paintDecisions(pen, this);
    paintNeuron(pen, this);
    paintPoints(pen, this);
    paintChosen(pen, this);
    paintScaleBar(pen, this.canvas.clientWidth, this.canvas.clientHeight);
    paintAxisX(fitted(this.axisX), this.axisX.clientWidth, this.axisX.clientHeight);
    paintAxisY(fitted(this.axisY), this.axisY.clientWidth, this.axisY.clientHeight);
  }

  private paintSheetIfNeeded(): void {
    const { drawn } = this;
    const moved = view.x !== drawn.x || view.y !== drawn.y || view.zoom !== drawn.zoom;
    if (drawn.stale || (moved && drawn.cost < SLOW)) this.paintSheet();
    else if (moved) this.moveSheet();
  }

  /** Draw all regions now. */
  paintSheet(): void {
    if (inSpace()) {
      this.paint();
      return;
    }
    const { drawn } = this;
    clearTimeout(drawn.timer);
    drawn.timer = 0;
    const device = { ...view, zoom: view.zoom * ratio() };
    const options = { ...state, background: background() };
    this.painter!.measure(device, options, (milliseconds) => { drawn.cost = milliseconds; });
    Object.assign(drawn, view, { stale: false });
    this.sheet.style.transform = "";
  }

  // Where drawing takes long (no graphics processor, very many regions), the sheet is moved and
  // scaled as it is while people drag, and drawn again when they pause.
  private moveSheet(): void {
    const { drawn } = this;
    const factor = view.zoom / drawn.zoom;
    const dx = (drawn.x - view.x) * view.zoom;
    const dy = (view.y - drawn.y) * view.zoom;
    this.sheet.style.transform = `translate(${dx}px, ${dy}px) scale(${factor})`;
    clearTimeout(drawn.timer);
    drawn.timer = window.setTimeout(() => this.paintSheet(), 150);
  }

  /** All that is drawn, in the order from below. */
  layers(): HTMLCanvasElement[] {
    return inSpace() ? [this.under, this.spaceCanvas, this.canvas] : [this.sheet, this.canvas];
  }

  // --- places ---

  toScreen([x, y]: readonly number[]): Point {
    return [
      this.canvas.clientWidth / 2 + (x - view.x) * view.zoom,
      this.canvas.clientHeight / 2 - (y - view.y) * view.zoom,
    ];
  }

  toPlane(sx: number, sy: number): Point {
    return [
      view.x + (sx - this.canvas.clientWidth / 2) / view.zoom,
      view.y - (sy - this.canvas.clientHeight / 2) / view.zoom,
    ];
  }

  /** The region at a pixel, and the point there. */
  at(sx: number, sy: number): { region: number; point: number[] | null } {
    if (!this.cells) return { region: -1, point: null };
    if (inSpace()) return this.space.hit(sx, sy) ?? { region: -1, point: null };
    const point = this.toPlane(sx, sy);
    return { region: this.cells.locate(point), point };
  }

  // --- the tooltip ---

  /** What is under the mouse, in a few words, next to it; null: nothing. */
  tell(sx: number, sy: number): void {
    const { cells, hovered, over } = this;
    if (!cells || hovered < 0 || !over) {
      this.quiet();
      return;
    }
    const pixel = inSpace() ? page.scale / 200 : 1 / view.zoom;
    const place = over.map((value) => coordinate(value, pixel)).join(", ");
    this.tooltip.replaceChildren(
      element("b", `Region ${hovered.toLocaleString("en")}`), element("span", this.valueText(hovered, over)),
      element("small", `(${place})`),
    );
    this.tooltip.classList.add("shown");
    const [width, height] = [this.tooltip.offsetWidth, this.tooltip.offsetHeight];
    const left = sx + 16 + width > this.canvas.clientWidth ? sx - 14 - width : sx + 16;
    const top = sy + 18 + height > this.canvas.clientHeight ? sy - 14 - height : sy + 18;
    this.tooltip.style.transform = `translate(${Math.max(2, left)}px, ${Math.max(2, top)}px)`;
  }

  quiet(): void {
    this.tooltip.classList.remove("shown");
  }

  /** "y1 = 0.25", or which of many outputs is the largest. */
  private valueText(region: number, point: number[]): string {
    const cells = this.cells!;
    const map = cells.map(region);
    const size = cells.inputs + 1;
    const value = (k: number): number => {
      const row = map.subarray(k * size, (k + 1) * size);
      return point.reduce((sum, x, j) => sum + x * row[j], row[size - 1]);
    };
    if (state.colour === "area") return `${page.inputs === 3 ? "volume" : "area"} ${number(cells.areas[region], 4)}`;
    const numeric = state.colour === "value" || state.colour === "gradient" || cells.about.outputs === 1;
    if (numeric || state.surface) return `y${state.output + 1} = ${number(value(state.output), 4, 1e-3)}`;
    let best = 0;
    for (let k = 1; k < cells.about.outputs; k++) if (value(k) > value(best)) best = k;
    return `largest: y${best + 1} = ${number(value(best), 4, 1e-3)}`;
  }
}

function background(): Colour {
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--back").trim();
  const byte = (k: number): number => parseInt(hex.slice(k, k + 2), 16);
  return [byte(1), byte(3), byte(5)];
}
