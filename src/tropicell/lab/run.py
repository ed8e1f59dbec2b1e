"""How an experiment is run: its folder, seeds, finished work, progress, report.

An experiment is a function that takes a `Run` and its settings, a small frozen dataclass of which
it has two instances: `full`, what the paper did, and `quick`, a small version of the same.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import make_folder, path_of
from tropicell._runtime.plain import plain
from tropicell.errors import IncompleteError, InvalidInputError
from tropicell.lab.report import Report
from tropicell.lab.store import Arrays, Store

T = TypeVar("T")

#: Packages whose versions a report names, if they are installed.
_PACKAGES = ("tropicell", "numpy", "scipy", "numba", "torch", "umap-learn", "matplotlib")


@dataclass(frozen=True)
class Options:
    """What can be asked of every experiment.

    Attributes
    ----------
    quick : bool
        The small version.
    seed : int
        All random numbers come from it.
    device : str
        Where networks are trained: ``"cpu"`` or ``"cuda"``.
    data : Path, optional
        Folder with data sets.
    download : bool
        Get public data sets that are not in that folder.
    workers : int
        Threads.
    certify : bool
        Prove every count, where the experiment can.
    model : str, optional
        ``file.py:function`` or a file of a network, for the experiment ``custom``.
    progress : bool, optional
        Show progress; default: if standard error is a terminal.
    """

    quick: bool = False
    seed: int = 0
    device: str = "cpu"
    data: Path | None = None
    download: bool = False
    workers: int = 2
    certify: bool = False
    model: str | None = None
    progress: bool | None = None


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it is called and what it does.

    Attributes
    ----------
    name : str
    title : str
        The first line of its report.
    run : callable
        ``run(run, settings)``; writes into ``run.report`` and ``run.numbers``.
    full, quick : dataclass
        Its settings.
    """

    name: str
    title: str
    run: Callable[[Run, Any], None]
    full: Any
    quick: Any


