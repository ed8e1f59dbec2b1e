"""The table of all experiments. A new one is a file in this folder and a line here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tropicell.errors import InvalidInputError

if TYPE_CHECKING:
    from tropicell.lab.run import Experiment

#: Name of an experiment and what it is; its file is ``lab/NAME.py``, with an ``EXPERIMENT``.
EXPERIMENTS = {
    "fig1": "the walkthrough: how one region comes about, neuron by neuron",
    "fig2": "all regions of networks trained on four functions",
    "fig3": "regions and loss during training, with and without skips",
    "table1": "regions of random networks with and without skips, tested",
    "fig4": "which test images lie in a region with a training image, drawn",
    "table2": "test images in regions with training images, with and without skips, tested",
    "readings": "which reading of the first table fits its numbers",
    "overfitting": "do networks with more regions overfit; underfitting, depth, folding",
    "regions784": "beyond the paper: every region of the classifiers of Table 2, over all of R^n",
    "skips": "beyond the paper: when do skips add regions, and where",
    "custom": "the same analysis for a model of your own",
}

#: What ``tropicell lab all`` does not run: it needs a model of the user.
NOT_IN_ALL = ("custom",)


def experiment(name: str) -> Experiment:
    """The experiment of a name.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.

    Returns
    -------
    Experiment

    Raises
    ------
    InvalidInputError
        If there is none.

    Examples
    --------
    >>> experiment("table1").name
    'table1'
    """
    if name not in EXPERIMENTS:
        raise InvalidInputError(
            f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}"
        )
    found: Experiment = importlib.import_module(f"tropicell.lab.{name}").EXPERIMENT
    return found
