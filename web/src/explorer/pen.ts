// A pen that writes SVG: what paints axes, outlines and keys on a canvas paints them into a file, too.

/** What our drawings use of a canvas's pen. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "beginPath" | "moveTo" | "lineTo" | "closePath" | "arc" | "stroke" | "fill" | "fillRect" | "fillText"
  | "strokeText" | "measureText" | "font" | "textAlign" | "textBaseline" | "lineWidth" | "lineJoin" | "lineCap"
  | "strokeStyle" | "fillStyle"
>;

/** Where the baseline is, in heights of the letters; SVG's own words for it are not understood everywhere. */
const BASELINE: Partial<Record<CanvasTextBaseline, number>> = { top: 0.82, middle: 0.35, bottom: -0.2 };
const ANCHOR: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };

export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Colours are words here; gradients of a canvas have none. */
const word = (style: string | CanvasGradient | CanvasPattern): string => (typeof style === "string" ? style : "none");

const short = (value: number): string => String(Number(value.toFixed(2)));

export class SvgPen implements Pen {
  readonly parts: string[] = [];
  font = "11px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  lineCap: CanvasLineCap = "butt";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  private readonly measure = document.createElement("canvas").getContext("2d")!;
  private path = "";

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path && !this.path.endsWith("Z") ? "L" : "M"}${short(x)} ${short(y)}`;
  }

  closePath(): void {
    if (this.path) this.path += "Z";
  }

  /** Whole circles only. */
  arc(x: number, y: number, radius: number): void {
    const [r, d] = [short(radius), short(2 * radius)];
    this.path += `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${d} 0a${r} ${r} 0 1 0 -${d} 0Z`;
  }

  private stroked(): string {
    return `stroke="${word(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" ` +
      `stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"`;
  }

  stroke(): void {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="none" ${this.stroked()}/>`);
  }

  fill(): void {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="${word(this.fillStyle)}"/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const [px, py, w, h] = [x, y, width, height].map(short);
    this.parts.push(`<rect x="${px}" y="${py}" width="${w}" height="${h}" fill="${word(this.fillStyle)}"/>`);
  }

  measureText(text: string): TextMetrics {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="${word(this.fillStyle)}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="none" ${this.stroked()}`);
  }

  private text(text: string, x: number, y: number, paint: string): void {
    const [, weight = "400", size, family] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font)!;
    const base = y + (BASELINE[this.textBaseline] ?? 0) * Number(size);
    this.parts.push(
      `<text x="${short(x)}" y="${short(base)}" font-family="${escaped(family)}" font-size="${size}" ` +
      `font-weight="${weight}" text-anchor="${ANCHOR[this.textAlign] ?? "start"}" ${paint}>${escaped(text)}</text>`,
    );
  }
}
