"""The cells engine: convex cells by their corners and rays, cut depth first; up to about 5 inputs.

- `task` describes a search, `worker` does units of it.
- `_units` is what a worker calls: a kernel that does a whole unit. `_search` is the loop in it that
  takes cells from a stack and cuts them; `_plane` knows how to cut polygons, `_cone` cells in other
  dimensions, `_volume` how large they are. `_many` counts many small networks in one call.
- `_state` says what is where in the kernels' arrays, and `_buffers` makes these arrays.
- `_bounds` are the proved bounds on rounding errors. What they leave in doubt, `_exact_cells`
  decides with integers.
- `_result` turns finished cells into columns of regions.
"""
