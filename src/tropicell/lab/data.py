"""The data sets of the paper's experiments: gray images with labels.

They are read from a folder of the user, either the original public files or one ``.npz`` file with
``x_train``, ``y_train``, ``x_test`` and ``y_test``. Nothing is downloaded unless asked for.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import struct
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from tqdm import tqdm

from tropicell._runtime.npz import read_npz
from tropicell._runtime.paths import in_file, make_folder, path_of, reason
from tropicell.errors import FileWriteError, InvalidInputError, ModelFileError

# --- public files from the network: checked, and continued where a download was cut off -----------

_BLOCK = 2**18
_ATTEMPTS = 3
_TIMEOUT = 30.0


@dataclass(frozen=True)
class PublicFile:
    """A file that anybody can get.

    Attributes
    ----------
    name : str
    md5 : str
        As its authors, or those who hand it on, publish it.
    addresses : tuple of str
        Tried in this order.
    """

    name: str
    md5: str
    addresses: tuple[str, ...]


def download(file: PublicFile, folder: Path, *, progress: bool = False) -> Path:
    """Get a file, unless it is there already.

    It is written to ``NAME.part`` and gets its name when it is complete and its checksum is right.
    If the connection breaks, the next attempt, or the next call, goes on from there.

    Parameters
    ----------
    file : PublicFile
    folder : Path
        Made if it is not there.
    progress : bool
        Show a bar.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If no address gives the file; the message says why, and what to do.
    """
    make_folder(folder)
    target = folder / file.name
    if target.is_file():
        check(target, file.md5)
        return target
    part = folder / f"{file.name}.part"
    problems = []
    for address in file.addresses:
        for _ in range(_ATTEMPTS):
            try:
                _fetch(address, part, progress)
                check(part, file.md5)
            except (OSError, http.client.HTTPException) as error:
                problems.append(f"{address}: {error or type(error).__name__}")
                if isinstance(error, urllib.error.HTTPError):
                    break  # the server has answered: asking again would not help
            except ModelFileError as error:
                part.unlink(missing_ok=True)
                problems.append(f"{address}: {error}")
                break
            else:
                try:
                    part.replace(target)
                except OSError as error:
                    text = f"{target}: can't be written: {reason(error)}; {part} has its content"
                    raise FileWriteError(text, error.errno) from error
                return target
    raise ModelFileError(_advice(file, folder, part, problems))


def _advice(file: PublicFile, folder: Path, part: Path, problems: Sequence[str]) -> str:
    kept = (
        f"{part} holds the first {part.stat().st_size} bytes; the same command goes on from there"
        if part.is_file()
        else f"get it in another way and put it into {folder}"
    )
    return f"{file.name} could not be downloaded. {'; '.join(dict.fromkeys(problems))}. {kept}"


def _fetch(address: str, part: Path, progress: bool) -> None:
    """Append what is missing of a file."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(address, headers={"User-Agent": "tropicell"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing, or the part is no part of this file: its checksum tells
        raise
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            have = 0  # the server sends the whole file
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        with (
            part.open("ab" if have else "wb") as out,
            tqdm(
                total=total,
                initial=have,
                unit="B",
                unit_scale=True,
                desc=part.stem,
                disable=not progress,
            ) as bar,
        ):
            while block := response.read(_BLOCK):
                out.write(block)
                have += len(block)
                bar.update(len(block))
    if total is not None and have < total:
        raise ConnectionError(f"the connection broke after {have} of {total} bytes")


def check(path: Path, md5: str) -> None:
    """Refuse a file whose checksum is not the public one.

    Raises
    ------
    ModelFileError
        That names the file and both checksums.
    """
    with in_file(path), path.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != md5:
        raise ModelFileError(
            f"{path} is unfinished or damaged: its MD5 checksum is {found}, that of the public "
            f"file is {md5}; delete it and get it again"
        )


# --- the original public files of MNIST, CIFAR-10 and SVHN ----------------------------------------

# Files that are handed on unchanged are checked against their public checksums, unpacked ones
# against the sizes that their format demands. CIFAR-10 is read from its binary version: the Python
# version consists of pickles, which can run code.

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


Bytes = NDArray[np.uint8]

