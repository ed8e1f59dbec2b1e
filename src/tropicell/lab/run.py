"""How an experiment is run: its folder, seeds, finished work, progress, report.

An experiment is a function that takes a `LabRun` and its settings, a small frozen dataclass of
which it has two instances: `full`, what the paper did, and `quick`, a small version of the same.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib.metadata
import json
import platform
import re
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tropicell._runtime.durable import replacing
from tropicell._runtime.npz import read_npz, write_npz
from tropicell._runtime.paths import make_folder, path_of
from tropicell._runtime.plain import plain
from tropicell.errors import IncompleteError, InvalidInputError, ModelFileError

# --- what is finished stays finished: results of units of work, in files of their own -------------

Arrays = dict[str, NDArray[Any]]

#: A file of the store holds its settings under this name.
_SETTINGS = "settings"


class ResultStore:
    """Results in a folder, found again by the settings that they come from.

    Parameters
    ----------
    folder : Path
        Made when the first result is kept.
    fixed : mapping
        What all units share, such as the seed; part of their settings.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(Path(folder), {"seed": 0})
    ...     store.put("row 1", {"width": 4}, {"counts": np.array([7, 8])})
    ...     store.get("row 1", {"width": 4})["counts"], store.get("row 1", {"width": 5})
    (array([7, 8]), None)
    """

    def __init__(self, folder: Path, fixed: Mapping[str, Any]) -> None:
        self.folder = folder
        self.fixed = dict(fixed)

    def get(self, unit: str, settings: Mapping[str, Any]) -> Arrays | None:
        """The arrays of a unit with these settings, or None if it is not finished.

        Raises
        ------
        ModelFileError
            If what was kept is damaged.
        """
        file = self.file(unit, settings)
        if not file.exists():
            return None
        try:
            arrays = read_npz(file)
        except ModelFileError as error:
            raise ModelFileError(f"{error}; without it, it is worked out again") from None
        kept = arrays.pop(_SETTINGS, None)
        if kept is None or str(kept) != self._text(unit, settings):
            raise ModelFileError(
                f"{file}: holds a result of other settings; without it, it is worked out again"
            )
        return arrays

    def put(self, unit: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Keep the arrays of a unit; the file is there as a whole or not at all."""
        make_folder(self.folder)
        text = self._text(unit, settings)
        values = {name: np.asarray(value) for name, value in arrays.items()}
        write_npz(self.file(unit, settings), values | {_SETTINGS: np.array(text)})

    def file(self, unit: str, settings: Mapping[str, Any]) -> Path:
        """Where a unit with these settings is kept."""
        digest = hashlib.sha256(self._text(unit, settings).encode()).hexdigest()
        name = re.sub(r"[^A-Za-z0-9.]+", "-", unit).strip("-")
        return self.folder / f"{name}-{digest[:12]}.npz"

    def _text(self, unit: str, settings: Mapping[str, Any]) -> str:
        whole = {"unit": unit, "settings": settings, "fixed": self.fixed}
        return json.dumps(plain(whole), sort_keys=True, ensure_ascii=False)


# A report for people: Markdown for repositories, one self-contained HTML page for browsers.
#
# The texts of a report are Markdown. What comes from users (names of files, folders) goes through
# `code` or `literal`, after which it is text and nothing else, in both versions.

