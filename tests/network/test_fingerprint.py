"""Fingerprints: equal for the same function of the same numbers, different otherwise."""

import numpy as np
import pytest
import scipy.sparse as sp

from children import run_python
from tropicell import Affine, Layer, Network, Slice

WEIGHTS = [np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[1.0, 1.0]])]


def network(matrix=WEIGHTS[0], *, name="", activation="relu", bias=(0.0, 0.0)):
    return Network(2, [Layer(Affine({0: matrix}, bias), activation, name)], Affine({1: WEIGHTS[1]}))


def test_names_storage_and_signs_of_zero_do_not_count():
    same = [
        network(name="first"),
        network(sp.csr_array(WEIGHTS[0])),
        network(bias=[-0.0, 0.0]),
        Network.mlp(WEIGHTS),
    ]
    assert {n.fingerprint for n in same} == {network().fingerprint}


@pytest.mark.parametrize(
    "other",
    [
        network(np.nextafter(WEIGHTS[0], 9.0)),
        network(bias=[0.0, 1.0]),
        network(activation="leaky_relu"),
        network().restrict(Slice([0.0, 0.0], [[1.0, 1.0]])),
        Network.mlp([*WEIGHTS, [[1.0]]]),
        Network(2, network().layers, Affine({0: [[0.0, 0.0]], 1: WEIGHTS[1]})),
    ],
)
def test_everything_else_counts(other):
    assert other.fingerprint != network().fingerprint


def test_the_same_in_another_process():
    code = (
        "from tropicell import Network;"
        "print(Network.mlp([[[1.0, 2.0], [0.0, -1.0]], [[1.0, 1.0]]]).fingerprint)"
    )
    assert run_python("-c", code).stdout.strip() == network().fingerprint
