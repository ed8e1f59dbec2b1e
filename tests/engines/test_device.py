"""The GPU engine against the CPU's: kernels compiled for this processor, and on a GPU."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host_device import HostBackend, compiler
from strategies import KINDS, domains, random_network
from tropicell import Box, DeviceWarning, InvalidInputError, Network, Polytope, Slice
from tropicell.cli import main
from tropicell.engines import table as runs
from tropicell.engines.cells.task import CellTask
from tropicell.engines.gpu import _digits, _layout
from tropicell.engines.gpu import run as device
from tropicell.engines.gpu._cuda import CudaBackend, cuda_backend
from tropicell.engines.gpu._layout import ENGINE, LEVEL, N_COUNTERS, Counts
from tropicell.engines.gpu.run import DeviceRun
from tropicell.engines.scheduler import UnitRun
from tropicell.errors import IncompleteError
from tropicell.network import activations
from tropicell.network.domains import Domain, WholeSpace
from tropicell.regions.columns import EngineRun
from tropicell.search.enumeration import count_regions, enumerate_regions, iter_regions

#: Bytes of working memory: room for a few cells at a time, and for everything.
LITTLE, MUCH = 1 << 14, 1 << 22


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> HostBackend:
    if compiler() is None:
        pytest.skip("no C++ compiler to compile the kernels for this processor")
    return HostBackend(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session", params=["host", "cuda"])
def backend(request: pytest.FixtureRequest) -> Any:
    if request.param == "host":
        return request.getfixturevalue("host")
    found = cuda_backend()
    if not isinstance(found, CudaBackend):
        pytest.skip(f"no GPU to test on: {found}")
    return found


def rows(run: EngineRun) -> dict[bytes, tuple[Any, ...]]:
    """Everything that a run stores, by pattern."""
    found = {}
    for batch in run.batches():
        if batch is None:
            continue
        corners = np.split(batch.corners, np.cumsum(batch.corner_counts)[:-1])
        facets = np.split(batch.facet_lines, np.cumsum(batch.facet_counts)[:-1])
        for k, pattern in enumerate(batch.packed[:]):
            row = batch.witnesses[k], batch.bounded[k], batch.volumes[k], corners[k], facets[k]
            assert pattern.tobytes() not in found
            found[pattern.tobytes()] = row
    assert run.complete
    assert len(found) == run.count
    return found


def count(run: EngineRun) -> int:
    for _ in run.batches():
        pass
    assert run.complete
    return run.count


def check(network: Network, domain: Domain | None, backend: Any, memory: int = MUCH) -> DeviceRun:
    """The same regions as on the CPU, stored and counted; returns the run that stores."""
    expected = rows(UnitRun(CellTask(network, domain)))
    run = DeviceRun(network, domain, backend=backend, memory=memory)
    found = rows(run)
    assert found.keys() == expected.keys()
    for pattern, (_, bounded, volume, corners, facets) in expected.items():
        assert found[pattern][1] == bounded
        assert found[pattern][2] == pytest.approx(volume, rel=1e-6, abs=1e-12)
        assert len(found[pattern][3]) == len(corners)
        # Neurons that share a boundary may both lend it their number.
        assert len(found[pattern][4]) == len(facets)
    counted = DeviceRun(network, domain, store=False, backend=backend, memory=memory)
    assert count(counted) == len(expected)
    return run


@contextmanager
def in_slices(count: int) -> Iterator[None]:
    """Rows with twice the digits, from so many slices in each layer; 0: plain rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_digits, "MOST_DOUBTS", -1.0 if count else np.inf)
        patch.setattr(_layout, "slices_needed", lambda network, *_: [count] * network.depth)
        yield


SLICES = [0, 1, 2, 3]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    shape=st.tuples(st.integers(0, 4), st.integers(1, 9)),
    domain=domains(2),
    memory=st.sampled_from([LITTLE, MUCH]),
    slices=st.sampled_from(SLICES),
)
def test_regions_are_those_of_the_cpu(backend, seed, kind, shape, domain, memory, slices):
    with in_slices(slices):
        check(random_network(seed, kind, 2, *shape), domain, backend, memory)


