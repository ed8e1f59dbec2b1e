"""Meshes of neural distance functions: exact ones, and marching cubes on grids; writes a section of RESULTS.md.

    python -m benchmarks.meshes [--only NAME] [--grids N …]
    python -m benchmarks.meshes --again    the section anew from meshes.json, without measuring

Set OPENBLAS_NUM_THREADS=1, and TROPICELL_MODELS to a folder with `bunny_3d_3x16.npz` and `bunny_3d_8x32.npz` (see CONTRIBUTING.md); what is
not there is left out; EDGE_SUBDIVISION names a checkout of relu_edge_subdivision, whose complexes are counted beside ours. The torus is learnt here, by a network with a skip connection like DeepSDF's. Needs scikit-image and trimesh.
Times are CPU seconds of one thread in one run. Marching cubes evaluates the network at all points of a grid. Its error is the network's
own value at the middles of the triangles it finds, which is about their distance to the surface.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tropicell
from benchmarks import sections
from benchmarks.side_by_side import Contestant
from tropicell import Box, Level, Network, enumerate_regions

HERE = Path(__file__).parent
STORE = HERE / "meshes.json"
TITLE = "Meshes of neural distance functions"
BUNNIES = ("bunny_3d_3x16", "bunny_3d_8x32")
#: Whose whole complexes are compared with those of edge subdivision; of others what lies on the surface.
COUNTED = ("bunny_2d_2x100", "bunny_2d_4x32", "bunny_3d_3x16")
TORUS = "torus, with a skip"
GRIDS = (64, 128, 256)

Row = dict[str, Any]


def torus() -> Network:
    """The network of the gallery's example."""
    import runpy

    import matplotlib

    matplotlib.use("Agg")
    found = runpy.run_path(str(HERE.parent / "examples" / "gallery" / "plot_surface_mesh.py"))
    network: Network = found["network"]
    return network


def bunny(name: str) -> Network | None:
    """A network of the folder of models, if it is there."""
    file = Path(os.environ.get("TROPICELL_MODELS", "")) / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as data:
        count = sum(key.startswith("W") for key in data)
        return Network.mlp(
            [data[f"W{k}"].astype(np.float64) for k in range(count)],
            [data[f"b{k}"].astype(np.float64) for k in range(count)],
        )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def exact_mesh(network: Network) -> Row:
    """The exact mesh: its figures, and the times of its three parts."""
    box = Box(-1, 1)
    regions, search = timed(lambda: enumerate_regions(network, box, where=Level(0.0)))
    whole, faces = timed(regions.complex)
    mesh, cut = timed(lambda: whole.level_set(0, 0.0).to_mesh())
    solid = mesh.to_trimesh()
    values, rationals = timed(mesh.exact_outputs)
    return {
        "regions": len(regions),
        "left_out": int(regions.stats["left_out"]),
        "vertices": len(mesh.vertices),
        "polygons": len(mesh),
        "triangles": len(mesh.triangles),
        "watertight": bool(solid.is_watertight and solid.is_winding_consistent),
        "euler": int(mesh.euler_characteristic),
        "volume": float(solid.volume),
        "exact": len(values),
        "on_surface": sum(value == 0 for value in values[:, 0].tolist()),
        "worst": float(np.abs(network(solid.triangles_center)).max()),
        "search": search,
        "faces": faces,
        "cut": cut,
        "rationals": rationals,
    }


def by_grid(network: Network, n: int, volume: float) -> Row:
    """Marching cubes on a grid with n points along each side."""
    import trimesh
    from skimage.measure import marching_cubes

    axis = np.linspace(-1, 1, n)

    def evaluate() -> Any:
        values = np.empty((n, n, n))
        plane = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        for k, x in enumerate(axis):
            points = np.concatenate([np.full((len(plane), 1), x), plane], axis=1)
            values[k] = network(points)[:, 0].reshape(n, n)
        return values

    values, evaluation = timed(evaluate)
    step = 2.0 / (n - 1)
    (vertices, faces, *_), cubes = timed(lambda: marching_cubes(values, 0.0, spacing=(step,) * 3))
    solid = trimesh.Trimesh(vertices - 1.0, faces, process=False)
    errors = np.abs(network(solid.triangles_center))
    return {
        "grid": n,
        "triangles": len(faces),
        "watertight": bool(solid.is_watertight),
        "mean": float(errors.mean()),
        "worst": float(errors.max()),
        "volume": abs(abs(float(solid.volume)) - volume) / volume,
        "seconds": evaluation + cubes,
    }


