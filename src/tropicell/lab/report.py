"""A report for people: Markdown for repositories, one self-contained HTML page for browsers.

The texts of a report are Markdown. What comes from users (names of files, folders) goes through
`code` or `literal`, after which it is text and nothing else, in both versions.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tropicell._runtime.durable import replacing

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
class _Table:
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
        self._blocks: list[_Heading | _Text | _Bullets | _Table | _Picture] = []

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
        self._blocks.append(_Table(tuple(header), cells, " ".join(caption.split())))

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
