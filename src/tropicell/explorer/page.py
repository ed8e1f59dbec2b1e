"""The page: HTML, CSS, JavaScript and data in one file that needs no server and no network."""

from __future__ import annotations

import json
import re
import webbrowser
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import path_of
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError
from tropicell.explorer.data import check, encode, first_view, frame, outline
from tropicell.regions.regions import Regions


def explore(
    regions: Regions | Sequence[Regions],
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    points: ArrayLike | None = None,
    side_by_side: bool = False,
    open_browser: bool = False,
    progress: bool | None = None,
) -> Path:
    """Write a page to look at regions: pan, zoom, hover, search, colours, layers, films.

    Parameters
    ----------
    regions : Regions or sequence of Regions
        Of networks with 2 inputs. Several are the pictures of a film, for example one network
        at several epochs. Unbounded regions are cut off by a frame around all corners.
    path : str or Path
        Where to write the HTML file. It needs nothing but itself.
    labels : sequence of str, optional
        A name for each picture; default: 1, 2, ….
    points : array_like, shape (points, 2), optional
        Data points that are drawn on top.
    side_by_side : bool
        Show two Regions beside each other, linked: moving, choosing and setting one does the same
        in the other. For example a network with and without its skip connections.
    open_browser : bool
        Open the page when it is written.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidInputError
        If a network has not 2 inputs, or there is nothing to draw.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore(enumerate_regions(network, Box(-1, 1)), folder + "/page.html").name
    'page.html'
    """
    write = _beside if side_by_side else page
    text = write(regions, labels=labels, points=points, progress=progress)
    file = path_of(path)
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    if open_browser:
        webbrowser.open(file.absolute().as_uri())
    return file


def page(
    regions: Regions | Sequence[Regions],
    *,
    labels: Sequence[str] | None = None,
    points: ArrayLike | None = None,
    progress: bool | None = None,
) -> str:
    """The page as text; parameters are those of `explore`."""
    pictures = [regions] if isinstance(regions, Regions) else list(regions)
    if not pictures:
        raise InvalidInputError("expected regions to explore, got an empty list")
    names = [str(i + 1) for i in range(len(pictures))] if labels is None else list(labels)
    if len(names) != len(pictures):
        raise InvalidInputError(f"there are {len(pictures)} Regions but {len(names)} labels")
    for each in pictures:
        check(each)
    unbounded = [each for each in pictures if not each.bounded.all()]
    border = frame(unbounded) if unbounded else None
    shapes = [outline(each, border) for each in pictures]
    extents = np.stack([shape.extent for shape in shapes])
    low, high = extents[:, 0].min(axis=0), extents[:, 1].max(axis=0)
    centre, scale = (low + high) / 2, float((high - low).max() / 2)
    blocks = []
    about: dict[str, Any] = {
        "centre": centre.tolist(),
        "scale": scale,
        "low": low.tolist(),
        "high": high.tolist(),
        "first": first_view(pictures, np.stack([low, high])).tolist(),
        "points": _points(points).tolist(),
        "pictures": [],
    }
    with bar_of(sum(map(len, pictures)), " regions", progress) as bar:
        for each, shape, name in zip(pictures, shapes, names, strict=True):
            facts, block = encode(each, shape, centre=centre, scale=scale, label=str(name), bar=bar)
            about["pictures"].append(facts)
            blocks.append(block)
    title = f"{len(pictures[0]):,} linear regions"
    if len(pictures) > 1:
        title = f"{len(pictures)} × linear regions"
    return _assemble(title, about, blocks)


def _beside(
    regions: Regions | Sequence[Regions],
    *,
    labels: Sequence[str] | None = None,
    points: ArrayLike | None = None,
    progress: bool | None = None,
) -> str:
    """Two pages in frames, linked."""
    pair = [] if isinstance(regions, Regions) else list(regions)
    names = ["1", "2"] if labels is None else list(labels)
    if len(pair) != 2 or len(names) != 2:
        raise InvalidInputError("side by side needs two Regions, and two labels if there are any")
    frames = "\n".join(
        f'<figure><figcaption>{escape(str(name))}</figcaption><iframe title="{escape(str(name))}" '
        f'srcdoc="{escape(page(each, points=points, progress=progress))}"></iframe></figure>'
        for each, name in zip(pair, names, strict=True)
    )
    parts = {
        "title": escape(" / ".join(map(str, names))),
        "frames": frames,
        "script": _read("assets/side.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("side.html"))


@dataclass(frozen=True)
class Inline:
    """The page in a frame, which notebooks show.

    Attributes
    ----------
    html : str
        The page.
    height : int
        Height of the frame in pixels.
    """

    html: str
    height: int

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="Tropicell explorer" srcdoc="{escape(self.html)}" width="100%" '
            f'height="{self.height}" style="border:0" sandbox="allow-scripts allow-downloads">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"Inline(a page of {len(self.html):,} characters)"


def _points(points: ArrayLike | None) -> NDArray[np.float64]:
    if points is None:
        return np.empty((0, 2))
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.isfinite(array).all():
        raise InvalidInputError(f"expected finite points of shape (points, 2), got {array.shape}")
    return array


def _assemble(title: str, about: dict[str, Any], blocks: list[bytes]) -> str:
    # "<" is escaped, so no text of a model can end the script element.
    header = json.dumps(about, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    data = "\n".join(
        f'<script type="application/octet-stream;base64" id="picture-{i}">'
        f"{b64encode(block).decode()}</script>"
        for i, block in enumerate(blocks)
    )
    parts = {
        "title": escape(title),
        "style": _read("assets/explorer.css"),
        "about": header,
        "data": data,
        "script": _read("assets/explorer.js"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def _read(name: str) -> str:
    return (files("tropicell.explorer") / name).read_text(encoding="utf-8")
