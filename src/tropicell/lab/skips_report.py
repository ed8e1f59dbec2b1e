"""What the tables of the experiment on skip connections show: its report, written from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.lab.functions import RADIUS
from tropicell.lab.random_networks import GAINS
from tropicell.lab.run import LabRun, copy_tables, read_table, verdict_of
from tropicell.lab.skip_sets import SKIP_SETS, distinct_sets, same_set
from tropicell.lab.skips_figures import (
    NAMES,
    PLACES,
    SETS,
    Rows,
    draw_controls,
    draw_effects,
    draw_layers,
    draw_radii,
)
from tropicell.lab.statistics import (
    LEVEL,
    Interval,
    PairedEffect,
    holm,
    mean_difference,
    paired_effect,
    slope,
)
from tropicell.lab.texts import interval_text, percent

#: Counts of a table by what comes before its draws, then by column.
Cells = dict[tuple[str, ...], dict[str, NDArray[np.float64]]]


@dataclass(frozen=True)
class Found:
    """A comparison with networks without skips, and its p-value among all comparisons."""

    key: tuple[str, ...]
    skips: str
    where: str
    effect: PairedEffect
    p: float = math.nan

    @property
    def sign(self) -> int:
        """1 and -1 if skips surely add or take regions, else 0."""
        return 0 if self.p >= LEVEL else 1 if self.effect.factor > 1 else -1

    @property
    def text(self) -> str:
        """The factor with its interval; bold if it surely differs from 1."""
        e = self.effect
        text = f"×{e.factor:.2f} ({e.low:.2f}–{e.high:.2f})"
        return f"**{text}**" if self.sign else text


def write(run: LabRun, folder: Path) -> None:
    """Everything that there is to say about the tables in a folder."""
    two, three = (_cells(read_table(folder, f"counts-{n}-inputs"), 3) for n in (2, 3))
    projections = _cells(read_table(folder, "projections"), 2)
    controls = _cells(read_table(folder, "controls"), 4)
    crossings = _cells(read_table(folder, "segments"), 4)
    sizes = _cells(read_table(folder, "variations"), 4)
    found = {
        "2 inputs": _effects(two),
        "3 inputs": _effects(three),
        "projections": _projected(projections),
    }
    found = _corrected(found)
    trained = _trained(read_table(folder, "functions"))
    classifiers = _classifiers(read_table(folder, "classifiers"))
    copy_tables(run, folder)
    _write_effects(run, found, trained, classifiers)
    laws = {name: _laws(run, name, cells) for name, cells in (("2", two), ("3", three))}
    shares = _shares(run, controls)
    bounds = _bounds(run, crossings, sizes)
    _abstract(run, found, shares, trained, classifiers, two)
    _design(run, two, three, controls, read_table(folder, "radii"))
    _random(run, found)
    _depth_laws(run, laws)
    _boundaries(run, bounds)
    _controls(run, shares)
    _trained_report(run, trained, classifiers)
    _conclusion(run, found, shares, bounds)
    draw_effects(run, found["2 inputs"])
    draw_layers(run, bounds)
    draw_radii(run, read_table(folder, "radii"))
    draw_controls(run, shares)


# --- from tables to numbers -----------------------------------------------------------------------


def _cells(rows: Rows, keys: int) -> Cells:
    """Columns of numbers by the first so many columns; the next one tells draws apart."""
    groups: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(list(row.values())[:keys]), []).append(row)
    return {
        key: {
            name: np.array([float(row[name]) for row in members])
            for name in list(members[0])[keys + 1 :]
            if members[0][name] != ""
        }
        for key, members in groups.items()
    }


def _places(key: tuple[str, ...]) -> Sequence[str]:
    """Without biases regions are cones: all places are the same."""
    return PLACES[1:] if key[0] == "he zero" else PLACES


def _effects(cells: Cells) -> list[Found]:
    return [
        Found(key, name, where, paired_effect(columns[f"{name} {where}"], columns[f"none {where}"]))
        for key, columns in cells.items()
        for name in SETS
        if f"{name} box" in columns
        for where in _places(key)
    ]


def _projected(cells: Cells) -> list[Found]:
    return [
        Found(
            key,
            "projection",
            where,
            paired_effect(columns[f"projection {where}"], columns[f"none {where}"]),
        )
        for key, columns in cells.items()
        for where in _places(key)
    ]


def _corrected(found: Mapping[str, Sequence[Found]]) -> dict[str, list[Found]]:
    """All p-values corrected for the number of all comparisons together."""
    everything = [each for members in found.values() for each in members]
    adjusted = iter(holm([each.effect.p for each in everything]))
    return {
        name: [Found(m.key, m.skips, m.where, m.effect, next(adjusted)) for m in members]
        for name, members in found.items()
    }


def _trained(rows: Rows) -> list[Found]:
    """Networks that learnt a function: first weights are shared, so networks are pairs."""
    epochs = sorted({int(row["epoch"]) for row in rows})
    values: dict[tuple[str, str, int], dict[str, list[float]]] = {}
    for row in rows:
        columns = values.setdefault((row["function"], row["skips"], int(row["epoch"])), {})
        for where in PLACES:
            columns.setdefault(where, []).append(float(row[where]))
    found = []
    for function, skips, epoch in values:
        if skips == "none" or epoch not in (epochs[0], epochs[-1]):
            continue
        when = "before" if epoch == epochs[0] else "after"
        for where in PLACES:
            a, b = (values[function, name, epoch][where] for name in (skips, "none"))
            found.append(Found((function, when), skips, where, paired_effect(a, b)))
    return _corrected({"": found})[""]


def _classifiers(rows: Rows) -> list[Found]:
    found = []
    for data in dict.fromkeys(row["data"] for row in rows):
        for when in ("before", "after"):
            a, b = (
                [float(r[when]) for r in rows if (r["data"], r["skips"]) == (data, kind)]
                for kind in ("skips", "none")
            )
            found.append(Found((data, when), "1→3, 2→4", "all", paired_effect(a, b)))
    return _corrected({"": found})[""] if found else []


def _write_effects(
    run: LabRun, found: Mapping[str, Sequence[Found]], *more: Sequence[Found]
) -> None:
    """All comparisons as a table, and how many go which way."""
    groups = [*found.items(), ("functions", more[0]), ("classifiers", more[1])]
    run.table(
        "effects",
        [
            "group",
            "networks",
            "skips",
            "where",
            "pairs",
            "factor",
            "low",
            "high",
            "more",
            "p",
            "corrected p",
        ],
        [
            [group, " ".join(e.key), e.skips, e.where, e.effect.n]
            + [f"{x:.4f}" for x in (e.effect.factor, e.effect.low, e.effect.high, e.effect.more)]
            + [f"{p:.3g}" for p in (e.effect.p, e.p)]
            for group, members in groups
            for e in members
        ],
    )
    run.numbers["effects"] = {
        group: {where: _tally([e for e in members if e.where == where]) for where in PLACES}
        for group, members in groups
    }


def _tally(found: Iterable[Found]) -> dict[str, Any]:
    """How many comparisons surely go up or down, and the range of the factors."""
    members = list(found)
    factors = [each.effect.factor for each in members]
    return {
        "comparisons": len(members),
        "more": sum(each.sign > 0 for each in members),
        "fewer": sum(each.sign < 0 for each in members),
        "least": min(factors, default=math.nan),
        "most": max(factors, default=math.nan),
    }


def _of(found: Iterable[Found], initialisation: str, where: str) -> list[Found]:
    return [each for each in found if each.key[0] == initialisation and each.where == where]


def _tally_text(found: Sequence[Found]) -> str:
    """How often skips add or take regions, in words."""
    tally = _tally(found)
    if not tally["comparisons"]:
        return "nothing was compared"
    return (
        f"more regions in {tally['more']} and fewer in {tally['fewer']} of {tally['comparisons']} "
        f"designs ({percent(tally['least'])} to {percent(tally['most'])})"
    )


# --- the parts of the report ----------------------------------------------------------------------


def _abstract(
    run: LabRun,
    found: Mapping[str, Sequence[Found]],
    shares: Sequence[Mapping[str, Any]],
    trained: Sequence[Found],
    classifiers: Sequence[Found],
    two: Cells,
) -> None:
    report = run.report
    draws = len(next(iter(two.values()))["none box"])
    random = [*found["2 inputs"], *found["3 inputs"]]
    report.heading("Abstract")
    report.text(
        "The paper finds more linear regions in random networks with skip connections than in "
        "those without, inside the box [-10, 10]², and concludes that skips make a network "
        "inherently more expressive. Here the same weights are counted with and without skips, "
        f"exactly: {draws} draws for every shape, four initialisations, two and three inputs. "
        f"These are {len(random)} comparisons, and {len(found['projections'])} more of skips "
        "between layers of different widths; all tests are paired, and corrected for their number."
    )
    report.text(
        " ".join(
            f"With {words} they bring, in the box, {_tally_text(_of(random, kind, 'box'))}; "
            f"over all inputs, {_tally_text(_of(random, kind, 'all'))}."
            for kind, words in (("pytorch", "PyTorch's default"), ("he random", "He's weights"))
        )
        + f" {_everywhere_text(random)}"
    )
    report.text(_share_text(shares))
    report.text(
        "After training, "
        + "; ".join(
            f"{words} {_tally_text(_after(members, where))}"
            for words, members, where in (
                ("on the paper's functions there are, in the box,", trained, "box"),
                ("over all inputs,", trained, "all"),
                ("and in classifiers of images, over all inputs,", classifiers, "all"),
            )
            if members
        )
        + "."
    )


def _everywhere_text(random: Sequence[Found]) -> str:
    """Whether skips raise the number of regions as such, whatever the initialisation."""
    tally = _tally(each for each in random if each.where == "all")
    return (
        ("Skips do not raise the number of regions as such: o" if tally["fewer"] else "O")
        + f"ver all inputs, whatever the initialisation, there are more in {tally['more']} and "
        f"fewer in {tally['fewer']} of {tally['comparisons']} comparisons."
    )


def _after(found: Sequence[Found], where: str) -> list[Found]:
    """Comparisons of trained networks."""
    return [each for each in found if each.key[1] == "after" and each.where == where]


#: Initialisations in a sentence.
_WEIGHTS = {
    "pytorch": "PyTorch's default",
    "glorot": "Glorot's weights",
    "he random": "He's weights",
}


def _share_text(shares: Sequence[Mapping[str, Any]]) -> str:
    """How much of the effect the size of signals explains, one initialisation after the other."""
    texts: list[str] = []
    explained: dict[bool, list[str]] = {True: [], False: []}
    opposite = False
    for kind, words in _WEIGHTS.items():
        own = [each for each in shares if each["initialisation"] == kind and _is_clear(each)]
        if not own:
            continue
        given, taken = ([each[key].value for each in own] for key in ("given", "taken"))
        explained[all(0.5 <= value <= 1.5 for value in [*given, *taken])].append(words)
        if not texts:
            texts.append(
                f"Two controls ask whether this is the size of signals. With {words}, networks "
                "without skips whose weights are rescaled, layer by layer, until signals vary as "
                f"much as with skips get {_range(given)} % of the effect in the box (on a "
                "logarithmic scale), and networks with skips whose signals are made as small as "
                f"without lose {_range(taken)} % of it."
            )
        else:
            texts.append(
                f"With {words} they get {_range(given)} % and lose {_range(taken)} % of it."
            )
        opposite = opposite or min(*given, *taken) < 0
    if opposite:
        texts.append("(A negative share: the control changes the number the other way.)")
    return " ".join([*texts, _explained_text(explained)]) if texts else ""


def _explained_text(explained: Mapping[bool, Sequence[str]]) -> str:
    """For which initialisations the size of signals is the explanation."""
    yes, no = (" and ".join(explained[each]) for each in (True, False))
    rule = "(all shares between 50 and 150 %)"
    if not yes:
        return f"So with {no} the size of signals does not explain the effect {rule}."
    text = f"So with {yes} the size of signals explains the effect {rule}"
    return text + (f"; with {no} it does not." if no else ".")


def _is_clear(each: Mapping[str, Any]) -> bool:
    """Whether there is an effect in the box to take a share of: its interval does not hold 1."""
    effect: PairedEffect = each["skips box"]
    return not effect.low <= 1 <= effect.high


def _range(values: Sequence[float]) -> str:
    low, high = (f"{100 * value:.0f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _design(run: LabRun, two: Cells, three: Cells, controls: Cells, radii: Rows) -> None:
    report = run.report
    depths = sorted({int(key[2]) for key in two})
    widths = [sorted({int(key[1]) for key in cells}) for cells in (two, three)]
    designs = sum(len(distinct_sets(depth)) - 1 for depth in depths)
    draws = len(next(iter(two.values()))["none box"])
    report.heading("Design")
    report.bullets(
        [
            f"**Networks.** {', '.join(map(str, depths))} hidden layers of "
            f"{' or '.join(map(str, widths[0]))} neurons with two inputs, of "
            f"{' or '.join(map(str, widths[1]))} with three. {draws} draws of weights for each "
            "shape and initialisation; all sets of skips share them, so that every comparison is "
            "one of pairs.",
            "**Skips.** *one*: 1→3; *residual*: 1→3, 3→5, 5→7, …; *dense*: every layer feeds all "
            "later ones. Where two of these are the same at a depth, they are counted once, which "
            f"leaves {designs} designs for each width, {designs * len(widths[0])} with two inputs. "
            "*Projections*: layers shrink from 10 to 4 neurons, and residual skips pass through "
            "random matrices of the same initialisation. Skips into the output change no region "
            "and are left out.",
            "**Initialisations.** Weights with variance σ²/n for n inputs: PyTorch's default "
            "(σ² = 1/3, uniform), Glorot's (1, normal), He's (2, normal); biases uniform in "
            "±1/√n, as PyTorch's, or none.",
            f"**Counts** are exact, in the paper's box [-{RADIUS:g}, {RADIUS:g}]ⁿ and over all "
            "inputs. Without biases all regions are cones, so both are the same.",
            "**Statistics.** The effect is the geometric mean of the ratios with / without skips, "
            "with a 95 % interval; the test is Wilcoxon's signed-rank test of their logarithms, "
            "two-sided; p-values are corrected by Holm's method for all comparisons of random "
            f"networks together. 'More' and 'fewer' mean: at {LEVEL}, corrected.",
        ]
    )


def _random(run: LabRun, found: Mapping[str, Sequence[Found]]) -> None:
    report = run.report
    report.heading("Random networks")
    bullets = []
    for initialisation, words in NAMES.items():
        parts = []
        for group, text in (("2 inputs", "two inputs"), ("3 inputs", "three inputs")):
            for where, place in (("box", "in the box"), ("all", "over all inputs")):
                members = _of(found[group], initialisation, where)
                if members:
                    parts.append(f"{text}, {place}: {_tally_text(members)}")
        bullets.append(f"**{words}**: " + "; ".join(parts) + ".")
    report.bullets(bullets)
    for group in ("2 inputs", "3 inputs"):
        _effect_table(run, found[group], f"Networks with {group}")
    report.table(
        ["initialisation", "layers", "in the box", "over all inputs"],
        [
            [NAMES[kind], depth, *_both_places(found["projections"], (kind, depth))]
            for kind, depth in dict.fromkeys(each.key for each in found["projections"])
        ],
        "Projections: residual skips through random matrices, layers of 10 to 4 neurons. Factor "
        "with / without, 95 % interval.",
    )
    report.text(
        "Projections bring, in the box, "
        + "; ".join(
            f"with {NAMES[kind]}: {_tally_text(_of(found['projections'], kind, 'box'))}"
            for kind in NAMES
            if _of(found["projections"], kind, "box")
        )
        + "."
    )


def _both_places(found: Sequence[Found], key: tuple[str, ...]) -> list[str]:
    by = {each.where: each.text for each in found if each.key == key}
    return [by.get(where, by["all"]) for where in PLACES]


def _effect_table(run: LabRun, found: Sequence[Found], title: str) -> None:
    by = {(each.key, each.skips, each.where): each.text for each in found}
    rows = []
    for key in dict.fromkeys(each.key for each in found):
        kind, width, depth = key
        cells = [f"{NAMES[kind]}, {depth}×{width}"]
        for where in PLACES:
            for name in SETS:
                text = by.get((key, name, where))
                if text is None and where == "box" and kind == "he zero":
                    text = "" if (key, name, "all") not in by else "="
                cells.append(text or "")
        rows.append(cells)
    run.report.table(
        [
            "initialisation, layers × neurons",
            *(f"box: {name}" for name in SETS),
            *(f"all: {name}" for name in SETS),
        ],
        rows,
        f"{title}: factor by which skips change the number of regions (geometric mean, 95 % "
        "interval). Bold: surely different from 1. Empty: the same connections as a column before.",
    )


@dataclass(frozen=True)
class Law:
    """Regions ~ depth^b, fitted to the geometric means at several depths.

    Attributes
    ----------
    exponent : Interval
        b.
    last : Interval
        b from the two largest depths alone.
    off : float
        How far a geometric mean is from the law at most, as a share of it.
    errors : float
        The same in standard errors of the mean.
    exponential_off : float
        How far one is from c^depth, fitted in the same way.
    """

    exponent: Interval
    last: Interval
    off: float
    errors: float
    exponential_off: float


#: So many standard errors are no accident.
_SURELY_OFF = 4.0
#: What is left of a line through two points.
_ROUNDING = 1e-9

Laws = dict[tuple[str, str, str, str], Law]


def fitted_law(depths: Sequence[float], samples: Sequence[ArrayLike], rng: Generator) -> Law:
    """The power of depth that fits logarithms of counts best, and how well it fits.

    Parameters
    ----------
    depths : sequence of float
    samples : sequence of array_like
        Logarithms of counts, for every depth.
    rng : Generator

    Examples
    --------
    >>> draws = [[np.log(2 * d**1.5)] * 5 for d in (3, 4, 6)]
    >>> law = fitted_law([3, 4, 6], draws, np.random.default_rng(0))
    >>> round(law.exponent.value, 6), round(law.off, 6), round(law.exponential_off, 2)
    (1.5, 0.0, 0.06)
    """
    x = np.log(np.asarray(depths, dtype=float))
    draws = [np.asarray(values, dtype=float) for values in samples]
    means = np.array([values.mean() for values in draws])
    errors = np.array([values.std(ddof=1) / math.sqrt(len(values)) for values in draws])
    away = _residuals(x, means)
    order = np.argsort(x)[-2:]
    return Law(
        slope(x, draws, rng),
        slope(x[order], [draws[k] for k in order], rng),
        _share(away),
        float((np.abs(away) / np.maximum(errors, 1e-12)).max()),
        _share(_residuals(np.asarray(depths, dtype=float), means)),
    )


def _residuals(x: FloatArray, y: FloatArray) -> FloatArray:
    """What is left of y when a straight line is taken off."""
    return np.asarray(y - np.polyval(np.polyfit(x, y, 1), x))


def _share(logarithms: FloatArray) -> float:
    return float(np.abs(np.expm1(logarithms)).max())


def _laws(run: LabRun, inputs: str, cells: Cells) -> Laws:
    """Laws of depth by initialisation, width, skips and place."""
    found: Laws = {}
    for kind, width in dict.fromkeys((key[0], key[1]) for key in cells):
        depths = [key[2] for key in cells if key[:2] == (kind, width)]
        if len(depths) < 2:
            continue
        for name in SKIP_SETS:
            for where in _places((kind,)):
                samples = [
                    np.log(cells[kind, width, d][f"{same_set(name, int(d))} {where}"])
                    for d in depths
                ]
                rng = run.rng("law", inputs, kind, width, name, where)
                found[kind, width, name, where] = fitted_law(
                    [float(depth) for depth in depths], samples, rng
                )
    run.numbers[f"depth_exponents_{inputs}_inputs"] = {
        " ".join(key): vars(law.exponent)
        | {
            "last": vars(law.last),
            "off": law.off,
            "off_in_standard_errors": law.errors,
            "exponential_off": law.exponential_off,
        }
        for key, law in found.items()
    }
    return found


def _depth_laws(run: LabRun, laws: Mapping[str, Laws]) -> None:
    report = run.report
    report.heading("How the number of regions grows with depth")
    for inputs, found in laws.items():
        if not found:
            continue
        widths = {key[1] for key in found}
        width = max(widths, key=int)
        report.table(
            ["initialisation, place", *SKIP_SETS],
            [
                [
                    f"{NAMES[kind]}, {'in the box' if where == 'box' else 'all inputs'}",
                    *(
                        interval_text(found[kind, width, name, where].exponent)
                        for name in SKIP_SETS
                    ),
                ]
                for kind in dict.fromkeys(key[0] for key in found)
                for where in _places((kind,))
            ],
            f"{inputs} inputs, width {width}: the exponent b of regions ≈ a · depthᵇ (least "
            "squares on logarithms, 95 % interval from resampled draws).",
        )
    _law_fits(run, [law for found in laws.values() for law in found.values()])
    two = laws["2"]
    if not two:
        return
    width = max({key[1] for key in two}, key=int)
    plain, dense = (
        {where: two["pytorch", width, name, where] for where in PLACES}
        for name in ("none", "dense")
    )
    report.text(
        f"With PyTorch's default and width {width}, the exponent in the box is "
        f"{interval_text(plain['box'].exponent)} without skips (between the two largest depths "
        f"{interval_text(plain['box'].last)}) and {interval_text(dense['box'].exponent)} with "
        f"dense ones ({interval_text(dense['box'].last)}); over all of R² it is "
        f"{interval_text(plain['all'].exponent)} without and "
        f"{interval_text(dense['all'].exponent)} with them."
    )


def _law_fits(run: LabRun, laws: Sequence[Law]) -> None:
    """How well the laws fit; nothing is said of two depths, through which every law goes."""
    off = max((max(law.off, law.exponential_off) for law in laws), default=0.0)
    if off < _ROUNDING:
        return
    worse = sum(law.exponential_off > law.off for law in laws)
    errors = max(law.errors for law in laws)
    run.report.text(
        ("These laws describe the numbers, they are not exact: t" if errors > _SURELY_OFF else "T")
        + f"he {len(laws)} fits (of all widths) miss geometric means by up to "
        f"{100 * max(law.off for law in laws):.0f} % and by up to {errors:.0f} of their standard "
        "errors; the intervals of the exponents take the laws for granted. Growth by one factor a "
        f"layer fits worse in {worse} of {len(laws)} cases (up to "
        f"{100 * max(law.exponential_off for law in laws):.0f} % off)."
    )


# --- where boundaries lie -------------------------------------------------------------------------


def crossing_bounds(
    gain: float,
    skips: Iterable[tuple[int, int]],
    width: int,
    depth: int,
    inputs: int,
    length: float,
) -> FloatArray:
    """Bounds on the expected number of boundaries of each layer on a segment (the proposition).

    Parameters
    ----------
    gain : float
        Variance of a weight times the number of inputs of its neuron.
    skips : iterable of (k, ℓ)
    width, depth, inputs : int
    length : float

    Returns
    -------
    ndarray, shape (depth,)

    Examples
    --------
    Without skips each layer has 1 / √6 of the layer before, with PyTorch's default:

    >>> bounds = crossing_bounds(1 / 3, [], 8, 4, 2, 20.0)
    >>> (bounds[2:] / bounds[1:-1]).round(4).tolist()
    [0.4082, 0.4082]
    """
    factor = math.sqrt(gain / 2)
    slopes = [0.0, math.sqrt(gain / inputs)]
    for layer in range(2, depth + 1):
        sources = {layer - 1} | {k for k, end in skips if end == layer}
        slopes.append(factor * sum(slopes[k] for k in sources))
    fans = [inputs, *[width] * (depth - 1)]
    found = [
        length * width * math.sqrt(fan) / 2 * value
        for fan, value in zip(fans, slopes[1:], strict=True)
    ]
    found[0] = min(found[0], float(width))  # a neuron of the first layer has one boundary
    return np.array(found)


def _bounds(run: LabRun, crossings: Cells, sizes: Cells) -> list[dict[str, Any]]:
    """By initialisation and skips: boundaries on the segment, their bounds, variations."""
    found = []
    for key, columns in crossings.items():
        kind, width, depth, name = key
        layers = np.stack(list(columns.values()))
        variation = np.log(np.maximum(np.stack(list(sizes[key].values())), 1e-300))
        bound = crossing_bounds(
            GAINS[kind],  # type: ignore[index]
            SKIP_SETS[name](int(depth)),
            int(width),
            int(depth),
            2,
            2 * RADIUS,
        )
        alive = (variation > -600).all(axis=0)  # a layer that never switches has no size
        rows = np.arange(1, len(variation))
        rates = np.polyfit(rows, variation[1:, alive], 1)[0]  # of each draw: its layers go together
        rate = mean_difference(rates, [0.0], run.rng("variation", kind, name))
        found.append(
            {
                "initialisation": kind,
                "skips": name,
                "width": int(width),
                "depth": int(depth),
                "crossings": layers.mean(axis=1),
                "errors": layers.std(axis=1, ddof=1) / math.sqrt(layers.shape[1]),
                "bound": bound,
                "switching": (layers > 0).mean(axis=1),
                "factor": Interval(*(math.exp(x) for x in (rate.value, rate.low, rate.high))),
                "draws": layers.shape[1],
                "constant": int((~alive).sum()),
            }
        )
    run.numbers["boundaries"] = [each | {"factor": vars(each["factor"])} for each in found]
    return found


def _boundaries(run: LabRun, bounds: Sequence[Mapping[str, Any]]) -> None:
    report = run.report
    first = bounds[0]
    report.heading("Where the boundaries lie")
    report.text(
        "**Proposition.** Let the rows (w, b) of weights and bias of all neurons be independent "
        "and symmetric (as likely as their negatives), the weights of a neuron uncorrelated with "
        "variance σ²/m for m inputs, and its bias uniform in ±1/√m, whatever its weights are. Let "
        "layer ℓ get the sum of "
        "layers k ∈ S(ℓ), of one width n; without skips S(ℓ) = {ℓ - 1}. Put d₁ = σ/√n₀ and "
        "d_ℓ = (σ/√2) Σ d_k over k ∈ S(ℓ). Then the neurons of layer ℓ have, on any segment of "
        "length s, at most s · n · (√m/2) · d_ℓ boundaries together, in expectation. (A neuron of "
        "layer 1 has one at most, so n is a bound for layer 1, too; below, the smaller one is "
        "taken.)"
    )
    report.text(
        "*Proof.* For two inputs x, y and a neuron with pre-activations u = z(x), v = z(y): "
        "relu(u) - relu(v) and relu(-v) - relu(-u) have the sign of u - v and add up to it, so "
        "their squares add up to at most (u - v)². By symmetry both squares have the same "
        "expectation, so E(relu(u) - relu(v))² ≤ ½ E(u - v)². And E(u - v)² = (σ²/m) E‖Δ‖², "
        "where Δ, the change of the layer's input, is a sum over S(ℓ), to which the triangle "
        "inequality of L² applies. By induction √E(u - v)² ≤ d_ℓ ‖x - y‖. Given w and the layers "
        "before, the bias lies between the two values that it takes to switch with probability at "
        "most (√m/2) |u - v|, so the neuron's bit differs at x and y with probability at most "
        "(√m/2) d_ℓ ‖x - y‖. Cut the segment into 2, 4, 8, … parts: the number of parts whose ends "
        "differ grows to the number of boundaries, and its expectation is bounded by the sum over "
        "the parts, which is the same for all of them. ∎"
    )
    g = math.sqrt(GAINS["pytorch"] / 2)
    report.text(
        "So without skips the bound for a layer is g = σ/√2 times the bound for the layer before: "
        f"{g:.2f} with PyTorch's default, {math.sqrt(0.5):.2f} with Glorot's, 1 with He's weights. "
        "For the first two, the sum over all layers is finite: **however deep the network, a "
        "segment meets a bounded number of regions in expectation.** With PyTorch's default, "
        f"residual skips raise the factor to √(g(1 + g)) = {math.sqrt(g * (1 + g)):.2f} a layer, "
        f"dense ones to 1 + g = {1 + g:.2f}, where the bound grows with depth and says little. "
        "Without biases it says nothing: all boundaries go through the origin."
    )
    kept = sum(bool((e["crossings"] <= e["bound"] + 2 * e["errors"]).all()) for e in bounds)
    layers = [2, first["depth"] // 2 + 1, first["depth"]]
    report.table(
        [
            "initialisation, skips",
            *(f"layer {layer}: measured / bound" for layer in layers),
            "all layers",
            "signals, factor a layer",
        ],
        [
            [
                f"{NAMES[e['initialisation']]}, {e['skips']}",
                *(
                    f"{e['crossings'][layer - 1]:.2f} ± {e['errors'][layer - 1]:.2f} / "
                    f"{e['bound'][layer - 1]:.3g}"
                    for layer in layers
                ),
                f"{e['crossings'].sum():.1f} / {e['bound'].sum():.3g}",
                interval_text(e["factor"]),
            ]
            for e in bounds
        ],
        f"Boundaries on the segment of length {2 * RADIUS:g} through the origin in the direction "
        f"(0.8, 0.6), {first['depth']} layers of {first['width']}, mean of {first['draws']} draws "
        "± standard error, counted exactly; and the bound. Last column: factor by which the "
        "deviation of pre-activations over the box changes from layer to layer (from layer 2 on; "
        "geometric mean over draws), with a 95 % interval"
        + (
            f"; the {constant} of {len(bounds) * first['draws']} networks in which a whole layer "
            "is constant over the box have none."
            if (constant := sum(e["constant"] for e in bounds))
            else "."
        ),
    )
    report.text(
        f"The measured means keep to the bound in {kept} of {len(bounds)} rows (within two "
        "standard errors, all layers)."
    )
    run.numbers["bound_kept"] = [kept, len(bounds)]


# --- is it the size of signals? -------------------------------------------------------------------


def _shares(run: LabRun, controls: Cells) -> list[dict[str, Any]]:
    """Effects of skips and of rescaled signals, and which share the latter is of the former."""
    found = []
    for (kind, width, depth, name), columns in controls.items():
        about: dict[str, Any] = {
            "initialisation": kind,
            "width": width,
            "depth": depth,
            "skips": name,
        }
        for where in PLACES:
            plain = columns[f"none {where}"]
            about[f"skips {where}"] = paired_effect(columns[f"skips {where}"], plain)
            about[f"none scaled {where}"] = paired_effect(columns[f"none scaled {where}"], plain)
            about[f"skips scaled {where}"] = paired_effect(columns[f"skips scaled {where}"], plain)
        logs = {name_: np.log(values) for name_, values in columns.items()}
        effect = logs["skips box"] - logs["none box"]
        rng = run.rng("shares", kind, width, depth, name)
        given = _ratio(logs["none scaled box"] - logs["none box"], effect, rng)
        left = _ratio(logs["skips scaled box"] - logs["none box"], effect, rng)
        about["given"] = given
        about["taken"] = Interval(1 - left.value, 1 - left.high, 1 - left.low)
        found.append(about)
    run.numbers["controls"] = [
        {key: vars(v) if isinstance(v, Interval | PairedEffect) else v for key, v in each.items()}
        for each in found
    ]
    return found


def _ratio(part: FloatArray, whole: FloatArray, rng: Generator) -> Interval:
    """Mean of a part over the mean of the whole, with a 95 % interval from resampled pairs."""
    if not whole.mean():
        return Interval(*[math.nan] * 3)
    chosen = rng.integers(len(part), size=(2000, len(part)))
    below = whole[chosen].mean(axis=1)
    ratios = part[chosen].mean(axis=1)[below != 0] / below[below != 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return Interval(float(part.mean() / whole.mean()), float(low), float(high))


def _controls(run: LabRun, shares: Sequence[Mapping[str, Any]]) -> None:
    report = run.report
    report.heading("Is it the size of signals? Two controls")
    report.text(
        "If skips bring boundaries into the box because they keep signals large, then networks "
        "without skips should get as many regions there when their weights are rescaled, layer by "
        "layer, until pre-activations vary over the box as much as with skips (biases stay); and "
        "networks with skips should lose them when their signals are made as small as without."
    )
    report.table(
        [
            "initialisation, layers × neurons, skips",
            "with skips",
            "no skips, signals as with",
            "share of the effect",
            "skips, signals as without",
            "share that goes",
        ],
        [
            [
                f"{NAMES[e['initialisation']]}, {e['depth']}×{e['width']}, {e['skips']}",
                *(_factor(e[f"{kind} box"]) for kind in ("skips", "none scaled")),
                _percentages(e, "given"),
                _factor(e["skips scaled box"]),
                _percentages(e, "taken"),
            ]
            for e in shares
        ],
        "Regions in the box against the same weights without skips: factor, 95 % interval. Shares "
        "on a logarithmic scale; left out where the interval of the effect holds 1.",
    )
    report.text(_share_text(shares))


def _factor(effect: PairedEffect) -> str:
    return f"×{effect.factor:.2f} ({effect.low:.2f}–{effect.high:.2f})"


def _percentages(each: Mapping[str, Any], key: str) -> str:
    share: Interval = each[key]
    if not _is_clear(each):
        return "–"
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


# --- trained networks, conclusion -----------------------------------------------------------------


def _trained_report(run: LabRun, trained: Sequence[Found], classifiers: Sequence[Found]) -> None:
    report = run.report
    report.heading("Trained networks")
    by = {(e.key, e.skips, e.where): e for e in trained}
    pairs = trained[0].effect.n
    report.table(
        [
            "function, skips",
            *(f"{place}, {when}" for place in ("box", "all") for when in ("before", "after")),
        ],
        [
            [
                f"{function}, {name}",
                *(
                    by[(function, when), name, where].text
                    for where in PLACES
                    for when in ("before", "after")
                ),
            ]
            for function, name in dict.fromkeys((e.key[0], e.skips) for e in trained)
        ],
        f"6 layers of 6 that learn the paper's functions (PyTorch's default, Adam), {pairs} pairs "
        "with the same first weights: factor with / without skips before and after training, 95 % "
        "interval; bold: surely different from 1, corrected for all of this table.",
    )
    _warn_of_few(run, trained)
    if classifiers:
        found = {(e.key, e.skips): e for e in classifiers}
        report.table(
            ["data", "pairs", "before training", "after training"],
            [
                [
                    data,
                    found[(data, "after"), "1→3, 2→4"].effect.n,
                    *(found[(data, when), "1→3, 2→4"].text for when in ("before", "after")),
                ]
                for data in dict.fromkeys(e.key[0] for e in classifiers)
            ],
            "Classifiers of images with 4 layers of 6 neurons, skips 1→3 and 2→4, all their "
            "regions over Rⁿ (784 or 1,024 inputs).",
        )
        _warn_of_few(run, classifiers)
    left = run.numbers.get("data_sets_left_out")
    if left:
        report.text("Not all data sets were there when this was run.")


def _warn_of_few(run: LabRun, found: Sequence[Found]) -> None:
    """Say so if there are too few pairs for any difference to be sure."""
    pairs = min(each.effect.n for each in found)
    least = len(found) * 2.0 ** (1 - pairs)  # all pairs differ in one direction
    if least >= LEVEL:
        run.report.text(
            f"**{pairs} pairs are too few** for {len(found)} comparisons: even if all differed in "
            f"the same direction, the corrected p-value would be {min(1.0, least):.2f}, so no "
            "difference in this table can be sure."
        )


def _conclusion(
    run: LabRun,
    found: Mapping[str, Sequence[Found]],
    shares: Sequence[Mapping[str, Any]],
    bounds: Sequence[Mapping[str, Any]],
) -> None:
    report = run.report
    random = [*found["2 inputs"], *found["3 inputs"]]
    everywhere = [each for each in random if each.where == "all"]
    tally = _tally(everywhere)
    report.heading("What follows")
    plain = next(e for e in bounds if (e["initialisation"], e["skips"]) == ("pytorch", "none"))
    g = math.sqrt(GAINS["pytorch"] / 2)
    limit = plain["bound"][0] + plain["bound"][1] / (1 - g)
    report.text("**Statement.** For random networks, with biases where nothing else is said:")
    report.bullets(
        [
            "*Proved.* Without skips, with PyTorch's default initialisation, two inputs and layers "
            f"of {plain['width']} neurons, a segment of length {2 * RADIUS:g} meets at most "
            f"{1 + limit:.0f} regions in expectation, however many layers there are "
            f"({1 + plain['crossings'].sum():.1f} measured with {plain['depth']}): from layer to "
            f"layer the bound shrinks by the factor {g:.2f}. With residual skips this factor is "
            f"{math.sqrt(g * (1 + g)):.2f}, with dense ones {1 + g:.2f}. With He's weights it is 1 "
            "without any skips.",
            "*Measured, in the box.* With PyTorch's default, skips bring "
            f"{_tally_text(_of(random, 'pytorch', 'box'))}; with He's weights, "
            f"{_tally_text(_of(random, 'he random', 'box'))}.",
            f"*Measured, over all inputs.* {_everywhere_text(random)}",
        ]
    )
    run.claim(
        "skips more expressive",
        "Sect. 6.3",
        "Adding skip connections makes a network inherently more expressive (read as: it has more "
        "regions, whatever the initialisation, over all inputs).",
        verdict_of(tally["more"], tally["comparisons"]),
        f"same weights with and without: surely more regions in {tally['more']}, fewer in "
        f"{tally['fewer']} of {tally['comparisons']} comparisons over all inputs",
    )
    box = _tally(_of(random, "pytorch", "box"))
    run.claim(
        "more regions in the box",
        "Sect. 6.2",
        "Untrained networks with skips have more regions (in the paper's setting: PyTorch's "
        "default, in the box).",
        verdict_of(box["more"], box["comparisons"]),
        f"surely more in {box['more']} of {box['comparisons']} designs with two and three inputs",
    )
    own = [e for e in shares if e["initialisation"] == "pytorch"]
    small = [min(e["given"].value, e["taken"].value) for e in own]
    run.claim(
        "hyperplanes cut more",
        "Sect. 6.3",
        "A random multiple of an earlier layer makes new hyperplanes more likely to split existing "
        "regions.",
        verdict_of(tally["more"], tally["comparisons"]),
        f"then there would be more regions over all inputs, which is so in {tally['more']} of "
        f"{tally['comparisons']} comparisons; in the box, with PyTorch's default, each control "
        f"of the size of signals accounts for {100 * min(small):.0f} % of the effect or more",
    )
    deepest = max(int(each.key[2]) for each in random)
    report.heading("Limits")
    report.bullets(
        [
            f"Small networks: up to {deepest} layers of at most ten neurons, two and three inputs; "
            "classifiers of six neurons a layer. Wider networks were not counted.",
            "The proposition bounds regions along segments, from above. That boundaries near the "
            "origin mean regions near the origin is measured, not proved, and no lower bound for "
            "networks with skips is proved.",
            "Rescaling changes the size of signals of all neurons of a layer by one factor; it "
            "does not make them vary in the same directions.",
            "Trained networks: one shape for each kind of task, one initialisation, one learning "
            "rate.",
        ]
    )
    report.text(
        "Every number on this page comes from the tables beside it: "
        "`tropicell lab skips --tables docs/lab/skips --out skips` writes the page anew from them, "
        "`tropicell lab skips` counts everything again."
    )
    report.heading("Figures")
