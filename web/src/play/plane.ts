// One network's regions in the box, pixel by pixel; data and what is pointed at on a sheet above.
import { layerColour, oklch, patternPalette } from "../common/colours.ts";
import { packed, rampOf, Raster } from "./raster.ts";
import type { Description, Picture } from "./wire.ts";

export type Colouring = "decision" | "value" | "gradient" | "pattern" | "layer";

/** How planes are drawn; both alike. */
export interface Look {
  colouring: Colouring;
  /** Of the colouring by layers: the first so many. */
  layer: number;
  edges: "layers" | "plain" | "none";
  points: boolean;
  dark: boolean;
}

/** Of a hidden neuron: its number among all. */
export type Neuron = number | null;

const COLOURS = {
  light: {
    low: [47, 109, 180], middle: [246, 244, 239], high: [221, 120, 41], ink: [28, 33, 45], missing: [176, 182, 193],
  },
  dark: {
    low: [84, 148, 222], middle: [32, 35, 42], high: [232, 140, 66], ink: [236, 238, 243], missing: [92, 98, 110],
  },
};

/** Two lines over each other, seen on every colour. */
const rimmed = (dark: boolean, rim: number, line: number): [string, number][] =>
  [[dark ? "#000" : "#fff", rim], [dark ? "#fff" : "#101828", line]];

/** Near 0 steep, and never quite at its end. */
const soft = (t: number): number => Math.sign(t) * (1 - Math.exp(-1.2 * Math.abs(t)));

export class Plane {
  private readonly pen: CanvasRenderingContext2D;
  private raster: Raster | null = null;
  private ramps: { dark: boolean; value: Uint32Array; decision: Uint32Array } | null = null;
  private size = 1;
  picture: Picture | null = null;
  private about: Description | null = null;
  private layerOf: Uint8Array = new Uint8Array();
  private neuron: Neuron = null;
  private region = -1;
  /** Where the keyboard points. */
  private cross: [number, number] | null = null;
  /** Whether the sheet shows something else than it should; points alone stay from frame to frame. */
  private stale = true;

  constructor(readonly canvas: HTMLCanvasElement, readonly sheet: HTMLCanvasElement, public look: Look) {
    this.pen = canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
  }

  /** The network that frames are of. */
  describe(about: Description): void {
    this.about = about;
    const layers: number[] = [];
    about.widths.slice(1, -1).forEach((width, layer) => {
      for (let i = 0; i < width; i++) layers.push(layer + 1);
    });
    this.layerOf = Uint8Array.from(layers);
    this.neuron = null;
    this.region = -1;
    this.stale = true;
  }

  show(picture: Picture): void {
    this.picture = picture;
    this.stale ||= this.region >= 0 || this.neuron !== null;
    this.region = -1;
    this.size = this.strength();
    this.draw();
  }

  /** Highlight the boundary of a neuron, or none. */
  pointAtNeuron(neuron: Neuron): void {
    if (neuron === this.neuron) return;
    this.neuron = neuron;
    this.drawSheet();
  }

  /** Outline a region, or none (−1), and mark a place. */
  pointAtRegion(region: number, cross: [number, number] | null): void {
    if (region === this.region && !cross && !this.cross) return;
    this.region = region;
    this.cross = cross;
    this.drawSheet();
  }

