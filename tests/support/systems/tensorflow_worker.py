"""Writes `.tflite` networks with TensorFlow's converter; run by a Python that has it.

    python tensorflow_worker.py FOLDER [PART_OF_A_NAME ...]

Weights and calibration data are random, from seeds. Each line of standard output is a
file's name, or a name and why the converter refused it. Networks are written with a
dynamic batch (`.dynamic`), a fixed one (`.int8`), with float32 borders (`.float`), with
activations of 16 bits (`.int16`), and with 8-bit weights alone (`.range`). Where
`tf_keras` is installed, LSTMs are written as one operator each: Keras 3's become loops.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
tf: Any = import_module("tensorflow")
layers: Any = tf.keras.layers

Function = Callable[..., Any]

SHAPE = (2, 4, 6, 8)

ONE: dict[str, Function] = {
    "abs": tf.abs,
    "argmax": lambda x: tf.argmax(x, 3),
    "argmin": lambda x: tf.argmin(x, 3, output_type=tf.int32),
    "batch_to_space": lambda x: tf.batch_to_space(x, [2, 1], [[0, 1], [0, 0]]),
    "clip": lambda x: tf.clip_by_value(x, -0.5, 0.8),
    "cos": tf.cos,
    "cumsum": lambda x: tf.cumsum(x, 1),
    "depth_to_space": lambda x: tf.nn.depth_to_space(x, 2),
    "elu": tf.nn.elu,
    "exp": tf.exp,
    "floor": tf.floor,
    "gather": lambda x: tf.gather(x, [3, 0, 2, 2], axis=2),
    "gelu": tf.nn.gelu,
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "global_max": lambda x: tf.reduce_max(x, [1, 2]),
    "instance_norm": lambda x: _normalized(x, [1, 2]),
    "l2_normalize": lambda x: tf.nn.l2_normalize(x, -1),
    "layer_norm": lambda x: _normalized(x, [3]),
    "leaky_relu": tf.nn.leaky_relu,
    "log": lambda x: tf.math.log(tf.abs(x) + 0.1),
    "mask": lambda x: x * tf.cast(tf.logical_and(x > 0.0, x < 1.0), tf.float32),
    "maximum": lambda x: tf.maximum(x, 0.2),
    "mean": lambda x: tf.reduce_mean(x, 1),
    "mirror_reflect": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 1], [0, 0]], "REFLECT"),
    "mirror_symmetric": lambda x: tf.pad(
        x, [[0, 0], [1, 2], [2, 1], [0, 0]], "SYMMETRIC"
    ),
    "mish": lambda x: x * tf.tanh(tf.nn.softplus(x)),
    "negative": tf.negative,
    "new_axis": lambda x: x[:, tf.newaxis, ..., 0],
    "one_hot": lambda x: tf.one_hot(tf.argmax(x, 3), 8),
    "power": lambda x: tf.pow(x, 3.0),
    "reciprocal": lambda x: 1.0 / (tf.abs(x) + 0.5),
    "reduce_min": lambda x: tf.reduce_min(x, 3),
    "resize_bilinear": lambda x: tf.image.resize(x, [8, 12]),
    "resize_nearest": lambda x: tf.image.resize(x, [7, 9], "nearest"),
    "reverse": lambda x: tf.reverse(x, [1, 2]),
    "reverse_slice": lambda x: x[:, ::-1, 1:5:2],
    "rms_norm": lambda x: x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, True) + 1e-3),
    "round": tf.round,
    "rsqrt": lambda x: tf.math.rsqrt(tf.abs(x) + 0.1),
    "selu": tf.nn.selu,
    "sigmoid": tf.sigmoid,
    "sin": tf.sin,
    "softmax": tf.nn.softmax,
    "softplus": tf.nn.softplus,
    "softsign": tf.nn.softsign,
    "space_to_batch": lambda x: tf.space_to_batch_nd(x, [2, 2], [[0, 0], [1, 1]]),
    "space_to_depth": lambda x: tf.nn.space_to_depth(x, 2),
    "split": lambda x: tf.split(x, [1, 3, 4], 3),
    "square": tf.square,
    "stack": lambda x: tf.stack([x, x * 2.0], 2),
    "swish": tf.nn.silu,
    "tanh": tf.tanh,
    "tile": lambda x: tf.tile(x, [1, 2, 3, 1]),
    "unstack": lambda x: tf.unstack(x, axis=1)[2],
    "where": lambda x: tf.where(x > 0.3, x, x * 2.0),
}
"""Functions of one tensor."""

TWO: dict[str, Function] = {
    "add": tf.add,
    "divide": lambda x, y: x / (tf.abs(y) + 1.0),
    "less": lambda x, y: tf.cast(tf.less(x, y), tf.float32),
    "matmul": lambda x, y: tf.matmul(x, y, transpose_b=True),
    "multiply": tf.multiply,
    "smaller": tf.minimum,
    "squared_difference": tf.math.squared_difference,
    "subtract": tf.subtract,
    "where_greater": lambda x, y: tf.where(x > y, x, y * 2.0),
}
"""Functions of two tensors."""


def _normalized(x: Any, axes: list[int]) -> Any:
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3)


def _called(function: Function) -> Any:
    return layers.Lambda(function)


def classifier() -> Any:
    x = image = tf.keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.Flatten()(layers.MaxPool2D()(x))
    return tf.keras.Model(image, layers.Dense(10, activation="softmax")(x))


def unet(upsampling: Callable[[], Any]) -> Any:
    image = tf.keras.Input((16, 16, 3))
    fine = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    x = layers.MaxPool2D()(fine)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = layers.Concatenate()([upsampling()(x), fine])
    return tf.keras.Model(image, layers.Conv2D(2, 1, activation="softmax")(x))


def transformer(activation: str, of_ids: bool = False) -> Any:
    inputs = tf.keras.Input((12,) if of_ids else (12, 16), dtype=None)
    x = layers.Embedding(50, 16)(inputs) if of_ids else inputs
    y = layers.LayerNormalization()(x)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 8)(y, y)])
    y = layers.Dense(32, activation=activation)(layers.LayerNormalization()(x))
    x = layers.Add()([x, layers.Dense(16)(y)])
    x = layers.GlobalAveragePooling1D()(x)
    return tf.keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def encoder() -> Any:
    """Six blocks as of BERT, a quarter as wide: 64 words of 192 numbers, 4 heads."""
    x = words = tf.keras.Input((64, 192))
    for _ in range(6):
        y = layers.MultiHeadAttention(4, 48)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
        y = layers.Dense(192)(layers.Dense(768, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return tf.keras.Model(words, layers.Dense(2, activation="softmax")(x[:, 0]))


def application(name: str) -> Any:
    """A network of Keras with drawn weights, whose norms are those of drawn images: as
    if it were trained, no activations vanish."""
    model = getattr(tf.keras.applications, name)(weights=None)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.0
    model(tf.random.normal((4, *model.inputs[0].shape[1:])), training=True)
    return model


def mixer() -> Any:
    image = tf.keras.Input((16, 16, 3))
    x = layers.Reshape((16, 16))(layers.Conv2D(16, 4, 4)(image))
    y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
    y = layers.Permute((2, 1))(layers.Dense(16, activation="gelu")(y))
    x = layers.GlobalMaxPooling1D()(layers.Add()([x, y]))
    return tf.keras.Model(image, layers.Dense(5)(x))


def super_resolution() -> Any:
    image = tf.keras.Input((12, 12, 1))
    x = layers.Conv2D(8, 3, padding="same", activation="tanh")(image)
    x = layers.PReLU(shared_axes=[1, 2], alpha_initializer="random_normal")(x)
    x = layers.Conv2D(4, 3, padding="same")(x)
    return tf.keras.Model(image, _called(lambda t: tf.nn.depth_to_space(t, 2))(x))


def attention() -> Any:
    image = tf.keras.Input((12, 12, 8))
    gate = layers.GlobalAveragePooling2D(keepdims=True)(image)
    gate = layers.Conv2D(8, 1, activation="hard_sigmoid")(gate)
    x = layers.Multiply()([image, gate])
    most = _called(lambda t: tf.reduce_max(t, -1, keepdims=True))(x)
    mean = _called(lambda t: tf.reduce_mean(t, -1, keepdims=True))(x)
    gate = layers.Concatenate()([most, mean])
    gate = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(gate)
    return tf.keras.Model(image, layers.Multiply()([x, gate]))


def autoencoder() -> Any:
    image = tf.keras.Input((12, 12, 1))
    x = layers.Flatten()(layers.Conv2D(4, 3, 2, activation="relu")(image))
    mean, deviation = layers.Dense(4)(x), layers.Dense(4)(x)
    x = _called(lambda t: t[0] + tf.exp(t[1] * 0.5))([mean, deviation])
    x = layers.Reshape((6, 6, 2))(layers.Dense(72, activation="relu")(x))
    x = layers.Conv2DTranspose(1, 3, 2, padding="same", activation="sigmoid")(x)
    return tf.keras.Model(image, x)


def temporal() -> Any:
    x = signal = tf.keras.Input((32, 4))
    for rate in (2, 4):
        convolution = layers.Conv1D(8, 3, padding="causal", dilation_rate=rate)
        x = layers.ReLU()(convolution(x))
    return tf.keras.Model(signal, layers.Dense(3)(layers.GlobalMaxPooling1D()(x)))


def segmentation() -> Any:
    image = tf.keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, 2, padding="same", activation="relu")(image)
    x = layers.Conv2D(8, 3, padding="same", dilation_rate=2, activation="relu")(x)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    return tf.keras.Model(image, layers.Conv2D(4, 1)(x))


def style() -> Any:
    image = tf.keras.Input((12, 12, 3))
    edges = [[0, 0], [1, 1], [1, 1], [0, 0]]
    x = _called(lambda t: tf.pad(t, edges, "REFLECT"))(image)
    x = _called(lambda t: _normalized(t, [1, 2]))(layers.Conv2D(8, 3)(x))
    return tf.keras.Model(image, layers.Conv2D(3, 3)(layers.ReLU()(x)))


def shuffle() -> Any:
    image = tf.keras.Input((12, 12, 8))
    x = layers.Conv2D(16, 1, activation="relu")(image)
    left, right = _called(lambda t: tf.split(t, 2, -1))(x)
    right = layers.DepthwiseConv2D(3, padding="same")(right)
    x = layers.Reshape((12, 12, 2, 8))(layers.Concatenate()([left, right]))
    x = layers.Reshape((12, 12, 16))(layers.Permute((1, 2, 4, 3))(x))
    return tf.keras.Model(image, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))


def detector() -> Any:
    image = tf.keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, 2, padding="same", activation="swish")(image)
    x = layers.Reshape((64, 2, 7))(layers.Conv2D(14, 1)(x))

    def boxes(t: Any) -> Any:
        centre = tf.sigmoid(t[..., :2]) * 2.0 - 0.5
        parts = [centre, tf.exp(t[..., 2:4]), tf.sigmoid(t[..., 4:])]
        return tf.reshape(tf.concat(parts, -1), [-1, 128, 7])

    return tf.keras.Model(image, _called(boxes)(x))


def distances() -> Any:
    """Edges of boxes as the means of distributions, which a SUM of bytes gives."""
    image = tf.keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, 4, padding="same", activation="swish")(image)
    x = layers.Reshape((16, 4, 8))(layers.Conv2D(32, 1)(x))
    numbers = tf.range(8, dtype=tf.float32)
    mean = _called(lambda t: tf.reduce_sum(tf.nn.softmax(t) * numbers, -1))
    return tf.keras.Model(image, mean(x))


def focus() -> Any:
    """Pixels of four phases side by side, pools of several sizes, and Mish."""
    image = tf.keras.Input((16, 16, 3))
    phases = [image[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
    x = layers.Conv2D(8, 3, padding="same", activation="swish")(
        layers.Concatenate()(phases)
    )
    pools = [layers.MaxPool2D(size, 1, padding="same")(x) for size in (3, 5)]
    x = layers.Conv2D(8, 1, activation="mish")(layers.Concatenate()([x, *pools]))
    return tf.keras.Model(image, layers.Reshape((64, 4))(layers.Conv2D(4, 1)(x)))


def spatial_transformer() -> Any:
    """The nearest pixels of a grid that the network turns: a product of two computed
    matrices, and elements by computed indices."""
    image = tf.keras.Input((8, 8, 2), batch_size=1)
    x = layers.Flatten()(layers.Conv2D(4, 3, 2, activation="relu")(image))
    turn = layers.Dense(6, activation="tanh")(x)
    places = np.stack([*np.meshgrid(*[np.linspace(-1, 1, 8)] * 2), np.ones((8, 8))], -1)
    grid = places.reshape(64, 3).astype(np.float32)

    def sample(given: Any) -> Any:
        pixels, matrix = given
        matrix = tf.reshape(matrix, [2, 3])
        found = tf.matmul(grid, matrix, transpose_b=True)
        index = tf.cast(tf.clip_by_value((found + 1.0) * 3.5, 0.0, 7.0), tf.int32)
        return tf.reshape(tf.gather_nd(pixels[0], index), [1, 8, 8, 2])

    return tf.keras.Model(image, _called(sample)([image, turn]))


def generator() -> Any:
    """Transposed convolutions of so many weights that dynamic range quantizes them."""
    noise = tf.keras.Input((4, 4, 16))
    x = layers.Conv2DTranspose(16, 3, 2, padding="same", activation="relu")(noise)
    return tf.keras.Model(noise, layers.Conv2DTranspose(16, 2, 2)(x))


def recurrent(layer: Callable[[], Any]) -> Any:
    signal = tf.keras.Input((6, 8))
    return tf.keras.Model(
        signal, layers.Dense(4, activation="softmax")(layer()(signal))
    )


NETWORKS: dict[str, Callable[[], Any]] = {
    "attention": attention,
    "autoencoder": autoencoder,
    "classifier": classifier,
    "detector": detector,
    "distances": distances,
    "focus": focus,
    "generator": generator,
    "gru": lambda: recurrent(lambda: layers.GRU(6, unroll=True)),
    "lstm": lambda: recurrent(lambda: layers.LSTM(6, unroll=True)),
    "mixer": mixer,
    "segmentation": segmentation,
    "shuffle": shuffle,
    "spatial_transformer": spatial_transformer,
    "style": style,
    "super_resolution": super_resolution,
    "temporal": temporal,
    "transformer_gelu": lambda: transformer("gelu"),
    "transformer_ids": lambda: transformer("relu", of_ids=True),
    "transformer_relu": lambda: transformer("relu"),
    "unet_bilinear": lambda: unet(
        lambda: layers.UpSampling2D(interpolation="bilinear")
    ),
    "unet_nearest": lambda: unet(lambda: layers.UpSampling2D()),
    "unet_transposed": lambda: unet(lambda: layers.Conv2DTranspose(8, 2, 2)),
}


def recurrent_layers(legacy: Any) -> dict[str, Callable[[], Sequence[Any]]]:
    """Layers on 6 steps of 8 values, by Keras 2."""
    lstm = legacy.layers.LSTM
    return {
        "lstm_fused": lambda: [lstm(6)],
        "lstm_stacked": lambda: [lstm(5, return_sequences=True), lstm(12)],
        "lstm_both_ways": lambda: [legacy.layers.Bidirectional(lstm(4))],
    }


def legacy_network(make: Callable[[], Sequence[Any]], variant: str) -> bytes:
    """A network of Keras 2; the calibrator runs those of a saved model only."""
    legacy = import_module("tf_keras")
    legacy.backend.clear_session()
    tf.random.set_seed(3)
    signal = legacy.Input((6, 8), batch_size=1)
    x = signal
    for layer in make():
        x = layer(x)
    model = legacy.Model(signal, legacy.layers.Dense(4)(x))
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        return converted(converter, [(1, 6, 8)], variant)


LARGE: dict[str, Callable[[], Any]] = {
    "encoder": encoder,
    **{
        name: lambda name=name: application(name)
        for name in ("MobileNetV2", "NASNetMobile", "EfficientNetB0", "DenseNet121")
    },
}
"""Networks to measure with, as int8, which are written (`large.`) only where they are
asked for."""


def samples(shapes: Sequence[tuple[int, ...]]) -> Callable[[], Iterator[list[Any]]]:
    """Calibration data, the same in every run."""
    random = np.random.default_rng(0)

    def draw() -> Iterator[list[Any]]:
        for _ in range(20):
            yield [random.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]

    return draw


def converted(
    converter: Any, shapes: Sequence[tuple[int, ...]], variant: str = "int8"
) -> bytes:
    """The file, quantized as far as the converter goes."""
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if variant == "range":
        return converter.convert()
    converter.representative_dataset = samples(shapes)
    sets = tf.lite.OpsSet
    words = sets.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    converter.target_spec.supported_ops = [
        words if variant == "int16" else sets.TFLITE_BUILTINS_INT8,
        sets.TFLITE_BUILTINS,
    ]
    if variant != "float":
        border = tf.int16 if variant == "int16" else tf.int8
        converter.inference_input_type = border
        converter.inference_output_type = border
    return converter.convert()


def of_function(function: Function, shapes: Sequence[tuple[int, ...]]) -> Any:
    specs = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    concrete = tf.function(function).get_concrete_function(*specs)
    return tf.lite.TFLiteConverter.from_concrete_functions([concrete])


class Spotter(tf.Module):
    """A convolution over the last frames, which a variable keeps."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(5)
        self.frames = tf.Variable(tf.zeros([1, 6, 8]))
        self.kernel = tf.constant(random.normal(0, 0.3, (6, 8, 5)).astype(np.float32))

    def step(self, x: Any) -> Any:
        frames = tf.concat([self.frames[:, 1:], x], 1)
        self.frames.assign(frames)
        return tf.nn.relu(tf.nn.conv1d(frames, self.kernel, 1, "VALID"))