@dataclass(frozen=True)
class Given:
    """A network as contestants are given it."""

    network: Network
    box: float = 1.0

    def arrays(self) -> tuple[list[Any], list[Any]]:
        parts = [*(layer.affine for layer in self.network.layers), self.network.output]
        return [next(iter(part.terms.values())) for part in parts], [part.bias for part in parts]


def beside_edges(name: str, network: Network, seconds: float) -> Row | None:
    """Vertices and edges of complexes, cut along the surface: ours, and those of edge subdivision."""
    whole = name in COUNTED
    other = Contestant(
        "edge subdivision",
        "complex_edge_subdivision.py",
        needs=("EDGE_SUBDIVISION",),
        options={"prune": not whole},
    )
    if other.missing:
        return None

    def counts() -> Row:
        if not whole:
            regions = enumerate_regions(network, Box(-1, 1), where=Level(0.0))
            return {"surface": list(regions.complex().level_set(0, 0.0).f_vector[:2])}
        complex_ = enumerate_regions(network, Box(-1, 1)).complex()
        return {
            "all": list(complex_.cut(0, 0.0).f_vector[:2]),
            "surface": list(complex_.level_set(0, 0.0).f_vector[:2]),
        }

    ours, took = timed(counts)
    theirs = other.run(Given(network), seconds)  # type: ignore[arg-type]
    return {"network": name, "ours": ours | {"seconds": took}, "theirs": theirs, "whole": whole}


def counted(seconds: float) -> list[Row]:
    """All comparisons with edge subdivision that can be made."""
    names = dict.fromkeys((*COUNTED, *BUNNIES))
    networks = {name: network for name in names if (network := bunny(name)) is not None}
    rows = (beside_edges(name, network, seconds) for name, network in networks.items())
    return [row for row in rows if row]


def measured(only: str, grids: list[int]) -> list[Row]:
    rows = []
    for name in (TORUS, *BUNNIES):
        network = None if only not in name else torus() if name == TORUS else bunny(name)
        if network is None:
            continue
        # Loads the kernels.
        exact_mesh(Network.mlp([np.eye(3), np.ones((1, 3))], [np.zeros(3), [-0.5]]))
        row = {"network": name, "neurons": network.n_neurons, **exact_mesh(network)}
        row["grids"] = [by_grid(network, n, row["volume"]) for n in grids]
        print(row, flush=True)
        rows.append(row)
    return rows


