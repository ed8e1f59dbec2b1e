"""PyTorch modules: `importer` is the way in, `graph` and `walk` follow what a module does.

`activations`, `affine` and `shapes` hold one handler for each operator; `pt2` reads exported files.
"""
