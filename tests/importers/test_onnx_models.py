"""`from_onnx`: exports of torch, and models made by others."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import tropicell
from tropicell import from_onnx
from tropicell.errors import (
    UnsupportedOperatorError,
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.down = nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=2)
        self.act = nn.PReLU(4)
        self.skip = nn.Linear(36, 5)
        self.last = nn.Linear(9, 2)

    def forward(self, x):
        y = nn.functional.relu(self.norm(self.conv(x)))
        y = nn.functional.max_pool2d(y, 2)
        y = self.act(self.down(y)).mean((2, 3))
        a, b = self.skip(x.flatten(1)).split([2, 3], 1)
        z = torch.cat([nn.functional.relu6(a), y, torch.clamp(b, -1, 1)], 1)
        return self.last(z[:, [0, 1, 2, 3, 4, 5, 6, 7, 8]]) + nn.functional.hardtanh(a)


@pytest.mark.parametrize("modern", [True, False])
def test_export_of_torch(modern, tmp_path, rng):
    torch.manual_seed(0)
    module = Net().eval()
    with torch.no_grad():
        module.norm.running_mean.normal_()
        module.norm.running_var.uniform_(0.5, 2)
    path = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (torch.zeros(1, 1, 6, 6),), str(path), dynamo=modern, verbose=False
        )
    network = from_onnx(path)
    points = rng.normal(size=(5, 1, 6, 6))
    expected = module.double()(torch.from_numpy(points)).detach().numpy()
    # the exporter folds the normalisation in float32
    np.testing.assert_allclose(network(points.reshape(5, -1)), expected, rtol=1e-4, atol=1e-4)


# --- models made by others ------------------------------------------------------------------------

SHAPES = {
    "acasxu_1_1": (5, (50,) * 6, 5),
    "acasxu_4_3": (5, (50,) * 6, 5),
    "cifar_resnet_3b": (3072, (4096, 2048, 2048, 1024, 1024, 512, 512, 100), 10),
    "mnist_cnn": (784, (6272, 3136, 100), 10),
    "mnist_fc_256x2": (784, (256, 256), 10),
    "nano": (1, (1,), 1),
    "slice_concat_4d": (4, (256, 256, 256, 256, 16, 8, 8), 2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_models_of_others(models, name):
    network = tropicell.load(models / f"{name}.onnx")
    assert (network.n_inputs, network.widths, network.n_outputs) == SHAPES[name]


def test_every_model_of_others_is_tested(models):
    assert {path.stem for path in models.glob("*.onnx")} == set(SHAPES)


def test_residual_network_keeps_its_skips_and_sparsity(models):
    network = tropicell.load(models / "cifar_resnet_3b.onnx")
    assert network.skips == [(1, 3), (3, 5), (5, 7)]
    stored = sum(
        matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz
        for layer in network.layers
        for matrix in layer.affine.terms.values()
    )
    assert stored < 4e6


@pytest.mark.parametrize(
    ("name", "operator"), [("acopf_sigmoid", "Sigmoid"), ("quadrotor_sin_cos", "Sin")]
)
def test_models_of_others_refused(models, name, operator):
    with pytest.raises(UnsupportedOperatorError, match=name) as caught:
        tropicell.load(models / "refuse" / f"{name}.onnx")
    assert caught.value.operator == operator
