"""What the commands do. Each takes the parsed arguments and returns the exit status."""

from __future__ import annotations

import argparse
import json
import time
import zipfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from tropicell.cli import output
from tropicell.cli.options import domain_of, domain_text, search_options
from tropicell.errors import IncompleteError, InvalidInputError
from tropicell.io import load
from tropicell.network import Network
from tropicell.region_files import FORMAT, load_regions
from tropicell.regions import Regions

if TYPE_CHECKING:
    from tropicell.stored_regions import StoredRegions

DONE, NEGATIVE = 0, 1

_CORNERS = ("vertices", "rays", "lines")

#: With more inputs than this, volumes and vertices take too long to be worked out unasked.
_FEW_INPUTS = 5

#: Numbers with more digits than this are given to scripts as a logarithm only.
_MOST_DIGITS = 300


def info(arguments: argparse.Namespace) -> int:
    """Layers, widths, skips, operators, neurons, bounds on the number of regions."""
    from tropicell import bounds  # noqa: PLC0415

    network = load(arguments.model)
    low, high = bounds.lower_bound(network), bounds.upper_bound(network)
    logarithm = bounds.logarithm10(high)
    kinds = Counter(
        name for layer in network.layers for name in [layer.activation.name] * layer.width
    )
    if arguments.json:
        output.write_json(
            {
                "inputs": network.n_inputs,
                "outputs": network.n_outputs,
                "widths": network.widths,
                "skips": network.skips,
                "neurons": network.n_neurons,
                "nonzero_weights": _weights(network),
                "activations": kinds,
                "regions_at_least": low,
                "regions_at_most": high if logarithm < _MOST_DIGITS else None,
                "regions_at_most_log10": logarithm,
            }
        )
        return DONE
    rows = [
        ["neurons", f"{network.n_neurons:,} in {network.depth} layers"],
        ["weights", f"{_weights(network):,} that are not 0"],
        ["activations", ", ".join(f"{name} × {n:,}" for name, n in sorted(kinds.items())) or "–"],
        ["skips", ", ".join(f"{k}→{layer}" for k, layer in network.skips) or "–"],
        [
            "regions",
            f"from {bounds.magnitude(low)} to {bounds.magnitude(high)} in the whole space, by "
            "formulas alone",
        ],
    ]
    output.write(f"{network.diagram()}\n\n{output.table(rows)}")
    return DONE


def _weights(network: Network) -> int:
    """Weights and biases other than 0: convolutions are matrices full of zeros here."""
    parts = [network.affine(layer) for layer in range(1, network.depth + 2)]
    arrays = [array for part in parts for array in (part.bias, *part.terms.values())]
    return sum(int(a.count_nonzero() if issparse(a) else np.count_nonzero(a)) for a in arrays)


def count(arguments: argparse.Namespace) -> int:
    """The number of regions, or of merged regions."""
    from tropicell.enumeration import count_regions, enumerate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    started = time.perf_counter()
    merged: int | None = None
    complete = True
    if arguments.merged:
        regions = enumerate_regions(network, domain, **search_options(arguments))
        found, complete = len(regions), regions.complete
        merged = len(regions.merged()) if complete else None
    else:
        try:
            options = search_options(arguments)
            del options["max_bytes"]  # a count keeps nothing
            found = count_regions(network, domain, **options)
        except IncompleteError as error:
            found, complete = error.count, False
    if arguments.json:
        result = {
            "regions": found,
            "complete": complete,
            "domain": domain_text(domain),
            "arithmetic": arguments.arithmetic,
            "seconds": time.perf_counter() - started,
        }
        output.write_json(result | ({"merged": merged} if arguments.merged else {}))
    else:
        least = "" if complete else "at least "
        output.write(f"{least}{output.regions_text(found)} in {domain_text(domain)}")
        if merged is not None:
            output.write(f"{merged:,} merged regions (pieces with one and the same map)")
    return _ended(complete)


def estimate(arguments: argparse.Namespace) -> int:
    """About how many regions there are."""
    from tropicell.estimate import estimate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    found = estimate_regions(
        network, domain, max_seconds=arguments.max_seconds, seed=arguments.seed
    )
    if arguments.json:
        output.write_json(asdict(found) | {"domain": domain_text(domain)})
    else:
        output.write(f"{found} in {domain_text(domain)}")
    return DONE


def _ended(complete: bool) -> int:
    if not complete:
        output.note("not complete: a budget, Ctrl-C or SIGTERM ended the search")
    return DONE if complete else NEGATIVE


