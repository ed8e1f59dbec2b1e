"""Many networks of one shape as a few tensors: values, gradients, `Network`s.

Every tensor has the networks on its first axis. Layers are stored with neurons as rows and examples
as columns, shape (networks, neurons, examples), so that each layer of all networks is one batched
matrix product. Gradients are written out by hand: for layers of a few neurons the bookkeeping of
automatic differentiation would take longer than the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tropicell.errors import InvalidInputError, require
from tropicell.network.network import Network

torch = require("torch", extra="lab", why="training networks")

#: A torch.Tensor.
Tensor = Any
Skips = Sequence[tuple[int, int]]


class Stack:
    """Networks of one shape, to be trained together.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, neurons of the layers 1 … L, outputs.
    skips : sequence of (k, ℓ)
        The output of layer k is added to the input of layer ℓ; ℓ = L + 1 is the output.
    networks : int
    device, dtype : str
        As torch names them.

    Examples
    --------
    >>> stack = Stack([2, 3, 3, 1], [(1, 3)], 4)
    >>> stack.initialise([torch.Generator().manual_seed(i) for i in range(4)])
    >>> stack.networks()[0]
    Network(2 → 3 → 3 → 1, skips 1→3)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        skips: Skips,
        networks: int,
        *,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> None:
        self.sizes = tuple(sizes)
        self.skips = tuple(skips)
        self.count = networks
        self.depth = len(self.sizes) - 2
        kind = getattr(torch, dtype)
        shapes = [(networks, n, m) for m, n in pairwise(self.sizes)]
        shapes += [(networks, n, 1) for n in self.sizes[1:]]
        total = sum(math.prod(shape) for shape in shapes)
        # One tensor for all numbers: an optimiser that works number by number needs one call.
        self.parameters = torch.zeros(total, dtype=kind, device=device)
        self.gradients = torch.zeros_like(self.parameters)
        parts, slopes = _views(self.parameters, shapes), _views(self.gradients, shapes)
        matrices = self.depth + 1
        self.weights, self.biases = parts[:matrices], parts[matrices:]
        self.weight_gradients, self.bias_gradients = slopes[:matrices], slopes[matrices:]
        # What feeds layer ℓ besides layer ℓ - 1, and whom layer k feeds besides layer k + 1.
        self._into = [[k for k, target in skips if target == i] for i in range(self.depth + 2)]
        self._from = [[target for k, target in skips if k == i] for i in range(self.depth + 1)]
        # Raises the errors of Network for impossible skips, before any training.
        self.network(0)

    def initialise(self, generators: Sequence[Any]) -> None:
        """PyTorch's default initialisation: each network as its ``nn.Linear`` layers would be.

        Parameters
        ----------
        generators : sequence of torch.Generator
            One for each network, on the CPU: every device starts from the same numbers.
        """
        for index, generator in enumerate(generators):
            for weight, bias in zip(self.weights, self.biases, strict=True):
                matrix = torch.empty(weight.shape[1:], dtype=weight.dtype)
                torch.nn.init.kaiming_uniform_(matrix, a=math.sqrt(5), generator=generator)
                bound = 1 / math.sqrt(matrix.shape[1])
                vector = torch.empty(bias.shape[1:2], dtype=bias.dtype)
                torch.nn.init.uniform_(vector, -bound, bound, generator=generator)
                weight[index] = matrix.to(weight.device)
                bias[index, :, 0] = vector.to(bias.device)

    def forward(self, inputs: Tensor) -> Values:
        """Values of all layers; see `Values` for what `inputs` may be."""
        return Values(self, inputs).forward(inputs)

    def network(self, index: int) -> Network:
        """One of the networks; float32 numbers are float64 numbers, so nothing is rounded."""
        weights = [weight[index].double().cpu().numpy() for weight in self.weights]
        biases = [bias[index, :, 0].double().cpu().numpy() for bias in self.biases]
        return Network.mlp(weights, biases, skips=self.skips)

    def networks(self) -> list[Network]:
        """All networks."""
        return [self.network(index) for index in range(self.count)]


