"""Draw the images of the pages; run it with ``python docs/make_pictures.py``."""

from __future__ import annotations

import os
import re
import runpy
import warnings
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from shutil import which

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import tropicell as tc
from tropicell import plotting
from tropicell.cli.demo import DOMAIN, demo_network
from tropicell.network.shadow import shadow_of
from tropicell.playground import keep
from tropicell.playground.settings import Settings
from tropicell.playground.training import Training

mpl.use("Agg")

HERE = Path(__file__).parent
FOLDER = HERE / "images"


def random_network(sizes: list[int], seed: int, **options: object) -> tc.Network:
    """A network with normally distributed weights."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairs]
    return tc.Network.mlp(weights, [rng.normal(size=n) for _, n in pairs], **options)


def walkthrough(bias: list[float]) -> tc.Network:
    """The network of the paper's walkthrough with one of two biases of layer 2."""
    weights = [[[-4, 1], [-4, -1]], [[-8, 3], [-21 / 4, 19 / 4]], [[1, 1]]]
    return tc.Network.mlp(weights, [[2, 3], bias, [0]])


def save(axes: object, name: str) -> None:
    """Write the figure of some axes as a small PNG."""
    ax = np.ravel(axes)[0]
    buffer = BytesIO()
    ax.figure.savefig(buffer, dpi=90)
    small = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(FOLDER / f"{name}.png", optimize=True)
    print(f"{name}.png")


def from_page(name: str, blocks: slice) -> object:
    """The axes that the Python blocks of a page draw on."""
    page = (HERE / name).read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[blocks]
    names: dict[str, object] = {}
    # The page does not write it: a figure that is drawn again in another size is laid out worse.
    exec("".join(code).replace("axes.figure.savefig", "str"), names)
    return names["axes"]


def from_gallery(name: str) -> object:
    """The axes of an example's first picture."""
    plt.close("all")
    with warnings.catch_warnings(action="ignore"):
        runpy.run_path(str(HERE.parent / "examples" / "gallery" / f"plot_{name}.py"))
    return plt.figure(plt.get_fignums()[0]).axes


def shadow_of_a_box() -> object:
    """What a network with 784 inputs and 2 neurons in its first layer sees of the pixel box."""
    rng = np.random.default_rng(3)
    network = tc.Network.mlp(
        [rng.normal(size=(2, 784)), rng.normal(size=(9, 2)), rng.normal(size=(1, 9))],
        [[130.0, 200.0], 250 * rng.normal(size=9), [0.0]],
    )
    shadow = shadow_of(network)
    assert shadow is not None
    # The zonotope's corners: the sums of all columns that point to one side, for every side.
    angles = np.linspace(0, 2 * np.pi, 720)
    sides = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ shadow.rows > 0
    outline = sides @ shadow.rows.T
    low, high = outline.min(axis=0), outline.max(axis=0)
    window = tc.Box(low - 60, high + 60)
    ax = plotting.plot_regions(tc.enumerate_regions(shadow.network), window=window)
    ax.add_patch(plt.Rectangle(tuple(low), *(high - low), fill=False, ls="--", ec="0.25"))
    ax.plot(*outline.T, color="black", lw=2)
    images = (rng.random((300, 784)) < rng.random((300, 1))).astype(float)
    ax.plot(*(images @ shadow.rows.T).T, ".", color="black", ms=3)
    inside = tc.count_regions(network, tc.Box(0, 1), engine="shadow")
    everywhere = tc.count_regions(shadow.network)
    ax.set_title(f"{everywhere} regions in R⁷⁸⁴, {inside} in the pixel box", fontsize=10)
    ax.set_xlabel("a combination of the pixels")
    ax.set_ylabel("another one")
    return ax


def training_gif() -> None:
    """Training with and without skips, for the first screen of the README."""
    settings = Settings(
        widths=(12, 12, 12), skips=((1, 3), (2, 4)), data="spirals", seed=3, samples=160, noise=0.05
    )
    training, shots = Training(settings), []
    for step in np.unique(np.geomspace(6, 766, 28).astype(int)) - 6:
        training.advance(int(step) - training.step)
        networks = {n: (one.plan, one.vector.copy()) for n, one in training.learners.items()}
        shots.append(keep.Shot(training.step, networks, {}))
    content = keep.gif([keep.draw(training, shot, side=290) for shot in shots])
    (FOLDER / "training.gif").write_bytes(content)
    print(f"training.gif: {len(content) / 1000:.0f} kB")


#: Pictures of the live page: name, width and height, dark or not, what it begins with, colours.
PAGES = (
    ("play", (1360, 900), False, {"data": "spirals", "widths": (12, 12, 12)}, "value"),
    ("play-dark", (1360, 900), True, {"data": "circles", "skips": [(0, 3), (1, 3)]}, "pattern"),
    ("play-phone", (400, 840), False, {"data": "moons"}, "decision"),
)


