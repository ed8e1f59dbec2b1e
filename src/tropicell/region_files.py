"""Regions in files: the network, the domain and all columns that there are, in one ``.npz``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell import layout
from tropicell.columns import PackedPatterns, Ragged
from tropicell.domains import Box, Domain, Polytope, WholeSpace
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.io import read_npz, write_npz
from tropicell.regions import Regions

FORMAT, VERSION = "tropicell-regions", 1


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
    prefix ``network.``. Exact witnesses are rounded to float64.

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
    file = Path(path)
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: expected the suffix .npz, not {file.suffix!r}")
    network, network_header = layout.to_arrays(regions.network)
    arrays: dict[str, NDArray[Any]] = {f"network.{key}": value for key, value in network.items()}
    domain, domain_arrays = _put_domain(regions.domain)
    arrays |= domain_arrays
    arrays["words"] = regions.packed.words
    arrays["witnesses"] = regions.witnesses.astype(np.float64)
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        column = regions.__dict__.get(name)
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
        Leave large columns on the disk (as read-only memory maps) until they are used.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated or something else.
    """
    arrays = read_npz(path, mapped=mapped)
    where = str(path)
    try:
        header = json.loads(str(arrays["header"]))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ModelFileError(f"{where}: holds no regions; expected a file of Regions.save")
        if header["version"] != VERSION:
            raise ModelFileError(
                f"{where}: version {header['version']!r} of the layout is not known; this version "
                f"of tropicell reads {VERSION}"
            )
        return _regions(header, arrays, where)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{where}: the header is not JSON: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{where}: the arrays do not make regions: {error!r}") from error


def _regions(header: dict[str, Any], arrays: dict[str, Any], where: str) -> Regions:
    prefix = "network."
    parts = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    network = layout.to_network(parts | {"header": header["network"]}, where)
    packed = PackedPatterns(
        np.ascontiguousarray(arrays["words"], dtype=np.uint64), network.n_neurons, header["bits"]
    )
    count, inputs = len(packed), network.n_inputs
    if packed.words.shape != (count, max(1, -(-network.n_neurons * packed.bits // 64))):
        raise ModelFileError(f"{where}: the patterns do not fit the network")
    columns: dict[str, Any] = {}
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        if f"{name}.ends" in arrays:
            columns[name] = Ragged(arrays[name], arrays[f"{name}.ends"])
        elif name in arrays:
            columns[name] = arrays[name]
        if name in columns and len(columns[name]) != count:
            raise ModelFileError(f"{where}: {name!r} does not have a row for every region")
    if arrays["witnesses"].shape != (count, inputs):
        raise ModelFileError(f"{where}: the witnesses do not fit the network")
    return Regions(
        network,
        _get_domain(header["domain"], arrays),
        packed,
        arrays["witnesses"],
        complete=bool(header["complete"]),
        stats=header["stats"],
        **columns,
    )


def _put_domain(domain: Domain) -> tuple[str, dict[str, NDArray[Any]]]:
    if isinstance(domain, Box):
        return "box", {"domain.low": domain.low, "domain.high": domain.high}
    if isinstance(domain, Polytope):
        return "polytope", {"domain.A": domain.A, "domain.b": domain.b}
    return "whole space", {}


def _get_domain(kind: str, arrays: dict[str, Any]) -> Domain:
    if kind == "box":
        return Box(arrays["domain.low"], arrays["domain.high"])
    if kind == "polytope":
        return Polytope(arrays["domain.A"], arrays["domain.b"])
    return WholeSpace()
