"""One self-contained HTML page to look at the regions of a network with two or three inputs.

`page`    the page, from its HTML, CSS and scripts (sources in the folder ``web``)
`shapes`  regions as polygons and polyhedra
`data`    regions as bytes that the page reads
`mesh`    triangle meshes for the view in space

May import `plotting` and what is below it.
"""

from tropicell.explorer.mesh import Mesh
from tropicell.explorer.page import Inline, explore, page

__all__ = ["Inline", "Mesh", "explore", "page"]
