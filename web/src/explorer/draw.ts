// WebGL2: all polygons in one draw call, edges in one (or one a layer).
import { type Colour, layerColour, ramp } from "../common/colours.ts";
import type { Shades } from "./cells.ts";
import type { Picture } from "./picture.ts";
import type { Edges, View } from "./state.ts";

/** How regions are drawn. */
export interface DrawOptions {
  layer: number;
  edges: Edges;
  dark: boolean;
  background: Colour;
}

type BufferName = "corner" | "colour" | "value" | "triangles" | "edges";
type UniformName = "view" | "range" | "mode" | "single";

const VERTEX = `#version 300 es
in vec2 corner;
in vec4 colour;
in float value;
uniform vec4 view;       // factor x, y; offset x, y
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
void main() {
  gl_Position = vec4(corner * view.xy + view.zw, 0.0, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour
uniform vec4 single;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (mode == 2) result = vec4(single.rgb * single.a, single.a);
  else if (mode == 1) result = texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5));
  else result = vColour;
}`;

export class Painter {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly uniforms: Record<UniformName, WebGLUniformLocation | null>;
  private readonly buffers: Record<BufferName, WebGLBuffer>;
  private picture!: Picture;
  private triangleCount = 0;
  private edgeEnds: Uint32Array = new Uint32Array(1);
  shades: Shades = { low: 0, high: 1 };

  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!gl) throw new Error("this page needs WebGL 2, which the browser does not offer");
    this.gl = gl;
    this.program = link(gl, VERTEX, FRAGMENT);
    gl.useProgram(this.program);
    const uniform = (name: UniformName) => gl.getUniformLocation(this.program, name);
    this.uniforms = {
      view: uniform("view"), range: uniform("range"), mode: uniform("mode"), single: uniform("single"),
    };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, ramp());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    this.buffers = {
      corner: gl.createBuffer(), colour: gl.createBuffer(), value: gl.createBuffer(),
      triangles: gl.createBuffer(), edges: gl.createBuffer(),
    };
    this.attribute("corner", 2, gl.FLOAT, false);
    this.attribute("colour", 4, gl.UNSIGNED_BYTE, true);
    this.attribute("value", 1, gl.FLOAT, false);
  }

  private attribute(name: BufferName, size: number, type: number, normalised: boolean): void {
    const { gl } = this;
    const place = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, normalised, 0, 0);
  }

  private fill(name: BufferName, data: AllowSharedBufferSource, target: number = this.gl.ARRAY_BUFFER): void {
    this.gl.bindBuffer(target, this.buffers[name]);
    this.gl.bufferData(target, data, this.gl.STATIC_DRAW);
  }

  show(picture: Picture): void {
    const elements = this.gl.ELEMENT_ARRAY_BUFFER;
    this.picture = picture;
    const triangles = picture.triangles();
    const { pairs, ends } = picture.edges();
    this.fill("corner", picture.corners);
    this.fill("triangles", triangles, elements);
    this.fill("edges", pairs, elements);
    this.triangleCount = triangles.length;
    this.edgeEnds = ends;
  }

  shade(shades: Shades): void {
    const corners = this.picture.sides.length;
    this.shades = shades;
    this.fill("colour", shades.colours ?? new Uint32Array(corners));
    this.fill("value", shades.values ?? new Float32Array(corners));
  }

  /** The zoom of `view` is in device pixels a unit. */
  draw(view: View, { layer, edges, dark, background }: DrawOptions): void {
    const { gl, uniforms, picture } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(background[0] / 255, background[1] / 255, background[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const [fx, fy] = [(2 * view.zoom) / width, (2 * view.zoom) / height];
    const { centre, scale } = picture;
    gl.uniform4f(uniforms.view, scale * fx, scale * fy, (centre[0] - view.x) * fx, (centre[1] - view.y) * fy);
    const { low, high, values } = this.shades;
    gl.uniform2f(uniforms.range, low, 1 / (high - low || 1));
    gl.uniform1i(uniforms.mode, values ? 1 : 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.triangles);
    gl.drawElements(gl.TRIANGLES, this.triangleCount, gl.UNSIGNED_INT, 0);
    const strength = this.edgeStrength(view, layer);
    if (edges === "none" || strength === 0) return;
    gl.uniform1i(uniforms.mode, 2);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.edges);
    const ink: Colour = dark ? [0, 0, 0] : values ? [255, 255, 255] : [40, 40, 60];
    for (let k = edges === "layers" ? 0 : layer; k <= layer; k++) {
      const from = edges === "layers" && k > 0 ? this.edgeEnds[k - 1] : 0;
      const colour = edges === "layers" ? layerColour(k, picture.depth, dark) : ink;
      const alpha = edges === "layers" ? Math.max(strength, 0.5) : 0.6 * strength;
      gl.uniform4f(uniforms.single, colour[0] / 255, colour[1] / 255, colour[2] / 255, alpha);
      gl.drawElements(gl.LINES, 2 * (this.edgeEnds[k] - from), gl.UNSIGNED_INT, 8 * from);
    }
  }

  /** Edges fade, and then vanish, as regions get only a few pixels wide: they would hide all colours. */
  private edgeStrength(view: View, layer: number): number {
    const share = this.edgeEnds[layer] / Math.max(1, this.edgeEnds[this.picture.depth]);
    const drawn = Math.max(1, this.picture.count * share * share);
    const across = (2 * this.picture.scale * view.zoom) / Math.sqrt(drawn);
    return across < 2.5 * (window.devicePixelRatio || 1) ? 0 : Math.min(1, across / 14);
  }

  /** Draw, and say after how many milliseconds everything was drawn. */
  measure(view: View, options: DrawOptions, done: (milliseconds: number) => void): void {
    const { gl } = this;
    const start = performance.now();
    this.draw(view, options);
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    const ask = (): void => {
      if (sync && gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.UNSIGNALED && !gl.isContextLost()) {
        setTimeout(ask);
        return;
      }
      gl.deleteSync(sync);
      done(performance.now() - start);
    };
    setTimeout(ask);
  }
}

export function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "program");
  return program;
}
