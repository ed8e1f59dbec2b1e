"""The analysis of skip connections for a model of the user.

Regions of the same weights with and without the model's skip connections, in boxes of growing
radius and over the whole plane, layer by layer, with pictures.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.npz import read_npz
from tropicell._runtime.paths import check_file, in_file
from tropicell.errors import InvalidInputError, ModelFileError, TropicellError
from tropicell.explorer import explore
from tropicell.importers.files import load
from tropicell.importers.sklearn import from_sklearn
from tropicell.importers.torch.importer import from_torch
from tropicell.lab.run import Experiment, LabRun, code
from tropicell.lab.skip_sets import without_skips
from tropicell.lab.statistics import holm, paired_effect, summary
from tropicell.lab.texts import (
    WITH,
    WITHOUT,
    figure,
    layer_axis,
    mean_text,
    p_text,
    skips_text,
)
from tropicell.network.domains import Box, Domain, Slice, WholeSpace
from tropicell.network.network import Network
from tropicell.plotting import plot_regions
from tropicell.search.enumeration import all_regions
from tropicell.search.many import count_many

# --- models of the user: a file of a network, or a function in a Python file ----------------------

# A Python file is run, with all that this means, and only because the user has named it. Files of
# networks are read without running anything.

#: Arrays of a data file in which points are looked for.
_POINTS = ("points", "x_train", "x")


def user_networks(model: str, count: int) -> list[Network]:
    """Networks of the user's model.

    Parameters
    ----------
    model : str
        ``file.py:function``, or a file that `tropicell.load` reads.
    count : int
        How many to make, if the function takes a seed: it is called with 0, 1, ….

    Returns
    -------
    list of Network
        One, if the model is a file or the function takes no argument.

    Raises
    ------
    InvalidInputError
        If there is no such file or function, or it does not give a model.
    """
    file, colon, name = model.rpartition(":")
    if not colon or not file.endswith(".py"):
        if model.endswith(".py"):
            raise InvalidInputError(
                f"{model}: add the function that makes the model: {model}:build"
            )
        return [load(model)]
    build = _function(Path(file), name)
    seeded = bool(inspect.signature(build).parameters)
    seeds: list[tuple[int, ...]] = [(seed,) for seed in range(count)] if seeded else [()]
    return [_network(_call(build, seed, model), model) for seed in seeds]


def user_points(file: Path) -> NDArray[np.float64]:
    """Data points of an ``.npz`` file, from its array ``points``, ``x_train`` or ``x``, as rows."""
    arrays = read_npz(file)
    for name in _POINTS:
        if name in arrays:
            with in_file(file):
                points = np.asarray(arrays[name], dtype=np.float64)
            if points.ndim < 2 or not points.size or not np.isfinite(points).all():
                raise InvalidInputError(
                    f"{file}: {name} must be finite numbers of shape (points, …), "
                    f"got shape {points.shape}"
                )
            return points.reshape(len(points), -1)
    raise InvalidInputError(
        f"{file}: expected an array {', '.join(_POINTS[:-1])} or {_POINTS[-1]}, "
        f"found {', '.join(sorted(arrays)) or 'nothing'}"
    )


def _function(file: Path, name: str) -> Callable[..., Any]:
    try:
        check_file(file)
    except ModelFileError as error:
        raise InvalidInputError(str(error)) from None
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None  # noqa: PT018 - it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.absolute().parent))  # its own imports, as if it were run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInputError(f"{file} failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    build = getattr(module, name, None)
    if not callable(build):
        raise InvalidInputError(f"{file}: there is no function {name!r}")
    found: Callable[..., Any] = build
    return found


def _call(build: Callable[..., Any], seed: tuple[int, ...], model: str) -> Any:
    try:
        return build(*seed)
    except TropicellError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{model} failed: {type(error).__name__}: {error}") from error


def _network(made: Any, model: str) -> Network:
    if isinstance(made, Network):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        return from_torch(*made)
    if _is_torch(made):
        return from_torch(made, np.zeros((1, _inputs(made, model))))
    if hasattr(made, "get_params"):
        return from_sklearn(made)
    raise InvalidInputError(
        f"{model} gave a {type(made).__name__}; expected a tropicell.Network, a torch.nn.Module "
        "(or a pair of it and an example input) or a fitted scikit-learn estimator"
    )


def _is_torch(made: Any) -> bool:
    return any(
        c.__module__.startswith("torch.") and c.__name__ == "Module" for c in type(made).mro()
    )


def _inputs(module: Any, model: str) -> int:
    """Inputs of the first linear layer."""
    for part in module.modules():
        if hasattr(part, "in_features"):
            return int(part.in_features)
    raise InvalidInputError(
        f"{model}: the module has no linear layer that tells the number of inputs; "
        "return a pair of the module and an example input"
    )


COLORS = {"as it is": WITH, "without skips": WITHOUT}


@dataclass(frozen=True)
class CustomSettings:
    """How much to look at.

    Attributes
    ----------
    networks : int
        Models to make, if the user's function takes a seed.
    radii : tuple of float
        Boxes to count in; with data, 1 is about the size of the data.
    picture : float
        Radius of the box that is drawn and counted layer by layer.
    """

    networks: int = 20
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    picture: float = 10.0


@dataclass(frozen=True)
class View:
    """Where to look: a box of the input space, or of a plane through it.

    Attributes
    ----------
    text : str
        For people.
    centre : ndarray
        Middle of the boxes, in the view's coordinates.
    scale : float
        What a radius of 1 means.
    plane : (origin, directions), optional
        For models with more than two inputs.
    """

    text: str
    centre: NDArray[np.float64]
    scale: float
    plane: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def domain(self, radius: float | None) -> Domain:
        """The box of a radius; None: everything."""
        inside: Domain = WholeSpace()
        if radius is not None:
            inside = Box(self.centre - radius * self.scale, self.centre + radius * self.scale)
        return inside if self.plane is None else Slice(*self.plane, inside)


def run(run: LabRun, settings: CustomSettings) -> None:
    """Count the regions of the user's networks with and without their skips."""
    if run.options.model is None:
        raise InvalidInputError(
            "custom needs a model: --model my_module.py:build (a function that gives it) or a file"
        )
    networks = user_networks(run.options.model, settings.networks)
    view = _view(run, networks[0])
    kinds = {"as it is": networks}
    if networks[0].skips:
        kinds["without skips"] = [without_skips(network) for network in networks]
    domains = [view.domain(radius) for radius in (*settings.radii, None)]
    box = view.domain(settings.picture)
    counts, layers = {}, {}
    for name, members in run.steps(kinds.items(), "counting regions"):
        counts[name] = np.stack([_counts(run, name, members, domain) for domain in domains])
        layers[name] = np.stack(
            [
                _counts(run, f"{name} {i}", [n.first_layers(i) for n in members], box)
                for i in range(1, networks[0].depth + 1)
            ]
        )
    _write(run, settings, view, networks, counts, layers)
    _draw_counts(run, settings, counts, layers)
    _draw_regions(run, view, settings, kinds)


