"""`from_keras`: Keras 3 on torch."""

import os

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras")
layers = keras.layers

from tropicell import count_regions, from_keras  # noqa: E402
from tropicell.errors import ModelImportError, UnsupportedOperatorError  # noqa: E402

pytestmark = [
    pytest.mark.skipif(keras.backend.backend() != "torch", reason="Keras runs on another backend"),
    pytest.mark.filterwarnings("ignore"),
]


def image_model():
    x = inputs = keras.Input((6, 6, 2))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    y = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same")(x))
    x = layers.LeakyReLU(negative_slope=0.2)(layers.Add()([x, y]))
    x = layers.UpSampling2D(2)(layers.MaxPooling2D(2)(x))
    x = layers.Dropout(0.5)(layers.Flatten()(layers.AveragePooling2D(3)(x)))
    return keras.Model(inputs, layers.Dense(2)(x))


def two_inputs():
    a, b = keras.Input((3,)), keras.Input((2,))
    h = layers.Dense(4, activation="relu6")(layers.Concatenate()([a, b]))
    return keras.Model([a, b], [layers.Dense(2)(h), layers.Maximum()([a, a * 2.0])])


def sequential():
    return keras.Sequential(
        [keras.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(1)]
    )


@pytest.mark.parametrize("make", [image_model, two_inputs, sequential])
def test_model(make, rng):
    keras.utils.set_random_seed(0)
    model = make()
    network = from_keras(model)
    points = rng.normal(size=(4, network.n_inputs)).astype(np.float32)
    shapes = [tuple(value.shape[1:]) for value in model.inputs]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    parts = [p.reshape(4, *s) for p, s in zip(np.split(points, ends, 1), shapes, strict=True)]
    found = model.predict(parts if len(parts) > 1 else parts[0], verbose=0)
    rows = found if isinstance(found, list) else [found]
    expected = np.concatenate([row.reshape(4, -1) for row in rows], axis=1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)


def test_refused():
    with pytest.raises(ModelImportError, match="expected a Keras model"):
        from_keras("model.keras")
    with pytest.raises(ModelImportError, match="give an example"):
        from_keras(keras.Sequential([layers.Dense(2)]))
    smooth = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation="softmax")])
    with pytest.raises(UnsupportedOperatorError, match="softmax"):
        from_keras(smooth)


def test_a_model_in_place_of_a_network():
    assert count_regions(keras.Sequential([keras.Input((1,)), layers.Dense(1, "relu")])) == 2
