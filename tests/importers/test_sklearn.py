"""`from_sklearn`: perceptrons and pipelines, compared with scikit-learn's own logits."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from tropicell import from_sklearn
from tropicell.errors import ModelImportError, UnsupportedOperatorError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.1] + [0.0, 2.0, -1.0]
TARGETS = {
    "one": X @ [1.0, -2.0, 3.0],
    "two": np.column_stack([X[:, 0], np.abs(X[:, 1])]),
    "binary": X[:, 0] > 0,
    "classes": np.digitize(X[:, 0], [-0.5, 0.5]),
    "labels": np.column_stack([X[:, 0] > 0, X[:, 1] > 2]).astype(int),
}


def fitted(estimator, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough here
        return estimator.fit(X, TARGETS[target])


def regressor(**keywords):
    return MLPRegressor(hidden_layer_sizes=(6, 4), max_iter=5, random_state=0, **keywords)


def classifier(**keywords):
    return MLPClassifier(hidden_layer_sizes=(5,), max_iter=5, random_state=0, **keywords)


@pytest.mark.parametrize("target", ["one", "two"])
def test_regressor(target):
    estimator = fitted(regressor(), target)
    network = from_sklearn(estimator)
    expected = estimator.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(network(X), expected, rtol=1e-9, atol=1e-12)
    assert network.widths == (6, 4)


@pytest.mark.parametrize("target", ["binary", "classes", "labels"])
def test_classifier_gives_logits(target):
    estimator = fitted(classifier(), target)
    logits = from_sklearn(estimator)(X)
    if target == "classes":
        powers = np.exp(logits)
        got = powers / powers.sum(axis=1, keepdims=True)
    else:
        got = 1 / (1 + np.exp(-logits))
    expected = estimator.predict_proba(X)
    np.testing.assert_allclose(got, expected[:, -got.shape[1] :], rtol=1e-9)


def test_identity_activation_is_affine():
    network = from_sklearn(fitted(regressor(activation="identity"), "one"))
    assert network.depth == 0


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False, with_scaling=False),
        "passthrough",
    ],
    ids=str,
)
def test_pipeline(scaler):
    pipeline = fitted(
        Pipeline([("scale", scaler), ("rest", "passthrough"), ("net", regressor())]), "one"
    )
    network = from_sklearn(pipeline)
    far = X * 3
    np.testing.assert_allclose(network(far).ravel(), pipeline.predict(far), rtol=1e-9, atol=1e-9)


def test_two_scalers_and_a_classifier():
    pipeline = fitted(make_pipeline(StandardScaler(), MinMaxScaler(), classifier()), "classes")
    assert (from_sklearn(pipeline)(X).argmax(axis=1) == pipeline.predict(X)).all()


@pytest.mark.parametrize("activation", ["logistic", "tanh"])
def test_smooth_activations_are_refused_by_name(activation):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_sklearn(fitted(regressor(activation=activation), "one"))
    assert caught.value.operator == activation


@pytest.mark.parametrize(
    ("estimator", "operator"),
    [
        (DecisionTreeRegressor(), "DecisionTreeRegressor"),
        (make_pipeline(PolynomialFeatures(2), regressor()), "PolynomialFeatures"),
    ],
)
def test_others_are_refused_by_name(estimator, operator):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_sklearn(fitted(estimator, "one"))
    assert caught.value.operator == operator


@pytest.mark.parametrize("estimator", [regressor(), make_pipeline(StandardScaler(), regressor())])
def test_not_fitted(estimator):
    with pytest.raises(ModelImportError, match="not fitted; call fit"):
        from_sklearn(estimator)


def test_nan_weights():
    estimator = fitted(regressor(), "one")
    estimator.coefs_[1][0, 0] = np.nan
    with pytest.raises(ModelImportError, match=r"coefs_\[1\].*nan"):
        from_sklearn(estimator)


@pytest.mark.parametrize(
    "make",
    [
        LinearRegression,
        LogisticRegression,
        LinearSVC,
        Ridge,
        lambda: make_pipeline(PCA(2), LogisticRegression()),
        lambda: make_pipeline(
            StandardScaler(), PCA(2, whiten=True), MLPClassifier((4,), max_iter=9)
        ),
        lambda: make_pipeline(StandardScaler(), make_pipeline(SelectKBest(k=2), Ridge())),
        lambda: GridSearchCV(make_pipeline(MinMaxScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}),
        lambda: PCA(2),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_linear_models_projections_and_searches(make, rng):
    points = rng.normal(size=(60, 4))
    classes = (points @ [1.0, 2.0, -1.0, 0.5] > 0).astype(int) + (points[:, 0] > 0.5)
    estimator = make().fit(points, classes)
    network = from_sklearn(estimator)
    for function in ("decision_function", "predict_log_proba", "predict", "transform"):
        if hasattr(estimator, function):
            break
    expected = getattr(estimator, function)(points).reshape(60, -1)
    found = network(points)
    if function == "predict_log_proba":
        found = found - np.log(np.exp(found).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (PoissonRegressor(), "exponentials"),
        (make_pipeline(PolynomialFeatures(), Ridge()), "PolynomialFeatures"),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}), "not fitted"),
        (Ridge(), "not fitted"),
    ],
)
def test_other_estimators_are_refused(estimator, what):
    with pytest.raises(ModelImportError, match=what):
        from_sklearn(estimator)


@pytest.mark.parametrize("given", [3, "model.pkl", MLPRegressor])
def test_what_is_no_estimator_is_refused_by_name(given):
    with pytest.raises(ModelImportError, match="expected a fitted estimator"):
        from_sklearn(given)


def test_a_search_that_did_not_refit_says_so():
    search = GridSearchCV(LinearRegression(), {"fit_intercept": [True]}, cv=2, refit=False)
    search.fit(np.arange(8.0).reshape(4, 2), np.arange(4.0))
    with pytest.raises(ModelImportError, match="refit=False"):
        from_sklearn(search)
