"""The piecewise-affine function as plain C99: tables and a loop, for small controllers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError
from tropicell.predict.cut_tree import CutTree, largest_size, single_precision, split_domain
from tropicell.predict.export.c_names import check_name
from tropicell.predict.export.c_network import network_code
from tropicell.predict.export.c_text import Number, integers, literal, table
from tropicell.regions.regions import Regions


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
        The function's name: an identifier that is neither a keyword of C99, C11 or C23, nor
        reserved (the standard library's names, and all that begin with an underscore).
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
    returns the region's index, or -1 outside the domain. It also returns -1 where x is not finite,
    or so large (about 1e280; 1e27 for float) that a test could overflow. Then the outputs are nan
    if x is not finite or there is no network; else the network's, and nan if it overflows, too.
    This takes a compiler that knows of nan and infinities (no ``-ffast-math``).

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> code = compile_to_c(enumerate_regions(network, Box(-1, 1)), name="control")
    >>> "long control(const double *x, double *y)" in code
    True
    """
    check_name(name)
    if number not in ("double", "float"):
        raise InvalidInputError(f"number must be 'double' or 'float', not {number!r}")
    code = _Code(regions, name, number, forward).text()
    if path is not None:
        with replacing(path_of(path)) as temporary:
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
        largest = float(np.finfo(np.float32 if number == "float" else np.float64).max) / 1e8
        tables = [self.rows, self.domain, regions.affine_maps]
        self.limit = largest_size(tables, largest)

    def text(self) -> str:
        parts = [self.header(), self.tables()]
        if self.forward:
            parts.append(network_code(self.network, self.name, self.number))
        return "\n".join([*parts, self.function()])

    def header(self) -> str:
        inputs, outputs = self.network.n_inputs, self.network.n_outputs
        if self.forward:
            rest = [
                "The network itself is used where x lies outside the domain, or is too large, and",
                "where x is so close to a boundary that rounding hides on which side it is; y is",
                "nan where it overflows.",
            ]
        else:
            rest = [
                "Where x is so close to a boundary that rounding hides on which side it is, y is",
                "the map of a region at that boundary. Outside the domain y is left as it is;",
                "where x is too large it is nan.",
            ]
        lines = [
            _ascii(repr(self.network)),
            f"on {_ascii(repr(self.regions.domain))}:",
            f"an explicit piecewise-affine function with {len(self.regions)} regions.",
            "",
            f"    long {self.name}(const {self.number} *x, {self.number} *y)",
            "",
            f"reads {inputs} inputs, writes {outputs} outputs, and returns the index of the region",
            "of x, or -1 if x lies outside the domain, is not finite, or has a coordinate beyond",
            f"{self.limit:.1e}, where tests could overflow. Where x is not finite y is nan.",
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
            *self.guard(),
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

    def guard(self) -> Iterator[str]:
        """Points that are not finite, or so large that tests could overflow."""
        limit = literal(self.limit, self.number)
        yield f"    for (j = 0; j < {self.network.n_inputs}; j++) {{"
        yield f"        if (!(x[j] >= -{limit} && x[j] <= {limit})) {{"
        if self.forward:
            yield f"            {self.name}_forward(x, y);"
        else:
            yield f"            const {self.number} zero = 0;"
            yield f"            for (i = 0; i < {self.network.n_outputs}; i++)"
            yield "                y[i] = zero / zero;"
        yield "            return -1;"
        yield "        }"
        yield "    }"

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
