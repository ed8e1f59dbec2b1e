"""Prediction by regions: a cache by pattern (Algorithm 3), a tree of cuts, exported code.

`cached`          `CachedPredictor`: fit, predict, files, scikit-learn's conventions
`cache`           its cache of maps by pattern
`cached_module`   the same as a PyTorch module
`locator`         `RegionLocator` and `LastRegionPredictor`: regions without the network
`cut_tree`        the tree of cuts that a locator walks down
`export`          C99 and ONNX
`_cache_kernels`  the cache's hash table
`_cut_tree`       the tree, while it is made
`_locating`       walks down the tree

May import `analysis` and what is below it.
"""