def random_mlp(sizes: list[int], seed: int = 0, bias: float = 0.3) -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [rng.normal(size=(n, m)) / np.sqrt(m) for m, n in pairs]
    return Network.mlp(weights, [rng.normal(size=n) * bias for _, n in pairs])


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("memory", [1 << 18, 1 << 24])
def test_wide_networks_in_many_chunks(backend, memory, slices):
    with in_slices(slices):
        run = check(random_mlp([2, 40, 33, 20, 1]), WholeSpace(), backend, memory)
    assert run.stats()["unsure_cells"] < run.count / 10


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("few", [0, 1 << 10])
def test_products_of_parents_and_of_children(backend, few, slices, monkeypatch):
    # With the products of parents, parts of the root differ from it in more than 32 neurons.
    monkeypatch.setattr(device, "_FEW_PARENTS", few)
    steps = activations.piecewise([-1, 0, 1], [0, 1, -1, 2], [0, 1, 1, -2], name="steps")
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=shape) for shape in ((20, 2), (5, 20), (4, 5), (1, 4))]
    network = Network.mlp(weights, activation=[steps, "leaky_relu", "relu"])
    with in_slices(slices):
        check(random_mlp([2, 70, 12, 6, 1], seed=1), Box(-3, 3), backend, 1 << 24)
        check(random_network(7, "generic", 2, 4, 9), WholeSpace(), backend)
        check(network, Box(-1, 1), backend)


def he_network(depth: int, width: int, *, skips: bool = False) -> Network:
    rng = np.random.default_rng(0)
    pairs = list(pairwise([2, *[width] * depth, 1]))
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairs]
    biases = [rng.normal(size=n) * 0.5 for _, n in pairs]
    pairs = [(k, k + 2) for k in range(1, depth - 1, 2)] if skips else []
    return Network.mlp(weights, biases, skips=pairs)


@pytest.mark.parametrize("skips", [False, True])
def test_no_cell_of_a_deep_network_is_in_doubt(backend, skips):
    network = he_network(24, 8, skips=skips)
    with in_slices(3):
        run = check(network, Box(-3, 3), backend, 1 << 24)
    assert run.count > 1000
    assert run.stats()["unsure_cells"] == 0


def test_twice_the_digits_are_for_deep_networks(host):
    shallow, deep, deeper = he_network(4, 20), he_network(16, 40), he_network(30, 20)
    found = []
    for network in (shallow, deep, deeper):
        run = DeviceRun(network, Box(0, 0.01), store=False, backend=host, memory=1 << 24)
        assert count(run) == count_regions(network, Box(0, 0.01), arithmetic="float")
        slices = run._buffers.levels["slices"][2:-1].tolist()
        assert slices == sorted(slices, reverse=True)
        found.append((run._device.deep, slices[0], slices[-1]))
    assert found == [(False, 1, 1), (True, 2, 1), (True, 3, 1)]


def test_float_arithmetic_counts_networks_in_general_position(backend):
    network = random_mlp([2, 20, 20, 20, 1], seed=3)
    expected = rows(UnitRun(CellTask(network, Box(-1, 1))))
    assert rows(DeviceRun(network, Box(-1, 1), "float", backend=backend)).keys() == expected.keys()
    run = DeviceRun(network, Box(-1, 1), "float", store=False, backend=backend)
    assert count(run) == len(expected)


def test_three_lines_through_one_point_are_not_counted_as_general_position(backend):
    # Pairs of lines would give 7: the third boundary passes through the crossing of the others.
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.ones((1, 3))])
    run = DeviceRun(network, Box(-1, 1), store=False, backend=backend)
    assert count(run) == 6
    assert run.stats()["unsure_cells"] > 0


def test_a_polygon_with_many_sides_is_left_to_the_cpu(backend):
    angle = np.linspace(0, 2 * np.pi, 91)[:-1]
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    domain = Polytope(around, np.ones(90))
    check(random_mlp([2, 6, 5, 1]), domain, backend)
    # The cell in the middle gets its many sides from the first layer.
    check(Network.mlp([-around, np.ones((1, 90))], [np.ones(90), None]), Box(-2, 2), backend)


