// Reading what Python has put into the page: base64, deflate, then typed arrays.

const TYPES = {
  float64: Float64Array, float32: Float32Array, int32: Int32Array,
  uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array,
};

export function readAbout() {
  return JSON.parse(document.getElementById("about").textContent);
}

// The arrays of one picture, by name.
export async function readArrays(index, fields) {
  const element = document.getElementById(`picture-${index}`);
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const block = await new Response(stream).arrayBuffer();
  const arrays = {};
  for (const [name, [type, offset, length]] of Object.entries(fields)) {
    arrays[name] = new TYPES[type](block, offset, length);
  }
  return arrays;
}
