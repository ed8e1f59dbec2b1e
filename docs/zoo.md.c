# The zoo

Networks that break tools, each with its right number of regions, by a theorem or by the oracle (the paper's Algorithm 2 in exact
rational arithmetic). They are in `tests/zoo/specimens.py`; every change of the package is tested on all of them.

You can use those with a theorem for your own tests and benchmarks: `tropicell.families` has `sawtooth`, `folding`,
`general_position`, `cones` and `parallel`.

```python
>>> from tropicell import count_regions, families
>>> known = families.folding([3, 4], inputs=2)
>>> known.count, count_regions(known.network, known.domain)
(144, 144)

```

**How to read the table.** *cells* and *half-spaces* are the two engines, in exact arithmetic (the default); *certificate*: whether
`regions.certify()` proved the regions right and complete from the weights alone, and whether the separate checker agrees.
*relucent* is [relucent](https://github.com/bl-ake/relucent) 1.0.0, called as its documentation shows: `Complex(network).bfs()` on the float64
network, with its own verification on, and from a random point where the origin lies on a boundary. It works in floating point,
and refuses (with an `AmbiguousGeometryError`) where it can't be sure; a refusal is an honest answer. Times are seconds of
processor time on one core; 60 s were given. ✓ is the right count.

| network | what is hard | regions | why | cells | half-spaces | certificate | relucent |
| --- | --- | ---: | --- | --- | --- | --- | --- |
| shallow 8d | 9 hyperplanes in 8 dimensions. | 511 | Zaslavsky: the sum of C(9, j) for j ≤ 8 | – | 511 ✓ (0.0031 s) | proved, checked (0.22 s) | 511 ✓ (5.4 s) |
| shallow 3d | 14 planes in general position. | 470 | Zaslavsky: the sum of C(14, j) for j ≤ 3 | 470 ✓ (0.01 s) | 470 ✓ (0.0032 s) | proved, checked (0.0035 s) | 470 ✓ (4.8 s) |
| shallow 4d | 9 hyperplanes in general position. | 256 | Zaslavsky: the sum of C(9, j) for j ≤ 4 | 256 ✓ (0.0063 s) | 256 ✓ (0.0026 s) | proved, checked (0.0041 s) | 256 ✓ (2.3 s) |
| folded space | Montúfar's network with three inputs: eight cubes at every corner. | 512 | 8 intervals of the line, to the power of the inputs | 512 ✓ (0.15 s) | 512 ✓ (0.031 s) | proved, checked (0.42 s) | ValueError: Start point must not be on a hyperplane |
| folded plane | Montúfar's network: a grid of squares, four of them at every corner. | 400 | 20 intervals of the line, to the power of the inputs | 400 ✓ (0.1 s) | 400 ✓ (0.053 s) | proved, checked (0.22 s) | ValueError: Start point must not be on a hyperplane |
| zero biases in 3d | Cones in space, hundreds of planes through one corner. | 382 | Zaslavsky, all through one point: twice the sum of C(19, j), j < 3 | 382 ✓ (0.11 s) | 382 ✓ (0.41 s) | proved, checked (0.23 s) | 382 ✓ (30 s) |
| sawtooth with 1024 teeth | Telgarsky's network: ten layers of two neurons, 2^10 pieces. | 1,026 | 1026 intervals of the line, to the power of the inputs | 1,026 ✓ (0.45 s) | 1,026 ✓ (0.93 s) | proved, checked (0.89 s) | NonGenericArrangementError: halfspaces [13, 16, 18] of c30df0d3 are the same hyperplane to within float64 erro |
| shallow 2d | 40 lines in general position, with corners far out. | 821 | Zaslavsky: the sum of C(40, j) for j ≤ 2 | 821 ✓ (0.0043 s) | 821 ✓ (0.017 s) | proved, checked (0.0026 s) | 821 ✓ (15 s) |
| thousand parallel lines | A thousand strips without a single corner. | 1,001 | 1000 hyperplanes that do not meet | not done after 60 s | not done after 60 s | not proved | not done after 60 s |

Of 9 networks both engines count 15 of 17 right and all 8 enumerations are proved. relucent counts 5 right, 0 otherwise, and refuses, fails or takes too long on 4.
