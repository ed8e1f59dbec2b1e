"""The page ``docs/operators.md``, made from the table of operators.

``python -m tropicell.importers.operators_page docs/operators.md`` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tropicell.importers.operators import OPERATORS, REFUSED

_GROUPS = {
    "affine": "Affine operators",
    "shape": "Operators that move entries around",
    "activation": "Piecewise-linear operators",
    "constant": "Constants",
}

_INTRODUCTION = """\
# Operators

<!-- Made by `python -m tropicell.importers.operators_page docs/operators.md`; don't edit. -->

What `from_torch`, `from_onnx` and `load` can read, and what they refuse. Affine operators become
matrices and are folded into the layers around them (in float64); operators that move entries around
become rows of those matrices; each piecewise-linear operator becomes one layer, a maximum of more
than two values several. Anything that does not depend on the input is constant and is computed by
torch or onnx itself, so shape arithmetic inside a graph just works.

What can't be imported is refused first: operators by their names, then shapes, products and sizes
in a walk over the graph in which tensors have shapes but no numbers, before any matrix is made. A
matrix may have 2^27 numbers and all of a model 2^29 (about 6 GB). A convolution whose matrix would
have 2^21 numbers or more stays a convolution if it reads the outputs of layers as they are (it has
one group, and nothing but a batch normalisation, a sum or a reshape stands between): it is kept by
its filters, and outputs, patterns and the regions of planes through such a network never need the
matrix. What needs it, such as the engines for many inputs and certificates, writes it out, up to
2^24 numbers. Smaller convolutions are sparse matrices. [Models that were tried](models.md) is a
list of examples.

After every import the network's outputs are compared with the model's own, on random inputs of
scales 0.1, 1 and 10: within 1e-9 (relative) in float64. ONNX models are run in float64 for
this (all their numbers widened), and once more as they are, within 1e-3, because float32 rounds.
(Weights of a `Resize` are float32 in every evaluator: 1e-5.) Where one can't be run in float64, a
`WeakComparisonWarning` says that the second comparison is all.

torch spellings are those of ATen (`torch.ops.aten`); a trailing underscore (in place) is the same.
"""

_MAXIMA = """\
## Maxima, and what they mean for counts

`max(a, b)` is written as `b + relu(a - b)`, `min(a, b)` as `a - relu(a - b)`, and the maximum of
more than two values (max pools, `amax`, `Max` with many inputs) as a tournament. Every comparison
made is a neuron, so its boundary `a = b` is a boundary of regions. A pool of four values makes
three comparisons; the winner of a first round may lose later, and there the output does not bend
at the boundary of that comparison. Such boundaries split regions, so the number of regions can be
larger than the number of pieces of the function. Merged regions do not see them. Comparisons that
overlapping windows share are made once. A maximum with a constant is a clip, with one boundary.
"""

_CHOICES = """\
## Comparisons, and where they do not jump

A comparison jumps, so it is no value of a network; what is chosen by it may be continuous.
`where(h > 0, a, b)`, `masked_fill`, `x[h < 0] = a` and `(h > 0) * a` are read in two cases:

- h, a and b are made from one and the same value z by constant factors and offsets (or by another
  such choice): a leaky ReLU, a clip, any piecewise-linear activation. The rule for
  `activations.piecewise` decides whether it jumps: a difference of at most 1e-9 of the values at
  the breakpoint is taken for rounding of the constants.
- a - b is a constant multiple of h, entry by entry, as affine functions of the layers so far. That
  is decided in rational arithmetic; then the choice is `b + c * relu(h)`.

Everything else is refused, as it jumps or can't be seen not to. Sorted values, the largest k and
medians are continuous; their indices are not, and using these is refused.
"""

_FILES = """\
## Files

`load` chooses by suffix: `.onnx`, `.pt2`, `.npz`, `.safetensors`. Nothing is unpickled and no code
of a file is run. `torch.export.load` would do both with a `.pt2` file (it unpickles parts of the
archive and evaluates expressions in it), so Tropicell reads the archive's JSON and raw tensors
itself and runs only ATen operators of a fixed list. Pickles (`.pt`, `.pth`, `.pkl`, …) and state
dicts are refused with advice. External data of an ONNX file is read from the model's own folder
only.
"""

_ADDING = """\
## How to add an operator

1. Add a row to `OPERATORS` in `src/tropicell/importers/operators.py`, or a spelling to a row.
2. Write the handler in `importers/torch/handlers.py` or `importers/onnx/handlers.py`, under
   `@handles("spelling")`. A handler gets values: an `Expression` where a tensor depends on the
   input, else a NumPy array.
   - Moves entries around: `take(value, move)` with a NumPy function, or `join` for several values.
   - Affine: build the matrix and `x.apply(matrix, shape)`; see `lowering.py`.
   - Piecewise linear: `builder.activate(value, activation, name)`; see `nonlinear.py`.
3. Add a case to `tests/importers/test_torch.py` or `test_onnx.py`. The comparison with the model's
   own outputs is made by the import itself.
4. Make this page again: `python -m tropicell.importers.operators_page docs/operators.md`.

A handler without a row can't be registered, a spelling without a handler fails a test, and so does
a page that is out of date. An operator that is not piecewise linear goes into `REFUSED` there,
with advice that says what to do instead.
"""


def operators_page() -> str:
    """The page as Markdown.

    Examples
    --------
    >>> print(operators_page().splitlines()[0])
    # Operators
    """
    parts = [_INTRODUCTION, _FILES]
    for group, title in _GROUPS.items():
        rows = [
            f"| {row.name} | {_codes(row.torch)} | {_codes(row.onnx)} | {row.note} |"
            for row in OPERATORS
            if row.group == group
        ]
        head = "| operator | torch | ONNX | notes |\n| --- | --- | --- | --- |\n"
        parts.append(f"## {title}\n\n{head}" + "\n".join(rows) + "\n")
    parts += [_MAXIMA, _CHOICES]
    refused = [
        f"| {row.name} | {_codes(row.torch)} | {_codes(row.onnx)} | {row.advice} |"
        for row in REFUSED
    ]
    parts.append(
        "## Refused\n\nRefused by name, as is everything that is in neither table.\n\n"
        "| operator | torch | ONNX | why, and what to do |\n| --- | --- | --- | --- |\n"
        + "\n".join(refused)
        + "\n"
    )
    parts.append(_ADDING)
    return "\n".join(parts)


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(operators_page(), encoding="utf-8")
