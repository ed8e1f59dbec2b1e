"""From scikit-learn: multi-layer perceptrons, and pipelines with scalers in front."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import ModelImportError, UnsupportedOperatorError, require
from tropicell.importers import nonlinear
from tropicell.importers.builder import Builder
from tropicell.importers.check import FLOAT64_TOLERANCE, compare
from tropicell.importers.expressions import Value, add, finite, scale
from tropicell.importers.lowering import matmul
from tropicell.network import activations
from tropicell.network.network import Network

_SMOOTH = {
    "logistic": "it is not piecewise linear; train with activation='relu' instead",
    "tanh": "it is not piecewise linear; train with activation='relu' instead",
}


def from_sklearn(estimator: Any, *, tolerance: float = FLOAT64_TOLERANCE) -> Network:
    """The network of a fitted scikit-learn estimator.

    Parameters
    ----------
    estimator : MLPRegressor, MLPClassifier, or Pipeline
        A pipeline may have StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler and
        "passthrough" in front.
    tolerance : float
        Largest difference between the estimator's outputs and the network's, relative to them.

    Returns
    -------
    Network
        Its outputs are those before the last softmax, logistic function or exponential: the
        logits of a classifier (one for two classes).

    Raises
    ------
    UnsupportedOperatorError
        For other estimators, transformers and activations.
    ModelImportError
        If the estimator is not fitted.

    Examples
    --------
    >>> from sklearn.neural_network import MLPRegressor
    >>> X = np.linspace(-1, 1, 20).reshape(-1, 1)
    >>> estimator = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", tol=1.0)
    >>> from_sklearn(estimator.fit(X, abs(X).ravel()))
    Network(1 → 3 → 1)
    """
    require("sklearn", extra="sklearn", why="importing a scikit-learn estimator")
    pipeline = require("sklearn.pipeline", extra="sklearn", why="importing a pipeline")
    if isinstance(estimator, pipeline.Pipeline):
        steps = [(name, step) for name, step in estimator.steps]
    else:
        steps = [(type(estimator).__name__, estimator)]
    (last_name, last), scalers = steps[-1], steps[:-1]
    scalers = [(name, step) for name, step in scalers if step not in (None, "passthrough")]
    _check_kind(last, last_name)
    for name, step in [*scalers, (last_name, last)]:
        _check_fitted(step, name)
    first = scalers[0][1] if scalers else last
    builder = Builder((int(first.n_features_in_),))
    value: Value = builder.input
    for name, step in scalers:
        value = _scaled(builder, value, step, name)
    network = builder.finish(_perceptron(builder, value, last, last_name))
    logits = _without_last_activation(last)

    def run(points: FloatArray) -> FloatArray:
        x: Any = points
        for _, step in scalers:
            x = step.transform(x)
        if hasattr(logits, "predict_proba"):
            outputs = logits.predict_proba(x)
            return np.asarray(outputs[:, -1:] if network.n_outputs == 1 else outputs)
        return np.asarray(logits.predict(x)).reshape(len(points), -1)

    compare(network, run, what=f"the {type(last).__name__}", tolerance=tolerance)
    return network


def _check_kind(estimator: Any, name: str) -> None:
    networks = require("sklearn.neural_network", extra="sklearn", why="importing an estimator")
    kind = type(estimator).__name__
    if not isinstance(estimator, (networks.MLPRegressor, networks.MLPClassifier)):
        raise UnsupportedOperatorError(
            kind, f"step {name!r}", "only MLPRegressor and MLPClassifier are networks"
        )
    if estimator.activation in _SMOOTH:
        raise UnsupportedOperatorError(
            estimator.activation, f"step {name!r} ({kind})", _SMOOTH[estimator.activation]
        )
    if estimator.activation not in ("relu", "identity"):
        raise UnsupportedOperatorError(
            str(estimator.activation), f"step {name!r} ({kind})", "expected 'relu' or 'identity'"
        )


def _check_fitted(step: Any, name: str) -> None:
    validation = require("sklearn.utils.validation", extra="sklearn", why="importing an estimator")
    exceptions = require("sklearn.exceptions", extra="sklearn", why="importing an estimator")
    try:
        validation.check_is_fitted(step)
    except (exceptions.NotFittedError, TypeError):
        raise ModelImportError(
            f"step {name!r} ({type(step).__name__}) is not fitted; call fit first"
        ) from None


def _scaled(builder: Builder, value: Value, step: Any, name: str) -> Value:
    """A scaler: a factor and an offset for each feature, and perhaps a clip."""
    kind = type(step).__name__
    if kind == "StandardScaler":
        return _divided(add(value, _offset(step.mean_, step.with_mean), scale=-1.0), step.scale_)
    if kind == "RobustScaler":
        return _divided(add(value, _offset(step.center_, True), scale=-1.0), step.scale_)
    if kind == "MaxAbsScaler":
        result, bounds = _divided(value, step.scale_), (-1.0, 1.0)
    elif kind == "MinMaxScaler":
        result = add(scale(value, finite(step.scale_, name)), finite(step.min_, name))
        bounds = step.feature_range
    else:
        raise UnsupportedOperatorError(
            kind,
            f"step {name!r}",
            "expected StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler; transform the "
            "data before, and import the rest of the pipeline",
        )
    if getattr(step, "clip", False):
        return nonlinear.clip(builder, result, float(bounds[0]), float(bounds[1]), name)
    return result


def _offset(numbers: Any, used: bool) -> FloatArray:
    return finite(numbers if numbers is not None and used else 0.0, "the offset of a scaler")


def _divided(value: Value, by: Any) -> Value:
    return value if by is None else scale(value, 1.0 / finite(by, "the scale of a scaler"))


def _perceptron(builder: Builder, value: Value, estimator: Any, name: str) -> Value:
    last = len(estimator.coefs_) - 1
    for index, (weight, bias) in enumerate(
        zip(estimator.coefs_, estimator.intercepts_, strict=True)
    ):
        matrix = finite(weight, f"coefs_[{index}] of {name!r}")
        value = add(matmul(value, matrix), finite(bias, f"intercepts_[{index}] of {name!r}"))
        if index < last and estimator.activation == "relu":
            value = builder.activate(value, activations.relu(), f"layer {index + 1}")
    return value


def _without_last_activation(estimator: Any) -> Any:
    """A copy that gives the numbers before the last softmax, logistic function or exponential."""
    bare = copy.deepcopy(estimator)
    bare.out_activation_ = "identity"
    return bare
