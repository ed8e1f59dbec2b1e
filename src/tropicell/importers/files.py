"""Models from files, and networks to files.

`load` chooses by the file's suffix. Tropicell's own files are ``.npz`` (NumPy arrays and a JSON
header) or ``.safetensors`` with the same keys; nothing is ever unpickled. See `save` for the
layout of any network, and `load` for the simple one of a multi-layer perceptron.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.durable import replacing
from tropicell._runtime.npz import read_npz, write_npz
from tropicell._runtime.paths import check_file, in_file, path_of
from tropicell.errors import InvalidInputError, ModelFileError, require
from tropicell.network import layout
from tropicell.network.domains import Box, Slice
from tropicell.network.network import Network

#: Where a .safetensors file of `save` has the checksum of all its arrays.
_CHECKSUM = "sha256"

#: Suffixes of files that hold pickles.
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".bin")

_PICKLE_ADVICE = (
    "pickles can run code when they are loaded, and hold weights without the network. Build the "
    "module, load its weights into it, and use tropicell.from_torch; or write a file with "
    "torch.export.save(torch.export.export(module, (example,)), 'model.pt2') or torch.onnx.export"
)


def load(path: str | os.PathLike[str]) -> Network:
    """A network from a file: ``.onnx``, ``.pt2``, ``.npz`` or ``.safetensors``.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Network

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, damaged, a pickle, or not what its suffix says.
    ModelImportError
        If the model in it can't be imported; see `from_onnx` and `from_torch`.

    Notes
    -----
    An ``.npz`` file with the arrays ``W0, b0, W1, b1, …`` (``W`` of shape (outputs, inputs), the
    last pair is the output's) is a multi-layer perceptron with ReLU. Optional: ``skips``, pairs
    (k, ℓ) as in `Network.mlp`; ``activation``, one name or one for each hidden layer; ``n_layers``,
    the number of matrices; ``box``, which says where the network was trained and is not used here.
    Other arrays are refused. No array may have more than 2 GiB.

    A bit that has flipped in an ``.npz`` file, or in a ``.safetensors`` file of `save`, is noticed:
    these have checksums. ONNX files have none.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/net.npz", W0=[[1.0], [-1.0]], b0=[0.0, 1.0], W1=[[1.0, 1.0]])
    ...     load(folder + "/net.npz")
    Network(1 → 2 → 1)
    """
    file = path_of(path)
    suffix = file.suffix.lower()
    check_file(file)
    if suffix in _PICKLES or _is_pickle(file):
        raise ModelFileError(f"{file}: is a pickle, or may be one; {_PICKLE_ADVICE}")
    if suffix == ".onnx":
        from tropicell.importers.onnx.importer import from_onnx  # noqa: PLC0415

        return from_onnx(file)
    if suffix == ".pt2":
        from tropicell.importers.torch.importer import from_pt2  # noqa: PLC0415

        return from_pt2(file)
    if suffix in (".npz", ".safetensors"):
        with in_file(file):
            arrays = read_npz(file) if suffix == ".npz" else _read_safetensors(file)
            return layout.to_network(arrays, str(file))
    raise ModelFileError(
        f"{file}: unknown suffix {suffix!r}; expected .onnx, .pt2, .npz or .safetensors"
    )


def save(network: Network, path: str | os.PathLike[str]) -> None:
    """Write any network to an ``.npz`` or ``.safetensors`` file; `load` reads it back.

    The file is written next to its place and then moved there, so it is never half written.

    Parameters
    ----------
    network : Network
    path : str or path-like

    Raises
    ------
    InvalidInputError
        If the suffix is neither ``.npz`` nor ``.safetensors``.
    FileWriteError
        If the file can't be written; what was there before is untouched.

    Notes
    -----
    The layout, version 1. ``header`` is JSON: ``format``, ``version``, ``n_inputs`` (of layer 0),
    and for each layer its ``name``, the ``activation``'s name and its ``sources``. For layer ℓ
    there are ``layer<ℓ>.bias``, for every source k either ``layer<ℓ>.from<k>`` (a dense matrix) or
    ``.data``, ``.indices`` and ``.indptr`` after it (CSR), and ``layer<ℓ>.breakpoints``,
    ``.slopes`` and ``.intercepts`` with one row, or one for each neuron. The output is
    ``output.…`` likewise; ``embedding.matrix`` and ``embedding.offset`` are there if the network
    is on a slice. In ``.safetensors`` files the header stands among the metadata, with a checksum
    of all arrays, ``sha256``; ``.npz`` files have checksums of their own.

    Examples
    --------
    >>> network = Network.mlp([[[1.0]]] * 4, skips=[(1, 3)])
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, folder + "/net.npz")
    ...     load(folder + "/net.npz")
    Network(1 → 1 → 1 → 1 → 1, skips 1→3)
    """
    if not isinstance(network, Network):
        raise InvalidInputError(
            f"expected a Network to save, got {type(network).__name__}; from_torch, "
            "from_onnx, from_keras, from_sklearn and Network.mlp make one"
        )
    file = path_of(path)
    suffix = file.suffix.lower()
    if suffix not in (".npz", ".safetensors"):
        raise InvalidInputError(f"{file}: expected the suffix .npz or .safetensors, not {suffix!r}")
    arrays, header = layout.to_arrays(network)
    if suffix == ".npz":
        write_npz(file, {"header": np.array(header), **arrays})
        return
    tensors = require("safetensors.numpy", extra="torch", why="writing .safetensors")
    with replacing(file) as temporary:
        metadata = {"header": header, _CHECKSUM: _checksum(arrays, header)}
        tensors.save_file(arrays, temporary, metadata=metadata)


def _is_pickle(file: Path) -> bool:
    """Whether a file is a pickle, or a zip with one as torch.save writes it."""
    try:
        with file.open("rb") as stream:
            start = stream.read(9)
        # a .safetensors file starts with a length that may look like a pickle, then JSON
        if file.suffix.lower() == ".safetensors" and start[8:] == b"{":
            return False
        if len(start) > 2 and start[0] == 0x80 and 2 <= start[1] <= 5:
            return True
        if start[:2] != b"PK":
            return False
        with zipfile.ZipFile(file) as archive:
            return any(re.fullmatch(r"[^/]+/data\.pkl", name) for name in archive.namelist())
    except Exception:  # damaged, or out of reach: whoever reads it next says so
        return False


def _read_safetensors(file: Path) -> dict[str, Any]:
    tensors = require("safetensors", extra="torch", why="reading .safetensors")
    try:
        with tensors.safe_open(str(file), framework="numpy") as stream:
            keys = list(stream.keys())
            layout.refuse_state_dict(keys, str(file))
            arrays = {key: stream.get_tensor(key) for key in keys}
            metadata = stream.metadata() or {}
    except (tensors.SafetensorError, OSError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{file}: not a .safetensors file, or a truncated one ({error})"
        ) from None
    expected = metadata.get(_CHECKSUM)
    if expected is not None and expected != _checksum(arrays, metadata.get("header", "")):
        raise ModelFileError(f"{file}: damaged: its arrays do not have the checksum that it names")
    return arrays | {key: metadata[key] for key in ("header", "activation") if key in metadata}


def _checksum(arrays: Mapping[str, NDArray[Any]], header: str) -> str:
    """SHA-256 of a network's header and of all arrays: names, types, shapes and bytes."""
    digest = hashlib.sha256(header.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


#: The arrays of a file with a slice.
SLICE_ARRAYS = frozenset({"origin", "directions", "points", "low", "high"})


def load_slice(path: str | os.PathLike[str]) -> Slice:
    """A slice from an ``.npz`` file.

    Parameters
    ----------
    path : str or path-like
        It has ``origin`` and ``directions``, or ``points`` (`Slice.through`); and optionally
        ``low`` and ``high``, a box in the coordinates of the slice.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, or has other arrays.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/plane.npz", points=[[0.0, 0, 0], [1.0, 0, 0], [0.0, 0, 2.0]])
    ...     load_slice(folder + "/plane.npz").directions.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
    """
    file = path_of(path)
    with in_file(file):
        arrays = read_npz(file)
        if unknown := sorted(set(arrays) - SLICE_ARRAYS):
            raise ModelFileError(
                f"{path}: unknown arrays {', '.join(unknown)} in a slice file; it has origin and "
                "directions, or points, and optionally low and high"
            )
        inside = None
        if "low" in arrays or "high" in arrays:
            inside = Box(arrays.get("low", -np.inf), arrays.get("high", np.inf))
        if "points" in arrays and not {"origin", "directions"} & set(arrays):
            return Slice.through(arrays["points"], inside)
        if {"origin", "directions"} <= set(arrays) and "points" not in arrays:
            return Slice(arrays["origin"], arrays["directions"], inside)
        raise ModelFileError(
            f"{path}: a slice file has either origin and directions, or points, "
            f"this one has {', '.join(sorted(arrays)) or 'nothing'}"
        )