  resize(): void {
    const scale = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.sheet]) {
      const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(canvas.clientHeight * scale)];
      if (canvas.width === width && canvas.height === height) continue;
      [canvas.width, canvas.height] = [width, height];
      this.stale = true;
    }
  }

  // --- regions --------------------------------------------------------------------------------

  /** The region at a point of the plane, −1 outside the box. */
  regionAt(x: number, y: number): number {
    if (!this.picture) return -1;
    const { corners, starts, counts } = this.picture;
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      let sign = 0;
      let inside = true;
      for (let i = from; inside && i < to; i++) {
        const j = i + 1 < to ? i + 1 : from;
        const side = (corners[2 * j] - corners[2 * i]) * (y - corners[2 * i + 1])
          - (corners[2 * j + 1] - corners[2 * i + 1]) * (x - corners[2 * i]);
        if (side === 0) continue;
        if (sign === 0) sign = Math.sign(side);
        inside = Math.sign(side) === sign;
      }
      if (inside && sign !== 0) return region;
    }
    return -1;
  }

  /** The active piece of every hidden neuron on a region. */
  pattern(region: number): Uint8Array {
    const { patterns, counts, bits } = this.picture!;
    const size = patterns.length / Math.max(1, counts.length);
    const pieces = new Uint8Array(this.layerOf.length);
    for (let neuron = 0; neuron < pieces.length; neuron++) {
      for (let bit = 0; bit < bits; bit++) {
        const at = neuron * bits + bit;
        pieces[neuron] |= ((patterns[region * size + (at >> 3)] >> (at & 7)) & 1) << bit;
      }
    }
    return pieces;
  }

  /** Plane coordinates of a place on the screen. */
  toPlane(clientX: number, clientY: number): [number, number] {
    const box = this.sheet.getBoundingClientRect();
    return this.at((clientX - box.left) / box.width, (clientY - box.top) / box.height);
  }

  /** Plane coordinates of a place in parts of the picture's sides, from above and from the left. */
  at(right: number, down: number): [number, number] {
    const { low, high } = this.about!;
    return [low[0] + right * (high[0] - low[0]), high[1] - down * (high[1] - low[1])];
  }

  /** A value that is large in this picture: seven of ten regions begin with a smaller one. */
  private strength(): number {
    const { corners, counts, starts, maps } = this.picture!;
    const sizes = new Float32Array(counts.length);
    for (let region = 0; region < counts.length; region++) {
      const [x, y] = [corners[2 * starts[region]], corners[2 * starts[region] + 1]];
      sizes[region] = Math.abs(maps[3 * region] * x + maps[3 * region + 1] * y + maps[3 * region + 2]);
    }
    sizes.sort();
    return Math.max(sizes[Math.floor(0.7 * (sizes.length - 1))] || 0, 1e-6);
  }

  /** A colour for every region; only what the colouring needs. */
  private colours(): Uint32Array {
    const { counts, maps, patterns, bits } = this.picture!;
    const colours = new Uint32Array(counts.length);
    if (this.look.colouring === "gradient") {
      const table = gradientTable(this.look.dark);
      let most = 1e-9;
      for (let i = 0; i < counts.length; i++) most = Math.max(most, Math.hypot(maps[3 * i], maps[3 * i + 1]));
      for (let i = 0; i < counts.length; i++) {
        const turn = Math.atan2(maps[3 * i + 1], maps[3 * i]) / (2 * Math.PI) + 1;
        const strength = Math.sqrt(Math.hypot(maps[3 * i], maps[3 * i + 1]) / most);
        colours[i] = table[64 * Math.min(15, Math.floor(16 * strength)) + (Math.floor(64 * turn) & 63)];
      }
    } else if (this.look.colouring === "pattern" || this.look.colouring === "layer") {
      const palette = new Uint32Array(patternPalette(this.look.dark).buffer);
      const size = patterns.length / Math.max(1, counts.length);
      const neurons = this.look.colouring === "pattern" ? this.layerOf.length
        : this.layerOf.filter((layer) => layer <= this.look.layer).length;
      const used = neurons * bits;
      for (let i = 0; i < counts.length; i++) {
        let hash = 2166136261;
        for (let k = 0; 8 * k < used; k++) {
          const mask = used >= 8 * k + 8 ? 255 : (1 << (used - 8 * k)) - 1;
          hash = Math.imul(hash ^ (patterns[i * size + k] & mask), 16777619);
        }
        colours[i] = palette[(hash ^ (hash >>> 15)) & 1023];
      }
    }
    return colours;
  }

  // --- drawing --------------------------------------------------------------------------------

  /** Colours and lines anew, for another look. */
  restyle(look: Look): void {
    this.look = look;
    this.stale = true;
    this.draw();
  }

  draw(): void {
    const { about, look, picture } = this;
    this.resize();
    const { width, height } = this.canvas;
    if (!about || !width || !picture) return;
    if (this.raster?.width !== width || this.raster.height !== height) this.raster = new Raster(width, height);
    const colours = COLOURS[look.dark ? "dark" : "light"];
    if (this.ramps?.dark !== look.dark) {
      const ramp = (rule: (t: number) => number) => rampOf(colours.low, colours.middle, colours.high, rule);
      this.ramps = { dark: look.dark, value: ramp(soft), decision: ramp((t) => 0.66 * Math.sign(t)) };
    }
    this.raster.clear(packed(picture.complete ? colours.middle : colours.missing)); // what is left out has no value
    this.paint(this.raster);
    this.pen.putImageData(this.raster.image, 0, 0);
    if (this.stale) this.drawSheet();
  }

  private paint(raster: Raster): void {
    const { about, look, picture, ramps } = this;
    const { corners, counts, starts, maps } = picture!;
    const { low, high } = about!;
    const [fx, fy] = [raster.width / (high[0] - low[0]), raster.height / (high[1] - low[1])];
    const screen = new Float64Array(corners.length);
    for (let i = 0; i < corners.length; i += 2) {
      screen[i] = (corners[i] - low[0]) * fx;
      screen[i + 1] = (high[1] - corners[i + 1]) * fy;
    }
    const flat = look.colouring !== "value" && look.colouring !== "decision" ? this.colours() : null;
    const ramp = look.colouring === "decision" ? ramps!.decision : ramps!.value;
    const ink = look.colouring === "layer" ? null : packed(COLOURS[look.dark ? "dark" : "light"].ink);
    for (let region = 0; region < counts.length; region++) {
      const [a, b, c] = [maps[3 * region], maps[3 * region + 1], maps[3 * region + 2]];
      raster.shade(
        screen.subarray(2 * starts[region], 2 * starts[region + 1]), counts[region],
        a / fx / this.size, -b / fy / this.size, (a * low[0] + b * high[1] + c) / this.size,
        ramp, flat ? flat[region] : -1, ink,
      );
    }
    this.paintEdges(raster, screen);
  }

  private paintEdges(raster: Raster, screen: Float64Array): void {
    const { look, about, layerOf } = this;
    const { counts, starts, sides } = this.picture!;
    const across = raster.width / Math.sqrt(Math.max(1, counts.length));
    if (look.edges === "none" || across < 2.5) return;
    const coloured = look.edges === "layers";
    const alpha = Math.min(1, across / 12) * (coloured ? 0.8 : 0.5);
    const depth = about!.widths.length - 2;
    const ink = packed(COLOURS[look.dark ? "dark" : "light"].ink);
    const table = Array.from({ length: depth + 1 }, (_, layer) =>
      coloured ? packed(layerColour(layer, depth, look.dark)) : ink);
    const shown = look.colouring === "layer" ? look.layer : depth;
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      for (let i = from; i < to; i++) {
        const layer = sides[i] < 0 ? 0 : layerOf[sides[i]];
        if (layer === 0 || layer > shown) continue;
        const j = i + 1 < to ? i + 1 : from;
        const [x1, y1, x2, y2] = [screen[2 * i], screen[2 * i + 1], screen[2 * j], screen[2 * j + 1]];
        // the regions on both sides have this line, in opposite directions: one of them draws it
        if (x1 < x2 || (x1 === x2 && y1 < y2)) raster.line(x1, y1, x2, y2, table[layer], alpha);
      }
    }
  }

  private drawSheet(): void {
    const { about, picture, look } = this;
    const pen = this.sheet.getContext("2d");
    if (!pen || !about || !picture) return;
    this.stale = false;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [this.sheet.width / scale, this.sheet.height / scale];
    const { low, high } = about;
    const x = (value: number) => ((value - low[0]) / (high[0] - low[0])) * width;
    const y = (value: number) => height - ((value - low[1]) / (high[1] - low[1])) * height;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.neuron !== null) {
      pen.save();
      this.drawNeuron(pen, x, y);
      pen.restore();
    }
    if (look.points) drawPoints(pen, about, x, y, look.dark);
    if (this.region >= 0) {
      // with a rim, as the line where the output is 0 is as dark
      for (const [colour, wide] of rimmed(look.dark, 5, 2)) {
        [pen.strokeStyle, pen.lineWidth] = [colour, wide];
        pen.stroke(this.path(this.region, x, y));
      }
    }
    if (this.cross) {
      const [px, py] = [x(this.cross[0]), y(this.cross[1])];
      for (const [colour, wide] of rimmed(look.dark, 4, 1.5)) {
        [pen.strokeStyle, pen.lineWidth] = [colour, wide];
        pen.stroke(new Path2D(`M${px - 9} ${py}h18M${px} ${py - 9}v18`));
      }
    }
  }

  private path(region: number, x: (v: number) => number, y: (v: number) => number): Path2D {
    const { corners, starts } = this.picture!;
    const path = new Path2D();
    for (let i = starts[region]; i < starts[region + 1]; i++) path.lineTo(x(corners[2 * i]), y(corners[2 * i + 1]));
    path.closePath();
    return path;
  }

  /** Where a neuron is active, and the bent line at which that changes. */
  private drawNeuron(pen: CanvasRenderingContext2D, x: (v: number) => number, y: (v: number) => number): void {
    const { corners, counts, starts, sides } = this.picture!;
    pen.fillStyle = this.look.dark ? "rgb(255 255 255 / 0.16)" : "rgb(16 24 40 / 0.13)";
    for (let region = 0; region < counts.length; region++) {
      if (this.pieceOf(region) > 0) pen.fill(this.path(region, x, y));
    }
    pen.strokeStyle = this.look.dark ? "#ffd166" : "#c01574";
    pen.lineWidth = 3;
    pen.lineCap = "round";
    pen.beginPath();
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      for (let i = from; i < to; i++) {
        if (sides[i] !== this.neuron) continue;
        const j = i + 1 < to ? i + 1 : from;
        pen.moveTo(x(corners[2 * i]), y(corners[2 * i + 1]));
        pen.lineTo(x(corners[2 * j]), y(corners[2 * j + 1]));
      }
    }
    pen.stroke();
  }

  private pieceOf(region: number): number {
    const { patterns, counts, bits } = this.picture!;
    const size = patterns.length / Math.max(1, counts.length);
    let piece = 0;
    for (let bit = 0; bit < bits; bit++) {
      const at = this.neuron! * bits + bit;
      piece |= ((patterns[region * size + (at >> 3)] >> (at & 7)) & 1) << bit;
    }
    return piece;
  }

  /** How many sides of regions the boundary of a neuron has. */
  boundaryLength(neuron: number): number {
    return this.picture ? this.picture.sides.filter((side) => side === neuron).length : 0;
  }

  // --- to keep --------------------------------------------------------------------------------

  /** As an SVG picture; regions have one colour each, that of their middle. */
  svg(side = 600): string {
    const { picture, about, look } = this;
    const { low, high } = about!;
    const { corners, counts, starts, maps } = picture!;
    const colours = this.colours();
    const bytes = new Uint8Array(colours.buffer);
    const paths: string[] = [];
    for (let region = 0; region < counts.length; region++) {
      let [mx, my] = [0, 0];
      const points: string[] = [];
      for (let i = starts[region]; i < starts[region + 1]; i++) {
        const [px, py] = [corners[2 * i], corners[2 * i + 1]];
        mx += px / counts[region];
        my += py / counts[region];
        const sx = ((px - low[0]) / (high[0] - low[0])) * side;
        const sy = side - ((py - low[1]) / (high[1] - low[1])) * side;
        points.push(`${sx.toFixed(2)},${sy.toFixed(2)}`);
      }
      const value = maps[3 * region] * mx + maps[3 * region + 1] * my + maps[3 * region + 2];
      const flat = look.colouring !== "decision" && look.colouring !== "value";
      const colour = flat ? [...bytes.slice(4 * region, 4 * region + 3)]
        : mixed(soft(look.colouring === "value" ? value / this.size : 0.9 * Math.sign(value)), look.dark);
      paths.push(`<path d="M${points.join("L")}Z" fill="rgb(${colour.join()})"/>`);
    }
    const stroke = look.edges === "none" ? "none" : look.dark ? "#eceef3" : "#1c212d";
    const dots: string[] = [];
    for (let i = 0; look.points && i < about!.points.length; i += 3) {
      const [px, py, label] = about!.points.slice(i, i + 3);
      const sx = ((px - low[0]) / (high[0] - low[0])) * side;
      const sy = side - ((py - low[1]) / (high[1] - low[1])) * side;
      const colour = mixed(1.1 * Math.max(-1, Math.min(1, label)), look.dark).join();
      dots.push(`<circle cx="${sx.toFixed(2)}" cy="${sy.toFixed(2)}" r="3.5" fill="rgb(${colour})" stroke="#fff"/>`);
    }
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 ${side} ${side}">`,
      `<g stroke="${stroke}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,
      ...paths, "</g>", ...dots, "</svg>",
    ].join("\n");
  }
}

function drawPoints(
  pen: CanvasRenderingContext2D, about: Description,
  x: (v: number) => number, y: (v: number) => number, dark: boolean,
): void {
  const { points } = about;
  let most = 1e-9;
  for (let i = 2; i < points.length; i += 3) most = Math.max(most, Math.abs(points[i]));
  const width = x(about.high[0]);
  const radius = Math.min(points.length > 1500 ? 2 : 3.5, 0.5 + width / 130);
  pen.lineWidth = Math.min(1, width / 300);
  for (let i = 0; i < points.length; i += 3) {
    pen.beginPath();
    pen.arc(x(points[i]), y(points[i + 1]), radius, 0, 2 * Math.PI);
    pen.fillStyle = `rgb(${mixed((1.15 * points[i + 2]) / most, dark).join(" ")})`;
    pen.fill();
    pen.strokeStyle = dark ? "#0d0f13" : "#fff";
    pen.stroke();
  }
}

function mixed(t: number, dark: boolean): number[] {
  const { low, middle, high } = COLOURS[dark ? "dark" : "light"];
  const end = t < 0 ? low : high;
  const s = Math.min(1.2, Math.abs(t));
  return middle.map((part, i) => Math.round(Math.max(0, Math.min(255, part + s * (end[i] - part)))));
}

/** 16 strengths of 64 directions. */
function gradientTable(dark: boolean): Uint32Array {
  const table = new Uint32Array(16 * 64);
  const bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < table.length; i++) {
    const [strength, turn] = [Math.floor(i / 64) / 15, ((i % 64) / 64) * 2 * Math.PI];
    const lightness = dark ? 0.24 + 0.42 * strength : 0.96 - 0.3 * strength;
    bytes.set([...oklch(lightness, 0.02 + 0.13 * strength, turn), 255], 4 * i);
  }
  return table;
}
