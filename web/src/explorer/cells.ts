// The regions of one network, whatever their dimension: patterns, maps, neighbours, facets.
import { layerColour, patternPalette } from "../common/colours.ts";
import type { Arrays, Numbers } from "../common/data.ts";
import { Network, PatternTable } from "../common/network.ts";
import type { PageFacts, PictureFacts } from "./state.ts";

/** A neuron whose boundary a facet lies on. */
export interface Bend {
  layer: number;
  index: number;
  bend: number;
}

/** A facet of a region: the region behind it (or -1) and all neurons that change there. */
export interface Facet {
  behind: number;
  neurons: Bend[];
}

/** Colours or numbers, one for each corner; numbers with their range. */
export interface Shades {
  colours?: Uint32Array<ArrayBuffer>;
  values?: Float32Array<ArrayBuffer>;
  low: number;
  high: number;
  logarithmic?: boolean;
}

/** What shades depend on. */
export interface ShadeOptions {
  layer: number;
  output: number;
  dark: boolean;
}

/** How a region is coloured: by bytes (one word), or by a number at a point. */
export interface Shader {
  colour?: (region: number) => number;
  value?: (region: number, point: number[]) => number;
  /** Whether the number is one for the whole region. */
  flat: boolean;
  logarithmic: boolean;
}

export abstract class Cells {
  readonly count: number;
  readonly depth: number;
  readonly inputs: number;
  readonly centre: number[];
  readonly scale: number;
  /** The line of every facet, and what lines stand for. */
  readonly sides: Numbers;
  readonly lineLayer: Numbers;
  readonly lineIndex: Numbers;
  readonly lineBend: Numbers;
  /** The region behind every facet, -1 where there is none. */
  readonly behind: Int32Array;
  /** Areas or volumes. */
  readonly areas: Numbers;
  readonly network: Network;
  readonly table: PatternTable;
  private allMaps: Numbers | null;

  /** Where the facets of a region begin, and where they end. */
  abstract readonly facetStarts: Uint32Array;

  constructor(page: PageFacts, readonly about: PictureFacts, arrays: Arrays, facetCounts: Numbers) {
    this.count = about.regions;
    this.depth = about.widths.length;
    this.inputs = about.inputs;
    this.centre = page.centre;
    this.scale = page.scale;
    this.sides = arrays.sides;
    this.areas = arrays.areas;
    this.lineLayer = arrays.lineLayer;
    this.lineIndex = arrays.lineIndex;
    this.lineBend = arrays.lineBend;
    this.behind = new Int32Array(this.sides.length);
    for (let i = 0, c = 0; i < this.count; i++) {
      for (const end = c + facetCounts[i]; c < end; c++) {
        this.behind[c] = arrays.neighbours[c] === 0 ? -1 : i + arrays.neighbours[c];
      }
    }
    this.network = new Network(about, arrays);
    this.allMaps = arrays.maps ?? null;
    this.table = new PatternTable(arrays.patterns, this.count, this.network.neurons, about.bits);
  }

  /** The region of a point, or -1. */
  abstract locate(point: readonly number[]): number;

  /** A point inside. */
  abstract middle(region: number): number[];

  pattern(region: number): Uint8Array {
    return this.table.unpack(region);
  }

  neighbours(region: number): number[] {
    const found = new Set(this.behind.subarray(this.facetStarts[region], this.facetStarts[region + 1]));
    found.delete(-1);
    return [...found];
  }

  facets(region: number): Facet[] {
    const mine = this.pattern(region);
    const facets: Facet[] = [];
    for (let c = this.facetStarts[region]; c < this.facetStarts[region + 1]; c++) {
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

  /** The affine map in float64: outputs × (x1, …, xn, 1). */
  map(region: number): Float64Array {
    return this.network.mapper()(this.pattern(region));
  }

  /**
   * All maps, outputs × (inputs + 1) numbers a region: stored in float32 if the network has few outputs,
   * else worked out when first needed.
   */
  get maps(): Numbers {
    if (!this.allMaps) {
      const size = (this.inputs + 1) * this.network.outputs;
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

  valueAt(region: number, output: number, point: readonly number[]): number {
    const at = (this.inputs + 1) * (region * this.network.outputs + output);
    let sum = this.maps[at + this.inputs];
    for (let k = 0; k < this.inputs; k++) sum += this.maps[at + k] * point[k];
    return sum;
  }

  gradientNorm(region: number, output: number): number {
    const at = (this.inputs + 1) * (region * this.network.outputs + output);
    return Math.hypot(...this.maps.subarray(at, at + this.inputs));
  }

  /** How regions are coloured: by pattern, value, gradient, area, or the first layer that bends there. */
  shader(mode: string, { layer, output, dark }: ShadeOptions): Shader {
    const plain = { flat: true, logarithmic: false };
    if (mode === "pattern") {
      const palette = new Uint32Array(patternPalette(dark).buffer);
      const neurons = this.neuronsUpTo(layer);
      return { ...plain, colour: (i) => palette[this.table.prefixHash(i, neurons) & 1023] };
    }
    if (mode === "bends") {
      const words = new Uint32Array(this.depth + 1);
      const bytes = new Uint8Array(words.buffer);
      for (let k = 0; k <= this.depth; k++) bytes.set([...layerColour(k, this.depth, dark), 255], 4 * k);
      return { ...plain, colour: (i) => words[this.firstLayer(i)] };
    }
    if (mode === "value") return { ...plain, flat: false, value: (i, point) => this.valueAt(i, output, point) };
    if (mode === "gradient") return { ...plain, value: (i) => this.gradientNorm(i, output) };
    return { ...plain, value: (i) => Math.log10(this.areas[i]), logarithmic: true };
  }

  /** Neurons of the first layers. */
  neuronsUpTo(layer: number): number {
    return layer ? this.network.starts[layer - 1] + this.network.widths[layer - 1] : 0;
  }

  /** The first layer that has a line on the region's boundary; 0 if there is only the domain's. */
  firstLayer(region: number): number {
    let first = Infinity;
    for (let c = this.facetStarts[region]; c < this.facetStarts[region + 1]; c++) {
      const layer = this.lineLayer[this.sides[c]];
      if (layer > 0 && layer < first) first = layer;
    }
    return first === Infinity ? 0 : first;
  }
}

/** Numbers with the smallest and the largest that is finite. */
export function ranged(values: Float32Array<ArrayBuffer>): Shades {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low <= high ? { values, low, high } : { values, low: 0, high: 1 };
}

/** Where the rows of the given lengths begin, and where the last one ends. */
export function startsOf(counts: Numbers): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
  return starts;
}
