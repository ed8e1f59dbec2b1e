"""
The mesh of a neural distance function
======================================

A network with a skip connection learns the distance to a torus, negative inside. The surface where
it is 0 is made of polygons, one for each region that it crosses. `surface_mesh` finds these regions
alone. The polygons share their vertices, so the mesh is closed, and each of them lies exactly on
the surface.

Two networks that others have trained, on the shape of a rabbit, as meshes made in the same way:

.. image:: /images/bunny-mesh.png
   :alt: Meshes of a rabbit that a small and a large network have learnt
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import tropicell as tc


class DistanceNetwork(torch.nn.Module):
    """Like DeepSDF: in the middle, the point is given again."""

    def __init__(self, width=20):
        super().__init__()
        self.first = torch.nn.Linear(3, width)
        self.second = torch.nn.Linear(width, width)
        self.third = torch.nn.Linear(width + 3, width)
        self.last = torch.nn.Linear(width, 1)

    def forward(self, x):
        h = torch.relu(self.second(torch.relu(self.first(x))))
        return self.last(torch.relu(self.third(torch.cat([h, x], dim=1))))


torch.manual_seed(0)
model = DistanceNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, 1500)
for _ in range(1500):
    points = torch.rand(500, 3) * 2 - 1
    points[:, 2] *= 0.6
    around = (points[:, 0] ** 2 + points[:, 1] ** 2).sqrt() - 0.65
    distance = (around**2 + points[:, 2] ** 2).sqrt() - 0.25
    loss = (model(points).ravel() - distance).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()

network = tc.from_torch(model, torch.zeros(1, 3))
mesh = tc.surface_mesh(network, tc.Box(-1, 1))

figure = plt.figure(figsize=(9, 4.2), layout="constrained")
for k, how in enumerate(("height", "region")):
    axes = figure.add_subplot(1, 2, k + 1, projection="3d")
    tc.plotting.plot_mesh(mesh, axes, color=how, edges=how == "region")
    axes.view_init(elev=48, azim=-60)
closed = "watertight" if mesh.is_watertight else "not closed"
figure.suptitle(
    f"{len(mesh)} polygons, {closed}, Euler characteristic {mesh.euler_characteristic}; "
    f"volume {mesh.volume:.3f}, of the torus {2 * np.pi**2 * 0.65 * 0.25**2:.3f}"
)