_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; line-height: 1.25 } h2 { font-size: 1.25rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right }
th { border-bottom: 2px solid #888; vertical-align: bottom }
th:first-child, td:first-child { text-align: left }
.wide { overflow-x: auto } figure { margin: 1.5rem 0 } figure img { max-width: 100% }
figcaption, caption { color: #555; font-size: .92rem; text-align: left; caption-side: bottom }
code { background: #f2f2f2; padding: 0 .25em; border-radius: 3px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .92rem }
dt { color: #555 } dd { margin: 0 }
"""


@dataclass(frozen=True)
class _Heading:
    text: str

    def markdown(self) -> str:
        return f"## {self.text}"

    def html(self, _: Path) -> str:
        return f"<h2>{_inline(self.text)}</h2>"


@dataclass(frozen=True)
class _Text:
    text: str

    def markdown(self) -> str:
        return self.text

    def html(self, _: Path) -> str:
        return f"<p>{_inline(self.text)}</p>"


@dataclass(frozen=True)
class _Bullets:
    items: tuple[str, ...]

    def markdown(self) -> str:
        return "\n".join(f"- {item}" for item in self.items)

    def html(self, _: Path) -> str:
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in self.items) + "</ul>"


@dataclass(frozen=True)
class _TextTable:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str

    def markdown(self) -> str:
        lines = [self.header, ("---", *["---:"] * (len(self.header) - 1)), *self.rows]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        text = "\n".join("| " + " | ".join(line) + " |" for line in escaped)
        return f"{text}\n\n*{self.caption}*" if self.caption else text

    def html(self, _: Path) -> str:
        caption = f"<caption>{_inline(self.caption)}</caption>" if self.caption else ""
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="wide">{table}</div>'


@dataclass(frozen=True)
class _Picture:
    file: str
    caption: str

    def markdown(self) -> str:
        return f"![{self.caption}]({self.file})\n\n*{self.caption}*"

    def html(self, folder: Path) -> str:
        data = b64encode((folder / self.file).read_bytes()).decode()
        return (
            f'<figure><img alt="{escape(self.caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{_inline(self.caption)}</figcaption></figure>"
        )


class Report:
    """A report, block by block.

    Parameters
    ----------
    title : str

    Examples
    --------
    >>> report = Report("Regions")
    >>> report.text("There are **two**.")
    >>> report.table(["network", "regions"], [["a", 7]])
    >>> print(report.markdown({"seed": "0"}))
    # Regions
    <BLANKLINE>
    There are **two**.
    <BLANKLINE>
    | network | regions |
    | --- | ---: |
    | a | 7 |
    <BLANKLINE>
    ## About this run
    <BLANKLINE>
    - seed: 0
    <BLANKLINE>
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._blocks: list[_Heading | _Text | _Bullets | _TextTable | _Picture] = []

    def heading(self, text: str) -> None:
        """A heading."""
        self._blocks.append(_Heading(text))

    def text(self, text: str) -> None:
        """A paragraph; ``**bold**``, ``*slanted*``, ``[links](…)`` and code are understood."""
        self._blocks.append(_Text(" ".join(text.split())))

    def bullets(self, items: Sequence[str]) -> None:
        """A list."""
        self._blocks.append(_Bullets(tuple(" ".join(item.split()) for item in items)))

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[object]], caption: str = ""
    ) -> None:
        """A table; the first column is aligned on the left, the others on the right."""
        cells = tuple(tuple(" ".join(str(cell).split()) for cell in row) for row in rows)
        self._blocks.append(_TextTable(tuple(header), cells, " ".join(caption.split())))

    def picture(self, file: str, caption: str) -> None:
        """A picture that is in the report's folder."""
        self._blocks.append(_Picture(file, " ".join(caption.split())))

    def markdown(self, about: Mapping[str, str]) -> str:
        """The report as Markdown, with what there is to know about the run at its end."""
        end = ["## About this run", "\n".join(f"- {name}: {text}" for name, text in about.items())]
        blocks = [block.markdown() for block in self._blocks]
        return "\n\n".join([f"# {self.title}", *blocks, *end]) + "\n"

    def html(self, folder: Path, about: Mapping[str, str]) -> str:
        """The report as a page that needs nothing but itself."""
        blocks = "\n".join(block.html(folder) for block in self._blocks)
        end = "".join(f"<dt>{escape(k)}</dt><dd>{_inline(v)}</dd>" for k, v in about.items())
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head><body>\n"
            f"<h1>{_inline(self.title)}</h1>\n{blocks}\n"
            f"<h2>About this run</h2>\n<dl>{end}</dl>\n</body></html>\n"
        )

    def write(self, folder: Path, about: Mapping[str, str]) -> None:
        """Write ``report.md`` and ``report.html``."""
        pages = {"report.md": self.markdown(about), "report.html": self.html(folder, about)}
        for name, text in pages.items():
            with replacing(folder / name) as temporary:
                temporary.write_text(text, encoding="utf-8")


def code(text: object) -> str:
    r"""A text from a user, such as the name of a file, as code in Markdown.

    Examples
    --------
    >>> print(code("net.npz"), code("a`](b.html)"), code("two\nlines"))
    `net.npz` ``a`](b.html)`` `two\nlines`
    """
    content = _in_one_line(text) or " "
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * (longest + 1)
    # one space at both ends is left out again, as CommonMark has it
    padded = content.startswith(("`", " ")) or content.endswith(("`", " "))
    return (
        f"{fence} {content} {fence}" if padded and content.strip() else f"{fence}{content}{fence}"
    )


def literal(text: object) -> str:
    r"""A text from a user in Markdown, in which no character means anything; tables see to bars.

    Examples
    --------
    >>> print(literal("data/<b>*x*"))
    data/\<b\>\*x\*
    """
    return re.sub(r"[\\`*_\[\]<>&~!#$+-]", r"\\\g<0>", _in_one_line(text))


def _in_one_line(text: object) -> str:
    """Control characters, line ends and what can't be written as UTF-8 are spelled out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


#: A character without its meaning, code, or a mark (below) that a text happens to hold.
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`+)(?!`)(.+?)(?<!`)\2(?!`)|([\ue000\ue001])")
#: Stands for such a thing while the rest is worked on.
_MARK = re.compile("\ue000(\\d+)\ue001")


def _inline(text: str) -> str:
    """Markdown within a line as HTML.

    Examples
    --------
    >>> _inline("**a** < `b*c*` and [d](e.html)")
    '<strong>a</strong> &lt; <code>b*c*</code> and <a href="e.html">d</a>'
    >>> _inline(f"{literal('*a*')} {code('`](b)')}")
    '*a* <code>`](b)</code>'
    """
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        character, _, content, mark = match.groups()
        if content is None:
            kept.append(escape(character or mark))
        else:
            padded = content[0] == content[-1] == " " and content.strip()
            kept.append(f"<code>{escape(content[1:-1] if padded else content)}</code>")
        return f"\ue000{len(kept) - 1}\ue001"

    spans = _spans(_LITERAL.sub(keep, text))
    return _MARK.sub(lambda match: kept[int(match[1])], spans)


def _spans(text: str) -> str:
    text = escape(text)
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", text)


# --- what the paper says, and what the numbers say about it ---------------------------------------

#: What can come out of a check of a claim.
VERDICTS = ("holds", "holds in part", "does not hold", "not decided", "not tested here")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what the numbers of a run say about it.

    Attributes
    ----------
    key : str
        Its name for scripts.
    where : str
        The place in the paper.
    text : str
        What is said there.
    verdict : str
        One of `VERDICTS`; follows from the numbers.
    evidence : str
        These numbers, in a sentence.
    """

    key: str
    where: str
    text: str
    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InvalidInputError(
                f"there is no verdict {self.verdict!r}; there are {', '.join(VERDICTS)}"
            )


def verdict_of(agree: int, cases: int) -> str:
    """The verdict on a claim that is checked case by case.

    Parameters
    ----------
    agree, cases : int
        In how many cases it is so, of how many.

    Examples
    --------
    >>> verdict_of(9, 9), verdict_of(4, 9), verdict_of(0, 9), verdict_of(0, 0)
    ('holds', 'holds in part', 'does not hold', 'not tested here')
    """
    if not cases:
        return "not tested here"
    if agree == cases:
        return "holds"
    return "holds in part" if agree else "does not hold"


T = TypeVar("T")

#: Packages whose versions a report names, if they are installed.
_PACKAGES = ("tropicell", "numpy", "scipy", "numba", "torch", "umap-learn", "matplotlib")


@dataclass(frozen=True)
class LabOptions:
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
    tables : Path, optional
        Folder of an earlier run: write its report anew from its tables.
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
    tables: Path | None = None


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
    again : callable, optional
        ``again(run, settings, folder)``; does the same from the tables (CSV) that an earlier run
        wrote into a folder, without computing what is in them.
    """

    name: str
    title: str
    run: Callable[[LabRun, Any], None]
    full: Any
    quick: Any
    again: Callable[[LabRun, Any, Path], None] | None = None


class LabRun:
    """One run of an experiment.

    Attributes
    ----------
    options : LabOptions
    folder : Path
        Where everything is written.
    report : Report
        What people will read.
    numbers : dict
        What scripts will read: the measured values, the same for the same seed and settings.
    claims : list of Claim
        Sentences of the paper that were judged.
    """

    def __init__(self, name: str, title: str, folder: Path, options: LabOptions) -> None:
        self.name = name
        self.options = options
        self.folder = folder
        self.report = Report(title)
        self.numbers: dict[str, Any] = {}
        self.claims: list[Claim] = []
        fixed = {"experiment": name, "seed": options.seed, "tropicell": _version("tropicell")}
        self.store = ResultStore(folder / "finished", fixed)
        self.computed = 0
        self.reused = 0
        self._earlier = 0.0

    def claim(self, key: str, where: str, text: str, verdict: str, evidence: str) -> None:
        """Judge a sentence of the paper; the report ends with all of them."""
        self.claims.append(Claim(key, where, text, verdict, " ".join(evidence.split())))

    def rng(self, *key: str | int) -> np.random.Generator:
        """Random numbers for one purpose: the same whatever else is drawn, in whatever order.

        Examples
        --------
        >>> run = LabRun("x", "X", Path("x"), LabOptions(seed=1))
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
        from tropicell.lab.texts import write_figure  # noqa: PLC0415 - matplotlib is an extra

        write_figure(figure, self.folder, name)
        self.report.picture(f"{name}.png", caption)

    def keep_picture(self, folder: Path, name: str, caption: str) -> None:
        """Put a picture of an earlier run into the report, if it is in that run's folder."""
        source = folder / f"{name}.png"
        if not source.is_file():
            return
        if folder.resolve() != self.folder.resolve():
            with replacing(self.folder / source.name) as temporary:
                temporary.write_bytes(source.read_bytes())
        self.report.picture(source.name, caption)

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
    options: LabOptions | None = None,
    settings: Any = None,
    **changes: Any,
) -> LabRun:
    """Run an experiment and write its folder.

    Parameters
    ----------
    experiment : Experiment
    folder : str or Path
        Made if it is not there. What an earlier run finished in it is not done again.
    options : LabOptions, optional
    settings : dataclass, optional
        Default: the experiment's `quick` or `full`, as the options say.
    **changes
        Settings to change, such as ``networks=1000``.

    Returns
    -------
    LabRun
        With its report and numbers, which are also in the folder: ``report.md``, ``report.html``,
        ``numbers.json``, tables (CSV) and pictures (PNG, PDF).

    Raises
    ------
    InvalidInputError
        If the experiment does not have a setting that is to be changed.
    """
    asked = options or LabOptions()
    if asked.tables is not None:
        asked, settings = _earlier(experiment, asked, asked.tables)
    chosen = settings if settings is not None else _settings(experiment, asked)
    chosen = _changed(experiment, chosen, changes)
    place = path_of(folder)
    make_folder(place)
    run = LabRun(experiment.name, experiment.title, place, asked)
    started = time.perf_counter()
    try:
        if asked.tables is not None and experiment.again is not None:
            experiment.again(run, chosen, asked.tables)
        else:
            experiment.run(run, chosen)
    except IncompleteError:  # Ctrl-C during a count
        raise KeyboardInterrupt from None
    _write(run, chosen, time.perf_counter() - started)
    return run