def _view(run: LabRun, network: Network) -> View:
    """Around the data if there are any, else around the origin; at most two dimensions."""
    n, file = network.n_inputs, run.options.data
    if file is None:
        if n <= 2:
            return View("boxes around the origin", np.zeros(n), 1.0)
        basis = np.linalg.qr(run.rng("plane").normal(size=(n, 2)))[0].T
        return View(
            "boxes of a random plane through the origin", np.zeros(2), 1.0, (np.zeros(n), basis)
        )
    points = user_points(file)
    if points.shape[1] != n:
        raise InvalidInputError(
            f"{file}: points have {points.shape[1]} numbers, the model {n} inputs"
        )
    if n <= 2:
        low, high = points.min(axis=0), points.max(axis=0)
        return View("boxes around the data", (low + high) / 2, float((high - low).max() / 2) or 1.0)
    if len(points) < 3:
        raise InvalidInputError(f"{file}: a plane needs three points, there are {len(points)}")
    chosen = points[run.rng("points").choice(len(points), 3, replace=False)]
    plane = (chosen[0], chosen[1:] - chosen[0])
    return View("boxes of the plane through three data points", np.full(2, 1 / 3), 1.0, plane)


def _counts(run: LabRun, name: str, networks: list[Network], domain: Domain) -> NDArray[np.int64]:
    def compute() -> dict[str, Any]:
        workers = run.options.workers
        return {"counts": count_many(networks, domain, workers=workers, progress=False)}

    asked = {"networks": [network.fingerprint for network in networks], "domain": _key(domain)}
    counts: NDArray[np.int64] = run.unit(name, asked, compute)["counts"]
    return counts


def _key(domain: Domain) -> list[Any]:
    """What tells one domain from another."""
    if isinstance(domain, Slice):
        return [domain.origin, domain.directions, repr(domain.inside)]
    return [repr(domain)]


