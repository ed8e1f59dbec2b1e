"""Meshes: polygons with shared vertices, from complexes; and as files of other programs.

Vertices are shared since faces are: nothing is found by comparing coordinates. So the mesh of a
level set is closed where the level set is, and each of its polygons lies in the level set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.durable import replacing
from tropicell._runtime.interruption import check
from tropicell._runtime.paths import path_of
from tropicell.analysis.chosen import numbers_of
from tropicell.errors import IncompleteError, InvalidInputError, require
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.network.output_sets import DecisionBoundary, Level, OutputSet
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.analysis.complex import Complex
    from tropicell.regions.regions import Regions

#: Polygons that are written in one go.
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class PolygonMesh:
    """Convex polygons with shared vertices, in the plane or in space.

    Made by `Complex.to_mesh`, `Regions.to_mesh` and `surface_mesh`.

    Attributes
    ----------
    vertices : ndarray, shape (vertices, 2 or 3)
        Coordinates, rounded; `exact_vertices` has them in rationals.
    polygons : Ragged
        The vertices of each polygon, in order. In space those of a level set go counter-clockwise
        if seen from where the output is larger.
    regions : ndarray of int64, shape (polygons,)
        The region that each of them lies in.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> mesh = enumerate_regions(network, Box(-1, 1)).to_mesh()
    >>> mesh, mesh.triangles.shape
    (PolygonMesh(9 vertices, 4 polygons in the plane), (8, 3))
    """

    vertices: FloatArray
    polygons: Ragged
    regions: NDArray[np.int64]
    _complex: Complex | None
    _numbers: NDArray[np.int64]

    def __repr__(self) -> str:
        where = "in the plane" if self.vertices.shape[1] == 2 else "in space"
        return f"PolygonMesh({len(self.vertices)} vertices, {len(self.polygons)} polygons {where})"

    def __len__(self) -> int:
        return len(self.polygons)

    @property
    def complex(self) -> Complex | None:
        """The complex that it is made of; None if a surface has no points in the domain."""
        return self._complex

    # --- numbers ------------------------------------------------------------------------------

    @property
    def radii(self) -> FloatArray:
        """How far each coordinate may be off: a proved bound."""
        if self._complex is None:
            return np.zeros_like(self.vertices)
        return self._complex.radii[self._numbers]

    def exact_vertices(self, some: Sequence[int] | NDArray[Any] | None = None) -> NDArray[Any]:
        """Vertices in rationals: all of them, or some.

        Those of a level set satisfy "output = value" without rounding.

        Examples
        --------
        >>> import numpy as np
        >>> from tropicell import Box, Network, surface_mesh
        >>> rows = np.concatenate([np.eye(3), -np.eye(3)])
        >>> network = Network.mlp([rows, np.full((1, 6), 3.0)], [np.zeros(6), [-1.0]])
        >>> mesh = surface_mesh(network, Box(-1, 1))
        >>> sorted({str(x) for x in mesh.exact_vertices().ravel()})
        ['-1/3', '0', '1/3']
        """
        if self._complex is None:
            return np.empty(self.vertices.shape, dtype=object)
        which = self._numbers[numbers_of(some, len(self._numbers), "vertices")]
        return self._complex.exact_vertices(which)

    def exact_outputs(self, some: Sequence[int] | NDArray[Any] | None = None) -> NDArray[Any]:
        """The network's outputs at the exact vertices, in rationals, shape (vertices, outputs).

        Examples
        --------
        All vertices are on the surface, without rounding:

        >>> import numpy as np
        >>> from tropicell import Box, Network, surface_mesh
        >>> rows = np.concatenate([np.eye(3), -np.eye(3)])
        >>> network = Network.mlp([rows, np.full((1, 6), 3.0)], [np.zeros(6), [-1.0]])
        >>> bool((surface_mesh(network, Box(-1, 1)).exact_outputs() == 0).all())
        True
        """
        if self._complex is None:
            return np.empty((len(self.vertices), 0), dtype=object)
        which = self._numbers[numbers_of(some, len(self._numbers), "vertices")]
        return self._complex.exact_outputs(which)

    def sharpened(self) -> PolygonMesh:
        """The same mesh with the float64 numbers nearest to the exact coordinates.

        It works out all of them in rationals, which takes some tenths of a millisecond for each.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> mesh = enumerate_regions(Network.mlp([[[3.0, 1.0]], [[1.0]]]), Box(-1, 1)).to_mesh()
        >>> mesh.sharpened()
        PolygonMesh(6 vertices, 2 polygons in the plane)
        """
        exact = self.exact_vertices()
        nearest = np.array([[float(x) for x in row] for row in exact], dtype=np.float64)
        nearest = nearest.reshape(self.vertices.shape)
        return PolygonMesh(nearest, self.polygons, self.regions, self._complex, self._numbers)

    @cached_property
    def triangles(self) -> NDArray[np.int64]:
        """The polygons cut into triangles, shape (triangles, 3): vertices, in the same order."""
        at = np.repeat(self.polygons.ends - self.polygons.counts, self._cut)
        first = self.polygons.values[at]
        skipped = np.repeat(np.cumsum(self._cut) - self._cut, self._cut)
        at += np.arange(len(first)) - skipped + 1
        values = self.polygons.values
        return np.stack([first, values[at], values[at + 1]], axis=1) if len(first) else _NO_FACES

    @property
    def _cut(self) -> NDArray[np.int64]:
        """Into how many triangles polygons are cut."""
        return np.maximum(self.polygons.counts - 2, 0)

    @property
    def triangle_regions(self) -> NDArray[np.int64]:
        """The region that each triangle lies in."""
        return np.repeat(self.regions, self._cut)

    @property
    def is_watertight(self) -> bool:
        """Whether each edge belongs to two polygons, which pass it in opposite directions.

        A level set that leaves the domain ends there, and is not; nor is a mesh in the plane.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
        >>> enumerate_regions(network, Box(-1, 1)).to_mesh().is_watertight
        False
        """
        here, there = self._edges()
        n = len(self.vertices)
        one, other = np.sort(here * n + there), np.sort(there * n + here)
        once = bool(np.all(one[1:] != one[:-1]))
        return bool(len(one)) and once and bool(np.array_equal(one, other))

    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """From where to where the polygons' edges lead, in their order."""
        values, ends = self.polygons.values, self.polygons.ends
        after = np.arange(1, len(values) + 1)
        filled = self.polygons.counts > 0
        after[ends[filled] - 1] = (ends - self.polygons.counts)[filled]
        return values, values[after]

    @property
    def euler_characteristic(self) -> int:
        """Vertices less edges plus polygons: 2 for a sphere, 0 for a torus, 1 for a disc."""
        here, there = self._edges()
        low, high = np.minimum(here, there), np.maximum(here, there)
        edges = len(np.unique(low * len(self.vertices) + high))
        return len(self.vertices) - edges + len(self.polygons)

    @property
    def area(self) -> float:
        """The area of all polygons, in float64."""
        return float(np.linalg.norm(self._normals(), axis=1).sum() / 2)

    @property
    def volume(self) -> float:
        """The volume inside of a closed mesh in space, in float64.

        Examples
        --------
        The octahedron in which the sum of absolute values is at most 1:

        >>> import numpy as np
        >>> from tropicell import Box, Network, surface_mesh
        >>> rows = np.concatenate([np.eye(3), -np.eye(3)])
        >>> network = Network.mlp([rows, np.ones((1, 6))], [np.zeros(6), [-1.0]])
        >>> mesh = surface_mesh(network, Box(-2, 2))
        >>> mesh, mesh.is_watertight, round(mesh.volume, 12)
        (PolygonMesh(6 vertices, 8 polygons in space), True, 1.333333333333)
        """
        if self.vertices.shape[1] != 3 or not self.is_watertight:
            raise InvalidInputError("only a watertight mesh in space has a volume")
        corners = self.vertices[self.triangles]
        return float(np.einsum("ki,ki->", corners[:, 0], self._normals()) / 6)

    def _normals(self) -> FloatArray:
        """Twice the area of each triangle, along its normal."""
        corners = self.vertices[self.triangles]
        if corners.shape[2] == 2:
            corners = np.concatenate([corners, np.zeros((*corners.shape[:2], 1))], axis=2)
        return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])

    # --- other programs -----------------------------------------------------------------------

    def to_trimesh(self) -> Any:
        """As a `trimesh.Trimesh`, with the vertices as they are (extra ``mesh``).

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
        >>> float(enumerate_regions(network, Box(-1, 1)).to_mesh().to_trimesh().area)
        4.0
        """
        trimesh: Any = require("trimesh", extra="mesh", why="meshes of trimesh")
        return trimesh.Trimesh(self._in_space(), self.triangles, process=False)

    def to_meshio(self) -> Any:
        """As a `meshio.Mesh`, with the region of each triangle (extra ``mesh``).

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
        >>> enumerate_regions(network, Box(-1, 1)).to_mesh().to_meshio().cell_data["region"][0]
        array([0, 0, 1, 1])
        """
        meshio: Any = require("meshio", extra="mesh", why="meshes of meshio")
        data = {"region": [self.triangle_regions]}
        return meshio.Mesh(self._in_space(), [("triangle", self.triangles)], cell_data=data)

    def _in_space(self) -> FloatArray:
        if self.vertices.shape[1] == 3:
            return self.vertices
        return np.concatenate([self.vertices, np.zeros((len(self.vertices), 1))], axis=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mesh to a file, whose ending says what it is.

        Parameters
        ----------
        path : str or path-like
            ``.ply`` (triangles, float64), ``.obj`` (polygons, all digits), ``.geojson`` (polygons
            in the plane, with their regions); with the extra ``mesh`` also ``.glb`` and ``.gltf``
            (glTF, one file in each case: triangles, float32, as that format has it), ``.vtk`` and
            ``.vtu`` (triangles, float64, with their regions) and ``.stl`` (triangles).

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Box, Network, enumerate_regions
        >>> mesh = enumerate_regions(Network.mlp([[[1.0, 0.0]], [[1.0]]]), Box(-1, 1)).to_mesh()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mesh.save(folder + "/plane.ply")
        """
        file = path_of(path)
        write = _WRITERS.get(file.suffix.lower())
        if write is None:
            raise InvalidInputError(
                f"{file.name}: a mesh is written to {', '.join(sorted(_WRITERS))}, not to "
                f"{file.suffix or 'a file without an ending'}"
            )
        with replacing(file) as temporary:
            write(self, temporary)


_NO_FACES = np.empty((0, 3), np.int64)


def mesh_of(complex_: Complex) -> PolygonMesh:
    """The polygons of a complex as a mesh: see `Complex.to_mesh`."""
    d = complex_.faces.vertices.shape[1]
    if not complex_.quotient.is_trivial or d not in (2, 3):
        whole = complex_.quotient.whole.n_inputs
        raise InvalidInputError(
            f"meshes are for two or three inputs that all matter; {d} of {whole} do here"
        )
    if complex_.dimension > 2:
        raise InvalidInputError(
            "a mesh in space is made of polygons, and this complex has cells: take a level set or "
            "decision boundary of it, or select its faces of dimension 2"
        )
    if d == 2 and complex_.dimension == 1:
        raise InvalidInputError(
            "a mesh is made of polygons, and this complex has none: the edges of a curve are "
            "complex.sides[1], their ends complex.vertices"
        )
    polygons = complex_.polygons()
    kept = np.flatnonzero(polygons.counts)
    values, counts = polygons.values, polygons.counts[kept]
    numbers, values = np.unique(values, return_inverse=True)
    owners = complex_.owners(2)[kept] if len(kept) else np.empty(0, np.int64)
    return PolygonMesh(
        np.ascontiguousarray(complex_.vertices[numbers]),
        Ragged.from_counts(values.astype(np.int64), counts),
        owners,
        complex_,
        numbers.astype(np.int64),
    )


def surface_mesh(
    network: Network,
    domain: Domain | None = None,
    where: OutputSet | None = None,
    *,
    workers: int = 1,
    progress: bool | None = None,
) -> PolygonMesh:
    """The mesh of a level set or decision boundary of a network with three inputs.

    Regions that the surface does not meet are not even enumerated. Each polygon lies exactly on the
    surface, and polygons share their vertices, so the mesh is watertight where the surface is
    closed.

    Parameters
    ----------
    network : Network, or what is imported as one
    domain : Domain, optional
        Three inputs, or a slice with three directions; default: all of R^n.
    where : Level or DecisionBoundary, optional
        Default: ``Level(0.0)``, the surface of a neural distance function. A boundary is that
        between two classes, or of one with all others.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    PolygonMesh
        Without the unbounded polygons of a surface that goes on for ever. Empty if there are no
        polygons: the surface has no points in the domain, or only single points and edges.

    Raises
    ------
    IncompleteError
        If something ended the search.
    InvalidInputError
        If the output has the value on a whole region: that is no surface.

    Examples
    --------
    >>> import numpy as np
    >>> from tropicell import Box
    >>> rows = np.concatenate([np.eye(3), -np.eye(3)])
    >>> network = Network.mlp([rows, np.ones((1, 6))])
    >>> surface_mesh(network, Box(-1, 1), Level(0.5)).euler_characteristic
    2
    """
    from tropicell.search.enumeration import enumerate_regions  # noqa: PLC0415 - imports engines

    where = Level(0.0) if where is None else where
    if not isinstance(where, Level | DecisionBoundary):
        raise InvalidInputError(
            "where must be a surface: Level(value), DecisionBoundary(first, second) between two "
            f"classes, or DecisionBoundary(first) of one class, not {where!r}"
        )
    found = enumerate_regions(network, domain, where=where, workers=workers, progress=progress)
    if not found.complete:
        raise IncompleteError(len(found))
    if found.network.n_inputs != 3:
        raise InvalidInputError(
            f"a surface lies in space: the network must have three inputs, or the domain must be "
            f"a slice with three directions, not {found.network.n_inputs}"
        )
    if not len(found):
        nothing = np.empty(0, np.int64)
        return PolygonMesh(np.empty((0, 3)), Ragged(nothing, nothing), nothing, None, nothing)
    return mesh_of(_surface(found, where, workers, progress))


def _surface(regions: Regions, where: OutputSet, workers: int, progress: bool | None) -> Complex:
    whole = regions.complex(workers=workers, progress=progress)
    if isinstance(where, Level):
        return whole.level_set(where.output, where.value)
    assert isinstance(where, DecisionBoundary)
    return whole.decision_boundary(where.first, where.second)


# --- files ----------------------------------------------------------------------------------------


def _write_ply(mesh: PolygonMesh, path: Path) -> None:
    triangles = mesh.triangles
    header = (
        "ply\nformat binary_little_endian 1.0\ncomment Tropicell\n"
        f"element vertex {len(mesh.vertices)}\n"
        "property double x\nproperty double y\nproperty double z\n"
        f"element face {len(triangles)}\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(len(triangles), dtype=[("count", "u1"), ("vertices", "<i4", (3,))])
    faces["count"], faces["vertices"] = 3, triangles
    with path.open("wb") as file:
        file.write(header.encode("ascii"))
        file.write(np.ascontiguousarray(mesh._in_space(), dtype="<f8").tobytes())
        file.write(faces.tobytes())


def _write_obj(mesh: PolygonMesh, path: Path) -> None:
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write("# Tropicell\n")
        for start in range(0, len(mesh.vertices), _AT_ONCE):
            check()
            rows = mesh._in_space()[start : start + _AT_ONCE].tolist()
            file.writelines(f"v {x!r} {y!r} {z!r}\n" for x, y, z in rows)
        for start in range(0, len(mesh.polygons), _AT_ONCE):
            check()
            some = mesh.polygons.rows(slice(start, start + _AT_ONCE))
            for part in np.split(some.values + 1, some.ends[:-1]):
                file.write("f " + " ".join(map(str, part.tolist())) + "\n")


def _write_geojson(mesh: PolygonMesh, path: Path) -> None:
    if mesh.vertices.shape[1] != 2:
        raise InvalidInputError("GeoJSON is for the plane: take .ply or .obj for meshes in space")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write('{"type": "FeatureCollection", "features": [')
        for k in range(len(mesh.polygons)):
            if k % _AT_ONCE == 0:
                check()
            ring = mesh.vertices[mesh.polygons[k]].tolist()
            shape = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
            region = {"region": int(mesh.regions[k])}
            feature = {"type": "Feature", "properties": region, "geometry": shape}
            file.write((",\n" if k else "\n") + json.dumps(feature))
        file.write("\n]}\n")


def _by_trimesh(kind: str) -> Callable[[PolygonMesh, Path], None]:
    def write(mesh: PolygonMesh, path: Path) -> None:
        path.write_bytes(mesh.to_trimesh().export(file_type=kind))

    return write


def _write_gltf(mesh: PolygonMesh, path: Path) -> None:
    """As text, with all numbers in the same file."""
    gltf: Any = require("trimesh.exchange.gltf", extra="mesh", why="glTF files")
    files = gltf.export_gltf(mesh.to_trimesh().scene(), embed_buffers=True)
    path.write_bytes(files["model.gltf"])


def _by_meshio(kind: str) -> Callable[[PolygonMesh, Path], None]:
    def write(mesh: PolygonMesh, path: Path) -> None:
        if not len(mesh):
            raise InvalidInputError(f"a .{kind} file needs a polygon, and the mesh has none")
        mesh.to_meshio().write(path, file_format=kind)

    return write


_WRITERS: dict[str, Callable[[PolygonMesh, Path], None]] = {
    ".ply": _write_ply,
    ".obj": _write_obj,
    ".geojson": _write_geojson,
    ".glb": _by_trimesh("glb"),
    ".gltf": _write_gltf,
    ".stl": _by_trimesh("stl"),
    ".vtk": _by_meshio("vtk"),
    ".vtu": _by_meshio("vtu"),
}
