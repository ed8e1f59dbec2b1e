"""Models of other libraries become networks, operator by operator; their outputs are compared.

`operators` is the table of what is supported and `refused` of what is not, and why; `torch` and
`onnx` hold one handler for each operator; `files` reads and writes models; `check` compares. May
import `network` and what is below it.
"""
