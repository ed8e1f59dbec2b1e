"""How the regions of a network change while it is trained.

`RegionTracker` is called once a step by a plain training loop, or by the callbacks of
`tropicell.analysis.callbacks`. It counts every so many steps, keeps the networks, and draws curves
and films at the end.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tropicell._runtime.durable import replacing
from tropicell._runtime.interruption import current, time_limit
from tropicell._runtime.paths import path_of
from tropicell.analysis.graph_statistics import f_vectors
from tropicell.analysis.local_complexity import local_complexity
from tropicell.errors import IncompleteError, InvalidInputError, TimeLimitError, require
from tropicell.importers.torch.importer import from_torch
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.regions import comfort
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import count_regions, enumerate_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tropicell.explorer.page import Inline


@dataclass(frozen=True)
class Snapshot:
    """The network at one step of its training.

    Attributes
    ----------
    step : int
    network : Network or None
        None if the tracker does not keep networks.
    count : int
        Number of regions; if not `complete`, at least so many.
    complete : bool
    seconds : float
        What the count cost.
    values : dict
        What the training loop reported, for example its loss.

    Examples
    --------
    >>> snapshot = RegionTracker(lambda: Network.mlp([[[1.0]], [[1.0]]])).record(7, loss=0.5)
    >>> snapshot.step, snapshot.count, snapshot.complete, snapshot.values
    (7, 2, True, {'loss': 0.5})
    """

    step: int
    network: Network | None
    count: int
    complete: bool
    seconds: float
    values: dict[str, float] = field(default_factory=dict)


class RegionTracker:
    """Counts the regions of a network while it is trained.

    Parameters
    ----------
    model : torch.nn.Module, or a function without arguments that returns a Network
        It is read when a count is due, and never changed.
    domain : Domain, optional
        Where to count; default: all of R^n.
    example_input : Tensor or array_like, optional
        What a torch module takes; see `from_torch`.
    every : int
        Count every so many steps, beginning with the first call.
    max_share : float
        The cost cap: counting may take this share of the time since the tracker was made. A count
        that is due while the share is exceeded is put off to a later step.
    max_seconds : float, optional
        No count may take longer; one that would is kept as a lower bound, with ``complete`` False.
    keep : bool
        Keep the networks, for films. Without it a snapshot keeps its numbers only.
    points : array_like, shape (points, inputs), optional
        With `radius`: points around which regions are counted, too (`tropicell.local_complexity`).
        Their mean number is kept as the value ``local_regions``, the mean distance to the nearest
        boundary as ``boundary_distance``.
    radius : float, optional
        The radius of the balls around `points`.
    faces : bool or "layers"
        Count the faces of every dimension, too: they are kept as the values ``faces_0``, …, from
        vertices to regions; with "layers" also those of the subdivisions by the first 1, 2, …
        layers (`tropicell.f_vectors`), as ``layer_1_faces_0``, …. All regions have to be in memory
        for that; a snapshot that is not ``complete``, or has no time left for its faces, has none.
    writer : SummaryWriter, optional
        Of TensorBoard, or anything with ``add_scalar(name, value, step)``: counts are logged to it
        under ``regions``.

    Attributes
    ----------
    snapshots : list of Snapshot
    put_off : int
        How often a count was put off.

    See Also
    --------
    tropicell.analysis.callbacks : the same for Lightning and Keras.

    Examples
    --------
    >>> import torch
    >>> from tropicell import Box
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    >>> points = torch.randn(64, 2)
    >>> tracker = RegionTracker(model, Box(-2, 2), example_input=points, every=10, max_share=1)
    >>> for step in range(30):
    ...     loss = ((model(points).ravel() - points.prod(dim=1)) ** 2).mean()
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     _ = optimizer.step()
    ...     tracker.step(loss=loss.item())
    >>> tracker.steps
    [0, 10, 20]
    >>> len(tracker.counts)
    3
    """

    def __init__(
        self,
        model: Any,
        domain: Domain | None = None,
        *,
        example_input: Any = None,
        every: int = 100,
        max_share: float = 0.25,
        max_seconds: float | None = None,
        keep: bool = True,
        points: ArrayLike | None = None,
        radius: float | None = None,
        faces: bool | Literal["layers"] = False,
        writer: Any = None,
    ) -> None:
        if every < 1:
            raise InvalidInputError(f"every must be at least 1, not {every}")
        if not max_share > 0:
            raise InvalidInputError(f"max_share must be positive, not {max_share}")
        if (points is None) != (radius is None):
            raise InvalidInputError("points and radius belong together: give both, or none")
        if not isinstance(faces, bool) and faces != "layers":
            raise InvalidInputError(f"faces must be True, False or 'layers', not {faces!r}")
        self.points = None if points is None else np.asarray(points, dtype=np.float64)
        self.radius = radius
        self.domain = domain
        self.every = every
        self.max_share = max_share
        self.max_seconds = max_seconds
        self.keep = keep
        self.faces = faces
        self.writer = writer
        self.snapshots: list[Snapshot] = []
        self.put_off = 0
        self._read = _ModelReader(model, example_input)
        self._next = 0
        self._due = 0
        self._spent = 0.0
        self._started = time.perf_counter()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_started": time.perf_counter() - self._started}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._started = time.perf_counter() - self._started  # clocks of processes differ

    # --- while training -----------------------------------------------------------------------

    def step(self, step: int | None = None, **values: float) -> None:
        """Say that a step is done; counts if it is time to.

        Parameters
        ----------
        step : int, optional
            The number of the step; default: one more than the last.
        **values : float
            Numbers to keep with the count, for example ``loss=``.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10, max_share=100)
        >>> for step in range(15):
        ...     tracker.step(loss=1 / (1 + step))
        >>> tracker.steps
        [0, 10]
        """
        number = self._next if step is None else int(step)
        self._next = number + 1
        if number < self._due:
            return
        elapsed = time.perf_counter() - self._started
        if self.snapshots and self._spent > self.max_share * elapsed:
            self.put_off += 1
            return
        self.record(number, **values)

    def record(self, step: int, **values: float) -> Snapshot:
        """Count now, whatever is due and whatever it costs.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> tracker.record(3).count
        4

        With what is near some points:

        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), points=[[0.5, 5.0]], radius=1.0)
        >>> tracker.record(0).values
        {'local_regions': 2.0, 'boundary_distance': 0.5}

        With the numbers of vertices, edges and regions:

        >>> RegionTracker(lambda: network, Box(-1, 1), faces=True).record(0).values
        {'faces_0': 9.0, 'faces_1': 12.0, 'faces_2': 4.0}

        And those of each layer:

        >>> network = Network.mlp([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [-0.5], [0.0]])
        >>> RegionTracker(lambda: network, Box(-1, 1), faces="layers").record(0).values
        {'faces_0': 4.0, 'faces_1': 3.0, 'layer_1_faces_0': 3.0, 'layer_1_faces_1': 2.0, ...}
        """
        started = time.perf_counter()
        network = self._read()
        kept = {name: float(value) for name, value in values.items()}
        count, complete, faces = self._counted(network)
        kept |= faces
        if self.points is not None and self.radius is not None:
            table = local_complexity(network, self.points, self.radius, progress=False)
            kept["local_regions"] = float(table["regions"].mean())
            kept["boundary_distance"] = float(table["distance"].mean())
        seconds = time.perf_counter() - started
        kept_network = network if self.keep else None
        snapshot = Snapshot(step, kept_network, count, complete, seconds, kept)
        self.snapshots.append(snapshot)
        self._spent += seconds
        self._due = step - step % self.every + self.every
        if self.writer is not None:
            self.writer.add_scalar("regions", count, step)
            for name in ("local_regions", "boundary_distance", *faces):
                if name in kept:
                    self.writer.add_scalar(name, kept[name], step)
        return snapshot

    def _counted(self, network: Network) -> tuple[int, bool, dict[str, float]]:
        """How many regions there are, whether these are all, and the faces of each dimension."""
        if self.faces:
            started = time.perf_counter()
            regions = enumerate_regions(
                network, self.domain, max_seconds=self.max_seconds, progress=False
            )
            if not regions.complete:
                return len(regions), False, {}
            left = self.max_seconds
            if left is not None:
                left = max(left - (time.perf_counter() - started), 0.0)
            return len(regions), True, self._faces_of(regions, left)
        try:
            count = count_regions(
                network, self.domain, max_seconds=self.max_seconds, progress=False
            )
        except IncompleteError as error:
            return error.count, False, {}
        return count, True, {}

    def _faces_of(self, regions: Regions, seconds: float | None) -> dict[str, float]:
        """The faces of each dimension, also layer by layer if that is wanted; none in no time."""
        found: dict[str, float] = {}
        try:
            with time_limit(seconds):
                if self.faces == "layers":
                    layers = f_vectors(regions, progress=False)
                    whole = layers[-1] if layers else (1,)
                else:
                    layers, whole = [], regions.complex(progress=False).f_vector
        except TimeLimitError:
            outer = current()
            if outer is not None and outer.is_over():
                raise
            return {}
        found |= {f"faces_{k}": float(number) for k, number in enumerate(whole)}
        for layer, counts in enumerate(layers, 1):
            names = {f"layer_{layer}_faces_{k}": float(n) for k, n in enumerate(counts)}
            found |= names
        return found

    # --- afterwards ---------------------------------------------------------------------------

    @property
    def steps(self) -> list[int]:
        """The steps at which regions were counted."""
        return [snapshot.step for snapshot in self.snapshots]

    @property
    def counts(self) -> list[int]:
        """How many regions there were."""
        return [snapshot.count for snapshot in self.snapshots]

    def to_dataframe(self) -> Any:
        """One row for each count: step, regions, complete, seconds, and what the loop reported.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> _ = tracker.record(0, loss=2.0)
        >>> tracker.to_dataframe()[["step", "regions", "loss"]].values.tolist()
        [[0.0, 4.0, 2.0]]
        """
        pandas = require("pandas", extra="graph", why="a table of counts")
        rows = [
            {"step": s.step, "regions": s.count, "complete": s.complete, "seconds": s.seconds}
            | s.values
            for s in self.snapshots
        ]
        return pandas.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the counts, and on a second axis what the loop reported.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> _ = tracker.record(0, loss=2.0)
        >>> tracker.plot().get_ylabel()
        'regions'
        """
        self._need_snapshots()
        pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing counts")
        axes: Any = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        axes.plot(self.steps, self.counts, marker="o", markersize=3, color="C0", label="regions")
        axes.set(xlabel="step", ylabel="regions")
        names = list(dict.fromkeys(name for s in self.snapshots for name in s.values))
        if names:
            other = axes.twinx()
            for index, name in enumerate(names, start=1):
                values = [s.values.get(name, np.nan) for s in self.snapshots]
                other.plot(self.steps, values, color=f"C{index}", alpha=0.7, label=name)
            other.set_ylabel(", ".join(names))
            if all(value > 0 for s in self.snapshots for value in s.values.values()):
                other.set_yscale("log")
            axes.figure.legend(loc="outside upper right", ncols=1 + len(names), frameon=False)
        result: Axes = axes
        return result

    def regions(self, *, max_regions: int | None = None) -> list[Regions]:
        """All regions of every snapshot, enumerated now.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> _ = tracker.record(0)
        >>> [len(regions) for regions in tracker.regions()]
        [4]
        """
        self._need_snapshots()
        networks = [s.network for s in self.snapshots if s.network is not None]
        if len(networks) < len(self.snapshots):
            raise InvalidInputError("the networks were not kept; make the tracker with keep=True")
        return [
            enumerate_regions(network, self.domain, max_regions=max_regions, progress=False)
            for network in networks
        ]

    def film(self, path: str | Path, *, seconds: float = 6.0, dpi: int = 90, **style: Any) -> Path:
        """Write an animated GIF of the regions during training (networks with 2 inputs).

        Parameters
        ----------
        path : str or Path
            A ``.gif`` file.
        seconds : float
            How long the film takes.
        dpi : int
            Resolution.
        **style : object
            Passed on to `plotting.plot_regions`.

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> _ = tracker.record(0), tracker.record(10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tracker.film(folder + "/training.gif", dpi=30).stat().st_size > 1000
        True
        """
        file = path_of(path)
        if file.suffix.lower() != ".gif":
            raise InvalidInputError(f"{file}: expected the suffix .gif")
        pictures = self.regions()
        pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing a film")
        animation: Any = require("matplotlib.animation", extra="plot", why="drawing a film")
        figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")

        def draw(index: int) -> None:
            axes.clear()
            comfort.plot_regions(pictures[index], axes, colorbar=False, **style)
            snapshot = self.snapshots[index]
            axes.set_title(f"step {snapshot.step}: {snapshot.count:,} regions")

        rate = max(len(pictures) / seconds, 0.1)
        try:
            with replacing(file) as temporary:
                film = animation.FuncAnimation(
                    figure, draw, frames=len(pictures), init_func=lambda: None
                )
                film.save(temporary, writer=animation.PillowWriter(fps=rate), dpi=dpi)
        finally:
            pyplot.close(figure)
        return file

    def explore(self, path: str | Path | None = None, **options: Any) -> Path | Inline:
        """Write the explorer's page with a slider over the steps; see `tropicell.explore`.

        Without a path, notebooks show it.

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> tracker = RegionTracker(lambda: network, Box(-1, 1), every=10)
        >>> _ = tracker.record(0), tracker.record(10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = tracker.explore(folder + "/training.html")
        >>> page.name
        'training.html'
        """
        labels = [f"step {s.step}" for s in self.snapshots]
        return comfort.explore(self.regions(), path, labels=labels, **options)

    def _need_snapshots(self) -> None:
        if not self.snapshots:
            raise InvalidInputError("nothing was counted yet; call step() in the training loop")


