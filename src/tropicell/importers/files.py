"""Models from files, and networks to files.

`load` chooses by the file's suffix. Tropicell's own files are ``.npz`` (NumPy arrays and a JSON
header) or ``.safetensors`` with the same keys; nothing is ever unpickled. See `save` for the
layout of any network, and `load` for the simple one of a multi-layer perceptron.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.archives import ZIP_ERRORS, refuse_ambiguous, refuse_bomb
from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import check_file, path_of
from tropicell.errors import InvalidInputError, ModelFileError, require
from tropicell.importers.messages import in_file
from tropicell.network import layout
from tropicell.network.network import Network

#: No array of a file may claim more bytes, nor may all of them together.
MAX_BYTES = 2**31

#: Smaller arrays than this are read at once, whatever is asked for.
_MAP = 2**16

#: Bytes that are read at a time where only their checksum is wanted.
_BLOCK = 2**20

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


def write_npz(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an ``.npz`` file that is never half written, and on the disk at the end."""
    with replacing(file) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


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


def read_npz(path: str | os.PathLike[str], *, mapped: bool = False) -> dict[str, Any]:
    """The arrays of an ``.npz`` file, without pickles, with their claimed sizes checked first.

    If `mapped`, large arrays stay on the disk until they are used (as read-only memory maps).

    Every byte of every array is compared with the zip's checksum (CRC-32), those of mapped arrays
    too: they are read once, which takes a second or less for a gigabyte, and not kept. Whatever is
    wrong with the file is a `ModelFileError` that names it.
    """
    file = path_of(path)
    check_file(file)
    with in_file(file):
        try:
            return _read_arrays(file, mapped)
        except ZIP_ERRORS as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # out of reach, gone, a bad disk: no place in a file that is not there
            raise ModelFileError(
                f"{file}: not an .npz file, or a truncated or damaged one ({error})"
            ) from None
        except ValueError as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"{file}: an array can't be read: {error}") from None


def _read_arrays(file: Path, mapped: bool) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    with zipfile.ZipFile(file) as archive:
        refuse_bomb(archive, file)
        refuse_ambiguous(archive, file)
        total = 0
        for info in archive.infolist():
            stays = mapped and info.compress_type == zipfile.ZIP_STORED and info.file_size > _MAP
            with archive.open(info) as stream:
                total += _claimed_bytes(stream, info, file)
                if stays:
                    while stream.read(_BLOCK):  # its end compares the checksum
                        pass
            if total > MAX_BYTES and not mapped:
                raise ModelFileError(f"{file}: its arrays claim more than {MAX_BYTES} bytes")
            if stays:
                array = _memory_map(file, info)
            else:
                with archive.open(info) as stream:
                    array = np.lib.format.read_array(stream, allow_pickle=False)
            arrays[info.filename.removesuffix(".npy")] = array
    return arrays


def _memory_map(file: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of an ``.npz`` file that is not compressed, left on the disk."""
    with file.open("rb") as stream:
        # The local header: 30 bytes, with the lengths of the name and of an extra field at the end.
        stream.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", stream.read(4))
        stream.seek(info.header_offset + 30 + name + extra)
        shape, fortran, dtype = _array_header(stream)
        order: Literal["C", "F"] = "F" if fortran else "C"
        return np.memmap(
            file, dtype=dtype, mode="r", offset=stream.tell(), shape=shape, order=order
        )


def _array_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _claimed_bytes(stream: Any, info: zipfile.ZipInfo, file: Path) -> int:
    """The size that an array claims in its header, checked before anything is read."""
    if not info.filename.endswith(".npy"):
        raise ModelFileError(f"{file}: holds {info.filename!r}; expected NumPy arrays only")
    shape, _, dtype = _array_header(stream)
    if dtype.hasobject:
        raise ModelFileError(
            f"{file}: the array {info.filename!r} holds Python objects, which are pickles; "
            "expected numbers"
        )
    if dtype.itemsize == 0 or dtype.kind not in "biufU":
        raise ModelFileError(
            f"{file}: the array {info.filename!r} is of type {dtype}; expected numbers or text"
        )
    entries = math.prod(shape)
    claimed = entries * dtype.itemsize
    held = info.file_size - stream.tell()
    # numbers become float64; the end of the data is where their checksum is compared
    if max(claimed, 8 * entries) > MAX_BYTES or claimed != held or min(shape, default=0) < 0:
        raise ModelFileError(
            f"{file}: the array {info.filename!r} claims {claimed} bytes, the file holds {held}; "
            f"at most {MAX_BYTES} are read"
        )
    return claimed


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
