"""
A student that imitates a larger teacher
========================================

In larger networks hardly any two inputs lie in one region, so a cache of regions is of little use;
the paper suggests knowledge distillation. Here a student with less than a third of the neurons
learns the outputs of a teacher. The titles say how many regions each has in the box, how many new
points lie in a region that training points visited, and how well the function is learnt; next to
them is a network of the student's size that learns from the data alone: compare the last two to see
whether it is the teacher that makes a cache useful, or the size.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import torch

import tropicell as tc
from tropicell import plotting

torch.manual_seed(0)
box = tc.Box(-3, 3)
x = torch.rand(1000, 2, generator=torch.Generator().manual_seed(1)) * 6 - 3
target = torch.sin(2 * x[:, :1]) * torch.cos(1.5 * x[:, 1:])


def learn(width, depth, goal, steps):
    """A network that learnt to give `goal` at the points x."""
    sizes = [2] + [width] * depth
    layers = [
        part
        for m, n in itertools.pairwise(sizes)
        for part in (torch.nn.Linear(m, n), torch.nn.ReLU())
    ]
    module = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))
    adam = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(steps):
        adam.zero_grad()
        torch.nn.functional.mse_loss(module(x), goal).backward()
        adam.step()
    return module


teacher = learn(24, 3, target, 250)
with torch.no_grad():
    answers = teacher(x)
student = learn(10, 2, answers, 1000)
alone = learn(10, 2, target, 1000)

figure, panels = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
new = np.random.default_rng(2).uniform(-3, 3, (2000, 2))
truth = torch.from_numpy(np.sin(2 * new[:, :1]) * np.cos(1.5 * new[:, 1:])).float()
names = ("teacher, 3 × 24", "student of the teacher, 2 × 10", "the same, from the data alone")
for ax, name, module in zip(panels, names, (teacher, student, alone), strict=True):
    network = tc.from_torch(module, (1, 2))
    regions = tc.enumerate_regions(network, box)
    plotting.plot_regions(regions, ax, color="value", colorbar=False)
    cached = tc.CachedPredictor(network).fit(x.numpy()).contains(new).mean()
    error = float(((torch.from_numpy(network(new)).float() - truth) ** 2).mean() / truth.var())
    ax.set_title(
        f"{name}\n{len(regions):,} regions, {cached:.0%} of new points cached\n"
        f"error {error:.0%} of the variance",
        fontsize=10,
    )
