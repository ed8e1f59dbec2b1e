// The regions of one network with three inputs: polyhedra, and what a plane shows of them when it cuts them.
import type { Arrays, Numbers } from "../common/data.ts";
import { Cells, type Shader, startsOf } from "./cells.ts";
import type { Batch } from "./scene.ts";
import type { PageFacts, PictureFacts } from "./state.ts";

/** Vertices of a batch while it grows. */
class Growing {
  private readonly positions: number[] = [];
  private readonly colours: number[] = [];
  private readonly values: number[] = [];
  private readonly owners: number[] = [];
  readonly triangles: number[] = [];
  private readonly lines: number[][] = [];

  constructor(private readonly cells: Solid, private readonly shader: Shader) {}

  /** A vertex at a point of the scene that shows a point of a region. */
  add(region: number, shown: readonly number[], point: number[]): number {
    this.positions.push(shown[0], shown[1], shown[2]);
    this.colours.push(this.shader.colour?.(region) ?? 0);
    if (this.shader.value) this.values.push(this.shader.value(region, this.cells.absolute(point)));
    this.owners.push(region + 1);
    return this.owners.length - 1;
  }

  /** An edge, of a layer. */
  addLine(layer: number, from: number, to: number): void {
    while (this.lines.length <= layer) this.lines.push([]);
    this.lines[layer].push(from, to);
  }

  batch(cut: boolean): Batch {
    let pairs = 0;
    return {
      positions: Float32Array.from(this.positions),
      colours: Uint32Array.from(this.colours),
      values: this.shader.value ? Float32Array.from(this.values) : undefined,
      owners: Uint32Array.from(this.owners),
      triangles: Uint32Array.from(this.triangles),
      lines: Uint32Array.from(this.lines.flat()),
      lineEnds: this.lines.map((lines) => (pairs += lines.length / 2)),
      cut,
    };
  }
}

export class Solid extends Cells {
  /** Corners relative to the frame, in the cube from -1 to 1. */
  readonly corners: Float32Array<ArrayBuffer>;
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly facetStarts: Uint32Array<ArrayBuffer>;
  private readonly faceStarts: Uint32Array<ArrayBuffer>;
  private readonly faceCorners: Numbers;
  private readonly middles: Float32Array;

