// Reading what Python has put into the page: base64, deflate, then typed arrays.

const TYPES = {
  float64: Float64Array, float32: Float32Array, int32: Int32Array,
  uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array,
};

export type Point = [number, number];

/** Numbers of one kind, as Python wrote them. */
export type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

/** Arrays of one picture, by name. */
export type Arrays = Record<string, Numbers>;

/** Where an array is in its block: type, offset in bytes, number of entries. */
export type Field = [keyof typeof TYPES, number, number];

/** A matrix of a layer: from which layer it comes, and under which name its numbers are. */
export interface TermFacts {
  source: number;
  name: string;
  sparse: boolean;
  columns: number;
}

/** What the page knows of a network besides its numbers. */
export interface NetworkFacts {
  inputs: number;
  widths: number[];
  outputs: number;
  names: string[];
  activations: string[];
  terms: TermFacts[][];
}

/** The JSON of an element. */
export function readJson(id: string): unknown {
  return JSON.parse(document.getElementById(id)!.textContent);
}

/** The arrays in the element `id`, by name. */
export async function readArrays(id: string, fields: Record<string, Field>): Promise<Arrays> {
  const text = atob(document.getElementById(id)!.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const block = await new Response(stream).arrayBuffer();
  const arrays: Arrays = {};
  for (const [name, [type, offset, length]] of Object.entries(fields)) {
    arrays[name] = new TYPES[type](block, offset, length);
  }
  return arrays;
}
