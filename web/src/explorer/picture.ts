// The regions of one network with two inputs: polygons, and how they are coloured.
import type { Arrays, Point } from "../common/data.ts";
import { Cells, ranged, type ShadeOptions, type Shades, startsOf } from "./cells.ts";
import type { PageFacts, PictureFacts } from "./state.ts";

type Segment = [Point, Point];

export class Picture extends Cells {
  readonly corners: Float32Array<ArrayBuffer>;
  /** Where the corners of a region begin; the facet that starts at a corner has the same number. */
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly facetStarts: Uint32Array<ArrayBuffer>;
  private boundary: number[] | null = null;

  constructor(page: PageFacts, about: PictureFacts, arrays: Arrays) {
    super(page, about, arrays, arrays.counts);
    this.corners = arrays.corners as Float32Array<ArrayBuffer>;
    this.starts = this.facetStarts = startsOf(arrays.counts);
  }

  // --- where is it? ---

  /** The region of a point, or -1: the network says which pattern it has there. */
  locate([x, y]: readonly number[]): number {
    const tiny = 1e-9 * this.scale;
    for (const [dx, dy] of [[0, 0], [1, 0.3], [-1, -0.3], [-0.3, 1], [0.3, -1]]) {
      const region = this.table.find(this.network.patternAt([x + dx * tiny, y + dy * tiny]));
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
      points.push(this.corner(c));
    }
    return points;
  }

  middle(region: number): Point {
    const points = this.polygon(region);
    const sum = points.reduce(([x, y], [px, py]) => [x + px, y + py], [0, 0]);
    return [sum[0] / points.length, sum[1] / points.length];
  }

  // --- how is it drawn? ---

  shades(mode: string, options: ShadeOptions): Shades {
    const shader = this.shader(mode, options);
    const { colour, value, logarithmic } = shader;
    if (colour) return { colours: this.perCorner(Uint32Array, colour), low: 0, high: 1 };
    const flat = shader.flat ? this.perRegion(value!) : null;
    const values = this.perCorner(Float32Array, (i, c) => (flat ? flat[i] : value!(i, this.corner(c))));
    return { ...ranged(values), logarithmic };
  }

  private perRegion(value: (region: number, point: number[]) => number): Float64Array {
    return Float64Array.from({ length: this.count }, (_, i) => value(i, []));
  }

  /** The value of an output at every corner. */
  heights(output: number): Float32Array<ArrayBuffer> {
    return this.perCorner(Float32Array, (i, c) => this.valueAt(i, output, this.corner(c)));
  }

  corner(c: number): Point {
    return [
      this.centre[0] + this.scale * this.corners[2 * c],
      this.centre[1] + this.scale * this.corners[2 * c + 1],
    ];
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

  /** The bent boundary of a neuron: [x1, y1, x2, y2, …]. */
  boundaryOf(layer: number, index: number): number[] {
    const found: number[] = [];
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) {
        const line = this.sides[c];
        if (this.lineLayer[line] !== layer || this.lineIndex[line] !== index) continue;
        const next = c + 1 < this.starts[i + 1] ? c + 1 : this.starts[i];
        found.push(...this.corner(c), ...this.corner(next));
      }
    }
    return found;
  }

  private addDecisions(region: number, found: number[]): void {
    const outputs = this.network.outputs;
    const polygon = this.polygon(region);
    const at = (k: number, point: Point): number => this.valueAt(region, k, point);
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
