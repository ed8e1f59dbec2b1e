// WebGL2 in space: triangles with light, lines, a plane that cuts, and what is under the mouse.
import { ramp } from "../common/colours.ts";
import { link } from "./draw.ts";

const VERTEX = `#version 300 es
in vec3 position;
in vec4 colour;
in float value;
in uint owner;
uniform mat4 camera;
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
out vec3 vPlace;
flat out uint vOwner;
void main() {
  gl_Position = camera * vec4(position, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
  vPlace = position;
  vOwner = owner;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
in vec3 vPlace;
flat in uint vOwner;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour, 3: owners
uniform vec4 single;
uniform vec4 plane;      // what is beyond it is cut away
uniform vec3 eye;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (dot(plane.xyz, vPlace) > plane.w) discard;
  if (mode == 3) {
    result = vec4(uvec4(vOwner, vOwner >> 8, vOwner >> 16, vOwner >> 24) & 255u) / 255.0;
    return;
  }
  if (mode == 2) { result = vec4(single.rgb * single.a, single.a); return; }
  vec3 tone = mode == 1 ? texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5)).rgb : vColour.rgb;
  vec3 normal = normalize(cross(dFdx(vPlace), dFdy(vPlace)));
  vec3 towards = normalize(eye - vPlace);
  if (dot(normal, towards) < 0.0) normal = -normal;
  float light = 0.62 + 0.30 * max(0.0, dot(normal, normalize(vec3(0.35, 0.2, 0.9))))
    + 0.16 * max(0.0, dot(normal, towards));
  result = vec4(tone * min(light, 1.08), 1.0);
}`;

/** Triangles and lines with one colour, number and owner for each vertex. */
export interface Batch {
  positions: Float32Array<ArrayBuffer>;
  colours?: Uint32Array<ArrayBuffer>;
  values?: Float32Array<ArrayBuffer>;
  /** What is under the mouse there, from 1 on; 0: nothing. */
  owners?: Uint32Array<ArrayBuffer>;
  triangles: Uint32Array<ArrayBuffer>;
  /** Pairs of vertices, layer after layer; `lineEnds[k]`: so many pairs up to layer k. */
  lines?: Uint32Array<ArrayBuffer>;
  lineEnds?: ArrayLike<number>;
  /** Whether the plane cuts it. */
  cut: boolean;
}

export interface SceneOptions {
  camera: Float32Array;
  eye: readonly number[];
  /** Smallest and largest number of the ramp. */
  low: number;
  high: number;
  /** Points p with a·p > b are cut away: [a, b]. */
  plane: readonly number[] | null;
  /** The colour of the lines of a layer, null if they are not drawn. */
  lines: (layer: number) => readonly [number, number, number, number] | null;
}

interface Loaded {
  batch: Batch;
  arrays: WebGLVertexArrayObject;
  buffers: WebGLBuffer[];
  triangles: WebGLBuffer;
  lines: WebGLBuffer;
}

const UNIFORMS = ["camera", "range", "mode", "single", "plane", "eye"] as const;

