"""What a search found: all regions as columns, one region as a view of a row, and both in files.

`regions` and `region` are the two public classes, `columns` packed patterns and ragged arrays,
`batch` what engines hand over, `files` one file, `stored` folders of Parquet files, `convert` other
libraries' forms. May import `network` and what is below it; only `comfort` looks upward.
"""

from tropicell.regions.regions import Regions

__all__ = ["Regions"]
