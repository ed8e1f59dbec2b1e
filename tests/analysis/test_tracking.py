"""Counts during training, with real training loops."""

import os
import warnings
from itertools import pairwise

import numpy as np
import pytest

from tropicell import Box, Network, count_regions
from tropicell.analysis.callbacks import keras_callback, lightning_callback
from tropicell.analysis.tracking import RegionTracker
from tropicell.errors import InvalidInputError

torch = pytest.importorskip("torch")
BOX = Box(-2, 2)


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(6, 1)
    )


def plain_loop(net, tracker, steps):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    points = torch.randn(32, 2, generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        loss = ((net(points).ravel() - points.prod(dim=1)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.step(loss=loss.item())


@pytest.fixture(scope="module")
def tracked():
    net = model()
    tracker = RegionTracker(net, BOX, example_input=torch.zeros(1, 2), every=4, max_share=1e9)
    plain_loop(net, tracker, 10)
    return net, tracker


def test_plain_loop(tracked):
    net, tracker = tracked
    assert net.training  # dropout stays on for the training loop
    assert tracker.steps == [0, 4, 8]
    assert [count_regions(s.network, BOX) for s in tracker.snapshots] == tracker.counts
    table = tracker.to_dataframe()
    assert list(table.columns) == ["step", "regions", "complete", "seconds", "loss"]
    assert table.complete.all()


def test_pictures_and_pages(tracked, tmp_path):
    _, tracker = tracked
    axes = tracker.plot()
    assert list(axes.lines[0].get_ydata()) == tracker.counts
    film = tracker.film(tmp_path / "film.gif", dpi=30)
    with pytest.importorskip("PIL.Image").open(film) as image:
        assert image.n_frames == 3
    page = tracker.explore(tmp_path / "film.html")
    assert "step 8" in page.read_text("utf-8")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["film.gif", "film.html"]


def network():
    rng = np.random.default_rng(0)
    return Network.mlp(
        [rng.normal(size=(20, 2)), rng.normal(size=(1, 20))], [rng.normal(size=20), None]
    )


def test_cost_cap_puts_counts_off():
    tracker = RegionTracker(network, BOX, every=1, max_share=1e-9)
    for _ in range(5):
        tracker.step()
    assert tracker.steps == [0]
    assert tracker.put_off == 4


def test_a_count_that_takes_too_long_is_a_lower_bound():
    def large():
        rng = np.random.default_rng(0)
        sizes = [2, *[100] * 8, 1]
        weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
        return Network.mlp(weights, [rng.normal(size=n) for n in sizes[1:]])

    for seconds in (0.7, 3.0, 15.0):  # a machine that does other things may find nothing at first
        tracker = RegionTracker(large, BOX, max_seconds=seconds)
        tracker.step()
        assert not tracker.snapshots[0].complete
        if tracker.counts[0]:
            break
    assert tracker.counts[0] > 0


def test_scalars_go_to_a_writer():
    logged = []

    class Writer:
        def add_scalar(self, name, value, step):
            logged.append((name, value, step))

    tracker = RegionTracker(network, BOX, every=2, max_share=1e9, writer=Writer(), keep=False)
    for _ in range(3):
        tracker.step()
    assert logged == [("regions", n, s) for s, n in zip([0, 2], tracker.counts, strict=True)]
    with pytest.raises(InvalidInputError, match="keep=True"):
        tracker.regions()


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(tmp_path) as writer:
            RegionTracker(network, BOX, writer=writer).step()
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(tmp_path)).Reload()
    assert [e.value for e in events.Scalars("regions")] == [count_regions(network(), BOX)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": network, "every": 0}, "at least 1"),
        ({"model": network, "max_share": 0}, "positive"),
        ({"model": network()}, "a function"),
        ({"model": torch.nn.Linear(2, 1)}, "example_input"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        RegionTracker(**arguments)


def test_nothing_counted_yet():
    with pytest.raises(InvalidInputError, match="step"):
        RegionTracker(network).plot()
    with pytest.raises(InvalidInputError, match="gave int"):
        RegionTracker(lambda: 3).step()


@pytest.mark.filterwarnings("ignore")
def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    points = torch.randn(40, 2)
    data = torch.utils.data.TensorDataset(points, points.prod(dim=1))

    class Fit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model()

        def training_step(self, batch, _):
            return ((self.net(batch[0]).ravel() - batch[1]) ** 2).mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    module = Fit()
    tracker = RegionTracker(module.net, BOX, example_input=points, every=5, max_share=1e9)
    trainer = lightning.Trainer(
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[lightning_callback(tracker)], accelerator="cpu",
        default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=10))
    assert tracker.steps == [0, 5]
    assert tracker.snapshots[0].values["loss"] > 0


@pytest.mark.filterwarnings("ignore")
def test_keras():
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    dense = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(1)]
    )
    dense.compile(optimizer="adam", loss="mse")

    def make():
        first, b, second, c = dense.get_weights()
        return Network.mlp([first.T, second.T], [b, c])

    tracker = RegionTracker(make, BOX, every=3, max_share=1e9)
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    dense.fit(
        x, x.sum(axis=1), batch_size=10, epochs=2, verbose=0, callbacks=[keras_callback(tracker)]
    )
    assert tracker.steps == [0, 3, 6]
    assert "loss" in tracker.snapshots[-1].values
