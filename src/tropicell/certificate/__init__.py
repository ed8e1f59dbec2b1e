"""Proofs that an enumeration is right and complete, in exact arithmetic, and their files.

`prover` proves, `files` writes what `tropicell.verify_certificate` checks, which stands alone.

A proof starts from the weights. Of what an engine says, patterns and witnesses are proved, and
facets and corners are hints. `_filter` decides most signs in float64: the kernels with an
underscore lay out the network (`_flat`), make its rows and bound their errors by themselves. They
have nothing from the engines, nor from `network.flat`, that engines read; what they share is the
constants of `geometry.rounding`, and a hash table to look up patterns (`_runtime`). The rest is
decided in integers by `_exact`; rows (`network.maps`) and polyhedra (`geometry.polyhedra`) are
those that engines, too, use where floats do not suffice. Only `verify_certificate` shares nothing
at all. May import `search` and what is below it.
"""

from tropicell.certificate.prover import Certificate, RegionProofs

__all__ = ["Certificate", "RegionProofs"]
