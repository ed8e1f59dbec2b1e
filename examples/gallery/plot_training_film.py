"""
A training film
===============

A tracker counts regions while a network learns, and keeps the networks. At the end it draws the
counts, and `explore` shows the whole training as a film, to pause, zoom and search.
"""

import matplotlib.pyplot as plt
import torch

import tropicell as tc
from tropicell import plotting

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(2, 16),
    torch.nn.ReLU(),
    torch.nn.Linear(16, 16),
    torch.nn.ReLU(),
    torch.nn.Linear(16, 1),
)
points = torch.rand(1000, 2) * 2 - 1
targets = torch.sinc(2 * points.norm(dim=1, keepdim=True))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

tracker = tc.RegionTracker(model, tc.Box(-1, 1), example_input=points, every=25, max_share=1)
for _ in range(301):
    loss = torch.nn.functional.mse_loss(model(points), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tracker.step(loss=loss.item())

tracker.plot()

# %%
# The film: press ▶, or move the slider. A region that you click stays chosen, and the panel (☰)
# tells what becomes of it. ``tracker.explore("film.html")`` writes it as one file that needs
# nothing but itself.

# sphinx_gallery_capture_repr_block = ("_repr_html_",)
tracker.explore(height=600, settings={"colour": "value", "panel": False})

# %%
# Four pictures of it, for paper. ``tracker.film("film.gif")`` writes all of them as an animation.

regions = tracker.regions()
figure, panels = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
for axes, index in zip(panels.flat, (0, 2, 5, len(regions) - 1), strict=True):
    plotting.plot_regions(regions[index], axes, color="value", colorbar=False)
    axes.set_title(f"step {tracker.steps[index]}: {len(regions[index])} regions")
