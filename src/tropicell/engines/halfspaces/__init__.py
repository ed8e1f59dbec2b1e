"""The halfspaces engine: cells by their inequalities and linear programs; any number of inputs.

`task`      a search, and the worker that does units of it
`saved`     nodes that wait, in files: checked before a kernel sees them
`_units`    what a worker calls: a kernel that does a whole unit
`_kernel`   the search itself, layer by layer
`_tree`     its nodes, the points and Farkas vectors that are known of them, bit masks
`_lp`       the simplex method, which only makes suggestions
`_proof`    the float proofs (docs/halfspaces-proof.md)
`_finer`    linear programs with twice the digits and modulo primes, where they do not suffice
`_exact`    linear programs in rationals, where nothing else does
`_search`   the driver: buffers, batches, exact decisions
`_flat`     all arrays: the network's, and the search's
"""
