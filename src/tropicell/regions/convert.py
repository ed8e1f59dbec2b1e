"""Regions in the forms of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell._runtime.memory import no_collection
from tropicell._runtime.plain import html_table
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.patterns import to_characters
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    import geopandas
    import networkx
    import pandas
    import polars
    import pyarrow

    from tropicell.regions.regions import Regions

#: Characters of texts that are written at a time: less than 2**31, for Arrow's strings.
_CHARACTERS = 2**26

#: Columns of tables that are worked out in threads.
_COLUMNS = ("affine_maps", "volumes", "facet_lines")

#: Objects of Python that are made in one go.
_OBJECTS = 16_384


def polygons(regions: Regions) -> list[NDArray[np.float64]]:
    """The regions of a 2-D network on a bounded domain as polygons, corners in order.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> [len(polygon) for polygon in polygons(enumerate_regions(network, Box(-1, 1)))]
    [4, 4]
    """
    corners = _in_the_plane(regions)
    points = corners.values[:, :2]
    starts = (corners.ends - corners.counts).tolist()
    return [points[i:j] for i, j in zip(starts, corners.ends.tolist(), strict=True)]


def _in_the_plane(regions: Regions) -> Ragged:
    """The corners of bounded regions with two inputs."""
    if regions.network.n_inputs != 2:
        raise InvalidInputError(
            f"polygons need 2 inputs, the network has {regions.network.n_inputs}; use a Slice"
        )
    if not regions.bounded.all():
        raise InvalidInputError("some regions are unbounded: enumerate the regions in a Box")
    return regions.corners


def to_networkx(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> networkx.Graph:
    """The region graph: nodes are indices of regions, edges carry the neurons that change.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads for the neighbours, if these are not known yet.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> regions = enumerate_regions(network, engine="traverse")
    >>> list(to_networkx(regions).edges(data="neurons"))
    [(0, 1, [0]), (1, 2, [1])]
    """
    module: Any = require("networkx", extra="graph", why="the region graph")
    graph = module.Graph()
    found = regions.prepare(["neighbours"], workers=workers, progress=progress).neighbours
    with bar_of(len(regions) + len(found), " nodes and edges", progress) as bar, no_collection():
        for start in range(0, len(regions), _OBJECTS):
            check()
            texts = regions.texts(start, start + _OBJECTS)
            graph.add_nodes_from(
                (index, {"pattern": text}) for index, text in enumerate(texts, start)
            )
            bar.update(len(texts))
        for start in range(0, len(found), _OBJECTS):
            check()
            some = slice(start, start + _OBJECTS)
            first, second = found.pairs[some].T.tolist()
            changes = _lists(found.neurons.rows(some))
            edges = zip(first, second, changes, strict=True)
            graph.add_edges_from((i, j, {"neurons": neurons}) for i, j, neurons in edges)
            bar.update(len(first))
    return graph


def _lists(ragged: Ragged) -> list[list[Any]]:
    """Rows as lists."""
    values = ragged.values.tolist()
    if (ragged.counts == 1).all():
        return [[value] for value in values]
    starts = (ragged.ends - ragged.counts).tolist()
    return [values[i:j] for i, j in zip(starts, ragged.ends.tolist(), strict=True)]


def to_dataframe(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> pandas.DataFrame:
    """One row a region: pattern, bounded, volume, number of facets, witness and affine map.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads for columns that are not known yet.
    progress : bool, optional
        Show a progress bar if that takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> list(to_dataframe(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))).columns)
    ['pattern', 'bounded', 'volume', 'facets', 'x1', 'y1/x1', 'y1/1']
    """
    module: Any = require("pandas", extra="graph", why="a table of regions")
    regions.prepare(_COLUMNS, workers=workers, progress=progress)
    facets = regions.facet_lines.counts
    starts = range(0, max(1, len(regions)), _OBJECTS)
    parts = [module.Series(regions.texts(start, start + _OBJECTS)) for start in starts]
    texts = module.concat(parts, ignore_index=True)
    return module.DataFrame(_columns(regions, texts, facets), copy=False)


def _columns(regions: Regions, texts: Any, facets: Any) -> dict[str, Any]:
    """What tables of regions have in common."""
    columns: dict[str, Any] = {
        "pattern": texts,
        "bounded": regions.bounded,
        "volume": regions.volumes,
        "facets": facets,
    }
    for k in range(regions.network.n_inputs):
        columns[f"x{k + 1}"] = np.ascontiguousarray(to_floats(regions.witnesses[:, k]))
    names = [*(f"x{k + 1}" for k in range(regions.network.n_inputs)), "1"]
    for output in range(regions.network.n_outputs):
        for k, name in enumerate(names):
            columns[f"y{output + 1}/{name}"] = regions.affine_maps[:, output, k].copy()
    return columns


def to_arrow(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> pyarrow.Table:
    """The table of `to_dataframe` for Arrow, with corners and facets as lists.

    ``corners`` holds each region's corners one after the other, in homogeneous coordinates: the
    last one is 1 for a vertex and 0 for a ray. ``facets`` holds lines; see
    `tropicell.network.inequalities`.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads for columns that are not known yet.
    progress : bool, optional
        Show a progress bar if that takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> table = to_arrow(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    >>> table.column_names
    ['pattern', 'bounded', 'volume', 'facets', 'x1', 'y1/x1', 'y1/1', 'corners']
    >>> sorted(table["pattern"].to_pylist()), [len(row) for row in table["corners"].to_pylist()]
    (['0', '1'], [2, 2])
    """
    pa: Any = require("pyarrow", extra="arrow", why="an Arrow table")
    regions.prepare(_COLUMNS, workers=workers, progress=progress)
    columns = _columns(regions, _arrow_texts(pa, regions), _arrow_lists(pa, regions.facet_lines))
    corners = regions.corners
    flat = pa.array(np.ascontiguousarray(corners.values, dtype=np.float64).ravel())
    each = pa.FixedSizeListArray.from_arrays(flat, corners.values.shape[1])
    columns["corners"] = pa.LargeListArray.from_arrays(_starts(corners), each)
    return pa.table(columns)


def to_polars(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> polars.DataFrame:
    """The table of `to_arrow` as a polars data frame; numbers are not copied.

    Parameters
    ----------
    regions : Regions
    workers, progress
        As for `to_arrow`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> frame = to_polars(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    >>> frame.shape, frame["volume"].sum()
    ((2, 8), 2.0)
    """
    module: Any = require("polars", extra="arrow", why="a polars data frame")
    frame: polars.DataFrame = module.from_arrow(
        to_arrow(regions, workers=workers, progress=progress)
    )
    return frame


def _arrow_texts(pa: Any, regions: Regions) -> Any:
    """Patterns as Arrow's strings, without a string of Python for each."""
    network = regions.network
    step = max(1, _CHARACTERS // max(1, network.n_neurons + network.depth))
    chunks = []
    for start in range(0, max(1, len(regions)), step):
        check()
        characters = to_characters(regions.packed[start : start + step], network.widths)
        count, length = characters.shape
        ends = np.arange(count + 1, dtype=np.int32) * np.int32(length)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(characters.tobytes())]
        chunks.append(pa.StringArray.from_buffers(count, buffers[1], buffers[2]))
    return pa.chunked_array(chunks)


def _arrow_lists(pa: Any, ragged: Ragged) -> Any:
    return pa.LargeListArray.from_arrays(_starts(ragged), pa.array(ragged.values))


def _starts(ragged: Ragged) -> NDArray[np.int64]:
    """Where rows begin, and the end."""
    return np.concatenate([[0], ragged.ends]).astype(np.int64)


def to_shapely(regions: Regions) -> list[Any]:
    """The regions of a 2-D network on a bounded domain as shapely polygons.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> [shape.area for shape in to_shapely(enumerate_regions(network, Box(-1, 1)))]
    [2.0, 2.0]
    """
    module: Any = require("shapely", extra="graph", why="shapely polygons")
    corners = _in_the_plane(regions)
    shapes: list[Any] = []
    with no_collection():
        for start in range(0, len(regions), _OBJECTS):
            check()
            some = corners.rows(slice(start, start + _OBJECTS))
            rings = module.linearrings(some.values[:, :2], indices=some.owners())
            shapes += module.polygons(rings).tolist()
    return shapes


def to_geopandas(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> geopandas.GeoDataFrame:
    """The table of `to_dataframe` with the polygons of `to_shapely` as its geometry.

    Parameters
    ----------
    regions : Regions
        Of a network with two inputs, on a bounded domain.
    workers, progress
        As for `to_dataframe`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> to_geopandas(enumerate_regions(network, Box(-1, 1))).area.tolist()
    [2.0, 2.0]
    """
    module: Any = require("geopandas", extra="graph", why="a table with polygons")
    shapes = to_shapely(regions)
    frame = to_dataframe(regions, workers=workers, progress=progress)
    return module.GeoDataFrame(frame, geometry=shapes)


def to_html(regions: Regions) -> str:
    """A short table for notebooks."""
    rows = {
        "network": repr(regions.network),
        "domain": repr(regions.domain),
        "regions": f"{'' if regions.complete else 'at least '}{len(regions):,}",
        "memory": f"{regions.nbytes:,} bytes",
    }
    rows.update({str(key): str(value) for key, value in regions.stats.items()})
    return html_table("Regions", rows)
