"""ONNX files, node by node.

`importer`   the way in: reads the file, walks through the graph, compares
`handlers`   one function for each operator
`node`       a node as its handler sees it, and the registry of handlers
"""

from tropicell.importers.onnx.importer import from_onnx

__all__ = ["from_onnx"]
