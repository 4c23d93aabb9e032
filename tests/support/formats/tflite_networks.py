"""Small float networks of the kinds that people give to LiteRT."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from .tflite_network import RELU, RELU6, VALID, Network

WORDS = 40
"""The words that each vocabulary has at least."""


def _mlp(net: Network) -> int:
    x = net.input(2, 32)
    return net.softmax(net.dense(net.dense(net.dense(x, 64, RELU), 32, RELU), 10))


def _wide(net: Network) -> int:
    x = net.input(3, 256)
    return net.dense(net.dense(net.dense(x, 256, RELU), 512), 256, RELU6)


def _autoencoder(net: Network) -> int:
    x = net.input(1, 128)
    for units in (64, 32, 8, 32, 64):
        x = net.dense(x, units, RELU)
    return net.dense(x, 128)


def _normalized_mlp(net: Network) -> int:
    x = net.input(3, 64)
    for units in (64, 48):
        x = net.unary("TANH", _scaled(net, net.dense(x, units)))
    return net.unary("LOGISTIC", net.dense(x, 1))


def _cnn(net: Network) -> int:
    x = net.input(1, 16, 16, 3)
    x = net.pool(net.conv(x, 16, 3, activation=RELU, padding=VALID))
    x = net.pool(net.conv(x, 32, 3, activation=RELU))
    return net.softmax(net.dense(net.dense(net.flat(x), 64, RELU), 10))


def _all_convolutions(net: Network) -> int:
    x = net.input(1, 16, 16, 4)
    for channels, stride in ((16, 1), (16, 2), (32, 1), (32, 2)):
        x = net.conv(x, channels, 3, stride=stride, activation=RELU)
    return net.softmax(net.pooled(net.conv(x, 10)))


def _keywords(net: Network) -> int:
    x = net.conv(net.input(1, 49, 10, 1), 32, (10, 4), stride=2, activation=RELU)
    for _ in range(3):
        x = net.conv(net.depthwise(x, activation=RELU), 32, activation=RELU)
    return net.softmax(net.dense(net.pooled(x), 12))


def _mobile(net: Network) -> int:
    x = net.conv(net.input(1, 32, 32, 3), 8, 3, stride=2, activation=RELU6)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        x = net.depthwise(x, stride=stride, activation=RELU6)
        x = net.conv(x, channels, activation=RELU6)
    return net.softmax(net.dense(net.flat(net.pool(x, "AVERAGE", 4, 4)), 10))


def _inverted(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2, activation=RELU6)
    for _ in range(3):
        y = net.conv(x, 64, activation=RELU6)
        x = net.binary("ADD", x, net.conv(net.depthwise(y, activation=RELU6), 16))
    return net.dense(net.pooled(net.conv(x, 64, activation=RELU6)), 10)


def _squeeze_excite(net: Network) -> int:
    x = net.unary("HARD_SWISH", net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2))
    for _ in range(2):
        y = net.unary("HARD_SWISH", net.depthwise(x, 5))
        weights = net.reduced(y, 1, 2, keeps=True)
        weights = net.unary("LOGISTIC", net.conv(net.conv(weights, 8, 1), 16))
        x = net.binary("ADD", x, net.conv(net.binary("MUL", y, weights), 16))
    return net.dense(net.pooled(x), 10)


def _residual(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, activation=RELU)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(x, channels, 3, stride=stride, activation=RELU)
        y = net.conv(y, channels, 3)
        x = net.conv(x, channels, 1, stride=stride) if stride > 1 else x
        x = net.unary("RELU", net.binary("ADD", x, y))
    return net.softmax(net.dense(net.pooled(x), 10))


def _normalized_residual(net: Network) -> int:
    x = net.conv(net.input(1, 8, 8, 8), 16, 3)
    for _ in range(2):
        y = net.conv(net.unary("RELU", _scaled(net, x)), 16, 3)
        x = net.binary("ADD", x, net.conv(net.unary("RELU", _scaled(net, y)), 16, 3))
    return net.dense(net.pooled(net.unary("RELU", _scaled(net, x))), 10)


def _dense_blocks(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, activation=RELU)
    for _ in range(3):
        x = net.joined(x, net.conv(x, 8, 3, activation=RELU))
    return net.dense(net.pooled(net.pool(net.conv(x, 16), "AVERAGE")), 10)


def _inception(net: Network) -> int:
    x = net.conv(net.input(1, 12, 12, 3), 16, 3, activation=RELU)
    branches = [net.conv(x, 8, activation=RELU)]
    branches.append(net.conv(net.conv(x, 8, activation=RELU), 16, 3, activation=RELU))
    branches.append(net.conv(net.conv(x, 4, activation=RELU), 8, 5, activation=RELU))
    branches.append(net.conv(net.pool(x, "MAX", 3, 1), 8, activation=RELU))
    return net.dense(net.pooled(net.joined(*branches)), 10)


def _shuffled(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2, activation=RELU)
    for _ in range(2):
        kept, y = net.split(x, 2, 3)
        y = net.conv(net.depthwise(net.conv(y, 8, activation=RELU)), 8, activation=RELU)
        n, height, width, depth = net.shape(x := net.joined(kept, y))
        x = net.reshaped(x, n, height, width, 2, depth // 2)
        x = net.transpose(x, 0, 1, 2, 4, 3)
        x = net.reshaped(x, n, height, width, depth)
    return net.dense(net.pooled(x), 10)


def _unet(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 8, 3, activation=RELU)
    down = net.conv(net.pool(x), 16, 3, activation=RELU)
    low = net.conv(net.pool(down), 32, 3, activation=RELU)
    up = net.joined(down, net.transposed(low, 16))
    up = net.conv(up, 16, 3, activation=RELU)
    up = net.joined(x, net.transposed(up, 8))
    return net.softmax(net.conv(net.conv(up, 8, 3, activation=RELU), 4))


def _pyramid(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2, activation=RELU)
    low = net.conv(x, 32, 3, stride=2, activation=RELU)
    up = net.resized(net.conv(low, 16), 2, "NEAREST_NEIGHBOR", half_pixel_centers=True)
    return net.conv(net.binary("ADD", net.conv(x, 16), up), 8, 3)


def _atrous(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2, activation=RELU)
    parts = [net.conv(x, 8, activation=RELU)]
    parts += [net.conv(x, 8, 3, dilation=n, activation=RELU) for n in (2, 3)]
    x = net.conv(net.joined(*parts), 4)
    return net.resized(x, 2, "BILINEAR", half_pixel_centers=True)


def _generator(net: Network) -> int:
    x = net.reshaped(net.dense(net.input(1, 32), 256, RELU), 1, 4, 4, 16)
    x = net.unary("LEAKY_RELU", net.transposed(x, 8, 4), alpha=0.2)
    return net.unary("TANH", net.transposed(x, 3, 4))


def _super_resolution(net: Network) -> int:
    given = net.input(1, 12, 12, 3)
    x = net.conv(net.conv(given, 16, 5, activation=RELU), 12, 3)
    x = net.op("DEPTH_TO_SPACE", [x], (1, 24, 24, 3), block_size=2)
    return net.binary("ADD", x, net.resized(given, 2, "BILINEAR"))


def _lstm(net: Network) -> int:
    x = net.input(1, 4, 16)
    hidden, cell = (net.constant(np.zeros((1, 32))) for _ in "hc")
    for part in net.split(x, 4, 1):
        both = net.joined(net.reshaped(part, 1, 16), hidden)
        parts = net.split(net.dense(both, 128), 4, 1)
        update, keep, out = (net.unary("LOGISTIC", one) for one in parts[:3])
        new = net.binary("MUL", update, net.unary("TANH", parts[3]))
        cell = net.binary("ADD", net.binary("MUL", keep, cell), new)
        hidden = net.binary("MUL", out, net.unary("TANH", cell))
    return net.dense(hidden, 8)


def _gru(net: Network) -> int:
    x = net.input(1, 4, 16)
    hidden = net.constant(np.zeros((1, 32)))
    for part in net.split(x, 4, 1):
        part = net.reshaped(part, 1, 16)
        both = net.unary("LOGISTIC", net.dense(net.joined(part, hidden), 64))
        reset, update = net.split(both, 2, 1)
        held = net.joined(part, net.binary("MUL", reset, hidden))
        new = net.unary("TANH", net.dense(held, 32))
        step = net.binary("MUL", update, net.binary("SUB", new, hidden))
        hidden = net.binary("ADD", hidden, step)
    return net.dense(hidden, 8)


def _attention(net: Network) -> int:
    x = net.input(1, 8, 32)
    return net.dense(_words_mean(net, _attended(net, x)), 4)


def _transformer(net: Network) -> int:
    words = _in_a_batch(net, net.embedding(net.input(8, dtype="int32"), 50, 32))
    x = net.binary("ADD", words, net.constant(net.random.normal(0, 0.1, (1, 8, 32))))
    for _ in range(2):
        x = _normalized(net, net.binary("ADD", x, _attended(net, x)))
        y = net.dense(net.unary("GELU", net.dense(x, 64)), 32)
        x = _normalized(net, net.binary("ADD", x, y))
    return net.dense(_words_mean(net, x), 4)


def _decoder(net: Network) -> int:
    """Root mean squares, gates by SiLU, and logits of the words themselves."""
    x = _in_a_batch(net, net.embedding(net.input(8, dtype="int32"), 64, 64))
    x = net.binary("ADD", x, _attended(net, _by_root(net, x)))
    y = _by_root(net, x)
    gate = net.dense(y, 128, has_bias=False)
    gate = net.binary("MUL", gate, net.unary("LOGISTIC", gate))
    y = net.binary("MUL", gate, net.dense(y, 128, has_bias=False))
    x = net.binary("ADD", x, net.dense(y, 64, has_bias=False))
    return net.dense(_by_root(net, x), 64, has_bias=False)


def _generator_of_words(net: Network) -> int:
    x = net.embedding(net.input(4, dtype="int32"), 64, 256)
    for _ in range(2):
        gate = net.unary("GELU", net.dense(x, 256, has_bias=False))
        y = net.binary("MUL", gate, net.dense(x, 256, has_bias=False))
        x = net.binary("ADD", x, net.dense(y, 256, has_bias=False))
    return net.dense(x, 64, has_bias=False)


def _classifier_of_words(net: Network) -> int:
    x = net.embedding(net.input(12, dtype="int32"), 100, 32)
    x = net.reduced(x, 0, keeps=True)
    return net.softmax(net.dense(net.dense(x, 32, RELU), 4))


def _vision_transformer(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 32, 4, stride=4, padding=VALID)
    x = net.reshaped(x, 1, 16, 32)
    x = net.binary("ADD", x, _attended(net, _normalized(net, x)))
    y = net.dense(net.unary("GELU", net.dense(_normalized(net, x), 64)), 32)
    return net.dense(_words_mean(net, net.binary("ADD", x, y)), 10)


def _mixer(net: Network) -> int:
    x = net.dense(net.input(1, 16, 24), 32)
    y = net.transpose(_normalized(net, x), 0, 2, 1)
    y = net.dense(net.unary("GELU", net.dense(y, 32)), 16)
    x = net.binary("ADD", x, net.transpose(y, 0, 2, 1))
    y = net.dense(net.unary("GELU", net.dense(_normalized(net, x), 64)), 32)
    return net.dense(_words_mean(net, net.binary("ADD", x, y)), 10)


def _modern(net: Network) -> int:
    x = net.conv(net.input(1, 16, 16, 3), 16, 4, stride=4, padding=VALID)
    y = _normalized(net, net.depthwise(x, 7))
    y = net.conv(net.unary("GELU", net.conv(y, 64)), 16)
    return net.dense(net.pooled(net.binary("ADD", x, y)), 10)


def _temporal(net: Network) -> int:
    x = net.input(1, 1, 24, 8)
    for n in (1, 2, 4):
        y = net.padded(x, (0, 0), (0, 0), (2 * n, 0), (0, 0))
        y = net.conv(y, 16, (1, 3), dilation=n, activation=RELU, padding=VALID)
        x = net.binary("ADD", net.conv(x, 16), y)
    return net.dense(net.pooled(x), 6)


def _gated(net: Network) -> int:
    x = net.conv(net.input(1, 1, 24, 8), 16)
    for n in (1, 2):
        signal = net.unary("TANH", net.conv(x, 16, (1, 3), dilation=n))
        gate = net.unary("LOGISTIC", net.conv(x, 16, (1, 3), dilation=n))
        x = net.binary("ADD", x, net.conv(net.binary("MUL", signal, gate), 16))
    return net.softmax(net.dense(net.pooled(x), 6))


def _detector(net: Network) -> tuple[int, ...]:
    x = net.conv(net.input(1, 16, 16, 3), 16, 3, stride=2, activation=RELU)
    low = net.conv(x, 32, 3, stride=2, activation=RELU)
    places = [
        net.reshaped(net.conv(y, 12, 3), 1, _area(net, y) * 3, 4) for y in (x, low)
    ]
    classes = [
        net.reshaped(net.conv(y, 15, 3), 1, _area(net, y) * 3, 5) for y in (x, low)
    ]
    scores = net.unary("LOGISTIC", net.joined(*classes, axis=1))
    return net.joined(*places, axis=1), scores


def _recommender(net: Network) -> int:
    user = net.embedding(net.input(4, dtype="int32"), 40, 32)
    item = net.embedding(net.input(4, dtype="int32"), 60, 32)
    x = net.joined(user, item, net.binary("MUL", user, item))
    return net.unary("LOGISTIC", net.dense(net.dense(x, 32, RELU), 1))


def _twins(net: Network) -> int:
    one, other = net.input(1, 32), net.input(1, 32)
    one, other = (net.dense(net.dense(x, 32, RELU), 16) for x in (one, other))
    squares = net.binary("SQUARED_DIFFERENCE", one, other)
    return net.reduced(squares, 1, operator="SUM", keeps=True)


def _heads(net: Network) -> tuple[int, ...]:
    x = net.conv(net.input(1, 12, 12, 3), 16, 3, stride=2, activation=RELU)
    x = net.pooled(x)
    return (
        net.softmax(net.dense(x, 5)),
        net.dense(x, 4),
        net.unary("TANH", net.dense(x, 2)),
    )


def _attended(net: Network, x: int, heads: int = 2) -> int:
    """Attention of words [1, n, depth]."""
    _, count, depth = net.shape(x)
    parts = [
        net.transpose(
            net.reshaped(net.dense(x, depth), 1, count, heads, depth // heads),
            *(0, 2, 1, 3),
        )
        for _ in range(3)
    ]
    scores = net.product(parts[0], parts[1], adjoint=True)
    scores = net.softmax(net.binary("MUL", scores, (depth / heads) ** -0.5))
    mixed = net.transpose(net.product(scores, parts[2]), 0, 2, 1, 3)
    return net.dense(net.reshaped(mixed, 1, count, depth), depth)


def _normalized(net: Network, x: int) -> int:
    """Layer normalization."""
    last = len(net.shape(x)) - 1
    mean = net.reduced(x, last, keeps=True)
    squares = net.binary("SQUARED_DIFFERENCE", x, mean)
    spread = net.binary("ADD", net.reduced(squares, last, keeps=True), 1e-5)
    centred = net.binary("SUB", x, mean)
    return _scaled(net, net.binary("MUL", centred, net.unary("RSQRT", spread)))


def _by_root(net: Network, x: int) -> int:
    squares = net.reduced(net.binary("MUL", x, x), 2, keeps=True)
    root = net.unary("RSQRT", net.binary("ADD", squares, 1e-6))
    return net.binary("MUL", net.binary("MUL", x, root), _scales(net, x))


def _scaled(net: Network, x: int) -> int:
    """Times a number and plus a number of each channel."""
    product = net.binary("MUL", x, _scales(net, x))
    return net.binary("ADD", product, net.bias(net.shape(x)[-1]))


def _scales(net: Network, x: int) -> int:
    return net.constant(net.random.uniform(0.5, 1.5, net.shape(x)[-1]))


def _words_mean(net: Network, x: int) -> int:
    return net.reduced(x, 1)


def _in_a_batch(net: Network, x: int) -> int:
    return net.reshaped(x, 1, *net.shape(x))


def _area(net: Network, x: int) -> int:
    return math.prod(net.shape(x)[1:3])


NETWORKS: Mapping[str, Callable[[Network], int | tuple[int, ...]]] = {
    "mlp": _mlp,
    "wide": _wide,
    "autoencoder": _autoencoder,
    "normalized_mlp": _normalized_mlp,
    "cnn": _cnn,
    "all_convolutions": _all_convolutions,
    "keywords": _keywords,
    "mobile": _mobile,
    "inverted": _inverted,
    "squeeze_excite": _squeeze_excite,
    "residual": _residual,
    "normalized_residual": _normalized_residual,
    "dense_blocks": _dense_blocks,
    "inception": _inception,
    "shuffled": _shuffled,
    "unet": _unet,
    "pyramid": _pyramid,
    "atrous": _atrous,
    "generator": _generator,
    "super_resolution": _super_resolution,
    "lstm": _lstm,
    "gru": _gru,
    "attention": _attention,
    "transformer": _transformer,
    "decoder": _decoder,
    "generator_of_words": _generator_of_words,
    "classifier_of_words": _classifier_of_words,
    "vision_transformer": _vision_transformer,
    "mixer": _mixer,
    "modern": _modern,
    "temporal": _temporal,
    "gated": _gated,
    "detector": _detector,
    "recommender": _recommender,
    "twins": _twins,
    "heads": _heads,
}
