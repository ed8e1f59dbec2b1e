"""The network of the paper's walkthrough, with the bias that fits and with the printed one."""

from __future__ import annotations

from collections.abc import Sequence

from tropicell.network.network import Network

#: Weights of the two hidden layers, and the bias of the first.
WEIGHTS = [[[-4.0, 1.0], [-4.0, -1.0]], [[-8.0, 3.0], [-21 / 4, 19 / 4]]]
BIAS = [2.0, 3.0]

#: The bias of layer 2: as printed, and as all other printed numbers want it.
PRINTED, MENDED = [-4.0, 1.0], [3.0, -11 / 4]


def walkthrough(
    *,
    printed: bool = False,
    output: Sequence[float] = (1.0, -1.0),
    skips: Sequence[tuple[int, int]] = (),
) -> Network:
    """The network of the walkthrough.

    Parameters
    ----------
    printed : bool
        Whether layer 2 has the printed bias, with which the region of the walkthrough is empty.
    output : sequence of float
        Weights of the output, about which the paper says nothing.
    skips : sequence of (k, ℓ)
        The paper's has none.

    Examples
    --------
    >>> from tropicell import find_region
    >>> find_region(walkthrough(), "11|10").vertices.tolist()[0]
    [Fraction(51, 178), Fraction(14, 89)]
    >>> find_region(walkthrough(printed=True), "11|10").layer
    2
    """
    biases = [BIAS, PRINTED if printed else MENDED, [0.0]]
    return Network.mlp([*WEIGHTS, [list(output)]], biases, skips=skips)
