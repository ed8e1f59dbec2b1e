"""What ``tropicell show`` does: what is in a file or folder of regions, or one region."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tropicell.cli import output
from tropicell.cli.options import domain_text, is_folder
from tropicell.errors import InvalidInputError
from tropicell.regions.files import load_regions
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from tropicell.regions.stored.stored_regions import StoredRegions

DONE = 0

#: What spans a region: the words that are printed, and attributes of a `Region`.
_CORNERS = {"vertices": "vertices", "rays": "rays", "lines": "lineality"}

#: With more inputs than this, volumes and vertices take too long to be worked out unasked.
_FEW_INPUTS = 5


def folder_summary(stored: StoredRegions) -> dict[str, Any]:
    """What is said of a folder of regions."""
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
    about = folder_summary(stored)
    if arguments.json:
        output.write_json(about)
        return DONE
    about |= {
        "regions": f"{'' if stored.complete else 'at least '}{len(stored):,}",
        "bytes": f"{stored.nbytes:,}",
        "columns": ", ".join(["patterns", *stored.columns]),
        "engine": engine_text(stored.stats),
    }
    output.write(output.table([[key, str(about[key])] for key in about if key != "stats"]))
    return DONE


def summary(regions: Regions) -> dict[str, Any]:
    """What is said of regions."""
    return {
        "network": repr(regions.network),
        "domain": where(regions),
        "regions": len(regions),
        "complete": regions.complete,
        "bounded": int(regions.bounded.sum()) if _known(regions, "bounded") else None,
        "stats": regions.stats,
    }


def engine_text(stats: Mapping[str, Any]) -> str:
    """Which engine has found regions, and why it was the one, as far as that is known.

    Examples
    --------
    >>> engine_text({"engine": "cells", "reason": "as asked for"})
    'cells (as asked for)'
    """
    engine, reason = stats.get("engine", "–"), stats.get("reason")
    return f"{engine} ({reason})" if reason else str(engine)


def where(regions: Regions) -> str:
    """The domain of regions in words."""
    on_slice = " of a slice" if regions.network.embedding is not None else ""
    return domain_text(regions.domain) + on_slice


def _known(regions: Regions, column: str) -> bool:
    """Whether a column is there, or can be worked out for all regions in a moment."""
    return regions.known(column) is not None or regions.network.n_inputs <= _FEW_INPUTS


def _volume(regions: Regions, index: int) -> float | None:
    return float(regions.volumes[index]) if _known(regions, "volumes") else None


def show(arguments: argparse.Namespace) -> int:
    """What a file or folder of regions holds, or one of its regions."""
    if is_folder(arguments.regions):
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
    about = summary(regions)
    if arguments.json:
        output.write_json(about | {"shown": shown})
        return DONE
    rows = [
        ["network", about["network"]],
        ["domain", about["domain"]],
        ["regions", f"{'' if regions.complete else 'at least '}{len(regions):,}"],
        ["bounded", "–" if about["bounded"] is None else f"{about['bounded']:,}"],
        ["engine", engine_text(regions.stats)],
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
                **{
                    name: getattr(region, attribute) if corners else None
                    for name, attribute in _CORNERS.items()
                },
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
    for name, attribute in _CORNERS.items():
        points = getattr(region, attribute)
        if len(points):
            shown = [f"  {output.point_text(point, exact=exact)}" for point in points]
            parts.append("\n".join([name, *shown]))
    return parts
