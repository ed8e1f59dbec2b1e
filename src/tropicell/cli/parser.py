"""The parser of all commands: their options, help and examples."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from tropicell.cli import lab, output, paper
from tropicell.cli.completion import subcommands
from tropicell.cli.options import DOMAIN_HELP, SLICE_HELP, add_domain, add_search, numbers
from tropicell.cli.warmup import PARTS, USUAL

_MODEL_HELP = "a network: .onnx, .pt2, .npz or .safetensors"
_COLORS = ("pattern", "value", "gradient", "area", "neighbours")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and what may have been meant."""

    def checked(self, given: Sequence[str]) -> argparse.Namespace:
        """The arguments; what is left over is refused by the command that it was given to."""
        parsed, left = self.parse_known_args(given)
        if left:
            command = subcommands(self).get(parsed.command, self)
            command.error(f"unrecognized arguments: {' '.join(left)}")
        return parsed

    def error(self, message: str) -> NoReturn:
        output.note(f"{message}{self._meant(message)} (see: {self.prog} --help)")
        raise SystemExit(2)

    def _meant(self, message: str) -> str:
        """The known word that is nearest to the one that a message complains about."""
        if found := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message):
            known = re.findall(r"[\w-]+", found[2])
        elif found := re.search(r"unrecognized arguments: .*?(--[\w-]+)", message):
            known = [option for action in self._actions for option in action.option_strings]
        elif re.search(r"unrecognized arguments: +[-\d.]", message):
            return "; numbers of a point are separated by commas (0.5,-1)"
        elif found := re.search(r"invalid int value: '([^']*)'$", message):
            return ", expected a whole number"
        else:
            return ""
        near = get_close_matches(found[1], known, 1)
        return f"; did you mean {near[0]}?" if near else ""


