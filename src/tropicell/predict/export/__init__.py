"""The explicit piecewise-affine function in other languages.

`c`        C99
`onnx`     an ONNX graph
`control`  files of control toolboxes, MPT3 and PPOPT
`_joins`   unions of regions that are convex, for these
"""