def live_pages() -> None:
    """The live page on a desk, in the dark and on a phone."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=which("chromium"), args=arguments)
        for name, (width, height), dark, options, colours in PAGES:
            player = tc.play(open_browser=False, **options)
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                device_scale_factor=2 if width < 600 else 1,
            )
            tab = context.new_page()
            tab.set_default_timeout(240_000)  # kernels may be compiled first
            tab.goto(player.url)
            tab.wait_for_selector("html[data-step]")
            tab.click(f"#colouring [data-value={colours}]")
            for steps in (5, 10, 20, 40, 80, 120, 120):  # so that there are curves
                player.step(steps)
                tab.wait_for_selector(f"html[data-step='{player.session.training.step}']")
                tab.wait_for_timeout(200)  # for the curves
            box = tab.locator("figure[data-name=skips] .sheet").bounding_box()
            right, down = in_a_large_region(player)
            tab.mouse.move(box["x"] + right * box["width"], box["y"] + down * box["height"])
            tab.wait_for_timeout(400)
            image = Image.open(BytesIO(tab.screenshot())).convert("RGB").quantize(256, kmeans=4)
            image.save(FOLDER / f"{name}.png", optimize=True)
            print(f"{name}.png")
            context.close()
            player.close()
        browser.close()


def in_a_large_region(player: tc.Player) -> tuple[float, float]:
    """A point of the middle of the picture to point at, in parts of its sides."""
    data = player.session.training.data
    regions = tc.enumerate_regions(player.network, tc.Box(data.low, data.high))
    middles = np.array([region.vertices.astype(float).mean(axis=0) for region in regions])
    places = (middles - data.low) / (data.high - data.low)
    central = (np.abs(places - 0.5) < 0.25).all(axis=1)
    right, up = places[np.argmax(np.where(central, regions.volumes, 0))]
    return float(right), 1 - float(up)


def bunnies() -> None:
    """Two networks that others have trained, from the folder TROPICELL_MODELS, as meshes."""
    models = Path(os.environ.get("TROPICELL_MODELS", ""))
    names = ("bunny_3d_3x16", "bunny_3d_8x32")
    if not all((models / f"{name}.npz").exists() for name in names):
        print("bunny-mesh.png stays as it is: TROPICELL_MODELS names no folder with these networks")
        return
    figure = plt.figure(figsize=(9, 4.6), layout="constrained")
    for k, name in enumerate(names):
        mesh = tc.surface_mesh(tc.load(models / f"{name}.npz"), tc.Box(-1, 1))
        axes = figure.add_subplot(1, 2, k + 1, projection="3d")
        plotting.plot_mesh(mesh, axes, color="height", edges=k == 0)
        axes.view_init(elev=12, azim=35, vertical_axis="y")
        axes.set_box_aspect(np.ptp(mesh.vertices, axis=0)[[2, 0, 1]], zoom=1.25)
        closed = "watertight" if mesh.is_watertight else "not closed"
        axes.set_title(f"{name}: {len(mesh):,} polygons, {closed}", fontsize=10)
    save(figure.axes[0], "bunny-mesh")


def main() -> None:
    """All pictures."""
    training_gif()
    live_pages()
    save(shadow_of_a_box(), "shadow")
    save(from_page("start.md", slice(0, 6, 5)), "start")  # PyTorch, and the picture
    save(from_page("how-to/slices.md", slice(2)), "plane")
    save(from_page("how-to/faces.md", slice(4)), "faces")
    save(from_page("how-to/topology.md", slice(3)), "topology")
    save(from_gallery("training_film"), "training")
    save(from_gallery("surface_mesh"), "surface-mesh")
    bunnies()
    for name in ("merged", "near", "pruned", "robustness", "tropical"):
        save(from_gallery(name), name)
    regions = tc.enumerate_regions(demo_network(), DOMAIN)
    for color in ("pattern", "value", "gradient", "area", "neighbours"):
        save(plotting.plot_regions(regions, color=color), f"regions-{color}")
    save(plotting.plot_boundaries(regions), "boundaries")
    save(plotting.plot_surface(regions), "surface")

    classifier = random_network([2, 8, 8, 2], seed=2)
    everywhere = tc.enumerate_regions(classifier)
    points = np.random.default_rng(0).normal(size=(80, 2))
    labels = classifier(points).argmax(axis=1)
    window = tc.Box(-4, 4)
    ax = plotting.plot_regions(everywhere, window=window, points=points, labels=labels)
    save(plotting.plot_decision_boundary(everywhere, ax, window=window), "decision-boundary")

    curve = random_network([1, 8, 8, 2], seed=4)
    save(plotting.plot_function(curve, window=tc.Box(-3, 3)), "function")
    save(plotting.plot_slices(random_network([3, 6, 6, 1], seed=1), tc.Box(-2, 2)), "slices")
    save(plotting.plot_walkthrough(walkthrough([3, -11 / 4]), "11|10"), "walkthrough")
    save(plotting.plot_walkthrough(walkthrough([-4, 1]), "11|10"), "walkthrough-printed")


if __name__ == "__main__":
    main()
