"""Exact answers from regions: neighbours, volumes, extrema, integrals, comparisons, data.

`graph`          neighbours and merged regions
`measure`        volumes, Lipschitz constants, extrema, integrals, decision boundaries
`comparison`     the difference of two networks
`data_regions`   the regions that hold data, and distances to them
`tracking`       regions of a network while it is trained
`callbacks`      the same for Lightning and Keras
`residues`       whether maps are equal, modulo primes
`map_bounds`     maps in float64 with bounds on their errors
`growth`         whether outputs are bounded where regions are not
`level_sets`     where two outputs are equal
`_flips`         neighbours by flipping neurons, as kernels
`_hamming`       distances between patterns, as kernels
`_moments`       moments of polytopes, as kernels

May import `search` and what is below it.
"""
