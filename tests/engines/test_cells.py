"""The cells engine against the oracle (`traverse`), and against what geometry demands."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategies import KINDS, default_network, domains, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidDomainError,
    Layer,
    Network,
    Polytope,
    Regions,
    Slice,
    WholeSpace,
    enumerate_regions,
)
from tropicell.engines._unit_kernels import pack_pattern, pattern_rows
from tropicell.engines.cells._buffers import room_for
from tropicell.engines.cells.task import CellTask, CellTolerance
from tropicell.engines.scheduler import UnitRun
from tropicell.geometry.arithmetic import EXACT
from tropicell.network._layer_maps import enter_layer
from tropicell.network.domains import Domain, resolve
from tropicell.network.flat import flatten, rounds_layer_0
from tropicell.network.maps import NetworkMaps
from tropicell.paper.algorithm2 import traverse
from tropicell.regions.columns import PackedPatterns

slow = settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def oracle(network: Network, domain: Domain | None) -> list[bytes]:
    network, domain = resolve(network, domain)
    return sorted(pattern.tobytes() for pattern, _ in traverse(network, domain))


def found(network: Network, domain: Domain | None, **options: object) -> list[bytes]:
    run = UnitRun(CellTask(network, domain, **options))
    patterns = [batch.packed[:] for batch in run.batches() if batch]
    assert run.complete
    return sorted(pattern.tobytes() for part in patterns for pattern in part)


def sometimes_on_slices(network: Network, seed: int) -> Network:
    """Every other network on a slice of a slice whose map float64 can't hold."""
    if seed % 2 == 0:
        return network
    rng, d = np.random.default_rng(seed), network.n_inputs
    for _ in range(2):
        network = network.restrict(Slice(rng.normal(size=d), rng.normal(size=(d, d))))
    assert rounds_layer_0(network)
    return network


def enumerate_cells(network: Network, domain: Domain | None = None) -> Regions:
    return enumerate_regions(network, domain, engine="cells")


def count_cells(network: Network, domain: Domain | None = None) -> UnitRun:
    run = UnitRun(CellTask(network, domain, store=False))
    for _ in run.batches():
        pass
    return run


@slow
@given(st.data())
def test_same_regions_as_the_oracle(data: st.DataObject) -> None:
    network = data.draw(networks(max_inputs=4, max_width=4))
    domain = data.draw(domains(network.n_inputs))
    expected = oracle(network, domain)
    assert found(network, domain) == expected
    assert count_cells(network, domain).count == len(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_fixed_networks(kind: str, inputs: int) -> None:
    for seed in range(3):
        network = random_network(seed, kind, inputs, 3, 4 if inputs < 3 else 3)
        for domain in (WholeSpace(), Box(-1, 1)):
            assert found(network, domain) == oracle(network, domain)


@slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3))
def test_slices(seed: int, kind: str, dimension: int) -> None:
    network = random_network(seed, kind, 4, 2, 4)
    rng = np.random.default_rng(seed)
    directions = rng.integers(-2, 3, size=(dimension, 4)).astype(float)
    directions[:, :dimension] += 8 * np.eye(dimension)
    plane = Slice(rng.integers(-2, 3, size=4) * 0.1, directions, Box(-1, 1))
    assert found(network, plane) == oracle(network, plane)


@slow
@given(st.data())
def test_geometry(data: st.DataObject) -> None:
    network = data.draw(networks(max_inputs=3, max_width=4))
    regions = enumerate_cells(network, Box(-1, 1))
    d = network.n_inputs
    assert regions.bounded.all()
    assert regions.volumes.sum() == pytest.approx(2.0**d, rel=1e-9)
    exact = network.patterns(regions.witnesses, arithmetic="exact")
    wrong = (exact != regions.patterns).any(axis=1).sum()
    assert wrong <= regions.stats["unproved_witnesses"]
    assert (regions.corners.values[:, -1] == 1).all()
    assert (np.abs(regions.corners.values) <= 1 + 1e-6).all()


@slow
@given(st.data())
def test_bounded_means_no_rays(data: st.DataObject) -> None:
    network = data.draw(networks(max_inputs=3, max_width=3))
    regions = enumerate_cells(network)
    infinite = regions.corners.values[:, -1] == 0
    rays = np.bincount(regions.corners.owners(), weights=infinite, minlength=len(regions))
    assert ((rays == 0) == regions.bounded).all()
    assert (np.isinf(regions.volumes) == ~regions.bounded).all()