def enumerate_(arguments: argparse.Namespace) -> int:
    """All regions, into a file or a folder."""
    if arguments.format == "parquet" or (arguments.format is None and _is_folder(arguments.out)):
        return _stream(arguments)
    _check_place(arguments.out, ".npz")
    network, domain = load(arguments.model), domain_of(arguments)
    regions = _enumerated(network, domain, arguments)
    regions.save(arguments.out)
    if arguments.json:
        output.write_json(_about(regions) | {"file": arguments.out})
    else:
        output.write(
            f"{output.regions_text(len(regions))} in {domain_text(domain)}, found in "
            f"{regions.stats['seconds']:.2f} s ({regions.stats['engine']} engine, "
            f"{regions.stats['arithmetic']})\nregions: {arguments.out}"
        )
    return _ended(regions.complete)


def _is_folder(path: str) -> bool:
    return path.endswith(("/", "\\")) or "://" in path or Path(path).is_dir()


def _stream(arguments: argparse.Namespace) -> int:
    """All regions, into a folder, while they are found."""
    from tropicell.enumeration import enumerate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    stored: StoredRegions = enumerate_regions(
        network, domain, **search_options(arguments), out=arguments.out
    )
    if arguments.json:
        output.write_json(_about_stored(stored) | {"folder": arguments.out})
    else:
        output.write(
            f"{output.regions_text(len(stored))} in {domain_text(domain)}, {stored.nbytes:,} bytes "
            f"in {len(stored.files):,} files\nregions: {arguments.out}"
        )
    return _ended(stored.complete)


def _about_stored(stored: StoredRegions) -> dict[str, Any]:
    return {
        "network": repr(stored.network),
        "domain": domain_text(stored.domain),
        "regions": len(stored),
        "complete": stored.complete,
        "files": len(stored.files),
        "bytes": stored.nbytes,
        "columns": stored.columns,
        "stats": stored.stats,
    }


def _show_stored(stored: StoredRegions, arguments: argparse.Namespace) -> int:
    if arguments.region is not None:
        raise InvalidInputError(
            "--region: not for folders; use tropicell.Regions.open(folder)[number] in Python"
        )
    about = _about_stored(stored)
    if arguments.json:
        output.write_json(about)
        return DONE
    about |= {
        "regions": f"{len(stored):,}" + ("" if stored.complete else " (not complete)"),
        "bytes": f"{stored.nbytes:,}",
        "columns": ", ".join(["patterns", *stored.columns]),
    }
    output.write(output.table([[key, str(about[key])] for key in about if key != "stats"]))
    return DONE


def _enumerated(network: Network, domain: Any, arguments: argparse.Namespace) -> Regions:
    from tropicell.enumeration import enumerate_regions  # noqa: PLC0415

    regions: Regions = enumerate_regions(network, domain, **search_options(arguments))
    return regions


def _check_place(path: str, suffix: str = "") -> None:
    """Refuse a place to write to before the work is done, not after."""
    place = Path(path)
    if suffix and place.suffix.lower() != suffix:
        raise InvalidInputError(f"--out {path}: expected a name that ends in {suffix}")
    if place.is_dir() or not place.parent.is_dir():
        what = "is a folder" if place.is_dir() else f"there is no folder {place.parent}"
        raise InvalidInputError(f"--out {path}: {what}")


def _about(regions: Regions) -> dict[str, Any]:
    return {
        "network": repr(regions.network),
        "domain": _where(regions),
        "regions": len(regions),
        "complete": regions.complete,
        "bounded": int(regions.bounded.sum()) if _known(regions, "bounded") else None,
        "stats": regions.stats,
    }


def _where(regions: Regions) -> str:
    on_slice = " of a slice" if regions.network.embedding is not None else ""
    return domain_text(regions.domain) + on_slice


def _known(regions: Regions, column: str) -> bool:
    """Whether a column is there, or can be worked out for all regions in a moment."""
    return column in regions.__dict__ or regions.network.n_inputs <= _FEW_INPUTS


def _volume(regions: Regions, index: int) -> float | None:
    return float(regions.volumes[index]) if _known(regions, "volumes") else None


def show(arguments: argparse.Namespace) -> int:
    """What a file or folder of regions holds, or one of its regions."""
    if _is_folder(arguments.regions):
        return _show_stored(Regions.open(arguments.regions), arguments)
    regions = load_regions(arguments.regions)
    if arguments.region is None:
        return _show_all(regions, arguments)
    if not 0 <= arguments.region < len(regions):
        raise InvalidInputError(
            f"--region {arguments.region}: the file has the regions 0 to {len(regions) - 1}"
        )
    return _show_one(regions, arguments.region, arguments)


