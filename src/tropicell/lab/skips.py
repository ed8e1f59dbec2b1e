"""Beyond the paper: what skip connections do to the number of regions.

The same weights with and without skips: random networks of many shapes and four initialisations,
with two and with three inputs, skips through projections, controls that change the size of signals
alone, segments along which every boundary is counted layer by layer, and trained networks. Counts
are exact. This file draws, trains and counts, and writes tables; `skips_report` reads the tables
and says what they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.lab import skips_report
from tropicell.lab.functions import FUNCTIONS, RADIUS
from tropicell.lab.random_networks import Initialisation, Parameters, random_parameters
from tropicell.lab.run import Experiment, LabRun
from tropicell.lab.skip_sets import SKIP_SETS, distinct_sets, with_projections
from tropicell.lab.skips_figures import PLACES
from tropicell.lab.trained import ClassifierJob, ImageSettings, asked, load_images, trained
from tropicell.lab.training import Schedule, TrainingTask
from tropicell.network.domains import Box, Domain, Slice, WholeSpace
from tropicell.network.network import Network
from tropicell.search.enumeration import count_regions
from tropicell.search.many import count_many

Counts = NDArray[np.int64]

INITIALISATIONS: tuple[Initialisation, ...] = ("pytorch", "glorot", "he random", "he zero")

#: The initialisations whose biases are not all zero, so that boundaries lie somewhere.
BIASED: tuple[Initialisation, ...] = ("pytorch", "glorot", "he random")

#: A segment of length 2 · RADIUS through the origin, along which boundaries are counted.
SEGMENT = Slice(np.zeros(2), [[0.8, 0.6]], Box(-RADIUS, RADIUS))

#: The skips of the paper's small classifiers.
CLASSIFIER_SKIPS = ((1, 3), (2, 4))


@dataclass(frozen=True)
class SkipSettings:
    """How much to draw, train and count.

    Attributes
    ----------
    networks : int
        Draws of weights for each shape and initialisation; all skip sets share them.
    widths, depths : tuple of int
        Neurons of a layer, hidden layers; with three inputs the smallest width alone.
    radii : tuple of float
        Regions of the widest shapes are also counted in the boxes [-r, r]².
    radius_networks : int
        Draws for that.
    controls : tuple of int
        Depths at which signals are rescaled.
    control_networks : int
        Draws for the controls, and for the boundaries on a segment.
    trained, classifiers : int
        Networks of each kind that learn each function, and each data set.
    epochs : int
        Of the training on functions: steps on all points.
    step : float
        Interval of the points.
    images : int
        Of each data set that the classifiers see, in each of 5 epochs.
    """

    networks: int = 200
    widths: tuple[int, ...] = (4, 8)
    depths: tuple[int, ...] = (3, 4, 6, 10)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4)
    radius_networks: int = 200
    controls: tuple[int, ...] = (6, 10)
    control_networks: int = 200
    trained: int = 100
    classifiers: int = 100
    epochs: int = 3000
    step: float = 0.4
    images: int = 60_000


@dataclass(frozen=True)
class Shape:
    """Random networks of one kind: everything but their skips and the draw."""

    initialisation: Initialisation
    inputs: int
    width: int
    depth: int

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells it from others with as many inputs."""
        return self.initialisation, self.width, self.depth

    def parameters(self, run: LabRun, draw: int) -> Parameters:
        """The weights of a draw: the same for all skip sets."""
        rng = run.rng(self.initialisation, self.inputs, self.width, self.depth, draw)
        sizes = [self.inputs, *[self.width] * self.depth, 1]
        return random_parameters(sizes, rng, self.initialisation)

    def networks(self, run: LabRun, skips: str, count: int) -> list[Network]:
        """The first draws with a set of skips."""
        connections = SKIP_SETS[skips](self.depth)
        drawn = (self.parameters(run, draw) for draw in range(count))
        return [Network.mlp(weights, biases, skips=connections) for weights, biases in drawn]


