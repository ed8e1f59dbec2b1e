"""`from_torch` and `.pt2` files: every operator of the table, real architectures, refusals."""

import copy
import pickle
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import tropicell
from tropicell import from_torch
from tropicell.errors import ModelFileError, ModelImportError, UnsupportedOperatorError
from tropicell.importers import torch_ops
from tropicell.importers.operators import spellings
from tropicell.importers.torch import from_pt2
from tropicell.importers.torch_graph import from_exported

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

aten = torch.ops.aten


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def t(*shape):
    """Fixed numbers, made of a list so that an export sees a constant."""
    numbers = np.random.default_rng(sum(shape) + len(shape)).normal(size=shape) + 0.1
    return torch.tensor(numbers.tolist(), dtype=torch.float64)


def mask(*shape):
    return t(*shape) > 0


index = torch.tensor([2, 0])

# One case for every spelling of the table: the operator itself, and the shape of one batch.
CASES = {
    "linear": (lambda x: aten.linear(x, t(4, 3), t(4)), (1, 3)),
    "addmm": (lambda x: aten.addmm(t(4), x, t(3, 4), beta=0.5, alpha=2), (1, 3)),
    "baddbmm": (lambda x: aten.baddbmm(t(1, 2, 4), x, t(1, 3, 4)), (1, 2, 3)),
    "matmul": (lambda x: aten.matmul(t(5, 2), aten.matmul(x, t(3, 4))), (1, 2, 3)),
    "mm": (lambda x: aten.mm(x, t(3, 4)), (1, 3)),
    "bmm": (lambda x: aten.bmm(t(1, 5, 2), x), (1, 2, 3)),
    "mv": (lambda x: aten.mv(x, t(3)), (1, 3)),
    "dot": (lambda x: aten.dot(x, t(3)), (3,)),
    "conv1d": (lambda x: aten.conv1d(x, t(4, 2, 3), t(4), [2], [1]), (1, 2, 7)),
    "conv2d": (
        lambda x: aten.conv2d(x, t(4, 1, 3, 2), t(4), [2, 1], [1, 0], [1, 2], 2),
        (1, 2, 6, 5),
    ),
    "conv3d": (lambda x: aten.conv3d(x, t(2, 1, 2, 2, 2)), (1, 1, 3, 3, 3)),
    "convolution": (
        lambda x: aten.convolution(x, t(2, 3, 3), t(3), [2], [1], [1], True, [1], 1),
        (1, 2, 4),
    ),
    "conv_transpose1d": (
        lambda x: aten.conv_transpose1d(x, t(2, 3, 3), t(3), [2], [1], [1]),
        (1, 2, 4),
    ),
    "conv_transpose2d": (
        lambda x: aten.conv_transpose2d(x, t(4, 1, 2, 3), None, [1, 2], [0, 1], [0, 1], 2, [1, 2]),
        (1, 4, 3, 3),
    ),
    "conv_transpose3d": (lambda x: aten.conv_transpose3d(x, t(1, 2, 2, 2, 2)), (1, 1, 2, 2, 2)),
    "batch_norm": (
        lambda x: aten.batch_norm(x, t(2), t(2), t(2), t(2).abs(), False, 0.1, 1e-3, False),
        (1, 2, 3),
    ),
    "_native_batch_norm_legit_no_training": (
        lambda x: aten._native_batch_norm_legit_no_training(
            x, t(2), t(2), t(2), t(2).abs(), 0.1, 1e-3
        )[0],
        (1, 2, 3),
    ),
    "avg_pool1d": (lambda x: aten.avg_pool1d(x, [3], [2], [1], True, True), (1, 2, 6)),
    "avg_pool2d": (lambda x: aten.avg_pool2d(x, [2, 3], [2, 2], [1, 1], True, False), (1, 2, 5, 6)),
    "avg_pool3d": (
        lambda x: aten.avg_pool3d(x, [2, 2, 2], [1], [0], False, True, 3),
        (1, 1, 3, 3, 3),
    ),
    "adaptive_avg_pool1d": (lambda x: aten.adaptive_avg_pool1d(x, [3]), (1, 2, 7)),
    "adaptive_avg_pool2d": (lambda x: aten.adaptive_avg_pool2d(x, [2, 3]), (1, 2, 5, 4)),
    "adaptive_avg_pool3d": (lambda x: aten.adaptive_avg_pool3d(x, [1, 2, 2]), (1, 1, 3, 3, 3)),
    "_adaptive_avg_pool2d": (lambda x: aten._adaptive_avg_pool2d(x, [2, 2]), (1, 2, 5, 4)),
    "_adaptive_avg_pool3d": (lambda x: aten._adaptive_avg_pool3d(x, [1, 2, 2]), (1, 1, 3, 3, 3)),
    "mean": (lambda x: x.mean((1, -1)), (1, 2, 3, 2)),
    "sum": (lambda x: x.sum(-1, keepdim=True), (1, 2, 3)),
    "cumsum": (lambda x: aten.cumsum(x, 1), (1, 4, 2)),
    "add": (lambda x: aten.add(x, t(2, 1), alpha=3) + 1.5, (1, 1, 3)),
    "sub": (lambda x: aten.sub(t(3), x, alpha=2), (1, 3)),
    "subtract": (lambda x: aten.subtract(x, t(3)), (1, 3)),
    "rsub": (lambda x: aten.rsub(x, 2.5), (1, 3)),
    "mul": (lambda x: t(3) * x * 2, (1, 3)),
    "multiply": (lambda x: aten.multiply(x, t(3)), (1, 3)),
    "div": (lambda x: x / t(3), (1, 3)),
    "divide": (lambda x: aten.divide(x, t(3)), (1, 3)),
    "true_divide": (lambda x: aten.true_divide(x, t(3)), (1, 3)),
    "neg": (lambda x: -x, (1, 3)),
    "view": (lambda x: aten.view(x, [1, -1, 2]), (1, 2, 3)),
    "reshape": (lambda x: aten.reshape(x, [-1]), (1, 2, 3)),
    "_unsafe_view": (lambda x: aten._unsafe_view(x, [3, 2]), (1, 2, 3)),
    "flatten": (lambda x: aten.flatten(x, 1), (1, 2, 3)),
    "unflatten": (lambda x: aten.unflatten(x, 1, [2, -1]), (1, 6)),
    "ravel": (aten.ravel, (1, 2, 3)),
    "permute": (lambda x: aten.permute(x, [0, 2, 1]), (1, 2, 3)),
    "transpose": (lambda x: aten.transpose(x, -1, 1), (1, 2, 3)),
    "t": (lambda x: aten.t(x) * t(3, 1), (1, 3)),
    "numpy_T": (aten.numpy_T, (1, 3)),
    "swapaxes": (lambda x: aten.swapaxes(x, 1, 2), (1, 2, 3)),
    "movedim": (lambda x: aten.movedim(x, [1], [2]), (1, 2, 3)),
    "squeeze": (lambda x: x.squeeze(1).squeeze() + x.squeeze((1, 3)), (1, 1, 3, 1)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), (1, 3)),
    "expand": (lambda x: x.expand(-1, 4, 3), (1, 1, 3)),
    "expand_as": (lambda x: aten.expand_as(x, t(1, 4, 3)), (1, 1, 3)),
    "repeat": (lambda x: x.repeat(1, 2, 2), (1, 3, 1)),
    "broadcast_to": (lambda x: aten.broadcast_to(x, [1, 4, 3]), (1, 1, 3)),
    "cat": (lambda x: torch.cat([x, t(1, 2), x], 1), (1, 3)),
    "concat": (lambda x: aten.concat([x, x], 1), (1, 3)),
    "stack": (lambda x: torch.stack([x, t(1, 3)], -1), (1, 3)),
    "split": (lambda x: sum(p.sum() * (i + 1) for i, p in enumerate(x.split(2, 1))), (1, 5)),
    "split_with_sizes": (lambda x: aten.split_with_sizes(x, [1, 3, 1], 1)[1], (1, 5)),
    "chunk": (lambda x: aten.chunk(x, 2, 1)[1], (1, 5)),
    "unbind": (lambda x: aten.unbind(x, 1)[2] * 2, (1, 3)),
    "slice": (lambda x: x[:, 1::2], (1, 6)),
    "narrow": (lambda x: aten.narrow(x, 1, 1, 2), (1, 4)),
    "select": (lambda x: x[:, -1], (1, 4)),
    "index": (lambda x: x[:, index, :][:, :, index], (1, 3, 3)),
    "index_select": (lambda x: aten.index_select(x, 1, index), (1, 3)),
    "gather": (lambda x: aten.gather(x, 1, torch.tensor([[[0], [2], [0]]])), (1, 3, 2)),
    "flip": (lambda x: x.flip(1), (1, 4)),
    "roll": (lambda x: x.roll(1, 1), (1, 4)),
    "copy": (lambda x: aten.copy(x, t(3)) + x, (1, 3)),
    "slice_scatter": (lambda x: aten.slice_scatter(x, t(1, 2), 1, 0, 2), (1, 3)),
    "select_scatter": (lambda x: aten.select_scatter(x.relu(), x[:, 0], 1, 2), (1, 3)),
    "constant_pad_nd": (lambda x: aten.constant_pad_nd(x, [1, -1, 2, 0], 0.5), (1, 2, 3)),
    "pad": (lambda x: aten.pad(x, [1, 2], "circular"), (1, 2, 3)),
    "reflection_pad1d": (lambda x: aten.reflection_pad1d(x, [1, 2]), (1, 2, 4)),
    "reflection_pad2d": (lambda x: aten.reflection_pad2d(x, [1, 1, 0, 2]), (1, 1, 3, 3)),
    "replication_pad1d": (lambda x: aten.replication_pad1d(x, [1, 2]), (1, 2, 4)),
    "replication_pad2d": (lambda x: aten.replication_pad2d(x, [1, 1, 0, 2]), (1, 1, 3, 3)),
    "where": (lambda x: torch.where(mask(3), x, t(3)), (1, 3)),
    "masked_fill": (lambda x: x.masked_fill(mask(3), 2.0), (1, 3)),
    "clone": (lambda x: x.clone(), (1, 3)),
    "contiguous": (lambda x: aten.contiguous(x) + 1, (1, 3)),
    "alias": (lambda x: aten.alias(x) + 1, (1, 3)),
    "detach": (lambda x: aten.detach(x) + 1, (1, 3)),
    "lift_fresh_copy": (lambda x: aten.lift_fresh_copy(x) + 1, (1, 3)),
    "dropout": (lambda x: nn.functional.dropout(x, 0.5, False), (1, 3)),
    "feature_dropout": (lambda x: nn.functional.dropout2d(x, 0.5, False), (1, 3, 2, 2)),
    "alpha_dropout": (lambda x: nn.functional.alpha_dropout(x, 0.5, False), (1, 3)),
    "_to_copy": (lambda x: aten._to_copy(x, dtype=torch.float64), (1, 3)),
    "to": (lambda x: aten.to(x, torch.float64, False, True) + 1, (1, 3)),
    "type_as": (lambda x: aten.type_as(x, t(1)) + 1, (1, 3)),
    "relu": (lambda x: x.relu(), (1, 3)),
    "leaky_relu": (lambda x: nn.functional.leaky_relu(x, 0.3), (1, 3)),
    "rrelu": (lambda x: nn.functional.rrelu(x, 0.1, 0.3, False), (1, 3)),
    "prelu": (lambda x: aten.prelu(x, t(2)), (1, 2, 3)),
    "_prelu_kernel": (lambda x: aten._prelu_kernel(x, t(1, 2, 1)), (1, 2, 3)),
    "relu6": (nn.functional.relu6, (1, 3)),
    "hardtanh": (lambda x: nn.functional.hardtanh(x, -0.5, 2), (1, 3)),
    "clamp": (lambda x: x.clamp(t(3) - 1, t(3) + 1).clamp(-2, 2).clamp(max=x - 0.1), (1, 3)),
    "clip": (lambda x: aten.clip(x, None, 0.5), (1, 3)),
    "clamp_min": (lambda x: x.clamp_min(-0.5), (1, 3)),
    "clamp_max": (lambda x: x.clamp_max(0.5), (1, 3)),
    "threshold": (lambda x: nn.functional.threshold(x, 0.25, 0.25), (1, 3)),
    "abs": (lambda x: x.abs(), (1, 3)),
    "hardsigmoid": (nn.functional.hardsigmoid, (1, 3)),
    "softshrink": (lambda x: nn.functional.softshrink(x, 0.3), (1, 3)),
    "maximum": (lambda x: torch.maximum(x, x.flip(1)).maximum(t(3)), (1, 3)),
    "minimum": (lambda x: torch.minimum(t(3), torch.minimum(x, x.flip(1))), (1, 3)),
    "max": (lambda x: torch.max(x, 1)[0] + torch.max(x) + torch.max(x, -x), (1, 5)),
    "min": (lambda x: torch.min(x, 1)[0] + torch.min(x) + torch.min(x, -x), (1, 5)),
    "max_pool1d": (lambda x: aten.max_pool1d(x, [3], [2], [1]), (1, 2, 6)),
    "max_pool2d": (lambda x: nn.functional.max_pool2d(x, 3, 2, 1, 1, ceil_mode=True), (1, 1, 6, 6)),
    "max_pool3d": (lambda x: aten.max_pool3d(x, [2, 2, 2]), (1, 1, 3, 3, 3)),
    "max_pool2d_with_indices": (
        lambda x: aten.max_pool2d_with_indices(x, [2, 2], [1, 1], [1, 0], [1, 2])[0],
        (1, 1, 4, 4),
    ),
    "max_pool3d_with_indices": (
        lambda x: aten.max_pool3d_with_indices(x, [2, 2, 2])[0],
        (1, 1, 3, 3, 3),
    ),
    "adaptive_max_pool1d": (lambda x: aten.adaptive_max_pool1d(x, [3])[0], (1, 2, 5)),
    "adaptive_max_pool2d": (lambda x: aten.adaptive_max_pool2d(x, [2, 1])[0], (1, 1, 5, 3)),
    "adaptive_max_pool3d": (lambda x: aten.adaptive_max_pool3d(x, [1, 1, 2])[0], (1, 1, 2, 2, 3)),
    "amax": (lambda x: x.amax((1, 2)), (1, 2, 3)),
    "amin": (lambda x: x.amin(2, keepdim=True), (1, 2, 3)),
    "zeros_like": (lambda x: x + torch.zeros_like(x), (1, 3)),
    "ones_like": (lambda x: x + torch.ones_like(x), (1, 3)),
    "full_like": (lambda x: x + torch.full_like(x, 2.5), (1, 3)),
    "new_zeros": (lambda x: torch.cat([x, x.new_zeros(1, 2)], 1), (1, 3)),
    "new_ones": (lambda x: torch.cat([x, x.new_ones(1, 2)], 1), (1, 3)),
    "new_full": (lambda x: torch.cat([x, x.new_full((1, 2), 1.5)], 1), (1, 3)),
    "_assert_tensor_metadata": (lambda x: x.to(torch.float64) + x, (1, 3)),
}


