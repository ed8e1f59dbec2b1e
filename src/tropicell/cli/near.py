"""The commands about one point: regions around it, its distance to the boundary, and paths."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.cli import output
from tropicell.errors import InvalidInputError
from tropicell.importers.files import load
from tropicell.network.network import Network

#: Pieces of a path, and attributions, that people are shown.
_SHOWN = 20


def _point(text: str, network: Network) -> NDArray[np.float64]:
    """A point: numbers, or a row of a file (``points.npy``, ``points.npz:3``)."""
    name, _, row = text.rpartition(":") if text.rpartition(":")[2].isdigit() else (text, "", "0")
    if Path(name).suffix in (".npy", ".npz"):
        values = _rows_of(name)
        if not int(row) < len(values):
            raise InvalidInputError(f"{name}: there is no row {row}, only {len(values)} rows")
        value = values[int(row)]
    else:
        try:
            value = np.array([float(part) for part in text.split(",")])
        except ValueError:
            raise InvalidInputError(
                f"{text!r} is not a point: give numbers separated by commas (0.5,-1), or a file "
                "points.npy or points.npz, with :ROW if it has several"
            ) from None
    if value.size != network.n_inputs:
        raise InvalidInputError(
            f"{text}: a point of this network has {network.n_inputs} numbers, not {value.size}"
        )
    return np.asarray(value, np.float64).reshape(-1)


def _rows_of(name: str) -> NDArray[Any]:
    """The points of a file, one in each row."""
    from tropicell._runtime.npz import read_npz  # noqa: PLC0415
    from tropicell._runtime.paths import in_file  # noqa: PLC0415 - keeps --help fast

    with in_file(Path(name)):
        if name.endswith(".npy"):
            array = np.load(name, allow_pickle=False)
        else:
            arrays = read_npz(name)
            key = "points" if "points" in arrays else next(iter(arrays), None)
            if key is None or (len(arrays) > 1 and key != "points"):
                raise InvalidInputError(f"{name}: a file of points has one array, or 'points'")
            array = arrays[key]
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"{name}: points are numbers, not {array.dtype}")
    return np.asarray(array[None] if array.ndim == 1 else array)


def near(arguments: argparse.Namespace) -> int:
    """The regions around a point, nearest first."""
    from tropicell.analysis.around import regions_around  # noqa: PLC0415

    network = load(arguments.model)
    found = regions_around(
        network,
        _point(arguments.point, network),
        flips=arguments.flips,
        max_regions=arguments.max_regions,
        radius=arguments.radius,
        max_seconds=arguments.max_seconds,
    )
    if arguments.out:
        found.save(arguments.out)
    if arguments.json:
        output.write_json(
            {
                "regions": len(found),
                "within": found.within,
                "distances": found.distances,
                "lower": found.lower,
                "flips": found.flips,
                "patterns": found.texts(),
                "witnesses": found.witnesses if network.n_inputs <= _SHOWN else None,
            }
        )
        return 0
    rows = [
        [str(i), f"{distance:.6g}", str(flips), output.shortened(text)]
        for i, (distance, flips, text) in enumerate(
            zip(found.distances, found.flips, found.texts()[:_SHOWN], strict=False)
        )
    ]
    output.write(output.table(rows, header=["region", "distance", "flips", "pattern"]))
    more = len(found) - len(rows)
    if more:
        output.write(f"… and {more:,} more")
    output.write(f"no other region is nearer than {found.within:.6g}: proved")
    return 0


def robustness(arguments: argparse.Namespace) -> int:
    """The distance from a point to the decision boundary."""
    from tropicell.analysis.robustness import robustness as distance  # noqa: PLC0415

    network = load(arguments.model)
    found = distance(
        network,
        _point(arguments.point, network),
        norm=arguments.norm,
        gap=arguments.gap,
        radius=np.inf if arguments.radius is None else arguments.radius,
        max_seconds=arguments.max_seconds,
    )
    proved = None
    if arguments.certify:
        proved = found.certify(arguments.max_seconds).verify()
    if arguments.json:
        names = ("lower", "upper", "complete", "output", "target", "norm", "point", "nodes")
        answer = {name: getattr(found, name) for name in names}
        output.write_json(
            answer
            | {"exact": found.exact, "exact_point": found.exact_point, "seconds": found.seconds}
            | ({"certified": proved} if arguments.certify else {})
        )
    else:
        _write_distance(found)
        if proved is not None:
            output.write("certificate: " + ("checked in rationals" if proved else "not proved"))
    return 0 if found.complete and proved is not False else 1


def _write_distance(found: Any) -> None:
    exact = ""
    if found.exact is not None:
        digits = len(str(found.exact))
        short = output.number_text(found.exact)
        exact = short if digits <= 40 else f"{short}, rounded; --json has all {digits} characters"
        exact = f"the square is {exact}" if found.norm == "l2" else exact
    rows = [["class", str(found.output)]]
    if found.upper == np.inf:
        rows.append(["distance", f"at least {found.lower:.9g} ({found.norm})"])
    else:
        rows += [
            ["distance", f"from {found.lower:.9g} to {found.upper:.9g} ({found.norm})"],
            ["there", f"class {found.target}"],
        ]
        if found.point is not None:
            rows.append(["point", output.point_text(found.point)])
    if exact:
        rows.append(["exact", exact])
    output.write(output.table(rows))
    if not found.complete:
        output.note("not complete: a budget ended the search; both bounds are proved")


def path(arguments: argparse.Namespace) -> int:
    """The regions on the way through some points, or what each input has to do with an output."""
    from tropicell.analysis.attribution import integrated_gradients  # noqa: PLC0415
    from tropicell.analysis.paths import Path as Way  # noqa: PLC0415

    network = load(arguments.model)
    points = [_point(text, network) for text in arguments.points]
    if arguments.attribute and len(points) != 2:
        raise InvalidInputError(f"--attribute is for two points, not {len(points)}")
    if arguments.attribute:
        found = integrated_gradients(network, points[1], points[0], output=arguments.output)
        values = found.attributions[0]
        if arguments.json:
            output.write_json(
                {
                    "output": found.outputs[0],
                    "difference": found.differences[0],
                    "attributions": values,
                    "errors": found.errors[0],
                }
            )
            return 0
        order = np.argsort(-np.abs(values), kind="stable")[:_SHOWN]
        rows = [[f"x{i + 1}", f"{values[i]:.6g}"] for i in order.tolist()]
        output.write(output.table(rows, header=["input", "attribution"]))
        output.write(f"output y{found.outputs[0] + 1} changes by {found.differences[0]:.9g} in all")
        return 0
    way = Way(points).regions(network)
    if arguments.json:
        output.write_json(
            {"regions": len(way), "ends": way.ends, "lengths": way.lengths, "patterns": way.texts()}
        )
        return 0
    rows = [
        [str(i), f"{end:.6g}", f"{length:.6g}", output.shortened(text)]
        for i, (end, length, text) in enumerate(
            zip(way.ends, way.lengths, way.texts()[:_SHOWN], strict=False)
        )
    ]
    output.write(output.table(rows, header=["piece", "ends at", "length", "pattern"]))
    if len(way) > len(rows):
        output.write(f"… and {len(way) - len(rows):,} more")
    output.write(f"{output.regions_text(len(way))} on the way, in order")
    return 0
