"""Models of many kinds, those that import and those that must be refused, all small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from torch_modules import Function


@dataclass(frozen=True)
class Model:
    """A model, what it takes, and the operator or words that it is refused with, if it is."""

    name: str
    make: Callable[[], nn.Module]
    example: Any
    refused: str = ""


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self, width: int = 4, last: nn.Module | None = None) -> None:
        super().__init__()
        self.down = nn.ModuleList([block(1, width), block(width, 2 * width)])
        self.middle = block(2 * width, 4 * width)
        self.up = nn.ModuleList([block(6 * width, 2 * width), block(3 * width, width)])
        self.last = nn.Sequential(nn.Conv2d(width, 2, 1), last or nn.Identity())

    def forward(self, x: Any) -> Any:
        kept = []
        for down in self.down:
            kept.append(x := down(x))
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up in self.up:
            x = up(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
        return self.last(x)


class Basic(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.a = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.b = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        same = stride == 1 and inputs == outputs
        self.short = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.norms[1](self.b(F.relu(self.norms[0](self.a(x)))))
        return F.relu(y + self.short(x))


def resnet18(width: int, channels: int = 3, *, pool: bool = True) -> nn.Sequential:
    """With `pool` for large images; without for those of CIFAR."""
    parts: list[nn.Module] = [block(channels, width)]
    parts += [nn.MaxPool2d(3, 2, 1)] if pool else []
    for index, stride in enumerate([1, 2, 2, 2]):
        now, before = width * 2**index, width * 2 ** max(index - 1, 0)
        parts += [Basic(before, now, stride), Basic(now, now)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10))


def vgg11() -> nn.Sequential:
    """With strides in place of its pools."""
    widths, strides = (64, 128, 256, 256, 512, 512, 512, 512), (2, 2, 1, 2, 1, 2, 1, 2)
    parts: list[nn.Module] = []
    for before, now, stride in zip((3, *widths), widths, strides, strict=False):
        parts += [nn.Conv2d(before, now, 3, stride, 1), nn.BatchNorm2d(now), nn.ReLU()]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(512, 10))


class DenseBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(2 + 3 * i, 3, 3, padding=1) for i in range(4))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = torch.cat([x, F.relu(layer(x))], 1)
        return x.mean((2, 3))


class InvertedResidual(nn.Module):
    def __init__(self, width: int, activation: Callable[[Any], Any]) -> None:
        super().__init__()
        self.grow = nn.Conv2d(width, 3 * width, 1)
        self.deep = nn.Conv2d(3 * width, 3 * width, 3, padding=1, groups=3 * width)
        self.shrink = nn.Conv2d(3 * width, width, 1)
        self.activation = activation

    def forward(self, x: Any) -> Any:
        return x + self.shrink(self.activation(self.deep(self.activation(self.grow(x)))))


class Shuffle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branch = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.ReLU())

    def forward(self, x: Any) -> Any:
        a, b = x.chunk(2, 1)
        return F.channel_shuffle(torch.cat([a, self.branch(b)], 1), 2)


class TwoTowers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image, self.numbers, self.head = nn.Linear(16, 8), nn.Linear(3, 8), nn.Linear(16, 2)

    def forward(self, image: Any, numbers: Any) -> Any:
        both = [F.relu(self.image(image.flatten(1))), F.relu(self.numbers(numbers))]
        return {"score": self.head(torch.cat(both, 1)), "features": tuple(both)}


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module], **more: Any) -> None:
        super().__init__()
        self.cell, self.head = kind(3, 4, batch_first=True, **more), nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.cell(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x)[0]


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return F.relu(self.a(x)) * F.hardsigmoid(self.b(x))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(10, 4), nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.table(x).mean(1))


class PointNet(nn.Module):
    """The same function of each of eight points, then the largest of each feature."""

    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Conv1d(3, 8, 1), nn.ReLU(), nn.Conv1d(8, 8, 1))
        self.head = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.each(x).amax(2))


class GraphConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("source", torch.tensor([0, 1, 2, 3, 0]))
        self.register_buffer("target", torch.tensor([1, 2, 3, 0, 2]))
        self.lin = nn.Linear(2, 3)

    def forward(self, x: Any) -> Any:
        sent = self.lin(x)[:, self.source]
        return F.relu(torch.zeros(1, 4, 3).index_add(1, self.target, sent)).sum(1)


class MessagePassing(nn.Module):
    """Each node takes the largest of what its neighbours send."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("source", torch.tensor([0, 1, 2, 3, 0]))
        self.register_buffer("target", torch.tensor([1, 2, 3, 0, 2])[None, :, None])
        self.send, self.head = nn.Linear(2, 3), nn.Linear(5, 1)

    def forward(self, x: Any) -> Any:
        sent = self.send(x)[:, self.source]
        into = torch.zeros(1, 4, 3)
        got = into.scatter_reduce(1, self.target.expand_as(sent), sent, "amax", include_self=False)
        return self.head(torch.cat([x, F.relu(got)], 2)).sum(1)


