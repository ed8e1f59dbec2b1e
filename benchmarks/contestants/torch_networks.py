"""The networks of tasks as modules of torch, for the contestants that want these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn


def sequential(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]) -> nn.Sequential:
    """Linear layers in float64 with ReLUs between them."""
    layers: list[nn.Module] = []
    for weight, bias in zip(weights, biases, strict=True):
        linear = nn.Linear(weight.shape[1], weight.shape[0]).double()
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight))
            linear.bias.copy_(torch.from_numpy(bias))
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])