def assert_same(network, module, shape, rng):
    module = copy.deepcopy(module).double()
    points = rng.normal(size=(5, *shape)) * 3
    with torch.no_grad():
        expected = np.stack([module(torch.from_numpy(p)).numpy().ravel() for p in points])
    got = network(points.reshape(5, -1))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_every_spelling_has_a_handler_and_a_case():
    assert torch_ops.registry.missing() == set()
    assert set(CASES) == spellings("torch")


@pytest.mark.parametrize("spelling", CASES)
def test_operator(spelling, rng, tmp_path):
    function, shape = CASES[spelling]
    module = Function(function)
    assert_same(from_torch(module, torch.zeros(shape)), module, shape, rng)
    program = torch.export.export(module, (torch.zeros(shape, dtype=torch.float64),))
    # the case must really contain the operator: undecomposed graphs are what .pt2 files hold
    assert spelling in {call.name for call in from_exported(program).calls}
    torch.export.save(program, tmp_path / "m.pt2")
    assert_same(from_pt2(tmp_path / "m.pt2"), module, shape, rng)


class ResidualMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        x = torch.relu(self.first(x))
        for block in self.blocks:
            x = x + torch.relu(block(x))
        return self.last(x)


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 + 4 * i, 4) for i in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, nn.functional.leaky_relu(layer(x), 0.2)], dim=-1)
        return x


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.a = nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(8)
        self.b = nn.Conv2d(8, 8, 3, padding="same")
        self.shortcut = nn.Conv2d(4, 8, 1, stride=2)
        self.act = nn.ReLU(inplace=True)
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(8, 3)
        )

    def forward(self, x):
        x = self.pool(self.act(self.stem(x)))
        y = self.b(self.act(self.norm(self.a(x))))
        return self.head(self.act(y + self.shortcut(x)))


