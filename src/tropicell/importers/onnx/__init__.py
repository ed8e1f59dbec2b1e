"""ONNX files: `importer` is the way in, `file` reads them, `node` is one of their nodes.

`activations`, `affine` and `shapes` hold one handler for each operator.
"""
