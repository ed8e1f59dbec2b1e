"""Caches of predictors in files: patterns and maps, and the network's fingerprint."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.importers.files import read_npz, write_npz
from tropicell.importers.messages import in_file
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:
    from tropicell.predict.cached import CachedPredictor

FORMAT, VERSION = "tropicell-cache", 1

#: Regions that are read from the file at a time.
_STEP = 1024


def save_cache(predictor: CachedPredictor, path: str | os.PathLike[str]) -> None:
    """Write a predictor's regions to an ``.npz`` file.

    Notes
    -----
    ``header`` is JSON: ``format``, ``version``, ``fingerprint`` (of the network), ``max_bytes`` and
    ``policy``. ``words`` are the packed patterns, ``maps`` the affine maps of shape (regions,
    outputs, inputs + 1), both in the order in which they would go.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell.predict.cached import CachedPredictor
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CachedPredictor(network).fit([[1.0], [-1.0]]).save(folder + "/cache.npz")
    ...     CachedPredictor.load(folder + "/cache.npz", network).size
    2
    """
    file = path_of(path)
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: expected the suffix .npz, not {file.suffix!r}")
    words, maps = predictor.columns()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": predictor.network.fingerprint,
        "max_bytes": int(predictor.max_bytes),
        "policy": predictor.policy,
    }
    write_npz(file, {"header": np.array(json.dumps(header)), "words": words, "maps": maps})


def load_cache(
    kind: type[CachedPredictor],
    path: str | os.PathLike[str],
    network: Network,
    max_bytes: int | None,
    policy: str | None,
) -> CachedPredictor:
    """A predictor with the regions of a file; see `CachedPredictor.load`."""
    from tropicell.predict.cached import POLICIES, check_params  # noqa: PLC0415 - it imports this one

    check_params(network, 1 if max_bytes is None else max_bytes, policy or POLICIES[0])
    file = path_of(path)
    with in_file(file):
        header, words, maps = _read(file, network)
        predictor = kind(
            network,
            header["max_bytes"] if max_bytes is None else max_bytes,
            header["policy"] if policy is None else policy,
        )
        for start in range(0, len(words), _STEP):
            part = slice(start, start + _STEP)
            predictor.extend(np.array(words[part], order="C"), np.array(maps[part], order="C"))
    return predictor


def _read(file: Path, network: Network) -> tuple[dict[str, Any], Any, Any]:
    """The header of a file, and the patterns and maps in it."""
    arrays, where = read_npz(file, mapped=True), str(file)
    try:
        header = json.loads(str(arrays["header"]))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ModelFileError(
                f"{where}: holds no cache; expected a file of CachedPredictor.save"
            )
        if header["version"] != VERSION:
            raise ModelFileError(
                f"{where}: version {header['version']!r} of the layout is not known; this version "
                f"of tropicell reads {VERSION}"
            )
        if header["fingerprint"] != network.fingerprint:
            raise ModelFileError(
                f"{where}: the cache belongs to another network; its fingerprint is "
                f"{str(header['fingerprint'])[:12]}…, that of {network!r} is "
                f"{network.fingerprint[:12]}…; load it with the network that it was made with, or "
                "fit a new one"
            )
        return header, *_columns(arrays, network, where)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{where}: the header is not JSON: {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{where}: {error} is missing; the file is damaged") from None


def _columns(arrays: dict[str, Any], network: Network, where: str) -> tuple[Any, Any]:
    words, maps = arrays["words"], arrays["maps"]
    bits = PackedPatterns.aligned_bits_for(network.pieces)
    expected = {
        "words": (np.uint64, (len(words), PackedPatterns.words_for(network.n_neurons, bits))),
        "maps": (np.float64, (len(words), network.n_outputs, network.n_inputs + 1)),
    }
    for name, (kind, shape) in expected.items():
        if arrays[name].dtype != kind or arrays[name].shape != shape:
            raise ModelFileError(
                f"{where}: {name!r} has type {arrays[name].dtype} and shape {arrays[name].shape}; "
                f"expected {np.dtype(kind)} and {shape}"
            )
    return words, maps