def resnet():
    torch.manual_seed(0)
    net = ResNet()
    with torch.no_grad():
        for norm in (net.stem[1], net.norm):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
            norm.weight.normal_()
    return net.eval()


def sequential():
    return nn.Sequential(
        nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.Hardtanh(), nn.Linear(5, 1)
    )


@pytest.mark.parametrize(
    ("make", "shape"),
    [(ResidualMLP, (1, 3)), (DenseNet, (1, 2)), (resnet, (1, 2, 8, 8)), (sequential, (1, 4))],
)
def test_architecture(make, shape, rng, tmp_path):
    module = make()
    network = from_torch(module, torch.zeros(shape))
    assert_same(network, module, shape, rng)
    torch.export.save(torch.export.export(module, (torch.zeros(shape),)), tmp_path / "m.pt2")
    assert_same(tropicell.load(tmp_path / "m.pt2"), module, shape, rng)


def test_affine_operators_leave_no_layers():
    network = from_torch(resnet(), torch.zeros(1, 2, 8, 8))
    relus = [layer for layer in network.layers if "pool" not in layer.name]
    assert [layer.width for layer in relus] == [256, 32, 32]
    residual = from_torch(ResidualMLP(), torch.zeros(1, 3))
    assert residual.widths == (8, 8, 8, 8)
    assert residual.skips == [(1, 3), (1, 4), (2, 4), (1, 5), (2, 5), (3, 5)]


