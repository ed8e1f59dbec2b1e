"""Losses of many networks at once, with their gradients."""

from __future__ import annotations

from typing import Literal

from tropicell.errors import InvalidInputError
from tropicell.lab.stack import Tensor, torch

LossName = Literal["cross-entropy", "mse"]


def loss(name: LossName, outputs: Tensor, targets: Tensor) -> Tensor:
    """The sum over the examples of each network's loss.

    Parameters
    ----------
    name : {"cross-entropy", "mse"}
    outputs : Tensor, shape (networks, outputs, examples)
    targets : Tensor
        Classes (1 or networks, examples), or numbers (1 or networks, outputs, examples).

    Returns
    -------
    Tensor, shape (networks,)
        For "mse" the mean over the outputs.

    Examples
    --------
    >>> loss("mse", torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 0.0]]])).tolist()
    [10.0]
    """
    if name == "mse":
        return (outputs - targets).square().mean(dim=1).sum(dim=1)
    wanted = targets.expand(outputs.shape[0], -1).unsqueeze(1)
    chosen = outputs.gather(1, wanted).squeeze(1)
    return (outputs.logsumexp(dim=1) - chosen).sum(dim=1)


def slope(name: LossName, outputs: Tensor, targets: Tensor) -> Tensor:
    """The gradient of each network's mean loss with respect to its outputs.

    Examples
    --------
    >>> slope("mse", torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 0.0]]])).tolist()
    [[[1.0, 3.0]]]
    """
    examples = outputs.shape[2]
    if name == "mse":
        return torch.sub(outputs, targets).mul_(2 / (outputs.shape[1] * examples))
    wanted = targets.expand(outputs.shape[0], -1).unsqueeze(1)
    gradient = torch.softmax(outputs, dim=1)
    gradient.scatter_add_(1, wanted, gradient.new_full((), -1.0).expand(wanted.shape))
    return gradient.div_(examples)


def check_loss(name: str) -> None:
    """Refuse an unknown name."""
    if name not in ("cross-entropy", "mse"):
        raise InvalidInputError(f"loss {name!r}: expected 'cross-entropy' or 'mse'")
