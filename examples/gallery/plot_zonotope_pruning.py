"""
Pruning with zonotopes
======================

With one hidden layer, F and G are products of binomials, one for each neuron, and their Newton
polytopes are zonotopes: sums of segments ``|v|·(a, b)``, one for each neuron, where v is its output
weight and (a, b) are its input weights and bias. Neurons whose segments are short change the
zonotope, and so the function, little. Here neurons are merged instead of dropped: segments that
point the same way are clustered, and a cluster becomes one neuron, whose segment is their sum.
The largest difference on the box is exact.
"""

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc

rng = np.random.default_rng(4)
neurons = 40
angles = rng.choice(np.linspace(0, 2 * np.pi, 9), neurons) + 0.15 * rng.normal(size=neurons)
inner = np.c_[np.cos(angles), np.sin(angles), 0.3 * rng.normal(size=neurons)]
outer = rng.normal(size=neurons) / neurons
box = tc.Box(-1, 1)


def network(segments, signs):
    """A network with these segments: relu(segment · (x, 1)), added or subtracted."""
    return tc.Network.mlp([segments[:, :2], signs[None]], [segments[:, 2], None])


def merge(segments, signs, count):
    """The two segments of one sign that point most nearly the same way become their sum."""
    segments, signs = segments.copy(), signs.copy()
    while len(segments) > count:
        length = np.linalg.norm(segments, axis=1)
        change = np.minimum.outer(length, length) * (
            1 - (segments @ segments.T) / np.outer(length, length)
        )
        change[signs[:, None] != signs] = np.inf
        np.fill_diagonal(change, np.inf)
        i, j = np.unravel_index(change.argmin(), change.shape)
        segments[i] += segments[j]
        segments, signs = np.delete(segments, j, axis=0), np.delete(signs, j)
    return segments, signs


segments, signs = np.abs(outer)[:, None] * inner, np.sign(outer)
whole = network(segments, signs)
counts = [32, 24, 16, 12, 8, 6]
merged, dropped, regions = [], [], []
for count in counts:
    small = network(*merge(segments, signs, count))
    longest = np.argsort(-np.linalg.norm(segments, axis=1))[:count]
    merged.append(tc.compare(whole, small, box).largest)
    dropped.append(tc.compare(whole, network(segments[longest], signs[longest]), box).largest)
    regions.append(tc.count_regions(small, box))

figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
few, few_signs = merge(segments, signs, 6)
for sign, color, name in ((1, "C0", "F"), (-1, "C3", "G")):
    for part, style in ((segments[signs == sign], ":"), (few[few_signs == sign], "-")):
        ends = np.concatenate([part, -part])[:, :2]
        steps = ends[np.argsort(np.arctan2(ends[:, 1], ends[:, 0]))]
        outline = np.concatenate([[[0, 0]], np.cumsum(steps, axis=0)])
        outline -= outline.mean(axis=0)
        label = f"{name}, {len(part)} segments"
        panels[0].plot(*outline.T, style, color=color, label=label)
panels[0].set_aspect("equal")
panels[0].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.08), ncols=2)
panels[0].set_title("Newton polygons before (dotted) and after")
panels[1].plot(counts, merged, marker="o", label="segments merged")
panels[1].plot(counts, dropped, marker="x", linestyle="--", label="short segments dropped")
panels[1].set(xlabel="neurons left, of 40", ylabel="largest difference on the box, exact")
panels[1].set_ylim(0)
panels[1].invert_xaxis()
panels[1].legend(frameon=False)
for x, y, n in zip(counts, merged, regions, strict=True):
    panels[1].annotate(
        f"{n}", (x, y), xytext=(0, 7), textcoords="offset points", fontsize=8, ha="center"
    )
panels[1].set_title(f"regions left, of {tc.count_regions(whole, box)}, next to the curve")
