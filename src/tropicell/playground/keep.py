"""What a run leaves behind: a film, pictures that move, a script, a notebook, a network."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError, require
from tropicell.explorer.page import page
from tropicell.importers.files import save
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.playground.frames import MOST_REGIONS
from tropicell.playground.settings import Settings
from tropicell.playground.training import Learner, Plan, Training
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import enumerate_regions

#: What can be kept, and the file that it becomes.
KEPT = {
    "film": "film.html",
    "gif": "training.gif",
    "mp4": "training.mp4",
    "script": "training.py",
    "notebook": "training.ipynb",
    "network": "network.npz",
}

#: Colours of the pictures, as on the page: low, middle, high values; pixels of a picture's side.
LOW, MIDDLE, HIGH = (47, 109, 180), (246, 244, 239), (221, 120, 41)
_INK, _LINE, _PAPER, _SIDE = (38, 44, 58), (96, 104, 122), (255, 255, 255), 320

#: Shades of either side.
_BANDS = 6

#: Pictures of a GIF or MP4, and how long one of them is seen.
_MOST_PICTURES, _MILLISECONDS = 120, 80

#: How often the last picture of an MP4 is shown again, so that one sees it: a second and a half.
_STILL = 1500 // _MILLISECONDS

#: Regions of all pictures of a film together: about 30 MB; of more, pictures are left out.
_MOST_FILM = 500_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture of a film: the networks of a run at one step."""

    step: int
    networks: dict[str, tuple[Plan, FloatArray]]
    losses: dict[str, float]


def keep(
    what: str, training: Training, shots: Sequence[Shot], colouring: str, progress: Progress
) -> tuple[str, bytes]:
    """A file's name and its content.

    Parameters
    ----------
    what : str
        One of `KEPT`.
    training : Training
    shots : sequence of Shot
        What was recorded; films need it.
    colouring : str
        Of pictures: ``"decision"``, ``"pattern"``, or by value.
    progress : callable
        Is told how many pictures are done, of how many.
    """
    name = KEPT[what]
    if what in ("script", "notebook"):
        text = script(training) if what == "script" else notebook(training)
        return name, text.encode()
    if what == "network":
        return name, _npz(training.network())
    if not shots:
        raise InvalidInputError("there is no film yet: record some of the training first")
    if what == "film":
        return name, film(training, shots, progress).encode()
    if what == "mp4":
        require_mp4()  # before all pictures are drawn
    images = _images(training, shots, colouring, progress, bands=what == "gif")
    return name, gif(images) if what == "gif" else _mp4(images)


