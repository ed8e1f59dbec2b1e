"""The paper, line by line: its recurrences F, G, H, and Algorithms 1 and 2.

`recurrences` has the tropical rational map and Algorithm 1, `algorithm2` is the traversal of all
patterns in exact arithmetic: the oracle of all engines. (Algorithm 3 is in `tropicell.predict`.)
May import `regions` and what is below it.
"""
