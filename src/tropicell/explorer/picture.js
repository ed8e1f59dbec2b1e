// One picture: the regions of one network, and everything that can be asked about them.
import { layerColour, patternPalette } from "./colours.js";
import { Network, PatternTable } from "./network.js";

export class Picture {
  constructor(page, about, arrays) {
    this.about = about;
    this.count = about.regions;
    this.depth = about.widths.length;
    this.centre = page.centre;
    this.scale = page.scale;
    Object.assign(this, {
      corners: arrays.corners, sides: arrays.sides, areas: arrays.areas,
      lineLayer: arrays.lineLayer, lineIndex: arrays.lineIndex, lineBend: arrays.lineBend,
    });
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

  // The region of a point, or -1: the network says which pattern it has there.
  locate(x, y) {
    const tiny = 1e-9 * this.scale;
    for (const [dx, dy] of [[0, 0], [1, 0.3], [-1, -0.3], [-0.3, 1], [0.3, -1]]) {
      const region = this.table.find(this.network.patternAt(x + dx * tiny, y + dy * tiny));
      if (region >= 0 && this.near(region, x, y)) return region;
    }
    return -1;
  }

  // Whether a point is in the drawn polygon, up to the rounding of its corners.
  near(region, x, y) {
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

  polygon(region) {
    const points = [];
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      points.push([
        this.centre[0] + this.scale * this.corners[2 * c],
        this.centre[1] + this.scale * this.corners[2 * c + 1],
      ]);
    }
    return points;
  }

  middle(region) {
    const points = this.polygon(region);
    const sum = points.reduce(([x, y], [px, py]) => [x + px, y + py], [0, 0]);
    return [sum[0] / points.length, sum[1] / points.length];
  }

  // --- what is it? ---

  pattern(region) {
    return this.table.unpack(region);
  }

  neighbours(region) {
    const found = new Set(this.behind.subarray(this.starts[region], this.starts[region + 1]));
    found.delete(-1);
    return [...found];
  }

  // Every side with the region behind it and all neurons that change there.
  facets(region) {
    const mine = this.pattern(region);
    const facets = [];
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      const line = this.sides[c];
      const facet = { behind: this.behind[c], neurons: [] };
      if (this.lineLayer[line] > 0) {
        const own = { layer: this.lineLayer[line], index: this.lineIndex[line], bend: this.lineBend[line] };
        facet.neurons.push(own);
        if (facet.behind >= 0) this.addOthers(facet, mine, own);
      } else {
        facet.domain = this.lineIndex[line];
      }
      facets.push(facet);
    }
    return facets;
  }

  addOthers(facet, mine, own) {
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

  map(region) {
    return this.network.mapper()(this.pattern(region));
  }

  // All maps, outputs × 3 numbers a region: stored in float32 if the network has few outputs, else
  // worked out when first needed.
  get maps() {
    if (!this.allMaps) {
      const size = 3 * this.network.outputs;
      this.allMaps = new Float64Array(this.count * size);
      const mapper = this.network.mapper();
      const pattern = new Uint8Array(this.network.neurons);
      for (let i = 0; i < this.count; i++) {
        this.allMaps.set(mapper(this.table.unpack(i, pattern)), i * size);
      }
    }
    return this.allMaps;
  }

  valueAt(region, output, x, y) {
    const at = 3 * (region * this.network.outputs + output);
    return this.maps[at] * x + this.maps[at + 1] * y + this.maps[at + 2];
  }

  // --- how is it drawn? ---

  // Colours (bytes) or numbers (with their range), one for each corner.
  shades(mode, { layer, output, dark }) {
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
      const at = (i) => 3 * (i * this.network.outputs + output);
      return ranged(this.perCorner(Float32Array, (i) => Math.hypot(this.maps[at(i)], this.maps[at(i) + 1])));
    }
    // area, on a logarithmic scale
    return { ...ranged(this.perCorner(Float32Array, (i) => Math.log10(this.areas[i]))), logarithmic: true };
  }

  perCorner(Type, f) {
    const result = new Type(this.sides.length);
    for (let i = 0; i < this.count; i++) {
      for (let c = this.starts[i]; c < this.starts[i + 1]; c++) result[c] = f(i, c);
    }
    return result;
  }

  // The first layer that has a line on the region's boundary; 0 if there is only the domain's.
  firstLayer(region) {
    let first = Infinity;
    for (let c = this.starts[region]; c < this.starts[region + 1]; c++) {
      const layer = this.lineLayer[this.sides[c]];
      if (layer > 0 && layer < first) first = layer;
    }
    return first === Infinity ? 0 : first;
  }

  // Fans of triangles, as indices of corners.
  triangles() {
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

  // Sides as pairs of corners, each drawn once, layer after layer; `ends[k]`: up to layer k.
  edges() {
    const ends = new Uint32Array(this.depth + 1);
    const drawn = (i, c) => this.behind[c] < 0 || this.behind[c] > i;
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

  // Where the sign of the only output changes, or the largest of several: [x1, y1, x2, y2, …].
  get decisionBoundary() {
    if (!this.boundary) {
      this.boundary = [];
      for (let i = 0; i < this.count; i++) this.addDecisions(i);
    }
    return this.boundary;
  }

  addDecisions(region) {
    const outputs = this.network.outputs;
    const polygon = this.polygon(region);
    const at = (k, [x, y]) => this.valueAt(region, k, x, y);
    for (let a = 0; a < outputs; a++) {
      for (let b = a + 1; b < Math.max(outputs, 2); b++) {
        const difference = (p) => at(a, p) - (outputs > 1 ? at(b, p) : 0);
        let ends = crossings(polygon, difference);
        for (let c = 0; ends && c < outputs; c++) {
          if (c !== a && c !== b) ends = clip(ends, (p) => at(a, p) - at(c, p));
        }
        if (ends) this.boundary.push(...ends[0], ...ends[1]);
      }
    }
  }
}

// The two points of a convex polygon's boundary where an affine function is 0, or null.
function crossings(polygon, f) {
  const found = [];
  for (let k = 0; k < polygon.length; k++) {
    const p = polygon[k];
    const q = polygon[(k + 1) % polygon.length];
    const [fp, fq] = [f(p), f(q)];
    if (fp > 0 !== fq > 0) found.push(between(p, q, fp / (fp - fq)));
  }
  return found.length === 2 ? found : null;
}

// The part of a segment where an affine function is not negative, or null.
function clip([p, q], f) {
  const [fp, fq] = [f(p), f(q)];
  if (fp < 0 && fq < 0) return null;
  if (fp >= 0 && fq >= 0) return [p, q];
  const middle = between(p, q, fp / (fp - fq));
  return fp < 0 ? [middle, q] : [p, middle];
}

function between(p, q, t) {
  return [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
}

function ranged(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low <= high ? { values, low, high } : { values, low: 0, high: 1 };
}
