"""Triangle meshes for the view in space, beside cells or alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell.analysis.meshes import PolygonMesh
from tropicell.errors import InvalidInputError
from tropicell.explorer.data import compressed_block


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh for the explorer's view in space.

    Attributes
    ----------
    vertices : ndarray, shape (vertices, 3)
        In the coordinates of the network's inputs.
    triangles : ndarray, shape (triangles, 3)
        Each row has the numbers of three vertices, in any order: both sides are lit.
    colors : ndarray, shape (vertices, 3), optional
        Red, green and blue of every vertex: floats from 0 to 1, or bytes. Default: one colour.
    label : str
        What it is.

    Examples
    --------
    >>> corner = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2], [0, 1, 3]])
    >>> corner.vertices.shape, corner.triangles.dtype.name
    ((4, 3), 'uint32')

    A page that shows it, to turn and to cut open:

    >>> import tempfile
    >>> from tropicell import explore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore(corner, folder + "/mesh.html").name
    'mesh.html'
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.uint32]
    colors: NDArray[np.uint8] | None = field(default=None)
    label: str = ""

    def __init__(
        self,
        vertices: ArrayLike,
        triangles: ArrayLike,
        colors: ArrayLike | None = None,
        label: str = "",
    ) -> None:
        places = np.asarray(vertices, dtype=np.float64)
        rows = np.asarray(triangles)
        if places.ndim != 2 or places.shape[1:] != (3,) or not np.isfinite(places).all():
            raise InvalidInputError(
                f"a mesh needs finite vertices of shape (vertices, 3), got {places.shape}"
            )
        if rows.ndim != 2 or rows.shape[1:] != (3,) or rows.dtype.kind not in "iu":
            raise InvalidInputError(
                f"a mesh needs triangles as integers of shape (triangles, 3), got "
                f"{rows.dtype} of shape {rows.shape}"
            )
        if not len(rows) or rows.min() < 0 or rows.max() >= len(places):
            raise InvalidInputError(
                f"a mesh needs triangles whose numbers are from 0 to {len(places) - 1}"
            )
        object.__setattr__(self, "vertices", places)
        object.__setattr__(self, "triangles", rows.astype(np.uint32))
        object.__setattr__(self, "colors", _bytes(colors, len(places)))
        object.__setattr__(self, "label", str(label))

    def encoded(
        self, centre: NDArray[np.float64], scale: float
    ) -> tuple[dict[str, list[Any]], bytes]:
        """The mesh as the page reads it."""
        arrays: dict[str, NDArray[Any]] = {
            "vertices": ((self.vertices - centre) / scale).astype(np.float32),
            "triangles": self.triangles,
        }
        if self.colors is not None:
            arrays["colours"] = self.colors
        return compressed_block(arrays)


def solid_of(mesh: Mesh | PolygonMesh) -> Mesh:
    """A mesh as the explorer shows it."""
    if isinstance(mesh, PolygonMesh):
        return Mesh(mesh.vertices, mesh.triangles, label=f"{len(mesh):,} polygons")
    return mesh


def _bytes(colors: ArrayLike | None, vertices: int) -> NDArray[np.uint8] | None:
    if colors is None:
        return None
    array = np.asarray(colors)
    if array.shape != (vertices, 3):
        raise InvalidInputError(
            f"a mesh needs one colour for each of its {vertices} vertices, of shape "
            f"({vertices}, 3), got {array.shape}"
        )
    if array.dtype.kind == "f":
        if not ((array >= 0) & (array <= 1)).all():
            raise InvalidInputError("colours of a mesh are floats from 0 to 1, or bytes")
        return np.round(255 * array).astype(np.uint8)
    return array.astype(np.uint8)
