"""Algorithm 3: predictions are the network's, and the cache is what it says."""

from __future__ import annotations

import pickle
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from children import run_python
from interpreter import switching_often
from strategies import networks, random_network
from tropicell import (
    Affine,
    Box,
    CachedPredictor,
    InvalidInputError,
    Layer,
    ModelFileError,
    Network,
    Slice,
    enumerate_regions,
    save,
)
from tropicell.predict import cache as region_cache
from tropicell.predict.cached import POLICIES

seeds = st.integers(0, 2**32 - 1)


def wide_network(seed: int = 0, inputs: int = 300) -> Network:
    """Enough inputs and weights for matrix products by group."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=s) for s in [(80, inputs), (20, 80), (3, 20)]]
    return Network.mlp(weights, [rng.normal(size=len(w)) for w in weights], skips=[])


def sizes(network: Network, points: np.ndarray) -> np.ndarray:
    """How large the numbers are that the outputs are added up from."""
    if network.embedding is not None:
        points = abs(points) @ abs(network.embedding.matrix.T) + abs(network.embedding.offset)
    values = [abs(points)]
    for index in range(1, network.depth + 2):
        affine = network.affine(index)
        before = abs(affine.bias) + sum(
            values[k] @ abs(matrix).T for k, matrix in affine.terms.items()
        )
        if index <= network.depth:
            function = network.layers[index - 1].activation
            before = before * abs(function.slopes).max(axis=1) + abs(function.intercepts).max(
                axis=1
            )
        values.append(before)
    return values[-1].max(axis=1, keepdims=True)


def check(network: Network, predicted: np.ndarray, points: np.ndarray) -> None:
    expected = network(points)
    assert predicted.shape == expected.shape
    assert (abs(predicted - expected) <= 1e-13 * sizes(network, points) + 1e-300).all()


# --- predictions --------------------------------------------------------------------------------


@given(networks(), seeds, st.sampled_from(POLICIES))
def test_predictions_are_the_networks(network: Network, seed: int, policy: str) -> None:
    rng = np.random.default_rng(seed)
    predictor = CachedPredictor(network, 3000, policy)
    grid = rng.integers(-3, 4, size=(40, network.n_inputs)).astype(float)
    for points in (rng.normal(size=(30, network.n_inputs)), grid, grid[:1], grid[:0], grid):
        check(network, predictor.predict(points), points)
    assert predictor.hits + predictor.misses == 30 + 40 + 1 + 40


@settings(max_examples=30)
@given(networks(max_inputs=2, max_depth=2))
def test_predictions_on_boundaries_and_corners(network: Network) -> None:
    corners = enumerate_regions(network, Box(-1, 1)).corners.values[:, :-1]
    middles = (corners[1:] + corners[:-1]) / 2
    points = np.concatenate([corners, middles])
    predictor = CachedPredictor(network)
    check(network, predictor.predict(points), points)
    for point in points[:5]:
        check(network, predictor.predict(point[None]), point[None])


def test_relative_difference_to_ordinary_networks() -> None:
    for seed in range(5):
        network = random_network(seed, "generic", 4, 4, 20)
        points = np.random.default_rng(seed).normal(size=(500, 4))
        np.testing.assert_allclose(
            CachedPredictor(network).predict(points), network(points), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("copies", [1, 3, 40])
def test_many_inputs_and_groups_of_every_size(copies: int) -> None:
    """Large maps: groups of points are multiplied together, single ones in a loop."""
    network = wide_network()
    rng = np.random.default_rng(copies)
    points = np.repeat(rng.normal(size=(12, 300)), copies, axis=0)
    points[1::2] *= 1 + 1e-9
    points = rng.permutation(points)
    predictor = CachedPredictor(network)
    for part in (points[: 5 * copies], points, points):
        check(network, predictor.predict(part), part)
    assert predictor.misses == predictor.size == 12


def test_points_and_maps_in_many_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(2, "generic", 3, 3, 12, relu=True)
    points = np.random.default_rng(0).normal(size=(200, 3)) * 3
    whole = CachedPredictor(network)
    expected = whole.predict(points)
    monkeypatch.setattr("tropicell.paper.algorithm3.BATCH", 500)
    parts = CachedPredictor(network)
    np.testing.assert_allclose(parts.predict(points), expected, rtol=1e-12)
    np.testing.assert_allclose(parts.jacobian(points), whole.jacobian(points), rtol=1e-9)
    assert parts.contains(points).all()
    assert (parts.hits, parts.misses) == (whole.hits, whole.misses)
    assert parts.size == whole.size > 30
    assert len(list(parts._maps.blocks(points))) > 3


def test_sparse_matrices_and_slices() -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    sparse = sp.random_array((9, 6), density=0.3, rng=rng)
    network = Network(
        6,
        [
            Layer(Affine({0: sparse}, rng.normal(size=9))),
            Layer(Affine({1: rng.normal(size=(4, 9))})),
        ],
        Affine({0: sp.random_array((2, 6), density=0.5, rng=rng), 2: rng.normal(size=(2, 4))}),
    )
    points = rng.normal(size=(200, 6))
    check(network, CachedPredictor(network).predict(points), points)
    plane = network.restrict(Slice(rng.normal(size=6), rng.normal(size=(2, 6))))
    check(plane, CachedPredictor(plane).predict(points[:, :2]), points[:, :2])


@given(networks(), seeds)
def test_jacobians_are_those_of_the_regions(network: Network, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(10, network.n_inputs))
    predictor = CachedPredictor(network, 2000)
    predictor.predict(points[:4])
    found = predictor.jacobian(points)
    for pattern, jacobian, point in zip(network.patterns(points), found, points, strict=True):
        expected = network.affine_map(pattern).matrix.astype(float)
        scale = sizes(network, np.eye(network.n_inputs)).max() + sizes(network, point[None]).max()
        assert (abs(jacobian - expected) <= 1e-12 * scale).all()


# --- the cache ----------------------------------------------------------------------------------


def step_network(steps: int = 30) -> Network:
    """Regions k < x < k + 1 for k = 0 … : the number of a region is known."""
    return Network.mlp([np.ones((steps, 1)), np.ones((1, steps))], [-np.arange(float(steps)), [0]])


def cached_steps(predictor: CachedPredictor) -> list[int]:
    return np.flatnonzero(predictor.contains(np.arange(31)[:, None] - 0.5)).tolist()


def predictor_for(regions: int, policy: str) -> CachedPredictor:
    """A predictor of `step_network` with room for so many regions."""
    from tropicell.predict.cache import RegionCache

    network = step_network()
    size = next(b for b in range(1, 10**5) if fits(RegionCache, b, policy) == regions)
    return CachedPredictor(network, size, policy)


def fits(kind: type, max_bytes: int, policy: str) -> int:
    try:
        return int(kind(1, 1, 1, max_bytes, policy).most)
    except InvalidInputError:
        return 0


@pytest.mark.parametrize(
    ("policy", "left"), [("lru", [1, 3, 4]), ("fifo", [2, 3, 4]), ("keep", [1, 2, 3])]
)
def test_who_goes_first(policy: str, left: list[int]) -> None:
    predictor = predictor_for(3, policy)
    for step in (1, 2, 3, 1, 4):
        predictor.predict([[step - 0.5]])
    assert cached_steps(predictor) == left
    assert (predictor.size, predictor.hits, predictor.misses) == (3, 1, 4)
    assert predictor.hit_rate == 0.2


@pytest.mark.parametrize("policy", POLICIES)
@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=12), st.integers(1, 12))
def test_the_cache_is_an_ordered_table(policy: str, batches: list[list[int]], room: int) -> None:
    """Against a dictionary, where points come one at a time."""
    predictor = predictor_for(room, policy)
    table: dict[int, None] = {}
    hits = 0
    for batch in batches:
        for step in batch:
            predictor.predict([[step - 0.5]])
            hits += step in table
            if step in table:
                if policy == "lru":
                    table[step] = table.pop(step)
            elif len(table) < room or policy != "keep":
                if len(table) == room:
                    del table[next(iter(table))]
                table[step] = None
        words, maps = predictor.columns()
        assert [int(word).bit_count() for word in words[:, 0]] == list(table)
        assert maps[:, 0, 0].tolist() == [float(step) for step in table]
        assert predictor.hits == hits


@settings(max_examples=40)
@given(networks(), seeds, st.sampled_from(POLICIES), st.integers(0, 4000), st.data())
def test_the_limit_holds_whatever_is_called(
    network: Network, seed: int, policy: str, extra: int, data: st.DataObject
) -> None:
    with pytest.raises(InvalidInputError, match="one region of this network needs") as refusal:
        CachedPredictor(network, 1, policy)
    limit = int(str(refusal.value).split()[-2]) + extra
    predictor = CachedPredictor(network, limit, policy)
    rng = np.random.default_rng(seed)
    names = ["predict", "fit", "partial_fit", "jacobian", "contains", "clear"]
    for name in data.draw(st.lists(st.sampled_from(names), max_size=8)):
        if name == "clear":
            predictor.clear()
            assert (predictor.size, predictor.hits, predictor.misses) == (0, 0, 0)
        else:
            points = rng.normal(size=(int(rng.integers(0, 60)), network.n_inputs)) * 3
            getattr(predictor, name)(points)
        assert predictor.nbytes <= limit
        assert predictor.size == len(predictor.columns()[0])
    check(network, predictor.predict(points := rng.normal(size=(9, network.n_inputs))), points)


def test_all_regions_of_the_data_are_learnt() -> None:
    network = random_network(1, "generic", 2, 2, 12, relu=True)
    points = np.random.default_rng(0).normal(size=(2000, 2)) * 3
    predictor = CachedPredictor(network)
    assert predictor.fit(points) is predictor
    assert predictor.contains(points).all()
    assert predictor.size == len(np.unique(network.patterns(points), axis=0)) > 50
    assert np.isnan(predictor.hit_rate)
    predictor.predict(points)
    assert (predictor.hits, predictor.misses) == (2000, 0)
    predictor.fit(points[:1])
    assert predictor.size == 1
    assert predictor.partial_fit(points).size > 50


def test_threads_share_a_cache() -> None:
    network = random_network(3, "generic", 3, 3, 12, relu=True)
    predictor = CachedPredictor(network, 6000)
    batches = [np.random.default_rng(i).normal(size=(i % 7 * 20 + 1, 3)) for i in range(120)]

    def work(i: int) -> np.ndarray:
        if i % 30 == 29:
            predictor.partial_fit(batches[i])
        assert predictor.nbytes <= 6000
        return predictor.predict(batches[i])

    with switching_often(), ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, range(len(batches))))
    for points, predicted in zip(batches, results, strict=True):
        check(network, predicted, points)
    assert predictor.hits + predictor.misses == sum(map(len, batches))
    words, maps = predictor.columns()
    assert len(np.unique(words, axis=0)) == len(words) == predictor.size
    patterns = network.maps("float").of_patterns
    from tropicell.regions.columns import PackedPatterns

    expected = patterns(PackedPatterns(words, network.n_neurons, 1)[:])
    np.testing.assert_allclose(maps, expected, rtol=1e-9, atol=1e-9)


def test_a_cache_that_grows_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(3, "generic", 3, 3, 12, relu=True)
    predictor = CachedPredictor(network)
    sizes: list[Future[tuple[int, int]]] = []
    table_size = region_cache._table_size

    def growing(slots: int) -> int:
        """There is no hash table now; whoever asks has to wait."""
        sizes.append(pool.submit(lambda: (predictor.size, predictor.nbytes)))
        assert not wait(sizes[-1:], timeout=0.05).done
        return table_size(slots)

    monkeypatch.setattr(region_cache, "_table_size", growing)
    with ThreadPoolExecutor(1) as pool:
        predictor.partial_fit(np.random.default_rng(0).normal(size=(500, 3)))
    assert sizes
    assert all(size.result() <= (predictor.size, predictor.nbytes) for size in sizes)


# --- files --------------------------------------------------------------------------------------


def test_a_saved_cache_loads_in_a_new_process(tmp_path: Path) -> None:
    network = random_network(5, "generic", 2, 2, 8)
    points = np.random.default_rng(0).normal(size=(300, 2))
    predictor = CachedPredictor(network, 50_000, "fifo").fit(points)
    predictor.save(tmp_path / "cache.npz")
    save(network, tmp_path / "network.npz")
    np.save(tmp_path / "points.npy", points)
    code = (
        "import sys, numpy as np, tropicell as tc\n"
        "folder = sys.argv[1]\n"
        "network = tc.load(folder + '/network.npz')\n"
        "predictor = tc.CachedPredictor.load(folder + '/cache.npz', network)\n"
        "np.save(folder + '/values.npy', predictor.predict(np.load(folder + '/points.npy')))\n"
        "print(predictor.size, predictor.hits, predictor.misses, predictor.policy)\n"
    )
    done = run_python("-c", code, str(tmp_path))
    assert done.stdout.split() == [str(predictor.size), "300", "0", "fifo"]
    np.testing.assert_array_equal(np.load(tmp_path / "values.npy"), predictor.predict(points))
    assert "cache.npz" in {p.name for p in tmp_path.iterdir()}


def test_order_of_use_survives_and_the_oldest_are_left_out(tmp_path: Path) -> None:
    predictor = predictor_for(5, "lru")
    for step in (1, 2, 3, 4, 5, 2):
        predictor.predict([[step - 0.5]])
    predictor.save(tmp_path / "cache.npz")
    network, small = predictor.network, predictor_for(2, "lru").max_bytes
    again = CachedPredictor.load(tmp_path / "cache.npz", network)
    np.testing.assert_array_equal(again.columns()[0], predictor.columns()[0])
    less = CachedPredictor.load(tmp_path / "cache.npz", network, max_bytes=small)
    assert cached_steps(less) == [2, 5]


def test_caches_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    network = step_network()
    predictor = CachedPredictor(network).fit([[1.5]])
    file = tmp_path / "cache.npz"
    predictor.save(file)
    with pytest.raises(ModelFileError, match="another network"):
        CachedPredictor.load(file, step_network(31))
    with pytest.raises(ModelFileError, match="no such file"):
        CachedPredictor.load(tmp_path / "none.npz", network)
    with pytest.raises(InvalidInputError, match="suffix"):
        predictor.save(tmp_path / "cache.txt")
    save(network, tmp_path / "network.npz")
    with pytest.raises(ModelFileError, match="holds no cache"):
        CachedPredictor.load(tmp_path / "network.npz", network)
    (tmp_path / "short.npz").write_bytes(file.read_bytes()[:-300])
    with pytest.raises(ModelFileError, match="truncated"):
        CachedPredictor.load(tmp_path / "short.npz", network)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"maps": np.zeros((1, 2, 2))}, "'maps' has type"),
        ({"words": np.zeros((1, 1))}, "'words' has type"),
        ({"words": None}, "'words' is missing"),
        ({"header": np.array("{")}, "not JSON"),
        ({"header": np.array('{"format": "tropicell-cache", "version": 99}')}, "version 99"),
        ({"header": np.array('{"format": "tropicell-cache"}')}, "'version' is missing"),
    ],
)
def test_damaged_caches_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    network, file = step_network(), tmp_path / "cache.npz"
    CachedPredictor(network).fit([[1.5]]).save(file)
    arrays = dict(np.load(file)) | change
    np.savez(file, **{name: a for name, a in arrays.items() if a is not None})
    with pytest.raises(ModelFileError, match=message):
        CachedPredictor.load(file, network)


# --- conventions --------------------------------------------------------------------------------


def test_parameters_and_clones() -> None:
    from sklearn.base import clone, is_regressor

    network = step_network()
    predictor = CachedPredictor(network, 9000, "fifo").fit([[1.5]])
    copy = clone(predictor)
    assert copy.get_params() == {"network": network, "max_bytes": 9000, "policy": "fifo"}
    assert (copy.size, predictor.size) == (0, 1)
    assert is_regressor(predictor)
    assert predictor.set_params(policy="lru") is predictor
    assert (predictor.policy, predictor.size) == ("lru", 0)
    with pytest.raises(InvalidInputError, match="no parameter is called 'size'"):
        predictor.set_params(size=3)
    with pytest.raises(InvalidInputError, match="unknown policy"):
        predictor.set_params(policy="best")
    assert predictor.policy == "lru"
    again = pickle.loads(pickle.dumps(predictor.fit([[1.5], [2.5]])))
    assert cached_steps(again) == [2, 3]


#: Checks of scikit-learn that do not hold, and why: the network was trained before, and decides.
NOT_FOR_US = {
    "check_do_not_raise_errors_in_init_or_set_params": "what is no network is refused at once",
    "check_n_features_in": "the number of inputs is known before fit",
    "check_n_features_in_after_fitting": "a wrong number of inputs is refused in our own words",
    "check_dtype_object": "what is no number is refused by float's own words",
    "check_estimators_empty_data_messages": "no points at all leave an empty cache",
    "check_estimators_nan_inf": "points that are not finite go through the network itself",
    "check_regressors_train": "labels are ignored, however many there are",
    "check_regressor_multioutput": "the outputs are the network's, not those of the labels",
    "check_dict_unchanged": "predictions fill the cache",
    "check_fit2d_predict1d": "needs a network with three inputs and one with one",
    "check_array_api_input": "skipped where SciPy is told nothing of other arrays",
}


@pytest.mark.filterwarnings("ignore")  # of checks, about what they do
def test_checks_of_scikit_learn() -> None:
    """Each wants a number of inputs of its own: what holds for one network is enough."""
    from sklearn.utils.estimator_checks import check_estimator

    passed, others = set(), set()
    for inputs in (1, 2, 3, 4, 5, 10):
        network = Network.mlp([np.eye(4, inputs) - 0.5, np.ones((1, 4))])
        found = check_estimator(CachedPredictor(network), on_fail=None, on_skip=None)
        passed |= {check["check_name"] for check in found if check["status"] == "passed"}
        others |= {check["check_name"] for check in found if check["status"] != "passed"}
    assert others - passed == set(NOT_FOR_US)
    page = (Path(__file__).parents[2] / "docs" / "predictor.md").read_text()
    assert all(f"`{name}`" in page for name in NOT_FOR_US)


def test_the_last_step_of_a_pipeline() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = step_network()
    points = np.arange(10.0)[:, None]
    pipeline = make_pipeline(StandardScaler(), CachedPredictor(network))
    expected = network(StandardScaler().fit_transform(points))
    np.testing.assert_allclose(pipeline.fit(points).predict(points), expected)
    assert pipeline[-1].size == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": object()}, "from_torch"),
        ({"policy": "random"}, "expected one of lru, fifo, keep"),
        ({"max_bytes": 0}, "positive whole number"),
        ({"max_bytes": 1e6}, "positive whole number"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CachedPredictor(**{"network": step_network(), **arguments})


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0, 2.0]], "shape"),
        ([["a"]], "numbers"),
        ([[0.0], [np.nan]], "point 1 has the value nan"),
    ],
)
def test_bad_points(points: list, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CachedPredictor(step_network()).predict(points)
