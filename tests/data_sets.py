"""Tiny data sets in the formats of the public ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.io import savemat

from tropicell.lab import data


def images(count: int, shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images that can be learnt: each class has a pattern of its own, with noise."""
    rng = np.random.default_rng(seed)
    patterns = np.random.default_rng(99).integers(0, 256, size=(10, *shape))
    labels = rng.integers(0, 10, size=count).astype(np.uint8)
    noise = rng.normal(0, 30, size=(count, *shape))
    return np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels


def parts(shape: tuple[int, ...], train: int = 300, test: int = 60) -> dict[str, np.ndarray]:
    """The four arrays of a data set."""
    x_train, y_train = images(train, shape, 1)
    x_test, y_test = images(test, shape, 2)
    return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}


def write_npz(folder: Path, train: int = 300, test: int = 60) -> None:
    """All three data sets as .npz files."""
    np.savez(folder / "mnist.npz", **parts((28, 28), train, test))
    for name in ("cifar10_gray", "svhn_gray"):
        np.savez(folder / f"{name}.npz", **parts((32, 32), train, test))


def write_idx(path: Path, array: np.ndarray) -> None:
    head = b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    content = head + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_mnist(folder: Path, *, packed: bool = True) -> dict[str, np.ndarray]:
    arrays = parts((28, 28))
    for file, array in zip(data.MNIST_FILES, arrays.values(), strict=True):
        name = file.name if packed else file.name.removesuffix(".gz")
        write_idx(folder / name, array)
    return arrays


def batches(arrays: dict[str, np.ndarray]) -> dict[str, bytes]:
    """The six files of CIFAR-10's binary version."""

    def records(x: np.ndarray, y: np.ndarray) -> bytes:
        planes = np.moveaxis(x, 3, 1).reshape(len(x), -1)
        return np.concatenate([y[:, None], planes], axis=1).tobytes()

    made = {}
    for i in range(5):
        part = slice(60 * i, 60 * i + 60)
        made[f"data_batch_{i + 1}.bin"] = records(arrays["x_train"][part], arrays["y_train"][part])
    made["test_batch.bin"] = records(arrays["x_test"], arrays["y_test"])
    return made


def write_cifar10(folder: Path, *, packed: bool = True) -> dict[str, np.ndarray]:
    arrays = parts((32, 32, 3))
    made = batches(arrays)
    if not packed:
        (folder / "cifar-10-batches-bin").mkdir()
        for name, content in made.items():
            (folder / "cifar-10-batches-bin" / name).write_bytes(content)
        return arrays
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name, content in made.items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return arrays


def write_svhn(folder: Path) -> dict[str, np.ndarray]:
    arrays = parts((32, 32, 3))
    for part in ("train", "test"):
        labels = arrays[f"y_{part}"].copy()
        labels[labels == 0] = 10
        pixels = np.moveaxis(arrays[f"x_{part}"], 0, 3)
        savemat(folder / f"{part}_32x32.mat", {"X": pixels, "y": labels[:, None]})
    return arrays


def accept(monkeypatch, folder: Path) -> None:
    """Take the files of a folder for the public ones: their checksums, and small batches."""
    monkeypatch.setattr(data, "_RECORDS", 60)
    for name in ("MNIST_FILES", "CIFAR10_FILES", "SVHN_FILES"):
        known = tuple(
            replace(file, md5=hashlib.md5((folder / file.name).read_bytes()).hexdigest())
            if (folder / file.name).is_file()
            else file
            for file in getattr(data, name)
        )
        monkeypatch.setattr(data, name, known)
        kinds = {
            key: replace(kind, files=known) if kind.files[0].name == known[0].name else kind
            for key, kind in data._KINDS.items()
        }
        monkeypatch.setattr(data, "_KINDS", kinds)