def _settings(experiment: Experiment, options: LabOptions) -> Any:
    return experiment.quick if options.quick else experiment.full


def _earlier(experiment: Experiment, options: LabOptions, folder: Path) -> tuple[LabOptions, Any]:
    """Seed and settings of the run whose tables are in a folder."""
    if experiment.again is None:
        raise InvalidInputError(
            f"{experiment.name} can't be written from tables alone: run it without --tables"
        )
    file = folder / "numbers.json"
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        settings, seed = dict(kept["settings"]), int(kept["seed"])
        name = str(kept["experiment"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{file}: expected what an earlier run wrote: {error!r}") from None
    if name != experiment.name:
        raise InvalidInputError(f"{folder} holds a run of {name}, not of {experiment.name}")
    known = {field.name for field in dataclasses.fields(experiment.full)}
    tuples = {key: _as_tuple(value) for key, value in settings.items() if key in known}
    return (
        dataclasses.replace(options, seed=seed),
        dataclasses.replace(experiment.full, **tuples),
    )


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def read_table(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of ``name.csv`` in a folder, by their columns' names.

    Raises
    ------
    ModelFileError
        If there is no such table.
    """
    file = folder / f"{name}.csv"
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ModelFileError(f"{file}: expected a table of an earlier run: {error}") from None


def copy_tables(run: LabRun, folder: Path) -> None:
    """The tables of an earlier run go with the report that is written from them."""
    if folder.resolve() != run.folder.resolve():
        for file in sorted(folder.glob("*.csv")):
            with replacing(run.folder / file.name) as temporary:
                temporary.write_bytes(file.read_bytes())


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


def _write(run: LabRun, settings: Any, seconds: float) -> None:
    """The files that every experiment has."""
    chosen: dict[str, Any] = dataclasses.asdict(settings)
    asked = {"experiment": run.name, "seed": run.options.seed, "settings": chosen}
    claims = [dataclasses.asdict(claim) for claim in run.claims]
    write_json(run.folder / "numbers.json", asked | {"claims": claims, "numbers": run.numbers})
    if claims:
        run.report.heading("The paper's sentences, judged by these numbers")
        run.report.table(
            ["the paper", "verdict", "evidence"],
            [[f"{c.text} ({c.where})", f"**{c.verdict}**", c.evidence] for c in run.claims],
        )
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


def _time_text(run: LabRun, seconds: float) -> str:
    if run.options.tables is not None:
        return "written from the tables of an earlier run"
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
