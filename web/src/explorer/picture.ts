// One picture: the regions of one network, and everything that can be asked about them.
import { layerColour, patternPalette } from "../common/colours.ts";
import type { Arrays, Numbers, Point } from "../common/data.ts";
import { Network, PatternTable } from "../common/network.ts";
import type { PageFacts, PictureFacts } from "./state.ts";

/** A neuron whose boundary a side lies on. */
export interface Bend {
  layer: number;
  index: number;
  bend: number;
}

/** A side of a region: the region behind it (or -1) and all neurons that change there. */
export interface Facet {
  behind: number;
  neurons: Bend[];
}

/** Colours or numbers, one for each corner; numbers with their range. */
export interface Shades {
  colours?: Uint32Array<ArrayBuffer>;
  values?: Float32Array<ArrayBuffer>;
  low?: number;
  high?: number;
  logarithmic?: boolean;
}

/** What shades depend on. */
export interface ShadeOptions {
  layer: number;
  output: number;
  dark: boolean;
}

type Segment = [Point, Point];

export class Picture {
  readonly count: number;
  readonly depth: number;
  readonly centre: Point;
  readonly scale: number;
  readonly corners: Float32Array<ArrayBuffer>;
  readonly sides: Numbers;
  readonly areas: Numbers;
  readonly lineLayer: Numbers;
  readonly lineIndex: Numbers;
  readonly lineBend: Numbers;
  readonly starts: Uint32Array;
  readonly behind: Int32Array;
  readonly network: Network;
  readonly table: PatternTable;
  private allMaps: Numbers | null;
  private boundary: number[] | null = null;

