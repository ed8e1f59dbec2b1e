"""Examples to learn from: batches for many networks, each in its own order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tropicell.errors import InvalidInputError
from tropicell.lab.losses import LossName
from tropicell.lab.stack import Stack, Tensor, torch

#: Examples that are taken at once where no gradients are needed.
_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and targets.

    Attributes
    ----------
    inputs : Tensor, shape (examples, inputs)
        Numbers, or bytes that stand for x / 127.5 - 1.
    targets : Tensor
        Classes (1, examples), or numbers (1 or networks, outputs, examples).
    dtype : torch.dtype
        Of the batches.

    Examples
    --------
    >>> data = Examples.of([[0.0], [1.0]], [3, 4], (1, 5), 1, "cross-entropy")
    >>> len(data)
    2
    """

    inputs: Tensor
    targets: Tensor
    dtype: Any

    @classmethod
    def of(
        cls,
        inputs: ArrayLike,
        targets: ArrayLike,
        sizes: Sequence[int],
        networks: int,
        loss: LossName,
    ) -> Examples:
        """Check arrays and make tensors of them; see `tropicell.lab.training.Task`."""
        x, y = np.asarray(inputs), np.asarray(targets)
        if x.ndim != 2 or x.shape[1] != sizes[0] or not len(x):
            raise InvalidInputError(
                f"inputs of shape {x.shape}: expected (examples, {sizes[0]}), at least one example"
            )
        if loss == "cross-entropy":
            if y.shape != (len(x),) or y.dtype.kind not in "iu":
                raise InvalidInputError(
                    f"targets of shape {y.shape} and type {y.dtype}: expected {len(x)} classes, "
                    "whole numbers"
                )
            if y.min() < 0 or y.max() >= sizes[-1]:
                raise InvalidInputError(
                    f"classes from {y.min()} to {y.max()}: the networks have the outputs 0 to "
                    f"{sizes[-1] - 1}"
                )
            return cls(_tensor(x), torch.from_numpy(y.astype(np.int64))[None], torch.float64)
        shape = (len(x), sizes[-1])
        if y.shape not in (shape, (networks, *shape)):
            raise InvalidInputError(
                f"targets of shape {y.shape}: expected {shape}, or {(networks, *shape)} if every "
                "network has its own"
            )
        y = np.moveaxis(y.reshape(-1, *shape).astype(np.float64), 1, 2)
        for name, array in (("inputs", x), ("targets", y)):
            if not np.isfinite(array).all():
                raise InvalidInputError(f"the {name} hold numbers that are not finite; drop them")
        return cls(_tensor(x), _tensor(y), torch.float64)

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def on(self, stack: Stack, networks: range) -> Examples:
        """The examples of some networks, on their stack's device and in its precision."""
        numbers = stack.parameters
        inputs = self.inputs.to(numbers.device)
        targets = self.targets if len(self.targets) == 1 else self.targets[list(networks)]
        if inputs.is_floating_point():
            inputs = inputs.to(numbers.dtype)
        if targets.is_floating_point():
            targets = targets.to(numbers.dtype)
        return Examples(inputs, targets.to(numbers.device).contiguous(), numbers.dtype)

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """All examples in their order, a few at a time, the same for all networks."""
        for start in range(0, len(self), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield self._numbers(self.inputs[part]), self.targets[..., part]

    def batches(
        self, size: int | None, generators: Sequence[Any]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of one epoch.

        Parameters
        ----------
        size : int, optional
            Without it there is one batch, with all examples in their order.
        generators : sequence of torch.Generator
            One for each network, for its order.

        Notes
        -----
        A batch is overwritten by the next one.
        """
        if size is None:
            yield self._numbers(self.inputs), self.targets
            return
        count, networks = len(self), len(generators)
        orders = torch.stack([torch.randperm(count, generator=g) for g in generators])
        orders = orders.to(self.inputs.device)
        width = self.inputs.shape[1]
        # The same two tensors for all batches: fresh ones would cost as much as the products.
        raw = self.inputs.new_empty(networks * min(size, count), width)
        numbers = raw if raw.dtype == self.dtype else torch.empty_like(raw, dtype=self.dtype)
        for start in range(0, count, size):
            chosen = orders[:, start : start + size]
            used = chosen.numel()
            torch.index_select(self.inputs, 0, chosen.flatten(), out=raw[:used])
            batch = raw[:used] if numbers is raw else _scaled(raw[:used], numbers[:used])
            yield batch.view(networks, -1, width), self._chosen(chosen)

    def _chosen(self, chosen: Tensor) -> Tensor:
        if self.targets.ndim == 2:
            return self.targets[0][chosen]
        outputs = self.targets.shape[1]
        targets = self.targets.expand(len(chosen), -1, -1)
        return targets.gather(2, chosen.unsqueeze(1).expand(-1, outputs, -1))

    def _numbers(self, inputs: Tensor) -> Tensor:
        if inputs.dtype != torch.uint8:
            return inputs
        return _scaled(inputs, torch.empty_like(inputs, dtype=self.dtype))


def _scaled(inputs: Tensor, out: Tensor) -> Tensor:
    return out.copy_(inputs).div_(127.5).sub_(1)


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    kept = array if array.dtype == np.uint8 else array.astype(np.float64)
    return torch.from_numpy(np.ascontiguousarray(kept))