def film(training: Training, shots: Sequence[Shot], progress: Progress) -> str:
    """The recorded pictures as one page of the explorer, with a slider for the time.

    If the network without skips was there all the time, both are beside each other. Of very many
    regions every second, third, … picture is taken, so that the page stays small.
    """
    names = _names(shots)
    ends = [_regions(*shot.networks[n], training) for shot in (shots[0], shots[-1]) for n in names]
    shots = _thinned(shots, len(shots) * sum(map(len, ends)) // 2, _MOST_FILM)
    films: list[list[Regions]] = [[] for _ in names]
    for done, shot in enumerate(shots):
        progress(done, len(shots))
        for name, regions in zip(names, films, strict=True):
            regions.append(_regions(*shot.networks[name], training))
    data = training.data
    classes = None if training.settings.learns_numbers else data.y.astype(int)
    shown: dict[str, Any] = {"points": data.x, "point_labels": classes} if len(data.x) else {}
    shown |= {"settings": {"colour": "value"}, "progress": False}
    moments = [f"step {shot.step:,}" for shot in shots]
    if len(films) == 1:
        return page(films[0], labels=moments, **shown)
    sides = ["with skips", "without skips"]
    return page(films, side_by_side=True, labels=sides, moments=moments, **shown)


def _names(shots: Sequence[Shot]) -> list[str]:
    """The networks that were there all the time."""
    return [name for name in ("skips", "plain") if all(name in shot.networks for shot in shots)]


def _regions(plan: Plan, vector: FloatArray, training: Training) -> Regions:
    """All regions of a recorded network in the box of the data; at most as many as on the page."""
    box = Box(training.data.low, training.data.high)
    return enumerate_regions(
        plan.network(vector), box, engine="cells", max_regions=MOST_REGIONS, progress=False
    )


def _thinned(shots: Sequence[Shot], size: int, most: int) -> list[Shot]:
    """Every n-th picture and the last one, if all of them are too large together."""
    stride = max(1, -(-size // most))
    return [*shots[:-1:stride], shots[-1]]


def _images(
    training: Training,
    shots: Sequence[Shot],
    colouring: str,
    progress: Progress,
    *,
    bands: bool = True,
) -> list[Any]:
    """All pictures, thinned out to so many that a file stays small."""
    chosen, names = _thinned(shots, len(shots), _MOST_PICTURES), _names(shots)
    pictures = []
    for done, shot in enumerate(chosen):
        progress(done, len(chosen))
        networks = {name: shot.networks[name] for name in names}
        pictures.append(draw(training, replace(shot, networks=networks), colouring, bands=bands))
    return pictures


def draw(
    training: Training,
    shot: Shot,
    colouring: str = "value",
    side: int = _SIDE,
    *,
    bands: bool = True,
) -> Any:
    """The networks of a shot beside each other, as an image of Pillow.

    Values are drawn in bands for a GIF, which is ten times smaller than with every shade.
    """
    pil: Any = require("PIL.Image", extra="play", why="drawing pictures")
    drawing: Any = require("PIL.ImageDraw", extra="play", why="drawing pictures")
    room, top = side // 20, side // 9
    width = len(shot.networks) * (side + room) + room
    sheet = pil.new("RGB", (width, side + top + room), _PAPER)
    pen = drawing.Draw(sheet)
    for place, (name, (plan, vector)) in enumerate(shot.networks.items()):
        regions = _regions(plan, vector, training)
        image = _plane(training, plan, vector, regions, colouring, 2 * side, bands=bands)
        left = room + place * (side + room)
        sheet.paste(image.resize((side, side), pil.Resampling.LANCZOS), (left, top))
        title = {"skips": "with skips" if plan.skips else "network", "plain": "without skips"}
        text = f"{title[name]}: {len(regions):,} regions"
        pen.text((left, top * 0.22), text, fill=_INK, font_size=top * 0.46)
    text = f"step {shot.step:,}"
    size = top * 0.38
    pen.text((width - room, top * 0.27), text, fill=(120, 126, 138), font_size=size, anchor="ra")
    return sheet


def _plane(
    training: Training,
    plan: Plan,
    vector: FloatArray,
    regions: Regions,
    colouring: str,
    side: int,
    *,
    bands: bool,
) -> Any:
    """One network in its box: values at every pixel, exact regions as lines, and the points."""
    pil: Any = require("PIL.Image", extra="play", why="drawing pictures")
    drawing: Any = require("PIL.ImageDraw", extra="play", why="drawing pictures")
    low, high = training.data.low, training.data.high
    axes = [
        low[i] + (np.arange(side // 2) + 0.5) / (side // 2) * (high[i] - low[i]) for i in (0, 1)
    ]
    x, y = np.meshgrid(axes[0], axes[1][::-1])
    points = np.column_stack([x.ravel(), y.ravel()])
    embedding = None if plan.embedding is None else plan.network(vector).float_embedding
    inside = points if embedding is None else embedding(points)
    _, slopes, out = Learner(plan, vector).forward(inside)
    if colouring == "pattern":
        keys = np.concatenate(slopes, axis=1) @ np.random.default_rng(0).normal(
            size=sum(plan.widths[1:-1])
        )
        _, index = np.unique(keys.round(9), return_inverse=True)
        colours = np.random.default_rng(1).uniform(150, 245, size=(index.max() + 1, 3))[index]
    else:
        value = out[:, 0] if out.shape[1] == 1 else out[:, 1] - out[:, 0]
        size = max(float(np.quantile(np.abs(value), 0.7)), 1e-9)
        share = np.sign(value) * (1 - np.exp(-1.2 * np.abs(value) / size))
        if bands:
            share = (np.floor(_BANDS * share) + 0.5) / _BANDS
        colours = ramp(np.sign(value) * 0.66 if colouring == "decision" else share)
        above = (value > 0).reshape(side // 2, side // 2)
        edge = np.zeros_like(above)
        edge[:, 1:] |= above[:, 1:] != above[:, :-1]
        edge[1:] |= above[1:] != above[:-1]
        colours[edge.ravel()] = _INK
    pixels = colours.reshape(side // 2, side // 2, 3).astype(np.uint8)
    image = pil.fromarray(pixels).resize((side, side), pil.Resampling.NEAREST)
    pen = drawing.Draw(image)
    scale = side / (high - low)
    corners = regions.corners
    flat = (corners.values[:, :2].astype(np.float64) - low) * scale
    flat[:, 1] = side - flat[:, 1]
    for row in range(len(corners)):
        first = corners.ends[row - 1] if row else 0
        ring = flat[first : corners.ends[row]]
        pen.line([*map(tuple, ring.tolist()), tuple(ring[0].tolist())], fill=_LINE, width=1)
    data = (training.data.x - low) * scale
    colours = ramp(np.clip(training.data.y / span(training.data.y), -1, 1) * 1.25)
    for (px, py), colour in zip(data.tolist(), colours.astype(int).tolist(), strict=True):
        spot = (px - 5, side - py - 5, px + 5, side - py + 5)
        pen.ellipse(spot, fill=tuple(colour), outline=_PAPER, width=2)
    return image


def span(values: FloatArray) -> float:
    """The value at which a colour is strongest: beyond it are a few only."""
    if not values.size:
        return 1.0
    return float(max(np.quantile(np.abs(values), 0.98), 1e-9))


def ramp(values: FloatArray) -> NDArray[np.float64]:
    """Colours from blue over paper to orange for values from -1 to 1.

    Examples
    --------
    >>> ramp(np.array([-1.0, 0.0, 1.0])).astype(int).tolist()
    [[47, 109, 180], [246, 244, 239], [221, 120, 41]]
    """
    t = np.clip(values, -1.25, 1.25)[:, None]
    ends = np.where(t < 0, np.array(LOW), np.array(HIGH))
    mixed = np.array(MIDDLE) + np.abs(t) * (ends - np.array(MIDDLE))
    return np.asarray(np.clip(mixed, 0, 255))


def gif(images: Sequence[Any]) -> bytes:
    """Images of Pillow, one after the other, as the bytes of a GIF."""
    pil: Any = require("PIL.Image", extra="play", why="a GIF")
    # one palette for all of them, or colours would flicker
    some = images[:: max(1, len(images) // 4)]
    sheet = pil.new("RGB", (max(i.width for i in some), sum(i.height for i in some)))
    at = 0
    for image in some:
        sheet.paste(image, (0, at))
        at += image.height
    palette = sheet.quantize(64, kmeans=4)
    frames = [image.quantize(palette=palette, dither=pil.Dither.NONE) for image in images]
    stream = io.BytesIO()
    times = [_MILLISECONDS] * (len(frames) - 1) + [1500]
    frames[0].save(
        stream,
        "GIF",
        save_all=True,
        append_images=frames[1:],
        duration=times,
        loop=0,
        optimize=True,
    )
    return stream.getvalue()


def require_mp4() -> Any:
    """The library that writes MP4 films; says how to install it if it is not there."""
    return require("imageio_ffmpeg", extra="mp4", why="an MP4 film (a GIF needs nothing more)")


def _mp4(images: Sequence[Any]) -> bytes:
    """Images of Pillow, one after the other, as the bytes of an MP4 (H.264)."""
    ffmpeg = require_mp4()
    width, height = (size - size % 2 for size in images[0].size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        rate = 1000 / _MILLISECONDS
        writer = ffmpeg.write_frames(
            str(path), (width, height), fps=rate, macro_block_size=2, ffmpeg_log_level="error"
        )
        writer.send(None)
        for image in [*images, *[images[-1]] * _STILL]:
            writer.send(image.crop((0, 0, width, height)).tobytes())
        writer.close()
        return path.read_bytes()


_GIVEN_IMPORTS = """\
import base64
import tempfile
from pathlib import Path

import tropicell as tc
"""

#: The network that was loaded, as it was then; `network.npz` is the one that it has become.
_GIVEN = '''given = """
{content}
"""  # the network that was loaded, as an npz file
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "given.npz"
    file.write_bytes(base64.b64decode(given))
    training = Training(settings, tc.load(file))'''

_TEXT = '''"""Repeats a run of `tropicell play`: the same data, weights and batches."""

{imports}
from tropicell import Box, count_regions, enumerate_regions
from tropicell.playground.settings import Settings
from tropicell.playground.training import Training

settings = Settings(
{settings}
)
{begin}
{run}

box = Box(training.data.low, training.data.high)
for name in training.learners:
    network = training.network(name)
    regions = enumerate_regions(network, box)
    print(name, network, training.measures(name))
    print(f"  {{len(regions)}} regions in the box, {{count_regions(network)}} over R²")
'''


def script(training: Training) -> str:
    """A Python script that repeats a run.

    Examples
    --------
    >>> text = script(Training(Settings(seed=7)))
    >>> "seed=7" in text
    True
    """
    lines = _arguments(training.first_settings, Settings())
    begin, imports = "training = Training(settings)", ""
    if training.given is not None:
        imports = _GIVEN_IMPORTS
        begin = _GIVEN.format(content="\n".join(_wrapped(_npz(training.given))))
    run, at, settings = [], 0, training.first_settings
    for step, name, arguments in training.events:
        if step > at:
            run.append(f"training.advance({step - at})")
            at = step
        if name == "change":
            changes = _arguments(arguments[0], settings).replace("\n    ", " ").strip().rstrip(",")
            run.append(f"training.change(replace(training.settings, {changes}))")
            settings = arguments[0]
        else:
            run.append(f"training.{name}({', '.join(map(repr, arguments))})")
    if training.step > at:
        run.append(f"training.advance({training.step - at})")
    if any(name == "change" for _, name, _ in training.events):
        imports = "from dataclasses import replace\n\n" + imports
    text = _TEXT.format(imports=imports, settings=lines, begin=begin, run="\n".join(run))
    return text.replace('"""\n\n\nfrom', '"""\n\nfrom')


def _npz(network: Network) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        save(network, path)
        return path.read_bytes()


def _wrapped(content: bytes) -> list[str]:
    """Bytes as lines of text."""
    text = base64.b64encode(content).decode()
    return [text[at : at + 96] for at in range(0, len(text), 96)]


def _arguments(settings: Settings, base: Settings) -> str:
    """What differs from other settings, one line each."""
    changed = settings.differences(base)
    return (
        "\n".join(f"    {name}={value!r}," for name, value in changed.items()) or "    # defaults"
    )


def notebook(training: Training) -> str:
    """The same as a notebook, with a picture."""
    text = script(training)
    code = text.partition('"""\n\n')[2]
    draw_it = (
        "import matplotlib.pyplot as plt\n\nfrom tropicell.plotting import plot_regions\n\n"
        "plot_regions(enumerate_regions(training.network(), box), color='value')\nplt.show()"
    )
    cells = [
        {
            "cell_type": "markdown",
            "metadata": {},
            "id": "about",
            "source": "# A run of `tropicell play`\n\nThe same data, weights and batches.",
        },
        *(
            {
                "cell_type": "code",
                "metadata": {},
                "id": f"cell-{number}",
                "outputs": [],
                "execution_count": None,
                "source": source.strip(),
            }
            for number, source in enumerate((code, draw_it))
        ),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1)
