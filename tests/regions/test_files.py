"""Regions in files: nothing is lost, and what is no such file is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import domains, networks, random_network
from tropicell import (
    Box,
    InvalidInputError,
    ModelFileError,
    Network,
    Regions,
    enumerate_regions,
    load_regions,
    save,
)


def same(a: Regions, b: Regions) -> None:
    assert a.texts() == b.texts()
    assert a.complete == b.complete
    assert repr(a.domain) == repr(b.domain)
    np.testing.assert_array_equal(a.witnesses.astype(float), b.witnesses)
    np.testing.assert_array_equal(a.affine_maps, b.affine_maps)
    for name in ("bounded", "volumes"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("corners", "facet_lines"):
        np.testing.assert_array_equal(getattr(a, name).values, getattr(b, name).values)
        np.testing.assert_array_equal(getattr(a, name).ends, getattr(b, name).ends)


@settings(max_examples=20)
@given(st.data())
def test_saved_regions_come_back(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    network = data.draw(networks())
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    path = tmp_path_factory.mktemp("regions") / "regions.npz"
    regions.save(path)
    same(regions, load_regions(path))


def test_large_columns_can_stay_on_the_disk(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp(
        [rng.normal(size=(60, 2)), rng.normal(size=(60, 60)), np.ones((1, 60))],
        [rng.normal(size=60), rng.normal(size=60), [0.0]],
    )
    regions = enumerate_regions(network, Box(-3, 3))
    regions.save(tmp_path / "regions.npz")
    mapped = load_regions(tmp_path / "regions.npz", mapped=True)
    assert isinstance(mapped.corners.values, np.memmap)
    same(regions, mapped)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["regions.npz"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    network = random_network(0, "generic", 2, 2, 3)
    regions = enumerate_regions(network, Box(-1, 1))
    with pytest.raises(InvalidInputError, match="suffix"):
        regions.save(tmp_path / "regions.txt")
    with pytest.raises(ModelFileError, match="no such file"):
        load_regions(tmp_path / "missing.npz")
    save(network, tmp_path / "network.npz")
    with pytest.raises(ModelFileError, match="holds no regions"):
        load_regions(tmp_path / "network.npz")
    regions.save(tmp_path / "regions.npz")
    whole = (tmp_path / "regions.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match=r"half\.npz"):
        load_regions(tmp_path / "half.npz")


def test_a_file_with_a_column_of_another_length_is_refused(tmp_path: Path) -> None:
    regions = enumerate_regions(random_network(0, "generic", 2, 2, 3), Box(-1, 1))
    regions.save(tmp_path / "regions.npz")
    with np.load(tmp_path / "regions.npz") as file:
        arrays = dict(file)
    arrays["volumes"] = arrays["volumes"][:-1]
    np.savez(tmp_path / "broken.npz", **arrays)
    with pytest.raises(ModelFileError, match="'volumes' does not have a row for every region"):
        load_regions(tmp_path / "broken.npz")
