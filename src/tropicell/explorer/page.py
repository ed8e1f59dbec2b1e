"""The page: HTML, CSS, JavaScript and data in one file that needs no server and no network."""

from __future__ import annotations

import json
import math
import re
import webbrowser
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import path_of
from tropicell._runtime.progress import bar_of
from tropicell.analysis.meshes import PolygonMesh
from tropicell.errors import InvalidInputError
from tropicell.explorer.data import encode
from tropicell.explorer.mesh import Mesh, solid_of
from tropicell.explorer.shapes import check, first_view, frame, outline
from tropicell.plotting.frame import input_name
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions

#: What one page shows: regions, the pictures of a film, or for each side one of these; or meshes.
Solid = Mesh | PolygonMesh
Shown = Regions | Solid | Sequence[Regions] | Sequence[Solid] | Sequence[Sequence[Regions]]

#: Names of settings that a page can start with, as they are in its address.
SETTINGS = (
    "view",
    "colour",
    "output",
    "edges",
    "layer",
    "time",
    "decision",
    "points",
    "surface",
    "camera",
    "cut",
    "apart",
    "place",
    "panel",
)

#: Height of the frame in a notebook, in pixels.
_HEIGHT = 640


@overload
def explore(
    regions: Shown,
    path: None = ...,
    *,
    labels: Sequence[str] | None = ...,
    points: ArrayLike | None = ...,
    point_labels: ArrayLike | None = ...,
    side_by_side: bool = ...,
    meshes: Solid | Sequence[Solid] = ...,
    image_shape: Sequence[int] | None = ...,
    settings: Mapping[str, object] | None = ...,
    open_browser: bool = ...,
    height: int = ...,
    progress: bool | None = ...,
) -> Inline: ...
@overload
def explore(
    regions: Shown,
    path: str | Path,
    *,
    labels: Sequence[str] | None = ...,
    points: ArrayLike | None = ...,
    point_labels: ArrayLike | None = ...,
    side_by_side: bool = ...,
    meshes: Solid | Sequence[Solid] = ...,
    image_shape: Sequence[int] | None = ...,
    settings: Mapping[str, object] | None = ...,
    open_browser: bool = ...,
    height: int = ...,
    progress: bool | None = ...,
) -> Path: ...


def explore(
    regions: Shown,
    path: str | Path | None = None,
    *,
    labels: Sequence[str] | None = None,
    points: ArrayLike | None = None,
    point_labels: ArrayLike | None = None,
    side_by_side: bool = False,
    meshes: Solid | Sequence[Solid] = (),
    image_shape: Sequence[int] | None = None,
    settings: Mapping[str, object] | None = None,
    open_browser: bool = False,
    height: int = _HEIGHT,
    progress: bool | None = None,
) -> Path | Inline:
    """Write a page to look at regions: pan, zoom, hover, search, colours, layers, films, space.

    Parameters
    ----------
    regions : Regions or sequence of Regions, or Mesh
        Of networks with 2 inputs (or on a `Slice` of two dimensions), which are shown as a plane
        and as a surface over it, or with 3 inputs, which are shown as cells to cut open. Several
        are the pictures of a film, for example one network at several epochs. Unbounded regions
        are cut off by a frame around all corners. Meshes alone are shown in space.
    path : str or Path, optional
        Where to write the HTML file. It needs nothing but itself. Without a path the page comes
        back in a frame that notebooks show.
    labels : sequence of str, optional
        A name for each picture, or for each side; default: 1, 2, ….
    points : array_like, shape (points, inputs), optional
        Data points that are drawn on top.
    point_labels : array_like, shape (points,), optional
        A label for each point; points are coloured by it.
    side_by_side : bool
        Show two or more Regions (or films of the same length) beside each other, with one set of
        controls: they move together, and the same place is chosen in all of them. For example a
        network with and without its skip connections.
    meshes : Mesh or PolygonMesh, or a sequence of them
        Shown together with the cells of a network with 3 inputs.
    image_shape : sequence of int, optional
        On a slice through images: their shape, (height, width) or (channels, height, width); the
        page then shows the image at the mouse. Default: found out from the number of inputs, if
        they can be square images of at least 8 × 8 pixels.
    settings : mapping, optional
        What the page shows at first, with the names that it uses in its address, for example
        ``{"colour": "value", "surface": True}``.
    open_browser : bool
        Open the page when it is written.
    height : int
        Of the frame in a notebook, in pixels.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Returns
    -------
    Path or Inline
        The file; or the page in a frame.

    Raises
    ------
    InvalidInputError
        If a network has neither 2 nor 3 inputs, or there is nothing to draw.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore(enumerate_regions(network, Box(-1, 1)), folder + "/page.html").name
    'page.html'

    Three inputs, cut open across the second one:

    >>> cubes = enumerate_regions(Network.mlp([np.eye(3), [[1.0, 1.0, 1.0]]]), Box(-1, 1))
    >>> explore(cubes, settings={"cut": "x2,0.6", "apart": 0.2})
    Inline(a page of ... characters)
    """
    text = page(
        regions,
        labels=labels,
        points=points,
        point_labels=point_labels,
        side_by_side=side_by_side,
        meshes=meshes,
        image_shape=image_shape,
        settings=settings,
        progress=progress,
    )
    if path is None:
        return Inline(text, height)
    file = path_of(path)
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    if open_browser:
        webbrowser.open(file.absolute().as_uri())
    return file


