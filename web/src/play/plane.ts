// One network's regions in the box: polygons by WebGL, data and what is pointed at on a sheet above.
import { layerColour, oklch, patternPalette } from "../common/colours.ts";
import type { Description, Picture } from "./wire.ts";

export type Colouring = "decision" | "value" | "gradient" | "pattern" | "layer";

/** How planes are drawn; both alike. */
export interface Look {
  colouring: Colouring;
  /** Of the colouring by layers: the first so many. */
  layer: number;
  edges: "layers" | "plain" | "none";
  points: boolean;
  dark: boolean;
}

/** Of a hidden neuron: its number among all. */
export type Neuron = number | null;

const VERTEX = `#version 300 es
in vec2 corner;
in float value;
in vec4 colour;
in float layer;
uniform vec4 view;
uniform float size;
out float vValue;
flat out vec4 vColour;
flat out float vLayer;
void main() {
  gl_Position = vec4(corner * view.xy + view.zw, 0.0, 1.0);
  vValue = value / size;
  vColour = colour;
  vLayer = layer;
}`;

// Values are linear on every region, so what is interpolated between corners is what the network says.
const FRAGMENT = `#version 300 es
precision highp float;
in float vValue;
flat in vec4 vColour;
flat in float vLayer;
uniform int mode;          // 0: sides of the boundary, 1: values, 2: colours, 3: edges
uniform vec3 low, middle, high, ink;
uniform vec3 layers[9];
uniform float shown, strength;
uniform bool coloured, cut;
out vec4 result;
vec3 ramp(float t) {
  float s = 1.0 - exp(-1.2 * abs(t));   // near the boundary steep, and never quite at its end
  return mix(middle, t < 0.0 ? low : high, s);
}
void main() {
  if (mode == 3) {
    if (vLayer > shown) discard;
    vec3 colour = coloured ? layers[int(clamp(vLayer, 0.0, 8.0))] : ink;
    result = vec4(colour * strength, strength);
    return;
  }
  vec3 colour = vColour.rgb;
  float step = max(fwidth(vValue), 1e-7);
  if (mode == 0) colour = mix(ramp(-0.9), ramp(0.9), clamp(vValue / step + 0.5, 0.0, 1.0));
  if (mode == 1) colour = ramp(vValue);
  if (cut) colour = mix(ink, colour, clamp(abs(vValue) / (1.25 * step), 0.0, 1.0));
  result = vec4(colour, 1.0);
}`;

const COLOURS = {
  light: { low: [47, 109, 180], middle: [246, 244, 239], high: [221, 120, 41], ink: [28, 33, 45] },
  dark: { low: [84, 148, 222], middle: [32, 35, 42], high: [232, 140, 66], ink: [236, 238, 243] },
};

/** Bytes of a vertex: two coordinates, a value, a colour, a layer. */
const STRIDE = 20;

export class Plane {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();
  private readonly vertexBuffer: WebGLBuffer;
  private readonly triangleBuffer: WebGLBuffer;
  private readonly edgeBuffer: WebGLBuffer;
  private triangles = 0;
  private edges = 0;
  private size = 1;
  picture: Picture | null = null;
  private about: Description | null = null;
  private layerOf: Uint8Array = new Uint8Array();
  private neuron: Neuron = null;
  private region = -1;

