"""A `RegionTracker` inside the training loops of Lightning and Keras."""

from __future__ import annotations

from typing import Any

from tropicell.errors import MissingDependencyError, require
from tropicell.tracking import RegionTracker


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
    ``Trainer(callbacks=[lightning_callback(RegionTracker(model.net, example_input=points))])``
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
    ``model.fit(x, y, callbacks=[keras_callback(RegionTracker(make_network, every=50))])``
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
