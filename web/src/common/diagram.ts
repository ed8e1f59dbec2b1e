// The diagram of a network: layers as columns of neurons, weights as lines, skip connections as arcs.
// One component for both pages. It fills its host, follows its size, and draws what it is told:
//
//   const diagram = new Diagram(host, { onNeuron: …, onSkip: …, onWeight: … });
//   diagram.setNetwork({ widths: [2, 8, 8, 1], skips: [[1, 3]], possible: [[0, 2], [1, 3]] });
//   diagram.setWeights(blocks);              // at every frame, if there are any
//   diagram.setPattern(pieces, pieceCounts); // the neurons of the region under the pointer; null: none
//
// Colours come from the custom properties --diagram-…; see `DIAGRAM_STYLE` for those that it needs.

/** k→ℓ: layer k is added to the input of layer ℓ. */
export type Skip = readonly [number, number];

/** What a network looks like; layer 0 is the input, the last one the output. */
export interface DiagramNetwork {
  widths: readonly number[];
  skips: readonly Skip[];
  /** Skips that one can switch on; drawn faintly, and only if there is somebody to tell. */
  possible?: readonly Skip[];
  /** Below the columns. */
  labels?: readonly string[];
  /** Of the labels; "" and what is left out: the usual one. */
  colours?: readonly string[];
}

/** A matrix between two layers: rows are neurons of `to`, columns neurons of `from`. */
export interface WeightBlock {
  from: number;
  to: number;
  rows: number;
  columns: number;
  /** Row after row; a row begins every `stride` numbers, `columns` if it is left out. */
  values: ArrayLike<number>;
  stride?: number;
}

/** One weight, and where it is on the screen. */
export interface WeightPlace {
  from: number;
  to: number;
  row: number;
  column: number;
  value: number;
  x: number;
  y: number;
  /** Whether keys chose it. */
  keys?: boolean;
}

/** Whom to tell. */
export interface DiagramEvents {
  /** A hidden neuron under the pointer (layers from 1, neurons from 0), or none any more. */
  onNeuron?: (neuron: { layer: number; index: number } | null) => void;
  onSkip?: (skip: Skip) => void;
  onWeight?: (weight: WeightPlace) => void;
}

export const DIAGRAM_STYLE = `
.diagram { position: relative; width: 100%; height: 100%; touch-action: manipulation; }
.diagram canvas, .diagram svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block; }
.diagram svg text { font: 11px/1 inherit; font-family: inherit; fill: var(--diagram-label, #667085); }
.diagram .neuron { fill: var(--diagram-neuron, #fff); stroke: var(--diagram-line, #98a2b3); stroke-width: 1.25; }
.diagram .neuron.on { fill: var(--diagram-on, #dd7829); stroke: var(--diagram-on, #dd7829); }
.diagram .neuron.middle { fill: var(--diagram-middle, #e9b98f); }
.diagram .neuron.off { fill: var(--diagram-off, #e4e7ec); }
.diagram .neuron.hidden { cursor: pointer; }
.diagram .neurons { outline: none; }
.diagram .said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.diagram .neuron:hover, .diagram .neuron.chosen { stroke: var(--diagram-strong, #101828); stroke-width: 2.5; }
.diagram .skip { fill: none; stroke: var(--diagram-skip, #7a5af8); stroke-width: 2; }
.diagram .skip.possible { stroke-width: 1.25; stroke-dasharray: 3 4; opacity: 0.38; }
.diagram .target { fill: none; stroke: transparent; stroke-width: 12; pointer-events: stroke; }
.diagram .clickable .target { cursor: pointer; }
.diagram .clickable:hover .skip { opacity: 1; stroke-width: 3; }
.diagram .clickable:focus-visible { outline: none; }
.diagram .clickable:focus-visible .skip { opacity: 1; stroke-width: 4; }
`;

const SVG = "http://www.w3.org/2000/svg";
/** Lines that are drawn at most: of more, the strongest. */
const MOST_LINES = 1500;
/** Strengths that look different. */
const LEVELS = 10;
/** Pixels around a line in which a click means it. */
const NEAR = 5;

