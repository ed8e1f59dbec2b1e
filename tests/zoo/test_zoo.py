"""Both engines on the zoo: the right number of regions, the same regions, in exact arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tropicell import InvalidInputError, Regions, count_regions, enumerate_regions
from tropicell.network.families import cones, folding, general_position, parallel
from tropicell.verify_certificate import verify
from zoo.specimens import ZOO, Specimen

#: The cells engine keeps corners; with more inputs that is hopeless.
MOST_INPUTS_OF_CELLS = 5
#: Where the oracle is quick enough to compare patterns, not only counts.
MOST_REGIONS_OF_ORACLE = 60
#: Right, but minutes: the exact linear programs of this engine keep every line.
SLOW = {("thousand_parallel_lines", "halfspaces")}
#: Proved when the table of docs/zoo.md is made.
SLOW_TO_PROVE = {"thousand_parallel_lines", "shallow_8d"}


def engines(animal: Specimen) -> list[str]:
    few = animal.known.network.n_inputs <= MOST_INPUTS_OF_CELLS
    names = ["cells", "halfspaces"] if few else ["halfspaces"]
    return [name for name in names if (animal.name, name) not in SLOW]


def patterns(regions: Regions) -> set[bytes]:
    found = {row.tobytes() for row in regions.patterns}
    assert len(found) == len(regions)
    return found


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_engines(animal: Specimen) -> None:
    known = animal.known
    assert animal.hard
    sets = []
    for engine in engines(animal):
        regions = enumerate_regions(known.network, known.domain, engine=engine)
        assert regions.complete
        assert len(regions) == known.count, engine
        sets.append(patterns(regions))
    assert sets[0] == sets[-1]
    if known.count <= MOST_REGIONS_OF_ORACLE:
        oracle = enumerate_regions(known.network, known.domain, engine="traverse")
        assert patterns(oracle) == sets[0]


@pytest.mark.parametrize(
    "animal",
    [animal for animal in ZOO if animal.name not in SLOW_TO_PROVE],
    ids=lambda animal: animal.name,
)
def test_certificates(animal: Specimen, tmp_path: Path) -> None:
    """Proved from the weights, and the proof holds for who checks it alone."""
    known = animal.known
    regions = enumerate_regions(known.network, known.domain)
    certificate = regions.certify()
    assert certificate.ok, certificate.failures
    assert certificate.complete
    certificate.save(tmp_path / "proof.npz")
    assert verify(str(tmp_path / "proof.npz"))["regions"] == known.count


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
def test_counting_without_storing(engine: str) -> None:
    """Counts take another path through the kernels; the degenerate ones are the hard ones."""
    names = ("duplicate_neurons", "small_whole_numbers", "huge_weights", "folded_plane")
    for animal in ZOO:
        if animal.name in names:
            known = animal.known
            assert count_regions(known.network, known.domain, engine=engine) == known.count


@pytest.mark.parametrize("folds", [[2], [3], [2, 3], [3, 2], [3, 3], [4, 2, 3], [1, 2]])
@pytest.mark.parametrize("whole", [False, True])
def test_folding(folds: list[int], whole: bool) -> None:
    """The formula against the oracle, on the cube and on all of the line."""
    known = folding(folds, whole=whole)
    oracle = enumerate_regions(known.network, known.domain, engine="traverse")
    assert len(oracle) == known.count


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_formulas(inputs: int) -> None:
    for neurons in range(1, 6):
        for known in (
            general_position(inputs, neurons),
            cones(inputs, neurons),
            cones(inputs, neurons, np.arange(inputs)),
            parallel(neurons, inputs),
        ):
            assert len(enumerate_regions(known.network, engine="traverse")) == known.count


def test_families_refuse_what_they_cannot_do() -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        folding([2, 0])
    with pytest.raises(InvalidInputError, match="float64 can't hold"):
        general_position(10, 1000)
