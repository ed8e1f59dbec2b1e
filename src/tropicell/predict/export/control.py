"""The piecewise-affine function as files of control toolboxes: MPT3 (MATLAB) and PPOPT (Python).

Both know a function by convex polyhedra ``A x <= b``, each with its map ``F x + g``. Merged regions
need not be convex, so they are written as convex parts: the regions, or unions of them (`_joins`).
Each says to which merged region it belongs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.durable import replacing
from tropicell._runtime.interruption import check
from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.predict.export._joins import Part, joined
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions


@dataclass(frozen=True, eq=False)
class PiecewiseAffine:
    """Convex polyhedra that fill a domain, and the affine map on each: see `piecewise_affine`.

    Attributes
    ----------
    A, b : list of ndarray
        The polyhedra ``A x <= b``, without redundant rows; rows have length 1.
    F, g : ndarray, shape (polyhedra, outputs, inputs) and (polyhedra, outputs)
        The maps ``F x + g``.
    merged : ndarray of int64, shape (polyhedra,)
        The maximal connected union with one and the same map that each belongs to.
    polyhedra : ndarray of int64, shape (regions,)
        The polyhedron that each region lies in.
    convex : ndarray of bool, shape (merged regions,)
        Whether a merged region is one polyhedron here; see ``join`` of `piecewise_affine`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[2.0]], [[1.0]]], [[-1.0], [0.0]])
    >>> pieces = piecewise_affine(enumerate_regions(network, Box(0, 1)))
    >>> [(a.tolist(), b.tolist()) for a, b in zip(pieces.A, pieces.b)]
    [([[-1.0], [1.0]], [0.0, 0.5]), ([[1.0], [-1.0]], [1.0, -0.5])]
    """

    A: list[FloatArray]
    b: list[FloatArray]
    F: FloatArray
    g: FloatArray
    merged: NDArray[np.int64]
    polyhedra: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.A)

    @property
    def convex(self) -> NDArray[np.bool_]:
        """Whether a merged region is one polyhedron."""
        return np.asarray(np.bincount(self.merged) == 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them for MPT3 or PPOPT; the ending of the file says which.

        Parameters
        ----------
        path : str or path-like
            ``.mat``: for MATLAB, cells ``A``, ``b``, ``F``, ``g``, numbers ``merged`` from 1 on;
            ``.m``: a MATLAB function that reads that file, which is written next to it, and returns
            MPT3's ``PolyUnion`` of ``Polyhedron`` objects with the function ``'primal'``;
            ``.npz``: what PPOPT calls a critical region, ``A0``, ``b0``, ``E0``, ``f0``, … (the map
            ``A x + b`` where ``E x <= f``); `read_ppopt` makes a PPOPT solution of it.

        Notes
        -----
        PPOPT is run by the tests. MPT3 needs MATLAB: of its files Octave checks the numbers and
        the grammar, and the names of classes and options are those of MPT3's sources. A PolyUnion
        leaves polyhedra out that MPT3's tolerance takes to be empty; ``merged`` counts them.

        Examples
        --------
        >>> import os, tempfile
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pieces.save(folder + "/law.m")
        ...     sorted(os.listdir(folder))
        ['law.m', 'law.mat']
        """
        file = path_of(path)
        if file.suffix == ".npz":
            self._save_ppopt(file)
        elif file.suffix in (".mat", ".m"):
            self._save_mat(file.with_suffix(".mat"))
            if file.suffix == ".m":
                self._save_script(file)
        else:
            raise InvalidInputError(
                f"{file.name}: piecewise-affine functions are written to .m and .mat (MPT3) or "
                ".npz (PPOPT)"
            )

    def _save_mat(self, file: Path) -> None:
        from scipy.io import savemat  # noqa: PLC0415 - slow to import

        cells: dict[str, Any] = {}
        columns: dict[str, Any] = {"A": self.A, "b": [x[:, None] for x in self.b]}
        columns |= {"F": self.F, "g": self.g[:, :, None]}
        for name, values in columns.items():
            cell = np.empty((len(self), 1), dtype=object)
            for k, value in enumerate(values):
                cell[k, 0] = np.asarray(value, dtype=np.float64)
            cells[name] = cell
        cells["merged"] = (self.merged + 1.0)[:, None]
        with replacing(file) as temporary:
            savemat(str(temporary), cells, do_compression=True)

    def _save_script(self, file: Path) -> None:
        name = file.stem
        if not (name.isidentifier() and name.isascii()):
            raise InvalidInputError(
                f"{file.name}: the file holds a MATLAB function of this name, which must be made "
                "of letters, digits and underscores, and begin with a letter"
            )
        text = f"""function [U, merged] = {name}()
%{name.upper()} A piecewise-affine function as a PolyUnion of MPT3, written by Tropicell.
%   {len(self)} polyhedra A x <= b with maps F x + g, of {len(self.convex)} merged regions.
%   y = U.feval(x, 'primal') is the function at x; merged(k) is the merged region of U.Set(k).
data = load(fullfile(fileparts(mfilename('fullpath')), '{name}.mat'));
n = numel(data.A);
P(n, 1) = Polyhedron();
for k = 1:n
    P(k) = Polyhedron('A', data.A{{k}}, 'b', data.b{{k}});
    P(k).addFunction(AffFunction(data.F{{k}}, data.g{{k}}), 'primal');
end
U = PolyUnion('Set', P, 'Overlaps', false, 'FullDim', true);
merged = data.merged;
end
"""
        with replacing(file) as temporary:
            temporary.write_text(text, encoding="ascii", newline="\n")

    def _save_ppopt(self, file: Path) -> None:
        arrays: dict[str, Any] = {"merged": self.merged}
        for k in range(len(self)):
            arrays[f"A{k}"], arrays[f"b{k}"] = self.F[k], self.g[k][:, None]
            arrays[f"E{k}"], arrays[f"f{k}"] = self.A[k], self.b[k][:, None]
        with replacing(file) as temporary, temporary.open("wb") as out:
            np.savez_compressed(out, **arrays)