def run(run: LabRun, settings: SkipSettings) -> None:
    """Count everything, write it down, then say what it shows."""
    _random(run, settings)
    _radii(run, settings)
    _projections(run, settings)
    _controls(run, settings)
    _segments(run, settings)
    _functions(run, settings)
    _classifiers(run, settings)
    again(run, settings, run.folder)


def again(run: LabRun, settings: SkipSettings, folder: Path) -> None:
    """The report from the tables in a folder."""
    skips_report.write(run, folder)


# --- random networks ------------------------------------------------------------------------------


def shapes(settings: SkipSettings, inputs: int) -> list[Shape]:
    """All shapes with so many inputs."""
    widths = settings.widths if inputs == 2 else settings.widths[:1]
    return [
        Shape(initialisation, inputs, width, depth)
        for initialisation in INITIALISATIONS
        for width in widths
        for depth in settings.depths
    ]


def _random(run: LabRun, settings: SkipSettings) -> None:
    """Every shape with every distinct set of skips, in the paper's box and everywhere."""
    for inputs in (2, 3):
        rows = []
        for shape in run.steps(shapes(settings, inputs), f"{inputs} inputs"):
            counts = {
                name: _counts(run, shape, name, settings.networks)
                for name in distinct_sets(shape.depth)
            }
            rows += [
                [*shape.key, draw]
                + [
                    counts[name][k, draw] if name in counts else None
                    for name in SKIP_SETS
                    for k in range(2)
                ]
                for draw in range(settings.networks)
            ]
        columns = [f"{name} {where}" for name in SKIP_SETS for where in PLACES]
        run.table(
            f"counts-{inputs}-inputs", ["initialisation", "width", "depth", "draw", *columns], rows
        )


def _counts(run: LabRun, shape: Shape, skips: str, networks: int) -> Counts:
    """Regions in the box and everywhere, shape (2, networks)."""

    def compute() -> dict[str, Any]:
        made = shape.networks(run, skips, networks)
        everywhere = _count(run, made, WholeSpace())
        if shape.initialisation == "he zero":
            # Without biases a network is homogeneous: its regions are cones, and every box
            # around the origin meets them all.
            return {"counts": np.stack([everywhere, everywhere])}
        return {"counts": np.stack([_count(run, made, Box(-RADIUS, RADIUS)), everywhere])}

    what = {"shape": [shape.inputs, *shape.key], "skips": skips, "networks": networks}
    name = f"{shape.inputs} inputs {shape.initialisation} {shape.depth}x{shape.width} {skips}"
    counts: Counts = run.unit(name, what, compute)["counts"]
    return counts


def _count(run: LabRun, networks: Sequence[Network], domain: Domain) -> Counts:
    return count_many(networks, domain, workers=run.options.workers, progress=False)


def _radii(run: LabRun, settings: SkipSettings) -> None:
    """Boxes of growing radius, for the widest networks with two inputs."""
    rows = []
    cells = [
        (Shape(initialisation, 2, max(settings.widths), depth), name)
        for initialisation in BIASED
        for depth in settings.depths
        for name in distinct_sets(depth)
    ]
    for shape, name in run.steps(cells, "growing boxes"):

        def compute(shape: Shape = shape, name: str = name) -> dict[str, Any]:
            made = shape.networks(run, name, settings.radius_networks)
            domains: list[Domain] = [Box(-r, r) for r in settings.radii]
            return {"counts": np.stack([_count(run, made, d) for d in [*domains, WholeSpace()]])}

        what = {
            "shape": shape.key,
            "skips": name,
            "radii": settings.radii,
            "networks": settings.radius_networks,
        }
        unit = f"radii {shape.initialisation} {shape.depth} {name}"
        counts = run.unit(unit, what, compute)["counts"]
        rows += [
            [*shape.key, name, radius, values.mean(), values.std(ddof=1) / len(values) ** 0.5]
            for radius, values in zip([*settings.radii, None], counts, strict=True)
        ]
    run.table(
        "radii",
        ["initialisation", "width", "depth", "skips", "radius", "mean", "standard error"],
        rows,
    )


