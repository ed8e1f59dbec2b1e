"""Data sets from the original files and from .npz files; damaged ones are named and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import data_sets
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.lab.data import DATA_SETS, data_folder, load_available, load_data, to_gray


def assert_holds(name: str, folder: Path, arrays: dict[str, np.ndarray]) -> None:
    found = load_data(name, folder)
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        gray = to_gray(x) if x.ndim == 4 else x
        np.testing.assert_array_equal(getattr(found, f"x_{part}"), gray.reshape(len(x), -1))
        np.testing.assert_array_equal(getattr(found, f"y_{part}"), y)
    assert len(found.labels) == 10
    assert "not compared with the original" in found.origin


@pytest.mark.parametrize("packed", [True, False])
def test_mnist(tmp_path, monkeypatch, packed) -> None:
    arrays = data_sets.write_mnist(tmp_path, packed=packed)
    data_sets.accept(monkeypatch, tmp_path)
    assert_holds("mnist", tmp_path, arrays)


@pytest.mark.parametrize("packed", [True, False])
def test_cifar10(tmp_path, monkeypatch, packed) -> None:
    arrays = data_sets.write_cifar10(tmp_path, packed=packed)
    data_sets.accept(monkeypatch, tmp_path)
    assert_holds("cifar10", tmp_path, arrays)


def test_svhn(tmp_path, monkeypatch) -> None:
    arrays = data_sets.write_svhn(tmp_path)
    data_sets.accept(monkeypatch, tmp_path)
    assert_holds("svhn", tmp_path, arrays)


def test_npz_gray_and_in_colour(tmp_path) -> None:
    arrays = data_sets.parts((32, 32, 3))
    np.savez(tmp_path / "cifar10.npz", **arrays)
    assert_holds("cifar10", tmp_path, arrays)
    data_sets.write_npz(tmp_path)
    assert_holds("cifar10", tmp_path, data_sets.parts((32, 32)))
    smaller = load_data("mnist", tmp_path).first(7, 3)
    assert smaller.x_train.shape == (7, 784)
    assert smaller.y_test.shape == (3,)
    assert smaller.checksum != load_data("mnist", tmp_path).checksum


def test_gray_is_that_of_pillow() -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, size=(3, 9, 11, 3), dtype=np.uint8)
    expected = [np.asarray(image.fromarray(picture).convert("L")) for picture in pixels]
    np.testing.assert_array_equal(to_gray(pixels), expected)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "svhn"])
def test_a_cut_off_original_is_refused(tmp_path, monkeypatch, name) -> None:
    getattr(data_sets, f"write_{name}")(tmp_path)
    data_sets.accept(monkeypatch, tmp_path)
    largest = max(tmp_path.iterdir(), key=lambda file: file.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="unfinished or damaged") as caught:
        load_data(name, tmp_path)
    assert str(largest) in str(caught.value)


def test_a_cut_off_unpacked_file_is_refused(tmp_path, monkeypatch) -> None:
    data_sets.write_mnist(tmp_path, packed=False)
    file = tmp_path / "t10k-images-idx3-ubyte"
    whole = file.read_bytes()
    for content, words in (
        (whole[:-1], "its header demands"),
        (whole[:9], "header is cut off"),
        (b"\0\0\x0d" + whole[3:], "not an idx file of bytes"),
        (b"", "not an idx file"),
    ):
        file.write_bytes(content)
        with pytest.raises(ModelFileError, match=words):
            load_data("mnist", tmp_path)
    data_sets.write_cifar10(tmp_path, packed=False)
    data_sets.accept(monkeypatch, tmp_path)
    batch = tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin"
    batch.write_bytes(batch.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match=r"data_batch_3\.bin is unfinished"):
        load_data("cifar10", tmp_path)
    batch.unlink()
    with pytest.raises(ModelFileError, match=r"data_batch_3\.bin is missing"):
        load_data("cifar10", tmp_path)


def test_pickles_are_not_read(tmp_path) -> None:
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"anything")
    with pytest.raises(ModelFileError, match="pickles"):
        load_data("cifar10", tmp_path)


def test_a_damaged_npz_is_refused(tmp_path) -> None:
    data_sets.write_npz(tmp_path)
    file = tmp_path / "mnist.npz"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ModelFileError, match=r"mnist\.npz"):
        load_data("mnist", tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x_test": None}, "no array 'x_test'"),
        ({"y_train": np.zeros(300)}, "y_train is of type float64"),
        ({"y_train": np.zeros(299, np.uint8)}, "as many images as labels"),
        ({"y_test": np.full(60, 10, np.uint8)}, "label 10; expected 0 to 9"),
        ({"x_test": np.zeros((60, 27, 28), np.uint8)}, "784 pixels, test images 756"),
    ],
)
def test_arrays_that_make_no_data_set(tmp_path, change, words) -> None:
    arrays = data_sets.parts((28, 28)) | change
    np.savez(tmp_path / "mnist.npz", **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(ModelFileError) as caught:
        load_data("mnist", tmp_path)
    assert words in str(caught.value)
    assert "mnist.npz" in str(caught.value)


def test_what_is_missing_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "train_32x32.mat.part").write_bytes(b"half")
    with pytest.raises(ModelFileError, match=r"train_32x32\.mat\.part is an unfinished download"):
        load_data("svhn", tmp_path)
    with pytest.raises(ModelFileError, match=r"holds no MNIST.*holds no SVHN"):
        load_available(("mnist", "svhn"), tmp_path)
    np.savez(tmp_path / "mnist.npz", **data_sets.parts((28, 28)))
    found, missing = load_available(DATA_SETS, tmp_path)
    assert list(found) == ["mnist"]
    assert len(missing) == 2
    with pytest.raises(InvalidInputError, match="'imagenet'"):
        load_data("imagenet", tmp_path)
    monkeypatch.setenv("TROPICELL_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("TROPICELL_DATA")
    with pytest.raises(InvalidInputError, match="--data DIR or TROPICELL_DATA"):
        data_folder()
