"""The explicit piecewise-affine function in other forms: C code and ONNX graphs."""
