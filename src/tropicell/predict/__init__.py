"""Prediction by regions: a cache by pattern (Algorithm 3), a tree of cuts, exported code.

`cached` is the predictor with a cache, `locator` and `last_region` find regions without the
network, `export` writes C and ONNX. May import `analysis` and what is below it.
"""
