"""The piecewise-affine function as plain C99: tables and a loop, for small controllers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tropicell.cut_tree import CutTree, single_precision, split_domain
from tropicell.durable import replacing
from tropicell.errors import InvalidInputError
from tropicell.export.c_network import network_code
from tropicell.export.c_text import Number, integers, literal, table
from tropicell.regions import Regions

#: Words that can't be names in C99.
_KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|"
    "int|long|main|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|"
    "unsigned|void|volatile|while"
)


def compile_to_c(
    regions: Regions,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "network",
    number: Number = "double",
    forward: bool = True,
) -> str:
    """Write the network on a domain as C99 code that finds the region and applies its map.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    path : str or path-like, optional
        Where to write the code; default: it is only returned.
    name : str
        The function's name.
    number : {"double", "float"}
        Its type of numbers.
    forward : bool
        Put the network itself into the code, too, for points outside the domain and for points that
        are so close to a boundary that rounding errors hide on which side they are. Without it,
        such points get the map of a region at that boundary, and points outside get no value.

    Returns
    -------
    str
        The code. It needs no library and no memory but the stack, and is free of recursion.

    Raises
    ------
    InvalidInputError
        If the name is no name in C, the regions are not complete, or a number of a map is too
        large for the type.

    Notes
    -----
    The function is ``long name(const double *x, double *y)``. It writes the outputs to ``y`` and
    returns the region's index, or -1 outside the domain.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> code = compile_to_c(enumerate_regions(network, Box(-1, 1)), name="control")
    >>> "long control(const double *x, double *y)" in code
    True
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or _KEYWORDS.fullmatch(name):
        raise InvalidInputError(f"{name!r} is no name for a function in C")
    if number not in ("double", "float"):
        raise InvalidInputError(f"number must be 'double' or 'float', not {number!r}")
    code = _Code(regions, name, number, forward).text()
    if path is not None:
        with replacing(Path(path)) as temporary:
            temporary.write_text(code, encoding="ascii")
    return code


