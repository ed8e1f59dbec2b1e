"""The cells engine: convex cells by their corners and rays, cut depth first; up to about 5 inputs.

`task`           a search: its network as flat arrays, and its first cells
`worker`         does units of it; what a kernel leaves in doubt goes through exact arithmetic
`focus`          the neurons that can change on a unit's cells, where these are few
`where`          the set that regions have to meet, if any
`saved`          cells that wait, in files: checked before a kernel sees them
`_units`         what a worker calls: a kernel that does a whole unit
`_search`        the loop in it that takes cells from a stack and cuts them
`_plane`         how polygons are cut
`_focus`         the maps of layers for a focus
`_narrow`        fewer neurons inside of single cells
`_sparse_rows`   the rows of all neurons, which a focus is made of
`_cone`          how cells in other dimensions are cut
`_rays`          their rays: corners from facets, and what is known of them
`_cone_count`    how many regions a last layer makes of one, without cutting it
`_cone_regions`  what these are, all at once, where they are stored
`_volume`        how large they are
`_where`         cells that a wanted set surely does not meet
`_bounds`        the proved bounds on rounding errors
`_signs`         signs that these leave in doubt: twice the digits, then modulo primes
`_exact_cells`   what is still in doubt, decided with integers
`_state`         what is where in the kernels' arrays
`_buffers`       these arrays, made
`_result`        finished cells as columns of regions
`_many`          many small networks, counted in one call
"""
