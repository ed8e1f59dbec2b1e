"""The original public files of MNIST, CIFAR-10 and SVHN.

Files that are handed on unchanged are checked against their public checksums, unpacked ones against
the sizes that their format demands. CIFAR-10 is read from its binary version: the Python version
consists of pickles, which can run code.
"""

from __future__ import annotations

import gzip
import struct
import tarfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from tropicell.errors import ModelFileError
from tropicell.lab.download import PublicFile, check

#: Arrays x_train, y_train, x_test, y_test, and the names of the files that they come from.
Arrays = tuple[dict[str, NDArray[np.uint8]], str]

_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_MNIST_COPY = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_SVHN = "http://ufldl.stanford.edu/housenumbers/"

MNIST_FILES = tuple(
    PublicFile(name, md5, (_MNIST + name, _MNIST_COPY + name))
    for name, md5 in (
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    )
)
CIFAR10_FILES = (
    PublicFile(
        "cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
        ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    ),
)
SVHN_FILES = (
    PublicFile("train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", (_SVHN + "train_32x32.mat",)),
    PublicFile("test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", (_SVHN + "test_32x32.mat",)),
)

_BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_BATCH_FOLDER = "cifar-10-batches-bin"
_PYTHON_VERSION = ("cifar-10-python.tar.gz", "cifar-10-batches-py")
_RECORD = 1 + 3 * 32 * 32
_RECORDS = 10_000
_UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError, KeyError)


def read_mnist(folder: Path) -> Arrays | None:
    """The four idx files, packed or not, also where torchvision puts them; None if not there."""
    names = ("x_train", "y_train", "x_test", "y_test")
    for place in (folder, folder / "mnist", folder / "MNIST" / "raw"):
        packed = [place / file.name for file in MNIST_FILES]
        files = [path if path.is_file() else path.with_suffix("") for path in packed]
        if all(path.is_file() for path in files):
            for path, file in zip(files, MNIST_FILES, strict=True):
                if path.suffix == ".gz":
                    check(path, file.md5)
            arrays = {name: read_idx(path) for name, path in zip(names, files, strict=True)}
            return arrays, "its idx files"
    return None


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The bytes of an idx file, packed with gzip or not.

    Raises
    ------
    ModelFileError
        If it is truncated, damaged, or not an idx file of bytes.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except _UNREADABLE as error:
        raise ModelFileError(f"{path} is unfinished or damaged: {error}") from None
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ModelFileError(f"{path}: not an idx file of bytes (it starts with {data[:4]!r})")
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise ModelFileError(f"{path} is unfinished: its header is cut off")
    shape = struct.unpack(f">{data[3]}I", data[4:start])
    expected = start + int(np.prod(shape, dtype=object))
    if len(data) != expected:
        raise ModelFileError(
            f"{path} is unfinished or damaged: it holds {len(data)} bytes, its header demands "
            f"{expected}"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def read_cifar10(folder: Path) -> Arrays | None:
    """The binary version, as the archive or unpacked; None if not there."""
    archive, unpacked = folder / CIFAR10_FILES[0].name, folder / _BATCH_FOLDER
    if archive.is_file():
        check(archive, CIFAR10_FILES[0].md5)
        batches, source = _archived_batches(archive), archive.name
    elif unpacked.is_dir():
        batches = {}
        for name in _BATCHES:
            if not (unpacked / name).is_file():
                raise ModelFileError(f"{unpacked}: {name} is missing; unpack the archive again")
            with (unpacked / name).open("rb") as stream:
                batches[name] = _batch(stream, unpacked / name)
        source = _BATCH_FOLDER
    else:
        for name in _PYTHON_VERSION:
            if (folder / name).exists():
                raise ModelFileError(
                    f"{folder / name}: the Python version of CIFAR-10 consists of pickles, which "
                    f"can run code and are not read; get the binary version, {archive.name}"
                )
        return None
    train = np.concatenate([batches[name] for name in _BATCHES[:-1]])
    test = batches[_BATCHES[-1]]
    arrays = {
        "x_train": _pictures(train),
        "y_train": train[:, 0].copy(),
        "x_test": _pictures(test),
        "y_test": test[:, 0].copy(),
    }
    return arrays, source


def _archived_batches(archive: Path) -> dict[str, NDArray[np.uint8]]:
    batches = {}
    try:
        # Members are read, never unpacked to the disk: their paths do not matter.
        with tarfile.open(archive, "r:gz") as packed:
            for name in _BATCHES:
                stream = packed.extractfile(f"{_BATCH_FOLDER}/{name}")
                if stream is None:
                    raise ModelFileError(f"{archive}: {name} is not a file")
                batches[name] = _batch(stream, archive / name)
    except _UNREADABLE as error:
        raise ModelFileError(f"{archive} is unfinished or damaged: {error}") from None
    return batches


def _batch(stream: IO[bytes], path: Path) -> NDArray[np.uint8]:
    """The records of a batch: a label, then the red, green and blue pixels."""
    expected = _RECORD * _RECORDS
    data = stream.read(expected + 1)
    if len(data) != expected:
        raise ModelFileError(
            f"{path} is unfinished or damaged: expected {expected} bytes, {_RECORDS} images"
        )
    return np.frombuffer(data, np.uint8).reshape(_RECORDS, _RECORD)


def _pictures(records: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.moveaxis(records[:, 1:].reshape(-1, 3, 32, 32), 1, 3)


def read_svhn(folder: Path) -> Arrays | None:
    """The cropped digits, two MATLAB files; None if not there."""
    paths = [folder / file.name for file in SVHN_FILES]
    if not all(path.is_file() for path in paths):
        return None
    arrays: dict[str, NDArray[np.uint8]] = {}
    for path, file, part in zip(paths, SVHN_FILES, ("train", "test"), strict=True):
        check(path, file.md5)
        images, labels = _matlab(path)
        arrays[f"x_{part}"] = np.moveaxis(images, 3, 0)
        arrays[f"y_{part}"] = (labels.reshape(-1) % 10).astype(np.uint8)  # the digit 0 is 10 there
    return arrays, ", ".join(path.name for path in paths)


def _matlab(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    try:
        content: dict[str, Any] = loadmat(path, variable_names=["X", "y"])
        images, labels = np.asarray(content["X"]), np.asarray(content["y"])
    except (MatReadError, ValueError, TypeError, NotImplementedError, *_UNREADABLE) as error:
        raise ModelFileError(f"{path}: not a MATLAB file with X and y ({error})") from None
    if images.ndim != 4 or images.dtype != np.uint8 or images.shape[3] != labels.size:
        raise ModelFileError(
            f"{path}: X has shape {images.shape} and type {images.dtype}, y {labels.shape}; "
            "expected bytes (rows, columns, 3, images) and as many labels"
        )
    return images, labels
