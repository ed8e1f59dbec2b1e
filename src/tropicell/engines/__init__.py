"""The engines that find regions: the exact oracle, cells, half-spaces."""
