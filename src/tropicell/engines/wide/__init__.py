"""The wide engine: bounded boxes and balls with any number of inputs, where few neurons are open.

`task`        a search, and the worker that does units of it
`reduction`   neurons that can't change their piece leave first; what is left is a small network
`_search`     depth first over its cuts: a kernel, with its float proofs (docs/wide-proof.md)
`_programs`   linear programs with few rows and many columns, which only make suggestions
`_exact`      decisions in rationals, where floats prove nothing
"""
