"""`from_torch` and `.pt2` files: real architectures, whole modules, random graphs."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import prune

import tropicell
from torch_modules import First, Function, assert_same, t
from tropicell import from_torch
from tropicell.importers.torch.importer import from_pt2

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


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


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x, z):
        h = torch.relu(self.a(x) + self.b(z))
        return {"h": h, "rest": (h.sum(1), torch.maximum(x[:, :2], z))}


def test_several_inputs_and_outputs(rng, tmp_path):
    module = Two()
    parts = {"x": slice(0, 3), "z": slice(3, 5)}
    example = (torch.zeros(1, 3), torch.zeros(1, 2))
    points = rng.normal(size=(5, 5))
    x, z = (torch.from_numpy(points[:, part]) for part in parts.values())
    torch.export.save(torch.export.export(module, example), tmp_path / "m.pt2")
    for network in (
        from_torch(module, example),
        from_torch(module, {"z": example[1], "x": example[0]}),
        tropicell.load(tmp_path / "m.pt2"),
    ):
        assert network.input_parts == parts
        assert list(network.output_parts.values()) == [slice(0, 4), slice(4, 5), slice(5, 7)]
        found = copy.deepcopy(module).double()(x, z)
        expected = [found["h"], found["rest"][0][:, None], found["rest"][1]]
        np.testing.assert_allclose(network(points), torch.cat(expected, 1).detach(), rtol=1e-9)
    assert list(from_torch(module, example).output_parts) == ["['h']", "['rest'][0]", "['rest'][1]"]


def test_constants_that_a_forward_makes(rng):
    for kind in (None, torch.float32):

        def forward(x, kind=kind):
            made = torch.cat([torch.zeros(1, 2, dtype=kind), torch.ones(1, 1, dtype=kind)], 1)
            return torch.relu(x @ torch.eye(3, dtype=kind) + made)

        network = from_torch(Function(forward), (1, 3))
        assert network([[-1.0, 2.0, 0.5]]).tolist() == [[0.0, 2.0, 1.5]]
    assert torch.get_default_dtype() == torch.float32


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tensor([True, False, True]))

    def forward(self, x):
        return x[:, self.mask].relu()


def test_truth_values_that_are_constant_are_indices(tmp_path):
    assert from_torch(Masked(), (1, 3))([[1.0, 2.0, -3.0]]).tolist() == [[1.0, 0.0]]
    torch.export.save(torch.export.export(Masked(), (torch.zeros(1, 3),)), tmp_path / "m.pt2")
    assert from_pt2(tmp_path / "m.pt2")([[1.0, 2.0, -3.0]]).tolist() == [[1.0, 0.0]]


def _pruned():
    layer = nn.Linear(3, 3)
    prune.l1_unstructured(layer, "weight", amount=0.4)
    return layer


@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.utils.weight_norm(nn.Linear(3, 3)),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)),
        lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)),
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
        lambda: nn.utils.spectral_norm(nn.Linear(3, 3)),
        _pruned,
        lambda: torch.compile(nn.Linear(3, 3)),
    ],
)
def test_reparametrised_and_compiled_layers(layer, rng):
    torch.manual_seed(0)
    module = nn.Sequential(layer(), nn.ReLU(), nn.Linear(3, 2)).eval()
    plain = getattr(module[0], "_orig_mod", module[0])
    with torch.no_grad():
        plain(torch.zeros(1, 3))  # old hooks work out the weight now
    before = plain.weight.detach().clone()
    network = from_torch(module)
    rebuilt = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    with torch.no_grad():
        rebuilt[0].weight.copy_(before)
        rebuilt[0].bias.copy_(plain.bias)
        rebuilt[2].load_state_dict(module[2].state_dict())
    points = rng.normal(size=(4, 3))
    with torch.no_grad():
        expected = rebuilt.double()(torch.from_numpy(points)).numpy()
    np.testing.assert_allclose(network(points), expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(plain.weight.detach(), before)


def test_compiled_modules_are_read_not_compiled():
    module = torch.compile(sequential(), backend=lambda *_: pytest.fail("it was compiled"))
    assert from_torch(module).widths == (6, 5)


def test_a_matrix_that_two_tensors_share_is_not_changed(rng):
    # zeros of one matrix are left out where it becomes a layer; the other one has the same columns
    conv = nn.Conv2d(2, 4, 3, padding=1)
    factors = torch.tensor([0.0, 1.0, 0.0, 2.0]).reshape(4, 1, 1)
    module = nn.Sequential(conv, Function(lambda y: torch.relu(y * factors) + 2 * y))
    assert_same(from_torch(module, (1, 2, 9, 9)), module, (1, 2, 9, 9), rng)


def test_sorting_networks(rng):
    groups = nn.Sequential(
        nn.Linear(3, 8), Function(lambda x: x.view(-1, 2, 4).sort(-1)[0].view(-1, 8))
    )
    assert_same(from_torch(groups, (1, 3)), groups, (1, 3), rng)
    smallest = from_torch(Function(lambda x: x.kthvalue(1)[0]), (1, 8))
    assert smallest.n_neurons == 7
    assert from_torch(Function(lambda x: x.sort()[0]), (1, 8)).widths == (4, 4, 4, 2, 2, 3)


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


def test_shapes_of_several_inputs():
    """In place of tensors: a tuple of shapes, or a dictionary of them; and numbers in lists."""

    class Both(nn.Module):
        def forward(self, x, y):
            return torch.relu(x) + y

    expected = from_torch(Both(), (torch.zeros(1, 3), torch.zeros(1, 3)))
    assert from_torch(Both(), ((1, 3), (1, 3))) == expected
    assert from_torch(Both(), {"y": (1, 3), "x": (1, 3)}) == expected
    linear = nn.Linear(3, 2)
    assert from_torch(linear, [[0, 0, 0]]) == from_torch(linear, (1, 3))