  constructor(page: PageFacts, about: PictureFacts, arrays: Arrays) {
    super(page, about, arrays, arrays.facetCounts);
    this.corners = arrays.corners as Float32Array<ArrayBuffer>;
    this.starts = startsOf(arrays.counts);
    this.facetStarts = startsOf(arrays.facetCounts);
    this.faceStarts = startsOf(arrays.faceSizes);
    this.faceCorners = arrays.faceCorners;
    this.middles = new Float32Array(3 * this.count);
    for (let i = 0; i < this.count; i++) {
      const corners = this.starts[i + 1] - this.starts[i];
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) {
        for (let k = 0; k < 3; k++) this.middles[3 * i + k] += this.corners[3 * c + k] / corners;
      }
    }
  }

  /** From the cube to the input space. */
  absolute(point: readonly number[]): number[] {
    return point.map((value, k) => this.centre[k] + this.scale * value);
  }

  relative(point: readonly number[]): number[] {
    return point.map((value, k) => (value - this.centre[k]) / this.scale);
  }

  private corner(c: number): number[] {
    return [this.corners[3 * c], this.corners[3 * c + 1], this.corners[3 * c + 2]];
  }

  middle(region: number): number[] {
    return this.absolute([...this.middles.subarray(3 * region, 3 * region + 3)]);
  }

  locate(point: readonly number[]): number {
    const tiny = 1e-9 * this.scale;
    for (const [dx, dy, dz] of [[0, 0, 0], [1, 0.3, 0.5], [-1, -0.3, -0.5], [-0.3, 1, 0.4], [0.3, -1, -0.4]]) {
      const near = [point[0] + dx * tiny, point[1] + dy * tiny, point[2] + dz * tiny];
      const region = this.table.find(this.network.patternAt(near));
      if (region >= 0 && this.near(region, this.relative(point))) return region;
    }
    return -1;
  }

  /** Whether a point of the cube is in the polyhedron, up to the rounding of its corners. */
  private near(region: number, point: number[]): boolean {
    const middle = [...this.middles.subarray(3 * region, 3 * region + 3)];
    for (let f = this.facetStarts[region]; f < this.facetStarts[region + 1]; f++) {
      const corners = this.face(region, f);
      if (corners.length < 3) continue;
      const normal = normalOf(corners);
      const inside = dot(normal, minus(middle, corners[0]));
      const side = dot(normal, minus(point, corners[0]));
      if (side * Math.sign(inside) < -1e-6) return false;
    }
    return true;
  }

  /** The corners of a facet, in order around it. */
  private face(region: number, facet: number): number[][] {
    const corners: number[][] = [];
    for (let k = this.faceStarts[facet]; k < this.faceStarts[facet + 1]; k++) {
      corners.push(this.corner(this.starts[region] + this.faceCorners[k]));
    }
    return corners;
  }

  /** Where a point of a region is drawn if cells are apart. */
  private moved(region: number, point: readonly number[], apart: number): number[] {
    const size = 1 - 0.55 * apart;
    return point.map((value, k) => {
      const middle = this.middles[3 * region + k];
      return middle + size * (value - middle);
    });
  }

  /** The edges of a region, as they are drawn: pairs of points. */
  outline(region: number, apart: number): [number[], number[]][] {
    const edges: [number[], number[]][] = [];
    for (let f = this.facetStarts[region]; f < this.facetStarts[region + 1]; f++) {
      const corners = this.face(region, f).map((corner) => this.moved(region, corner, apart));
      corners.forEach((corner, k) => edges.push([corner, corners[(k + 1) % corners.length]]));
    }
    return edges;
  }

  /** Where a ray of the scene enters a region as it is drawn and cut: a point of the input space, or null. */
  entry(
    region: number, eye: readonly number[], ray: readonly number[], apart: number, plane: readonly number[] | null,
  ): number[] | null {
    const middle = [...this.middles.subarray(3 * region, 3 * region + 3)];
    let [first, last] = [0, Infinity];
    const within = (normal: readonly number[], limit: number): void => {
      const [start, speed] = [dot(normal, eye), dot(normal, ray)];
      if (speed < 0) first = Math.max(first, (limit - start) / speed);
      else if (speed > 0) last = Math.min(last, (limit - start) / speed);
    };
    for (let f = this.facetStarts[region]; f < this.facetStarts[region + 1]; f++) {
      const corners = this.face(region, f).map((corner) => this.moved(region, corner, apart));
      if (corners.length < 3) continue;
      const normal = normalOf(corners);
      const outwards = dot(normal, minus(middle, corners[0])) > 0 ? normal.map((v) => -v) : normal;
      within(outwards, dot(outwards, corners[0]));
    }
    if (plane) within(plane, plane[3]);
    if (!Number.isFinite(first) || first > last + 1e-6) return null;
    const size = 1 - 0.55 * apart;
    const inside = middle.map((value, k) => value + (eye[k] + first * ray[k] - value) / size);
    return this.absolute(inside);
  }

  /** For every edge of a region the layer that made it: the last one of its two facets'. */
  private edgeLayers(region: number): Map<number, number> {
    const layers = new Map<number, number>();
    for (let f = this.facetStarts[region]; f < this.facetStarts[region + 1]; f++) {
      const [start, end] = [this.faceStarts[f], this.faceStarts[f + 1]];
      const layer = this.lineLayer[this.sides[f]];
      for (let k = start; k < end; k++) {
        const edge = edgeKey(this.faceCorners[k], this.faceCorners[k + 1 < end ? k + 1 : start]);
        layers.set(edge, Math.max(layer, layers.get(edge) ?? 0));
      }
    }
    return layers;
  }

  /** The facets that can be seen: all if cells are apart, else those on the outside. */
  faces(shader: Shader, apart: number): Batch {
    const growing = new Growing(this, shader);
    for (let i = 0; i < this.count; i++) {
      const layers = this.edgeLayers(i);
      for (let f = this.facetStarts[i]; f < this.facetStarts[i + 1]; f++) {
        if (apart === 0 && this.behind[f] >= 0) continue;
        const rows = this.face(i, f).map((corner) => growing.add(i, this.moved(i, corner, apart), corner));
        for (let k = 1; k + 1 < rows.length; k++) growing.triangles.push(rows[0], rows[k], rows[k + 1]);
        const start = this.faceStarts[f];
        rows.forEach((row, k) => {
          const next = (k + 1) % rows.length;
          const layer = layers.get(edgeKey(this.faceCorners[start + k], this.faceCorners[start + next])) ?? 0;
          growing.addLine(layer, row, rows[next]);
        });
      }
    }
    return growing.batch(true);
  }

  /** What a plane shows of the cells: points with one coordinate (of the cube) at a value. */
  caps(shader: Shader, apart: number, axis: number, at: number): Batch {
    const growing = new Growing(this, shader);
    for (let i = 0; i < this.count; i++) {
      if (this.straddles(i, apart, axis, at)) this.addCap(growing, i, apart, axis, at);
    }
    return growing.batch(false);
  }

  private straddles(region: number, apart: number, axis: number, at: number): boolean {
    const size = 1 - 0.55 * apart;
    const middle = this.middles[3 * region + axis];
    let [below, above] = [false, false];
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      if (middle + size * (this.corners[3 * c + axis] - middle) <= at) below = true;
      else above = true;
    }
    return below && above;
  }

  // Each facet that the plane crosses gives one side of a convex polygon.
  private addCap(growing: Growing, region: number, apart: number, axis: number, at: number): void {
    const sides: [number[], number[], number][] = [];
    for (let f = this.facetStarts[region]; f < this.facetStarts[region + 1]; f++) {
      const ends: number[][] = [];
      const corners = this.face(region, f);
      corners.forEach((p, k) => {
        const q = corners[(k + 1) % corners.length];
        const [a, b] = [this.moved(region, p, apart)[axis], this.moved(region, q, apart)[axis]];
        if (a <= at === b <= at) return;
        const t = (at - a) / (b - a);
        ends.push(p.map((value, j) => value + t * (q[j] - value)));
      });
      if (ends.length === 2) sides.push([ends[0], ends[1], this.lineLayer[this.sides[f]]]);
    }
    if (sides.length < 3) return;
    const middle = [0, 1, 2].map((k) => sides.reduce((sum, [p]) => sum + p[k], 0) / sides.length);
    const add = (point: number[]): number => growing.add(region, this.moved(region, point, apart), point);
    const hub = add(middle);
    for (const [p, q, layer] of sides) {
      const [a, b] = [add(p), add(q)];
      growing.triangles.push(hub, a, b);
      growing.addLine(layer, a, b);
    }
  }
}

/** A name for an edge, whichever of its ends comes first. */
function edgeKey(a: number, b: number): number {
  return Math.min(a, b) * 0x10000 + Math.max(a, b);
}

function minus(p: readonly number[], q: readonly number[]): number[] {
  return [p[0] - q[0], p[1] - q[1], p[2] - q[2]];
}

function dot(p: readonly number[], q: readonly number[]): number {
  return p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
}

// Newell's: also right if three corners are almost on a line.
function normalOf(corners: number[][]): number[] {
  const normal = [0, 0, 0];
  corners.forEach((p, k) => {
    const q = corners[(k + 1) % corners.length];
    normal[0] += (p[1] - q[1]) * (p[2] + q[2]);
    normal[1] += (p[2] - q[2]) * (p[0] + q[0]);
    normal[2] += (p[0] - q[0]) * (p[1] + q[1]);
  });
  const length = Math.hypot(normal[0], normal[1], normal[2]) || 1;
  return normal.map((value) => value / length);
}
