"""The networks of `benchmarks/depth.py`, and its verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import deep_networks, depth
from benchmarks.deep_networks import DEGENERATE, GENERIC, HELD_OUT, DeepCase, MissingModelError

from tropicell import Box, count_regions


def test_all_cases_are_different_networks_with_the_inputs_they_say() -> None:
    more = deep_networks.FITTED, deep_networks.STORED
    for cases in (GENERIC, DEGENERATE, HELD_OUT, *more):
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            if not case.file:
                assert case.network().n_inputs == case.inputs
                assert case.domain().inequalities(case.inputs)[0].shape[1] == case.inputs


def test_twenty_networks_are_not_used_to_tune() -> None:
    fitted = {(case.sizes, case.seed, case.file) for case in deep_networks.FITTED}
    assert len(HELD_OUT) == 20
    assert not fitted & {(case.sizes, case.seed, case.file) for case in HELD_OUT}


def test_networks_are_always_the_same() -> None:
    first, again = (deep_networks.draw((2, 4, 1), "twins", seed=3) for _ in range(2))
    for (weights, biases), (w, b) in zip(first, again, strict=True):
        assert np.array_equal(weights, w)
        assert np.array_equal(biases, b)


def test_families_are_what_they_say() -> None:
    assert not any(b.any() for _, b in deep_networks.draw((3, 5, 5, 1), "zero biases"))
    weights, biases = deep_networks.draw((3, 5, 1), "twins")[0]
    row, twin = np.append(weights[0], biases[0]), np.append(weights[1], biases[1])
    assert np.linalg.matrix_rank(np.stack([row, twin])) == 1
    dead = DeepCase("", (2, 4, 4, 4, 1), "dead layer")
    points = np.array([[0.0, 0.0], [3.0, -3.0], [-3.0, 1.0]])
    patterns = dead.network().patterns(points)
    assert patterns[:, 4:8].tolist() == [[0, 1, 0, 1]] * 3


def test_a_residual_network_adds_what_a_block_began_with() -> None:
    case = DeepCase("", (2, 4, 4, 4, 4, 1), residual=2)
    arrays = deep_networks.draw(case.sizes)
    x = np.array([0.7, -1.3])
    values = [x]
    for index, (weights, biases) in enumerate(arrays[:-1], start=1):
        before = weights @ values[-1] + biases
        if index == 4:
            before += values[2]
        values.append(np.maximum(before, 0))
    expected = arrays[-1][0] @ values[-1] + arrays[-1][1]
    assert np.allclose(case.network()(x[None])[0], expected)


def test_a_model_that_is_not_there_is_named(tmp_path) -> None:
    case = next(case for case in GENERIC if case.file)
    with pytest.raises(MissingModelError, match=r"acasxu_1_1\.onnx: set TROPICELL_MODELS"):
        case.network(tmp_path)
    said: list[str] = []
    assert not deep_networks.available([case], tmp_path, said.append)
    assert said[0].startswith(case.name)


def test_rates_of_a_small_network() -> None:
    case = DeepCase("", (2, 4, 4, 1))
    network = case.network()
    rate = depth.measure([(network, case.domain())], 5.0)
    assert rate.complete
    assert rate.regions == count_regions(network, Box(-3, 3))
    assert rate.per_second > 0


def _row(name: str, exact: float, floating: float, engine: str = "cells") -> depth.Row:
    def part(rate: float) -> depth.Row:
        return {"regions": 10, "complete": True, "rate": rate}

    return {"name": name, "engine": engine, "exact": part(exact), "float": part(floating)}


def test_verdicts_are_computed_from_what_was_measured() -> None:
    chosen = {
        e: {"regions": 9, "complete": True, "rate": r}
        for e, r in (("auto", 8.0), ("cells", 1.0), ("halfspaces", 10.0))
    }
    data = {
        "generic": [_row("a", 6e5, 1e6), _row("b", 1e5, 1e6)],
        "small": [_row("c", 3e5, 1e6) | {"engine": depth.MANY}],
        "bias-free": [_row("d", 1e5, 1e6), _row("e", 1e3, 4e3)],
        "degenerate": [_row("f", 9e4, 1e6)],
        "storing": [
            {"name": "s", "bytes": 50} | {"count": chosen["auto"], "store": chosen["halfspaces"]},
            {"name": "t", "bytes": 50} | {"count": chosen["auto"], "store": chosen["cells"]},
        ],
        "threads": [{"name": "g", "1": {"rate": 0.0}, "2": {"rate": 1.0}}],
        "auto": [{"name": "h", "arithmetic": "exact", "chosen": "halfspaces", **chosen}],
        "certify": [
            {"name": "i", "regions": 3, "enumerate": 1.0, "certify": 4.0},
            {"name": "j", "regions": 3, "ended": "enumeration"},
        ],
    }
    found = {verdict.target: verdict for verdict in depth.verdicts(data)}
    texts = [verdict.text for verdict in found.values()]
    rest = ["no: 1 of 2", "no: 0 of 1", "yes", "no: 1 of 2"]
    assert texts == ["no: 1 of 2", "yes", "yes", "no: 0 of 1", *rest]
    assert found["storing at most 2 times counting, 3-D and 4-D"].worst == "t: 8.00"
    assert next(iter(found.values())).worst == "b: 0.1"
    about = {"version": "", "python": "", "machine": "", "load": 0, "seconds": 1.0, "rounds": 1}
    for rows in data["threads"]:
        for part in ("1", "2"):
            rows[part] |= {"regions": 1, "complete": False}
    page = depth.report(data | {"about": about})
    assert "j: the enumeration did not end" in page
    assert "All complete counts in exact arithmetic agree" in page


def test_rows_that_are_measured_anew_take_the_place_of_others_and_say_so() -> None:
    known = {"certify": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "b", "x": 3}]}
    about = {"python": "3", "machine": "m", "load": 2.5, "rounds": 4, "seconds": 1.0}
    new = {"certify": [{"name": "c", "x": 6}, {"name": "b", "x": 4}, {"name": "b", "x": 5}]}
    found = depth.merged(known, new, about)["certify"]
    assert [row["x"] for row in found] == [1, 4, 5, 6]
    assert ["later" in row for row in found] == [False, True, True, True]
    said = " ".join(depth._later({"certify": found}))
    assert "'certify', with Python 3, m, load 2.5, 4 rounds of at most 1 s: b; c." in said


def test_a_count_that_was_broken_off_is_not_taken_for_a_count() -> None:
    """On a busy machine a call may end before the first region, after others that were complete."""
    fine, nothing = depth.Rate(478, True, 1e5), depth.Rate(0, False, 0.0)
    for runs in ([fine, nothing, nothing], [nothing, fine, nothing], [nothing, nothing, fine]):
        found = depth.take_turns({"exact": iter(runs).__next__}, 2)
        assert found == {"exact": fine}
    assert depth.take_turns({"exact": lambda: nothing}, 2)["exact"].complete is False
    part = depth.Rate(400, False, 1e6)
    assert fine.better(part) is fine
    assert part.better(fine) is fine


def test_a_call_that_is_kept_from_ending_in_time_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = DeepCase("", (2, 4, 4, 1))
    network, calls = case.network(), []
    batches = depth.Search.batches

    def late(self: Any, **options: Any) -> Any:
        calls.append(self)
        if len(calls) == 2:
            return iter(())  # the search has found nothing, and is not complete
        return batches(self, **options)

    monkeypatch.setattr(depth.Search, "batches", late)
    rate = depth.measure([(network, case.domain())], 5.0)
    assert len(calls) == 2
    assert rate.complete
    assert rate.regions == count_regions(network, Box(-3, 3))


def test_rows_of_networks_that_are_measured_no_more_go() -> None:
    name = deep_networks.STORED[0].name
    known = {"storing": [{"name": "gone", "x": 1}, {"name": name, "x": 2}]}
    anew = {"storing": [{"name": deep_networks.STORED[1].name, "x": 3}]}
    found = depth.merged(known, anew, {"load": 1.0})["storing"]
    assert [row["x"] for row in found] == [2, 3]