def test_slices_and_pieces_that_need_three_bits(backend):
    rng = np.random.default_rng(0)
    steps = activations.piecewise([0, 1, 2, 3], [0, 1, -1, 2, 0], [0, 0, 2, -4, 2], name="steps")
    network = Network.mlp(
        [rng.normal(size=(6, 5)), rng.normal(size=(4, 6)), rng.normal(size=(1, 4))],
        [rng.normal(size=6), rng.normal(size=4), np.zeros(1)],
        activation=[steps, "relu"],
    )
    plane = Slice(rng.normal(size=5), rng.normal(size=(2, 5)), Box(-2, 2))
    check(network, plane, backend)


@pytest.mark.parametrize("seed", range(4))
def test_slices_of_slices_that_float64_can_not_hold(backend, seed):
    rng = np.random.default_rng(seed)
    network = random_network(seed, KINDS[seed], 3, 3, 5)
    network = network.restrict(
        Slice(rng.integers(-3, 4, 3) * 0.1, rng.normal(size=(3, 3)).round(1))
    )
    check(network, Slice(np.full(3, 0.1), rng.normal(size=(2, 3)).round(1), Box(-2, 2)), backend)


def test_a_run_that_is_halted_has_handed_out_what_it_counts(backend):
    run = DeviceRun(random_mlp([2, 30, 30, 1]), Box(-1, 1), backend=backend, memory=1 << 18)
    found = 0
    for batch in run.batches():
        found += 0 if batch is None else len(batch.packed)
        if found:
            run.halt()
    found += sum(len(batch.packed) for batch in run.rest())
    assert not run.complete
    assert 0 < found == run.count == run.found


def test_memory_of_a_run_is_let_go_with_it(host):
    run = DeviceRun(random_mlp([2, 6, 6, 1]), WholeSpace(), backend=host, memory=MUCH)
    rows(run)
    gone = weakref.ref(run)
    gc.disable()  # a device's memory must not wait for it
    try:
        del run
        assert gone() is None
    finally:
        gc.enable()


def test_a_run_without_time_is_not_complete(backend):
    network = random_mlp([2, 6, 6, 1])
    run = DeviceRun(network, WholeSpace(), backend=backend, max_seconds=0.0)
    assert not any(run.batches())
    assert not run.complete
    check(network, WholeSpace(), backend)  # seeds that it did not come to are not missing later


BEGUN = Counts._fields.index("begun")


def numbers_at(address: int) -> list[int]:
    """The counters of a kernel on this processor."""
    return list((ctypes.c_ulonglong * N_COUNTERS).from_address(int(address)))


class Watching:
    """The host's kernels, with a look at the nodes that were scanned last."""

    def __init__(self, host: HostBackend) -> None:
        self._host = host
        self.after_scan: Callable[[], None] = lambda: None
        self.counts: list[Counts] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        self._host.launch(kernel, items, *arguments)
        if "scan" in kernel:
            self.level = int(arguments[2].view(LEVEL)["index"][0])
            self.first = int(arguments[4])
            self.count = numbers_at(arguments[0].view(ENGINE)["counters"][0])[BEGUN]
            self.after_scan()
        if kernel == "follow":
            self.counts.append(Counts._make(numbers_at(arguments[-1])[: len(Counts._fields)]))


def test_exact_arithmetic_can_be_halted(host):
    # Without biases, cells of the first layer are in doubt at the corner that they share.
    watch = Watching(host)
    network = random_mlp([2, 12, 12, 1], bias=0.0)
    run = DeviceRun(network, Box(-1, 1), backend=watch, memory=MUCH)
    watch.after_scan = run.halt
    found = [batch for batch in [*run.batches(), *run.rest()] if batch is not None]
    assert sum(len(batch.packed) for batch in found) == run.count
    assert not run.complete
    assert run.stats()["unsure_cells"] > 0
    assert run.stats()["exact_decisions"] == 0


