// A picture in space: the output of a network with two inputs as a surface, the cells of one with three
// inputs, triangle meshes; with a box around it.
import { css, layerColour } from "../common/colours.ts";
import type { Arrays, Numbers } from "../common/data.ts";
import { tickLabel, ticks } from "../common/numbers.ts";
import { Camera } from "./camera.ts";
import type { Cells, Shades } from "./cells.ts";
import { Picture } from "./picture.ts";
import { type Batch, Scene, type SceneOptions } from "./scene.ts";
import { Solid } from "./solid.ts";
import { page, ratio, state } from "./state.ts";

/** All panes look from the same place. */
export const camera = new Camera();

/** Half the height of a surface, where the plane goes from -1 to 1. */
const HEIGHT = 0.62;

/** An axis of the box: its name, its ends in the scene and the numbers there. */
interface Axis {
  name: string;
  from: number;
  to: number;
  low: number;
  high: number;
}

/** What the mouse is on. */
export interface Hit {
  region: number;
  point: number[];
}

export class Space {
  private readonly scene: Scene;
  private cells: Cells | null = null;
  private heights = { low: 0, high: 1 };
  private shades: Shades = { low: 0, high: 1 };
  private matrix = camera.matrix(1);

  constructor(private readonly canvas: HTMLCanvasElement, private readonly under: HTMLCanvasElement) {
    this.scene = new Scene(canvas);
  }

  show(cells: Cells | null): void {
    this.cells = cells;
  }

  /** A mesh as it came from Python. */
  addMesh(name: string, arrays: Arrays): void {
    const vertices = arrays.vertices as Float32Array<ArrayBuffer>;
    const bytes = new Uint8Array((4 * vertices.length) / 3).fill(255);
    const colours = arrays.colours as Numbers | undefined;
    for (let i = 0; i < vertices.length / 3; i++) {
      for (let k = 0; k < 3; k++) bytes[4 * i + k] = colours ? colours[3 * i + k] : [224, 168, 92][k];
    }
    const triangles = arrays.triangles as Uint32Array<ArrayBuffer>;
    this.scene.set(name, { positions: vertices, colours: new Uint32Array(bytes.buffer), triangles, cut: true });
  }

  removeMesh(name: string): void {
    this.scene.set(name, null);
  }

  /** The range of the surface's heights; pictures that are compared share one. */
  range(): { low: number; high: number } | null {
    if (!(this.cells instanceof Picture)) return null;
    const values = this.cells.heights(state.output);
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
    return { low, high };
  }

  /** New colours, another output: a surface is made anew. */
  showSurface(shades: Shades, heights: { low: number; high: number }): void {
    const picture = this.cells as Picture;
    this.heights = heights;
    this.shades = shades;
    const values = picture.heights(state.output);
    const positions = new Float32Array(3 * values.length);
    for (let c = 0; c < values.length; c++) {
      positions[3 * c] = picture.corners[2 * c];
      positions[3 * c + 1] = picture.corners[2 * c + 1];
      positions[3 * c + 2] = this.height(values[c]);
    }
    const owners = new Uint32Array(values.length);
    for (let i = 0; i < picture.count; i++) owners.fill(i + 1, picture.starts[i], picture.starts[i + 1]);
    const { pairs, ends } = picture.edges();
    this.scene.set("cells", {
      positions, colours: shades.colours, values: shades.values, owners,
      triangles: picture.triangles(), lines: pairs, lineEnds: ends, cut: false,
    });
  }

  private height(value: number): number {
    const { low, high } = this.heights;
    return high > low ? HEIGHT * ((2 * (value - low)) / (high - low) - 1) : 0;
  }

  /** New colours or another cut: cells are made anew; returns the range of their numbers. */
  showCells(): Shades {
    const solid = this.cells as Solid;
    const shader = solid.shader(state.colour, state);
    const faces = solid.faces(shader, state.apart);
    this.scene.set("cells", faces);
    this.shades = { low: Infinity, high: -Infinity, logarithmic: shader.logarithmic };
    this.widen(faces);
    if (!faces.values) Object.assign(this.shades, { colours: faces.colours, low: 0, high: 1 });
    this.showCut();
    return this.shades;
  }