def test_overlapping_windows_share_comparisons():
    module = nn.MaxPool1d(2, 1)
    assert from_torch(module, torch.zeros(1, 1, 5)).widths == (4,)
    assert from_torch(nn.MaxPool1d(4, 4), torch.zeros(1, 1, 4)).widths == (2, 1)
    assert from_torch(nn.MaxPool1d(3, 1), torch.zeros(1, 1, 4)).n_neurons == 4


def test_unused_layers_are_pruned():
    network = from_torch(Function(lambda x: (x.abs(), x.relu())[1]), torch.zeros(1, 3))
    assert network.widths == (3,)


def test_a_batch_and_no_batch_and_float32(rng):
    module = ResidualMLP()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    for shape in [(3,), (1, 3), (7, 3)]:
        assert_same(from_torch(module, torch.zeros(shape)), module, (3,), rng)
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert module.first.weight.dtype == torch.float32


def test_module_in_training_mode_without_such_layers_is_fine():
    assert from_torch(sequential().train(), np.zeros((1, 4))).depth == 2


def test_output_in_a_dict(rng):
    network = from_torch(Function(lambda x: {"y": x.relu()}), torch.zeros(1, 2))
    assert network([[-1.0, 2.0]]).tolist() == [[0.0, 2.0]]


def test_reductions_of_everything(rng):
    module = Function(lambda x: torch.stack([x.mean(), x.sum(), x.max(), x.min()]))
    assert_same(from_torch(module, torch.zeros(5)), module, (5,), rng)


