"""Regions in files: the network, the domain and all columns that there are, in one ``.npz``."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.npz import read_npz, write_npz
from tropicell._runtime.paths import in_file, path_of
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.geometry.arithmetic import to_floats
from tropicell.network import layout
from tropicell.network.domains import NORMS, Ball, Box, Domain, Polytope, WholeSpace
from tropicell.network.network import Network
from tropicell.network.quotient import Quotient, spans
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.regions.regions import Regions

FORMAT, VERSION = "tropicell-regions", 1

#: Kinds of numbers of the columns, as NumPy's letters.
_KINDS = {"words": "u", "witnesses": "f", "bounded": "b", "volumes": "f", "corners": "f"} | {
    "facet_lines": "iu",
    "inputs": "i",
}


def save_regions(regions: Regions, path: str | os.PathLike[str]) -> None:
    """Write regions to an ``.npz`` file; `load_regions` reads it back.

    Parameters
    ----------
    regions : Regions
    path : str or path-like

    Notes
    -----
    ``header`` is JSON with format, version, domain, ``complete`` and ``stats``. The arrays:
    ``words`` (packed patterns), ``witnesses``, and ``bounded``, ``volumes``, ``corners`` and
    ``facet_lines`` (the last two with ``….ends``) if they are known. The network's arrays have the
    prefix ``network.``. Exact witnesses are rounded to float64. ``inputs``, if it is there: these
    columns are those of `Regions.reduced`, with these inputs alone.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Box, Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0, 2.0]], [[1.0]]]), Box(-1, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_regions(regions, folder + "/regions.npz")
    ...     load_regions(folder + "/regions.npz")
    Regions(2 of Network(2 → 1 → 1) on Box(-1.0, 1.0))
    """
    file = path_of(path)
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: expected the suffix .npz, not {file.suffix!r}")
    network, network_header = layout.to_arrays(regions.network)
    arrays: dict[str, NDArray[Any]] = {f"network.{key}": value for key, value in network.items()}
    domain, domain_arrays = _put_domain(regions.domain)
    arrays |= domain_arrays
    if not regions.quotient.is_trivial:
        arrays["inputs"] = regions.quotient.inputs
    arrays["words"] = regions.packed.words
    arrays["witnesses"] = to_floats(regions.reduced.witnesses)
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        column = regions.reduced.known(name)
        if isinstance(column, Ragged):
            arrays[name], arrays[f"{name}.ends"] = column.values, column.ends
        elif column is not None:
            arrays[name] = column
    header = {
        "format": FORMAT,
        "version": VERSION,
        "network": network_header,
        "domain": domain,
        "bits": regions.packed.bits,
        "complete": regions.complete,
        "stats": regions.stats,
    }
    write_npz(file, {"header": np.array(json.dumps(header)), **arrays})


def load_regions(path: str | os.PathLike[str], *, mapped: bool = False) -> Regions:
    """Regions from a file that `Regions.save` wrote.

    Parameters
    ----------
    path : str or path-like
    mapped : bool
        Leave large columns on the disk (as read-only memory maps) until they are used. They are
        read through once, to compare their checksums, and not kept.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, damaged (even by a single bit) or something else.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Network, enumerate_regions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).save(folder + "/regions.npz")
    ...     load_regions(folder + "/regions.npz")
    Regions(2 of Network(1 → 1 → 1) on WholeSpace())
    """
    file = path_of(path)
    where = str(file)
    with in_file(file):
        arrays = read_npz(file, mapped=mapped)
        try:
            header = json.loads(str(arrays["header"]))
        except (KeyError, ValueError) as error:
            raise ModelFileError(f"{where}: holds no header in JSON: {error}") from None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ModelFileError(f"{where}: holds no regions; expected a file of Regions.save")
        if header.get("version") != VERSION:
            raise ModelFileError(
                f"{where}: version {header.get('version')!r} of the layout is not known; this "
                f"version of tropicell reads {VERSION}"
            )
        try:
            return _regions(header, arrays, where)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ModelFileError(f"{where}: the arrays do not make regions: {error!r}") from error


def _regions(header: dict[str, Any], arrays: dict[str, Any], where: str) -> Regions:
    prefix = "network."
    parts = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    network = layout.to_network(parts | {"header": header["network"]}, where)
    for name, kinds in _KINDS.items():
        if name in arrays and arrays[name].dtype.kind not in kinds:
            raise ModelFileError(f"{where}: {name!r} is of type {arrays[name].dtype}")
    domain = _get_domain(header["domain"], arrays, where)
    domain.contains(np.zeros((1, network.n_inputs)))  # refuses another dimension
    quotient = Quotient.trivial(network, domain)
    if "inputs" in arrays:
        kept = arrays["inputs"].astype(np.int64)
        if kept.ndim != 1 or not spans(network, domain, kept):
            raise ModelFileError(f"{where}: 'inputs' are not enough for all regions")
        quotient = Quotient(network, domain, kept)
    bits = PackedPatterns.bits_for(network.pieces)
    words = np.ascontiguousarray(arrays["words"], dtype=np.uint64)
    packed = PackedPatterns(words, network.n_neurons, bits)
    count, inputs = len(words), quotient.dimension
    width = PackedPatterns.words_for(network.n_neurons, bits)
    if (
        header["bits"] != bits
        or words.shape != (count, width)
        or not _pieces_exist(packed, network)
    ):
        raise ModelFileError(f"{where}: the patterns do not fit the network")
    shapes = {"bounded": (), "volumes": (), "corners": (inputs + 1,), "facet_lines": ()}
    columns: dict[str, Any] = {}
    for name, shape in shapes.items():
        if f"{name}.ends" in arrays:
            ends = arrays[f"{name}.ends"]
            _check_ends(ends, len(arrays[name]), f"{where}: {name!r}")
            columns[name] = Ragged(arrays[name], ends)
        elif name in arrays:
            columns[name] = arrays[name]
        if name in columns and (len(columns[name]) != count or arrays[name].shape[1:] != shape):
            raise ModelFileError(f"{where}: {name!r} does not have a row for every region")
    if arrays["witnesses"].shape != (count, inputs):
        raise ModelFileError(f"{where}: the witnesses do not fit the network")
    if not isinstance(header["stats"], dict):
        raise ModelFileError(f"{where}: the statistics are not a JSON object")
    return Regions(
        quotient.network,
        quotient.domain,
        packed,
        arrays["witnesses"],
        complete=bool(header["complete"]),
        stats=header["stats"],
        **columns,
    ).lifted(quotient)


def _check_ends(ends: NDArray[Any], values: int, what: str) -> None:
    """Refuse rows of negative length, and rows beyond the values: code relies on them."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise ModelFileError(f"{what}: the ends of its rows are not whole numbers")
    if (np.diff(ends.astype(np.int64), prepend=0) < 0).any() or (
        int(ends[-1]) if ends.size else 0
    ) != values:
        raise ModelFileError(f"{what}: its rows are not one after the other in {values} values")