def _write(
    run: LabRun,
    settings: CustomSettings,
    view: View,
    networks: list[Network],
    counts: dict[str, NDArray[np.int64]],
    layers: dict[str, NDArray[np.int64]],
) -> None:
    names = [f"r = {radius:g}" for radius in settings.radii] + ["everything"]
    first = networks[0]
    many = len(networks) > 1
    run.report.text(
        f"The model {code(run.options.model)}: {first.n_inputs} inputs, layers of "
        f"{', '.join(map(str, first.widths))} neurons, {first.n_outputs} outputs, skips: "
        f"{skips_text(first.skips)}. "
        + (f"{len(networks)} networks, made with the seeds 0, 1, …. " if many else "")
        + f"Regions counted exactly in {view.text}, and everywhere there."
    )
    rows = [
        [name, *(_mean(values[i]) for values in counts.values())] for i, name in enumerate(names)
    ]
    header = ["where", *counts]
    if len(counts) == 2:
        a, b = counts.values()
        effects = [paired_effect(a[i], b[i]) for i in range(len(names))]
        adjusted = holm([effect.p for effect in effects])
        header.append("factor")
        for row, effect, p in zip(rows, effects, adjusted, strict=True):
            row.append(f"×{effect.factor:.2f}")
            if many:
                row[-1] += f" ({effect.low:.2f}–{effect.high:.2f})"
                row += [f"{100 * effect.more:.0f} %", p_text(p)]
        if many:
            header += ["networks with more", "signed-rank test, p"]
        run.numbers["effects"] = {
            name: vars(effect) | {"corrected_p": p}
            for name, effect, p in zip(names, effects, adjusted, strict=True)
        }
    run.report.table(
        header,
        rows,
        "Regions"
        + (" (mean ± standard error)" if many else "")
        + (
            ". Without skips: the same weights, connections that jump over layers left out."
            + (
                " Factor: geometric mean over networks with a 95 % interval; p: Wilcoxon's "
                "signed-rank test of the pairs, two-sided, corrected for the number of rows (Holm)."
                if many
                else ""
            )
            if len(counts) == 2
            else ". The model has no skip connections, so there is nothing to compare with."
        ),
    )
    run.numbers["model"] = {"widths": first.widths, "skips": first.skips}
    run.numbers["regions"] = {
        kind: dict(zip(names, values.tolist(), strict=True)) for kind, values in counts.items()
    }
    run.numbers["by_layer"] = {kind: values.tolist() for kind, values in layers.items()}
    run.table(
        "counts",
        ["kind", "network", *names],
        [
            [kind, i, *column]
            for kind, values in counts.items()
            for i, column in enumerate(values.T)
        ],
    )


def _mean(values: NDArray[np.int64]) -> str:
    return mean_text(summary(values)) if len(values) > 1 else str(values[0])


def _draw_counts(
    run: LabRun,
    settings: CustomSettings,
    counts: dict[str, NDArray[np.int64]],
    layers: dict[str, NDArray[np.int64]],
) -> None:
    made, axes = figure(1, 2)
    end = settings.radii[-1] * 10
    for kind, color in COLORS.items():
        if kind in counts:
            axes[0, 0].plot([*settings.radii, end], counts[kind], color=color, alpha=0.2)
            means = counts[kind].mean(axis=1)
            axes[0, 0].plot([*settings.radii, end], means, color=color, marker=".", label=kind)
            steps = np.arange(1, len(layers[kind]) + 1)
            axes[0, 1].plot(steps, layers[kind].mean(axis=1), color=color, marker=".")
    axes[0, 0].set_xscale("log")
    ticks = [*settings.radii, end]
    axes[0, 0].set_xticks(ticks, [*(f"{radius:g}" for radius in settings.radii), "all"])
    axes[0, 0].minorticks_off()
    axes[0, 0].set_xlabel("radius of the box")
    axes[0, 0].set_ylabel("regions")
    axes[0, 0].legend(frameon=False)
    axes[0, 1].set_xlabel("layers")
    layer_axis(axes[0, 1], max(map(len, layers.values())))
    axes[0, 1].set_ylabel("regions of the first layers")
    run.picture(
        made,
        "counts",
        "Left: regions in boxes of growing radius (thin: every network, thick: the mean). Right: "
        f"what each layer adds, in the box of radius {settings.picture:g}.",
    )


def _draw_regions(
    run: LabRun, view: View, settings: CustomSettings, kinds: dict[str, list[Network]]
) -> None:
    """The first network, in a picture and a page; networks with one input have neither."""
    box = view.domain(settings.picture)
    found = {kind: all_regions(members[0], box, progress=False) for kind, members in kinds.items()}
    if len(view.centre) != 2:
        return
    made, axes = figure(1, len(found), size=(4.2, 4.2))
    for ax, (kind, regions) in zip(axes[0], found.items(), strict=True):
        plot_regions(regions, ax)
        ax.set_title(f"{kind}: {len(regions)} regions", fontsize=10)
    run.picture(made, "regions", "The regions of the first network.")
    explore(
        list(found.values()),
        run.folder / "explore.html",
        labels=list(found),
        side_by_side=len(found) == 2,
    )
    run.report.text("To explore them: `explore.html`.")


EXPERIMENT = Experiment(
    name="custom",
    title="Regions of your model, with and without its skip connections",
    run=run,
    full=CustomSettings(),
    quick=CustomSettings(networks=4, radii=(1.0, 10.0)),
)