class Bottleneck(nn.Module):
    """The block of a ResNet-50, in place where it can be."""

    def __init__(self, inputs: int, middle: int, outputs: int) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(inputs, middle, 1), nn.BatchNorm2d(middle), nn.ReLU(True))
        self.b = nn.Sequential(
            nn.Conv2d(middle, middle, 3, 2, 1), nn.BatchNorm2d(middle), nn.ReLU(True)
        )
        self.c = nn.Sequential(nn.Conv2d(middle, outputs, 1), nn.BatchNorm2d(outputs))
        self.short = nn.Conv2d(inputs, outputs, 1, 2)

    def forward(self, x: Any) -> Any:
        y = self.c(self.b(self.a(x)))
        y += self.short(x)
        return F.relu(y, inplace=True)


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            [
                nn.Conv2d(2, 2, 1),
                nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU(), nn.Conv2d(2, 3, 3, padding=1)),
                nn.Sequential(nn.Conv2d(2, 1, 1), nn.ReLU(), nn.Conv2d(1, 2, 5, padding=2)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(2, 2, 1)),
            ]
        )

    def forward(self, x: Any) -> Any:
        return F.relu(torch.cat([part(x) for part in self.parts], 1))


class Pyramid(nn.Module):
    """A feature pyramid: coarse features are resized and added to finer ones."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(1, 2, 3, 2, 1), nn.Conv2d(2, 3, 3, 2, 1)
        self.sides = nn.ModuleList([nn.Conv2d(2, 2, 1), nn.Conv2d(3, 2, 1)])

    def forward(self, x: Any) -> Any:
        fine = F.relu(self.fine(x))
        top = self.sides[1](F.relu(self.coarse(fine)))
        return {"fine": self.sides[0](fine) + F.interpolate(top, fine.shape[-2:]), "coarse": top}


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each = mlp(3, 5, 2)

    def forward(self, a: Any, b: Any) -> Any:
        return (self.each(a) - self.each(b)).abs().sum(-1)


class Mixer(nn.Module):
    """An MLP-Mixer without its normalisation: mixes places, then channels."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.channels = mlp(3, 4, 3), mlp(4, 4, 4)

    def forward(self, x: Any) -> Any:
        x = x + self.places(x.transpose(1, 2)).transpose(1, 2)
        return x + self.channels(x)


class Duelling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.value, self.advantage = mlp(3, 4, 4), nn.Linear(4, 1), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.body(x))
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(-1, keepdim=True)


class LowRank(nn.Module):
    """A layer with an adapter (LoRA)."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.a, self.b = nn.Parameter(torch.randn(3, 1)), nn.Parameter(torch.randn(1, 3))

    def forward(self, x: Any) -> Any:
        return F.relu(self.layer(x) + x @ self.a @ self.b * 0.5)


class Convex(nn.Module):
    """Input-convex: weights are made positive when the module is called."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.direct = nn.Linear(3, 4), nn.Linear(3, 2)
        self.weight = nn.Parameter(torch.randn(2, 4))

    def forward(self, x: Any) -> Any:
        return F.relu(F.linear(F.relu(self.first(x)), F.softplus(self.weight)) + self.direct(x))