  constructor(page: PageFacts, readonly about: PictureFacts, arrays: Arrays) {
    this.count = about.regions;
    this.depth = about.widths.length;
    this.centre = page.centre;
    this.scale = page.scale;
    this.corners = arrays.corners as Float32Array<ArrayBuffer>;
    this.sides = arrays.sides;
    this.areas = arrays.areas;
    this.lineLayer = arrays.lineLayer;
    this.lineIndex = arrays.lineIndex;
    this.lineBend = arrays.lineBend;
    this.starts = new Uint32Array(this.count + 1);
    for (let i = 0; i < this.count; i++) this.starts[i + 1] = this.starts[i] + arrays.counts[i];
    this.behind = new Int32Array(this.sides.length);
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) {
        this.behind[c] = arrays.neighbours[c] === 0 ? -1 : i + arrays.neighbours[c];
      }
    }
    this.network = new Network(about, arrays);
    this.allMaps = arrays.maps ?? null;
    this.table = new PatternTable(arrays.patterns, this.count, this.network.neurons, about.bits);
  }

  // --- where is it? ---

  /** The region of a point, or -1: the network says which pattern it has there. */
  locate(x: number, y: number): number {
    const tiny = 1e-9 * this.scale;
    for (const [dx, dy] of [[0, 0], [1, 0.3], [-1, -0.3], [-0.3, 1], [0.3, -1]]) {
      const region = this.table.find(this.network.patternAt(x + dx * tiny, y + dy * tiny));
      if (region >= 0 && this.near(region, x, y)) return region;
    }
    return -1;
  }

  /** Whether a point is in the drawn polygon, up to the rounding of its corners. */
  near(region: number, x: number, y: number): boolean {
    const polygon = this.polygon(region);
    let sign = 0;
    for (let k = 0; k < polygon.length; k++) {
      const [ax, ay] = polygon[k];
      const [bx, by] = polygon[(k + 1) % polygon.length];
      const length = Math.hypot(bx - ax, by - ay);
      const side = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / (length || 1);
      if (Math.abs(side) <= 1e-6 * this.scale) continue;
      if (sign && Math.sign(side) !== sign) return false;
      sign = Math.sign(side);
    }
    return true;
  }

  polygon(region: number): Point[] {
    const points: Point[] = [];
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      points.push([
        this.centre[0] + this.scale * this.corners[2 * c],
        this.centre[1] + this.scale * this.corners[2 * c + 1],
      ]);
    }
    return points;
  }

  middle(region: number): Point {
    const points = this.polygon(region);
    const sum = points.reduce(([x, y], [px, py]) => [x + px, y + py], [0, 0]);
    return [sum[0] / points.length, sum[1] / points.length];
  }

  // --- what is it? ---

  pattern(region: number): Uint8Array {
    return this.table.unpack(region);
  }

  neighbours(region: number): number[] {
    const found = new Set(this.behind.subarray(this.starts[region], this.starts[region + 1]));
    found.delete(-1);
    return [...found];
  }

  /** Every side with the region behind it and all neurons that change there. */
  facets(region: number): Facet[] {
    const mine = this.pattern(region);
    const facets: Facet[] = [];
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      const line = this.sides[c];
      const facet: Facet = { behind: this.behind[c], neurons: [] };
      if (this.lineLayer[line] > 0) {
        const own = { layer: this.lineLayer[line], index: this.lineIndex[line], bend: this.lineBend[line] };
        facet.neurons.push(own);
        if (facet.behind >= 0) this.addOthers(facet, mine, own);
      }
      facets.push(facet);
    }
    return facets;
  }

  private addOthers(facet: Facet, mine: Uint8Array, own: Bend): void {
    const other = this.pattern(facet.behind);
    for (let k = 0; k < this.depth; k++) {
      const start = this.network.starts[k];
      for (let i = 0; i < this.network.widths[k]; i++) {
        const known = k + 1 === own.layer && i === own.index;
        if (!known && mine[start + i] !== other[start + i]) {
          const bend = Math.min(mine[start + i], other[start + i]);
          facet.neurons.push({ layer: k + 1, index: i, bend });
        }
      }
    }
  }

  /** The affine map in float64: outputs × (x1, x2, 1). */
  map(region: number): Float64Array {
    return this.network.mapper()(this.pattern(region));
  }

  /**
   * All maps, outputs × 3 numbers a region: stored in float32 if the network has few outputs, else
   * worked out when first needed.
   */
  get maps(): Numbers {
    if (!this.allMaps) {
      const size = 3 * this.network.outputs;
      const maps = new Float64Array(this.count * size);
      const mapper = this.network.mapper();
      const pattern = new Uint8Array(this.network.neurons);
      for (let i = 0; i < this.count; i++) {
        maps.set(mapper(this.table.unpack(i, pattern)), i * size);
      }
      this.allMaps = maps;
    }
    return this.allMaps;
  }

  valueAt(region: number, output: number, x: number, y: number): number {
    const at = 3 * (region * this.network.outputs + output);
    return this.maps[at] * x + this.maps[at + 1] * y + this.maps[at + 2];
  }

  // --- how is it drawn? ---

  shades(mode: string, { layer, output, dark }: ShadeOptions): Shades {
    if (mode === "pattern") {
      const palette = new Uint32Array(patternPalette(dark).buffer);
      const neurons = layer ? this.network.starts[layer - 1] + this.network.widths[layer - 1] : 0;
      return { colours: this.perCorner(Uint32Array, (i) => palette[this.table.prefixHash(i, neurons) & 1023]) };
    }
    if (mode === "bends") {
      const words = new Uint32Array(this.depth + 1);
      const bytes = new Uint8Array(words.buffer);
      for (let k = 0; k <= this.depth; k++) bytes.set([...layerColour(k, this.depth, dark), 255], 4 * k);
      return { colours: this.perCorner(Uint32Array, (i) => words[this.firstLayer(i)]) };
    }
    if (mode === "value") {
      return ranged(this.perCorner(Float32Array, (i, c) => this.valueAt(
        i, output,
        this.centre[0] + this.scale * this.corners[2 * c],
        this.centre[1] + this.scale * this.corners[2 * c + 1],
      )));
    }
    if (mode === "gradient") {
      const at = (i: number): number => 3 * (i * this.network.outputs + output);
      return ranged(this.perCorner(Float32Array, (i) => Math.hypot(this.maps[at(i)], this.maps[at(i) + 1])));
    }
    // area, on a logarithmic scale
    return { ...ranged(this.perCorner(Float32Array, (i) => Math.log10(this.areas[i]))), logarithmic: true };
  }

  private perCorner<T extends Uint32Array<ArrayBuffer> | Float32Array<ArrayBuffer>>(
    Type: new (length: number) => T, f: (region: number, corner: number) => number,
  ): T {
    const result = new Type(this.sides.length);
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) result[c] = f(i, c);
    }
    return result;
  }

  /** The first layer that has a line on the region's boundary; 0 if there is only the domain's. */
  firstLayer(region: number): number {
    let first = Infinity;
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      const layer = this.lineLayer[this.sides[c]];
      if (layer > 0 && layer < first) first = layer;
    }
    return first === Infinity ? 0 : first;
  }

  /** Fans of triangles, as indices of corners. */
  triangles(): Uint32Array<ArrayBuffer> {
    const result = new Uint32Array(3 * (this.sides.length - 2 * this.count));
    let at = 0;
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i] + 1; c + 1 < this.starts[i + 1]; c++) {
        result[at++] = this.starts[i];
        result[at++] = c;
        result[at++] = c + 1;
      }
    }
    return result;
  }

  /** Sides as pairs of corners, each drawn once, layer after layer; `ends[k]`: up to layer k. */
  edges(): { pairs: Uint32Array<ArrayBuffer>; ends: Uint32Array } {
    const ends = new Uint32Array(this.depth + 1);
    const drawn = (i: number, c: number): boolean => this.behind[c] < 0 || this.behind[c] > i;
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) {
        if (drawn(i, c)) ends[this.lineLayer[this.sides[c]]]++;
      }
    }
    const next = new Uint32Array(this.depth + 1);
    for (let k = 1; k <= this.depth; k++) {
      next[k] = ends[k - 1];
      ends[k] += ends[k - 1];
    }
    const pairs = new Uint32Array(2 * ends[this.depth]);
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) {
        if (!drawn(i, c)) continue;
        const at = 2 * next[this.lineLayer[this.sides[c]]]++;
        pairs[at] = c;
        pairs[at + 1] = c + 1 < this.starts[i + 1] ? c + 1 : this.starts[i];
      }
    }
    return { pairs, ends };
  }

  /** Where the sign of the only output changes, or the largest of several: [x1, y1, x2, y2, …]. */
  get decisionBoundary(): number[] {
    if (!this.boundary) {
      const found: number[] = [];
      for (let i = 0; i < this.count; i++) this.addDecisions(i, found);
      this.boundary = found;
    }
    return this.boundary;
  }

  private addDecisions(region: number, found: number[]): void {
    const outputs = this.network.outputs;
    const polygon = this.polygon(region);
    const at = (k: number, [x, y]: Point): number => this.valueAt(region, k, x, y);
    for (let a = 0; a < outputs; a++) {
      for (let b = a + 1; b < Math.max(outputs, 2); b++) {
        const difference = (p: Point): number => at(a, p) - (outputs > 1 ? at(b, p) : 0);
        let ends = crossings(polygon, difference);
        for (let c = 0; ends && c < outputs; c++) {
          if (c !== a && c !== b) ends = clip(ends, (p) => at(a, p) - at(c, p));
        }
        if (ends) found.push(...ends[0], ...ends[1]);
      }
    }
  }
}

/** The two points of a convex polygon's boundary where an affine function is 0, or null. */
function crossings(polygon: Point[], f: (p: Point) => number): Segment | null {
  const found: Point[] = [];
  for (let k = 0; k < polygon.length; k++) {
    const p = polygon[k];
    const q = polygon[(k + 1) % polygon.length];
    const [fp, fq] = [f(p), f(q)];
    if (fp > 0 !== fq > 0) found.push(between(p, q, fp / (fp - fq)));
  }
  return found.length === 2 ? [found[0], found[1]] : null;
}

/** The part of a segment where an affine function is not negative, or null. */
function clip([p, q]: Segment, f: (p: Point) => number): Segment | null {
  const [fp, fq] = [f(p), f(q)];
  if (fp < 0 && fq < 0) return null;
  if (fp >= 0 && fq >= 0) return [p, q];
  const middle = between(p, q, fp / (fp - fq));
  return fp < 0 ? [middle, q] : [p, middle];
}

function between(p: Point, q: Point, t: number): Point {
  return [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
}

function ranged(values: Float32Array<ArrayBuffer>): Shades {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low <= high ? { values, low, high } : { values, low: 0, high: 1 };
}
