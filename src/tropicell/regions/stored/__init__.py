"""Regions in a folder of Parquet files, worked on batch by batch.

`stored_regions` is the public class, `reader` reads parts, `tables` their columns, `manifest` what
the folder holds, `places` local and remote folders.
"""
