"""A `CachedPredictor` as a PyTorch module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from tropicell.predict.cached import CachedPredictor


class CachedModule(nn.Module):
    """A module that predicts with the affine maps of a network's regions.

    Inputs may have any number of dimensions in front, and any floating-point type and device: work
    is done in float64 on the CPU, and outputs have the inputs' type and device. Gradients flow to
    the inputs (on each region they are its matrix), not to the network's weights, which are fixed.

    Parameters
    ----------
    predictor : CachedPredictor
        Its cache is shared, not copied.

    Examples
    --------
    >>> from tropicell import CachedPredictor, Network
    >>> module = CachedPredictor(Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])).to_torch()
    >>> x = torch.tensor([[3.0], [-3.0]], requires_grad=True)
    >>> module(x).sum().backward()
    >>> x.grad.ravel().tolist()
    [1.0, -2.0]
    """

    def __init__(self, predictor: CachedPredictor) -> None:
        super().__init__()
        self.predictor = predictor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs at points along the last dimension."""
        flat = x.reshape(-1, x.shape[-1])
        values: torch.Tensor = _Cached.apply(flat, self.predictor)  # type: ignore[no-untyped-call]
        return values.reshape(*x.shape[:-1], -1)

    def extra_repr(self) -> str:
        """What printing the module shows."""
        return repr(self.predictor)


class _Cached(torch.autograd.Function):
    """Prediction with a derivative."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, predictor: CachedPredictor) -> torch.Tensor:
        ctx.predictor = predictor
        ctx.save_for_backward(x)
        return torch.from_numpy(predictor.predict(_numbers(x))).to(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        jacobian = ctx.predictor.jacobian(_numbers(x))
        product = np.einsum("po,poi->pi", _numbers(gradients[0]), jacobian)
        return torch.from_numpy(product).to(x), None


def _numbers(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    return tensor.detach().to(device="cpu", dtype=torch.float64).numpy()
