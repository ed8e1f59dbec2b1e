"""The halfspaces engine: cells by their inequalities and linear programs; any number of inputs.

`task` describes a search. Kernels: `_kernel` is the search, on the nodes of `_tree`; `_lp` solves
linear programs, `_proof` has the float proofs (docs/halfspaces-proof.md), `_flat` all arrays;
`_exact` decides with rationals where floats prove nothing.
"""