class Run:
    """One run of an experiment.

    Attributes
    ----------
    options : Options
    folder : Path
        Where everything is written.
    report : Report
        What people will read.
    numbers : dict
        What scripts will read: the measured values, the same for the same seed and settings.
    """

    def __init__(self, name: str, title: str, folder: Path, options: Options) -> None:
        self.name = name
        self.options = options
        self.folder = folder
        self.report = Report(title)
        self.numbers: dict[str, Any] = {}
        fixed = {"experiment": name, "seed": options.seed, "tropicell": _version("tropicell")}
        self.store = Store(folder / "finished", fixed)
        self.computed = 0
        self.reused = 0
        self._earlier = 0.0

    def rng(self, *key: str | int) -> np.random.Generator:
        """Random numbers for one purpose: the same whatever else is drawn, in whatever order.

        Examples
        --------
        >>> run = Run("x", "X", Path("x"), Options(seed=1))
        >>> int(run.rng("net", 3).integers(1000)), int(run.rng("net", 3).integers(1000))
        (532, 532)
        """
        return np.random.default_rng([self.options.seed, *_words(key)])

    def torch_seed(self, *key: str | int) -> int:
        """A seed for libraries that have their own random numbers."""
        return int(self.rng(*key).integers(2**31))

    def unit(
        self,
        name: str,
        settings: Mapping[str, Any],
        compute: Callable[[], Mapping[str, Any]],
    ) -> Arrays:
        """The arrays of a unit of work: kept ones if it is finished, else computed and kept.

        Parameters
        ----------
        name : str
            For people and for the file's name.
        settings : mapping
            Everything that the result depends on, apart from the seed.
        compute : callable
            Gives the arrays.
        """
        found = self.store.get(name, settings)
        if found is None:
            started = time.perf_counter()
            result = dict(compute())
            self.store.put(name, settings, result | {"seconds": time.perf_counter() - started})
            self.computed += 1
            found = {key: np.asarray(value) for key, value in result.items()}
        else:
            self.reuse(found)
        return found

    def reuse(self, found: Arrays) -> None:
        """Note that a unit was finished before."""
        self.reused += 1
        self._earlier += float(found.pop("seconds", 0.0))

    def steps(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """The items, with a progress bar that estimates the time that is left."""
        hidden = not self.shows_progress
        yield from tqdm(items, desc=f"{self.name}: {what}", total=total, disable=hidden)

    @property
    def shows_progress(self) -> bool:
        """Whether bars are to be shown."""
        shown = self.options.progress
        return sys.stderr.isatty() if shown is None else shown

    def picture(self, figure: Any, name: str, caption: str) -> None:
        """Write a matplotlib figure as PNG and PDF and put it into the report."""
        from tropicell.lab.pictures import write_figure  # noqa: PLC0415 - matplotlib is an extra

        write_figure(figure, self.folder, name)
        self.report.picture(f"{name}.png", caption)

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write numbers as ``name.csv``."""
        with (
            replacing(self.folder / f"{name}.csv") as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows([_cell(value) for value in row] for row in rows)

    @property
    def earlier_seconds(self) -> float:
        """How long the units took that were finished before this run."""
        return self._earlier


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    options: Options | None = None,
    settings: Any = None,
    **changes: Any,
) -> Run:
    """Run an experiment and write its folder.

    Parameters
    ----------
    experiment : Experiment
    folder : str or Path
        Made if it is not there. What an earlier run finished in it is not done again.
    options : Options, optional
    settings : dataclass, optional
        Default: the experiment's `quick` or `full`, as the options say.
    **changes
        Settings to change, such as ``networks=1000``.

    Returns
    -------
    Run
        With its report and numbers, which are also in the folder: ``report.md``, ``report.html``,
        ``numbers.json``, tables (CSV) and pictures (PNG, PDF).

    Raises
    ------
    InvalidInputError
        If the experiment does not have a setting that is to be changed.
    """
    asked = options or Options()
    chosen = settings if settings is not None else _settings(experiment, asked)
    chosen = _changed(experiment, chosen, changes)
    place = path_of(folder)
    make_folder(place)
    run = Run(experiment.name, experiment.title, place, asked)
    started = time.perf_counter()
    try:
        experiment.run(run, chosen)
    except IncompleteError:  # Ctrl-C during a count
        raise KeyboardInterrupt from None
    _write(run, chosen, time.perf_counter() - started)
    return run


def _settings(experiment: Experiment, options: Options) -> Any:
    return experiment.quick if options.quick else experiment.full


def _changed(experiment: Experiment, settings: Any, changes: Mapping[str, Any]) -> Any:
    known = {field.name for field in dataclasses.fields(settings)}
    for name in changes:
        if name not in known:
            raise InvalidInputError(
                f"{experiment.name} has no setting {name!r}; it has "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        if isinstance(changes[name], int) and changes[name] < 1:
            raise InvalidInputError(f"{name} must be 1 or more, got {changes[name]}")
    return dataclasses.replace(settings, **changes)


def _write(run: Run, settings: Any, seconds: float) -> None:
    """The files that every experiment has."""
    chosen: dict[str, Any] = dataclasses.asdict(settings)
    asked = {"experiment": run.name, "seed": run.options.seed, "settings": chosen}
    write_json(run.folder / "numbers.json", asked | {"numbers": run.numbers})
    about = {
        "settings": ", ".join(f"{k} = {_shown(v)}" for k, v in chosen.items()) or "–",
        "seed": str(run.options.seed),
        "time": _time_text(run, seconds),
        "versions": ", ".join(
            [f"Python {platform.python_version()}"]
            + [f"{name} {found}" for name in _PACKAGES if (found := _version(name))]
        ),
    }
    run.report.write(run.folder, about)


def write_json(file: Path, value: Any) -> None:
    """A value as a JSON file; infinite and undefined numbers become null."""
    text = json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)
    with replacing(file) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def _time_text(run: Run, seconds: float) -> str:
    text = f"{seconds:.1f} s"
    if run.options.device != "cpu":
        text += f" (training on {run.options.device})"
    if run.reused:
        text += (
            f"; {run.reused} of {run.reused + run.computed} parts had been finished before, "
            f"with {run.earlier_seconds:.1f} s of computing"
        )
    return text


def _words(key: Sequence[str | int]) -> list[int]:
    """A key as numbers for NumPy's seeds."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return [int(word) for word in np.frombuffer(digest, dtype="<u4")]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cell(value: Any) -> Any:
    """A value in a CSV file: numbers with all their digits, nothing for what is not defined."""
    value = plain(value)
    return "" if value is None else value


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return str(value)