interface Line extends WeightPlace {
  x2: number;
  y2: number;
}

export class Diagram {
  private readonly frame: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly svg: SVGSVGElement;
  private readonly observer: ResizeObserver;
  private network: DiagramNetwork = { widths: [], skips: [] };
  private blocks: readonly WeightBlock[] = [];
  private readonly arcGroup = make("g", {});
  private readonly neuronGroup = make("g", { class: "neurons", tabindex: 0, role: "application" });
  /** The neuron that keys point at, and what a screen reader says of it. */
  private place: { layer: number; index: number } | null = null;
  private readonly said = document.createElement("div");
  private readonly labelGroup = make("g", {});
  private neurons: SVGCircleElement[][] = [];
  private lines: Line[] = [];
  private pattern: { pieces: ArrayLike<number> | null; counts?: ArrayLike<number> } = { pieces: null };
  private size: [number, number] = [0, 0];
  private top = 14;
  private due = 0;

  constructor(host: HTMLElement, private readonly events: DiagramEvents = {}) {
    if (!document.getElementById("diagram-style")) {
      const style = document.createElement("style");
      style.id = "diagram-style";
      style.textContent = DIAGRAM_STYLE;
      document.head.append(style);
    }
    this.frame = document.createElement("div");
    this.frame.className = "diagram";
    this.canvas = document.createElement("canvas");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("role", "group"); // what is in an image can't be reached
    this.neuronGroup.setAttribute("aria-label",
      `Neurons: arrow keys point at one${events.onWeight ? ", Enter changes its largest weight" : ""}`);
    this.said.className = "said";
    this.said.setAttribute("aria-live", "polite");
    this.svg.append(this.arcGroup, this.neuronGroup, this.labelGroup);
    this.frame.append(this.canvas, this.svg, this.said);
    host.append(this.frame);
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.frame);
    this.svg.addEventListener("click", (event) => this.clicked(event));
    this.svg.addEventListener("pointermove", (event) => this.moved(event));
    this.svg.addEventListener("pointerdown", (event) => this.moved(event));
    this.svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.events.onNeuron?.(null); // a finger that was lifted means what it touched
    });
    this.neuronGroup.addEventListener("keydown", (event) => this.pressed(event));
    this.neuronGroup.addEventListener("focus", () => {
      if (this.neuronGroup.matches(":focus-visible")) this.pointAt(this.place ?? { layer: 1, index: 0 });
    });
    this.neuronGroup.addEventListener("blur", () => {
      this.choose(null);
      this.events.onNeuron?.(null);
    });
  }

  /** Another network, or other skips. */
  setNetwork(network: DiagramNetwork): void {
    this.network = network;
    const names = network.skips.map(([from, to]) => `${from}→${to}`).join(", ");
    const text = `Network ${network.widths.join(" → ")}${names ? `, skips ${names}` : ""}`;
    this.svg.setAttribute("aria-label", text);
    this.layout();
  }

  /** The same network with other skips. */
  setSkips(skips: readonly Skip[]): void {
    this.setNetwork({ ...this.network, skips });
  }

  /** The matrices, those of `from` = `to` - 1 are drawn; skips that share a matrix need none. */
  setWeights(blocks: readonly WeightBlock[]): void {
    this.blocks = blocks;
    if (!this.lines.length) this.drawWeights(); // the first ones at once, so that one can click on them
    // ten times a second is what eyes can follow here
    if (!this.due) this.due = window.setTimeout(() => this.drawWeights(), 100);
  }

  /** The active piece of every hidden neuron, layer after layer; with how many pieces each has. */
  setPattern(pieces: ArrayLike<number> | null, pieceCounts?: ArrayLike<number>): void {
    this.pattern = { pieces, counts: pieceCounts };
    let at = 0;
    for (let layer = 1; layer < this.neurons.length - 1; layer++) {
      for (const circle of this.neurons[layer]) {
        const piece = pieces?.[at] ?? 0;
        const last = (pieceCounts?.[at] ?? 2) - 1;
        circle.classList.toggle("on", pieces !== null && piece > 0 && piece >= last);
        circle.classList.toggle("middle", pieces !== null && piece > 0 && piece < last);
        circle.classList.toggle("off", pieces !== null && piece === 0);
        at++;
      }
    }
  }

  /** Labels in other colours, where there are some. */
  setLabelColours(colours: readonly string[]): void {
    this.network = { ...this.network, colours };
    [...this.svg.querySelectorAll<SVGElement>(".label")].forEach((text, layer) => {
      // a little stronger than the lines that have it: letters are thin
      text.style.fill = colours[layer] ? `color-mix(in oklab, ${colours[layer]} 88%, var(--diagram-strong))` : "";
      text.style.fontWeight = colours[layer] ? "600" : "";
    });
  }

  /** Outline a neuron, for example one whose boundary is pointed at; null: none. */
  choose(neuron: { layer: number; index: number } | null): void {
    for (const circle of this.svg.querySelectorAll(".chosen")) circle.classList.remove("chosen");
    if (neuron) this.neurons[neuron.layer]?.[neuron.index]?.classList.add("chosen");
  }

  /** Draw again in other colours, after a change of the custom properties. */
  refresh(): void {
    this.drawWeights();
  }

  destroy(): void {
    this.observer.disconnect();
    window.clearTimeout(this.due);
    this.frame.remove();
  }

  // --- places ---------------------------------------------------------------------------------

  /** The longest first, so that a click means the shorter one. */
  private arcs(): { skip: Skip; on: boolean }[] {
    const { skips, possible } = this.network;
    const on = new Set(skips.map(String));
    const faint = this.events.onSkip ? (possible ?? []).filter((skip) => !on.has(String(skip))) : [];
    return [...faint, ...skips].sort((p, q) => q[1] - q[0] - (p[1] - p[0]) || p[0] - q[0])
      .map((skip) => ({ skip, on: on.has(String(skip)) }));
  }

  private room(): number {
    const spans = this.arcs().map(({ skip }) => skip[1] - skip[0]);
    return spans.length ? Math.min(18 + 13 * Math.max(...spans), 0.42 * this.size[1]) : 14;
  }

  private x(layer: number): number {
    const last = Math.max(1, this.network.widths.length - 1);
    return 22 + (layer / last) * (this.size[0] - 44);
  }

  private y(layer: number, index: number): number {
    const width = this.network.widths[layer];
    const { top } = this;
    const bottom = this.size[1] - (this.network.labels ? 26 : 12);
    const step = Math.min(30, (bottom - top) / Math.max(1, width));
    return (top + bottom) / 2 + (index - (width - 1) / 2) * step;
  }

  private radius(layer: number): number {
    const step = (this.size[1] - this.top - 20) / Math.max(1, this.network.widths[layer]);
    return Math.max(1.5, Math.min(8, 0.38 * step, (this.size[0] - 44) / (4 * this.network.widths.length)));
  }

  private layout(): void {
    this.size = [this.frame.clientWidth, this.frame.clientHeight];
    if (!this.size[0] || !this.network.widths.length) return;
    const [width, height] = this.size;
    this.top = this.room();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    // what is there stays there: somebody may be about to click on it, or the keyboard may be there
    this.drawArcs();
    this.drawNeurons();
    const labels = this.network.labels ?? [];
    keep(this.labelGroup, labels.length, () => make("text", { "text-anchor": "middle", class: "label" }))
      .forEach((text, layer) => {
        change(text, { x: this.x(layer), y: height - 6 });
        text.textContent = labels[layer];
      });
    this.setLabelColours(this.network.colours ?? []);
    this.setPattern(this.pattern.pieces, this.pattern.counts);
    this.drawWeights();
  }

  private drawArcs(): void {
    const there = new Map([...this.arcGroup.children].map((group) => [group.getAttribute("data-skip"), group]));
    let last: Element | null = null;
    for (const { skip, on } of this.arcs()) {
      const name = skip.join("-");
      const group = there.get(name) ?? this.arc(skip);
      there.delete(name);
      this.placeArc(group, skip, on);
      if (!group.parentNode) {
        if (last) last.after(group);
        else this.arcGroup.prepend(group);
      }
      last = group;
    }
    for (const group of there.values()) group.remove();
  }

  private placeArc(group: Element, [from, to]: Skip, on: boolean): void {
    const [x1, x2] = [this.x(from), this.x(to)];
    const base = this.top - 6;
    const high = Math.max(4, base - Math.min(13 * (to - from), base - 4));
    const path = `M${x1} ${base} C${x1 + 0.12 * (x2 - x1)} ${high} ${x2 - 0.12 * (x2 - x1)} ${high} ${x2} ${base}`;
    const [title, line, target] = group.children;
    title.textContent = `skip ${from}→${to}${this.events.onSkip ? (on ? ": click to remove" : ": click to add") : ""}`;
    change(line, { d: path, class: `skip ${on ? "" : "possible"}` });
    change(target, { d: path });
    if (this.events.onSkip) group.setAttribute("aria-checked", String(on));
  }

  private arc([from, to]: Skip): SVGElement {
    const group = make("g", { "data-skip": `${from}-${to}` });
    group.append(make("title", {}), make("path", {}), make("path", { class: "target" }));
    if (this.events.onSkip) {
      change(group, { class: "clickable", tabindex: 0, role: "switch", "aria-label": `skip ${from}→${to}` });
      const toggle = () => this.events.onSkip?.([from, to]);
      group.addEventListener("click", (event) => { event.stopPropagation(); toggle(); });
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); }
      });
    }
    return group;
  }

  private drawNeurons(): void {
    const { widths } = this.network;
    const groups = keep(this.neuronGroup, widths.length, () => make("g", {}));
    this.neurons = widths.map((count, layer) => {
      const hidden = layer > 0 && layer < widths.length - 1;
      const circles = keep(groups[layer], count, () => make("circle", {})) as SVGCircleElement[];
      circles.forEach((circle, index) => {
        const [cx, cy, r] = [this.x(layer), this.y(layer, index), this.radius(layer)];
        change(circle, { cx, cy, r, "data-layer": layer, "data-index": index });
        circle.classList.add("neuron");
        circle.classList.toggle("hidden", hidden);
        if (!hidden) circle.classList.remove("on", "middle", "off");
      });
      return circles;
    });
  }

  // --- weights --------------------------------------------------------------------------------

  private drawWeights(): void {
    this.due = 0;
    const [width, height] = this.size;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const pen = this.canvas.getContext("2d");
    if (!pen || !width) return;
    pen.scale(scale, scale);
    const style = getComputedStyle(this.frame);
    const colours = [
      style.getPropertyValue("--diagram-negative").trim() || "#2f6db4",
      style.getPropertyValue("--diagram-positive").trim() || "#dd7829",
    ];
    this.lines = this.visible();
    const largest = Math.max(1e-12, ...this.blocks.map(largestOf));
    // lines of about the same strength are one path: thousands of strokes would take longer than all the rest
    const paths = Array.from({ length: 2 * LEVELS }, () => new Path2D());
    for (const line of this.lines) {
      const level = Math.min(LEVELS - 1, Math.floor((LEVELS * Math.abs(line.value)) / largest));
      const path = paths[2 * level + (line.value > 0 ? 1 : 0)];
      path.moveTo(line.x, line.y);
      path.lineTo(line.x2, line.y2);
    }
    paths.forEach((path, place) => {
      const strength = (Math.floor(place / 2) + 0.5) / LEVELS;
      pen.globalAlpha = 0.12 + 0.88 * strength;
      pen.lineWidth = 0.4 + 2.6 * strength;
      pen.strokeStyle = colours[place % 2];
      pen.stroke(path);
    });
  }

  private visible(): Line[] {
    const near = this.blocks.filter((block) => block.from === block.to - 1);
    const count = near.reduce((sum, block) => sum + block.rows * block.columns, 0);
    let least = 0;
    if (count > MOST_LINES) {
      const sizes = near.flatMap((block) => valuesOf(block).map(Math.abs)).sort((a, b) => b - a);
      least = sizes[MOST_LINES];
    }
    const lines: Line[] = [];
    for (const { from, to, rows, columns, values, stride = columns } of near) {
      if (rows > this.network.widths[to] || columns > this.network.widths[from]) continue;
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          const value = values[row * stride + column];
          if (value === 0 || Math.abs(value) < least) continue;
          lines.push({
            from, to, row, column, value,
            x: this.x(from), y: this.y(from, column), x2: this.x(to), y2: this.y(to, row),
          });
        }
      }
    }
    return lines;
  }

  // --- the pointer ----------------------------------------------------------------------------

  private moved(event: PointerEvent): void {
    const data = (event.target as SVGElement).dataset;
    const layer = Number(data.layer);
    const hidden = layer > 0 && layer < this.network.widths.length - 1;
    this.events.onNeuron?.(hidden ? { layer, index: Number(data.index) } : null);
    if (this.events.onWeight) this.svg.style.cursor = this.lineAt(event) ? "pointer" : "";
  }

  /** Arrow keys go from neuron to neuron, to the output where weights can be changed. */
  private pressed(event: KeyboardEvent): void {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    };
    const move = moves[event.key];
    const { layer, index } = this.place ?? { layer: 1, index: 0 };
    if (move) {
      event.preventDefault();
      this.pointAt({ layer: layer + move[0], index: index + move[1] });
    } else if (event.key === "Enter" && this.events.onWeight) {
      event.preventDefault();
      this.changeLargest(layer, index);
    }
  }

  private pointAt({ layer, index }: { layer: number; index: number }): void {
    const { widths } = this.network;
    const output = widths.length - 1;
    const within = (value: number, most: number) => Math.max(0, Math.min(most, value));
    const to = 1 + within(layer - 1, this.events.onWeight ? output - 1 : output - 2);
    if (to >= widths.length || output < 1) return;
    this.place = { layer: to, index: within(index, widths[to] - 1) };
    this.choose(this.place);
    this.events.onNeuron?.(to < output ? this.place : null);
    this.said.textContent = to < output ? `layer ${to}, neuron ${this.place.index}` : `output ${this.place.index + 1}`;
  }

  private changeLargest(layer: number, index: number): void {
    const own = this.lines.filter((line) => line.to === layer && line.row === index);
    const largest = own.reduce((best: Line | null, line) =>
      (best && Math.abs(best.value) >= Math.abs(line.value) ? best : line), null);
    if (!largest) return;
    const box = this.svg.getBoundingClientRect();
    this.events.onWeight?.({
      ...largest, keys: true, x: box.left + (largest.x + largest.x2) / 2, y: box.top + (largest.y + largest.y2) / 2,
    });
  }

  private clicked(event: MouseEvent): void {
    const line = this.events.onWeight && this.lineAt(event);
    if (line) this.events.onWeight?.({ ...line, x: event.clientX, y: event.clientY });
  }

  /** The line next to the pointer: the strongest of those that are about as near. */
  private lineAt(event: MouseEvent): Line | null {
    const box = this.svg.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best: Line | null = null;
    let least = NEAR;
    for (const line of this.lines) {
      const t = (px - line.x) / (line.x2 - line.x);
      if (t < 0.06 || t > 0.94) continue;
      const slope = (line.y2 - line.y) / (line.x2 - line.x);
      const distance = Math.abs(line.y + t * (line.y2 - line.y) - py) / Math.hypot(1, slope);
      if (distance < least) [least, best] = [distance, line];
    }
    return best;
  }
}

function make(tag: string, attributes: Record<string, string | number>): SVGElement {
  const node = document.createElementNS(SVG, tag);
  change(node, attributes);
  return node;
}

function change(node: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
}

/** So many children: those that are there stay, and others are made or taken away at the end. */
function keep(parent: Element, count: number, another: () => SVGElement): SVGElement[] {
  while (parent.children.length > count) parent.lastElementChild!.remove();
  while (parent.children.length < count) parent.append(another());
  return [...parent.children] as SVGElement[];
}

function valuesOf(block: WeightBlock): number[] {
  const { rows, columns, values, stride = columns } = block;
  return Array.from({ length: rows * columns }, (_, i) => values[Math.floor(i / columns) * stride + (i % columns)]);
}

function largestOf(block: WeightBlock): number {
  return valuesOf(block).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}
