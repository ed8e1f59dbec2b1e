"""Regions in a folder of Parquet files, worked on batch by batch.

`stored_regions`   `StoredRegions`, and rows of regions
`reader`           batches from the files, with filters
`tables`           columns as Arrow tables, and back
`manifest`         what the folder holds, with checksums; changed as a whole
`places`           folders on this machine and elsewhere
"""
