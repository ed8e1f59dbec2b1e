// Convex polygons and lines into pixels, by hand: a frame of a thousand regions takes a few milliseconds on any
// machine, with a GPU or without. Values are linear on every region, so every pixel has the network's own value.

/** Entries of a ramp: from −RANGE to RANGE in units of the values' size. */
const RAMP = 1024;
const RANGE = 4;

/** How thick the line is where the value is 0, in pixels to either side. */
const CUT = 1.3;

export type Colour = readonly number[];

export const packed = ([r, g, b]: Colour): number => (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;

/** Colours for values; `ends` at ±1 are softly approached. */
export function rampOf(low: Colour, middle: Colour, high: Colour, soft: (t: number) => number): Uint32Array {
  const table = new Uint32Array(RAMP);
  for (let i = 0; i < RAMP; i++) {
    const t = soft(((i + 0.5) / RAMP) * 2 * RANGE - RANGE);
    const end = t < 0 ? low : high;
    table[i] = packed(middle.map((part, k) => Math.round(part + Math.min(1, Math.abs(t)) * (end[k] - part))));
  }
  return table;
}

export class Raster {
  readonly image: ImageData;
  private readonly pixels: Uint32Array;
  private readonly left: Float64Array;
  private readonly right: Float64Array;

  constructor(readonly width: number, readonly height: number) {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.left = new Float64Array(height);
    this.right = new Float64Array(height);
  }

  clear(colour: number): void {
    this.pixels.fill(colour);
  }

  /** Rows whose middle is in a convex polygon, its ends in `left` and `right`; x, y in pixels, pair after pair. */
  private rows(ring: Float64Array, count: number): [number, number] {
    const { left, right, height } = this;
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < count; i++) {
      const y = ring[2 * i + 1];
      if (y < low) low = y;
      if (y > high) high = y;
    }
    const first = Math.max(0, Math.ceil(low - 0.5));
    const end = Math.min(height, Math.ceil(high - 0.5));
    for (let row = first; row < end; row++) {
      left[row] = Infinity;
      right[row] = -Infinity;
    }
    for (let i = 0; i < count; i++) {
      const j = i + 1 < count ? i + 1 : 0;
      let [x1, y1, x2, y2] = [ring[2 * i], ring[2 * i + 1], ring[2 * j], ring[2 * j + 1]];
      if (y1 > y2) [x1, y1, x2, y2] = [x2, y2, x1, y1];
      const from = Math.max(first, Math.ceil(y1 - 0.5));
      const to = Math.min(end, Math.ceil(y2 - 0.5));
      if (from >= to) continue;
      const slope = (x2 - x1) / (y2 - y1);
      let x = x1 + (from + 0.5 - y1) * slope;
      for (let row = from; row < to; row++, x += slope) {
        if (x < left[row]) left[row] = x;
        if (x > right[row]) right[row] = x;
      }
    }
    return [first, end];
  }

  /** A polygon of one colour. */
  fill(ring: Float64Array, count: number, colour: number): void {
    const [first, end] = this.rows(ring, count);
    for (let row = first; row < end; row++) {
      const from = Math.max(0, Math.ceil(this.left[row] - 0.5));
      const to = Math.min(this.width, Math.ceil(this.right[row] - 0.5));
      if (from < to) this.pixels.fill(colour, row * this.width + from, row * this.width + to);
    }
  }

  /**
   * A polygon with the value a·x + b·y + c at each pixel, coloured by a ramp (or with `flat`, where it is given),
   * and a line in `ink` where the value is 0.
   */
  shade(
    ring: Float64Array, count: number, a: number, b: number, c: number,
    ramp: Uint32Array, flat: number, ink: number | null,
  ): void {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < count; i++) {
      const value = a * ring[2 * i] + b * ring[2 * i + 1] + c;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const reach = CUT * Math.hypot(a, b);
    const cut = ink !== null && low < reach && high > -reach && reach > 0;
    if (flat >= 0 && !cut) {
      this.fill(ring, count, flat);
      return;
    }
    const [first, end] = this.rows(ring, count);
    const { pixels, width } = this;
    const step = (a * RAMP) / (2 * RANGE);
    for (let row = first; row < end; row++) {
      const from = Math.max(0, Math.ceil(this.left[row] - 0.5));
      const to = Math.min(width, Math.ceil(this.right[row] - 0.5));
      const start = a * (from + 0.5) + b * (row + 0.5) + c;
      let at = ((start + RANGE) * RAMP) / (2 * RANGE);
      const base = row * width;
      if (flat < 0) {
        for (let x = from; x < to; x++, at += step) {
          pixels[base + x] = ramp[at < 0 ? 0 : at >= RAMP ? RAMP - 1 : at | 0];
        }
      } else if (from < to) {
        pixels.fill(flat, base + from, base + to);
      }
      if (cut) this.cut(base, from, to, start, a, reach, ink);
    }
  }

  /** The pixels of a row at which the value is about 0. */
  private cut(
    base: number, from: number, to: number, start: number, a: number, reach: number, ink: number,
  ): void {
    let [begin, end] = [from, to];
    if (a !== 0) {
      const [p, q] = [from + (-reach - start) / a, from + (reach - start) / a];
      begin = Math.max(from, Math.floor(Math.min(p, q)));
      end = Math.min(to, Math.ceil(Math.max(p, q)) + 1);
    } else if (Math.abs(start) >= reach) return;
    for (let x = begin; x < end; x++) {
      const share = 1 - Math.abs(start + (x - from) * a) / reach;
      if (share > 0) this.blend(base + x, ink, Math.min(1, 1.6 * share));
    }
  }

  private blend(place: number, colour: number, alpha: number): void {
    const under = this.pixels[place];
    const share = (alpha * 256) | 0;
    const rest = 256 - share;
    const redBlue = (((colour & 0xff00ff) * share + (under & 0xff00ff) * rest) >>> 8) & 0xff00ff;
    const green = (((colour & 0x00ff00) * share + (under & 0x00ff00) * rest) >>> 8) & 0x00ff00;
    this.pixels[place] = (0xff000000 | redBlue | green) >>> 0;
  }

  /** A thin, smooth line. */
  line(x1: number, y1: number, x2: number, y2: number, colour: number, alpha: number): void {
    const { width, height } = this;
    const steep = Math.abs(y2 - y1) > Math.abs(x2 - x1);
    if (steep) [x1, y1, x2, y2] = [y1, x1, y2, x2];
    if (x1 > x2) [x1, y1, x2, y2] = [x2, y2, x1, y1];
    if (x2 - x1 < 1e-9) return;
    const [along, across] = steep ? [height, width] : [width, height];
    const slope = (y2 - y1) / (x2 - x1);
    const from = Math.max(0, Math.round(x1 - 0.5));
    const to = Math.min(along - 1, Math.round(x2 - 0.5) - 1);
    let y = y1 + (from + 0.5 - x1) * slope - 0.5;
    for (let x = from; x <= to; x++, y += slope) {
      const below = Math.floor(y);
      const part = y - below;
      if (below >= 0 && below < across) {
        this.blend(steep ? x * width + below : below * width + x, colour, alpha * (1 - part));
      }
      if (below >= -1 && below + 1 < across) {
        this.blend(steep ? x * width + below + 1 : (below + 1) * width + x, colour, alpha * part);
      }
    }
  }
}
