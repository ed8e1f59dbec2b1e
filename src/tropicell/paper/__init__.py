"""The paper, line by line: its recurrences for F, G and H, and its three algorithms.

`recurrences`   F, G and H layer by layer, and the network as a tropical rational map
`algorithm1`    `FindLinearRegion`: the region of a pattern, or "empty"
`algorithm2`    `Traverse`: all regions, in rationals; the oracle that engines are tested against
`algorithm3`    `Predict`: the affine maps of regions, cached

May import `regions` and what is below it.
"""

from tropicell.paper.algorithm1 import find_region
from tropicell.paper.recurrences import TropicalRationalMap, recurrences

__all__ = ["TropicalRationalMap", "find_region", "recurrences"]
