"""Exact answers from regions: neighbours, volumes, extrema, integrals, comparisons, data.

`graph`          neighbours and merged regions
`complex`        all faces of all regions, and what is cut out of them
`chosen`         what callers choose of a complex, checked
`cut_functions`  what a complex is cut by, and rows of faces in rationals
`exact_vertices` vertices of complexes in rationals, all of them in one go
`faces`          how these faces are found
`meshes`         polygons with shared vertices, and files of them
`left_out`       facets behind which a search has left out what is there
`cuts`           level sets, sublevel sets and other parts of a complex
`graph_statistics`  degrees, distances and spectrum of the graph of neighbours
`signs`          on which side of each boundary a face lies
`topology`       components, Betti numbers, homology, persistence
`measure`        volumes, Lipschitz constants, extrema, integrals, decision boundaries
`integrals`      integrals over cells of all layers but the last one
`best_regions`   largest values of outputs on regions without corners
`comparison`     the difference of two networks
`data_regions`   the regions that hold data, and distances to them
`paths`          the regions that segments and polylines cross
`attribution`    integrated gradients, from the regions of a path
`nearest`        the nearest boundary of points
`around`         the regions around a point, nearest first
`local_complexity`  regions and boundaries around every point of a data set
`robustness`     the distance to the decision boundary
`boundary_certificate`  proofs of it, and what checks them in rationals
`tracking`       regions of a network while it is trained
`callbacks`      the same for Lightning and Keras
`residues`       whether maps are equal, modulo primes
`map_bounds`     maps in float64 with bounds on their errors
`growth`         whether outputs are bounded where regions are not
`level_sets`     where two outputs are equal
`_paths`         walks along segments, as kernels
`_combinations`  sums of pre-activations, backwards through the layers
`_relaxations`   proved linear bounds in a ball
`_flips`         neighbours by flipping neurons, as kernels
`_faces`         facets, corners and faces of regions, as kernels
`_sign_vectors`  boundaries through vertices, as kernels
`_level_rows`    one function of the outputs on many regions, as kernels
`_reduction`     pairs of cells that homology does not see, as kernels
`_level_signs`   where two outputs are equal, as kernels
`_hamming`       distances between patterns, as kernels
`hoffman`        Hoffman constants and effective radii of tropical functions
`_moments`       moments of polytopes, as kernels
`_solids`        the same in 3-D and 4-D, polygon by polygon
`_group_bounds`  bounds on outputs on whole groups of regions
`_programs`      bounds on outputs by small linear programs, as kernels
`_vertices`      corners of regions from one another, as kernels
`_cones`         volumes from corners and edges alone, as kernels
`_bends`         integrals of the last layer's bends, as kernels

May import `search` and what is below it.
"""