  constructor(readonly canvas: HTMLCanvasElement, readonly sheet: HTMLCanvasElement, public look: Look) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this page needs WebGL 2, which the browser does not offer");
    this.gl = gl;
    this.program = link(gl);
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    [this.vertexBuffer, this.triangleBuffer, this.edgeBuffer] =
      [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertexBuffer);
    const attribute = (name: string, size: number, type: number, normalised: boolean, offset: number) => {
      const place = gl.getAttribLocation(this.program, name);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, normalised, STRIDE, offset);
    };
    attribute("corner", 2, gl.FLOAT, false, 0);
    attribute("value", 1, gl.FLOAT, false, 8);
    attribute("colour", 4, gl.UNSIGNED_BYTE, true, 12);
    attribute("layer", 1, gl.UNSIGNED_BYTE, false, 16);
  }

  /** The network that frames are of. */
  describe(about: Description): void {
    this.about = about;
    const layers: number[] = [];
    about.widths.slice(1, -1).forEach((width, layer) => {
      for (let i = 0; i < width; i++) layers.push(layer + 1);
    });
    this.layerOf = Uint8Array.from(layers);
    this.neuron = null;
    this.region = -1;
  }

  show(picture: Picture): void {
    this.picture = picture;
    this.region = -1;
    this.load();
    this.draw();
  }

  /** Highlight the boundary of a neuron, or none. */
  pointAtNeuron(neuron: Neuron): void {
    if (neuron === this.neuron) return;
    this.neuron = neuron;
    this.drawSheet();
  }

  /** Outline a region, or none (−1). */
  pointAtRegion(region: number): void {
    if (region === this.region) return;
    this.region = region;
    this.drawSheet();
  }

  resize(): void {
    const scale = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.sheet]) {
      const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(canvas.clientHeight * scale)];
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    }
  }

  // --- regions --------------------------------------------------------------------------------

  /** The region at a point of the plane, −1 outside the box. */
  regionAt(x: number, y: number): number {
    if (!this.picture) return -1;
    const { corners, starts, counts } = this.picture;
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      let sign = 0;
      let inside = true;
      for (let i = from; inside && i < to; i++) {
        const j = i + 1 < to ? i + 1 : from;
        const side = (corners[2 * j] - corners[2 * i]) * (y - corners[2 * i + 1])
          - (corners[2 * j + 1] - corners[2 * i + 1]) * (x - corners[2 * i]);
        if (side === 0) continue;
        if (sign === 0) sign = Math.sign(side);
        inside = Math.sign(side) === sign;
      }
      if (inside && sign !== 0) return region;
    }
    return -1;
  }

  /** The active piece of every hidden neuron on a region. */
  pattern(region: number): Uint8Array {
    const { patterns, counts, bits } = this.picture!;
    const size = patterns.length / Math.max(1, counts.length);
    const pieces = new Uint8Array(this.layerOf.length);
    for (let neuron = 0; neuron < pieces.length; neuron++) {
      for (let bit = 0; bit < bits; bit++) {
        const at = neuron * bits + bit;
        pieces[neuron] |= ((patterns[region * size + (at >> 3)] >> (at & 7)) & 1) << bit;
      }
    }
    return pieces;
  }

  /** Plane coordinates of a place on the screen. */
  toPlane(clientX: number, clientY: number): [number, number] {
    const box = this.sheet.getBoundingClientRect();
    const { low, high } = this.about!;
    return [
      low[0] + ((clientX - box.left) / box.width) * (high[0] - low[0]),
      high[1] - ((clientY - box.top) / box.height) * (high[1] - low[1]),
    ];
  }

  private load(): void {
    const { gl, picture } = this;
    if (!picture) return;
    const { corners, counts, starts, sides, maps } = picture;
    const count = corners.length / 2;
    const buffer = new ArrayBuffer(count * STRIDE);
    const [floats, words] = [new Float32Array(buffer), new Uint32Array(buffer)];
    const colours = this.colours();
    const triangles = new Uint32Array(3 * Math.max(0, count - 2 * counts.length));
    const edges = new Uint32Array(2 * count);
    const sizes: number[] = [];
    let [t, e] = [0, 0];
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      const [a, b, c] = [maps[3 * region], maps[3 * region + 1], maps[3 * region + 2]];
      for (let i = from; i < to; i++) {
        const [x, y] = [corners[2 * i], corners[2 * i + 1]];
        const value = a * x + b * y + c;
        floats[5 * i] = x;
        floats[5 * i + 1] = y;
        floats[5 * i + 2] = value;
        words[5 * i + 3] = colours[region];
        words[5 * i + 4] = sides[i] < 0 ? 0 : this.layerOf[sides[i]];
        edges[e++] = i + 1 < to ? i + 1 : from;
        edges[e++] = i;   // the last corner of a line decides about its colour: where the side begins
        if (i > from + 1) {
          triangles[t++] = from;
          triangles[t++] = i - 1;
          triangles[t++] = i;
        }
      }
      if (to > from) sizes.push(Math.abs(floats[5 * from + 2]));
    }
    sizes.sort((p, q) => p - q);
    this.size = Math.max(sizes[Math.floor(0.7 * (sizes.length - 1))] ?? 1, 1e-6);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertexBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, buffer, gl.STREAM_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangleBuffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STREAM_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.edgeBuffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, edges, gl.STREAM_DRAW);
    this.triangles = t;
    this.edges = e;
  }

  /** A colour for every region; only what the colouring needs. */
  private colours(): Uint32Array {
    const { counts, maps, patterns, bits } = this.picture!;
    const colours = new Uint32Array(counts.length);
    if (this.look.colouring === "gradient") {
      const table = gradientTable(this.look.dark);
      let most = 1e-9;
      for (let i = 0; i < counts.length; i++) most = Math.max(most, Math.hypot(maps[3 * i], maps[3 * i + 1]));
      for (let i = 0; i < counts.length; i++) {
        const turn = Math.atan2(maps[3 * i + 1], maps[3 * i]) / (2 * Math.PI) + 1;
        const strength = Math.sqrt(Math.hypot(maps[3 * i], maps[3 * i + 1]) / most);
        colours[i] = table[64 * Math.min(15, Math.floor(16 * strength)) + (Math.floor(64 * turn) & 63)];
      }
    } else if (this.look.colouring === "pattern" || this.look.colouring === "layer") {
      const palette = new Uint32Array(patternPalette(this.look.dark).buffer);
      const size = patterns.length / Math.max(1, counts.length);
      const neurons = this.look.colouring === "pattern" ? this.layerOf.length
        : this.layerOf.filter((layer) => layer <= this.look.layer).length;
      const used = neurons * bits;
      for (let i = 0; i < counts.length; i++) {
        let hash = 2166136261;
        for (let k = 0; 8 * k < used; k++) {
          const mask = used >= 8 * k + 8 ? 255 : (1 << (used - 8 * k)) - 1;
          hash = Math.imul(hash ^ (patterns[i * size + k] & mask), 16777619);
        }
        colours[i] = palette[(hash ^ (hash >>> 15)) & 1023];
      }
    }
    return colours;
  }

  // --- drawing --------------------------------------------------------------------------------

  /** Colours and lines anew, for another look. */
  restyle(look: Look): void {
    this.look = look;
    this.load();
    this.draw();
  }

  draw(): void {
    const { gl, about, look } = this;
    this.resize();
    const { width, height } = this.canvas;
    if (!about || !width || !this.picture) return;
    gl.viewport(0, 0, width, height);
    const colours = COLOURS[look.dark ? "dark" : "light"];
    gl.clearColor(colours.middle[0] / 255, colours.middle[1] / 255, colours.middle[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const { low, high } = about;
    const [sx, sy] = [2 / (high[0] - low[0]), 2 / (high[1] - low[1])];
    gl.uniform4f(this.place("view"), sx, sy, -1 - low[0] * sx, -1 - low[1] * sy);
    gl.uniform1f(this.place("size"), this.size);
    for (const name of ["low", "middle", "high", "ink"] as const) {
      const [r, g, b] = colours[name];
      gl.uniform3f(this.place(name), r / 255, g / 255, b / 255);
    }
    const mode = look.colouring === "decision" ? 0 : look.colouring === "value" ? 1 : 2;
    gl.uniform1i(this.place("mode"), mode);
    gl.uniform1i(this.place("cut"), look.colouring === "layer" ? 0 : 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangleBuffer);
    gl.drawElements(gl.TRIANGLES, this.triangles, gl.UNSIGNED_INT, 0);
    this.drawEdges(width);
    this.drawSheet();
  }

  private drawEdges(width: number): void {
    const { gl, look, about } = this;
    const depth = about!.widths.length - 2;
    const across = width / Math.sqrt(Math.max(1, this.picture!.regions));
    const strength = Math.min(1, across / 12) * (look.edges === "layers" ? 0.75 : 0.4);
    if (look.edges === "none" || across < 2.5) return;
    const table = new Float32Array(27);
    for (let layer = 0; layer < 9; layer++) {
      table.set(layerColour(layer, depth, look.dark).map((part) => part / 255), 3 * layer);
    }
    gl.uniform3fv(this.place("layers[0]"), table);
    gl.uniform1i(this.place("mode"), 3);
    gl.uniform1i(this.place("coloured"), look.edges === "layers" ? 1 : 0);
    gl.uniform1f(this.place("shown"), look.colouring === "layer" ? look.layer : 255);
    gl.uniform1f(this.place("strength"), strength);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.edgeBuffer);
    gl.drawElements(gl.LINES, this.edges, gl.UNSIGNED_INT, 0);
  }

  private place(name: string): WebGLUniformLocation | null {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name)!;
  }

  private drawSheet(): void {
    const { about, picture, look } = this;
    const pen = this.sheet.getContext("2d");
    if (!pen || !about || !picture) return;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [this.sheet.width / scale, this.sheet.height / scale];
    const { low, high } = about;
    const x = (value: number) => ((value - low[0]) / (high[0] - low[0])) * width;
    const y = (value: number) => height - ((value - low[1]) / (high[1] - low[1])) * height;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.neuron !== null) this.drawNeuron(pen, x, y);
    if (look.points) drawPoints(pen, about, x, y, look.dark);
    if (this.region >= 0) {
      pen.strokeStyle = look.dark ? "#fff" : "#101828";
      pen.lineWidth = 2;
      pen.stroke(this.path(this.region, x, y));
    }
  }

  private path(region: number, x: (v: number) => number, y: (v: number) => number): Path2D {
    const { corners, starts } = this.picture!;
    const path = new Path2D();
    for (let i = starts[region]; i < starts[region + 1]; i++) path.lineTo(x(corners[2 * i]), y(corners[2 * i + 1]));
    path.closePath();
    return path;
  }

  /** Where a neuron is active, and the bent line at which that changes. */
  private drawNeuron(pen: CanvasRenderingContext2D, x: (v: number) => number, y: (v: number) => number): void {
    const { corners, counts, starts, sides } = this.picture!;
    pen.fillStyle = this.look.dark ? "rgb(255 255 255 / 0.16)" : "rgb(16 24 40 / 0.13)";
    for (let region = 0; region < counts.length; region++) {
      if (this.pieceOf(region) > 0) pen.fill(this.path(region, x, y));
    }
    pen.strokeStyle = this.look.dark ? "#ffd166" : "#c01574";
    pen.lineWidth = 3;
    pen.lineCap = "round";
    pen.beginPath();
    for (let region = 0; region < counts.length; region++) {
      const [from, to] = [starts[region], starts[region + 1]];
      for (let i = from; i < to; i++) {
        if (sides[i] !== this.neuron) continue;
        const j = i + 1 < to ? i + 1 : from;
        pen.moveTo(x(corners[2 * i]), y(corners[2 * i + 1]));
        pen.lineTo(x(corners[2 * j]), y(corners[2 * j + 1]));
      }
    }
    pen.stroke();
  }

  private pieceOf(region: number): number {
    const { patterns, counts, bits } = this.picture!;
    const size = patterns.length / Math.max(1, counts.length);
    let piece = 0;
    for (let bit = 0; bit < bits; bit++) {
      const at = this.neuron! * bits + bit;
      piece |= ((patterns[region * size + (at >> 3)] >> (at & 7)) & 1) << bit;
    }
    return piece;
  }

  /** How many sides of regions the boundary of a neuron has. */
  boundaryLength(neuron: number): number {
    return this.picture ? this.picture.sides.filter((side) => side === neuron).length : 0;
  }

  // --- to keep --------------------------------------------------------------------------------

  /** As an SVG picture; regions have one colour each, that of their middle. */
  svg(side = 600): string {
    const { picture, about, look } = this;
    const { low, high } = about!;
    const { corners, counts, starts, maps } = picture!;
    const colours = this.colours();
    const bytes = new Uint8Array(colours.buffer);
    const paths: string[] = [];
    for (let region = 0; region < counts.length; region++) {
      let [mx, my] = [0, 0];
      const points: string[] = [];
      for (let i = starts[region]; i < starts[region + 1]; i++) {
        const [px, py] = [corners[2 * i], corners[2 * i + 1]];
        mx += px / counts[region];
        my += py / counts[region];
        const sx = ((px - low[0]) / (high[0] - low[0])) * side;
        const sy = side - ((py - low[1]) / (high[1] - low[1])) * side;
        points.push(`${sx.toFixed(2)},${sy.toFixed(2)}`);
      }
      const value = maps[3 * region] * mx + maps[3 * region + 1] * my + maps[3 * region + 2];
      const flat = look.colouring !== "decision" && look.colouring !== "value";
      const colour = flat ? [...bytes.slice(4 * region, 4 * region + 3)]
        : mixed(soft(look.colouring === "value" ? value / this.size : 0.9 * Math.sign(value)), look.dark);
      paths.push(`<path d="M${points.join("L")}Z" fill="rgb(${colour.join()})"/>`);
    }
    const stroke = look.edges === "none" ? "none" : look.dark ? "#eceef3" : "#1c212d";
    const dots: string[] = [];
    for (let i = 0; look.points && i < about!.points.length; i += 3) {
      const [px, py, label] = about!.points.slice(i, i + 3);
      const sx = ((px - low[0]) / (high[0] - low[0])) * side;
      const sy = side - ((py - low[1]) / (high[1] - low[1])) * side;
      const colour = mixed(1.1 * Math.max(-1, Math.min(1, label)), look.dark).join();
      dots.push(`<circle cx="${sx.toFixed(2)}" cy="${sy.toFixed(2)}" r="3.5" fill="rgb(${colour})" stroke="#fff"/>`);
    }
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 ${side} ${side}">`,
      `<g stroke="${stroke}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,
      ...paths, "</g>", ...dots, "</svg>",
    ].join("\n");
  }
}

function drawPoints(
  pen: CanvasRenderingContext2D, about: Description,
  x: (v: number) => number, y: (v: number) => number, dark: boolean,
): void {
  const { points } = about;
  let most = 1e-9;
  for (let i = 2; i < points.length; i += 3) most = Math.max(most, Math.abs(points[i]));
  const radius = points.length > 1500 ? 2 : 3.5;
  pen.lineWidth = 1;
  for (let i = 0; i < points.length; i += 3) {
    pen.beginPath();
    pen.arc(x(points[i]), y(points[i + 1]), radius, 0, 2 * Math.PI);
    pen.fillStyle = `rgb(${mixed((1.15 * points[i + 2]) / most, dark).join(" ")})`;
    pen.fill();
    pen.strokeStyle = dark ? "#0d0f13" : "#fff";
    pen.stroke();
  }
}

/** As the shader's ramp. */
function soft(t: number): number {
  return Math.sign(t) * (1 - Math.exp(-1.2 * Math.abs(t)));
}

function mixed(t: number, dark: boolean): number[] {
  const { low, middle, high } = COLOURS[dark ? "dark" : "light"];
  const end = t < 0 ? low : high;
  const s = Math.min(1.2, Math.abs(t));
  return middle.map((part, i) => Math.round(Math.max(0, Math.min(255, part + s * (end[i] - part)))));
}

/** 16 strengths of 64 directions. */
function gradientTable(dark: boolean): Uint32Array {
  const table = new Uint32Array(16 * 64);
  const bytes = new Uint8Array(table.buffer);
  for (let i = 0; i < table.length; i++) {
    const [strength, turn] = [Math.floor(i / 64) / 15, ((i % 64) / 64) * 2 * Math.PI];
    const lightness = dark ? 0.24 + 0.42 * strength : 0.96 - 0.3 * strength;
    bytes.set([...oklch(lightness, 0.02 + 0.13 * strength, turn), 255], 4 * i);
  }
  return table;
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "WebGL");
  return program;
}