def test_overwritten_views(rng, tmp_path):
    def overwrite(x):
        y = x.relu()
        y[:, 0] += 1
        y[:, 1:].abs_().mul_(-2)
        return y

    module = Function(overwrite)
    assert_same(from_torch(module, torch.zeros(1, 3)), module, (1, 3), rng)


def test_operators_that_only_decompositions_make_readable(rng):
    recurrent = First(nn.RNN(3, 2, nonlinearity="relu", batch_first=True))
    assert_same(from_torch(recurrent, torch.zeros(1, 4, 3)), recurrent, (1, 4, 3), rng)
    module = Function(
        lambda x: nn.functional.pixel_shuffle(torch.einsum("bchw,cd->bdhw", x, t(2, 4)), 2)
    )
    assert_same(from_torch(module, torch.zeros(1, 2, 2, 2)), module, (1, 2, 2, 2), rng)


class Random(nn.Module):
    """A random directed graph of operators, drawn from a list of numbers."""

    def __init__(self, choices):
        super().__init__()
        self.choices = choices
        self.mix = nn.ModuleList(nn.Linear(4, 4) for _ in choices)

    def forward(self, x):
        kinds = [
            lambda a, b, mix: torch.relu(mix(a)),
            lambda a, b, mix: mix(a) + b,
            lambda a, b, mix: torch.maximum(a, mix(b)),
            lambda a, b, mix: torch.minimum(a, mix(b)).abs(),
            lambda a, b, mix: torch.cat([mix(a)[:, 1:3], b[:, :2]], 1),
            lambda a, b, mix: nn.functional.hardtanh(a - b) * mix.bias,
            lambda a, b, mix: torch.stack([a, b], 2).amax(2).flip(1),
            lambda a, b, mix: mix(a).view(-1, 2, 2).mean(2).repeat(1, 2) - b,
        ]
        found = [x]
        for (kind, a, b), mix in zip(self.choices, self.mix, strict=True):
            found.append(kinds[kind](found[a % len(found)], found[b % len(found)], mix))
        return found[-1]