def _show_all(regions: Regions, arguments: argparse.Namespace) -> int:
    most = max(0, min(len(regions), arguments.limit))
    facets = regions.facet_lines.counts.tolist() if _known(regions, "facet_lines") else None
    shown = [
        {
            "region": i,
            "pattern": regions[i].text,
            "volume": _volume(regions, i),
            "facets": facets[i] if facets is not None else None,
            "witness": regions.witnesses[i],
        }
        for i in range(most)
    ]
    about = _about(regions)
    if arguments.json:
        output.write_json(about | {"shown": shown})
        return DONE
    rows = [
        ["network", about["network"]],
        ["domain", about["domain"]],
        ["regions", f"{len(regions):,}" + ("" if regions.complete else " (not complete)")],
        ["bounded", "–" if about["bounded"] is None else f"{about['bounded']:,}"],
    ]
    header = ["region", "pattern", "volume", "facets", "witness"]
    lines = [
        [
            str(item["region"]),
            output.shortened(str(item["pattern"])),
            "–" if item["volume"] is None else f"{item['volume']:.6g}",
            "–" if item["facets"] is None else str(item["facets"]),
            output.point_text(item["witness"]),
        ]
        for item in shown
    ]
    output.write(f"{output.table(rows)}\n\n{output.table(lines, header=header)}")
    if most < len(regions):
        output.write(f"… and {len(regions) - most:,} more; --limit N shows more, --region I one")
    return DONE


def _show_one(regions: Regions, index: int, arguments: argparse.Namespace) -> int:
    region = regions[index]
    shown = region.inequalities
    facets = {source for facet in region.facets for source in facet.sources}
    corners = regions.network.n_inputs <= _FEW_INPUTS or arguments.all
    if arguments.json:
        output.write_json(
            {
                "region": index,
                "pattern": region.text,
                "bounded": region.bounded,
                "volume": _volume(regions, index),
                "witness": region.witness,
                "inequalities": [
                    {"a": a, "b": b, "source": str(source), "facet": source in facets}
                    for a, b, source in zip(shown.A, shown.b, shown.sources, strict=True)
                ],
                "matrix": region.affine_map.matrix,
                "offset": region.affine_map.offset,
                "neighbours": region.neighbours,
                **{name: getattr(region, name) if corners else None for name in _CORNERS},
            }
        )
        return DONE
    output.write("\n\n".join(_region_parts(regions, index, facets, arguments)))
    return DONE


def _region_parts(
    regions: Regions, index: int, facets: set[Any], arguments: argparse.Namespace
) -> list[str]:
    region, exact, volume = regions[index], arguments.exact, _volume(regions, index)
    rows, maps = region.inequalities, region.affine_map
    lines = [
        f"  {output.form_text(a, 0, exact=exact)} ≤ {output.number_text(b, exact=exact)}"
        f"    ({source}{'' if source in facets else ', redundant'})"
        for a, b, source in zip(rows.A, rows.b, rows.sources, strict=True)
        if arguments.all or source in facets
    ]
    if len(lines) < len(rows):
        lines.append(f"  and {len(rows) - len(lines)} redundant ones; --all shows them")
    outputs = [
        f"  y{k + 1} = {output.form_text(row, offset, exact=exact)}"
        for k, (row, offset) in enumerate(zip(maps.matrix, maps.offset, strict=True))
    ]
    parts = [
        f"region {index} of {len(regions):,}, "
        + ("bounded" if region.bounded else "unbounded")
        + f"\npattern  {region.text}"
        + (f"\nvolume   {volume:.10g}" if volume is not None else "")
        + f"\nwitness  {output.point_text(region.witness, exact=exact)}",
        "\n".join(["inequalities", *lines]),
        "\n".join(["affine map", *outputs]),
        "neighbours\n  " + (", ".join(map(str, region.neighbours)) or "none"),
    ]
    if regions.network.n_inputs > _FEW_INPUTS and not arguments.all:
        return [*parts, "vertices\n  not worked out for so many inputs; --all does"]
    for name in _CORNERS:
        points = getattr(region, name)
        if len(points):
            shown = [f"  {output.point_text(point, exact=exact)}" for point in points]
            parts.append("\n".join([name, *shown]))
    return parts


