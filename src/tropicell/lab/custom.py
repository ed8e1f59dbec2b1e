"""The analysis of skip connections for a model of the user.

Regions of the same weights with and without the model's skip connections, in boxes of growing
radius and over the whole plane, layer by layer, with pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidInputError
from tropicell.explorer import explore
from tropicell.lab.pictures import WITH, WITHOUT, figure
from tropicell.lab.report import code
from tropicell.lab.run import Experiment, Run
from tropicell.lab.skip_sets import without_skips
from tropicell.lab.statistics import mann_whitney, paired_ratio, summary
from tropicell.lab.texts import mean_text, p_text, skips_text
from tropicell.lab.user_model import user_networks, user_points
from tropicell.network.domains import Box, Domain, Slice, WholeSpace
from tropicell.network.network import Network
from tropicell.plotting import plot_regions
from tropicell.search.enumeration import enumerate_regions
from tropicell.search.many import count_many

COLORS = {"as it is": WITH, "without skips": WITHOUT}


@dataclass(frozen=True)
class Settings:
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


def run(run: Run, settings: Settings) -> None:
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


def _view(run: Run, network: Network) -> View:
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


def _counts(run: Run, name: str, networks: list[Network], domain: Domain) -> NDArray[np.int64]:
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
    run: Run,
    settings: Settings,
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
    rows = []
    for i, name in enumerate(names):
        samples = {kind: values[i] for kind, values in counts.items()}
        row = [name, *(_mean(values) for values in samples.values())]
        if len(samples) == 2:
            a, b = samples.values()
            row += [f"{a.mean() / b.mean():.2f}"]
            if many:
                row[-1] += f" ± {paired_ratio(a, b)[1]:.2f}"
                row += [p_text(mann_whitney(a, b).p)]
        rows.append(row)
    header = ["where", *counts]
    header += ["ratio"] * (len(counts) == 2) + ["U test, p"] * (len(counts) == 2 and many)
    run.report.table(
        header,
        rows,
        "Regions"
        + (" (mean ± standard error)" if many else "")
        + (
            ". Without skips: the same weights, connections that jump over layers left out."
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
    run: Run,
    settings: Settings,
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
    axes[0, 1].set_ylabel("regions of the first layers")
    run.picture(
        made,
        "counts",
        "Left: regions in boxes of growing radius (thin: every network, thick: the mean). Right: "
        f"what each layer adds, in the box of radius {settings.picture:g}.",
    )


def _draw_regions(
    run: Run, view: View, settings: Settings, kinds: dict[str, list[Network]]
) -> None:
    """The first network, in a picture and a page; networks with one input have neither."""
    box = view.domain(settings.picture)
    found = {
        kind: enumerate_regions(members[0], box, progress=False) for kind, members in kinds.items()
    }
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
    full=Settings(),
    quick=Settings(networks=4, radii=(1.0, 10.0)),
)
