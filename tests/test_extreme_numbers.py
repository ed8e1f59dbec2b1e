"""Numbers at the edges: trivial rows, slices of slices, overflow, infinities, nan.

Every float that decides something must notice what it can't hold. The oracle is the engine
`traverse`, and a forward pass in Fractions.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from children import LIMIT
from strategies import networks
from tropicell import (
    Affine,
    Box,
    CachedPredictor,
    DataRegions,
    InvalidDomainError,
    InvalidInputError,
    LastRegionPredictor,
    Layer,
    ModelFileError,
    Network,
    Polytope,
    Region,
    RegionLocator,
    Regions,
    Slice,
    WholeSpace,
    compile_to_c,
    count_many,
    count_regions,
    enumerate_regions,
    estimate_regions,
    find_region,
    load,
    load_regions,
    plotting,
    save,
    to_onnx,
    verify_certificate,
)
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.domains import Domain
from tropicell.network.flat import rounds_layer_0
from tropicell.network.maps import AffineMap

ENGINES = ("cells", "halfspaces")

#: Ordinary numbers, and all that over- or underflows somewhere.
NUMBERS = st.sampled_from(
    [
        0.0,
        1.0,
        -1.0,
        0.1,
        -0.3,
        5e-324,
        -5e-324,
        1e-308,
        1e-200,
        -1e-60,
        1e60,
        1e200,
        -1e300,
        1.7e308,
    ]
)
LARGE = st.sampled_from(
    [0.0, 1.0, -2.5, 1e100, -1e200, 1e284, 1e294, -1e295, 1e300, -1e307, 1.7e308, -1.7e308, 1e-320]
)


def patterns(regions: Regions) -> set[bytes]:
    return {row.tobytes() for row in regions.patterns}


@st.composite
def extreme_networks(draw: st.DrawFn, inputs: int | None = None) -> Network:
    """Small networks of numbers of every size."""
    size = draw(st.integers(1, 2)) if inputs is None else inputs
    layers, width = [], size
    for index in range(draw(st.integers(1, 2))):
        rows = draw(st.integers(1, 2))
        matrix = [[draw(NUMBERS) for _ in range(width)] for _ in range(rows)]
        bias = [draw(NUMBERS) for _ in range(rows)]
        kind = draw(st.sampled_from(["relu", "relu", "hard_tanh"]))
        layers.append(Layer(Affine({index: matrix}, bias), kind))
        width = rows
    output = Affine({len(layers): [[draw(NUMBERS) for _ in range(width)]]}, [draw(NUMBERS)])
    return Network(size, layers, output)


# --- rows of a domain that say nothing ----------------------------------------------------------


def trivial(inputs: int, offset: float) -> Polytope:
    """A half-space, with a row 0 · x <= offset before it."""
    rows = np.zeros((2, inputs))
    rows[1, 0] = 1.0
    return Polytope(rows, [offset, 1.0])


@pytest.mark.parametrize("offset", [0.0, -0.0, 5e-324, 1.0])
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_a_row_that_always_holds_says_nothing(inputs: int, offset: float) -> None:
    network = Network.mlp([np.eye(inputs), np.ones((1, inputs))])
    domain = trivial(inputs, offset)
    wanted = patterns(enumerate_regions(network, domain, engine="traverse"))
    assert len(wanted) == 2**inputs
    for engine in ENGINES:
        for arithmetic in ("exact", "float"):
            regions = enumerate_regions(network, domain, engine=engine, arithmetic=arithmetic)
            assert patterns(regions) == wanted
        assert count_regions(network, domain, engine=engine) == len(wanted)
        assert regions.certify().complete
        # the row keeps its number: facets and boundaries are called what they were
        assert {str(f) for r in regions for f in r.facets[0].sources[:1]} <= {
            "domain, inequality 1",
            *(f"layer 1, neuron {i}" for i in range(inputs)),
        }
    assert count_many([network, network], domain).tolist() == [len(wanted)] * 2
    assert estimate_regions(network, domain).count == len(wanted)
    assert find_region(network, "1" * inputs, domain, arithmetic="float").certain


def test_tests_for_points_leave_out_rows_that_say_nothing() -> None:
    network = Network.mlp([np.eye(2), np.ones((1, 2))])
    regions = enumerate_regions(network, trivial(2, 0.0))
    locator = RegionLocator(regions)
    assert locator.first_node == 3  # two rows of limits, one of the domain
    np.testing.assert_array_equal(locator.locate([[0.5, 0.5], [2.0, 0.0]]) >= 0, [True, False])


@pytest.mark.parametrize("offset", [-1.0, -5e-324])
def test_a_row_that_never_holds_is_refused(offset: float) -> None:
    network = Network.mlp([np.eye(2), np.ones((1, 2))])
    domain = trivial(2, offset)
    for engine in ("cells", "halfspaces", "traverse"):
        with pytest.raises(InvalidDomainError, match="no interior"):
            enumerate_regions(network, domain, engine=engine)
    with pytest.raises(InvalidDomainError, match="no interior"):
        estimate_regions(network, domain)
    with pytest.raises(InvalidInputError, match=r"network 0: .*no interior"):
        count_many([network, network], domain)


@given(data=st.data(), network=networks(max_inputs=3, max_depth=2))
@settings(max_examples=25)
def test_degenerate_rows_of_a_domain(data: st.DataObject, network: Network) -> None:
    entries = st.sampled_from([0.0, 0.0, 1.0, -1.0, 5e-324])
    rows = data.draw(st.integers(1, 4))
    a = [[data.draw(entries) for _ in range(network.n_inputs)] for _ in range(rows)]
    domain = Polytope(a, [data.draw(st.sampled_from([0.0, 1.0, 5e-324])) for _ in range(rows)])
    try:
        wanted = patterns(enumerate_regions(network, domain, engine="traverse"))
    except InvalidDomainError:
        for engine in ENGINES:
            with pytest.raises(InvalidDomainError):
                enumerate_regions(network, domain, engine=engine)
        return
    for engine in ENGINES:
        assert patterns(enumerate_regions(network, domain, engine=engine)) == wanted
    assert count_many([network, network], domain).tolist() == [len(wanted)] * 2


# --- slices of slices ---------------------------------------------------------------------------


def by_hand(network: Network, slices: list[Slice], t: list[Fraction]) -> np.ndarray:
    """The pattern of a network behind some slices, point by point in Fractions."""
    point = t
    for part in reversed(slices):
        rows = [[Fraction(x) for x in column] for column in part.directions.T]
        point = [
            Fraction(origin) + sum((a * x for a, x in zip(row, point, strict=True)), Fraction(0))
            for origin, row in zip(part.origin.tolist(), rows, strict=True)
        ]
    return network.patterns(np.array([point], dtype=object), arithmetic="exact")[0]


def test_a_slice_of_a_slice_is_not_rounded() -> None:
    # fl(0.1 * 3) is larger than 0.1 * 3, so that the neuron below would be on at 1.
    network = Network.mlp([[[1.0]], [[1.0]]], [[-(0.1 * 3)], [0.0]])
    outer, inner = Slice([0.0], [[0.1]]), Slice([0.0], [[3.0]])
    twice = network.restrict(outer).restrict(inner)
    exact = Fraction(0.1) * 3
    assert twice.embedding.matrix.tolist() == [[exact]]
    at = Fraction(0.1 * 3) / exact  # where it bends
    region = enumerate_regions(twice)[0]
    assert region.vertices.tolist() == [[at]]
    assert at != 1


def test_maps_of_slices_that_float64_holds_stay_floats() -> None:
    network = Network.mlp([[[1.0, 2.0]], [[1.0]]])
    outer, inner = Slice([1.0, 0.5], [[1.0, 0.25], [0.0, 2.0]]), Slice([4.0, 0.0], [[0.5, -1.0]])
    once = network.restrict(Slice([5.0, 1.5], [[0.5, -1.875]]))
    twice = network.restrict(outer).restrict(inner)
    assert twice.embedding.is_float
    assert not rounds_layer_0(twice)
    assert twice.fingerprint == once.fingerprint
    exact = AffineMap(
        np.array([[Fraction(1, 2)], [Fraction(-15, 8)]]), np.array([5, Fraction(3, 2)])
    )
    assert Network(2, network.layers, network.output, embedding=exact).fingerprint == (
        once.fingerprint
    )


TENTHS = st.sampled_from([0.1, 0.2, 0.3, -0.1, -0.7, 1.0, 3.0, -1.0, 0.0, 1e-3])


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_slices_of_slices_cancel_exactly(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = data.draw(st.integers(1, 3))
    second = data.draw(st.integers(1, first))

    def matrix(rows: int, columns: int) -> np.ndarray:
        return np.array([[data.draw(TENTHS) for _ in range(columns)] for _ in range(rows)])

    outer_rows, inner_rows = matrix(first, 3), matrix(second, first)
    if np.linalg.matrix_rank(outer_rows) < first or np.linalg.matrix_rank(inner_rows) < second:
        return
    outer = Slice(rng.integers(-3, 4, 3) * 0.1, outer_rows)
    inner = Slice(rng.integers(-3, 4, first) * 0.1, inner_rows)
    # Rows and biases that vanish, or nearly, where they should not or should.
    weights = rng.integers(-3, 4, (3, 3)) * 0.1
    rounded = outer.embed(inner.origin[None])[0]
    bias = -(weights @ rounded)
    network = Network.mlp([weights, rng.integers(-2, 3, (2, 3)) * 0.1, np.ones((1, 2))])
    network = Network(3, [Layer(Affine({0: weights}, bias)), *network.layers[1:]], network.output)
    twice = network.restrict(outer).restrict(inner)
    for _ in range(3):
        t = [Fraction(int(x), 8) for x in rng.integers(-16, 17, second)]
        found = twice.patterns(np.array([t], dtype=object), arithmetic="exact")[0]
        np.testing.assert_array_equal(found, by_hand(network, [outer, inner], t))
    wanted = patterns(enumerate_regions(twice, engine="traverse"))
    for engine in ENGINES:
        regions = enumerate_regions(twice, engine=engine)
        assert patterns(regions) == wanted
    assert regions.certify().complete
    locator = RegionLocator(regions)
    points = rng.integers(-16, 17, (20, second)) / 8
    np.testing.assert_array_equal(
        locator.locate(points), regions.locate(points, arithmetic="exact")
    )


@given(data=st.data())
@settings(max_examples=25)
def test_slices_whose_products_leave_float64(data: st.DataObject) -> None:
    network = data.draw(extreme_networks(2))
    numbers = st.sampled_from([1.0, -1.0, 0.1, 1e-300, 1e300, 1e200, 3e-200])
    outer = Slice([data.draw(NUMBERS) for _ in range(2)], np.diag([data.draw(numbers)] * 2))
    inner = Slice([data.draw(NUMBERS) for _ in range(2)], np.diag([data.draw(numbers)] * 2))
    twice = network.restrict(outer).restrict(inner)
    assert np.isfinite(twice.float_embedding.matrix).all()
    assert np.isfinite(twice.float_embedding.offset).all()
    wanted = patterns(enumerate_regions(twice, engine="traverse"))
    for engine in ENGINES:
        regions = enumerate_regions(twice, engine=engine)
        assert patterns(regions) == wanted
    assert regions.certify().complete
    t = [Fraction(3, 7), Fraction(-5, 3)]
    found = twice.patterns(np.array([t], dtype=object), arithmetic="exact")[0]
    np.testing.assert_array_equal(found, by_hand(network, [outer, inner], t))


def slice_of_slice() -> Network:
    network = Network.mlp([[[1.0, 0.1], [0.3, -1.0]], [[1.0, 1.0]]], [[-0.1, 0.2], [0.0]])
    outer = Slice([0.1, 0.2], [[0.1, 0.3], [0.7, 0.1]])
    return network.restrict(outer).restrict(Slice([0.3, 0.1], [[0.3, 0.7], [0.1, -0.3]]))


def test_files_hold_slices_of_slices_exactly(tmp_path: Path) -> None:
    network = slice_of_slice()
    assert rounds_layer_0(network)
    for name in ("network.npz", "network.safetensors"):
        save(network, tmp_path / name)
        again = load(tmp_path / name)
        assert again.fingerprint == network.fingerprint
        assert (again.embedding.matrix == network.embedding.matrix).all()
        assert (again.embedding.offset == network.embedding.offset).all()
    assert pickle.loads(pickle.dumps(network)).fingerprint == network.fingerprint
    rounded = network.embedding.astype_float()
    other = Network(2, network.layers, network.output, embedding=rounded)
    assert other.fingerprint != network.fingerprint
    regions = enumerate_regions(network, Box(-3, 3))
    regions.save(tmp_path / "regions.npz")
    assert patterns(load_regions(tmp_path / "regions.npz")) == patterns(regions)
    certificate = regions.certify()
    assert certificate.complete
    with pytest.raises(InvalidInputError, match=r"proof.npz.*slice of a slice.*one Slice"):
        certificate.save(tmp_path / "proof.npz")
    assert not (tmp_path / "proof.npz").exists()


@pytest.mark.parametrize(
    "rows",
    [
        *(None, [], "1", [1], [["1/0", "1/1"]], [["1/1"]], [["1/1", "x"]]),
        *([["1/1", "2/1"], ["1/1"]], [["1/1", 3]], [["1", "1/1"]], [["1/1", "1/1"]]),
    ],
)
def test_damaged_maps_of_slices_are_refused(tmp_path: Path, rows: object) -> None:
    save(slice_of_slice(), tmp_path / "network.npz")
    with np.load(tmp_path / "network.npz") as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    header["embedding"] = rows
    arrays["header"] = np.array(json.dumps(header))
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ModelFileError, match=r"bad\.npz"):
        load(tmp_path / "bad.npz")


def test_nearly_dependent_directions_are_decided_exactly() -> None:
    assert Slice([0.0, 0.0], [[1.0, 0.0], [1.0, 1e-30]]).dimension == 2
    assert Slice([0.0, 0.0], [[1e300, 0.0], [0.0, 1e-300]]).dimension == 2
    with pytest.raises(InvalidDomainError, match="dependent"):
        Slice([0.0, 0.0], [[0.1, 0.3], [0.1 * 2**-80, 0.3 * 2**-80]])


# --- corners and witnesses that float64 can't hold ----------------------------------------------


def far_away(inputs: int) -> Network:
    """The network of a bug: it bends at 1 / 5e-324, beyond the largest float64."""
    rows = np.eye(inputs)
    rows[0, 0] = 5e-324
    bias = np.zeros(inputs)
    bias[0] = -1.0
    return Network.mlp([rows, np.ones((1, inputs))], [bias, [0.0]])


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("domain", [WholeSpace(), Box(-1, np.inf), Box(-1, 1)])
def test_vertices_beyond_float64(engine: str, inputs: int, domain: Domain, tmp_path: Path) -> None:
    network = far_away(inputs)
    regions = enumerate_regions(network, domain, engine=engine)
    far = not (isinstance(domain, Box) and np.isfinite(domain.high).all())
    assert len(regions) == 2**inputs // (1 if far else 2)
    corners = regions.corners.values
    assert np.isinf(corners).any() == far
    assert not np.isnan(corners).any()
    assert not np.isnan(regions.volumes).any()
    # a witness is infinite only if no float64 point is inside
    on = regions.patterns[:, 0] == 1
    floats = to_floats(regions.witnesses)
    np.testing.assert_array_equal(np.isfinite(floats).all(axis=1), ~on)
    for index in np.flatnonzero(~on):
        exact = network.patterns(floats[index][None], arithmetic="exact")[0]
        np.testing.assert_array_equal(exact, regions.patterns[index])
    assert all(region.certain for region in regions)
    regions.certify().save(tmp_path / "proof.npz")
    assert verify_certificate.verify(str(tmp_path / "proof.npz"))["regions"] == len(regions)
    regions.save(tmp_path / "regions.npz")
    assert load_regions(tmp_path / "regions.npz").certify().complete
    assert np.isfinite(regions.affine_maps).all()
    if inputs == 2:
        plotting.plot_regions(regions)


def test_areas_of_regions_with_corners_beyond_float64() -> None:
    # A sliver, 1e-320 wide and from 0 to 1 / 5e-324: its area is about 2000.
    network = Network.mlp([[[5e-324, 0.0]], [[1.0]]], [[-1.0], [0.0]])
    domain = Polytope([[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0]], [0.0, 0.0, 1e-320])
    exact = Fraction(1e-320) / Fraction(5e-324)
    for engine in ("cells", "halfspaces", "traverse"):
        regions = enumerate_regions(network, domain, engine=engine)
        assert regions.volumes[regions.find("0")] == float(exact)


@given(data=st.data(), network=extreme_networks())
@settings(max_examples=40)
def test_numbers_of_every_size(data: st.DataObject, network: Network) -> None:
    domain = data.draw(
        st.sampled_from([WholeSpace(), Box(-1, 1), Box(-1e308, 1e308), Box(0, np.inf)])
    )
    wanted = patterns(enumerate_regions(network, domain, engine="traverse"))
    for engine in ENGINES:
        regions = enumerate_regions(network, domain, engine=engine)
        assert patterns(regions) == wanted
        assert not np.isnan(regions.corners.values).any()
        assert not np.isnan(regions.volumes).any()
        assert not np.isnan(regions.witnesses).any()
        assert regions.certify().complete
        assert count_regions(network, domain, engine=engine) == len(wanted)
    for region in regions:
        assert region.affine_map.astype_float().matrix.shape == (1, network.n_inputs)


def test_halfspaces_where_rows_overflow() -> None:
    # 1e300 * 1e60 is infinite in float64, and 0 times that nan: a cut seemed to be decided by it.
    first = Layer(Affine({0: [[1e200, -1e300]]}, [-5e-324]), "relu")
    second = Layer(Affine({1: [[1e60], [-1.0]]}, [5e-324, 1e-200]), "hard_tanh")
    network = Network(2, [first, second], Affine({2: [[1.0, 1.0]]}))
    network = network.restrict(Slice([0.0, 1e60], np.eye(2)))
    wanted = patterns(enumerate_regions(network, engine="traverse"))
    for engine in ENGINES:
        assert patterns(enumerate_regions(network, engine=engine)) == wanted


# --- large points -------------------------------------------------------------------------------


def overflowing() -> Network:
    """The tests of the locator overflow for coordinates from about 1e295 on."""
    weights = [[[1.0, 1.0], [1.0, -1.0], [0.5, 1.0]], [[1.0, -1.0, 0.5], [-1.0, 1.0, 1.0]]]
    return Network.mlp([*weights, [[1.0, 1.0]]], [[0.0, 1.0, -1.0], [0.1, -0.2], [0.0]])


@pytest.mark.parametrize("kind", [RegionLocator, LastRegionPredictor])
def test_large_points_are_found(kind: type[RegionLocator]) -> None:
    network = overflowing()
    regions = enumerate_regions(network)
    locator = kind(regions)
    sizes = [1e150, 1e290, 1e295, 1e299, 1e305, 1.7e308]
    points = np.array([[a * x, b * y] for x in sizes for y in sizes for a in (1, -1)
                       for b in (1, -1)])  # fmt: skip
    wanted = regions.locate(points, arithmetic="exact")
    assert (wanted >= 0).all()
    np.testing.assert_array_equal(locator.locate(points), wanted)
    exact = network.evaluate(points)[:, 0]
    rounded = to_floats(exact)
    np.testing.assert_allclose(locator.predict(points)[:, 0], rounded, rtol=1e-12)
    np.testing.assert_allclose([locator.predict_one(p)[0] for p in points], rounded, rtol=1e-12)


@given(data=st.data(), network=extreme_networks(2))
@settings(max_examples=40)
def test_points_of_every_size_are_located(data: st.DataObject, network: Network) -> None:
    regions = enumerate_regions(network)
    points = np.array([[data.draw(LARGE), data.draw(LARGE)] for _ in range(9)])
    wanted = regions.locate(points, arithmetic="exact")
    for locator in (RegionLocator(regions), LastRegionPredictor(regions)):
        np.testing.assert_array_equal(locator.locate(points), wanted)
    # Regions that hold the points in exact arithmetic:
    for point, index in zip(points, wanted, strict=True):
        assert regions[index].contains(point[None])[0]


def test_products_that_underflow_on_the_way() -> None:
    # 1e-200 * 1e-200 underflows, but 1e300 times it is 1e-100: the last neuron bends at -1.
    weights = [[[1e-200]], [[1e-200]], [[1e300]], [[1.0]]]
    network = Network.mlp(weights, [[1e-150], [0.0], [0.0], [0.0]])
    skips = Network(
        1,
        [
            Layer(Affine({0: [[1e-200]]}, [0.0]), "identity"),
            Layer(Affine({1: [[1e-200]]}, [0.0]), "identity"),
            Layer(Affine({2: [[1e300]]}, [1e-100]), "relu"),
        ],
        Affine({3: [[1.0]]}),
    )
    for one in (network, skips):
        regions = enumerate_regions(one)
        locator = RegionLocator(regions)
        points = np.array([[x] for x in (-1e60, -3.0, -0.5, 0.0, 2.0, 1e60)])
        wanted = regions.locate(points, arithmetic="exact")
        np.testing.assert_array_equal(locator.locate(points), wanted)


def test_patterns_of_large_points_are_exact() -> None:
    # In float64 the sum overflows to infinity: the neuron would be on, and hard_tanh at 1.
    layer = Layer(Affine({0: [[1.0, 1.0, -1.0, -1.0]]}, [0.0]), "hard_tanh")
    network = Network(4, [layer], Affine({1: [[1.0]]}))
    points = np.array([[1.5e308, 1.5e308, 1.7e308, 1.7e308], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(network.overflows(points), [True, False])
    np.testing.assert_array_equal(network.patterns(points), [[0], [1]])
    assert DataRegions(network, points).counts.tolist() == [1, 1]
    np.testing.assert_array_equal(CachedPredictor(network).fit(points).size, 2)
    predictor = CachedPredictor(network)
    np.testing.assert_array_equal(predictor.predict(points[:1]), [[-1.0]])


# --- infinite points and nan --------------------------------------------------------------------

STRANGE = [[np.nan, 0.0], [0.0, np.inf], [-np.inf, 0.0], [np.inf, -np.inf], [np.nan, np.inf]]


@pytest.mark.parametrize("domain", [WholeSpace(), Box(-1, 1), Box(-1, np.inf), trivial(2, 0.0)])
def test_points_that_are_not_finite_lie_in_no_region(domain: Domain, tmp_path: Path) -> None:
    network = overflowing()
    regions = enumerate_regions(network, domain)
    points = np.array([*STRANGE, [0.25, 0.5]])
    nowhere = [True] * len(STRANGE) + [False]
    assert not domain.contains(STRANGE).any()
    for arithmetic in ("float", "exact"):
        found = regions.locate(points, arithmetic=arithmetic)
        np.testing.assert_array_equal(found < 0, nowhere)
        region = Region(network, regions.packed[int(found[-1])], domain, arithmetic=arithmetic)
        np.testing.assert_array_equal(region.contains(points), ~np.array(nowhere))
        with pytest.raises(InvalidInputError, match="point 1 has the value inf at input 1"):
            network.patterns(points[[-1, 1]], arithmetic=arithmetic)
    for kind in (RegionLocator, LastRegionPredictor):
        for where in ("network", "nan"):
            locator = kind(regions, outside=where)
            np.testing.assert_array_equal(locator.locate(points), found)
            np.testing.assert_array_equal(np.isnan(locator.predict(points)[:, 0]), nowhere)
            assert np.isnan(locator.predict_one(points[0])).all()
            many = np.tile(points, (7, 1))
            np.testing.assert_array_equal(locator.locate(many), np.tile(found, 7))
        strict = kind(regions, outside="error")
        with pytest.raises(InvalidInputError, match="point 0"):
            strict.predict(points)
        with pytest.raises(InvalidInputError, match="nan"):
            strict.predict_one(points[0])
    for refusing in (
        network.evaluate,
        CachedPredictor(network).predict,
        CachedPredictor(network).contains,
        DataRegions(network, [[0.0, 0.0]]).distance,
    ):
        with pytest.raises(InvalidInputError, match="point 0 has the value nan at input 0"):
            refusing(points)


def test_stored_regions_locate_like_others(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    network = overflowing()
    stored = enumerate_regions(network, out=tmp_path / "run")
    points = np.array([*STRANGE, [0.25, 0.5], [1e300, -1e300]])
    found = stored.locate(points)
    np.testing.assert_array_equal(found < 0, [True] * len(STRANGE) + [False, False])
    wanted = network.patterns(points[-2:], arithmetic="exact")
    for number, pattern in zip(found[-2:], wanted, strict=True):
        np.testing.assert_array_equal(stored.take([number]).patterns, [pattern])


def test_points_must_be_numbers() -> None:
    network = overflowing()
    for arithmetic in ("float", "exact"):
        with pytest.raises(InvalidInputError, match="numbers"):
            network.patterns([["a", "b"]], arithmetic=arithmetic)
    huge = np.array([[Fraction(10) ** 400, Fraction(1, 3)]])
    assert network.patterns(huge, arithmetic="exact").shape == (1, 5)


def test_a_domain_is_decided_exactly() -> None:
    domain = Polytope([[1.0, 2.0**-60]], [1.0])
    assert domain.contains([[1.0, 1.0], [1.0, 0.0], [1.0, -1.0]]).tolist() == [False, True, True]
    # Both products overflow, and their difference does not.
    domain = Polytope([[1e200, -1e200]], [0.0])
    assert domain.contains([[1e200, 2e200], [2e200, 1e200]]).tolist() == [True, False]


@given(data=st.data())
@settings(max_examples=60)
def test_domains_contain_what_exact_arithmetic_says(data: st.DataObject) -> None:
    numbers = st.one_of(NUMBERS, st.sampled_from([0.1, 0.2, 0.3, 0.1 + 0.2, 2.0**53, 1.0]))
    a = [[data.draw(numbers) for _ in range(2)] for _ in range(2)]
    b = [data.draw(numbers) for _ in range(2)]
    point = [data.draw(numbers) for _ in range(2)]
    wanted = all(
        sum(Fraction(p) * Fraction(x) for p, x in zip(row, point, strict=True)) <= Fraction(c)
        for row, c in zip(a, b, strict=True)
    )
    assert Polytope(a, b).contains([point])[0] == wanted


# --- exports ------------------------------------------------------------------------------------


def saturating() -> Network:
    """Its forward pass hides what overflows: hard_tanh makes ordinary numbers of it."""
    first = Layer(Affine({0: [[1.0, 1.0], [1.0, -1.0]]}, [0.0, 1.0]), "hard_tanh")
    return Network(2, [first], Affine({1: [[1.0, -2.0]]}, [0.5]))


def check_export(
    network: Network, regions: Regions, points: np.ndarray, y: np.ndarray, found: np.ndarray
) -> None:
    """Regions are right or -1, values are right or nan; both for points that are not finite."""
    finite = np.isfinite(points).all(axis=1)
    assert (found[~finite] == -1).all()
    assert np.isnan(y[~finite]).all()
    wanted = regions.locate(points.astype(np.float64), arithmetic="exact")
    known = found >= 0
    np.testing.assert_array_equal(found[known], wanted[known])
    assert known.any()
    exact = network.evaluate(points[finite].astype(np.float64))[:, 0]
    for value, right in zip(y[finite, 0].tolist(), exact, strict=True):
        assert np.isnan(value) or np.isclose(value, float(right), rtol=1e-5)


def points_for(dtype: type) -> np.ndarray:
    top = float(np.finfo(dtype).max)
    sizes = [0.3, 1e3, top / 1e20, top / 1e9, top / 1e3, top]
    grid = [[a * x, b * 0.7 * y] for x in sizes for y in sizes for a in (1, -1) for b in (1, -1)]
    return np.array([*grid, *STRANGE], dtype=dtype)


@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("domain", [WholeSpace(), Box(-1, np.inf)])
@pytest.mark.posix
def test_c_code_and_numbers_at_the_edges(
    number: str, forward: bool, domain: Domain, tmp_path: Path
) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on the path")
    network = saturating()
    regions = enumerate_regions(network, domain)
    (tmp_path / "code.c").write_text(compile_to_c(regions, number=number, forward=forward))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-O2"]
    command = [compiler, *strict, "-shared", "-fPIC", "code.c", "-o", "code.so"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=LIMIT)
    function = ctypes.CDLL(str(tmp_path / "code.so")).network
    function.restype = ctypes.c_long
    points = points_for(np.float64 if number == "double" else np.float32)
    y = np.full((len(points), 1), np.nan, points.dtype)
    pointer = ctypes.c_void_p
    found = [
        function(pointer(points[i : i + 1].ctypes.data), pointer(y[i : i + 1].ctypes.data))
        for i in range(len(points))
    ]
    check_export(network, regions, points, y, np.array(found))


@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("domain", [WholeSpace(), Box(-1, np.inf)])
def test_onnx_graphs_and_numbers_at_the_edges(number: str, forward: bool, domain: Domain) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    network = saturating()
    regions = enumerate_regions(network, domain)
    model = to_onnx(regions, number=number, forward=forward)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    points = points_for(np.float64 if number == "double" else np.float32)
    y, found = session.run(None, {"x": points})
    check_export(network, regions, points, y, found)


def test_exports_of_one_region(tmp_path: Path) -> None:
    network = Network(2, [], Affine({0: [[0.0, 1.0]]}))
    regions = enumerate_regions(network)
    assert "return -1;" in compile_to_c(regions)
