// Curves over the steps of a run: loss, and numbers of regions.

export interface Series {
  name: string;
  /** The custom property that holds its colour. */
  colour: string;
  dashed?: boolean;
}

/** Points that are kept at most; with more, every other one is left out. */
const MOST = 1200;

export class Chart {
  private steps: number[] = [];
  private rows: (number | null)[][] = [];
  private every = 1;
  private seen = 0;
  private due = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly title: string,
    private series: Series[],
    private readonly logarithmic: boolean,
  ) {
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  clear(): void {
    [this.steps, this.rows, this.every, this.seen] = [[], [], 1, 0];
  }

  add(step: number, values: (number | null)[]): void {
    if (this.steps.length && step <= this.steps[this.steps.length - 1]) {
      while (this.steps.length && step <= this.steps[this.steps.length - 1]) {
        this.steps.pop();
        this.rows.pop();
      }
    } else if (this.seen++ % this.every) {
      return;
    }
    this.steps.push(step);
    this.rows.push(values);
    if (this.steps.length > MOST) {
      this.steps = this.steps.filter((_, i) => i % 2 === 0);
      this.rows = this.rows.filter((_, i) => i % 2 === 0);
      this.every *= 2;
    }
  }

  /** Draw soon; ten times a second is what eyes can follow here. */
  drawSoon(series: Series[]): void {
    this.series = series;
    if (!this.due) this.due = window.setTimeout(() => this.draw(), 100);
  }

  draw(): void {
    window.clearTimeout(this.due);
    this.due = 0;
    const { canvas } = this;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    if (!pen || !width) return;
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const [ink, faint] = [style.getPropertyValue("--quiet"), style.getPropertyValue("--rule")];
    pen.font = `11px ${style.fontFamily}`;
    const [left, right, top, bottom] = [44, width - 8, 24, height - 18];
    const [low, high] = this.range();
    const last = Math.max(1, this.steps[this.steps.length - 1] ?? 1);
    const x = (step: number) => left + (step / last) * (right - left);
    const at = (value: number) => (this.logarithmic ? Math.log10(Math.max(value, 1e-9)) : value);
    const y = (value: number) => bottom - ((at(value) - low) / (high - low)) * (bottom - top);
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const tick of this.ticks(low, high)) {
      const py = bottom - ((tick - low) / (high - low)) * (bottom - top);
      pen.strokeStyle = faint;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(left, Math.round(py) + 0.5);
      pen.lineTo(right, Math.round(py) + 0.5);
      pen.stroke();
      pen.fillStyle = ink;
      pen.fillText(this.logarithmic ? power(tick) : short(tick), left - 6, py);
    }
    pen.fillStyle = ink;
    const end = this.steps[this.steps.length - 1] ?? 0;
    pen.fillText(`${end.toLocaleString("en")} ${end === 1 ? "step" : "steps"}`, right, height - 7);
    this.legend(pen, left, style, ink);
    this.series.forEach((line, k) => {
      pen.strokeStyle = style.getPropertyValue(line.colour).trim();
      pen.lineWidth = line.dashed ? 1.25 : 1.75;
      pen.setLineDash(line.dashed ? [4, 3] : []);
      pen.beginPath();
      let open = false;
      this.rows.forEach((row, i) => {
        const value = row[k];
        if (value === null || value === undefined) { open = false; return; }
        if (open) pen.lineTo(x(this.steps[i]), y(value));
        else pen.moveTo(x(this.steps[i]), y(value));
        open = true;
      });
      pen.stroke();
      pen.setLineDash([]);
      const only = this.rows.length === 1 ? this.rows[0][k] : null;
      if (only === null || only === undefined || line.dashed) return;
      pen.fillStyle = pen.strokeStyle;
      pen.beginPath();
      pen.arc(x(this.steps[0]), y(only), 2.5, 0, 2 * Math.PI); // one point is no line yet
      pen.fill();
    });
  }

  private legend(pen: CanvasRenderingContext2D, left: number, style: CSSStyleDeclaration, ink: string): void {
    pen.textAlign = "left";
    pen.fillStyle = ink;
    pen.fillText(this.title, 0, 9);
    let at = Math.max(left, pen.measureText(this.title).width + 8);
    const dashed = this.series.filter((line) => line.dashed).slice(0, 1);   // they mean the same for all
    for (const line of [...this.series.filter((each) => !each.dashed), ...dashed]) {
      pen.strokeStyle = line.dashed ? ink : style.getPropertyValue(line.colour).trim();
      pen.lineWidth = line.dashed ? 1.25 : 2;
      pen.setLineDash(line.dashed ? [4, 3] : []);
      pen.beginPath();
      pen.moveTo(at, 9);
      pen.lineTo(at + 11, 9);
      pen.stroke();
      pen.setLineDash([]);
      pen.fillText(line.name, at + 15, 9);
      at += 23 + pen.measureText(line.name).width;
    }
  }

  private range(): [number, number] {
    let [low, high] = [Infinity, -Infinity];
    for (const row of this.rows) {
      for (let k = 0; k < this.series.length; k++) {
        const value = row[k];
        if (value === null || value === undefined) continue;
        const place = this.logarithmic ? Math.log10(Math.max(value, 1e-9)) : value;
        low = Math.min(low, place);
        high = Math.max(high, place);
      }
    }
    if (low > high) return this.logarithmic ? [-2, 0] : [0, 10];
    if (!this.logarithmic) return [0, Math.max(high * 1.05, 4)];
    return high - low < 0.5 ? [low - 0.25, high + 0.25] : [low, high];
  }

  private ticks(low: number, high: number): number[] {
    if (this.logarithmic && high - low < 1.5) {
      const steps = high - low < 0.6 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 2, 5];
      return [-1, 0, 1].flatMap((k) => steps.map((step) => Math.floor(low) + 1 + k + Math.log10(step)))
        .filter((tick) => tick >= low && tick <= high);
    }
    const rough = (high - low) / 3;
    const size = 10 ** Math.floor(Math.log10(rough));
    const nice = [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= rough) ?? 10 * size;
    const step = this.logarithmic ? Math.max(1, Math.round(nice)) : nice;
    const ticks: number[] = [];
    for (let t = Math.ceil(low / step) * step; t <= high + 1e-9; t += step) ticks.push(t);
    return ticks;
  }
}

function short(value: number): string {
  return value >= 10_000 ? `${Number((value / 1000).toPrecision(3))}k` : String(Number(value.toPrecision(3)));
}

function power(exponent: number): string {
  return exponent >= -3 && exponent < 5 ? String(Number((10 ** exponent).toPrecision(2))) : `1e${exponent}`.replace("-", "−");
}
