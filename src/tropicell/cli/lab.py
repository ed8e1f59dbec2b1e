"""``tropicell lab``: its options and what it does."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from tropicell.cli import output
from tropicell.errors import InvalidInputError, TropicellError
from tropicell.lab.experiments import EXPERIMENTS, NOT_IN_ALL

EXAMPLES = (
    "table1 --quick",
    "table1 --networks 1000 --out table1-1000",
    "fig2 --device cuda",
    "fig3 --tables docs/lab/fig3",
    "all --tables docs/lab --out anew",
    "custom --model my_module.py:build",
    "all --out lab-output",
)


def names_help() -> str:
    """What there is to run."""
    rows = [[f"  {name}", text] for name, text in EXPERIMENTS.items()]
    return "experiments:\n" + output.table([*rows, ["  all", "all of them, except custom"]])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", metavar="NAME", choices=(*EXPERIMENTS, "all"), help="see below")
    parser.add_argument("--quick", action="store_true", help="a small version, for a first look")
    parser.add_argument(
        "--out", metavar="DIR", help="folder (default: lab-output/NAME); what is there is reused"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where to train (default: cpu)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with data sets (default: TROPICELL_DATA)"
    )
    parser.add_argument(
        "--download", action="store_true", help="get public data sets that are not in that folder"
    )
    parser.add_argument(
        "--networks", type=int, metavar="N", help="networks (or trials) of each kind"
    )
    parser.add_argument("--epochs", type=int, metavar="N", help="length of the training")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="threads (default: 2)")
    parser.add_argument(
        "--certify", action="store_true", help="prove every count (table1), which takes longer"
    )
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="DIR",
        help="write the report of an earlier run anew, from the tables in its folder (with all: "
        "those of all runs in a folder)",
    )
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="for custom: FILE.py:FUNCTION, which is run, or a file of a network",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run what was asked for; with ``all``, one failure does not end the others."""
    everything = arguments.name == "all"
    base = Path(arguments.out or "lab-output")
    done: list[dict[str, Any]] = []
    failed: list[str] = []
    for name, part, tables in _jobs(arguments):
        folder = base / part if everything or arguments.out is None else base
        try:
            done.append(_one(name, folder, tables, arguments, ignore_changes=everything))
        except KeyboardInterrupt:
            output.note(f"what is finished is kept in {folder}: the same command goes on from it")
            raise
        except (TropicellError, OSError) as error:
            if not everything:
                raise
            failed.append(name)
            output.note(f"{name}: {error}")
    if arguments.json:
        output.write_json({"done": done, "failed": failed})
    return 2 if failed else 0


def _jobs(arguments: argparse.Namespace) -> list[tuple[str, str, Path | None]]:
    """What to run: the experiment, its folder's name, and the tables to write its report from."""
    if arguments.name != "all":
        return [(arguments.name, arguments.name, arguments.tables)]
    if arguments.tables is None:
        return [(name, name, None) for name in EXPERIMENTS if name not in NOT_IN_ALL]
    from tropicell.lab.experiments import experiment  # noqa: PLC0415

    found: list[tuple[str, str, Path | None]] = []
    for file in sorted(arguments.tables.glob("*/numbers.json")):
        # there may be several runs of one experiment: table1, table1-1000
        name = max((n for n in EXPERIMENTS if file.parent.name.startswith(n)), key=len, default="")
        if not name:
            continue
        if experiment(name).again is None:
            output.note(f"{name}: left out, its report needs more than tables")
            continue
        found.append((name, file.parent.name, file.parent))
    if not found:
        raise InvalidInputError(f"{arguments.tables}: there are no folders of earlier runs in it")
    return found


def _one(
    name: str,
    folder: Path,
    tables: Path | None,
    arguments: argparse.Namespace,
    *,
    ignore_changes: bool,
) -> dict[str, Any]:
    from tropicell.lab import Options, experiment, run_experiment  # noqa: PLC0415

    if arguments.seed < 0:
        raise InvalidInputError(f"--seed must not be negative, got {arguments.seed}")
    if arguments.workers < 1:
        raise InvalidInputError(f"--workers must be 1 or more, got {arguments.workers}")
    options = Options(
        quick=arguments.quick,
        seed=arguments.seed,
        device=arguments.device,
        data=arguments.data,
        download=arguments.download,
        workers=arguments.workers,
        certify=arguments.certify,
        model=arguments.model,
        tables=tables,
    )
    found = experiment(name)
    asked = {"networks": arguments.networks, "epochs": arguments.epochs}
    changes = {key: value for key, value in asked.items() if value is not None}
    if ignore_changes:
        known = {field.name for field in dataclasses.fields(found.full)}
        changes = {key: value for key, value in changes.items() if key in known}
    finished = run_experiment(found, folder, options, **changes)
    report = folder / "report.html"
    if not arguments.json:
        output.write(f"{finished.report.title}\nreport: {report}")
        sys.stdout.flush()
    return {"experiment": name, "report": str(report), "numbers": finished.numbers}
