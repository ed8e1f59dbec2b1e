// The network itself: patterns at points, affine maps of patterns, and a table to find patterns.
import type { Arrays, NetworkFacts, Numbers } from "./data.ts";

// Columns are flat arrays with `size` numbers for each neuron: values at a point (size 1), or the
// coefficients of x1, …, xn and 1 (size n + 1). The last column carries biases and intercepts.
interface Term {
  source: number;
  sparse: boolean;
  columns: number;
  data: Numbers;
  index?: Numbers;
  ends?: Numbers;
}

interface LayerNumbers {
  bias: Numbers;
  terms: Term[];
  breakpoints: Numbers;
  slopes: Numbers;
  intercepts: Numbers;
}

export class Network {
  readonly widths: number[];
  readonly outputs: number;
  readonly neurons: number;
  readonly starts: number[] = [];
  /** Coordinates of a point: 2 or 3. */
  readonly inputs: number;
  /** From these coordinates to the network's own inputs, row by row: matrix and offset. */
  readonly embedding: Numbers;
  readonly layers: LayerNumbers[];

  constructor(about: NetworkFacts, arrays: Arrays) {
    this.widths = about.widths;
    this.outputs = about.outputs;
    this.neurons = about.widths.reduce((sum, width) => sum + width, 0);
    let start = 0;
    for (const width of about.widths) {
      this.starts.push(start);
      start += width;
    }
    this.inputs = about.inputs;
    this.embedding = arrays.embedding ?? identity(about.inputs);
    this.layers = about.terms.map((terms, k) => ({
      bias: arrays[`bias${k + 1}`],
      terms: terms.map((term) => ({
        ...term,
        data: arrays[term.name],
        index: arrays[`${term.name}columns`],
        ends: arrays[`${term.name}ends`],
      })),
      breakpoints: arrays[`breakpoints${k + 1}`],
      slopes: arrays[`slopes${k + 1}`],
      intercepts: arrays[`intercepts${k + 1}`],
    }));
  }

  /** The network's own inputs at a point: an image's pixels, say, if this is a slice. */
  inputsAt(point: readonly number[]): Float64Array {
    const e = this.embedding;
    const size = this.inputs + 1;
    const input = new Float64Array(e.length / size);
    for (let i = 0; i < input.length; i++) {
      let sum = 0;
      for (let k = 0; k < this.inputs; k++) sum += e[size * i + k] * point[k];
      input[i] = sum + e[size * i + this.inputs];
    }
    return input;
  }

  /** The pattern at a point, computed as Python's forward pass does it. */
  patternAt(point: readonly number[]): Uint8Array {
    const pattern = new Uint8Array(this.neurons);
    const values: Numbers[] = [this.inputsAt(point)];
    for (let k = 0; k < this.widths.length; k++) {
      const before = affine(this.layers[k], values, 1);
      const part = pattern.subarray(this.starts[k], this.starts[k] + this.widths[k]);
      const bends = this.layers[k].breakpoints.length / this.widths[k];
      for (let i = 0; i < before.length; i++) {
        for (let b = 0; b < bends; b++) {
          if (before[i] > this.layers[k].breakpoints[i * bends + b]) part[i]++;
        }
      }
      values.push(activate(this.layers[k], before, part, 1));
    }
    return pattern;
  }

  /**
   * A function from patterns to affine maps: outputs × (x1, …, xn, 1). Layers whose pattern and
   * whose predecessors' are those of the call before are not computed again.
   */
  mapper(): (pattern: Uint8Array) => Float64Array {
    const size = this.inputs + 1;
    const columns: Numbers[] = [Float64Array.from(this.embedding)];
    let last: Uint8Array | null = null;
    return (pattern) => {
      let k = 0;
      if (last) while (k < this.widths.length && this.sameLayer(k, last, pattern)) k++;
      for (; k < this.widths.length; k++) {
        const part = pattern.subarray(this.starts[k], this.starts[k] + this.widths[k]);
        columns[k + 1] = activate(this.layers[k], affine(this.layers[k], columns, size), part, size);
      }
      last = pattern.slice();
      return affine(this.layers[this.widths.length], columns, size);
    };
  }

  private sameLayer(k: number, one: Uint8Array, two: Uint8Array): boolean {
    const end = this.starts[k] + this.widths[k];
    for (let i = this.starts[k]; i < end; i++) if (one[i] !== two[i]) return false;
    return true;
  }
}

function affine(layer: LayerNumbers, columns: Numbers[], size: number): Float64Array {
  const rows = layer.bias.length;
  const total = new Float64Array(rows * size);
  for (let i = 0; i < rows; i++) total[i * size + size - 1] = layer.bias[i];
  for (const term of layer.terms) {
    if (size > 1) addMaps(total, term, columns[term.source], rows, size);
    else addValues(total, term, columns[term.source], rows);
  }
  return total;
}