def _projections(run: LabRun, settings: SkipSettings) -> None:
    """Networks whose layers shrink, with residual skips through random matrices."""
    rows = []
    cells = [(kind, depth) for kind in INITIALISATIONS for depth in settings.depths]
    for initialisation, depth in run.steps(cells, "projections"):
        counts = _projected(run, initialisation, depth, settings.networks)
        rows += [[initialisation, depth, draw, *counts[:, draw]] for draw in range(counts.shape[1])]
    columns = [f"{name} {w}" for name in ("none", "projection") for w in PLACES]
    run.table("projections", ["initialisation", "depth", "draw", *columns], rows)


def tapered(depth: int) -> list[int]:
    """Widths from 10 to 4 for so many layers.

    Examples
    --------
    >>> tapered(3), tapered(6)
    ([10, 7, 4], [10, 9, 8, 6, 5, 4])
    """
    return [int(width) for width in np.linspace(10, 4, depth).round()]


def _projected(run: LabRun, initialisation: Initialisation, depth: int, networks: int) -> Counts:
    """Regions without and with projections, in the box and everywhere, shape (4, networks)."""
    widths = tapered(depth)

    def compute() -> dict[str, Any]:
        made: tuple[list[Network], list[Network]] = ([], [])
        for draw in range(networks):
            rng = run.rng("projection", initialisation, depth, draw)
            weights, biases = random_parameters([2, *widths, 1], rng, initialisation)
            matrices = {
                (k, end): random_parameters([widths[k - 1], widths[end - 2]], rng, initialisation)[
                    0
                ][0]
                for k, end in SKIP_SETS["residual"](depth)
            }
            made[0].append(Network.mlp(weights, biases))
            made[1].append(with_projections(weights, biases, matrices))
        counts = []
        for networks_ in made:
            everywhere = _count(run, networks_, WholeSpace())
            zero = initialisation == "he zero"
            inside = everywhere if zero else _count(run, networks_, Box(-RADIUS, RADIUS))
            counts += [inside, everywhere]
        return {"counts": np.stack(counts)}

    what = {"initialisation": initialisation, "widths": widths, "networks": networks}
    counts: Counts = run.unit(f"projections {initialisation} {depth}", what, compute)["counts"]
    return counts


# --- is it the size of signals? -------------------------------------------------------------------


def layer_inputs(network: Network, points: FloatArray) -> list[FloatArray]:
    """Pre-activations of all layers at points, without the biases: what depends on the input."""
    values = [points]
    found = []
    for layer in network.layers:
        before = layer.affine(values)
        found.append(before - layer.affine.bias)
        values.append(np.maximum(before, 0))
    return found


def variations(network: Network, points: FloatArray) -> FloatArray:
    """Deviation over the points of each layer's pre-activations: root mean square over neurons.

    Examples
    --------
    >>> network = Network.mlp([[[3.0]], [[1.0]], [[1.0]]])
    >>> variations(network, np.array([[-1.0], [1.0]])).tolist()
    [3.0, 1.5]
    """
    return np.array([np.sqrt(z.var(axis=0).mean()) for z in layer_inputs(network, points)])


def rescaled(
    parameters: Parameters, skips: Sequence[tuple[int, int]], wanted: FloatArray, points: FloatArray
) -> Network:
    """The network whose layers' weights are multiplied so that their variations are as wanted.

    A layer that does not vary at all stays as it is.
    """
    weights, biases = list(parameters[0]), parameters[1]
    values = [points]
    for layer in range(len(weights) - 1):
        into = values[-1] + sum(values[k] for k, end in skips if end == layer + 1)
        signal = into @ weights[layer].T
        found = float(np.sqrt(signal.var(axis=0).mean()))
        if layer and found > 0 and wanted[layer] > 0:
            weights[layer] = weights[layer] * (wanted[layer] / found)
            signal = into @ weights[layer].T
        values.append(np.maximum(signal + biases[layer], 0))
    return Network.mlp(weights, biases, skips=skips)


#: Kinds of networks in the controls: as they are, and with the signals of the other kind.
CONTROLS = ("none", "skips", "none scaled", "skips scaled")