def test_float_arithmetic_on_generic_networks() -> None:
    for sizes in ([2, 20, 20, 1], [3, 8, 8, 1], [4, 6, 6, 1]):
        for domain in (Box(-1, 1), WholeSpace()):
            network = default_network(sizes)
            exact = found(network, domain)
            assert found(network, domain, arithmetic="float") == exact
            assert (
                found(network, domain, arithmetic="float", tolerance=CellTolerance(1e-10)) == exact
            )


def test_known_count_and_memory() -> None:
    regions = enumerate_cells(default_network([2, 64, 64, 64, 1]), Box(-1, 1))
    assert len(regions) == 5058
    assert regions.nbytes / len(regions) < 250
    assert regions.facet_lines.counts.mean() <= 4
    assert regions.stats["tests"] > 0


@pytest.mark.parametrize("sizes", [[2, 12, 12, 1], [3, 8, 8, 1]])
def test_simple_arrangement(sizes: list[int]) -> None:
    """N hyperplanes in general position cut R^d into C(n, 0) + … + C(n, d) cells."""
    d, n = sizes[0], sizes[1]
    network = default_network([d, n, 1])
    expected = {2: 1 + 12 + 66, 3: 1 + 8 + 28 + 56}[d]
    assert count_cells(network).count == expected == len(enumerate_cells(network))


def test_telgarsky_sawtooth() -> None:
    """K tents after each other bend at all multiples of 2^-k; all of it is degenerate."""
    weights = [[[1.0], [1.0]]]
    biases = [[0.0, -0.5]]
    for _ in range(5):
        weights.append([[2.0, -4.0], [2.0, -4.0]])
        biases.append([0.0, -0.5])
    network = Network.mlp([*weights, [[2.0, -4.0]]], [*biases, [0.0]])
    assert found(network, Box(0, 1)) == oracle(network, Box(0, 1))


def test_budgets_and_going_on() -> None:
    network = default_network([2, 20, 20, 1])
    total = count_cells(network).count
    run = UnitRun(CellTask(network), max_seconds=0.0)
    assert [batch for batch in run.batches() if batch] == []
    assert not run.complete
    worker = CellTask(network).worker()
    outcome = worker.run(CellTask(network).root(), 100, lambda: False)
    assert 80 <= outcome.count < total  # exact decisions count too
    patterns = [batch.packed[:] for batch in outcome.columns]
    while outcome.left:
        unit, *others = outcome.left
        outcome = worker.run(unit, 100, lambda: False)
        patterns += [batch.packed[:] for batch in outcome.columns]
        outcome.left.extend(others)
    patterns = np.concatenate(patterns)
    assert len(np.unique(patterns, axis=0)) == len(patterns) == total


@pytest.mark.parametrize("sizes", [[2, 20, 20, 1], [3, 10, 10, 1]])
def test_work_can_be_shared(sizes: list[int]) -> None:
    network = default_network(sizes)
    total = count_cells(network).count
    task = CellTask(network, store=False)
    outcome = task.worker().run(task.root(), 50, lambda: False)
    parts = [UnitRun(task, units=outcome.left[k::2]) for k in range(2)]
    for part in parts:
        list(part.batches())
    assert outcome.count + sum(part.count for part in parts) == total


def test_empty_domain_and_no_layers() -> None:
    network = default_network([2, 3, 1])
    with pytest.raises(InvalidDomainError, match="no interior"):
        found(network, Polytope([[1, 0], [-1, 0]], [0, 0]))
    affine = Network(2, [], Affine({0: [[1.0, 1.0]]}))
    assert count_cells(affine).count == 1
    assert enumerate_cells(affine, Box(0, 2)).volumes.tolist() == [4.0]


def test_facets_name_their_neurons() -> None:
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    regions = enumerate_cells(network, Box(-1, 1))
    boundaries = [regions.lines.boundary(int(line)) for line in regions.facet_lines.values]
    inner = [boundary.neuron for boundary in boundaries if boundary.layer == 1]
    assert len(inner) == 8
    assert set(inner) == {0, 1}


