"""Write the tables of docs/paper.md anew: ``python docs/make_paper.py``.

Statements are checked while the page is written, on the walkthrough, on a network with skips and on
random ones, in exact arithmetic. What the lab decides is read from ``docs/lab/*/numbers.json``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy.stats import shapiro

import tropicell as tc
from tropicell.geometry.generators import volume
from tropicell.lab import table1
from tropicell.lab.run import read_table
from tropicell.lab.statistics import LEVEL, holm
from tropicell.network.count_bounds import upper_bound
from tropicell.paper.algorithm2 import traverse
from tropicell.paper.example import walkthrough
from tropicell.paper.literal import Printed
from tropicell.paper.recurrences import negative_part, positive_part

PLACE = Path(__file__).parent
PAGE = PLACE / "paper.md"

#: A verdict, and what it rests on.
Verdict = tuple[str, str]


def networks() -> Iterator[tc.Network]:
    """The walkthrough, the same with a skip, and random networks with skips and without."""
    yield walkthrough()
    yield walkthrough(skips=[(0, 2)])
    for seed, skips in ((0, []), (1, [(1, 3)]), (2, [(1, 3), (2, 4)])):
        rng = np.random.default_rng(seed)
        sizes = [2, 3, 3, 3, 1]
        shapes = list(pairwise(sizes))
        yield tc.Network.mlp(
            [rng.integers(-4, 5, (n, m)) / 2 for m, n in shapes],
            [rng.integers(-4, 5, n) / 2 for _, n in shapes],
            skips=skips,
        )


def points(count: int = 7) -> list[list[float]]:
    """Points with short coordinates."""
    return (np.random.default_rng(5).integers(-16, 17, (count, 2)) / 8).tolist()


def judged(checks: list[bool], what: str) -> Verdict:
    """A verdict from many checks, each exact."""
    right = sum(checks)
    word = "holds" if right == len(checks) else "does not hold" if not right else "holds in part"
    return word, f"{right} of {len(checks)} {what}, exactly"


def one_map() -> Verdict:
    """Whether connected sets with one affine map are the regions of patterns."""
    found = [tc.enumerate_regions(network) for network in networks()]
    sizes = [(len(regions), len(regions.merged())) for regions in found]
    same = sum(patterns == merged for patterns, merged in sizes)
    shown = ", ".join(f"{patterns} and {merged}" for patterns, merged in sizes)
    return (
        share(same, len(sizes)),
        f"patterns with interior, and connected sets with one affine map: {shown}",
    )


def diagonal() -> Verdict:
    """diag(v) = Σ eᵢᵀ v eᵢᵀ, which needs another e to be a matrix."""
    v = np.array([[1], [-1], [1]])
    units = [np.eye(3, dtype=int)[:, i : i + 1] for i in range(3)]
    printed = sum((e.T @ v) @ e.T for e in units)
    mended = sum(e @ (e.T @ v) @ e.T for e in units)
    wanted = np.diag(v[:, 0])
    word = "holds" if printed.shape == wanted.shape and (printed == wanted).all() else "a slip"
    return (
        word,
        f"printed: a matrix of shape {printed.shape[0]}×{printed.shape[1]} for three neurons; "
        f"Σ eᵢ eᵢᵀ v eᵢᵀ is {'the' if (mended == wanted).all() else 'not the'} diagonal matrix",
    )


def decomposition() -> Verdict:
    """A = A₊ − A₋."""
    matrices = [
        m for n in networks() for k in range(1, n.depth + 2) for m in n.affine(k).terms.values()
    ]
    checks = [bool((positive_part(m) - negative_part(m) == m).all()) for m in matrices]
    return judged(checks, "weight matrices")


def leaky() -> Verdict:
    """LeakyReLU(x, a) = ReLU(x) − a ReLU(−x)."""
    x = np.array(points())[:, :1]
    leaky = tc.Network.mlp([[[1.0]], [[1.0]]], activation=tc.activations.leaky_relu(0.25))
    relus = tc.Network.mlp([[[1.0], [-1.0]], [[1.0, -0.25]]])
    return judged((leaky.evaluate(x) == relus.evaluate(x)).ravel().tolist(), "points")


def proposition() -> Verdict:
    """The fraction, multiplied out, is the network."""
    checks = []
    for network in networks():
        found = network.tropical()
        values = np.stack([f.evaluate(points()) for f in found.output], axis=1)
        checks += (values == network.evaluate(points())).ravel().tolist()
    return judged(checks, "values of F ⊘ G, multiplied out, are the network's")


def recurrence(form: str) -> Verdict:
    """F − G of the last layer, on the pattern of a point, is the layer's output."""
    checks = []
    for network in networks():
        if form == "paper" and not network.skips:
            continue
        patterns = network.patterns(points(), arithmetic="exact")
        for x, v in zip(points(), patterns, strict=True):
            layers = tc.recurrences(network, v, form="paper")
            last = network.first_layers(network.depth).evaluate([x])[0]
            at = np.array([*(Fraction(q) for q in x), Fraction(1)], dtype=object)
            checks.append(bool(((layers[-1].F - layers[-1].G_after) @ at == last).all()))
    return judged(checks, "points: F - G of layer L is its output")


