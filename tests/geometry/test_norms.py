"""Bounds on norms are never too small, and close."""

import numpy as np
import pytest
import scipy.sparse as sp

from tropicell.geometry.norms import frobenius_norm, largest_row, spectral_norm


@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (40, 40), (70, 20), (700, 650)])
def test_norms_are_bounded_from_above(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    normal, zero = rng.normal(size=shape), np.zeros(shape)
    for matrix in (normal, np.ones(shape), 1e50 * np.eye(*shape), zero, sp.csr_array(normal)):
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        norm, length = np.linalg.norm(dense, 2), np.linalg.norm(dense)
        sharp = 1.1 if min(shape) <= 600 else 100
        assert norm * (1 - 1e-12) <= spectral_norm(matrix) <= norm * sharp
        assert length * (1 - 1e-12) <= frobenius_norm(matrix) <= length * 1.001
        row = np.linalg.norm(dense, axis=1).max()
        assert row * (1 - 1e-12) <= largest_row(matrix) <= row * 1.001
