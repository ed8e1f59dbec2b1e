"""The paper's walkthrough (its Section 3), with the printed weights and with the mended bias."""

from __future__ import annotations

from fractions import Fraction as Q

import numpy as np
import pytest

from tropicell import EmptyRegion, Network, Region, find_region, recurrences
from tropicell.network.patterns import from_paper_v

A1, B1 = [[-4, 1], [-4, -1]], [2, 3]
A2 = [[-8, 3], [-21 / 4, 19 / 4]]
PRINTED, MENDED = [-4, 1], [3, -11 / 4]
PATTERN = "11|10"


def walkthrough(b2: list[float]) -> Network:
    return Network.mlp([A1, A2, [[1, 1]]], [B1, b2, [0]])


def same(array: np.ndarray, expected: list) -> bool:
    return array.tolist() == np.array(expected, dtype=object).tolist()


def test_printed_weights_give_an_empty_region_at_layer_2() -> None:
    region = find_region(walkthrough(PRINTED), PATTERN)
    assert isinstance(region, EmptyRegion)
    assert region.layer == 2
    assert not region
    inequalities = Region(walkthrough(PRINTED), PATTERN).inequalities
    # The layer-2 pre-activations are 20x - 11y - 11 and 2x - 10y + 19/4.
    assert same(inequalities.A[2:], [[-20, 11], [2, -10]])
    assert same(inequalities.b[2:], [-11, Q(-19, 4)])


def test_mended_bias_gives_the_printed_inequalities_and_vertices() -> None:
    region = find_region(walkthrough(MENDED), PATTERN)
    assert isinstance(region, Region)
    assert same(region.inequalities.A, [[4, -1], [4, 1], [-20, 11], [2, -10]])
    assert same(region.inequalities.b, [2, 3, -4, -1])
    assert [(s.layer, s.neuron) for s in region.inequalities.sources] == [
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
    ]
    expected = {
        (Q(51, 178), Q(14, 89)),
        (Q(21, 38), Q(4, 19)),
        (Q(5, 8), Q(1, 2)),
        (Q(37, 64), Q(11, 16)),
    }
    assert {tuple(vertex) for vertex in region.vertices} == expected
    assert region.bounded
    assert len(region.facets) == 4
    assert region.contains([region.witness]).all()


@pytest.mark.parametrize("b2", [PRINTED, MENDED])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_intermediate_matrices_are_those_that_the_paper_prints(
    b2: list[float], arithmetic: str
) -> None:
    first, second = recurrences(walkthrough(b2), PATTERN, arithmetic=arithmetic)
    assert same(first.G_A, [[4, 0], [4, 1]])
    assert same(first.g_b, [0, 0])
    assert same(first.H_A, [[0, 1], [0, 0]])
    assert same(first.h_b, [2, 3])
    # Printed is F(1) = G(1), but both neurons are active, and layer 2 is computed from F(1) = H(1).
    assert same(first.F_A, [[0, 1], [0, 0]])
    assert same(first.f_b, [2, 3])
    assert same(second.G_A, [[12, 11], [19, 10]])
    assert same(second.g_b, [16, Q(21, 2)])
    assert same(second.H_A, [[32, 0], [21, 0]])
    assert same(second.F_A, [[32, 0], [19, 10]])
    # h_b(2): printed is (12, 23/2); it comes out with the mended bias only.
    assert same(second.h_b, [5, Q(61, 4)] if b2 is PRINTED else [12, Q(23, 2)])
    assert same(second.f_b, [second.h_b[0], Q(21, 2)])


@pytest.mark.parametrize("pattern", [[1, 1, 1, 0], [[1, 1], [1, 0]], "11|10", "1110"])
def test_a_pattern_may_be_flat_by_layer_or_text(pattern: object) -> None:
    region = find_region(walkthrough(MENDED), pattern)
    assert region.text == "11|10"


def test_the_papers_v_is_plus_one_for_inactive() -> None:
    region = find_region(walkthrough(MENDED), from_paper_v([-1, -1, -1, 1]))
    assert region.text == PATTERN


def test_float_arithmetic_gives_the_same_answers() -> None:
    region = find_region(walkthrough(MENDED), PATTERN, arithmetic="float")
    assert region.certain
    assert region.inequalities.b.tolist() == [2, 3, -4, -1]
    assert region.contains([region.witness]).all()
    assert len(region.facets) == 4
    empty = find_region(walkthrough(PRINTED), PATTERN, arithmetic="float")
    assert isinstance(empty, EmptyRegion)
    assert (empty.layer, empty.certain) == (2, True)
