"""Exact answers from regions: neighbours, volumes, extrema, integrals, comparisons, data.

`graph`, `measure`, `comparison` and `data_regions` answer; `tracking` and `callbacks` follow a
network while it is trained. May import `search` and what is below it.
"""
