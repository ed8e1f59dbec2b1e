"""
The graph of regions
====================

Regions are nodes; two of them are joined if they share a facet. ``to_networkx`` gives the
graph, so paths, centres and distances are one call away.
"""

import itertools

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import tropicell as tc
from tropicell import plotting

rng = np.random.default_rng(2)
network = tc.Network.mlp(
    [rng.normal(size=(6, 2)), rng.normal(size=(5, 6)), rng.normal(size=(1, 5))],
    [rng.normal(size=6) * 0.7, rng.normal(size=5) * 0.7, [0.0]],
)
regions = tc.enumerate_regions(network, tc.Box(-2, 2))
graph = regions.to_networkx()

start, end = regions.locate([[-1.9, -1.9], [1.9, 1.9]])
path = nx.shortest_path(graph, start, end)
places = dict(enumerate(regions.witnesses.astype(float)))

figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
plotting.plot_regions(regions, axes, color="neighbours", colorbar=False)
nx.draw_networkx_edges(graph, places, ax=axes, edge_color="black", alpha=0.5)
nx.draw_networkx_nodes(graph, places, ax=axes, node_size=20, node_color="black")
edges = list(itertools.pairwise(path))
nx.draw_networkx_edges(graph, places, edgelist=edges, ax=axes, edge_color="red", width=3)
axes.set_title(
    f"{len(regions)} regions, {graph.number_of_edges()} facets; a path over {len(edges)}"
)
