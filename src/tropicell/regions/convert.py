"""Regions in the forms of other libraries."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import to_floats

if TYPE_CHECKING:
    import networkx
    import pandas

    from tropicell.regions.regions import Regions


def polygons(regions: Regions) -> list[NDArray[np.float64]]:
    """The regions of a 2-D network on a bounded domain as polygons, corners in order.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> [len(polygon) for polygon in polygons(enumerate_regions(network, Box(-1, 1)))]
    [4, 4]
    """
    if regions.network.n_inputs != 2:
        raise InvalidInputError(
            f"polygons need 2 inputs, the network has {regions.network.n_inputs}; use a Slice"
        )
    if not regions.bounded.all():
        raise InvalidInputError("some regions are unbounded: enumerate the regions in a Box")
    return np.split(regions.corners.values[:, :2], regions.corners.ends[:-1])


def to_networkx(regions: Regions) -> networkx.Graph:
    """The region graph: nodes are indices of regions, edges carry the neurons that change.

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
    for index, text in enumerate(regions.texts()):
        graph.add_node(index, pattern=text)
    found = regions.neighbours
    for index, (i, j) in enumerate(found.pairs.tolist()):
        graph.add_edge(i, j, neurons=found.neurons[index].tolist())
    return graph


def to_dataframe(regions: Regions) -> pandas.DataFrame:
    """One row a region: pattern, bounded, volume, number of facets, witness and affine map.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> list(to_dataframe(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))).columns)
    ['pattern', 'bounded', 'volume', 'facets', 'x1', 'y1/x1', 'y1/1']
    """
    module: Any = require("pandas", extra="graph", why="a table of regions")
    columns: dict[str, Any] = {
        "pattern": regions.texts(),
        "bounded": regions.bounded,
        "volume": regions.volumes,
        "facets": regions.facet_lines.counts,
    }
    for k in range(regions.network.n_inputs):
        columns[f"x{k + 1}"] = to_floats(regions.witnesses[:, k])
    names = [*(f"x{k + 1}" for k in range(regions.network.n_inputs)), "1"]
    for output in range(regions.network.n_outputs):
        for k, name in enumerate(names):
            columns[f"y{output + 1}/{name}"] = regions.affine_maps[:, output, k]
    return module.DataFrame(columns)


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
    return [module.Polygon(polygon) for polygon in polygons(regions)]


def to_html(regions: Regions) -> str:
    """A short table for notebooks."""
    rows = {
        "network": repr(regions.network),
        "domain": repr(regions.domain),
        "regions": f"{len(regions):,}" + ("" if regions.complete else " (not complete)"),
        "memory": f"{regions.nbytes:,} bytes",
    }
    rows.update({str(key): str(value) for key, value in regions.stats.items()})
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th><td>{escape(value)}</td></tr>"
        for key, value in rows.items()
    )
    return f"<table><caption>Regions</caption>{cells}</table>"