class _Version(argparse.Action):
    """``--version``, looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"tropicell {importlib.import_module('tropicell').__version__}")
        raise SystemExit(0)


def build_parser() -> _Parser:
    """The parser of all commands."""
    parser = _Parser(
        prog="tropicell",
        description="Every linear region of your neural network, found exactly. Begin with "
        "'tropicell info MODEL'.",
        epilog="exit status: 0 done; 1 a negative answer (not complete, beyond a tolerance); "
        "2 bad input; 3 proved, but not complete. 'tropicell COMMAND --help' has examples.",
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    for add in (
        _info,
        _count,
        _estimate,
        _enumerate,
        _show,
        _certify,
        _plot,
        _explore,
        _play,
        _compare,
        _near,
        _robustness,
        _path,
        _paper,
        _lab,
        _demo,
        _warmup,
        _completion,
    ):
        add(commands)
    return parser


def _command(
    commands: Any, name: str, text: str, examples: Sequence[str], more: str = ""
) -> argparse.ArgumentParser:
    shown = "\n".join(f"  tropicell {name} {example}".rstrip() for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text[0].lower() + text[1:],
        description=text[0].upper() + text[1:] + ".",
        epilog=f"examples:\n{shown}\n" + (f"\n{more}" if more else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="the answer as JSON, for scripts")
    parser.add_argument("--debug", action="store_true", help="show where in the code an error is")
    parser.set_defaults(action="enumerate_" if name == "enumerate" else name)
    return parser


def _info(commands: Any) -> None:
    text = "layers, skips, neurons, and bounds on the number of regions"
    parser = _command(commands, "info", text, ["model.onnx", "net.npz --json"])
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)


def _count(commands: Any) -> None:
    text = "count the linear regions, in constant memory"
    examples = ["net.npz", "net.npz --box -1 1 --merged", "mnist.onnx --slice plane.npz --json"]
    parser = _command(commands, "count", text, examples, DOMAIN_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument(
        "--merged", action="store_true", help="also merge neighbours with one and the same map"
    )
    add_domain(parser)
    add_search(parser)


def _estimate(commands: Any) -> None:
    text = "estimate the number of regions in a few seconds, before a long search"
    examples = ["net.npz", "net.npz --box -1 1 --max-seconds 10"]
    parser = _command(commands, "estimate", text, examples, DOMAIN_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument(
        "--max-seconds", type=float, default=2.0, metavar="S", help="time to spend (default: 2)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    add_domain(parser)


def _enumerate(commands: Any) -> None:
    text = "find all linear regions and write them to a file or folder"
    examples = ["net.npz --box -1 1 --out regions.npz", "net.npz --out run1/ --max-bytes 1G"]
    parser = _command(commands, "enumerate", text, examples, DOMAIN_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="an .npz file to write; or a folder (a name that ends in /, or a URL): regions are "
        "written there while they are found, more than fit into memory, and the same command goes "
        "on where it ended",
    )
    parser.add_argument(
        "--format",
        choices=("npz", "parquet"),
        help="parquet: a folder of Parquet files (default: by the name)",
    )
    add_domain(parser)
    add_search(parser)


def _show(commands: Any) -> None:
    text = "show what is in a file of regions, or one region"
    parser = _command(commands, "show", text, ["regions.npz", "regions.npz --region 17 --json"])
    parser.add_argument(
        "regions", metavar="REGIONS", help="a file or folder of tropicell enumerate"
    )
    parser.add_argument(
        "--region",
        type=int,
        metavar="I",
        help="one region: inequalities, map, neighbours, vertices",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also redundant inequalities, and vertices with many inputs",
    )
    parser.add_argument("--exact", action="store_true", help="fractions, however long they are")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="regions in the table (default: 20)"
    )


def _certify(commands: Any) -> None:
    text = "prove in exact arithmetic that regions are right and complete"
    examples = ["regions.npz", "net.npz --box -1 1 --out proof.npz", "net.npz --box -1 1 --volumes"]
    more = (
        "check the file with: python -m tropicell.verify_certificate proof.npz\n"
        "exit status of both: 0 proved, complete; 3 proved, but not complete; 1 not proved\n\n"
    )
    parser = _command(commands, "certify", text, examples, more + DOMAIN_HELP)
    parser.add_argument(
        "model", metavar="FILE", help="a file of tropicell enumerate, or a network to enumerate"
    )
    parser.add_argument("--out", metavar="FILE", help="an .npz file for the certificate")
    parser.add_argument(
        "--volumes", action="store_true", help="also add up exact volumes (bounded, up to 3 inputs)"
    )
    add_domain(parser)
    add_search(parser)


def _plot(commands: Any) -> None:
    text = "draw the regions of a network with 1 or 2 inputs, or on a slice"
    examples = [
        "net.npz --box -1 1 --out picture.png",
        "regions.npz --color value --out picture.pdf",
        "net.npz --kind boundaries --window -2 2 --out layers.svg",
    ]
    parser = _command(commands, "plot", text, examples, DOMAIN_HELP)
    parser.add_argument(
        "model", metavar="MODEL_OR_REGIONS", help="a network, or a file of tropicell enumerate"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=".png, .pdf or .svg to write")
    parser.add_argument(
        "--kind",
        choices=("auto", "regions", "boundaries", "surface", "function"),
        default="auto",
        help="default: regions (2 inputs) or function (1 input)",
    )
    parser.add_argument("--color", choices=_COLORS, default="pattern", help="default: pattern")
    parser.add_argument(
        "--output", type=int, default=0, metavar="K", help="which output to show (default: 0)"
    )
    parser.add_argument(
        "--window", nargs=2, type=numbers, metavar=("LO", "HI"), help="what to show of the plane"
    )
    parser.add_argument(
        "--decision", action="store_true", help="draw where outputs 0 and 1 are equal"
    )
    parser.add_argument(
        "--points", metavar="FILE", help="data on top: an .npz with points (n, 2), and maybe labels"
    )
    parser.add_argument("--title", help="a title for the picture")
    parser.add_argument("--dpi", type=int, default=200, metavar="N", help="default: 200")
    add_domain(parser)
    add_search(parser)


def _explore(commands: Any) -> None:
    text = "write a page to explore the regions of a network with 2 or 3 inputs, or on a slice"
    examples = ["net.npz --box -1 1 --out page.html --open", "regions.npz --out page.html"]
    parser = _command(commands, "explore", text, examples, DOMAIN_HELP)
    parser.add_argument(
        "model", metavar="MODEL_OR_REGIONS", help="a network, or a file of tropicell enumerate"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=".html to write")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    add_domain(parser)
    add_search(parser)


def _play(commands: Any) -> None:
    text = "open a live page: build and train a network, and watch its exact regions"
    examples = ["", "net.npz --data moons", "mnist.onnx --slice plane.npz", "--data points.csv"]
    more = "Ctrl-C ends it. Needs the extra play: pip install 'tropicell[play]'\n\n" + SLICE_HELP
    parser = _command(commands, "play", text, examples, more)
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help=f"{_MODEL_HELP} (default: the page builds one)"
    )
    parser.add_argument(
        "--data",
        metavar="SET",
        help="moons, circles, spirals, xor, phi1 to phi4, or a CSV file of x,y,label",
    )
    parser.add_argument(
        "--slice", metavar="FILE", help="the plane in which a larger network is looked at"
    )
    parser.add_argument(
        "--link",
        metavar="URL",
        help="begin with the settings of this link, copied from an earlier page",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def _compare(commands: Any) -> None:
    text = "find the largest difference of two networks, exactly"
    examples = ["a.onnx b.onnx --box 0 1", "a.npz b.npz --box -1 1 --tolerance 1e-6"]
    parser = _command(commands, "compare", text, examples, DOMAIN_HELP)
    parser.add_argument("model", metavar="A", help=_MODEL_HELP)
    parser.add_argument("other", metavar="B", help="another one, with the same inputs and outputs")
    parser.add_argument(
        "--tolerance", type=float, metavar="T", help="exit status 1 if the difference is larger"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="threads (default: 1)")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="give up after so much time")
    add_domain(parser)


_POINT_HELP = """points:
  numbers separated by commas (0.5,-1), or a file: x.npy, or x.npz with one array or with points.
  FILE:ROW is one row of it, counted from 0; without :ROW it is the first.
