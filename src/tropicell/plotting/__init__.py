"""Pictures with matplotlib. Every function takes Axes (or makes them) and returns them.

`plane`     regions, boundaries and decision boundaries of networks with two inputs
`graphs`    curves and surfaces
`meshes`    meshes in space
`panels`    several pictures together: the walkthrough, slices
`tropical`  tropical polynomials, their hypersurfaces and dual subdivisions
`frame`     unbounded regions cut off at the frame
`colors`    colours for regions
`shading`   values that change within a region
`_coloring` their choice, in a kernel

May import `predict` and what is below it.
"""

from tropicell.plotting.graphs import plot_function, plot_surface
from tropicell.plotting.meshes import plot_mesh
from tropicell.plotting.panels import plot_slices, plot_walkthrough
from tropicell.plotting.plane import (
    plot_boundaries,
    plot_decision_boundary,
    plot_points,
    plot_regions,
)
from tropicell.plotting.tropical import plot_tropical

__all__ = [
    "plot_boundaries",
    "plot_decision_boundary",
    "plot_function",
    "plot_mesh",
    "plot_points",
    "plot_regions",
    "plot_slices",
    "plot_surface",
    "plot_tropical",
    "plot_walkthrough",
]