def stream(variant: str) -> bytes:
    """A model with state; `variables` are quantized as well, or float32."""
    module = Spotter()
    shape = (1, 1, 8)
    concrete = tf.function(module.step).get_concrete_function(
        tf.TensorSpec(shape, tf.float32)
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    converter.experimental_enable_resource_variables = True
    if variant == "plain":
        return converter.convert()
    converter._experimental_variable_quantization = variant == "variables"
    return converted(converter, [shape])


def files() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Every file's name and what makes its bytes."""
    for count, functions in ((1, ONE), (2, TWO)):
        for name, function in functions.items():
            shapes = [SHAPE] * count
            yield (
                f"function_{name}.int8",
                lambda f=function, s=shapes: converted(of_function(f, s), s),
            )
    for variant in ("plain", "int8", "variables"):
        yield f"stream.{variant}", lambda v=variant: stream(v)
    for name, make in NETWORKS.items():
        for variant in ("dynamic", "int8", "float", "int16", "range"):
            yield f"{name}.{variant}", lambda m=make, v=variant: network(m, v)
    for name, make in LARGE.items():
        yield f"large.{name}", lambda m=make: network(m, "int8")
    if find_spec("tf_keras") is None:
        return
    for name, layer in recurrent_layers(import_module("tf_keras")).items():
        for variant in ("int8", "float", "range"):
            yield (
                f"{name}.{variant}",
                lambda m=layer, v=variant: legacy_network(m, v),
            )


def network(make: Callable[[], Any], variant: str) -> bytes:
    """A network's file, with weights from a seed."""
    tf.keras.backend.clear_session()
    tf.random.set_seed(3)
    model = make()
    shapes = [(1, *tensor.shape[1:]) for tensor in model.inputs]
    if variant == "dynamic":
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
    else:
        converter = of_function(lambda x: model(x, training=False), shapes)
    return converted(converter, shapes, variant)


def main(folder: Path, wanted: Sequence[str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, make in files():
        is_wanted = any(part in name for part in wanted)
        if not is_wanted and (wanted or name.startswith("large.")):
            continue
        try:
            (folder / f"{name}.tflite").write_bytes(make())
        except Exception as error:  # the converter raises errors of all kinds
            print(name, str(error).splitlines()[0][:200], flush=True)
        else:
            print(name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