# --- going on without the processor ---------------------------------------------------------------


@pytest.mark.parametrize("store", [True, False])
def test_the_device_goes_on_by_itself(host, store):
    watch = Watching(host)
    network = random_mlp([2, 20, 20, 20, 20, 20, 1])
    run = DeviceRun(network, Box(-1, 1), store=store, backend=watch, memory=1 << 24)
    before = host.launches.copy()
    assert count(run) == count_regions(network, Box(-1, 1))
    *inner, last = watch.counts
    assert len(watch.counts) == network.depth
    assert all(counts.begun == counts.nodes > 0 for counts in inner)
    assert last.begun == 0
    launches = {kernel: host.launches[kernel] - before[kernel] for kernel in before}
    assert launches["begin"] == launches["gather"] == 1  # for the root, and for its parts
    assert launches["scan_plain"] == launches["cut"] == network.depth


@pytest.mark.parametrize("memory", [1 << 16, 1 << 20])
@pytest.mark.parametrize("few", [0, 16])
def test_it_does_not_go_on_where_there_is_too_little_room(host, memory, few, monkeypatch):
    monkeypatch.setattr(device, "_FEW_PARENTS", few)
    watch = Watching(host)
    check(random_mlp([2, 40, 33, 20, 1]), WholeSpace(), watch, memory)
    assert any(counts.begun for counts in watch.counts)
    # Too many children for one chunk, chunks that overflow, and such that were begun on already.
    assert any(counts.nodes and not (counts.begun or counts.overflow) for counts in watch.counts)
    assert any(counts.overflow and not counts.begun for counts in watch.counts)
    assert any(a.begun and b.overflow for a, b in pairwise(watch.counts))


@pytest.mark.parametrize("kind", ["repeated", "dead", "integer"])
def test_cells_in_doubt_do_not_mind_that_it_went_on(host, kind):
    watch = Watching(host)
    check(random_network(1, kind, 2, 4, 9), WholeSpace(), watch)
    assert any(counts.unsure and counts.begun for counts in watch.counts)


def test_tests_and_cuts_are_counted_once(host):
    network = random_mlp([2, 12, 12, 12, 1], seed=2)
    found = []
    for memory in (1 << 18, 1 << 22):
        watch = Watching(host)
        run = DeviceRun(network, Box(-1, 1), store=False, backend=watch, memory=memory)
        found.append((count(run), run.stats()["tests"], run.stats()["splits"]))
        in_one_go = all(counts.begun == counts.nodes for counts in watch.counts)
        assert in_one_go == (memory == 1 << 22)
    assert found[0] == found[1]


def test_nodes_that_were_begun_on_in_vain_do_no_harm(host):
    network, domain = random_mlp([2, 20, 20, 20, 1], seed=5), Box(-1, 1)
    expected = count(DeviceRun(network, domain, backend=host, store=False, memory=MUCH))
    watch = Watching(host)

    def stop() -> None:
        if watch.level == network.depth:
            raise KeyboardInterrupt

    watch.after_scan = stop
    run = DeviceRun(network, domain, backend=watch, store=False, memory=MUCH)
    with pytest.raises(KeyboardInterrupt):
        count(run)
    assert run.count == 0
    assert not run.complete
    halted = DeviceRun(network, domain, backend=watch, store=False, memory=MUCH)
    watch.after_scan = halted.halt
    assert not any(halted.batches())
    assert not halted.complete
    again = DeviceRun(network, domain, backend=host, store=False, memory=MUCH)
    assert count(again) == expected


