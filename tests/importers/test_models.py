"""Models and files in place of a network."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from tropicell import (
    Box,
    Network,
    count_many,
    count_regions,
    enumerate_regions,
    estimate_regions,
    save,
)
from tropicell.errors import InvalidInputError, ModelFileError, ModelImportError


def module():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 1))


def test_models_and_files(tmp_path):
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    save(network, tmp_path / "network.npz")
    network.to_onnx(tmp_path / "network.onnx")
    for given in (network, tmp_path / "network.npz", str(tmp_path / "network.onnx")):
        assert count_regions(given) == 4
        assert len(enumerate_regions(given, Box(-1, 1))) == 4
        assert estimate_regions(given).count == 4
    assert count_many([network, module(), tmp_path / "network.npz"]).tolist()[::2] == [4, 4]
    assert count_regions(module()) == 16  # five lines in general position
    assert count_regions(Ridge().fit(np.eye(2), [0.0, 1.0])) == 1


def test_what_is_no_model():
    with pytest.raises(InvalidInputError, match="expected a Network, not list; from_torch"):
        count_regions([1.0])
    with pytest.raises(InvalidInputError, match="network 0: expected a Network, not int"):
        count_many([1])
    with pytest.raises(InvalidInputError, match=r"onnx\.save"):
        count_regions(Network.mlp([[[1.0]]]).to_onnx())
    with pytest.raises(ModelFileError, match="no such file"):
        count_regions("missing.onnx")
    with pytest.raises(ModelImportError, match="can't be inferred; give an example"):
        count_regions(nn.Sequential(nn.Conv2d(1, 1, 1)))
