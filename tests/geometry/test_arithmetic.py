"""Exact arithmetic: products of matrices of rationals, small and large ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tropicell.geometry.arithmetic import EXACT


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_products_are_exact_whatever_multiplies_them(size: int) -> None:
    rng = np.random.default_rng(size)
    left = rng.normal(size=(size, size)) * np.exp2(rng.integers(-90, 90, (size, size)))
    right = rng.normal(size=(size, 3)) * np.exp2(rng.integers(-90, 90, (size, 3)))
    product = EXACT.matmul(EXACT.matrix(left), EXACT.array(right))
    for i, row in enumerate(EXACT.public(product)):
        for j, value in enumerate(row):
            pairs = zip(left[i].tolist(), right[:, j].tolist(), strict=True)
            assert value == sum(Fraction(a) * Fraction(b) for a, b in pairs)