export class Scene {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly uniforms: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly loaded = new Map<string, Loaded>();
  private readonly picking: { frame: WebGLFramebuffer; colour: WebGLRenderbuffer; depth: WebGLRenderbuffer };
  private shown = "";
  private owners: Uint32Array | null = null; // of every pixel, as long as the picture stays

  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this page needs WebGL 2, which the browser does not offer");
    this.gl = gl;
    this.program = link(gl, VERTEX, FRAGMENT);
    gl.useProgram(this.program);
    const found = UNIFORMS.map((name) => [name, gl.getUniformLocation(this.program, name)]);
    this.uniforms = Object.fromEntries(found) as Scene["uniforms"];
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, ramp());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.picking = {
      frame: gl.createFramebuffer(), colour: gl.createRenderbuffer(), depth: gl.createRenderbuffer(),
    };
  }

  /** Put something into the scene, in place of what had this name; null takes it out. */
  set(name: string, batch: Batch | null): void {
    const { gl } = this;
    const old = this.loaded.get(name);
    if (old) {
      gl.deleteVertexArray(old.arrays);
      for (const buffer of [...old.buffers, old.triangles, old.lines]) gl.deleteBuffer(buffer);
      this.loaded.delete(name);
    }
    this.owners = null;
    if (batch) this.loaded.set(name, this.load(batch));
  }

  private load(batch: Batch): Loaded {
    const { gl } = this;
    const count = batch.positions.length / 3;
    const arrays = gl.createVertexArray();
    gl.bindVertexArray(arrays);
    const buffers: WebGLBuffer[] = [];
    const attribute = (name: string, data: AllowSharedBufferSource, size: number, type: number): void => {
      const buffer = gl.createBuffer();
      buffers.push(buffer);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      const place = gl.getAttribLocation(this.program, name);
      gl.enableVertexAttribArray(place);
      if (type === gl.UNSIGNED_INT) gl.vertexAttribIPointer(place, size, type, 0, 0);
      else gl.vertexAttribPointer(place, size, type, type === gl.UNSIGNED_BYTE, 0, 0);
    };
    attribute("position", batch.positions, 3, gl.FLOAT);
    attribute("colour", batch.colours ?? new Uint32Array(count), 4, gl.UNSIGNED_BYTE);
    attribute("value", batch.values ?? new Float32Array(count), 1, gl.FLOAT);
    attribute("owner", batch.owners ?? new Uint32Array(count), 1, gl.UNSIGNED_INT);
    const elements = (data: AllowSharedBufferSource): WebGLBuffer => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, data, gl.STATIC_DRAW);
      return buffer;
    };
    const triangles = elements(batch.triangles);
    const lines = elements(batch.lines ?? new Uint32Array());
    gl.bindVertexArray(null);
    return { batch, arrays, buffers, triangles, lines };
  }

  draw(options: SceneOptions): void {
    const { gl, uniforms } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.prepare(options);
    const shown = [...options.camera, ...(options.plane ?? []), gl.drawingBufferWidth, gl.drawingBufferHeight].join();
    if (shown !== this.shown) this.owners = null;
    this.shown = shown;
    for (const { batch, arrays, triangles, lines } of this.loaded.values()) {
      this.cutting(batch, options);
      gl.bindVertexArray(arrays);
      gl.enable(gl.POLYGON_OFFSET_FILL);
      gl.polygonOffset(1, 1);
      gl.uniform1i(uniforms.mode, batch.values ? 1 : 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
      gl.drawElements(gl.TRIANGLES, batch.triangles.length, gl.UNSIGNED_INT, 0);
      gl.disable(gl.POLYGON_OFFSET_FILL);
      if (batch.lines?.length) this.drawLines(batch, lines, options);
    }
    gl.bindVertexArray(null);
  }

  private drawLines({ lineEnds = [] }: Batch, buffer: WebGLBuffer, options: SceneOptions): void {
    const { gl, uniforms } = this;
    gl.uniform1i(uniforms.mode, 2);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    for (let layer = 0, from = 0; layer < lineEnds.length; from = lineEnds[layer++]) {
      const colour = options.lines(layer);
      if (!colour || lineEnds[layer] === from) continue;
      gl.uniform4f(uniforms.single, ...colour);
      gl.drawElements(gl.LINES, 2 * (lineEnds[layer] - from), gl.UNSIGNED_INT, 8 * from);
    }
  }

  private prepare(options: SceneOptions): void {
    const { gl, uniforms } = this;
    gl.uniformMatrix4fv(uniforms.camera, false, options.camera);
    gl.uniform3f(uniforms.eye, options.eye[0], options.eye[1], options.eye[2]);
    gl.uniform2f(uniforms.range, options.low, 1 / (options.high - options.low || 1));
  }

  private cutting(batch: Batch, { plane }: SceneOptions): void {
    const [a, b, c, d] = batch.cut && plane ? plane : [0, 0, 0, 1];
    this.gl.uniform4f(this.uniforms.plane, a, b, c, d);
  }

  /** The owner at a pixel of the canvas (device pixels, from the top left), 0 if there is none. */
  ownerAt(x: number, y: number, options: SceneOptions): number {
    const { gl } = this;
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    if (!this.owners) {
      // All at once: each reading waits until everything is drawn.
      this.owners = new Uint32Array(width * height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.picking.frame);
      this.drawOwners(width, height, options);
      gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(this.owners.buffer));
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    }
    const [column, row] = [Math.floor(x), height - 1 - Math.floor(y)];
    return column >= 0 && column < width ? this.owners[row * width + column] ?? 0 : 0;
  }

  private drawOwners(width: number, height: number, options: SceneOptions): void {
    const { gl, picking } = this;
    gl.bindRenderbuffer(gl.RENDERBUFFER, picking.colour);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, picking.colour);
    gl.bindRenderbuffer(gl.RENDERBUFFER, picking.depth);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT24, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, picking.depth);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.BLEND);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.prepare(options);
    gl.uniform1i(this.uniforms.mode, 3);
    for (const { batch, arrays, triangles } of this.loaded.values()) {
      this.cutting(batch, options);
      gl.bindVertexArray(arrays);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
      gl.drawElements(gl.TRIANGLES, batch.triangles.length, gl.UNSIGNED_INT, 0);
    }
    gl.bindVertexArray(null);
    gl.enable(gl.BLEND);
  }
}
