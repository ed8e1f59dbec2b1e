"""Photograph the explorer for its page; run it with ``python docs/make_screenshots.py``.

It needs playwright and chromium. Other pictures are drawn by ``make_pictures.py``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import tropicell as tc
from tropicell.cli.demo import DOMAIN, demo_network

FOLDER = Path(__file__).parent / "images"
ARGUMENTS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


@dataclass(frozen=True)
class Shot:
    """A page, what it shows, how large the screen is, and where the mouse is."""

    name: str
    page: str
    address: str = ""
    size: tuple[int, int] = (1200, 760)
    dark: bool = False
    mouse: tuple[int, int] | None = None


SHOTS = (
    Shot("explorer", "plane", "place=-4,-5", mouse=(520, 300)),
    Shot("explorer-dark", "plane", "colour=value&decision=1", dark=True, mouse=(470, 250)),
    Shot("explorer-phone", "plane", "colour=value&place=1.4,2.2", size=(390, 780)),
    Shot("explorer-surface", "plane", "surface=1&colour=value&panel=0", size=(860, 620)),
    Shot("explorer-cells", "cells", "cut=x2,0.55&edges=layers&panel=0", size=(860, 620)),
    Shot("explorer-side", "side", "colour=value&place=2,3", size=(1280, 640)),
)


def skips_and_plain() -> list[tc.Regions]:
    """The bundled network, and the same weights without its skip connections."""
    network = demo_network()
    layers = [
        tc.Layer(tc.Affine({k: layer.affine.terms[k]}, layer.affine.bias), layer.activation)
        for k, layer in enumerate(network.layers)
    ]
    plain = tc.Network(2, layers, network.output)
    return [tc.enumerate_regions(each, DOMAIN) for each in (network, plain)]


def cells() -> tc.Regions:
    """Of a random network with three inputs."""
    rng = np.random.default_rng(4)
    sizes = (3, 8, 8, 1)
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    biases = [0.5 * rng.normal(size=n) for n in sizes[1:]]
    return tc.enumerate_regions(tc.Network.mlp(weights, biases), tc.Box(-1, 1))


PAGES: dict[str, Callable[[Path], object]] = {
    "plane": lambda path: tc.explore(tc.enumerate_regions(demo_network(), DOMAIN), path),
    "cells": lambda path: tc.explore(cells(), path),
    "side": lambda path: tc.explore(
        skips_and_plain(), path, labels=["with skips", "without"], side_by_side=True
    ),
}


def shoot(browser: Browser, file: Path, shot: Shot) -> None:
    """Write one picture."""
    context = browser.new_context(
        viewport={"width": shot.size[0], "height": shot.size[1]},
        color_scheme="dark" if shot.dark else "light",
        device_scale_factor=2 if shot.size[0] < 500 else 1,
    )
    page = context.new_page()
    page.goto(f"{file.as_uri()}#{shot.address}")
    page.wait_for_selector("html[data-ready]")
    if shot.mouse:
        page.mouse.move(*shot.mouse)
    page.wait_for_timeout(500)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.save(FOLDER / f"{shot.name}.png", optimize=True)  # a palette would show as steps
    print(f"{shot.name}.png")
    context.close()


def main() -> None:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for name, write in PAGES.items():
            write(Path(folder) / f"{name}.html")
        for shot in SHOTS:
            shoot(browser, Path(folder) / f"{shot.page}.html", shot)
        browser.close()


if __name__ == "__main__":
    main()
