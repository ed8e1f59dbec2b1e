// On a slice through images: the image at a point.
import type { Network } from "../common/network.ts";
import { page } from "./state.ts";

/** Draw the image at a point; returns whether there is one. */
export function paintImage(canvas: HTMLCanvasElement, network: Network, point: readonly number[]): boolean {
  const { image } = page;
  if (!image) return false;
  const { height, width, channels, low, high } = image;
  const inputs = network.inputsAt(point);
  if (inputs.length !== height * width * channels) return false;
  [canvas.width, canvas.height] = [width, height];
  const pixels = new ImageData(width, height);
  for (let i = 0; i < height * width; i++) {
    for (let k = 0; k < 3; k++) {
      const value = inputs[channels === 3 ? k * height * width + i : i];
      pixels.data[4 * i + k] = Math.round((255 * (value - low)) / (high - low || 1));
    }
    pixels.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d")!.putImageData(pixels, 0, 0);
  return true;
}
