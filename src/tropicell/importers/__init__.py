"""Models of other libraries become networks, operator by operator; their outputs are compared.

`operators`        the table of all operators: those that are supported, and those refused and why
`torch`            PyTorch modules and exported files
`onnx`             ONNX files
`sklearn`          scikit-learn's perceptrons, linear models and pipelines
`keras`            Keras models
`models`           whatever is given where a network is expected
`files`            `load` and `save`: models from files, networks to files
`check`            the comparison with the model's own outputs
`expressions`      a tensor that is affine in the layers so far
`walk`             the walk over a model's graph: refuse first, then build
`builder`          the network that grows while a model is read
`lowering`         matrix products, convolutions and pools as matrices
`nonlinear`        maxima, absolute values and the like as layers
`shapes`           operations that only move entries
`operators_page`   the table as a page of the documentation

May import `network` and what is below it.
"""