def certify(arguments: argparse.Namespace) -> int:
    """A proof that regions are right and complete."""
    if arguments.out is not None:
        _check_place(arguments.out, ".npz")
    regions = regions_of(arguments)
    certificate = regions.certify(volumes=arguments.volumes, workers=arguments.workers)
    if arguments.out is not None and certificate.ok:
        certificate.save(arguments.out)
    if arguments.json:
        output.write_json(
            {
                "proved": certificate.ok,
                "complete": certificate.complete,
                "regions": len(regions),
                "failures": certificate.failures,
                "fingerprint": regions.network.fingerprint,
                "domain": _where(regions),
                "volume": certificate.volume,
                "counts": certificate.counts,
                "seconds": certificate.seconds,
                "file": arguments.out if certificate.ok else None,
            }
        )
    else:
        output.write(str(certificate))
        if arguments.out is not None and certificate.ok:
            output.write(f"certificate: {arguments.out}")
    return DONE if certificate.complete else NEGATIVE


def compare(arguments: argparse.Namespace) -> int:
    """The largest difference of two networks."""
    from tropicell.comparison import compare as compared  # noqa: PLC0415

    domain = domain_of(arguments)
    found = compared(load(arguments.model), load(arguments.other), domain)
    largest = abs(found.largest)  # never -0
    beyond = arguments.tolerance is not None and not largest <= arguments.tolerance
    if arguments.json:
        output.write_json(
            {
                "largest": largest,
                "unbounded": not np.isfinite(largest),
                "point": found.point,
                "output": found.output,
                "domain": domain_text(domain),
                "regions": len(found.regions),
                "complete": found.regions.complete,
                "within_tolerance": None if arguments.tolerance is None else not beyond,
            }
        )
    else:
        where = f" at {output.point_text(found.point)}" if np.isfinite(found.point).all() else ""
        output.write(
            f"largest difference in {domain_text(domain)}: {largest:.10g}{where}, "
            f"output {found.output}"
        )
    if beyond:
        output.note(f"the difference is beyond the tolerance {arguments.tolerance:g}")
    return max(_ended(found.regions.complete), NEGATIVE if beyond else DONE)


def plot(arguments: argparse.Namespace) -> int:
    """A picture of the regions."""
    from tropicell.cli.picture import draw  # noqa: PLC0415 - matplotlib is slow to import

    _check_place(arguments.out)
    regions = regions_of(arguments)
    draw(regions, arguments)
    if arguments.json:
        output.write_json(_about(regions) | {"picture": arguments.out})
    else:
        output.write(
            f"{output.regions_text(len(regions))} in {_where(regions)}\npicture: {arguments.out}"
        )
    return _ended(regions.complete)


def explore(arguments: argparse.Namespace) -> int:
    """A page to explore the regions with."""
    from tropicell.explorer import explore as write_page  # noqa: PLC0415 - seldom needed

    _check_place(arguments.out, ".html")
    regions = regions_of(arguments)
    write_page(regions, arguments.out, open_browser=arguments.open)
    if arguments.json:
        output.write_json(_about(regions) | {"page": arguments.out})
    else:
        output.write(
            f"{output.regions_text(len(regions))} in {_where(regions)}\npage: {arguments.out}"
        )
    return _ended(regions.complete)


def regions_of(arguments: argparse.Namespace) -> Regions:
    """The regions in a file, or those of the network in it."""
    if not holds_regions(arguments.model):
        return _enumerated(load(arguments.model), domain_of(arguments), arguments)
    if arguments.box is not None or arguments.slice is not None or arguments.whole_space:
        raise InvalidInputError(
            f"{arguments.model}: holds regions, which have their domain already: leave out --box, "
            "--whole-space and --slice, or give a model"
        )
    return load_regions(arguments.model)


def holds_regions(path: str) -> bool:
    """Whether a file is one of ``tropicell enumerate``; only its header is read."""
    if Path(path).suffix.lower() != ".npz":
        return False
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return False  # `load` says what is wrong with it
    return isinstance(header, dict) and header.get("format") == FORMAT


def demo(arguments: argparse.Namespace) -> int:
    """The bundled network, with a picture."""
    from tropicell.demo import main  # noqa: PLC0415

    main(["--out", arguments.out])
    return DONE


def lab(arguments: argparse.Namespace) -> int:
    """An experiment, or all of them."""
    from tropicell.cli.lab import run  # noqa: PLC0415

    return run(arguments)


def completion(arguments: argparse.Namespace) -> int:
    """A script for the shell."""
    from tropicell.cli.completion import script  # noqa: PLC0415
    from tropicell.cli.main import build_parser  # noqa: PLC0415

    print(script(build_parser(), arguments.shell))
    return DONE