choices_of_operators = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9
)


@settings(max_examples=20, deadline=None)
@given(choices_of_operators)
def test_random_graphs(choices):
    torch.manual_seed(len(choices))
    module = Random(choices)
    network = from_torch(module, torch.zeros(1, 4))
    assert_same(network, module, (1, 4), np.random.default_rng(0))


def test_dynamic_batch_in_a_file(tmp_path, rng):
    module = Function(lambda x: x.view(x.shape[0], 2, 3).sum(1).relu())
    program = torch.export.export(
        module, (torch.zeros(2, 6),), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    torch.export.save(program, tmp_path / "m.pt2")
    assert_same(from_pt2(tmp_path / "m.pt2"), module, (1, 6), rng)


REFUSED = {
    "aten.sigmoid": (lambda x: x.sigmoid(), (1, 3)),
    "aten.tanh": (lambda x: x.tanh(), (1, 3)),
    "aten.softmax": (lambda x: x.softmax(1), (1, 3)),
    "aten.scaled_dot_product_attention": (
        lambda x: nn.functional.scaled_dot_product_attention(x, x, x),
        (1, 2, 3, 4),
    ),
    "aten.sin": (lambda x: x.sin(), (1, 3)),
    "aten.cos": (lambda x: x.cos(), (1, 3)),
    "aten.exp": (lambda x: x.exp(), (1, 3)),
    "aten.erf": (lambda x: x.erf(), (1, 3)),
    "aten.gelu": (nn.functional.gelu, (1, 3)),
    "aten.silu": (nn.functional.silu, (1, 3)),
    "aten.layer_norm": (lambda x: nn.functional.layer_norm(x, (3,)), (1, 3)),
    "aten.hardswish": (nn.functional.hardswish, (1, 3)),
    "aten.pow": (lambda x: x**2, (1, 3)),
    "aten.mul": (lambda x: x * x.relu(), (1, 3)),
    "aten.div": (lambda x: 1 / x, (1, 3)),
    "aten.matmul": (lambda x: x @ x.transpose(1, 2), (1, 3, 3)),
    "aten.where": (lambda x: torch.where(x > 0, x, -x), (1, 3)),
    "aten.gt": (lambda x: (x > 0).double(), (1, 3)),
    "aten.sort": (lambda x: x.sort()[0], (1, 3)),
    "aten.round": (lambda x: x.round(), (1, 3)),
    "aten.threshold": (lambda x: nn.functional.threshold(x, 0.5, 0.0), (1, 3)),
    "aten.prod": (lambda x: x.prod(1), (1, 3)),
    "aten.glu": (nn.functional.glu, (1, 4)),
    "arithmetic on sizes (ge)": (lambda x: x[:, torch.tensor([True, False, True])], (1, 3)),
    "aten.log2": (lambda x: x.log2(), (1, 3)),
    "aten.dropout (training mode)": (lambda x: nn.functional.dropout(x, 0.5, True), (1, 3)),
    "aten.batch_norm (training mode)": (
        lambda x: nn.functional.batch_norm(x, t(2), t(2), training=True),
        (1, 2, 4),
    ),
}

# Where another operator is met first.
MET_FIRST = {"aten.where": "aten.gt", "aten.div": "aten.reciprocal"}


@pytest.mark.parametrize("operator", REFUSED)
def test_refused_by_name(operator):
    function, shape = REFUSED[operator]
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_torch(Function(function), torch.zeros(shape))
    assert caught.value.operator == MET_FIRST.get(operator, operator)
    assert len(caught.value.advice) > 10


class First(nn.Module):
    """The first output of a module with several."""

    def __init__(self, inner, inputs=1):
        super().__init__()
        self.inner, self.inputs = inner, inputs

    def forward(self, x):
        return self.inner(*[x] * self.inputs)[0]


@pytest.mark.parametrize(
    ("module", "operator"),
    [
        (First(nn.LSTM(3, 2)), "aten.lstm"),
        (First(nn.RNN(3, 2)), "aten.rnn_tanh"),
        (First(nn.MultiheadAttention(3, 1), 3), "aten."),
    ],
)
def test_modules_refused_by_name(module, operator):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_torch(module.eval(), torch.zeros(1, 2, 3))
    assert caught.value.operator.startswith(operator)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(3), nn.Dropout(0.5)])
