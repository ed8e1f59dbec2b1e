"""The cells engine: convex cells by their corners and rays, cut depth first; up to about 5 inputs.

`task` describes a search, `worker` does units of it. Kernels: `_plane*` cut polygons, `_cone*` cut
cones in any dimension, `_sharp` decides with twice the digits, `_exact_*` with integers.
"""