@pytest.mark.parametrize("kind", ["generic", "tenths", "scaled"])
def test_error_bounds_of_the_maps_hold(host, kind):
    watch = Watching(host)
    network = random_network(5, kind, 2, 4, 7)
    run = DeviceRun(network, Box(-1, 1), store=False, backend=watch, memory=MUCH)
    count(run)
    level, size = watch.level, watch.count
    assert level == network.depth
    buffers, lines = run._buffers, run.flat.lines
    assert size <= buffers.few
    width = network.widths[-1]
    maps = buffers.maps[level][: 4 * size * width].reshape(size, 4, width)
    nodes = run._reader.nodes(level, watch.first, np.arange(size))
    scale = [*map(Fraction, lines.scale), 1]
    rounding = buffers.levels[level]["gamma"] * np.abs(run.flat.maps.bias[-width:])
    for k, (pattern, _) in enumerate(nodes):
        exact = run._exact.cells._layers(level, pattern).before
        bounds = maps[k, 3] + rounding + 1e-200
        for neuron, c in np.ndindex(width, 3):
            true = Fraction(int(exact[neuron, c].p), int(exact[neuron, c].q)) / scale[c]
            off = abs(Fraction(float(maps[k, c, neuron])) - true)
            assert off <= Fraction(float(bounds[neuron]))


@pytest.mark.parametrize("slices", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_error_bounds_of_rows_with_twice_the_digits_hold(host, kind, slices):
    watch = Watching(host)
    network = random_network(5, kind, 2, 5, 7)
    with in_slices(slices):
        run = DeviceRun(network, Box(-1, 1), store=False, backend=watch, memory=MUCH)
        count(run)
    level, size = watch.level, watch.count
    assert run._device.deep
    assert (run._buffers.levels["slices"][1:-1] == slices).all()
    buffers, lines, width = run._buffers, run.flat.lines, network.widths[level - 1]
    assert 0 < size <= buffers.few
    maps = buffers.maps[level][: 7 * size * width].reshape(size, 7, width)
    record = buffers.levels[level]
    known = np.array((ctypes.c_double * (6 * size)).from_address(int(record["known"])))
    known = known.reshape(size, 6)
    slope = np.abs(network.layers[level - 1].activation.slopes).max()
    scale = [*map(Fraction, lines.scale), 1]
    nodes = run._reader.nodes(level, watch.first, np.arange(size))
    for k, (pattern, _) in enumerate(nodes):
        exact = run._exact.cells._layers(level, pattern).before
        for c in range(3):
            squares = Fraction(0)
            for neuron in range(width):
                true = Fraction(int(exact[neuron, c].p), int(exact[neuron, c].q)) / scale[c]
                high, low = (Fraction(float(maps[k, row, neuron])) for row in (c, 4 + c))
                squares += (high + low - true) ** 2
                assert abs(high - true) <= Fraction(float(maps[k, 3, neuron])) + Fraction(1e-200)
            assert squares * Fraction(float(slope)) ** 2 <= Fraction(float(known[k, 3 + c])) ** 2


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (64, 64), (300, 7)])
def test_slices_of_weights_are_exact(shape, count):
    matrix = np.random.default_rng(0).normal(size=shape) * 10.0 ** -np.arange(shape[1])
    matrix[0] = 0
    slices = _digits.slices_of(matrix, count)
    n = shape[0]
    assert (slices.factors[-1][:n] == matrix).all()
    assert (np.linalg.norm(matrix, axis=0) <= slices.scale).all()
    first, rest = slices.factors[0], slices.factors[-1][n : 2 * n]
    unit = slices.scale / 2**slices.bits
    assert (first % unit == 0).all()
    assert (np.abs(rest) <= unit / 2).all()
    parts = [first, rest]
    if count == 3:
        second, third = slices.factors[1][n:], slices.factors[2][2 * n :]
        assert (slices.factors[1][:n] == first).all()
        assert (second % (unit / 2**slices.bits) == 0).all()
        parts = [first, second, third]
    for i, j in np.ndindex(shape):
        assert sum(Fraction(float(part[i, j])) for part in parts) == Fraction(float(matrix[i, j]))


def test_bias_and_layer_0_have_twice_the_digits():
    network = random_network(3, "generic", 2, 4, 6)
    flat = CellTask(network, Box(-1, 1)).flat
    for index, layer in enumerate(network.layers, 1):
        base = _digits.base_of(network, flat, index)
        matrix = layer.affine.terms.get(0, np.zeros((layer.width, 2)))
        for neuron, c in np.ndindex(layer.width, 3):
            exact = Fraction(float(layer.affine.bias[neuron])) if c == 2 else Fraction(0)
            for j in range(2):
                weight = Fraction(float(matrix[neuron, j]))
                exact += weight * Fraction(float(flat.maps.input_rows[j, c]))
            found = Fraction(float(base.high[c, neuron])) + Fraction(float(base.low[c, neuron]))
            assert abs(found - exact) <= Fraction(float(base.error[c, neuron]))


