"""Cells as mathematics: numbers, exact polyhedra, their vertices and rays, float geometry.

`arithmetic`       float64 and exact rationals behind one interface
`rounding`         the constants of float64 that all proved bounds are made of
`convolutions`     convolutions as matrices that are never written out
`norms`            proved upper bounds on norms of matrices, and norms of numbers of any size
`_double`          sums and products of floats without error, for kernels
`polyhedra`        convex cells in integers: interior points, facets, redundant inequalities
`exact_programs`   linear programs and nearest points in rationals, with factors that prove them
`upper_hulls`      which of many affine functions are ever the largest
`generators`       their vertices, rays and lineality, and volumes
`containment`      which points satisfy linear inequalities, without rounding
`float_geometry`   the same questions in float64, with margins

Knows nothing of networks. May import `_runtime`.
"""
