"""Proofs that an enumeration is right and complete, in exact arithmetic, and their files.

`prover`     the proof as a whole
`files`      certificates as files, which `tropicell.verify_certificate` checks
`_rows`      the inequalities of regions in integers
`_exact`     proofs of single regions in integers
`_volumes`   volumes that add up
`_branches`  the tree of all patterns: a proof without facets
`_filter`    what float64 proves, with bounds of its own
`_flat`      the network as the filter's arrays
`_kernels`   rows, their errors, signs
`_plane`     polygons
`_vertices`  where d rows meet, with error bounds
`_cone`      polytopes in more dimensions
`_tree`      the cells of the tree
`_signs`     signs that float64 leaves in doubt: twice its digits, then modulo primes

A proof starts from the weights. Of what an engine says, patterns and witnesses are proved, and
facets and corners are hints. The filter lays out the network, makes its rows and bounds their
errors by itself. It has nothing from the engines, nor from `network.flat`, that engines read; what
it shares is the constants of `geometry.rounding`, bounds on norms (`geometry.norms`), sums and
products without error (`geometry._double`), arithmetic modulo primes (`network._residues`), and a
hash table to look up patterns (`_runtime`). The rest is decided in integers; rows (`network.maps`)
and polyhedra (`geometry.polyhedra`) are those that engines, too, use where floats do not suffice.
What checks certificates, `verify_certificate`, shares nothing at all.

May import `search` and what is below it.
"""

from tropicell.certificate._branches import TreeProofs
from tropicell.certificate.prover import Certificate, RegionProofs, certify

__all__ = ["Certificate", "RegionProofs", "TreeProofs", "certify"]
