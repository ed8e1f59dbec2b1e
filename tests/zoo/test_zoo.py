"""Both engines on the zoo: the right number of regions, the same regions, in exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tropicell import Network, Regions, count_regions, enumerate_regions
from tropicell.domains import Domain
from zoo.specimens import ZOO, Specimen

#: The cells engine keeps corners; with more inputs that is hopeless.
MOST_INPUTS_OF_CELLS = 5
#: Where the oracle is quick enough to compare patterns, not only counts.
MOST_REGIONS_OF_ORACLE = 60


def engines(network: Network) -> list[str]:
    few = network.n_inputs <= MOST_INPUTS_OF_CELLS
    return ["cells", "halfspaces"] if few else ["halfspaces"]


def patterns(regions: Regions) -> set[bytes]:
    found = {row.tobytes() for row in regions.patterns}
    assert len(found) == len(regions)
    return found


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_engines(animal: Specimen) -> None:
    known = animal.known
    assert animal.hard
    sets = []
    for engine in engines(known.network):
        regions = enumerate_regions(known.network, known.domain, engine=engine)
        assert regions.complete
        assert len(regions) == known.count, engine
        sets.append(patterns(regions))
        assert count_regions(known.network, known.domain, engine=engine) == known.count
    assert sets[0] == sets[-1]
    if known.count <= MOST_REGIONS_OF_ORACLE:
        oracle = enumerate_regions(known.network, known.domain, engine="traverse")
        assert patterns(oracle) == sets[0]
