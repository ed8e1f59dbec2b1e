"""Proofs that an enumeration is right and complete, in exact arithmetic, and their files.

`prover` proves, `files` writes what `tropicell.verify_certificate` checks, which stands alone.
Kernels that begin with an underscore decide most of it in float64, with bounds of their own: they
share nothing with the engines but the rounding constants. May import `search` and what is below it.
"""

from tropicell.certificate.prover import Certificate, RegionProofs

__all__ = ["Certificate", "RegionProofs"]