def _controls(run: LabRun, settings: SkipSettings) -> None:
    """Without skips but with signals as large as with them, and the other way round."""
    rows = []
    cells = [
        (Shape(initialisation, 2, max(settings.widths), depth), name)
        for initialisation in BIASED
        for depth in settings.controls
        for name in ("residual", "dense")
    ]
    for shape, name in run.steps(cells, "rescaled signals"):
        found = run.unit(
            f"controls {shape.initialisation} {shape.depth} {name}",
            {"shape": shape.key, "skips": name, "networks": settings.control_networks},
            partial(_rescale_and_count, run, shape, name, settings.control_networks),
        )["counts"]
        rows += [
            [*shape.key, name, draw, *found[:, draw]] for draw in range(settings.control_networks)
        ]
    columns = [f"{kind} {where}" for kind in CONTROLS for where in PLACES]
    run.table("controls", ["initialisation", "width", "depth", "skips", "draw", *columns], rows)


def _rescale_and_count(run: LabRun, shape: Shape, skips: str, networks: int) -> dict[str, Any]:
    points = run.rng("points").uniform(-RADIUS, RADIUS, size=(400, 2))
    connections = SKIP_SETS[skips](shape.depth)
    made: dict[str, list[Network]] = {kind: [] for kind in CONTROLS}
    for draw in range(networks):
        parameters = shape.parameters(run, draw)
        plain = Network.mlp(*parameters)
        skipped = Network.mlp(*parameters, skips=connections)
        made["none"].append(plain)
        made["skips"].append(skipped)
        sizes = [variations(network, points) for network in (skipped, plain)]
        made["none scaled"].append(rescaled(parameters, (), sizes[0], points))
        made["skips scaled"].append(rescaled(parameters, connections, sizes[1], points))
    counts = [
        _count(run, members, domain)
        for members in made.values()
        for domain in (Box(-RADIUS, RADIUS), WholeSpace())
    ]
    return {"counts": np.stack(counts)}


# --- where are the boundaries? --------------------------------------------------------------------


def _segments(run: LabRun, settings: SkipSettings) -> None:
    """Boundaries of every layer on a segment, and how much the layers vary in the box."""
    crossings, sizes = [], []
    shape_of = partial(Shape, inputs=2, width=max(settings.widths), depth=max(settings.depths))
    cells = [
        (shape_of(initialisation), name)
        for initialisation in BIASED
        for name in distinct_sets(max(settings.depths))
    ]
    for shape, name in run.steps(cells, "boundaries on a segment"):
        found = run.unit(
            f"segments {shape.initialisation} {name}",
            {"shape": shape.key, "skips": name, "networks": settings.control_networks},
            partial(_cross, run, shape, name, settings.control_networks),
        )
        for draw in range(settings.control_networks):
            crossings.append([*shape.key, name, draw, *found["crossings"][:, draw]])
            size = [f"{value:.4g}" for value in found["sizes"][:, draw]]
            sizes.append([*shape.key, name, draw, *size])
    layers = [f"layer {layer}" for layer in range(1, max(settings.depths) + 1)]
    header = ["initialisation", "width", "depth", "skips", "draw", *layers]
    run.table("segments", header, crossings)
    run.table("variations", header, sizes)


def _cross(run: LabRun, shape: Shape, skips: str, networks: int) -> dict[str, Any]:
    """Boundaries that each layer adds on the segment, and variations, shape (layers, networks)."""
    points = run.rng("points").uniform(-RADIUS, RADIUS, size=(400, 2))
    made = shape.networks(run, skips, networks)
    pieces = [np.ones(networks, np.int64)]
    for layer in range(1, shape.depth + 1):
        pieces.append(_count(run, [network.first_layers(layer) for network in made], SEGMENT))
    sizes = np.stack([variations(network, points) for network in made], axis=1)
    return {"crossings": np.diff(np.stack(pieces), axis=0), "sizes": sizes}


# --- trained networks -----------------------------------------------------------------------------


#: Layers and neurons of the networks that learn functions, and of the classifiers.
_REGRESSION, _CLASSIFIER = (6, 6), (4, 6)