def piecewise_affine(
    regions: Regions, *, join: bool = False, progress: bool | None = None
) -> PiecewiseAffine:
    """A network on a domain as an explicit piecewise-affine function, for control toolboxes.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    join : bool
        Join regions with one and the same map where their union is convex: fewer polyhedra, which
        are the same function.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Returns
    -------
    PiecewiseAffine
        One polyhedron for each region, in their order; with `join` one for each union, in the order
        of their first regions. Those that make up one merged region have the same map and the same
        number in ``merged``.

    Raises
    ------
    InvalidInputError
        If regions are missing.

    Notes
    -----
    Inequalities and maps are worked out in rationals, and each number is then rounded once. So
    neighbours share their facets up to rounding, as in every toolbox that works in float64. Whether
    a union is convex is decided in rationals, too. A merged region that is convex becomes one
    polyhedron; of others two parts are joined as long as that is possible, which need not lead to
    the smallest number of polyhedra.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
    >>> len(pieces), sorted(pieces.F.ravel().tolist()), pieces.convex
    (2, [-1.0, 1.0], array([ True,  True]))

    The second layer makes two regions of one, on which the output is 0:

    >>> network = Network.mlp([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [-0.5], [0.0]])
    >>> regions = enumerate_regions(network, Box(-1, 1))
    >>> len(regions), [len(piecewise_affine(regions, join=own)) for own in (False, True)]
    (3, [3, 2])
    """
    from tropicell._runtime.progress import bar_of  # noqa: PLC0415

    regions = as_regions(regions)
    if not regions.covers:
        raise InvalidInputError(
            "an explicit function needs all regions of its domain: enumerate them without a budget "
            "and without where"
        )
    merged = regions.merged().labels
    if join and regions.stats.get("arithmetic") == "float":
        raise InvalidInputError(
            "join=True needs exact regions: those of float arithmetic say nothing of whether a "
            "union is convex"
        )
    alone: list[list[int] | Part] = [[i] for i in range(len(regions))]
    parts = joined(regions, merged) if join else alone
    rows, right, matrices, offsets = [], [], [], []
    polyhedra = np.empty(len(regions), np.int64)
    with bar_of(len(regions), " regions", progress) as bar:
        for k, part in enumerate(parts):
            check()
            own = part.regions if isinstance(part, Part) else part
            polyhedra[own] = k
            region = regions[own[0]]
            if isinstance(part, Part):
                a, b = part.inequalities()
            else:
                a = np.array([facet.a for facet in region.facets], dtype=object)
                b = np.array([facet.b for facet in region.facets], dtype=object)
            scaled, bound = _unit_rows(a.reshape(len(b), regions.network.n_inputs), b)
            rows.append(scaled)
            right.append(bound)
            matrices.append(to_floats(region.affine_map.matrix))
            offsets.append(to_floats(region.affine_map.offset))
            bar.update(len(own))
    labels = np.empty(len(parts), np.int64)
    labels[polyhedra] = merged
    return PiecewiseAffine(rows, right, np.array(matrices), np.array(offsets), labels, polyhedra)


def _unit_rows(a: NDArray[Any], b: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Rows, scaled so that they have length 1; they are divided before they are rounded."""
    if not len(b):
        return np.zeros((0, a.shape[1])), np.zeros(0)
    largest = np.abs(a).max(axis=1)
    own, bound = to_floats(a / largest[:, None]), to_floats(b / largest)
    length = np.linalg.norm(own, axis=1)
    return own / length[:, None], bound / length


def read_ppopt(path: str | os.PathLike[str]) -> Any:
    """The critical regions of a file that `PiecewiseAffine.save` wrote, as a PPOPT solution.

    Parameters
    ----------
    path : str or path-like
        The ``.npz`` file.

    Returns
    -------
    ppopt.solution.Solution
        Its program is empty: there is no optimisation problem behind these regions, and so there
        are no multipliers. `evaluate` and `get_region` of the solution find regions and values.
    """
    from tropicell._runtime.npz import read_npz  # noqa: PLC0415
    from tropicell.errors import require  # noqa: PLC0415

    module: Any = require("ppopt.critical_region", extra="control", why="solutions of PPOPT")
    solution: Any = require("ppopt.solution", extra="control", why="solutions of PPOPT")
    arrays = read_npz(path_of(path))
    nothing = np.zeros((0, arrays["E0"].shape[1])), np.zeros((0, 1))
    found = [
        module.CriticalRegion(
            arrays[f"A{k}"], arrays[f"b{k}"], *nothing, arrays[f"E{k}"], arrays[f"f{k}"], []
        )
        for k in range(len(arrays["merged"]))
    ]
    return solution.Solution(None, found)
