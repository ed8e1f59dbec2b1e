"""The data sets of the paper's experiments: gray images with labels.

They are read from a folder of the user, either the original public files or one ``.npz`` file with
``x_train``, ``y_train``, ``x_test`` and ``y_test``. Nothing is downloaded unless asked for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.importers.files import read_npz
from tropicell.importers.messages import in_file
from tropicell.lab.data_files import (
    CIFAR10_FILES,
    MNIST_FILES,
    SVHN_FILES,
    Arrays,
    read_cifar10,
    read_mnist,
    read_svhn,
)
from tropicell.lab.download import PublicFile, download

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
