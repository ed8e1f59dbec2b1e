"""The one canonical form of a network, and the domains in which regions are looked for.

`network`          `Network`: layers, skips, output; patterns and values at points
`layers`           `Layer` and `Affine`, and networks from lists of matrices
`activations`      piecewise-linear functions: breakpoints, slopes, intercepts
`checks`           what makes no network, refused with its place
`patterns`         patterns in all their forms: text, the paper's v, rows of pieces
`maps`             the affine maps of one pattern, in float64 and in rationals
`domains`          `WholeSpace`, `Box`, `Polytope`, `Slice`
`output_sets`      sets of inputs by the outputs there: levels, sublevels, decisions
`inequalities`     the inequalities of a region, and the numbers of all boundaries (lines)
`integer_maps`     maps and values in integers: exact, and fast for thousands of patterns or points
`flat`             the one flat form of a network that kernels read
`_layer_maps`      the affine maps of layers in kernels, with the bounds on their rounding
`_plain_maps`      the same in float64 alone, where bounds are known before the search
`_residues`        the same modulo primes: exactly
`_point_patterns`  the patterns of points in kernels
`quotient`         fewer inputs with the same regions
`shadow`           what a network sees of a box
`comfort`          calls that look upward: `Network.tropical`
`families`         networks whose number of regions is known
`count_bounds`     bounds on the number of regions, without a search
`export`           a network as a torch module or an ONNX model
`fingerprint`      which network a file belongs to
`layout`           a network as named arrays, for files
`diagram`          a network as text

May import `geometry` and what is below it.
"""

from tropicell.network.network import Network

__all__ = ["Network"]
