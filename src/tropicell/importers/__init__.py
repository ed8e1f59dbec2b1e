"""From models of other libraries to a `tropicell.Network`.

Each front end (`torch`, `onnx`, `sklearn`) walks over the operators of a model and replaces every
tensor by an affine expression of the layers so far (`expressions`, `lowering`, `nonlinear`).
`operators` is the one table of what is supported and what is refused; `check` compares the
outcome with the model.
"""
