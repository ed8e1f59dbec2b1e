"""What `from_torch` and `.pt2` files refuse, and say why: operators, modules, archives."""

import pickle
import zipfile

import pytest
import scipy.sparse as sp
import torch
from torch import nn

import tropicell
from children import run_python
from torch_modules import First, Function, t
from tropicell import from_torch
from tropicell.errors import (
    InvalidInputError,
    ModelFileError,
    ModelImportError,
    UnsupportedOperatorError,
)
from tropicell.network.layers import Layer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

aten = torch.ops.aten

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
    "aten.instance_norm": (nn.functional.instance_norm, (1, 2, 3)),
    "wrap_with_autocast": (
        torch.autocast("cpu", dtype=torch.bfloat16)(lambda x: x @ t(3, 3)),
        (1, 3),
    ),
    "_unwrap_for_grad": (torch.func.grad(lambda x: x.relu().sum()), (1, 3)),
    "aten.resize_as": (nn.CrossMapLRN2d(2), (1, 3, 4, 4)),
    "aten.mul": (lambda x: x * x.relu(), (1, 3)),
    "aten.div": (lambda x: 1 / x, (1, 3)),
    "aten.matmul": (lambda x: x @ x.transpose(1, 2), (1, 3, 3)),
    "aten.where": (lambda x: torch.where(x > 0, x, 1 - x), (1, 3)),
    "aten.gt": (lambda x: (x > 0).double(), (1, 3)),
    "aten.lt": (lambda x: x + (x < 0), (1, 3)),
    "aten.masked_fill": (lambda x: x.masked_fill(x < 0, 1.0), (1, 3)),
    "aten.eq": (lambda x: torch.where(x == 0, x, -x), (1, 3)),
    "aten.__and__": (lambda x: torch.where((x > 0) & (x < 1), x, -x), (1, 3)),
    "aten.item": (lambda x: x * x.sum().item(), (1, 3)),
    "aten.cdist": (lambda x: torch.cdist(x, t(2, 3)), (1, 3)),
    "aten.linalg_solve": (lambda x: torch.linalg.solve(torch.eye(3), x.T), (1, 3)),
    "aten.argsort": (lambda x: x.argsort().double(), (1, 3)),
    "aten.index": (lambda x: x[0, x.topk(2)[1]], (1, 3)),
    "aten.einsum": (lambda x: torch.einsum("bi,bi->b", x, x), (1, 3)),
    "aten.norm": (lambda x: x.norm(dim=1), (1, 3)),
    "aten.round": (lambda x: x.round(), (1, 3)),
    "aten.threshold": (lambda x: nn.functional.threshold(x, 0.5, 0.0), (1, 3)),
    "aten.prod": (lambda x: x.prod(1), (1, 3)),
    "aten.glu": (nn.functional.glu, (1, 4)),
    "aten.max_unpool2d": (
        lambda x: nn.functional.max_unpool2d(
            *nn.functional.max_pool2d(x, 2, return_indices=True), 2
        ),
        (1, 1, 4, 4),
    ),
    "where": (lambda x: torch.where(x > 0)[1] * 1.0, (1, 3)),
    "cast to torch.bfloat16": (lambda x: x.bfloat16(), (1, 3)),
    "aten.mse_loss": (lambda x: nn.functional.mse_loss(x, t(1, 3)), (1, 3)),
    "aten.outer": (lambda x: torch.outer(x[0], x[0]), (1, 3)),
    "aten.asinh": (lambda x: x.asinh(), (1, 3)),
    "aten.any": (lambda x: x * (x > 0).any(), (1, 3)),
    "positions as the output '[1]'": (lambda x: x.max(1), (1, 3)),
    "aten.log2": (lambda x: x.log2(), (1, 3)),
    "aten.dropout (training mode)": (lambda x: nn.functional.dropout(x, 0.5, True), (1, 3)),
    "aten.batch_norm (training mode)": (
        lambda x: nn.functional.batch_norm(x, t(2), t(2), training=True),
        (1, 2, 4),
    ),
}

# Where another operator is met first.
MET_FIRST = {
    "aten.div": "aten.reciprocal",
    "aten.mse_loss": "aten.pow",  # what they are made of
    "aten.outer": "aten.mul",
}


@pytest.mark.parametrize("operator", REFUSED)
def test_refused_by_name(operator):
    function, shape = REFUSED[operator]
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_torch(Function(function), torch.zeros(shape))
    assert caught.value.operator == MET_FIRST.get(operator, operator)
    assert len(caught.value.advice) > 10