def test_training_mode_is_refused_by_name(layer):
    with pytest.raises(UnsupportedOperatorError, match=r"call \.eval\(\)") as caught:
        from_torch(nn.Sequential(nn.Linear(3, 3), layer), torch.zeros(2, 3))
    assert caught.value.operator == f"{type(layer).__name__} (training mode)"
    assert from_torch(nn.Sequential(nn.Linear(3, 3), layer).eval(), torch.zeros(2, 3)).depth == 0


def test_data_dependent_branch_is_refused():
    def branch(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(UnsupportedOperatorError, match="data-dependent"):
        from_torch(Function(branch), torch.zeros(1, 3))


def test_mixing_the_rows_of_a_batch_is_refused():
    with pytest.raises(ModelImportError, match="mixes the rows"):
        from_torch(Function(lambda x: x - x.mean(0) + x.sum(0)), torch.zeros(4, 3))


@pytest.mark.parametrize(
    ("module", "example", "message"),
    [
        (Function(lambda x: (x, x)), torch.zeros(1, 2), "2 outputs"),
        (Function(lambda x: x), (torch.zeros(1), torch.zeros(1)), "2 tensors"),
        (Function(lambda x: x), torch.zeros(1, 0), "shape"),
        (Function(lambda x: x @ t(3, 3)), torch.zeros(1, 2), "could not export"),
        ({"0.weight": 1}, torch.zeros(1, 2), r"expected a torch\.nn\.Module.*load the weights"),
    ],
)
def test_bad_input(module, example, message):
    with pytest.raises(ModelImportError, match=message):
        from_torch(module, example)


def test_nan_weights_are_refused():
    module = nn.Linear(2, 2)
    with torch.no_grad():
        module.weight[1, 0] = float("nan")
    with pytest.raises(ModelImportError, match=r"weight.*not a number at \(1, 0\)"):
        from_torch(module, torch.zeros(1, 2))


def _archive(tmp_path, change):
    """A small .pt2 file with one of its members changed."""
    torch.export.save(
        torch.export.export(nn.Linear(2, 1), (torch.zeros(1, 2),)), tmp_path / "good.pt2"
    )
    with (
        zipfile.ZipFile(tmp_path / "good.pt2") as old,
        zipfile.ZipFile(tmp_path / "bad.pt2", "w") as new,
    ):
        for info in old.infolist():
            new.writestr(info.filename, change(info.filename, old.read(info)))
    return tmp_path / "bad.pt2"


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code of the file was run",))


def test_pickles_in_an_archive_are_never_loaded(tmp_path):
    bomb = pickle.dumps(Bomb())
    # the sample inputs are a pickle that torch.export.load reads: here they are ignored
    path = _archive(tmp_path, lambda n, data: bomb if "sample_inputs" in n else data)
    assert tropicell.load(path).n_inputs == 2
    path = _archive(
        tmp_path,
        lambda n, data: data.replace(b'"use_pickle": false', b'"use_pickle": true'),
    )
    with pytest.raises(ModelFileError, match="stored as a pickle"):
        tropicell.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, data: data.replace(b'"as_int": 2', b'"as_int": 20000'), "claims more"),
        (lambda n, data: data[:3] if n.endswith("model.json") else data, "not laid out"),
        (lambda n, data: data[:4] if "weight_0" in n else data, "claims more|not laid out"),
    ],
)
def test_damaged_archive(tmp_path, change, message):
    with pytest.raises(ModelFileError, match=message):
        tropicell.load(_archive(tmp_path, change))


def test_foreign_operators_of_an_archive_are_not_run(tmp_path):
    for target in (b"torch.ops.aten.from_file.default", b"os.system", b"_operator.call"):
        path = _archive(
            tmp_path, lambda n, data, to=target: data.replace(b"torch.ops.aten.linear.default", to)
        )
        with pytest.raises(UnsupportedOperatorError):
            tropicell.load(path)