"""


def _near(commands: Any) -> None:
    text = "the regions around a point, nearest first, in any number of dimensions"
    examples = ["net.npz --point 0.5,-1", "mnist.onnx --point images.npz:7 --radius 0.1 --json"]
    parser = _command(commands, "near", text, examples, _POINT_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument("--point", required=True, metavar="X", help="the point; see below")
    parser.add_argument(
        "--radius", type=float, metavar="R", help="only regions that meet this Euclidean ball"
    )
    parser.add_argument("--flips", type=int, metavar="N", help="cross so many boundaries at most")
    parser.add_argument(
        "--max-regions", type=int, metavar="N", help="stop after so many (default: 100)"
    )
    parser.add_argument("--max-seconds", type=float, metavar="S", help="stop after so much time")
    parser.add_argument("--out", metavar="FILE", help="an .npz file for the regions")


def _robustness(commands: Any) -> None:
    text = "how far a point is from the decision boundary, between two proved bounds"
    examples = [
        "net.npz --point 0.5,-1",
        "net.npz --point 0.5,-1 --norm l2 --gap 0 --certify",
        "mnist.onnx --point images.npz:7 --max-seconds 60 --json",
    ]
    more = "exit status: 0 as close as was asked for; 1 a budget ended the search\n\n"
    parser = _command(commands, "robustness", text, examples, more + _POINT_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument("--point", required=True, metavar="X", help="the point; see below")
    parser.add_argument(
        "--norm", choices=("linf", "l2", "l1"), default="linf", help="default: linf"
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=1e-4,
        metavar="G",
        help="how close the bounds shall be, relative to the distance (default: 1e-4); "
        "0: the distance itself, as a fraction",
    )
    parser.add_argument("--radius", type=float, metavar="R", help="look no farther than this")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="stop after so much time")
    parser.add_argument(
        "--certify", action="store_true", help="also find a proof in rationals, and check it"
    )


def _path(commands: Any) -> None:
    text = "the regions on the straight way from point to point, in order"
    examples = ["net.npz 0,0 0.5,-1 1,1", "mnist.onnx images.npz:0 images.npz:1 --attribute"]
    parser = _command(commands, "path", text, examples, _POINT_HELP)
    parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    parser.add_argument("points", nargs="+", metavar="X", help="two points or more; see below")
    parser.add_argument(
        "--attribute",
        action="store_true",
        help="instead: integrated gradients, what each input contributes from the first point "
        "to the second",
    )
    parser.add_argument(
        "--output", type=int, metavar="K", help="which output is attributed (default: the largest)"
    )


def _demo(commands: Any) -> None:
    text = "all regions of a bundled network, with a picture"
    parser = _command(commands, "demo", text, ["", "--out demo"])
    parser.add_argument(
        "--out", default="demo-output", metavar="DIR", help="folder (default: demo-output)"
    )


def _warmup(commands: Any) -> None:
    text = "compile kernels now, so that nothing waits for it later"
    more = "what there is to compile:\n" + "\n".join(
        f"  {name:15}{what}" for name, (what, _) in PARTS.items()
    )
    parser = _command(commands, "warmup", text, ["", "--all", "plane predict"], more)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="WHAT",
        help=f"what to compile (default: {' '.join(USUAL)})",
    )
    parser.add_argument("--all", action="store_true", help="everything")
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes side by side (default: one for each processor)",
    )


def _paper(commands: Any) -> None:
    text = "Algorithm 2 and what came after it, and networks as tropical polynomials"
    paper.add_options(_command(commands, "paper", text, paper.EXAMPLES, paper.names_help()))


def _lab(commands: Any) -> None:
    text = "run an experiment of the paper, and write its report, numbers and pictures"
    lab.add_options(_command(commands, "lab", text, lab.EXAMPLES, lab.names_help()))


def _completion(commands: Any) -> None:
    text = "print a script that completes commands and options in your shell"
    examples = [
        "bash >> ~/.bashrc",
        "zsh >> ~/.zshrc",
        "fish > ~/.config/fish/completions/tropicell.fish",
    ]
    parser = _command(commands, "completion", text, examples)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