def test_sparse_layers() -> None:
    rng = np.random.default_rng(0)
    import scipy.sparse as sp

    dense = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.05)
    parts = [rng.normal(size=(40, 2)), dense, rng.normal(size=(1, 60))]
    bias = [rng.normal(size=40), rng.normal(size=60)]
    networks_ = [
        Network(
            2,
            [Layer(Affine({0: parts[0]}, bias[0])), Layer(Affine({1: middle, 0: skip}, bias[1]))],
            Affine({2: parts[2]}),
        )
        for skip in [rng.normal(size=(60, 2))]
        for middle in (dense, sp.csr_array(dense))
    ]
    a, b = (found(network, Box(-1, 1)) for network in networks_)
    assert a == b
    assert len(a) > 1000


@slow
@given(st.data())
def test_bounds_of_rows_hold(data: st.DataObject) -> None:
    """Rows made by sums and by changes stay within their bounds, which are tiny, of the exact."""
    network = data.draw(networks(max_inputs=3, max_width=6))
    if network.depth < 2:
        return
    network = sometimes_on_slices(network, data.draw(st.integers(0, 99)))
    flat = flatten(network, WholeSpace())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    d = network.n_inputs
    current = room_for(flat, exact=True, store=False, bits=1).build().maps
    before = current.before
    exact = NetworkMaps(network, EXACT)
    for _ in range(3):
        pieces = (rng.random(flat.neurons) * network.pieces).astype(np.uint8)
        start, unit = exact.coordinates()
        start[:, :-1] /= EXACT.array(flat.lines.scale)
        columns = [start]
        for layer in range(network.depth):
            at = flat.first_neuron(layer) if layer else 0
            enter_layer(flat.maps, current, layer, pieces, at, True)
            if layer:
                part = pieces[at : flat.first_neuron(layer + 1)]
                columns.append(exact.after(layer, columns.pop(), part, unit))
            first, last = flat.maps.row_start[layer + 1 : layer + 3]
            expected = exact.before(layer + 1, columns, unit)
            high, low = (EXACT.array(x[: d + 1, first:last].T) for x in (before, current.low))
            bound = EXACT.array(before[d + 1, first:last])[:, None]
            assert (np.abs(high - expected) <= bound).all()
            bounds = current.error[layer + 1]
            assert (np.abs(high + low - expected) <= EXACT.array(bounds)).all()
            assert (bounds <= 1e-25 * np.maximum(current.span[layer + 1], 1)).all()
            columns.append(expected)


def test_corners_of_a_deep_network() -> None:
    """Where float64 proves little, corners come from twice the digits, and seldom from integers."""
    rng = np.random.default_rng(0)
    sizes = [2, *[16] * 10, 1]
    weights = [3 * rng.uniform(-1, 1, (n, m)) / np.sqrt(m) for m, n in pairwise(sizes)]
    biases = [rng.uniform(-1, 1, n) / np.sqrt(m) for m, n in pairwise(sizes)]
    regions = enumerate_cells(Network.mlp(weights, biases), Box(-1, 1))
    assert len(regions) == 6923
    assert regions.stats["unsure_cells"] == 0
    for k in range(0, len(regions), 97):
        exact = regions[k].vertices.astype(float)
        near = np.abs(regions.corners[k][:, None, :2] - exact[None]).sum(axis=2)
        assert near.min(axis=1).max() < 1e-7


@pytest.mark.parametrize("neurons", [1, 8, 63, 64, 65, 130])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_kernels_pack_patterns_like_everybody(neurons: int, bits: int) -> None:
    rng = np.random.default_rng(neurons)
    rows = pattern_rows(5, neurons)
    rows[:] = 255  # what is beyond the last neuron does not matter
    rows[:, :neurons] = rng.integers(0, 2**bits, size=(5, neurons))
    expected = PackedPatterns.pack(np.ascontiguousarray(rows[:, :neurons]), bits).words
    words = np.full(expected.shape, 12345, np.uint64)
    for row, found in zip(rows, words, strict=True):
        pack_pattern(row, neurons, bits, found)
    np.testing.assert_array_equal(words, expected)


def test_numbers_of_extraordinary_size() -> None:
    weights = [[[1e-200, 1.0], [1.0, 1e200]], [[1e-150, 1.0]]]
    network = Network.mlp(weights, [[0.0, 1.0], [0.0]])
    assert found(network, None) == oracle(network, None)
    assert count_cells(network).stats()["tests"] == 0


