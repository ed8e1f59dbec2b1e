"""The paper, line by line: its recurrences for F, G and H, and its three algorithms.

`recurrences`   F, G and H layer by layer, and the network as a tropical rational map
`example`       the network of its walkthrough
`polynomials`   tropical polynomials, fractions of them, their cells and dual subdivisions
`common_factors` what two of them share
`expansion`     F, G and H of a network's neurons and outputs as such polynomials
`notation`      tropical polynomials as text, LaTeX, and input of other programs
`algorithm1`    `FindLinearRegion`: the region of a pattern, or "empty"
`algorithm2`    `Traverse`: all regions, in rationals; the oracle that engines are tested against
`literal`       Algorithm 2 as it is printed, and what each idea since then gains
`algorithm3`    `Predict`: the affine maps of regions, cached

May import `regions` and what is below it.
"""

from tropicell.paper.algorithm1 import find_region
from tropicell.paper.recurrences import TropicalRationalMap, recurrences

__all__ = ["TropicalRationalMap", "find_region", "recurrences"]