class _Code:
    """The parts of the code."""

    def __init__(self, regions: Regions, name: str, number: Number, forward: bool) -> None:
        self.regions, self.name, self.number = regions, name, number
        self.network = regions.network
        self.tree = CutTree.of(regions)
        self.low, self.high, self.domain = split_domain(regions)
        self.rows = self.tree.rows
        if number == "float":
            self.rows, self.domain = single_precision(self.rows), single_precision(self.domain)
        bounded = bool(np.isfinite([self.low, self.high]).any())
        self.tested = bool(len(self.rows) or len(self.domain))
        self.forward = forward and (bounded or self.tested)

    def text(self) -> str:
        parts = [self.header(), self.tables()]
        if self.forward:
            parts.append(network_code(self.network, self.name, self.number))
        return "\n".join([*parts, self.function()])

    def header(self) -> str:
        inputs, outputs = self.network.n_inputs, self.network.n_outputs
        if self.forward:
            rest = [
                "The network itself is used where x lies outside the domain, and where x is so",
                "close to a boundary that rounding hides on which side it is.",
            ]
        else:
            rest = [
                "Where x is so close to a boundary that rounding hides on which side it is, y is",
                "the map of a region at that boundary. Outside the domain y is left as it is.",
            ]
        lines = [
            _ascii(repr(self.network)),
            f"on {_ascii(repr(self.regions.domain))}:",
            f"an explicit piecewise-affine function with {len(self.regions)} regions.",
            "",
            f"    long {self.name}(const {self.number} *x, {self.number} *y)",
            "",
            f"reads {inputs} inputs, writes {outputs} outputs, and returns the index of the region",
            "of x, or -1 if x lies outside the domain.",
            "",
            f"A region is found by at most {self.tree.levels} tests, each of them a dot product of",
            f"{inputs} numbers. No memory is asked for, and nothing is kept between calls.",
            *rest,
            f"Fingerprint of the network: {self.network.fingerprint}",
        ]
        return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */", ""])

    def tables(self) -> str:
        name, d = self.name, self.network.n_inputs
        maps = self.regions.affine_maps.reshape(-1, d + 1)
        parts = [
            "/* Per output of a region, one after the other: coefficients and offset. */",
            table(f"{name}_maps", maps, self.number),
        ]
        if len(self.rows):
            parts += [
                "/* Per test: coefficients and offset, scaled such that values beyond",
                "   max(1, |x|) have the right sign for sure. */",
                table(f"{name}_tests", self.rows, self.number),
                "/* Where a test leads to if its value is negative, and if it is positive:",
                "   another test, or -1 - region. */",
                integers(f"{name}_next", self.tree.children),
            ]
        if len(self.domain):
            parts += [
                "/* The domain: values are positive inside; scaled like the tests. */",
                table(f"{name}_domain", self.domain, self.number),
            ]
        return "\n".join(parts) + "\n"

    def function(self) -> str:
        number, d, outputs = self.number, self.network.n_inputs, self.network.n_outputs
        careful = self.forward and self.tested
        lines = [
            f"long {self.name}(const {number} *x, {number} *y)",
            "{",
            "    long region = 0;",
            "    int i, j;",
            *(self.sizing() if careful else ()),
            *self.domain_tests(),
            *self.search(),
            f"    for (i = 0; i < {outputs}; i++) {{",
            f"        const {number} *map = {self.name}_maps[region * {outputs} + i];",
            f"        y[i] = map[{d}];",
            f"        for (j = 0; j < {d}; j++)",
            "            y[i] += map[j] * x[j];",
            "    }",
        ]
        if careful:
            lines += ["    if (unsure)", f"        {self.name}_forward(x, y);"]
        return "\n".join([*lines, "    return region;", "}"]) + "\n"

    def sizing(self) -> Iterator[str]:
        """What values must exceed."""
        yield f"    {self.number} size = 1;"
        yield "    int unsure = 0;"
        yield f"    for (j = 0; j < {self.network.n_inputs}; j++) {{"
        yield "        if (x[j] > size)"
        yield "            size = x[j];"
        yield "        if (-x[j] > size)"
        yield "            size = -x[j];"
        yield "    }"

    def domain_tests(self) -> Iterator[str]:
        """The comparisons of a box (exact), and the rows of a polytope."""
        bounds = []
        for j in range(self.network.n_inputs):
            # written such that nan is outside
            if np.isfinite(self.low[j]):
                bounds.append(f"!(x[{j}] >= {literal(self.low[j], self.number)})")
            if np.isfinite(self.high[j]):
                bounds.append(f"!(x[{j}] <= {literal(self.high[j], self.number)})")
        outside = [f"{self.name}_forward(x, y);"] if self.forward else []
        outside.append("return -1;")
        for bound in bounds:
            yield f"    if ({bound}) {{"
            yield from (f"        {line}" for line in outside)
            yield "    }"
        if len(self.domain):
            yield f"    for (i = 0; i < {len(self.domain)}; i++) {{"
            yield from self.value(f"{self.name}_domain[i]")
            yield f"        if (value < {'-size' if self.forward else '0'}) {{"
            yield from (f"            {line}" for line in outside)
            yield "        }"
            yield from self.doubt()
            yield "    }"

    def search(self) -> Iterator[str]:
        """From test to test until a region is reached."""
        if len(self.rows):
            yield "    do {"
            yield from self.value(f"{self.name}_tests[region]")
            yield from self.doubt()
            yield f"        region = {self.name}_next[region][value > 0];"
            yield "    } while (region >= 0);"
            yield "    region = -1 - region;"

    def doubt(self) -> Iterator[str]:
        if self.forward:
            yield "        if (!(value > size || value < -size))"
            yield "            unsure = 1;"

    def value(self, row: str) -> Iterator[str]:
        d = self.network.n_inputs
        yield f"        {self.number} value = {row}[{d}];"
        yield f"        for (j = 0; j < {d}; j++)"
        yield f"            value += {row}[j] * x[j];"


def _ascii(text: str) -> str:
    """Text for a comment."""
    plain = re.sub(r"\s+", " ", text).replace("→", "->").replace("*/", "* /")
    return plain.encode("ascii", "replace").decode()