def columns() -> Verdict:
    """F_A, G_A and H_A of layer ℓ + 1 are n(ℓ + 1) × n(ℓ) matrices."""
    printed, meant = [], []
    for network in networks():
        found = tc.recurrences(network, [0] * network.n_neurons)
        for before, layer in zip(network.widths, found[1:], strict=False):
            printed.append(layer.F_A.shape[1] == before)
            meant.append(layer.F_A.shape[1] == network.n_inputs)
    return (
        slip(printed, meant),
        f"{sum(printed)} of {len(printed)} have a column for each neuron of the layer before, "
        f"{sum(meant)} one for each input of the network: F(x) = F_A x + f_b needs these",
    )


def numerator_alone() -> Verdict:
    """What Algorithm 3 returns, F_A x + f_b of the last layer."""
    printed, meant = [], []
    for network in networks():
        patterns = network.patterns(points(), arithmetic="exact")
        for x, v in zip(points(), patterns, strict=True):
            last = tc.recurrences(network, v)[-1]
            at = np.array([*(Fraction(q) for q in x), Fraction(1)], dtype=object)
            truth = network.first_layers(network.depth).evaluate([x])[0]
            printed.append(bool((last.F @ at == truth).all()))
            meant.append(bool(((last.F - last.G_after) @ at == truth).all()))
    return (
        slip(printed, meant),
        f"F_A x + f_b is what layer L gives at {sum(printed)} of {len(printed)} points, "
        f"F - G at {sum(meant)}, exactly",
    )


def slip(printed: list[bool], meant: list[bool]) -> str:
    """The verdict on what may hold as it is printed, or as it is meant."""
    return "holds" if all(printed) else "a slip" if all(meant) else "does not hold"


def initial() -> Verdict:
    """The values that the recurrences start from."""
    checks = []
    for network in networks():
        first = tc.recurrences(network, [0] * network.n_neurons)[0]
        (matrix,) = network.affine(1).terms.values()
        checks.append(bool((positive_part(matrix) == first.H_A).all()))
        checks.append(bool((negative_part(matrix) == first.G_A).all()))
    return judged(checks, "matrices of layer 1 are A₊ and A₋")


