"""The halfspaces engine: cells by their inequalities and linear programs; any number of inputs.

`task` describes a search. Kernels: `_kernel` is the search, `_lp` the linear programs, `_proof` and
`_certificate` the float proofs (docs/halfspaces-proof.md), `_exact` decides with rationals.
"""