@pytest.mark.parametrize(
    ("module", "operator"),
    [
        (First(nn.LSTM(3, 2)), "aten.lstm"),
        (First(nn.RNN(3, 2)), "aten.rnn_tanh"),
        (First(nn.Sequential(nn.Flatten(0, 1), nn.LSTMCell(3, 2))), "aten.lstm_cell"),
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


def test_fake_quantisation_is_refused_by_name():
    module = nn.Sequential(nn.Linear(3, 3), torch.ao.quantization.FakeQuantize())
    with pytest.raises(UnsupportedOperatorError, match="it rounds") as caught:
        from_torch(module, torch.zeros(1, 3))
    assert caught.value.operator == "FakeQuantize (quantised)"


def test_points_that_need_gradients_are_refused_by_name():
    network = from_torch(nn.Linear(3, 2))
    for points in (torch.zeros(3), torch.zeros(1, 3)):
        with pytest.raises(InvalidInputError, match="detach"):
            network(points.requires_grad_())


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x.relu() * self.calls


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            lambda: nn.Sequential(nn.LazyLinear(3), nn.ReLU()),
            r"module '0' \(LazyLinear\).*call the module",
        ),
        (lambda: nn.Sequential(torch.jit.script(nn.Linear(2, 2))), "module '0' is TorchScript"),
        (Counts, "changes its buffer 'calls' whenever it is called"),
    ],
)
def test_modules_that_are_no_function_yet(module, said):
    with pytest.raises(ModelImportError, match=said):
        from_torch(module().eval(), torch.zeros(1, 2))


def test_data_dependent_branch_is_refused():
    def branch(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(UnsupportedOperatorError, match="data-dependent"):
        from_torch(Function(branch), torch.zeros(1, 3))


@pytest.mark.parametrize(
    ("module", "example", "said"),
    [
        (nn.Linear(3, 2), (), "example_input is empty"),
        (nn.Linear(3, 2), [], "example_input is empty"),
        (nn.Linear(3, 2), [[0.0], [1.0, 2.0]], "neither numbers nor a shape"),
        (nn.Identity(), torch.zeros(1, 3, dtype=torch.complex64), "^example_input is complex"),
        (nn.Linear(3, 2), (1, 4), "could not export the module Linear"),
        (Function(lambda x: object()), (1, 3), "not a known type"),
        (Function(lambda x: x if x.sum() > 0 else -x), (1, 3), "data-dependent"),
    ],
)
def test_what_is_wrong_is_said_by_the_error_alone(module, example, said):
    with pytest.raises(ModelImportError, match=said) as caught:
        from_torch(module, example)
    assert not type(caught.value).__name__.startswith("_")


def test_torch_prints_nothing_where_an_export_fails():
    """Its logs go to the standard error that there was when it was imported."""
    done = run_python(
        "-c",
        """
import torch, tropicell as tc
class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
for module, shape in ((torch.nn.Linear(3, 2), (1, 4)), (Branch(), (1, 3))):
    try:
        tc.from_torch(module, shape)
    except tc.TropicellError as error:
        print(type(error).__name__)
""",
    )
    assert done.stdout.split() == ["ModelImportError", "UnsupportedOperatorError"]
    assert done.stderr == ""


def test_numbers_among_the_inputs_are_refused_by_value():
    with pytest.raises(ModelImportError, match="has the number 3 among its parts"):
        from_torch(Function(lambda x, n: x.relu() * n), (torch.zeros(1, 3), 3))


def test_mixing_the_rows_of_a_batch_is_refused():
    with pytest.raises(ModelImportError, match="mixes the rows"):
        from_torch(Function(lambda x: x - x.mean(0) + x.sum(0)), torch.zeros(4, 3))


@pytest.mark.parametrize(
    ("module", "example", "message"),
    [
        (Function(lambda x: None), torch.zeros(1, 2), "returns no tensor"),
        (nn.Linear, (1, 2), "not its class"),
        (lambda x: x, (1, 2), "the forward of a module"),
        (nn.Linear(2, 1), (1, 3), r"[^.]\. torch\.export\.export"),
        (Function(lambda x: x), (torch.zeros(1), torch.zeros(1)), "too many positional"),
        (Function(lambda x: x), {"y": torch.zeros(1)}, "does not fit the module's forward"),
        (nn.Conv2d(1, 1, 1), None, "can't be inferred"),
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


def test_what_is_refused_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(Layer, "__init__", lambda *_: pytest.fail("a layer was built"))
    monkeypatch.setattr(sp, "kron", lambda *_: pytest.fail("a matrix was built"))
    body = [nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.ReLU()]
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_torch(nn.Sequential(*body, nn.Softmax(1)), (1, 1, 8, 8))
    assert caught.value.operator == "aten.softmax"
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_torch(nn.Sequential(*body, Function(lambda x: x * x)), (1, 1, 8, 8))
    assert caught.value.operator == "aten.mul"


def test_models_that_are_too_large_are_refused_by_their_shapes():
    wide = nn.Sequential(*[nn.Conv2d(64, 64, 3, padding=1) for _ in range(5)])
    with pytest.raises(ModelImportError, match=r"has 115,605,504 \(at node 'conv2d.*smaller input"):
        from_torch(wide, (1, 64, 56, 56))
    with pytest.raises(ModelImportError, match=r"node 'conv2d' in module '0'.*too large"):
        from_torch(nn.Sequential(nn.Conv2d(1, 64, 3)), (1, 1, 512, 512))
    with pytest.raises(ModelImportError, match="at most 1048576 numbers"):
        from_torch(nn.ReLU(), (1, 3, 4096, 4096))


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
