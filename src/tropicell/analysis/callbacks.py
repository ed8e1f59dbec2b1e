"""A `RegionTracker` inside the training loops of Lightning and Keras."""

from __future__ import annotations

from typing import Any

from tropicell.analysis.tracking import RegionTracker
from tropicell.errors import MissingDependencyError, require


def lightning_callback(tracker: RegionTracker) -> Any:
    """A callback for Lightning's ``Trainer`` that tells the tracker of every training step.

    Parameters
    ----------
    tracker : RegionTracker
        Of the torch module inside your LightningModule.

    Returns
    -------
    lightning.pytorch.Callback
        From the package ``lightning``, or ``pytorch_lightning`` if only that is there.

    Examples
    --------
    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    >>> tracker = RegionTracker(net, example_input=torch.zeros(1, 2), every=50)
    >>> callbacks = [lightning_callback(tracker)]  # for lightning.Trainer(callbacks=callbacks)
    """

    class TrackRegions(_lightning().Callback):  # type: ignore[misc]
        """Counts regions after training steps."""

        def on_train_batch_end(
            self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int
        ) -> None:
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            values = {} if loss is None else {"loss": float(loss)}
            tracker.step(trainer.global_step - 1, **values)

    return TrackRegions()


def keras_callback(tracker: RegionTracker) -> Any:
    """A callback for Keras' ``model.fit`` that tells the tracker of every training batch.

    Parameters
    ----------
    tracker : RegionTracker
        Of the Keras model; with the torch backend it is a torch module, with another one give the
        tracker a function that returns a `Network` made from ``model.get_weights()``.

    Returns
    -------
    keras.callbacks.Callback

    Examples
    --------
    >>> import os
    >>> import numpy as np
    >>> from tropicell import Network
    >>> os.environ["KERAS_BACKEND"] = "torch"
    >>> def make_network():
    ...     first, b, second, c = np.ones((2, 4)), np.zeros(4), np.ones((4, 1)), np.zeros(1)
    ...     return Network.mlp([first.T, second.T], [b, c])
    >>> tracker = RegionTracker(make_network, every=50)  # the arrays: of model.get_weights()
    >>> callbacks = [keras_callback(tracker)]  # for model.fit(x, y, callbacks=callbacks)
    """
    keras: Any = require("keras", extra="all", why="a Keras callback")

    class TrackRegions(keras.callbacks.Callback):  # type: ignore[misc]
        """Counts regions after training batches."""

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            values = {name: float(value) for name, value in (logs or {}).items()}
            tracker.step(None, **values)

    return TrackRegions()


def _lightning() -> Any:
    try:
        return require("lightning.pytorch", extra="all", why="a Lightning callback")
    except MissingDependencyError:
        return require("pytorch_lightning", extra="all", why="a Lightning callback")
