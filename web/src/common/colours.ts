// Colours: a palette for patterns, a ramp for numbers, one colour for each layer.

/** Red, green and blue, 0 … 255. */
export type Colour = [number, number, number];

/** OKLCH to sRGB bytes, so that all colours of a palette look equally strong. */
export function oklch(lightness: number, chroma: number, hue: number): Colour {
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const byte = (v: number): number => {
    const gamma = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, gamma)));
  };
  return [byte(linear[0]), byte(linear[1]), byte(linear[2])];
}

/** 1,024 colours for hashes of patterns. */
export function patternPalette(dark: boolean): Uint8Array<ArrayBuffer> {
  const palette = new Uint8Array(4 * 1024);
  for (let i = 0; i < 1024; i++) {
    const hue = 2 * Math.PI * ((i * 0.6180339887) % 1);
    const step = (i >> 3) % 4;
    const lightness = dark ? 0.36 + 0.07 * step : 0.74 + 0.055 * step;
    palette.set([...oklch(lightness, dark ? 0.075 : 0.085, hue), 255], 4 * i);
  }
  return palette;
}

/** Layer `k` of `count`, from 1 on; 0 is the domain. */
export function layerColour(k: number, count: number, dark: boolean): Colour {
  if (k === 0) return dark ? [150, 150, 160] : [110, 110, 120];
  const hue = 0.5 + (5 * (k - 1)) / Math.max(1, count);
  return oklch(dark ? 0.78 : 0.55, 0.16, hue);
}

/** Viridis as a polynomial (after Matt Zucker, public domain), 256 colours. */
export function ramp(): Uint8Array<ArrayBuffer> {
  const c = [
    [0.2777273272, 0.0054073445, 0.3340998053], [0.1050930431, 1.4046135299, 1.3845901626],
    [-0.3308618287, 0.2148475595, 0.095095163], [-4.634230499, -5.7991009734, -19.3324409563],
    [6.2282699363, 14.1799333668, 56.6905526007], [4.7763849977, -13.745145378, -65.3530326334],
    [-5.4354558559, 4.6458526122, 26.3124352496],
  ];
  const bytes = new Uint8Array(4 * 256);
  for (let i = 0; i < 256; i++) {
    for (let k = 0; k < 3; k++) {
      const v = c.reduceRight((sum, row) => sum * (i / 255) + row[k], 0);
      bytes[4 * i + k] = Math.round(255 * Math.min(1, Math.max(0, v)));
    }
    bytes[4 * i + 3] = 255;
  }
  return bytes;
}

const LABELS: Colour[] = [
  [0, 114, 178], [230, 97, 0], [0, 158, 115], [204, 82, 160], [240, 190, 30],
  [86, 180, 233], [120, 70, 30], [110, 110, 110], [130, 60, 190], [170, 200, 60],
];

/** The colour of points with the label of this number; people with any colour vision tell the first ones apart. */
export function labelColour(index: number): Colour {
  return LABELS[index % LABELS.length];
}

/** A colour for CSS and canvases. */
export function css([r, g, b]: Colour, alpha = 1): string {
  return alpha === 1 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${alpha})`;
}
