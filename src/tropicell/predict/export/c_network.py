"""A network's forward pass as plain C99."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.arithmetic import Matrix
from tropicell.network.activations import Activation
from tropicell.network.network import Network
from tropicell.predict.export.c_text import Number, table


def network_code(network: Network, name: str, number: Number) -> str:
    """Tables and the function ``static void name_forward(const double *x, double *y)``.

    All outputs are nan where a number on the way is infinite or nan: a later neuron could hide it.

    Examples
    --------
    >>> code = network_code(Network.mlp([[[1.0]], [[2.0]]]), "f", "double")
    >>> "static void f_forward(const double *x, double *y)" in code
    True
    """
    return _Forward(network, name, number).text()


class _Forward:
    """Tables and statements; layer k is the array ``hk``."""

    def __init__(self, network: Network, name: str, number: Number) -> None:
        self.name, self.number, self.outputs = name, number, network.n_outputs
        self.tables: list[str] = []
        self.body: list[str] = []
        names = {k: f"h{k}" for k in range(network.depth + 1)}
        embedding = network.float_embedding
        if embedding is None:
            names[0] = "x"
        else:
            self.affine("h0", {"x": embedding.matrix}, embedding.offset)
        for k, layer in enumerate(network.layers, start=1):
            terms = {names[source]: matrix for source, matrix in layer.affine.terms.items()}
            self.affine(names[k], terms, layer.affine.bias)
            self.activation(names[k], layer.activation)
        output = network.output
        terms = {names[source]: matrix for source, matrix in output.terms.items()}
        self.affine("y", terms, output.bias)

    def text(self) -> str:
        head = f"static void {self.name}_forward(const {self.number} *x, {self.number} *y)"
        return "\n".join(
            [
                "/* The network itself. */",
                *self.tables,
                "",
                head,
                "{",
                "    int i;",
                f"    {self.number} lost = 0;  /* nan as soon as something overflows */",
                *self.body,
                f"    for (i = 0; i < {self.outputs}; i++)",
                "        y[i] += lost;",
                "}\n",
            ]
        )

    def affine(self, target: str, terms: Mapping[str, Matrix], bias: FloatArray) -> None:
        """``target`` is the sum of matrices times earlier arrays, plus a bias."""
        label = f"{self.name}_{target}"
        if target != "y":
            self.body.append(f"    {self.number} {target}[{len(bias)}];")
        self.tables.append(table(f"{label}_bias", bias[None], self.number))
        self.body.append(f"    for (i = 0; i < {len(bias)}; i++) {{")
        self.body.append(f"        {self.number} sum = {label}_bias[0][i];")
        if any(matrix.shape[1] for matrix in terms.values()):
            self.body.append("        int j;")
        for source, matrix in terms.items():
            dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
            self.tables.append(table(f"{label}_from_{source}", dense, self.number))
            self.body.append(f"        for (j = 0; j < {dense.shape[1]}; j++)")
            self.body.append(f"            sum += {label}_from_{source}[i][j] * {source}[j];")
        self.body += ["        lost += sum - sum;", f"        {target}[i] = sum;", "    }"]

    def activation(self, target: str, activation: Activation) -> None:
        """``target`` is replaced by its activation."""
        label = f"{self.name}_{target}"
        parts = (activation.breakpoints, activation.slopes, activation.intercepts)
        same = all((part == part[0]).all() for part in parts)
        bends, slopes, offsets = (part[:1] if same else part for part in parts)
        row = "0" if same else "i"
        largest = np.finfo(np.float32 if self.number == "float" else np.float64).max
        pieces = slopes.shape[1]
        if pieces > 1:  # a breakpoint at infinity is never passed
            self.tables.append(table(f"{label}_bends", np.minimum(bends, largest), self.number))
        self.tables.append(table(f"{label}_slopes", slopes, self.number))
        self.tables.append(table(f"{label}_offsets", offsets, self.number))
        self.body.append(f"    for (i = 0; i < {activation.rows}; i++) {{")
        self.body.append("        int piece = 0;")
        self.body += _count_bends(f"{label}_bends[{row}][piece]", f"{target}[i]", pieces - 1)
        self.body.append(
            f"        {target}[i] = {label}_slopes[{row}][piece] * {target}[i]"
            f" + {label}_offsets[{row}][piece];"
        )
        self.body.append("    }")


def _count_bends(bend: str, value: str, count: int) -> Iterator[str]:
    if count:
        yield f"        while (piece < {count} && {value} > {bend})"
        yield "            piece++;"