class _ModelReader:
    """Gives the network as it is now."""

    def __init__(self, model: Any, example_input: Any) -> None:
        self._module = hasattr(model, "parameters") and hasattr(model, "eval")
        if self._module and example_input is None:
            raise InvalidInputError(
                "a torch module needs example_input: a tensor of the shape that it takes"
            )
        if not self._module and (not callable(model) or isinstance(model, Network)):
            raise InvalidInputError(
                "expected a torch module, or a function that returns a Network; got "
                + type(model).__name__
            )
        self._model, self._example = model, example_input

    def __call__(self) -> Network:
        if self._module:
            return from_torch(copy.deepcopy(self._model).eval(), self._example)
        return _checked(self._model())

    def __deepcopy__(self, memo: object) -> _ModelReader:
        return self  # it looks at the model that is trained

    def __getstate__(self) -> dict[str, Any]:
        name = getattr(self._model, "__qualname__", "")
        if "<" in name:  # <lambda> and <locals> have no place to be found again
            raise TypeError(
                f"a RegionTracker with the function {name} can't be pickled; give it one that is "
                "defined at the top of a module, or pickle its snapshots"
            )
        return vars(self)


def _checked(network: Any) -> Network:
    if not isinstance(network, Network):
        raise InvalidInputError(f"expected a Network, the function gave {type(network).__name__}")
    return network