  private widen({ values }: Batch): void {
    if (!values) return;
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      this.shades.low = Math.min(this.shades.low, value);
      this.shades.high = Math.max(this.shades.high, value);
    }
    this.shades.values = values;
  }

  /** Only the plane has moved. */
  showCut(): void {
    if (!(this.cells instanceof Solid) || state.cutAxis < 0) {
      this.scene.set("caps", null);
      return;
    }
    const shader = this.cells.shader(state.colour, state);
    this.scene.set("caps", this.cells.caps(shader, state.apart, state.cutAxis, this.cutPlace()));
  }

  /** The range of the ramp, where several panes share one. */
  setRange(low: number, high: number): void {
    Object.assign(this.shades, { low, high });
  }

  /** Where the plane is in the scene. */
  private cutPlace(): number {
    const { from, to } = this.axes()[state.cutAxis];
    return from + (to - from) * state.cutAt;
  }

  /** What is between the plane and the eye is cut away. */
  private plane(): number[] | null {
    if (state.cutAxis < 0) return null;
    const towards = camera.eye[state.cutAxis] < 0 ? -1 : 1;
    const normal = [0, 0, 0];
    normal[state.cutAxis] = towards;
    return [...normal, towards * this.cutPlace()];
  }

  /** Where the plane is, in the numbers of its axis. */
  planeAt(): number {
    const { low, high } = this.axes()[Math.max(0, state.cutAxis)];
    return low + (high - low) * state.cutAt;
  }

  private options(): SceneOptions {
    return {
      camera: this.matrix, eye: camera.eye, low: this.shades.low, high: this.shades.high, plane: this.plane(),
      lines: this.lineColours(),
    };
  }

  /** As in the plane: lines up to the layer that is shown, in one colour or in that of their layer. */
  private lineColours(): SceneOptions["lines"] {
    const strength = this.lineStrength();
    if (state.edges === "none" || strength === 0) return () => null;
    const ink = state.dark ? 0 : this.shades.values ? 1 : 0.14;
    const alpha = (ink === 1 ? 0.5 : 0.75) * strength;
    return (layer) => {
      if (layer > state.layer) return null;
      if (state.edges === "plain") return [ink, ink, ink, alpha];
      const [r, g, b] = layerColour(layer, this.cells!.depth, state.dark);
      return [r / 255, g / 255, b / 255, Math.max(strength, 0.5)];
    };
  }

  // As in the plane: where regions are a few pixels wide, edges would hide all colours.
  private lineStrength(): number {
    const count = this.cells?.count ?? 1;
    const across = this.canvas.clientHeight / camera.distance / (count ** (1 / page.inputs) || 1);
    return across < 1.5 ? 0 : Math.min(1, across / 6);
  }

  private axes(): [Axis, Axis, Axis] {
    const axis = (k: number): Axis => ({
      name: page.axes[k],
      from: (page.low[k] - page.centre[k]) / page.scale, to: (page.high[k] - page.centre[k]) / page.scale,
      low: page.low[k], high: page.high[k],
    });
    if (page.inputs === 3) return [axis(0), axis(1), axis(2)];
    const { low, high } = this.heights;
    return [axis(0), axis(1), { name: `y${state.output + 1}`, from: -HEIGHT, to: HEIGHT, low, high }];
  }

  paint(pen: CanvasRenderingContext2D): void {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.matrix = camera.matrix(width / Math.max(1, height));
    this.scene.draw(this.options());
    const below = this.under.getContext("2d")!;
    below.setTransform(ratio(), 0, 0, ratio(), 0, 0);
    below.clearRect(0, 0, width, height);
    this.paintBox(below, pen);
    this.paintPlane(pen);
  }

  private at(point: readonly number[]): [number, number] {
    const [x, y] = camera.project(this.matrix, point, this.canvas.clientWidth, this.canvas.clientHeight);
    return [x, y];
  }

  private line(pen: CanvasRenderingContext2D, points: readonly (readonly number[])[]): void {
    pen.beginPath();
    for (const point of points) pen.lineTo(...this.at(point));
    pen.stroke();
  }

  // The three sides of the box behind everything, with a grid; numbers along edges in front.
  private paintBox(below: CanvasRenderingContext2D, pen: CanvasRenderingContext2D): void {
    const axes = this.axes();
    const eye = camera.eye;
    const far = axes.map(({ from, to }, k) => (eye[k] > (from + to) / 2 ? from : to));
    const near = axes.map(({ from, to }, k) => (far[k] === from ? to : from));
    const marks = axes.map(({ low, high }) => ticks(low, high, 5));
    const place = ({ from, to, low, high }: Axis, value: number): number =>
      from + ((to - from) * (value - low)) / (high - low || 1);
    below.lineWidth = 1;
    for (let k = 0; k < 3; k++) {
      const [i, j] = [(k + 1) % 3, (k + 2) % 3];
      const point = (a: number, b: number): number[] => {
        const result = [0, 0, 0];
        [result[k], result[i], result[j]] = [far[k], a, b];
        return result;
      };
      below.strokeStyle = state.dark ? "rgba(255,255,255,0.10)" : "rgba(20,24,40,0.09)";
      for (const value of marks[i].values) {
        const a = place(axes[i], value);
        this.line(below, [point(a, axes[j].from), point(a, axes[j].to)]);
      }
      for (const value of marks[j].values) {
        const b = place(axes[j], value);
        this.line(below, [point(axes[i].from, b), point(axes[i].to, b)]);
      }
      below.strokeStyle = state.dark ? "rgba(255,255,255,0.35)" : "rgba(20,24,40,0.35)";
      const [a, b, c, d] = [axes[i].from, axes[i].to, axes[j].from, axes[j].to];
      this.line(below, [point(a, c), point(b, c), point(b, d), point(a, d), point(a, c)]);
    }
    // Which edge has the numbers: at the bottom in front, and on the left.
    const ends: [number, number, number][] = [[0, near[1], far[2]], [near[0], 0, far[2]], [near[0], far[1], 0]];
    const other: [number, number, number] = [far[0], near[1], 0];
    if (this.at(other)[0] < this.at(ends[2])[0]) ends[2] = other;
    const centre = this.at([0, 0, (axes[2].from + axes[2].to) / 2]);
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const ink = state.dark ? "#b9bcc8" : "#555a66";
    const written: [number, number, number][] = []; // what would run into something written is left out
    for (let k = 0; k < 3; k++) {
      const edge = (a: number): number[] => ends[k].map((value, i) => (i === k ? a : value));
      const middle = this.at(edge((axes[k].from + axes[k].to) / 2));
      const away = Math.hypot(middle[0] - centre[0], middle[1] - centre[1]) || 1;
      const out = [(middle[0] - centre[0]) / away, (middle[1] - centre[1]) / away];
      pen.font = "600 12px system-ui, sans-serif";
      pen.fillStyle = state.dark ? "#e8e8ee" : "#1d1e26";
      const wide = pen.measureText(axes[k].name).width / 2 + 2;
      const nx = Math.max(wide, Math.min(pen.canvas.clientWidth - wide, middle[0] + 42 * out[0]));
      const ny = middle[1] + 32 * out[1];
      pen.fillText(axes[k].name, nx, ny);
      written.push([nx, ny, wide]);
      pen.font = "11px system-ui, sans-serif";
      pen.fillStyle = ink;
      for (const value of marks[k].values) {
        const at = this.at(edge(place(axes[k], value)));
        const [x, y, label] = [at[0] + 16 * out[0], at[1] + 14 * out[1], tickLabel(value, marks[k].step)];
        const half = pen.measureText(label).width / 2;
        const meets = ([px, py, w]: number[]): boolean => Math.abs(px - x) < w + half + 4 && Math.abs(py - y) < 11;
        if (written.some(meets)) continue;
        written.push([x, y, half]);
        pen.fillText(label, x, y);
      }
    }
  }

  private paintPlane(pen: CanvasRenderingContext2D): void {
    const k = state.cutAxis;
    if (k < 0) return;
    const axes = this.axes();
    const [i, j] = [(k + 1) % 3, (k + 2) % 3];
    const corners = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]].map(([a, b]) => {
      const point = [0, 0, 0];
      point[k] = this.cutPlace();
      point[i] = a ? axes[i].to : axes[i].from;
      point[j] = b ? axes[j].to : axes[j].from;
      return point;
    });
    pen.lineWidth = 1.5;
    pen.strokeStyle = state.dark ? "#8fb0ff" : "#2f5bd0";
    this.line(pen, corners);
  }

  /** The outline of a region, whatever is in front of it. */
  paintOutline(pen: CanvasRenderingContext2D, region: number, colour: string, width: number): void {
    pen.lineJoin = "round";
    const edges: (readonly (readonly number[])[])[] = this.cells instanceof Picture
      ? [this.surfaceOf(this.cells, region)]
      : this.cells instanceof Solid ? this.cells.outline(region, state.apart) : [];
    const halo = state.dark ? "rgba(0,0,0,0.7)" : "rgba(255,255,255,0.8)";
    for (const [extra, stroke] of [[2, halo], [0, colour]] as const) {
      pen.lineWidth = width + extra;
      pen.strokeStyle = stroke;
      for (const points of edges) this.line(pen, points);
    }
  }

  private surfaceOf(picture: Picture, region: number): number[][] {
    const map = picture.map(region);
    const at = 3 * state.output;
    const points = picture.polygon(region).map(([x, y]) => [
      (x - page.centre[0]) / page.scale, (y - page.centre[1]) / page.scale,
      this.height(map[at] * x + map[at + 1] * y + map[at + 2]),
    ]);
    return [...points, points[0]];
  }

  /** The data points, at the height of the surface. */
  paintPoint(pen: CanvasRenderingContext2D, point: readonly number[], fill: readonly [number, number, number]): void {
    const shown = point.map((value, k) => (value - page.centre[k]) / page.scale);
    const [x, y] = this.at(shown);
    pen.fillStyle = css([fill[0], fill[1], fill[2]]);
    pen.beginPath();
    pen.arc(x, y, 3, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }

  /** The region at a pixel, and the point of it that is seen there. */
  hit(sx: number, sy: number): Hit | null {
    const owner = this.scene.ownerAt(sx * ratio(), sy * ratio(), this.options());
    if (owner === 0 || !this.cells) return null;
    const region = owner - 1;
    const ray = camera.ray(sx, sy, this.canvas.clientWidth, this.canvas.clientHeight);
    const point = this.cells instanceof Solid
      ? this.cells.entry(region, camera.eye, ray, state.apart, this.plane())
      : this.onSurface(this.cells as Picture, region, ray);
    return point && { region, point };
  }

  private onSurface(picture: Picture, region: number, ray: readonly number[]): number[] | null {
    const map = picture.map(region).subarray(3 * state.output);
    const eye = camera.eye;
    const value = (p: readonly number[], one: number): number =>
      map[0] * (page.scale * p[0] + one * page.centre[0]) + map[1] * (page.scale * p[1] + one * page.centre[1]) +
      map[2] * one;
    // height(value(eye + t ray)) = (eye + t ray).z, both sides affine in t
    const factor = (2 * HEIGHT) / (this.heights.high - this.heights.low || 1);
    const start = eye[2] - this.height(value(eye, 1));
    const speed = ray[2] - factor * value(ray, 0);
    const t = -start / speed;
    if (!Number.isFinite(t)) return null;
    return [0, 1].map((k) => page.centre[k] + page.scale * (eye[k] + t * ray[k]));
  }
}