_ORIGINAL = "the images of the original files"
_REGENERATED = (
    "**regenerated**: the digits were cut anew from the original full-number images, because the "
    "original file of cropped digits could not be had. They agree bit for bit on the 1,083 "
    "training images that could be compared; a few values elsewhere may be off by one"
)

#: What is known about data sets, by their checksum (see `DataSet.checksum`).
_KNOWN = {
    "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16": _ORIGINAL,
    "eb0fdb6aceeb8b760748f570d676fb7aac30b4b4441f1544b4a4c54da09aec02": _ORIGINAL + ", made gray",
    "d5b36e850681358af66519913cadaf799194568c4403d40f3b47425b8dfc273a": _REGENERATED,
}


@dataclass(frozen=True, eq=False)
class DataSet:
    """Images for training and testing.

    Attributes
    ----------
    name : str
    title : str
        For people.
    x_train, x_test : ndarray of uint8, shape (images, pixels)
    y_train, y_test : ndarray of uint8
        Classes.
    labels : tuple of str
        Names of the classes.
    origin : str
        Where it comes from, in words for a report.
    """

    name: str
    title: str
    x_train: Bytes
    y_train: Bytes
    x_test: Bytes
    y_test: Bytes
    labels: tuple[str, ...]
    origin: str

    @property
    def checksum(self) -> str:
        """SHA-256 of all pixels and labels."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_test, self.y_test):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def first(self, train: int | None, test: int | None) -> DataSet:
        """A smaller data set: the first images of both parts."""
        return replace(
            self,
            x_train=self.x_train[:train],
            y_train=self.y_train[:train],
            x_test=self.x_test[:test],
            y_test=self.y_test[:test],
        )


@dataclass(frozen=True)
class _Kind:
    title: str
    files: tuple[PublicFile, ...]
    archives: tuple[str, ...]
    read: Callable[[Path], Arrays | None]
    labels: tuple[str, ...]


_DIGITS = tuple("0123456789")
_THINGS = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)

_KINDS = {
    "mnist": _Kind("MNIST", MNIST_FILES, ("mnist.npz",), read_mnist, _DIGITS),
    "cifar10": _Kind(
        "CIFAR-10 (gray)",
        CIFAR10_FILES,
        ("cifar10_gray.npz", "cifar10.npz"),
        read_cifar10,
        _THINGS,
    ),
    "svhn": _Kind("SVHN (gray)", SVHN_FILES, ("svhn_gray.npz", "svhn.npz"), read_svhn, _DIGITS),
}

#: Names of the data sets.
DATA_SETS = tuple(_KINDS)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with data sets: the one given, or that of ``TROPICELL_DATA``.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    found = folder if folder is not None else os.environ.get("TROPICELL_DATA")
    if not found:
        raise InvalidInputError(
            "no folder of data sets: name one with --data DIR or TROPICELL_DATA; add --download to "
            "get the public files into it"
        )
    return Path(found)


def load_data(name: str, folder: str | os.PathLike[str]) -> DataSet:
    """Read a data set.

    Parameters
    ----------
    name : {"mnist", "cifar10", "svhn"}
    folder : path-like
        Looked through for ``NAME.npz`` (``cifar10_gray.npz``, ``svhn_gray.npz``), then for the
        original files. Colour images are made gray as Pillow's mode L.

    Returns
    -------
    DataSet

    Raises
    ------
    ModelFileError
        If nothing is there, or a file is unfinished, damaged or a pickle; it is named.
    """
    found = find_data(name, folder)
    if found is None:
        raise ModelFileError(_absent(_kind(name), Path(folder)))
    return found


def find_data(name: str, folder: str | os.PathLike[str]) -> DataSet | None:
    """The same, but None if the folder does not hold the data set."""
    kind, place = _kind(name), path_of(folder)
    with in_file(place):
        return _found(name, kind, place)


def _found(name: str, kind: _Kind, place: Path) -> DataSet | None:
    for archive in kind.archives:
        if (place / archive).is_file():
            return _data_set(name, kind, read_npz(place / archive), archive, place / archive)
    found = kind.read(place)
    if found is None:
        return None
    arrays, source = found
    return _data_set(name, kind, arrays, source, place)


def _absent(kind: _Kind, place: Path) -> str:
    unfinished = [
        f"{place / file.name}.part is an unfinished download"
        for file in kind.files
        if (place / f"{file.name}.part").is_file()
    ]
    expected = ", ".join(file.name for file in kind.files)
    return "; ".join(
        [
            f"{place}: holds no {kind.title}; expected {kind.archives[0]}, or the original files "
            f"{expected} (--download gets them)",
            *unfinished,
        ]
    )


def download_data(
    name: str, folder: str | os.PathLike[str], *, progress: bool = False
) -> list[Path]:
    """Get the original files of a data set, unless they are there; see `download`."""
    return [download(file, Path(folder), progress=progress) for file in _kind(name).files]


def _kind(name: str) -> _Kind:
    if name not in _KINDS:
        raise InvalidInputError(f"data set {name!r}: expected one of {', '.join(DATA_SETS)}")
    return _KINDS[name]


def _data_set(
    name: str, kind: _Kind, arrays: dict[str, NDArray[np.uint8]], source: str, where: Path
) -> DataSet:
    parts: dict[str, Bytes] = {}
    for part in ("train", "test"):
        for key in (f"x_{part}", f"y_{part}"):
            if key not in arrays:
                raise ModelFileError(f"{where}: has no array {key!r}")
            if arrays[key].dtype != np.uint8:
                raise ModelFileError(
                    f"{where}: {key} is of type {arrays[key].dtype}; expected bytes (uint8)"
                )
        images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"].reshape(-1)
        if images.ndim < 2 or len(images) != len(labels) or not len(images):
            raise ModelFileError(
                f"{where}: x_{part} has shape {images.shape}, y_{part} {labels.shape}; expected as "
                "many images as labels, at least one"
            )
        if labels.max() >= len(kind.labels):
            raise ModelFileError(
                f"{where}: y_{part} holds the label {labels.max()}; expected 0 to "
                f"{len(kind.labels) - 1}"
            )
        gray = to_gray(images) if images.ndim == 4 else images
        parts[f"x_{part}"] = np.ascontiguousarray(gray.reshape(len(gray), -1))
        parts[f"y_{part}"] = labels
    if parts["x_train"].shape[1] != parts["x_test"].shape[1]:
        raise ModelFileError(
            f"{where}: training images have {parts['x_train'].shape[1]} pixels, test images "
            f"{parts['x_test'].shape[1]}"
        )
    found = DataSet(name, kind.title, **parts, labels=kind.labels, origin="")
    known = _KNOWN.get(found.checksum, "not compared with the original files")
    return replace(found, origin=f"{kind.title}, read from {source}: {known}")


def to_gray(images: Bytes) -> Bytes:
    """Colour images (images, rows, columns, 3) to gray, as Pillow's mode L.

    Examples
    --------
    >>> to_gray(np.array([[[[255, 0, 0], [0, 255, 0], [9, 9, 9]]]], np.uint8))
    array([[[ 76, 150,   9]]], dtype=uint8)
    """
    gray = np.empty(images.shape[:3], np.uint8)
    weights = np.array([19595, 38470, 7471], np.uint32)
    for start in range(0, len(images), 4096):  # 32-bit numbers of all images would be large
        part = slice(start, start + 4096)
        gray[part] = ((images[part].astype(np.uint32) @ weights) + 32768) >> 16
    return gray


def load_available(
    names: Sequence[str],
    folder: str | os.PathLike[str] | None,
    *,
    fetch: bool = False,
    progress: bool = False,
) -> tuple[dict[str, DataSet], list[str]]:
    """Those data sets that are there, and for the others what was expected.

    Parameters
    ----------
    names : sequence of str
    folder : path-like, optional
        See `data_folder`.
    fetch : bool
        Download what is missing.
    progress : bool
        Show a bar while downloading.

    Raises
    ------
    ModelFileError
        If none of them is there, or a file is damaged.
    """
    place = data_folder(folder)
    found: dict[str, DataSet] = {}
    missing = []
    for name in names:
        data = find_data(name, place)
        if data is None and fetch:
            download_data(name, place, progress=progress)
            data = find_data(name, place)
        if data is None:
            missing.append(_absent(_kind(name), place))
        else:
            found[name] = data
    if not found:
        raise ModelFileError("; ".join(missing))
    return found, missing
