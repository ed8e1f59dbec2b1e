"""PyTorch modules, operator by operator.

`importer`   the way in: exports the module, reads its graph, compares
`graph`      the calls of an exported module, and how they become a network
`handlers`   one function for each operator
`registry`   what handlers share, and the registry of handlers
`pt2`        exported modules in files, read without running any code
"""

from tropicell.importers.torch.importer import from_pt2, from_torch

__all__ = ["from_pt2", "from_torch"]