def page(
    regions: Shown,
    *,
    labels: Sequence[str] | None = None,
    points: ArrayLike | None = None,
    point_labels: ArrayLike | None = None,
    side_by_side: bool = False,
    meshes: Solid | Sequence[Solid] = (),
    image_shape: Sequence[int] | None = None,
    settings: Mapping[str, object] | None = None,
    progress: bool | None = None,
    moments: Sequence[str] | None = None,
) -> str:
    """The page as text; parameters are those of `explore`.

    Of films beside each other, `labels` are the names of the sides, and `moments` those of the
    pictures.
    """
    films, solids = _shown(regions, side_by_side=side_by_side, meshes=meshes)
    pictures = [each for film in films for each in film]
    names = _names(films, labels, side_by_side=side_by_side)
    inputs = _inputs(pictures, solids)
    unbounded = [each for each in pictures if not each.bounded.all()]
    border = frame(unbounded) if unbounded else None
    shapes = [outline(each, border) for each in pictures]
    extents = [shape.extent for shape in shapes]
    extents += [np.stack([m.vertices.min(axis=0), m.vertices.max(axis=0)]) for m in solids]
    low = np.min([extent[0] for extent in extents], axis=0)
    high = np.max([extent[1] for extent in extents], axis=0)
    centre, scale = (low + high) / 2, float((high - low).max() / 2) or 1.0
    blocks = {}
    title = _title(films, solids)
    about: dict[str, Any] = {
        "title": title,
        "inputs": inputs,
        "axes": [input_name(pictures[0].network, k) if pictures else f"x{k + 1}" for k in range(3)],
        "centre": centre.tolist(),
        "scale": scale,
        "low": low.tolist(),
        "high": high.tolist(),
        "first": _first(pictures, np.stack([low, high])).tolist(),
        "image": _image(pictures, image_shape),
        "pictures": [],
        "meshes": [],
        "panes": _numbered(films),
        "names": names if side_by_side else [""],
        "settings": _settings(settings),
        **_points(points, point_labels, inputs),
    }
    inner = (moments or [str(i + 1) for i in range(len(films[0]))]) if side_by_side else names
    with bar_of(sum(map(len, pictures)), " regions", progress) as bar:
        for number, (each, shape) in enumerate(zip(pictures, shapes, strict=True)):
            label = inner[number % len(inner)]
            facts, block = encode(each, shape, centre=centre, scale=scale, label=label, bar=bar)
            about["pictures"].append(facts)
            blocks[f"picture-{number}"] = block
    for number, mesh in enumerate(solids):
        fields, block = mesh.encoded(centre, scale)
        about["meshes"].append({"label": mesh.label, "arrays": fields})
        blocks[f"mesh-{number}"] = block
    return _assemble(title, about, blocks)


def _shown(
    regions: Shown, *, side_by_side: bool, meshes: Solid | Sequence[Solid]
) -> tuple[list[list[Regions]], list[Mesh]]:
    """For each side its film, and the meshes."""
    one = isinstance(meshes, Mesh | PolygonMesh)
    solids = [solid_of(each) for each in (cast(Any, [meshes] if one else meshes))]
    if isinstance(regions, Mesh | PolygonMesh):
        return [[]], [solid_of(regions), *solids]
    if isinstance(regions, Iterable) and not isinstance(regions, (str, Regions)):
        sides: list[Any] = list(regions)
    else:
        sides = [as_regions(regions)]
    if sides and all(isinstance(each, Mesh | PolygonMesh) for each in sides):
        return [[]], [*map(solid_of, sides), *solids]
    if not sides:
        raise InvalidInputError("expected regions to explore, got an empty list")
    if not side_by_side:
        return [sides], solids
    films = [[each] if isinstance(each, Regions) else list(each) for each in sides]
    lengths = {len(film) for film in films}
    if len(films) < 2 or lengths == {0} or len(lengths) > 1:
        raise InvalidInputError(
            "side by side needs two or more Regions, or films of the same length, got "
            f"{len(films)} of lengths {sorted(lengths)}"
        )
    return films, solids


def _names(
    films: list[list[Regions]], labels: Sequence[str] | None, *, side_by_side: bool
) -> list[str]:
    count = len(films) if side_by_side else len(films[0])
    if labels is None:
        return [str(i + 1) for i in range(count)]
    if len(labels) != count:
        what = "sides" if side_by_side else "Regions"
        raise InvalidInputError(f"there are {count} {what} but {len(labels)} labels")
    return list(map(str, labels))