@pytest.mark.parametrize("sizes", [[1, 6, 5, 1], [3, 9, 8, 6, 1], [4, 8, 7, 1], [5, 7, 5, 1]])
@pytest.mark.parametrize("domain", [Box(-1, 1), WholeSpace()])
def test_counting_finds_as_many_as_cutting(sizes: list[int], domain: Domain) -> None:
    # The regions of a last layer are counted without cutting; and with twins, where that is in
    # doubt, they are not.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
        biases = [rng.normal(size=n) for n in sizes[1:]]
        if seed == 2:
            weights[-2][1], biases[-2][1] = weights[-2][0], biases[-2][0]
        network = Network.mlp(weights, biases)
        wanted = len(found(network, domain))
        assert count_cells(network, domain).count == wanted
        run = UnitRun(CellTask(network, domain, "float", store=False))
        assert not list(filter(None, run.batches()))
        assert run.count == wanted


def waiting(task: CellTask) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Units of a search that has just begun, as they are written to files."""
    units, worker = [task.root()], task.worker()
    for _ in range(3):
        units += worker.run(units.pop(0), 5, lambda: False).left or []
    return [task.describe(unit) for unit in units if unit.nodes is not None]


@pytest.mark.parametrize("sizes", [[3, 8, 8, 6, 1], [4, 8, 8, 1], [5, 7, 6, 1]])
def test_bounds_of_rays_hold(sizes: list[int]) -> None:
    task = CellTask(default_network(sizes, seed=1), Box(-3, 3))
    exact, d, rays = task.exact_cells, sizes[0], 0
    scale = [Fraction(x) for x in task.flat.lines.scale.tolist()] + [Fraction(1)]
    for _, arrays in waiting(task)[:4]:
        pattern = arrays["pattern"].tobytes()
        for place in set(arrays["places"].tolist()):
            ray, basis = arrays["rays"][place], arrays["bases"][place]
            rows = [exact._row(abs(x) - 1, pattern) for x in arrays["table_labels"][basis]]
            scaled = [[x / s for x, s in zip(row, scale, strict=True)] for row in rows]
            minors = [
                (-1) ** c * _determinant([row[:c] + row[c + 1 :] for row in scaled])
                for c in range(d + 1)
            ]
            # What is left of the ray beside the exact one.
            mine = [Fraction(x) for x in ray[:-1].tolist()]
            share = sum(map(mul, mine, minors)) / sum(map(mul, minors, minors))
            rest = sum((x - share * y) ** 2 for x, y in zip(mine, minors, strict=True))
            assert rest <= Fraction(float(ray[-1])) ** 2 < Fraction(1, 10**16)
            rays += 1
    assert rays > 25  # cells that wait share theirs


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    return sum(
        (-1) ** c * x * _determinant([row[:c] + row[c + 1 :] for row in rows[1:]])
        for c, x in enumerate(rows[0])
        if x
    ) or Fraction(0)


@pytest.mark.parametrize("sizes", [[2, 9, 8, 1], [3, 8, 8, 1], [4, 7, 6, 1]])
def test_units_of_older_files(sizes: list[int]) -> None:
    task = CellTask(default_network(sizes, seed=2), Box(-3, 3), store=False)
    worker, cut = task.worker(), 0
    for described, arrays in waiting(task):
        older = dict(arrays) | {"records": arrays["records"][:, :11]}
        if sizes[0] > 2:
            # Every cell had its own rays; rows were divided by their largest coefficient.
            older["rays"] = arrays["rays"][older.pop("places")]
            largest = np.abs(arrays["table"][:, :-1]).max(axis=1, keepdims=True)
            older["table"] = arrays["table"] / largest
            del older["bases"]
        found = [_count(worker, task.restored(described, some)) for some in (arrays, older)]
        assert found[0] == found[1] > 0
        cut += found[0]
    assert cut > 50
    damaged = dict(older) | {"tight": older["tight"][1:]} if sizes[0] > 2 else {}
    with pytest.raises(ValueError, match=r"rays|arrays|corners"):
        task.restored(described, damaged | {"records": older["records"]})


def _count(worker: Any, unit: Any) -> int:
    outcome = worker.run(unit, 10**9, lambda: False)
    assert not outcome.left
    return int(outcome.count)
