"""What a search found: all regions as columns, one region as a view of a row, and both in files.

`regions`         `Regions`: columns, and what one asks of them
`region`          `Region`: one region, worked out when asked
`columns`         packed patterns, ragged arrays, and the batches that engines hand over
`exact_columns`   columns that the engine did not give, worked out in rationals
`output_maps`     the affine maps of many patterns at once
`_pattern_maps`   the same as a kernel
`given`           whatever is given where regions are expected
`files`           regions in one `.npz` file
`stored`          regions in a folder of Parquet files
`convert`         regions for networkx, pandas, Arrow, shapely and notebooks
`comfort`         calls that look upward for the user's comfort, such as `Regions.certify`

May import `network` and what is below it; only `comfort` looks upward.
"""

from tropicell.regions.regions import Regions, _known_neighbours  # noqa: F401 - in old pickles

__all__ = ["Regions"]
