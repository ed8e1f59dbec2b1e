"""Pictures of meshes in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tropicell.errors import InvalidInputError, require
from tropicell.plotting.frame import colormap, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tropicell.analysis.meshes import PolygonMesh

#: Where the light comes from.
_LIGHT = np.array([0.4, -0.6, 0.7])


def plot_mesh(
    mesh: PolygonMesh,
    ax: Axes | None = None,
    *,
    color: Literal["height", "region"] = "height",
    cmap: str = "viridis",
    edges: bool = False,
) -> Axes:
    """Draw a mesh in space, lit from above.

    Parameters
    ----------
    mesh : PolygonMesh
    ax : Axes, optional
        With ``projection="3d"``; default: new ones.
    color : {"height", "region"}
        By the third coordinate; or neighbouring polygons in different colours.
    cmap : str
    edges : bool
        Draw the edges of the polygons, too.

    Examples
    --------
    >>> from tropicell import Box, Network, surface_mesh
    >>> rows = np.concatenate([np.eye(3), -np.eye(3)])
    >>> network = Network.mlp([rows, np.ones((1, 6))], [np.zeros(6), [-1.0]])
    >>> axes = plot_mesh(surface_mesh(network, Box(-2, 2)))
    """
    if mesh.vertices.shape[1] != 3:
        raise InvalidInputError("plot_mesh is for meshes in space; plot_regions draws the plane")
    if color not in ("height", "region"):
        raise InvalidInputError(f"color must be 'height' or 'region', not {color!r}")
    art: Any = require("mpl_toolkits.mplot3d.art3d", extra="plot", why="drawing meshes")
    axes: Any = new_axes(ax, subplot_kw={"projection": "3d"})
    vertices, polygons = mesh.vertices, mesh.polygons
    corners = vertices[polygons.values]
    owner, n = polygons.owners(), len(polygons)
    shapes = np.split(corners, polygons.ends[:-1]) if n else []
    middle = (
        np.stack([np.bincount(owner, corners[:, c], minlength=n) for c in range(3)], axis=1)
        / np.maximum(polygons.counts, 1)[:, None]
    )
    normals = np.zeros((n, 3))
    triangles = vertices[mesh.triangles]
    parts = np.repeat(np.arange(n), np.maximum(polygons.counts - 2, 0))
    np.add.at(
        normals,
        parts,
        np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]),
    )
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    light = 0.55 + 0.45 * np.clip(normals @ (_LIGHT / np.linalg.norm(_LIGHT)), -1, 1)
    if color == "height":
        low, high = (vertices[:, 2].min(), vertices[:, 2].max()) if n else (0.0, 1.0)
        shade = (middle[:, 2] - low) / max(high - low, 1e-300)
    else:
        shade = (np.arange(n) * 0.618033988749895) % 1.0
    colours = np.array(colormap(cmap)(shade)).reshape(n, 4)
    colours[:, :3] *= light[:, None]
    line = {"edgecolors": (0, 0, 0, 0.35), "linewidths": 0.2} if edges else {"edgecolors": colours}
    axes.add_collection3d(art.Poly3DCollection(shapes, facecolors=colours, **line))
    if n:
        spans = [_span(vertices, c) for c in range(3)]
        axes.set(xlim=spans[0], ylim=spans[1], zlim=spans[2])
        axes.set_box_aspect([high - low for low, high in spans])
    axes.set_axis_off()
    found: Axes = axes
    return found


def _span(vertices: Any, c: int) -> tuple[float, float]:
    """From where to where a coordinate goes."""
    low, high = float(vertices[:, c].min()), float(vertices[:, c].max())
    return (low, high) if high > low else (low - 1e-3, high + 1e-3)