def _functions(run: LabRun, settings: SkipSettings) -> None:
    """Networks that learn the paper's functions from the same first weights."""
    depth, width = _REGRESSION
    times = [0, settings.epochs // 10, settings.epochs]
    schedule = Schedule(settings.epochs, 0.01, "mse", checkpoints=times)
    kinds = [(function, name) for function in FUNCTIONS for name in distinct_sets(depth)]
    jobs = []
    for function, name in kinds:
        points, values = function.samples(settings.step)
        tests, test_values = function.samples(settings.step, settings.step / 2)
        task = TrainingTask(
            [2, *[width] * depth, 1],
            [run.torch_seed(function.name, index) for index in range(settings.trained)],
            points,
            values,
            skips=SKIP_SETS[name](depth),
            test_inputs=tests,
            test_targets=test_values,
        )
        about = {"function": function.formula, "step": settings.step}
        jobs.append(ClassifierJob(f"{function.name} {name}".replace("φ", "phi"), task, about))
    rows = []
    results = trained(run, jobs, schedule)
    for (function, name), job, found in run.steps(
        list(zip(kinds, jobs, results, strict=True)), "counting trained networks"
    ):
        flat = [network for networks in found.networks for network in networks]

        def compute(flat: list[Network] = flat) -> dict[str, Any]:
            domains = (Box(-RADIUS, RADIUS), WholeSpace())
            return {"counts": np.stack([_count(run, flat, domain) for domain in domains])}

        what = job.asked(schedule, 0) | {"seed": job.task.seeds}
        counts = run.unit(f"{job.name} counts", what, compute)["counts"]
        counts = counts.reshape(2, len(times), settings.trained)
        rows += [
            [function.name, name, index, time, *counts[:, t, index]]
            + [f"{loss[t, index]:.4g}" for loss in (found.train_loss, found.test_loss)]
            for index in range(settings.trained)
            for t, time in enumerate(times)
        ]
    header = ["function", "skips", "network", "epoch", *PLACES]
    run.table("functions", [*header, "training loss", "test loss"], rows)


def _classifiers(run: LabRun, settings: SkipSettings) -> None:
    """Small classifiers of images from the same first weights, all their regions over R^n."""
    chosen = ImageSettings(train=settings.images)
    data, missing = load_images(run, chosen)
    run.numbers["data_sets_left_out"] = missing
    schedule = Schedule(
        chosen.epochs,
        chosen.learning_rate,
        "cross-entropy",
        chosen.batch_size,
        losses=False,
        checkpoints=[0, chosen.epochs],
    )
    depth, width = _CLASSIFIER
    rows = []
    for name, images in run.steps(data.items(), "classifiers", len(data)):
        for kind, skips in (("none", ()), ("skips", CLASSIFIER_SKIPS)):
            task = TrainingTask(
                [images.x_train.shape[1], *[width] * depth, len(images.labels)],
                [run.torch_seed(name, index) for index in range(settings.classifiers)],
                images.x_train,
                images.y_train,
                skips=skips,
            )
            job = ClassifierJob(f"{name} {kind}", task, asked(run, chosen, images))
            (found,) = trained(run, [job], schedule)
            for index in range(settings.classifiers):
                pair = [networks[index] for networks in found.networks]
                counts = run.unit(
                    f"{name} {kind} regions {index}",
                    {"networks": [network.fingerprint for network in pair]},
                    partial(_everywhere, run, pair),
                )["counts"]
                rows.append([name, kind, index, *counts])
    run.table("classifiers", ["data", "skips", "network", "before", "after"], rows)


def _everywhere(run: LabRun, networks: Sequence[Network]) -> dict[str, Any]:
    workers = run.options.workers
    return {"counts": [count_regions(n, workers=workers, progress=False) for n in networks]}


EXPERIMENT = Experiment(
    name="skips",
    title="What do skip connections do to the number of regions?",
    run=run,
    full=SkipSettings(),
    quick=SkipSettings(
        networks=12,
        depths=(3, 6),
        widths=(4,),
        radii=(1.0, 10.0, 1e3),
        radius_networks=4,
        controls=(6,),
        control_networks=8,
        trained=3,
        classifiers=2,
        epochs=100,
        step=2.0,
        images=1280,
    ),
    again=again,
)