class Excitation(nn.Module):
    """Squeeze and excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.factors = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(3, 3, 1), nn.Hardsigmoid())

    def forward(self, x: Any) -> Any:
        return x * self.factors(x)


class Highway(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.gate = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        gate = torch.sigmoid(self.gate(x))
        return gate * F.relu(self.a(x)) + (1 - gate) * x


class Unpooling(nn.Module):
    def forward(self, x: Any) -> Any:
        return F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)


def mlp(*sizes: int, activation: Callable[[], nn.Module] = nn.ReLU, last: Any = None) -> nn.Module:
    parts: list[nn.Module] = []
    for a, b in pairwise(sizes):
        parts += [nn.Linear(a, b), activation()]
    return nn.Sequential(*parts[:-1], *([last] if last is not None else []))


def group_sort(size: int) -> Callable[[], nn.Module]:
    return lambda: Function(lambda x: x.unflatten(1, (-1, size)).sort(2)[0].flatten(1))


def quantised() -> nn.Module:
    return nn.Sequential(torch.ao.nn.quantized.dynamic.Linear(3, 2))


def autoencoder(mode: str) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, 1),
        nn.ReLU(),
        nn.Upsample(scale_factor=2, mode=mode),
        nn.Conv2d(4, 1, 3, padding=1),
    )


IMAGE = (1, 1, 8, 8)

MODELS = (
    Model("perceptron", lambda: mlp(4, 16, 16, 3), (1, 4)),
    Model("perceptron, leaky ReLU", lambda: mlp(4, 8, 2, activation=nn.LeakyReLU), (1, 4)),
    Model("perceptron, PReLU", lambda: mlp(4, 8, 2, activation=nn.PReLU), (1, 4)),
    Model("perceptron, hardtanh", lambda: mlp(4, 8, 2, activation=nn.Hardtanh), (1, 4)),
    Model("perceptron, softshrink", lambda: mlp(4, 8, 2, activation=nn.Softshrink), (1, 4)),
    Model("GroupSort perceptron", lambda: mlp(4, 8, 8, 2, activation=group_sort(4)), (1, 4)),
    Model("MaxMin perceptron", lambda: mlp(4, 8, 8, 2, activation=group_sort(2)), (1, 4)),
    Model("maxout perceptron", lambda: nn.Sequential(
        nn.Linear(4, 8), Function(lambda x: x.view(-1, 4, 2).amax(2)), nn.Linear(4, 2)), (1, 4)),
    Model("spectral norm", lambda: nn.utils.spectral_norm(nn.Linear(3, 3)), (1, 3)),
    Model("weight norm", lambda: nn.utils.weight_norm(nn.Linear(3, 3)), (1, 3)),
    Model("orthogonal", lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)), (1, 3)),
    Model("LeNet", lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), mlp(36, 10, 3)), IMAGE),
    Model("ResNet-18, 4 channels wide", lambda: resnet18(4), (1, 3, 16, 16)),
    Model("UNet", UNet, IMAGE),
    Model("DenseNet block", DenseBlock, (1, 2, 6, 6)),
    Model("MobileNet block", lambda: InvertedResidual(3, F.relu6), (1, 3, 6, 6)),
    Model("ShuffleNet block", Shuffle, (1, 8, 4, 4)),
    Model("autoencoder, nearest upsampling", lambda: autoencoder("nearest"), IMAGE),
    Model("autoencoder, bilinear upsampling", lambda: autoencoder("bilinear"), IMAGE),
    Model("autoencoder, bicubic upsampling", lambda: autoencoder("bicubic"), IMAGE),
    Model("super-resolution by pixel shuffle", lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1),
        nn.PixelShuffle(2)), IMAGE),
    Model("transposed convolutions", lambda: nn.Sequential(
        nn.Linear(2, 8), nn.ReLU(), nn.Unflatten(1, (2, 2, 2)), nn.ConvTranspose2d(2, 1, 4, 2, 1)),
        (1, 2)),
    Model("PointNet", PointNet, (1, 3, 8)),
    Model("graph convolution", GraphConvolution, (1, 4, 2)),
    Model("two inputs, nested outputs", TwoTowers, (torch.zeros(1, 4, 4), torch.zeros(1, 3))),
    Model("recurrent, ReLU", lambda: Recurrent(nn.RNN, nonlinearity="relu"), (1, 4, 3)),
    Model("median filter", lambda: Function(lambda x: x.unfold(2, 3, 1).median(3)[0]), (1, 1, 8)),
    Model("top-3 pool", lambda: Function(lambda x: x.topk(3)[0].sum(1)), (1, 10)),
    Model("ReLU by where", lambda: Function(lambda x: torch.where(x > 0, x, 0.2 * x)), (1, 4)),
    Model("1-norm and largest entry", lambda: Function(
        lambda x: torch.stack([x.norm(1, 1), x.norm(torch.inf, 1)], 1)), (1, 5)),
    Model("constant einsum", lambda: Function(
        lambda x: torch.einsum("bi,ij->bj", x, torch.ones(3, 2)).relu()), (1, 3)),
    Model("compiled", lambda: torch.compile(mlp(3, 5, 1)), (1, 3)),
    Model("message passing, largest", MessagePassing, (1, 4, 2)),
    Model("ResNet-50 block", lambda: Bottleneck(3, 2, 8), (1, 3, 6, 6)),
    Model("Inception block", Inception, (1, 2, 5, 5)),
    Model("feature pyramid", Pyramid, IMAGE),
    Model("siamese, shared weights", Siamese, ((1, 3), (1, 3))),
    Model("MLP-Mixer without normalisation", Mixer, (1, 3, 4)),
    Model("duelling Q-network", Duelling, (1, 3)),
    Model("adapter of low rank", LowRank, (1, 3)),
    Model("input-convex", Convex, (1, 3)),
    Model("concatenated ReLU", lambda: nn.Sequential(
        nn.Linear(2, 3), Function(lambda x: F.relu(torch.cat([x, -x], -1))), nn.Linear(6, 1)),
        (1, 2)),
    Model("windows folded and unfolded", lambda: Function(
        lambda x: F.fold(F.unfold(x, 2).relu(), (4, 4), 2)), (1, 1, 4, 4)),
    Model("half precision", lambda: mlp(3, 4, 1).half(), (1, 3)),
    Model("data parallel", lambda: nn.DataParallel(mlp(3, 4, 1)), (1, 3)),
    Model("traced by FX", lambda: torch.fx.symbolic_trace(mlp(3, 4, 1)), (1, 3)),
    Model("sigmoid perceptron", lambda: mlp(4, 8, activation=nn.Sigmoid, last=nn.Sigmoid()), (1, 4),
          "aten.sigmoid"),
    Model("GELU perceptron", lambda: mlp(4, 8, 2, activation=nn.GELU), (1, 4), "aten.gelu"),
    Model("classifier with softmax", lambda: mlp(4, 8, 2, last=nn.Softmax(1)), (1, 4),
          "aten.softmax"),
    Model("UNet with softmax", lambda: UNet(16, nn.Softmax(1)), (1, 1, 64, 64), "aten.softmax"),
    Model("ResNet-18 on 224 × 224", lambda: resnet18(64), (1, 3, 224, 224), "too large"),
    Model("MobileNet V3 block", lambda: InvertedResidual(3, F.hardswish), (1, 3, 6, 6),
          "aten.hardswish"),
    Model("LSTM", lambda: Recurrent(nn.LSTM), (1, 4, 3), "aten.lstm"),
    Model("GRU", lambda: Recurrent(nn.GRU), (1, 4, 3), "aten.gru"),
    Model("attention", Attention, (1, 3, 4), "aten."),
    Model("transformer layer", lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
          (1, 3, 4), "aten."),
    Model("gated product", Gate, (1, 3), "aten.mul"),
    Model("layer normalisation", lambda: nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)), (1, 3),
          "aten.layer_norm"),
    Model("batch normalisation in training", lambda: nn.BatchNorm1d(3).train(), (1, 3),
          "training mode"),
    Model("spectral norm in training", lambda: nn.utils.spectral_norm(nn.Linear(3, 3)).train(),
          (1, 3), "training mode"),
    Model("words", Words, torch.zeros(1, 5, dtype=torch.long), "Embedding"),
    Model("quantised", quantised, (1, 3), "quantised"),
    Model("step function", lambda: Function(lambda x: torch.where(x > 0, x, x - 1)), (1, 2),
          "aten.where"),
    Model("branch on the data", lambda: Function(lambda x: x if x.sum() > 0 else -x), (1, 2),
          "data-dependent"),
    Model("squeeze and excitation", Excitation, (1, 3, 4, 4), "aten.mul"),
    Model("highway", Highway, (1, 3), "aten.sigmoid"),
    Model("max unpooling", Unpooling, (1, 1, 4, 4), "aten.max_unpool2d"),
    Model("group normalisation", lambda: nn.GroupNorm(2, 4), (1, 4, 2, 2), "aten.group_norm"),
    Model("lazy layers", lambda: nn.Sequential(nn.LazyLinear(3)), (1, 2), "call the module once"),
    Model("argmax", lambda: Function(lambda x: x.argmax(1)), (1, 3), "aten.argmax"),
)  # fmt: skip

#: Models of the size that people have: `benchmarks.models` tries them, too.
LARGE = (
    Model("ResNet-18, 11 million parameters", lambda: resnet18(64, pool=False), (1, 3, 32, 32)),
    Model("ResNet-18 with a max pool, 11 million", lambda: resnet18(64), (1, 3, 32, 32)),
    Model("VGG-11 without pools", vgg11, (1, 3, 32, 32)),
)


def made(model: Model) -> nn.Module:
    """The model with fixed weights, in evaluation mode unless its name says otherwise."""
    torch.manual_seed(0)
    module = model.make()
    return module if "in training" in model.name else module.eval()