def report(data: dict[str, Any]) -> str:
    """The section."""
    about = data["about"]
    lines = [
        "The surface on which a network is 0 in the box [-1, 1]³, as a mesh: exactly (`surface_mesh`: the regions that the surface meets, their faces, what the level cuts out of them), and by marching cubes "
        "(scikit-image) on grids. Errors are the network's values at the middles of triangles, in float64; volumes are compared with the exact mesh's. CPU seconds of one thread, one run. Watertight and consistently oriented: as trimesh judges. On the surface: how many of the vertices have the value 0 exactly, if they are worked out in rationals and put into the network, and the seconds that this takes. "
        f"tropicell {about['version']}, Python {about['python']}, {about['machine']}, load {about['load']}.",
        "",
        "| network | neurons | regions on it | cells left out | vertices | polygons | watertight | Euler characteristic | exactly on the surface | search, s | faces, s | cut, s | in rationals, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in data["rows"]:
        whole = row["on_surface"] == row["exact"] == row["vertices"]
        on = "all" if whole else f"**{row['on_surface']:,} of {row['exact']:,}**"
        lines.append(
            f"| {row['network']} | {row['neurons']} | {row['regions']:,} | {row['left_out']:,} | {row['vertices']:,} | {row['polygons']:,} | {'yes' if row['watertight'] else '**no**'} | {row['euler']} | {on} | "
            f"{row['search']:.2f} | {row['faces']:.2f} | {row['cut']:.2f} | {row['rationals']:.2f} |"
        )
    lines += [
        "",
        "| network | mesh | triangles | mean error | largest error | volume off by | seconds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in data["rows"]:
        total = row["search"] + row["faces"] + row["cut"]
        lines.append(
            f"| {row['network']} | exact | {row['triangles']:,} | – | {row['worst']:.1e} | – | {total:.2f} |"
        )
        for grid in row["grids"]:
            lines.append(
                f"| {row['network']} | {grid['grid']}³ | {grid['triangles']:,} | {grid['mean']:.1e} | {grid['worst']:.1e} | {100 * grid['volume']:.2g} % | {grid['seconds']:.2f} |"
            )
    if data.get("edges"):
        lines += _edge_lines(data["edges"])
    return "\n".join(lines)


def _edge_lines(rows: list[Row]) -> list[str]:
    """The comparison with edge subdivision."""
    lines = [
        "",
        "The same complexes by edge subdivision (PyTorch, float32, networks in generic position): vertices and edges, of all faces cut along the surface, and of the surface alone. Where all is too much, it is asked to keep only "
        "what may meet the surface. CPU seconds of one thread, its compiling and ours left in.",
        "",
        "| network | all vertices, edges | by edge subdivision | on the surface | by edge subdivision | seconds | by edge subdivision |",
        "| --- | --- | --- | --- | --- | ---: | ---: |",
    ]

    def pair(values: list[int] | None) -> str:
        return " / ".join(f"{value:,}" for value in values) if values else "–"

    same, others, failed = [], [], []
    for row in rows:
        ours, theirs = row["ours"], row["theirs"]
        if "note" in theirs:
            failed.append(f"{row['network']} ({theirs['note']})")
            theirs = {}
        else:
            keys = ("all", "surface") if row["whole"] else ("surface",)
            agree = all(ours[key] == theirs[key] for key in keys)
            (same if agree else others).append(row["network"])
        took = f"{theirs['seconds']:.2f}" if theirs else "–"
        lines.append(
            f"| {row['network']} | {pair(ours.get('all'))} | {pair(theirs.get('all')) if row['whole'] else '–'} | {pair(ours['surface'])} | {pair(theirs.get('surface'))} | {ours['seconds']:.2f} | {took} |"
        )
    lines.append("")
    for text, names in (
        ("The counts are the same", same),
        ("The counts differ", others),
        ("It did not finish", failed),
    ):
        if names:
            lines.append(f"{text}: {', '.join(names)}.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="networks whose names contain this")
    parser.add_argument("--grids", type=int, nargs="+", default=list(GRIDS))
    parser.add_argument(
        "--edges",
        type=float,
        default=40,
        help="about a third of the seconds that edge subdivision has; 0: its rows stay as they are",
    )
    parser.add_argument("--again", action="store_true", help="write the section anew")
    arguments = parser.parse_args()
    if not arguments.again:
        about = {
            "version": tropicell.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "load": round(os.getloadavg()[0], 1),
        }
        known = json.loads(STORE.read_text()) if STORE.exists() else {}
        rows = measured(arguments.only, arguments.grids)
        if arguments.only and known:
            rows = [row for row in known["rows"] if arguments.only not in row["network"]] + rows
        edges = (arguments.edges and counted(arguments.edges)) or known.get("edges", [])
        data = {"about": about, "rows": rows, "edges": edges}
        STORE.write_text(json.dumps(data, indent=1) + "\n")
    sections.put(HERE / "RESULTS.md", TITLE, report(json.loads(STORE.read_text())))


if __name__ == "__main__":
    main()
