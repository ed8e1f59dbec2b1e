"""Files for MPT3 and PPOPT: read again by other code, they are the network."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat

from searching import random_network
from strategies import networks
from strategies import random_network as degenerate_network
from tropicell import (
    Box,
    InvalidInputError,
    Level,
    Network,
    enumerate_regions,
    piecewise_affine,
)


def values(polyhedra, x):
    """What the maps of the polyhedra say at a point that lies in them; a little outside counts."""
    return [f @ x + g for a, b, f, g in polyhedra if (a @ x <= b + 1e-9).all()]


@settings(max_examples=20, deadline=None)
@given(network=networks(max_depth=2), seed=st.integers(0, 99))
def test_polyhedra_fill_the_domain_with_the_network(network, seed):
    domain = Box(-1, 1)
    regions = enumerate_regions(network, domain)
    pieces = piecewise_affine(regions)
    assert len(pieces) == len(regions)
    assert [len(b) for b in pieces.b] == [len(region.facets) for region in regions]
    assert np.array_equal(pieces.merged, regions.merged().labels)
    together = list(zip(pieces.A, pieces.b, pieces.F, pieces.g, strict=True))
    for x in np.random.default_rng(seed).uniform(-1, 1, size=(10, network.n_inputs)):
        found = values(together, x)
        assert found
        for value in found:
            np.testing.assert_allclose(value, network(x), rtol=1e-6, atol=1e-6)


def test_matlab_files(tmp_path):
    network = random_network([2, 5, 4, 2], seed=4)
    pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
    pieces.save(tmp_path / "law.m")
    data = loadmat(tmp_path / "law.mat")
    assert data["A"].shape == (len(pieces), 1)
    for k in range(len(pieces)):
        assert np.array_equal(data["A"][k, 0], pieces.A[k])
        assert np.array_equal(data["b"][k, 0].ravel(), pieces.b[k])
        assert np.array_equal(data["F"][k, 0], pieces.F[k])
        assert np.array_equal(data["g"][k, 0].ravel(), pieces.g[k])
    assert np.array_equal(data["merged"].ravel(), pieces.merged + 1)
    script = (tmp_path / "law.m").read_text(encoding="ascii")
    assert script.startswith("function [U, merged] = law()\n")
    assert re.search(r"Polyhedron\('A', data\.A\{k\}, 'b', data\.b\{k\}\)", script)
    assert f"{len(pieces)} polyhedra" in script


def test_octave_reads_matlab_files(tmp_path):
    """MPT3 itself needs MATLAB; the numbers, and that the function's text can be parsed, do not."""
    octave = shutil.which("octave-cli")
    if octave is None:
        pytest.skip("octave-cli is not on the PATH")
    network = random_network([2, 5, 4, 2], seed=4)
    pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
    pieces.save(tmp_path / "law.m")
    points = np.random.default_rng(1).uniform(-1, 1, size=(20, 2))
    rows = "; ".join(" ".join(map(repr, x)) for x in points.tolist())
    script = f"""
data = load('law.mat'); x = [{rows}];
for i = 1:rows(x)
  for k = 1:numel(data.A)
    if all(data.A{{k}} * x(i, :)' <= data.b{{k}} + 1e-9)
      printf('%d %.17g %.17g\\n', data.merged(k), data.F{{k}} * x(i, :)' + data.g{{k}}); break
    end
  end
end
try, law(); catch e, disp(e.message); end
"""
    done = subprocess.run(
        [octave, "--norc", "--eval", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    *lines, message = done.stdout.strip().splitlines()
    found = np.array([line.split() for line in lines], dtype=float)
    np.testing.assert_allclose(found[:, 1:], network(points), rtol=1e-9, atol=1e-12)
    assert set(found[:, 0]) <= set(pieces.merged + 1.0)
    assert "'Polyhedron' undefined" in message  # it was parsed, and got as far as MPT3's classes


def test_ppopt_files(tmp_path):
    network = random_network([2, 5, 4, 2], seed=4)
    pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
    pieces.save(tmp_path / "law.npz")
    with np.load(tmp_path / "law.npz") as data:
        for k in range(len(pieces)):
            # x(θ) = A θ + b where E θ <= f, columns: as PPOPT's CriticalRegion has it
            assert data[f"A{k}"].shape == (2, 2)
            assert data[f"b{k}"].shape == (2, 1)
            assert data[f"f{k}"].shape == (len(data[f"E{k}"]), 1)
        x = np.array([[0.3], [-0.2]])
        inside = [k for k in range(len(pieces)) if (data[f"E{k}"] @ x < data[f"f{k}"]).all()]
        assert len(inside) == 1
        value = data[f"A{inside[0]}"] @ x + data[f"b{inside[0]}"]
    np.testing.assert_allclose(value.ravel(), network(x.ravel()), rtol=1e-9)


def test_ppopt_reads_them(tmp_path):
    pytest.importorskip("ppopt")
    from tropicell.predict.export.control import read_ppopt

    network = random_network([2, 5, 4, 2], seed=4)
    piecewise_affine(enumerate_regions(network, Box(-1, 1))).save(tmp_path / "law.npz")
    solution = read_ppopt(tmp_path / "law.npz")
    for x in np.random.default_rng(0).uniform(-1, 1, size=(20, 2)):
        found = solution.evaluate(x[:, None])
        np.testing.assert_allclose(found.ravel(), network(x), rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["integer", "repeated", "dead", "zero_bias"]),
    inputs=st.integers(1, 3),
    bounded=st.booleans(),
)
def test_joined_polyhedra_are_the_same_function(seed, kind, inputs, bounded):
    network = degenerate_network(seed, kind, inputs, 2, 4, relu=True)
    regions = enumerate_regions(network, Box(-1, 1) if bounded else None)
    pieces, alone = piecewise_affine(regions, join=True), piecewise_affine(regions)
    assert len(pieces.convex) == len(alone.convex) <= len(pieces) <= len(alone)
    assert np.array_equal(pieces.merged[pieces.polyhedra], alone.merged)
    together = list(zip(pieces.A, pieces.b, pieces.F, pieces.g, strict=True))
    for x in np.random.default_rng(seed).uniform(-1, 1, size=(20, inputs)):
        assert sum((a @ x < b).all() for a, b, _, _ in together) == 1
        for value in values(together, x):
            np.testing.assert_allclose(value, network(x), rtol=1e-9, atol=1e-9)
    # Each region is inside of its polyhedron, and so all of it if there is no other one.
    for i, k in enumerate(pieces.polyhedra.tolist()):
        assert (pieces.A[k] @ np.asarray(regions.witnesses[i], dtype=float) <= pieces.b[k]).all()


def test_what_can_be_joined():
    # The output is 0 on the whole square: four regions, one polyhedron.
    network = Network.mlp([np.eye(2), [[1.0, 1.0]], [[1.0]]], [np.zeros(2), [-10.0], [0.0]])
    regions = enumerate_regions(network, Box(-1, 1))
    pieces = piecewise_affine(regions)
    assert (len(pieces), pieces.convex.tolist()) == (4, [False])
    pieces = piecewise_affine(regions, join=True)
    assert (len(pieces), pieces.convex.tolist(), pieces.polyhedra.tolist()) == (1, [True], [0] * 4)
    assert len(pieces.b[0]) == 4
    # It is 0 in three of four quadrants, which are not convex: two polyhedra are left of them.
    corner = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]], [[1.0, 0.0, -1.0]], [[1.0]]])
    pieces = piecewise_affine(enumerate_regions(corner, Box(-1, 1)), join=True)
    assert pieces.convex.tolist().count(False) == 1  # min(x, y) where both are positive, else 0
    assert np.bincount(pieces.merged).max() == 2
    # One region without a facet: all of the plane.
    nothing = Network.mlp([np.zeros((1, 2)), [[1.0]]])
    for join in (False, True):
        pieces = piecewise_affine(enumerate_regions(nothing), join=join)
        assert pieces.A[0].shape == (0, 2)


def test_refusals(tmp_path):
    network = random_network([2, 3, 1])
    for options in ({"max_regions": 2}, {"where": Level(0.0)}):
        with pytest.raises(InvalidInputError, match="all regions"):
            piecewise_affine(enumerate_regions(network, Box(-1, 1), **options))
    pieces = piecewise_affine(enumerate_regions(network, Box(-1, 1)))
    with pytest.raises(InvalidInputError, match=r"\.m and \.mat"):
        pieces.save(tmp_path / "law.txt")
    with pytest.raises(InvalidInputError, match="MATLAB function"):
        pieces.save(tmp_path / "my law.m")
