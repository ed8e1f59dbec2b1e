"""From scikit-learn: perceptrons, linear models, pipelines of scalers and projections."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import ModelImportError, UnsupportedOperatorError, require
from tropicell.importers import nonlinear
from tropicell.importers.builder import Builder
from tropicell.importers.check import FLOAT64_TOLERANCE, compare
from tropicell.importers.expressions import Value, add, finite, scale
from tropicell.importers.lowering import matmul
from tropicell.importers.shapes import gather
from tropicell.network import activations
from tropicell.network.network import Network

_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_PROJECTIONS = ("PCA", "IncrementalPCA", "TruncatedSVD")

_SMOOTH = {
    "logistic": "it is not piecewise linear; train with activation='relu' instead",
    "tanh": "it is not piecewise linear; train with activation='relu' instead",
}


def from_sklearn(estimator: Any, *, tolerance: float = FLOAT64_TOLERANCE) -> Network:
    """The network of a fitted scikit-learn estimator.

    Parameters
    ----------
    estimator : MLPRegressor, MLPClassifier, linear model, Pipeline, or search
        Linear models are those with ``coef_`` and ``intercept_`` (regressions, logistic regression,
        linear support vector machines, …). A pipeline may have StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, PCA, TruncatedSVD, feature selections and "passthrough" in
        front, and may end with one of these. Of GridSearchCV and its like the best estimator is
        taken.
    tolerance : float
        Largest difference between the estimator's outputs and the network's, relative to them.

    Returns
    -------
    Network
        Its outputs are those before the last softmax, logistic function or exponential: the
        logits of a classifier (one for two classes), what ``decision_function`` gives.

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
    steps = list(_steps(estimator, type(estimator).__name__))
    for name, step in steps:
        _check_kind(step, name, last=step is steps[-1][1])
    for name, step in steps:
        _check_fitted(step, name)
    if not steps:
        raise ModelImportError("the pipeline has no steps")
    builder = Builder((int(steps[0][1].n_features_in_),))
    value: Value = builder.input
    for name, step in steps:
        value = _applied(builder, value, step, name)
    network = builder.finish(value)
    (_, last), before = steps[-1], [step for _, step in steps[:-1]]
    logits = _without_last_activation(last) if hasattr(last, "coefs_") else last

    def run(points: FloatArray) -> FloatArray:
        x: Any = points
        for step in before:
            x = step.transform(x)
        if hasattr(logits, "coefs_") and hasattr(logits, "predict_proba"):
            outputs = logits.predict_proba(x)
            return np.asarray(outputs[:, -1:] if network.n_outputs == 1 else outputs)
        for function in ("decision_function", "predict", "transform"):
            if hasattr(logits, function):
                return np.asarray(getattr(logits, function)(x)).reshape(len(points), -1)
        raise ModelImportError(f"the {type(last).__name__} can't be run")

    compare(network, run, what=f"the {type(last).__name__}", tolerance=tolerance)
    return network


def _steps(estimator: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What is done one after the other: pipelines in pipelines, the best estimator of a search."""
    if estimator is None or estimator == "passthrough":
        return
    if hasattr(estimator, "best_estimator_"):
        yield from _steps(estimator.best_estimator_, name)
    elif isinstance(getattr(estimator, "steps", None), list):
        for inner, step in estimator.steps:
            yield from _steps(step, inner)
    else:
        yield name, estimator


#: Models with a smooth function behind their linear part, which their predictions go through.
_LINKED = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")


def _check_kind(estimator: Any, name: str, *, last: bool) -> None:
    networks = require("sklearn.neural_network", extra="sklearn", why="importing an estimator")
    kind = type(estimator).__name__
    if hasattr(estimator, "param_grid") or hasattr(estimator, "param_distributions"):
        what = "fitted" if estimator.refit else "fitted again with what it found (refit=False)"
        raise ModelImportError(f"step {name!r} ({kind}) is not {what}; call fit first")
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        got = "the class itself" if isinstance(estimator, type) else type(estimator).__name__
        raise ModelImportError(f"expected a fitted estimator of scikit-learn, got {got}")
    if kind in (*_SCALERS, *_PROJECTIONS) or hasattr(estimator, "get_support"):
        return
    if not last:
        raise UnsupportedOperatorError(
            kind,
            f"step {name!r}",
            f"expected one of {', '.join((*_SCALERS, *_PROJECTIONS))}, or a feature selection; "
            "transform the data before, and import the rest of the pipeline",
        )
    if isinstance(estimator, (networks.MLPRegressor, networks.MLPClassifier)):
        _check_activation(estimator, name)
    elif kind in _LINKED:
        raise UnsupportedOperatorError(
            kind, f"step {name!r}", "its predictions are exponentials of a linear function"
        )
    elif not _is_linear(estimator):
        raise UnsupportedOperatorError(
            kind,
            f"step {name!r}",
            "supported are MLPRegressor, MLPClassifier and linear models, also in pipelines and "
            "searches; a part of it that is one of these can be imported by itself",
        )


def _is_linear(estimator: Any) -> bool:
    module = type(estimator).__module__
    return module.startswith(("sklearn.linear_model", "sklearn.discriminant_analysis")) or (
        type(estimator).__name__ in ("LinearSVC", "LinearSVR")
    )


def _check_activation(estimator: Any, name: str) -> None:
    kind = type(estimator).__name__
    if estimator.activation in _SMOOTH:
        raise UnsupportedOperatorError(
            estimator.activation, f"step {name!r} ({kind})", _SMOOTH[estimator.activation]
        )
    if estimator.activation not in ("relu", "identity"):
        raise UnsupportedOperatorError(
            str(estimator.activation), f"step {name!r} ({kind})", "expected 'relu' or 'identity'"
        )


def _applied(builder: Builder, value: Value, step: Any, name: str) -> Value:
    """One step of a pipeline."""
    kind = type(step).__name__
    if kind in _SCALERS:
        return _scaled(builder, value, step, name)
    if kind in _PROJECTIONS:
        return _projected(value, step, name)
    if hasattr(step, "coefs_"):
        return _perceptron(builder, value, step, name)
    if hasattr(step, "get_support"):
        return gather(value, np.flatnonzero(step.get_support()), 0)
    if not hasattr(step, "coef_"):
        raise UnsupportedOperatorError(kind, f"step {name!r}", "it has no coef_: it is not linear")
    weights = np.atleast_2d(finite(step.coef_, f"coef_ of {name!r}"))
    offsets = np.ravel(finite(step.intercept_, f"intercept_ of {name!r}"))
    return add(matmul(value, weights.T), offsets)


def _projected(value: Value, step: Any, name: str) -> Value:
    """A projection on components, after the mean is taken away."""
    if getattr(step, "mean_", None) is not None:
        value = add(value, finite(step.mean_, f"mean_ of {name!r}"), scale=-1.0)
    result = matmul(value, finite(step.components_, f"components_ of {name!r}").T)
    if getattr(step, "whiten", False):
        deviations = np.sqrt(finite(step.explained_variance_, f"the variances of {name!r}"))
        return _divided(result, deviations)
    return result


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
    else:
        result = add(scale(value, finite(step.scale_, name)), finite(step.min_, name))
        bounds = step.feature_range
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