def _inputs(pictures: list[Regions], meshes: list[Mesh]) -> int:
    for each in pictures:
        if not isinstance(each, Regions):
            raise InvalidInputError(f"expected Regions to explore, got {type(each).__name__}")
        check(each)
    found = {each.network.n_inputs for each in pictures}
    if len(found) > 1:
        raise InvalidInputError("pictures of networks with 2 and with 3 inputs need pages apart")
    inputs = found.pop() if found else 3
    if meshes and inputs != 3:
        raise InvalidInputError("meshes are shown with networks of 3 inputs, this one has 2")
    return inputs


def _title(films: list[list[Regions]], meshes: list[Mesh]) -> str:
    if not films[0]:
        return meshes[0].label or f"{len(meshes[0].triangles):,} triangles"
    if len(films) > 1 or len(films[0]) > 1:
        return f"{len(films) * len(films[0])} × linear regions"
    only = films[0][0]
    what = "linear region" if len(only) == 1 else "linear regions"
    return f"{'' if only.complete else 'at least '}{len(only):,} {what}"


def _numbered(films: list[list[Regions]]) -> list[list[int]]:
    length = len(films[0])
    return [list(range(k * length, (k + 1) * length)) for k in range(len(films))]


def _first(pictures: list[Regions], extent: NDArray[np.float64]) -> NDArray[np.float64]:
    return first_view(pictures, extent)[:, :2] if pictures else extent[:, :2]


def _settings(settings: Mapping[str, object] | None) -> dict[str, str]:
    """Settings as an address would have them."""
    found = {}
    for name, value in (settings or {}).items():
        if name not in SETTINGS:
            raise InvalidInputError(
                f"a page has no setting {name!r}; there are {', '.join(SETTINGS)}"
            )
        if isinstance(value, bool):
            found[name] = str(int(value))
        elif isinstance(value, str) or not isinstance(value, Sequence):
            found[name] = str(value)
        else:
            found[name] = ",".join(map(str, value))
    return found


def _image(pictures: list[Regions], shape: Sequence[int] | None) -> dict[str, Any] | None:
    """Of which images the points of a slice are: their shape, and what is black and white."""
    embedding = pictures[0].network.float_embedding if pictures else None
    if embedding is None:
        if shape is not None:
            raise InvalidInputError("image_shape is for regions on a Slice through images")
        return None
    size = len(embedding.offset)
    if shape is None:
        found = _square(size)
        if found is None:
            return None
        channels, height, width = found
    else:
        numbers = [int(n) for n in shape]
        if len(numbers) == 2:
            numbers = [1, *numbers]
        if len(numbers) != 3 or numbers[0] not in (1, 3) or math.prod(numbers) != size:
            raise InvalidInputError(
                f"image_shape: expected (height, width) or (channels, height, width) with 1 or 3 "
                f"channels and {size} numbers in all, got {tuple(shape)}"
            )
        channels, height, width = numbers
    # What the slice goes through: its origin, and one step in each direction.
    anchors = embedding.offset[:, None] + np.column_stack([np.zeros(size), embedding.matrix])
    low, high = float(anchors.min()), float(anchors.max())
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    return {"height": height, "width": width, "channels": channels, "low": low, "high": high}


def _square(size: int) -> tuple[int, int, int] | None:
    for channels in (1, 3):
        side = math.isqrt(size // channels)
        if side >= 8 and channels * side * side == size:
            return channels, side, side
    return None


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


def _points(
    points: ArrayLike | None, labels: ArrayLike | None, inputs: int
) -> dict[str, list[Any]]:
    """Data points, the number of each one's label, and the names of labels."""
    if points is None:
        if labels is not None:
            raise InvalidInputError("point_labels need points")
        return {"points": [], "pointLabels": [], "labelNames": []}
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != inputs or not np.isfinite(array).all():
        raise InvalidInputError(
            f"expected finite points of shape (points, {inputs}), got {array.shape}"
        )
    if labels is None:
        return {"points": array.tolist(), "pointLabels": [], "labelNames": []}
    names, numbers = np.unique(np.ravel(np.asarray(labels)), return_inverse=True)
    if len(numbers) != len(array):
        raise InvalidInputError(f"there are {len(array)} points but {len(numbers)} point_labels")
    return {
        "points": array.tolist(),
        "pointLabels": numbers.tolist(),
        "labelNames": [str(name) for name in names.tolist()],
    }


def _assemble(title: str, about: dict[str, Any], blocks: dict[str, bytes]) -> str:
    # "<" is escaped, so no text of a model can end the script element.
    header = json.dumps(about, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    data = "\n".join(
        f'<script type="application/octet-stream;base64" id="{name}">'
        f"{b64encode(block).decode()}</script>"
        for name, block in blocks.items()
    )
    parts = {
        "title": escape(title),
        "style": _read("assets/explorer.css"),
        "about": header,
        "data": data,
        "script": _read("assets/explorer.js"),
        "size": "volume" if about["inputs"] == 3 else "area",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def _read(name: str) -> str:
    return (files("tropicell.explorer") / name).read_text(encoding="utf-8")