def _pieces_exist(packed: PackedPatterns, network: Network) -> bool:
    """Whether all patterns name pieces that there are; packed bits could name more."""
    if (network.pieces == 2**packed.bits).all():
        return True
    step = max(1, 20_000_000 // max(1, packed.neurons))
    parts = range(0, len(packed), step)
    return all((packed[start : start + step] < network.pieces).all() for start in parts)


def _put_domain(domain: Domain) -> tuple[str, dict[str, NDArray[Any]]]:
    if isinstance(domain, Box):
        return "box", {"domain.low": domain.low, "domain.high": domain.high}
    if isinstance(domain, Polytope):
        return "polytope", {"domain.A": domain.A, "domain.b": domain.b}
    if isinstance(domain, Ball):
        return f"{domain.norm} ball", {
            "domain.center": domain.center,
            "domain.radius": np.array([domain.radius]),
        }
    return "whole space", {}


def _get_domain(kind: str, arrays: dict[str, Any], where: str) -> Domain:
    if kind == "box":
        return Box(arrays["domain.low"], arrays["domain.high"])
    if kind == "polytope":
        return Polytope(arrays["domain.A"], arrays["domain.b"])
    if kind == "whole space":
        return WholeSpace()
    for norm in NORMS:
        if kind == f"{norm} ball":
            return Ball(arrays["domain.center"], arrays["domain.radius"].item(), norm)
    raise ModelFileError(f"{where}: the domain {kind!r} is not known")