# --- the front door -------------------------------------------------------------------------------


@pytest.fixture
def host_as_gpu(host: HostBackend, monkeypatch: pytest.MonkeyPatch) -> HostBackend:
    monkeypatch.setattr(runs, "cuda_backend", lambda: host)
    return host


def test_the_front_door_uses_the_device(host_as_gpu):
    network = random_mlp([2, 8, 8, 1])
    before = host_as_gpu.launches["emit"]
    regions = enumerate_regions(network, Box(-1, 1), device="cuda")
    assert host_as_gpu.launches["emit"] > before
    assert regions.complete
    assert regions.volumes.sum() == pytest.approx(4)
    assert count_regions(network, Box(-1, 1), device="cuda") == len(regions)


def test_budgets_hold_on_a_device(host_as_gpu):
    network = random_mlp([2, 30, 30, 1])
    regions = enumerate_regions(network, Box(-1, 1), device="cuda", max_regions=50)
    assert (len(regions), regions.complete) == (50, False)
    assert regions.stats["ended_by"] == "max_regions"
    few = enumerate_regions(network, Box(-1, 1), device="cuda", max_bytes=10_000)
    assert 0 < few.nbytes <= 10_000
    assert few.stats["ended_by"] == "max_bytes"
    with pytest.raises(IncompleteError) as error:
        count_regions(network, Box(-1, 1), device="cuda", max_regions=50)
    assert error.value.count == 50


def test_regions_come_batch_by_batch(host_as_gpu):
    network = random_mlp([2, 8, 8, 1])
    batches = list(iter_regions(network, Box(-1, 1), device="cuda"))
    assert sum(map(len, batches)) == count_regions(network, Box(-1, 1))
    assert batches[-1].complete


def test_checkpoints_are_refused(host_as_gpu, tmp_path):
    with pytest.raises(InvalidInputError, match="checkpoint is for the CPU"):
        count_regions(random_mlp([2, 3, 1]), device="cuda", checkpoint=tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_without_a_gpu_the_cpu_is_used_with_a_warning(monkeypatch):
    monkeypatch.setattr(runs, "cuda_backend", lambda: "there is no NVIDIA GPU here")
    with pytest.warns(DeviceWarning, match="no NVIDIA GPU"):
        assert count_regions(random_mlp([2, 3, 1]), device="cuda") == 7


def test_emulated_float64_is_refused(monkeypatch):
    monkeypatch.setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1")
    found = cuda_backend.__wrapped__()
    assert isinstance(found, str)
    assert "CUBLAS_EMULATE_DOUBLE_PRECISION" in found


@pytest.mark.parametrize(
    ("inputs", "engine", "why"), [(3, "auto", "2 inputs"), (2, "halfspaces", "'halfspaces'")]
)
def test_what_the_kernels_are_not_made_for_is_left_to_the_cpu(host_as_gpu, inputs, engine, why):
    network = random_mlp([inputs, 3, 1])
    with pytest.warns(DeviceWarning, match=why):
        found = count_regions(network, device="cuda", engine=engine)
    assert found == count_regions(network)


def test_other_devices_are_refused():
    with pytest.raises(InvalidInputError, match="'tpu'"):
        count_regions(random_mlp([2, 3, 1]), device="tpu")


def test_the_command_line_takes_a_device(host_as_gpu, tmp_path, capsys):
    from tropicell.importers.files import save

    network = random_mlp([2, 5, 1])
    save(network, tmp_path / "network.npz")
    assert main(["count", str(tmp_path / "network.npz"), "--device", "cuda", "--json"]) == 0
    assert f'"regions": {count_regions(network)}' in capsys.readouterr().out
