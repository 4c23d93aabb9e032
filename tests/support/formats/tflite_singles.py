"""Float models of one operator, for those that quantizers for LiteRT know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .tflite_network import RELU, RELU6, VALID, Network
from .tflite_networks import WORDS

Maker = Callable[[Network], int]

SHAPE = (2, 4, 6, 8)


def _unary(operator: str, *shape: int, **options: float) -> Maker:
    return lambda net: net.unary(operator, net.input(*(shape or SHAPE)), **options)


def _binary(operator: str, *shape: int) -> Maker:
    """Of two operands, the second one of a shape of its own."""

    def make(net: Network) -> int:
        return net.binary(operator, net.input(*SHAPE), net.input(*(shape or SHAPE)))

    return make


def _with_constant(operator: str) -> Maker:
    def make(net: Network) -> int:
        return net.binary(operator, net.input(*SHAPE), net.bias(SHAPE[-1]))

    return make


def _square(net: Network) -> int:
    x = net.input(*SHAPE)
    return net.binary("MUL", x, x)


def _of_positive(operator: str) -> Maker:
    def make(net: Network) -> int:
        x = net.input(*SHAPE)
        return net.unary(operator, net.binary("ADD", net.binary("MUL", x, x), 0.1))

    return make


def _conv(size: int = 3, depth: int = 8, **options: int) -> Maker:
    return lambda net: net.conv(net.input(2, 8, 6, depth), 16, size, **options)


def _depthwise(**options: int) -> Maker:
    return lambda net: net.depthwise(net.input(2, 8, 6, 8), **options)


def _dense(
    *shape: int, units: int = 32, activation: int = 0, bias: bool = True
) -> Maker:
    def make(net: Network) -> int:
        return net.dense(net.input(*shape), units, activation, has_bias=bias)

    return make


def _product(*, adjoint: bool = False, is_constant: bool = False) -> Maker:
    def make(net: Network) -> int:
        x = net.input(2, 4, 16)
        shape = (2, 8, 16) if adjoint else (2, 16, 8)
        if is_constant:
            return net.op(
                "BATCH_MATMUL",
                [x, net.weights(*shape[1:])],
                (2, 4, 8),
                adj_y=adjoint,
            )
        return net.product(x, net.input(*shape), adjoint=adjoint)

    return make


def _embedding(net: Network) -> int:
    return net.embedding(net.input(6, dtype="int32"), WORDS, 64)


def _slice(net: Network) -> int:
    ends = [net.constant(n, "int32") for n in ((0, 1, 2, 3), (2, 2, 3, 4))]
    return net.op("SLICE", [net.input(*SHAPE), *ends], (2, 2, 3, 4))


def _strided(net: Network) -> int:
    ends = [net.constant(n, "int32") for n in ((0, 0, 1, 0), SHAPE, (1, 2, 2, 3))]
    return net.op("STRIDED_SLICE", [net.input(*SHAPE), *ends], (2, 2, 3, 3))


def _split(net: Network) -> int:
    one, other = net.split(net.input(*SHAPE), 2, 3)
    return net.joined(other, one)


def _concatenation(net: Network) -> int:
    return net.joined(net.input(*SHAPE), net.input(2, 4, 6, 3))


def _pack(net: Network) -> int:
    parts = [net.input(2, 6), net.input(2, 6)]
    return net.op("PACK", parts, (2, 2, 6), values_count=2, axis=1)


def _unpack(net: Network) -> int:
    return net.op("UNPACK", [net.input(2, 6)], (6,), (6,), num=2, axis=0)


def _select(operator: str) -> Maker:
    def make(net: Network) -> int:
        x, y = net.input(*SHAPE), net.input(*SHAPE)
        return net.op(operator, [net.binary("GREATER", x, y), x, y], SHAPE)

    return make


def _compared(operator: str) -> Maker:
    def make(net: Network) -> int:
        x, y = net.input(*SHAPE), net.input(*SHAPE)
        is_true = net.binary(operator, x, y)
        return net.op("SELECT_V2", [is_true, x, y], SHAPE)

    return make


def _gather(net: Network) -> int:
    places = net.constant((3, 0, 2, 2), "int32")
    return net.op("GATHER", [net.input(*SHAPE), places], (2, 4, 4, 8), axis=2)


def _gather_nd(net: Network) -> int:
    places = net.constant(((0, 1), (1, 3)), "int32")
    return net.op("GATHER_ND", [net.input(*SHAPE), places], (2, 6, 8))


def _updated(net: Network) -> int:
    place = net.constant((0, 1, 2, 0), "int32")
    operands = [net.input(*SHAPE), net.input(1, 2, 3, 8), place]
    return net.op("DYNAMIC_UPDATE_SLICE", operands, SHAPE)


def _padded_with(net: Network) -> int:
    pads = net.constant(((0, 0), (1, 2), (2, 1), (0, 0)), "int32")
    return net.op("PADV2", [net.input(*SHAPE), pads, net.constant(0.5)], (2, 7, 9, 8))


def _mirrored(net: Network) -> int:
    pads = net.constant(((0, 0), (1, 2), (2, 1), (0, 0)), "int32")
    return net.op("MIRROR_PAD", [net.input(*SHAPE), pads], (2, 7, 9, 8), mode=0)


def _broadcast(net: Network) -> int:
    shape = net.constant((2, 4, 8), "int32")
    return net.op("BROADCAST_TO", [net.input(4, 1), shape], (2, 4, 8))


def _blocks_to_depth(net: Network) -> int:
    return net.op("SPACE_TO_DEPTH", [net.input(*SHAPE)], (2, 2, 3, 32), block_size=2)


def _reduced(operator: str, *axes: int, keeps: bool = False) -> Maker:
    def make(net: Network) -> int:
        return net.reduced(net.input(*SHAPE), *axes, operator=operator, keeps=keeps)

    return make


def _pool(kind: str, size: int, stride: int) -> Maker:
    return lambda net: net.pool(net.input(2, 8, 6, 8), kind, size, stride)


def _resized(kind: str, **options: bool) -> Maker:
    return lambda net: net.resized(net.input(*SHAPE), 3, kind, **options)


SINGLES: Mapping[str, Maker] = {
    **{
        f"{operator} {kind}": made
        for operator in ("ADD", "SUB", "MUL", "MAXIMUM", "DIV", "SQUARED_DIFFERENCE")
        for kind, made in (
            ("two", _binary(operator)),
            ("broadcast", _binary(operator, 4, 1, 8)),
            ("constant", _with_constant(operator)),
        )
    },
    "MUL itself": _square,
    **{
        operator: _unary(operator)
        for operator in ("RELU", "RELU6", "TANH", "LOGISTIC", "HARD_SWISH", "GELU")
    },
    "GELU tanh": _unary("GELU", approximate=True),
    "SOFTMAX": _unary("SOFTMAX", beta=1.0),
    "SOFTMAX rows": _unary("SOFTMAX", 3, 40, beta=1.0),
    "RSQRT": _of_positive("RSQRT"),
    "SQRT": _of_positive("SQRT"),
    "CONV_2D": _conv(),
    "CONV_2D wide": _conv(1, 256),
    "CONV_2D relu": _conv(activation=RELU),
    "CONV_2D stride": _conv(stride=2, activation=RELU6),
    "CONV_2D valid": _conv(padding=VALID),
    "CONV_2D dilated": _conv(dilation=2),
    "CONV_2D odd": _conv(3, 5),
    "DEPTHWISE_CONV_2D": _depthwise(),
    "DEPTHWISE_CONV_2D relu": _depthwise(stride=2, activation=RELU6),
    "TRANSPOSE_CONV": lambda net: net.transposed(net.input(2, 4, 3, 8), 6),
    "TRANSPOSE_CONV overlapping": lambda net: net.transposed(
        net.input(1, 4, 3, 8), 6, 4
    ),
    "FULLY_CONNECTED": _dense(3, 256),
    "FULLY_CONNECTED relu": _dense(3, 256, activation=RELU),
    "FULLY_CONNECTED no bias": _dense(1, 256, bias=False),
    "FULLY_CONNECTED words": _dense(1, 5, 512, activation=RELU6),
    "FULLY_CONNECTED few": _dense(2, 256, units=3),
    "FULLY_CONNECTED odd": _dense(2, 37, units=5),
    "BATCH_MATMUL": _product(),
    "BATCH_MATMUL adjoint": _product(adjoint=True),
    "BATCH_MATMUL constant": _product(is_constant=True),
    "BATCH_MATMUL constant adjoint": _product(is_constant=True, adjoint=True),
    "EMBEDDING_LOOKUP": _embedding,
    "AVERAGE_POOL_2D": _pool("AVERAGE", 3, 2),
    "MAX_POOL_2D": _pool("MAX", 2, 2),
    "MEAN": _reduced("MEAN", 1, 2),
    "MEAN last": _reduced("MEAN", 3, keeps=True),
    "SUM": _reduced("SUM", 1),
    "SUM last": _reduced("SUM", 3, keeps=True),
    "REDUCE_MIN": _reduced("REDUCE_MIN", 2),
    "RESHAPE": lambda net: net.flat(net.input(*SHAPE)),
    "TRANSPOSE": lambda net: net.transpose(net.input(*SHAPE), 0, 3, 1, 2),
    "CONCATENATION": _concatenation,
    "SPLIT": _split,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SELECT": _select("SELECT"),
    "SELECT_V2": _select("SELECT_V2"),
    "EQUAL": _compared("EQUAL"),
    "NOT_EQUAL": _compared("NOT_EQUAL"),
    "DYNAMIC_UPDATE_SLICE": _updated,
    "PAD": lambda net: net.padded(net.input(*SHAPE), (0, 0), (1, 2), (0, 1), (0, 0)),
    "PADV2": _padded_with,
    "MIRROR_PAD": _mirrored,
    "RESIZE_BILINEAR": _resized("BILINEAR", half_pixel_centers=True),
    "RESIZE_BILINEAR corners": _resized("BILINEAR", align_corners=True),
    "RESIZE_NEAREST_NEIGHBOR": _resized("NEAREST_NEIGHBOR", half_pixel_centers=True),
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "BROADCAST_TO": _broadcast,
    "SPACE_TO_DEPTH": _blocks_to_depth,
}