class Values:
    """The layers' values at a batch of examples, and the way back to the gradients.

    Its tensors are used again and again for batches of the same shape.

    Parameters
    ----------
    stack : Stack
    inputs : Tensor
        Of shape (examples, inputs) if all networks see the same examples, or (networks, examples,
        inputs) if each has its own. Only its shape matters here.

    Attributes
    ----------
    outputs : Tensor, shape (networks, outputs, examples)
    layers : list of Tensor
        Outputs of the layers 0 … L likewise; a neuron is active where its value is positive.
    """

    def __init__(self, stack: Stack, inputs: Tensor) -> None:
        examples = inputs.shape[-2]
        self._stack = stack
        self.layers = [inputs.mT, *(self._empty(n, examples) for n in stack.sizes[1:-1])]
        self.outputs = self._empty(stack.sizes[-1], examples)
        self._fed: list[Tensor] = [
            self._empty(stack.sizes[i - 1], examples) if stack._into[i] else None
            for i in range(stack.depth + 2)
        ]
        # Made when `backward` is called for the first time.
        self._slopes: list[Tensor] = []
        self._before: list[Tensor] = []

    def forward(self, inputs: Tensor) -> Values:
        """Compute all layers at examples of the shape that was said."""
        stack, layers = self._stack, self.layers
        layers[0] = inputs.mT
        for i in range(1, stack.depth + 2):
            into = layers[i - 1]
            for k in stack._into[i]:
                into = torch.add(into, layers[k], out=self._fed[i])
            out = self.outputs if i == stack.depth + 1 else layers[i]
            _affine(stack.weights[i - 1], into, stack.biases[i - 1], out)
            if i <= stack.depth:
                out.relu_()
        return self

    def backward(self, slope: Tensor) -> None:
        """Write the gradients of the weights and biases into the stack.

        Parameters
        ----------
        slope : Tensor
            The gradient of each network's loss with respect to `outputs`.
        """
        stack, layers = self._stack, self.layers
        if not self._slopes:
            self._slopes = [None, *(torch.empty_like(layer) for layer in layers[1:])]
            self._before = [None, *(torch.empty_like(layer) for layer in layers[1:])]
        for i in range(stack.depth + 1, 0, -1):
            into = layers[i - 1] if self._fed[i] is None else self._fed[i]
            _product(slope, into.mT, stack.weight_gradients[i - 1])
            torch.sum(slope, dim=2, keepdim=True, out=stack.bias_gradients[i - 1])
            if i == 1:
                return
            # _slopes[k] is the gradient of what comes into layer k + 1: layer k's and its skips'.
            torch.bmm(stack.weights[i - 1].mT, slope, out=self._slopes[i - 1])
            total = self._slopes[i - 1]
            for target in stack._from[i - 1]:
                total = torch.add(total, self._slopes[target - 1], out=self._before[i - 1])
            slope = torch.ops.aten.threshold_backward.grad_input(
                total, layers[i - 1], 0, grad_input=self._before[i - 1]
            )

    def _empty(self, neurons: int, examples: int) -> Tensor:
        numbers = self._stack.parameters
        shape = (self._stack.count, neurons, examples)
        return torch.empty(shape, dtype=numbers.dtype, device=numbers.device)


def check_shape(sizes: Sequence[int]) -> None:
    """Refuse sizes that make no network."""
    if len(sizes) < 2 or any(int(n) != n or n < 1 for n in sizes):
        raise InvalidInputError(
            f"sizes {tuple(sizes)}: expected the numbers of inputs, of the hidden layers' neurons "
            "and of outputs, all at least 1"
        )


def _views(flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    parts = torch.split(flat, [math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def _product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """The product left @ right; right may be one matrix for all networks."""
    if right.ndim == 2:
        torch.mm(left.flatten(0, 1), right, out=out.flatten(0, 1))
    else:
        torch.bmm(left, right, out=out)


def _affine(weight: Tensor, values: Tensor, bias: Tensor, out: Tensor) -> None:
    if values.ndim == 2:
        torch.addmm(bias.flatten(0, 1), weight.flatten(0, 1), values, out=out.flatten(0, 1))
    else:
        torch.baddbmm(bias, weight, values, out=out)