// Where row i of a matrix begins and ends in its data.
function span(term: Term, i: number): [number, number] {
  if (!term.sparse) return [i * term.columns, (i + 1) * term.columns];
  return [i ? term.ends![i - 1] : 0, term.ends![i]];
}

function addValues(total: Float64Array, term: Term, source: Numbers, rows: number): void {
  const { data, index } = term;
  for (let i = 0; i < rows; i++) {
    const [from, to] = span(term, i);
    let sum = 0;
    for (let j = from; j < to; j++) sum += data[j] * source[index ? index[j] : j - from];
    total[i] += sum;
  }
}

function addMaps(total: Float64Array, term: Term, source: Numbers, rows: number, size: number): void {
  const { data, index } = term;
  const sum = new Float64Array(size);
  for (let i = 0; i < rows; i++) {
    const [from, to] = span(term, i);
    sum.fill(0);
    for (let j = from; j < to; j++) {
      const at = size * (index ? index[j] : j - from);
      const weight = data[j];
      for (let c = 0; c < size; c++) sum[c] += weight * source[at + c];
    }
    for (let c = 0; c < size; c++) total[size * i + c] += sum[c];
  }
}

function identity(size: number): Float64Array {
  const rows = new Float64Array(size * (size + 1));
  for (let k = 0; k < size; k++) rows[k * (size + 1) + k] = 1;
  return rows;
}

function activate(layer: LayerNumbers, before: Float64Array, pattern: Uint8Array, size: number): Float64Array {
  const after = new Float64Array(before.length);
  const pieces = layer.slopes.length / pattern.length;
  for (let i = 0; i < pattern.length; i++) {
    const piece = i * pieces + pattern[i];
    const slope = layer.slopes[piece];
    if (slope !== 0) for (let c = 0; c < size; c++) after[i * size + c] = slope * before[i * size + c];
    after[i * size + size - 1] += layer.intercepts[piece];
  }
  return after;
}

/** All patterns, a few bits a neuron, with an open-addressing hash table. */
export class PatternTable {
  private readonly size: number;
  private readonly bytes: Uint8Array;
  private readonly slots: Int32Array;

  constructor(columns: Numbers, count: number, readonly neurons: number, readonly bits: number) {
    this.size = Math.ceil((neurons * bits) / 8);
    this.bytes = new Uint8Array(count * this.size);
    for (let b = 0; b < this.size; b++) {
      let byte = 0;
      for (let i = 0; i < count; i++) {
        byte ^= columns[b * count + i]; // stored: what differs from the region before
        this.bytes[i * this.size + b] = byte;
      }
    }
    let slots = 16;
    while (slots < 2 * count) slots *= 2;
    this.slots = new Int32Array(slots).fill(-1);
    for (let i = 0; i < count; i++) {
      let slot = hash(this.bytes, i * this.size, this.size * 8) & (slots - 1);
      while (this.slots[slot] >= 0) slot = (slot + 1) & (slots - 1);
      this.slots[slot] = i;
    }
  }

  unpack(region: number, into = new Uint8Array(this.neurons)): Uint8Array {
    const start = region * this.size;
    for (let i = 0; i < this.neurons; i++) {
      let piece = 0;
      for (let b = 0; b < this.bits; b++) {
        const bit = i * this.bits + b;
        piece |= ((this.bytes[start + (bit >> 3)] >> (bit & 7)) & 1) << b;
      }
      into[i] = piece;
    }
    return into;
  }

  /** The region with a pattern, or -1. */
  find(pattern: Uint8Array): number {
    const query = new Uint8Array(this.size);
    for (let i = 0; i < this.neurons; i++) {
      for (let b = 0; b < this.bits; b++) {
        const bit = i * this.bits + b;
        query[bit >> 3] |= ((pattern[i] >> b) & 1) << (bit & 7);
      }
    }
    const mask = this.slots.length - 1;
    let slot = hash(query, 0, this.size * 8) & mask;
    for (; this.slots[slot] >= 0; slot = (slot + 1) & mask) {
      const start = this.slots[slot] * this.size;
      let k = 0;
      while (k < this.size && this.bytes[start + k] === query[k]) k++;
      if (k === this.size) return this.slots[slot];
    }
    return -1;
  }

  /** A hash of the first neurons of a region's pattern: the same for all regions of one prefix. */
  prefixHash(region: number, neurons: number): number {
    return hash(this.bytes, region * this.size, neurons * this.bits);
  }
}

// FNV-1a over the first bits, then mixed.
function hash(bytes: Uint8Array, start: number, bits: number): number {
  let value = 0x811c9dc5;
  const whole = bits >> 3;
  for (let k = 0; k < whole; k++) value = Math.imul(value ^ bytes[start + k], 0x01000193);
  const rest = bits & 7;
  if (rest) value = Math.imul(value ^ (bytes[start + whole] & ((1 << rest) - 1)), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  value ^= value >>> 12;
  value = Math.imul(value, 0x297a2d39);
  return (value ^ (value >>> 15)) >>> 0;
}
