"""The explicit piecewise-affine function as C99 and as an ONNX graph."""
