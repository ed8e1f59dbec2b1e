"""Cells as mathematics: numbers, exact polyhedra, their vertices and rays, float geometry.

`arithmetic` is float64 and exact rationals behind one interface, `rounding` the constants of
float64 that proved bounds are made of, `polyhedra` exact cells, `generators` their vertices and
rays, `float_geometry` the same in float64. Knows nothing of networks: may import `_runtime` only.
"""