def theorem() -> Verdict:
    """Patterns specify regions, and these tile the plane."""
    checks = []
    for network in networks():
        every = list(product(*(range(n) for n in network.pieces)))
        cells = dict.fromkeys(every, Fraction(0))
        for pattern, cell in traverse(network, tc.Box(-2, 2)):
            area = volume(cell.rows, 2)
            cells[tuple(pattern.tolist())] = Fraction(int(area.p), int(area.q))
        some = every[:: max(1, len(every) // 64)]
        found = [bool(tc.find_region(network, v, tc.Box(-2, 2))) for v in some]
        checks.append(sum(cells.values()) == 16 and found == [cells[v] > 0 for v in some])
    return judged(checks, "networks: the regions of all patterns fill a square without overlap")


def one_region() -> Verdict:
    """The region of the walkthrough has the corners of the figure."""
    corners = {tuple(v) for v in tc.find_region(walkthrough(), "11|10").vertices.tolist()}
    printed = {("51/178", "14/89"), ("21/38", "4/19"), ("5/8", "1/2"), ("37/64", "11/16")}
    as_printed = {tuple(Fraction(q) for q in corner) for corner in printed}
    return judged([corner in corners for corner in as_printed], "corners of Figure 1")


def all_regions() -> Verdict:
    """Algorithm 2 finds all regions."""
    checks = []
    for network in networks():
        patterns = {tuple(r.pattern.tolist()) for r in tc.enumerate_regions(network)}
        checks.append(set(Printed(network).results) == patterns)
    return judged(checks, "networks: Algorithm 2 as printed finds what the engines find")


def fewer() -> Verdict:
    """Algorithm 2 tries fewer patterns than there are."""
    runs = [(Printed(network), 2**network.n_neurons) for network in networks()]
    shares = ", ".join(f"{run.calls:,} of {every:,}" for run, every in runs)
    better = sum(run.calls < every for run, every in runs)
    word = "holds" if better == len(runs) else "holds in part" if better else "does not hold"
    return word, f"patterns tried: {shares}"


def convex() -> Verdict:
    """F, G and H behind a skip, as printed, are tropical polynomials."""
    mixed = tc.Network.mlp([[[1.0, -2.0], [3.0, 1.0]]] * 5, skips=[(2, 4)])
    weights = [
        [[1.0]],
        [[-1.0]],
        [[0.0]],
        [[-1.0]],
        [[1.0]],
    ]  # layer 3 is dead: only the skip is left
    bare = tc.Network.mlp(weights, [[0.0], [1.0], [0.0], [2.0], [0.0]], skips=[(2, 4)])
    kinds = []
    for network in (mixed, bare):
        layer = network.tropical(form="paper").layers[3]
        kinds += [
            isinstance(f, tc.TropicalPolynomial) or f.numerator.quotient(f.denominator) is not None
            for f in (*layer.F, *layer.G, *layer.H)
        ]
    word = "holds" if all(kinds) else "does not hold"
    return (
        word,
        f"{sum(kinds)} of {len(kinds)} of F, G and H behind skips 2→4 are polynomials, exactly",
    )


def behind_a_skip() -> Verdict:
    """The equation of a hyperplane behind a skip k → ℓ + 1: G + A₋ν(k) = H + A₊ν(k)."""
    printed, meant = [], []
    for network in networks():
        for k, layer in network.skips:
            if k == 0 or layer > network.depth:
                continue
            bare = {s: m for s, m in network.affine(layer).terms.items() if s != k}
            matrix = Fraction(1) * positive_part(network.affine(layer).terms[k])
            matrix = matrix - negative_part(network.affine(layer).terms[k])
            for x in points(40):
                v = network.patterns([x], arithmetic="exact")[0]
                found = tc.recurrences(network, v, form="paper")
                at = np.array([*(Fraction(q) for q in x), Fraction(1)], dtype=object)
                nu = {s: (found[s - 1].F - found[s - 1].G_after) @ at for s in (*bare, k)}
                truth = (found[layer - 1].G - found[layer - 1].H) @ at
                before = (found[layer - 2].G - found[layer - 2].H) @ at
                without = -sum(
                    (positive_part(m) - negative_part(m)) @ nu[s] for s, m in bare.items()
                ) - np.array([Fraction(b) for b in network.affine(layer).bias], dtype=object)
                printed += (np.sign(before - matrix @ nu[k]) == np.sign(truth)).tolist()
                meant += (without - matrix @ nu[k] == truth).tolist()
    return (
        slip(printed, meant),
        f"with G(ℓ) and H(ℓ) as printed, points are on the right side of {sum(printed)} of "
        f"{len(printed)} hyperplanes; with G(ℓ + 1) and H(ℓ + 1) of the layer without the skip, "
        f"both sides are right for {sum(meant)}, exactly",
    )


def bounds() -> Verdict:
    """Bounds on the number of regions, with skips and without."""
    shapes = [((4,) * 5, ((1, 3), (2, 4)))]
    shapes += [((row.neurons,) * row.layers, row.skips) for row in table1.PUBLISHED]
    same = []
    for widths, skips in shapes:
        weights = [np.ones((n, m)) for m, n in pairwise([2, *widths, 1])]
        found = {upper_bound(tc.Network.mlp(weights, skips=each)) for each in ((), skips)}
        same.append(len(found) == 1)
    return (
        share(sum(same), len(same)),
        f"the best bound that we know is the same for {sum(same)} of {len(same)} shapes "
        "(Figure 3, Table 1)",
    )


def not_normal() -> Verdict:
    """Shapiro and Wilk's test of the counts of Table 1."""
    rejected = {}
    for name in ("table1", "table1-1000"):
        rows = read_table(PLACE / "lab" / name, "counts")
        samples: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            sample = samples.setdefault((row["row"], row["skips"]), [])
            sample.append(float(row["regions in the box"]))
        found = holm([float(shapiro(sample).pvalue) for sample in samples.values()])
        rejected[name] = (
            sum(p < LEVEL for p in found),
            len(found),
            len(next(iter(samples.values()))),
        )
    return (
        share(*rejected["table1-1000"][:2]),
        "a normal distribution is rejected for "
        + ", and for ".join(f"{k} of {n} samples of {size}" for k, n, size in rejected.values())
        + f" networks (Shapiro and Wilk, corrected by Holm, {LEVEL})",
    )


def around_images() -> Verdict:
    """How many of all regions of classifiers with skips hold a training image."""
    rows = read_table(PLACE / "lab" / "regions784", "networks")
    shares = [int(row["train"]) / int(row["regions"]) for row in rows if row["skips"] == "with"]
    few = sum(value < 0.5 for value in shares)
    return (
        share(few, len(shares)),
        f"{100 * min(shares):.2f} to {100 * max(shares):.1f} % of all regions hold a training "
        f"image, in {len(shares)} networks with skips",
    )


def cached() -> Verdict:
    """The cache predicts what the network does."""
    checks = []
    for network in networks():
        x = np.array(points(40))
        predictor = tc.CachedPredictor(network)
        predictor.predict(x)
        checks += (predictor.predict(x) == network(x)).ravel().tolist()
    return judged(
        checks, "predictions from the cache are the network's (these weights do not round)"
    )


def share(right: int, cases: int) -> str:
    """The verdict on what is so in some of several cases."""
    return "holds" if right == cases else "holds in part" if right else "does not hold"


def quicker() -> Verdict:
    """Algorithm 3 against forward passes, as `benchmarks.predict` has measured both."""
    measured = json.loads((PLACE.parent / "benchmarks" / "predict.json").read_text("utf-8"))
    passes = ("NumPy", "torch", "onnxruntime")
    ratios: dict[str, list[float]] = {"CachedPredictor, all points seen": [], "RegionLocator": []}
    for case in measured["cases"]:
        for times in (case["one"], case["many"]):
            best = min(value for name, value in times.items() if name.startswith(passes))
            for name, found in ratios.items():
                if name in times:
                    found.append(times[name] / best)
    cache, locator = ratios.values()
    won = sum(ratio < 1 for ratio in cache)
    return (
        share(won, len(cache)),
        f"everything cached, Algorithm 3 is quicker than the best forward pass in {won} of "
        f"{len(cache)} cases (it takes {min(cache):.1f} to {max(cache):.0f} times as long); "
        f"regions found without the network (`RegionLocator`): in {sum(r < 1 for r in locator)} of "
        f"{len(locator)}",
    )


def path_lengths() -> Verdict:
    """How well the distance to the training data's regions tells foreign images."""
    measured = json.loads((PLACE / "out-of-distribution.json").read_text("utf-8"))
    kinds = ("flips", "softmax", "brightness")
    found = {
        kind: [
            float(np.mean([network["auroc"][kind][data] for network in row["networks"]]))
            for row in measured["rows"]
            for data in row["networks"][0]["auroc"][kind]
        ]
        for kind in kinds
    }
    cases = len(found["flips"])
    better = {
        kind: sum(a > b for a, b in zip(found["flips"], found[kind], strict=True))
        for kind in kinds[1:]
    }
    return (
        share(sum(value > 0.5 for value in found["flips"]), cases),
        f"better than chance in {sum(value > 0.5 for value in found['flips'])} of {cases} cases "
        f"(area under the curve {min(found['flips']):.2f} to {max(found['flips']):.2f}), better "
        f"than the network's own confidence in {better['softmax']}, than the images' brightness in "
        f"{better['brightness']}",
    )


def distilled() -> Verdict:
    """What the example's figure says of its student and its teacher."""
    names = ("teacher", "student", "alone")
    kept = json.loads((PLACE / "distillation.json").read_text("utf-8"))
    teacher, student, alone = (kept[name] for name in names)
    checks = [
        student["regions"] < teacher["regions"],
        student["cached"] > teacher["cached"],
        student["cached"] > alone["cached"],  # else it is the size, and not the teacher
    ]
    return (
        share(sum(checks), len(checks)),
        f"in one example: a student has {student['regions']:,} regions and {student['cached']:.0%} "
        f"of new points cached, its teacher {teacher['regions']:,} and {teacher['cached']:.0%}; "
        f"the same network from the data alone {alone['regions']:,} and {alone['cached']:.0%}",
    )


def distil() -> None:
    """Run the example and keep its numbers: ``python docs/make_paper.py distillation``."""
    import runpy  # noqa: PLC0415

    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    example = PLACE.parent / "examples" / "gallery" / "plot_distillation.py"
    made = runpy.run_path(str(example))
    kept = {}
    for name in ("teacher", "student", "alone"):
        network = tc.from_torch(made[name], (1, 2))
        seen = tc.CachedPredictor(network).fit(made["x"].numpy())
        kept[name] = {
            "regions": tc.count_regions(network, made["box"]),
            "cached": round(float(seen.contains(made["new"]).mean()), 4),
        }
    (PLACE / "distillation.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


#: What the paper states, where it is here, and how it is judged: a check, or runs of the lab.
STATEMENTS: list[tuple[str, str, Callable[[], Verdict] | str]] = [
    (
        "Sect. 1: a linear region is a connected set on which the map is affine; Theorem 2.2: it "
        "is the region of one pattern",
        "`Regions.merged`",
        one_map,
    ),
    ("Sect. 2: A = A₊ − A₋", "`paper/recurrences.py`", decomposition),
    ("Sect. 2: LeakyReLU from ReLUs", "`network/activations.py`", leaky),
    (
        "Sect. 2: ⊕, ⊗, ⊘; Proposition 2.1: F, G, H",
        "[`Network.tropical`](tropical.md)",
        proposition,
    ),
    ("Sect. 2: decomposed recurrences F_A, f_b, …", "`recurrences`", lambda: recurrence("any")),
    ("Sect. 2: F_A, G_A and H_A of layer ℓ + 1 are n(ℓ + 1) × n(ℓ)", "`recurrences`", columns),
    ("Sect. 2: initial values", "`recurrences`", initial),
    ("Theorem 2.2: a pattern gives a region", "`find_region`", theorem),
    ("Theorem 2.2: diag(v) = Σ eᵢᵀ v eᵢᵀ", "`region.inequalities`", diagonal),
    ("Algorithm 1 and the walkthrough (with the bias that fits)", "`find_region`", one_region),
    ("Algorithm 2, as printed", "`paper/literal.py`", all_regions),
    ("Sect. 3: fewer than all 2ᴺ patterns are tried", "`tropicell paper algorithm2`", fewer),
    ("Figure 1", "[`lab fig1`](lab/fig1/report.md)", "fig1"),
    (
        "Sect. 4: recurrences with skips",
        '`recurrences(…, form="paper")`',
        lambda: recurrence("paper"),
    ),
    (
        "Sect. 4, read on: these F, G, H are tropical polynomials",
        '`tropical(form="paper")`',
        convex,
    ),
    ("Sect. 5: φ1 … φ4, Figure 2", "[`lab fig2`](lab/fig2/report.md)", "fig2"),
    ("Sect. 6.1: Figure 3", "[`lab fig3`](lab/fig3/report.md)", "fig3"),
    (
        "Sect. 6.1: with skips and without, the bound on the number of regions is the same",
        "`network/count_bounds.py`",
        bounds,
    ),
    ("Sect. 6.2: Table 1", "[`lab table1`](lab/table1/report.md)", "table1"),
    (
        "Sect. 6.2: the numbers of regions are not normally distributed",
        "[`lab table1`](lab/table1-1000/report.md)",
        not_normal,
    ),
    (
        "Sect. 6.3: hyperplanes behind a skip, G(ℓ) + A₋ν(k) = H(ℓ) + A₊ν(k)",
        '`recurrences(…, form="paper")`',
        behind_a_skip,
    ),
    ("Sect. 6.3: why skips add regions", "[`lab skips`](lab/skips/report.md)", "skips"),
    ("Algorithm 3", "`paper/algorithm3.py`", cached),
    (
        "Algorithm 3: the map on a region is F_A x + f_b of layer L",
        "`region.affine_map`",
        numerator_alone,
    ),
    (
        "Sect. 7: the cache makes predictions quicker",
        "[when caching pays](when-caching-pays.md)",
        quicker,
    ),
    ("Sect. 7.1: Figure 4", "[`lab fig4`](lab/fig4/report.md)", "fig4"),
    (
        "Sect. 7.1: path lengths tell foreign data",
        "[data far away](out-of-distribution.md)",
        path_lengths,
    ),
    (
        "Sect. 7.1: knowledge distillation makes caches useful for large networks",
        "[an example](gallery/plot_distillation)",
        distilled,
    ),
    ("Sect. 7.2: Table 2", "[`lab table2`](lab/table2/report.md)", "table2"),
    (
        "Sect. 7.2: networks with skips do not simply put regions around training images",
        "[`lab regions784`](lab/regions784/report.md)",
        around_images,
    ),
]


def claims() -> list[tuple[str, dict[str, str]]]:
    """All claims that committed runs of the lab judge, with the run."""
    found = []
    for file in sorted((PLACE / "lab").glob("*/numbers.json")):
        numbers = json.loads(file.read_text(encoding="utf-8"))
        found += [(file.parent.name, claim) for claim in numbers.get("claims", [])]
    return found


def of_a_run(name: str) -> Verdict:
    """What the claims of a run come to."""
    verdicts = Counter(claim["verdict"] for run, claim in claims() if run == name)
    if not verdicts:
        return "see the report", "published and measured numbers side by side"
    if len(verdicts) == 1:
        ((word, count),) = verdicts.items()
        return word, f"{count} claim{'s' if count > 1 else ''}, below"
    return "mixed", ", ".join(f"{word}: {n}" for word, n in sorted(verdicts.items()))


def statement_rows() -> list[tuple[str, str, str, str]]:
    """The table of statements."""
    rows = []
    for what, where, how in STATEMENTS:
        word, evidence = of_a_run(how) if isinstance(how, str) else how()
        rows.append((what, where, word, evidence))
    return rows


def claim_rows() -> list[tuple[str, str, str, str]]:
    """The table of claims."""
    return [
        (
            f"{c['text']} ({c['where']})",
            f"[`lab {run}`](lab/{run}/report.md)",
            c["verdict"],
            c["evidence"],
        )
        for run, c in claims()
    ]


def table(rows: list[tuple[str, str, str, str]]) -> str:
    """Rows as Markdown."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {a} | {b} | **{c}** | {d} |" for a, b, c, d in cells]
    return "\n".join(
        ["| in the paper | where | verdict | evidence |", "| --- | --- | --- | --- |", *lines]
    )


def replaced(page: str, name: str, text: str) -> str:
    """The page with another text between two marks."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    return re.sub(pattern, lambda m: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL)


def write() -> None:
    """Renew both tables."""
    page = PAGE.read_text(encoding="utf-8")
    page = replaced(page, "statements", table(statement_rows()))
    judged_claims = claim_rows()
    if judged_claims:
        page = replaced(page, "claims", table(judged_claims))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["distillation"]:
        distil()
    write()
