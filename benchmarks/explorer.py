"""How long the explorer's page takes to open, and how fluidly it moves, without a graphics processor.

Run it with ``python -m benchmarks.explorer``; it needs playwright and chromium.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from tropicell import Box, Network, enumerate_regions, explore

SIZES = [2, 170, 170, 170, 170, 1]
ARGUMENTS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
ZOOM = """async () => {
  const canvas = document.getElementById("regions"), frames = 90, start = performance.now();
  for (let i = 0; i < frames; i++) {
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -8, clientX: 400, clientY: 400, cancelable: true }));
    await new Promise(requestAnimationFrame);
  }
  return (1000 * frames) / (performance.now() - start);
}"""

PAN = """async () => {
  const canvas = document.getElementById("regions"), frames = 90, start = performance.now();
  const send = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, {
    pointerId: 1, clientX: x, clientY: y, button: 0, buttons: 1, bubbles: true, isPrimary: true,
  }));
  const before = tropicell.view.x;
  send("pointerdown", 600, 400);
  for (let i = 0; i < frames; i++) {
    send("pointermove", 600 - 3 * i, 400 + 100 * Math.sin(i / 10));
    await new Promise(requestAnimationFrame);
  }
  send("pointerup", 330, 400);
  if (tropicell.view.x === before) throw new Error("the picture did not move");
  return (1000 * frames) / (performance.now() - start);
}"""


def main() -> None:
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairwise(SIZES)]
    biases = [rng.normal(size=n) * 0.5 for n in SIZES[1:]]
    regions = enumerate_regions(Network.mlp(weights, biases), Box(-10, 10))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        start = time.perf_counter()
        file = explore(regions, Path(folder) / "page.html")
        size = file.stat().st_size
        print(
            f"{len(regions):,} regions, {size / len(regions):.1f} bytes each, written in {time.perf_counter() - start:.1f} s"
        )
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        print(f"opened and drawn in {time.perf_counter() - start:.1f} s")
        print(f"{page.evaluate(ZOOM):.0f} frames a second while zooming")
        print(f"{page.evaluate(PAN):.0f} frames a second while panning")
        print(f"{page.evaluate('() => tropicell.drawn.cost'):.0f} ms to draw everything anew")
        browser.close()


if __name__ == "__main__":
    main()
