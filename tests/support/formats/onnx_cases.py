"""Small models, one for each way in which an operator is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from qlower.interp.values import Array
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder

Case = Callable[[], OnnxBuilder]

SCALE = 0.05


def _stored(shape: Sequence[int], type: str, seed: int = 1) -> Array:
    low, high = (0, 255) if type == "u1" else (-128, 127)
    random = np.random.default_rng(seed)
    return random.integers(low, high + 1, shape).astype(type)


def _zero(type: str) -> int:
    return 120 if type == "u1" else -3


def convolution(
    shape: Sequence[int] = (1, 3, 7, 6),
    weights: Sequence[int] = (4, 3, 3, 3),
    type: str = "u1",
    weight_type: str = "i1",
    weight_zero: int = 0,
    per_channel: bool = True,
    bias: bool = True,
    domain: str = "",
    **attributes: Any,
) -> OnnxBuilder:
    """QLinearConv between integers."""
    build = OnnxBuilder()
    build.input("x", shape, type)
    count = weights[0]
    scale: Array | float = 0.02
    if per_channel:
        scale = np.linspace(0.005, 0.03, count).astype(np.float32)
    filters = _stored(weights, weight_type)
    if domain:  # its weights are [O, C / groups, ...] as well
        attributes["channels_last"] = 1
    inputs = [
        "x",
        *build.parameters(SCALE, _zero(type), type),
        build.constant(filters),
        *build.parameters(scale, weight_zero, weight_type),
        *build.parameters(0.3, _zero(type), type),
    ]
    if bias:
        steps = np.random.default_rng(2).integers(-2000, 2000, count)
        inputs.append(build.constant(steps.astype(np.int32)))
    build.node("QLinearConv", inputs, "y", domain, **attributes)
    build.output("y", type)
    return build


def product(
    shape: Sequence[int] = (3, 5),
    weights: Sequence[int] = (5, 4),
    type: str = "u1",
    per_column: bool = False,
) -> OnnxBuilder:
    """QLinearMatMul with a constant."""
    build = OnnxBuilder()
    build.input("x", shape, type)
    scale: Array | float = 0.02
    if per_column:
        scale = np.linspace(0.005, 0.03, weights[-1]).astype(np.float32)
    inputs = [
        "x",
        *build.parameters(SCALE, _zero(type), type),
        build.constant(_stored(weights, "i1")),
        *build.parameters(scale, 0, "i1"),
        *build.parameters(0.2, _zero(type), type),
    ]
    build.node("QLinearMatMul", inputs, "y")
    build.output("y", type)
    return build


def product_of_two(
    one: Sequence[int] = (2, 3, 5), other: Sequence[int] = (2, 5, 4), type: str = "u1"
) -> OnnxBuilder:
    build = OnnxBuilder()
    build.input("a", one, type)
    build.input("b", other, type)
    inputs = [
        "a",
        *build.parameters(SCALE, _zero(type), type),
        "b",
        *build.parameters(0.02, 7, type),
        *build.parameters(0.2, _zero(type), type),
    ]
    build.node("QLinearMatMul", inputs, "y")
    build.output("y", type)
    return build


def gemm(type: str = "u1", transposed: int = 1, **attributes: Any) -> OnnxBuilder:
    build = OnnxBuilder()
    build.input("x", (2, 6), type)
    weights = _stored((4, 6) if transposed else (6, 4), "i1")
    scales = np.linspace(0.005, 0.03, 4).astype(np.float32)
    inputs = [
        "x",
        *build.parameters(SCALE, _zero(type), type),
        build.constant(weights),
        *build.parameters(scales, 0, "i1"),
        build.constant(np.array([100, -50, 3, 0], np.int32)),
        *build.parameters(0.2, _zero(type), type),
    ]
    build.node("QGemm", inputs, "y", MICROSOFT, transB=transposed, **attributes)
    build.output("y", type)
    return build


def gemm_to_float(**attributes: Any) -> OnnxBuilder:
    """The last layer of a model that leaves its result real."""
    build = OnnxBuilder()
    build.input("x", (2, 6), "u1")
    scales = np.linspace(0.005, 0.03, 4).astype(np.float32)
    inputs = [
        "x",
        *build.parameters(SCALE, 120, "u1"),
        build.constant(_stored((6, 4), "i1")),
        *build.parameters(scales, 0, "i1"),
        build.constant(np.array([100, -50, 3, 0], np.int32)),
    ]
    build.node("QGemm", inputs, "y", MICROSOFT, **attributes)
    build.output("y")
    return build


def binary(
    operator: str,
    shapes: Sequence[Sequence[int]] = ((1, 3, 4, 5), (1, 3, 4, 5)),
    type: str = "u1",
    constant: bool = False,
) -> OnnxBuilder:
    build = OnnxBuilder()
    names = [build.input("a", shapes[0], type)]
    if constant:
        names.append(build.constant(_stored(shapes[1], type)))
    else:
        names.append(build.input("b", shapes[1], type))
    inputs: list[str] = []
    for name, scale in zip(names, (SCALE, 0.03), strict=True):
        inputs += [name, *build.parameters(scale, _zero(type), type)]
    inputs += build.parameters(0.07, _zero(type), type)
    build.node(operator, inputs, "y", MICROSOFT)
    build.output("y", type)
    return build


def unary(
    operator: str,
    shape: Sequence[int] = (1, 3, 6, 5),
    type: str = "u1",
    scale: float = 0.04,
    **attributes: Any,
) -> OnnxBuilder:
    """An operator of com.microsoft on one value."""
    build = OnnxBuilder()
    build.input("x", shape, type)
    inputs = [
        "x",
        *build.parameters(SCALE, _zero(type), type),
        *build.parameters(scale, _zero(type), type),
    ]
    build.node(operator, inputs, "y", MICROSOFT, **attributes)
    build.output("y", type)
    return build


def moving(
    operator: str,
    shape: Sequence[int],
    *constants: Sequence[int] | int,
    outputs: int = 1,
    type: str = "u1",
    opset: int = 17,
    **attributes: Any,
) -> OnnxBuilder:
    """An operator on stored values, behind a convolution that has channels last."""
    build = OnnxBuilder(opset)
    build.input("x", shape, type)
    value = "x"
    if len(shape) == 4:
        channels = shape[1]
        inputs = [
            "x",
            *build.parameters(SCALE, _zero(type), type),
            build.constant(_stored((channels, channels, 1, 1), "i1")),
            *build.parameters(0.02, 0, "i1"),
            *build.parameters(0.2, _zero(type), type),
        ]
        value = build.node("QLinearConv", inputs)
    inputs = [value, *(build.constant(np.array(c, np.int64)) for c in constants)]
    names = [f"y{number}" for number in range(outputs)]
    build.node(operator, inputs, names, **attributes)
    for name in names:
        build.output(name, type)
    return build


def resizing(
    scales: Sequence[float] = (), sizes: Sequence[int] = (), **attributes: Any
) -> OnnxBuilder:
    """Resize of stored values [1, 2, 4, 6]."""
    build = OnnxBuilder()
    build.input("x", (1, 2, 4, 6), "u1")
    inputs = ["x", ""]
    if scales:
        inputs.append(build.constant(np.array(scales, np.float32)))
    else:
        inputs += ["", build.constant(np.array(sizes, np.int64))]
    build.node("Resize", inputs, "y", **attributes)
    build.output("y", "u1")
    return build


def pair(operator: str, scales: Sequence[float], **attributes: Any) -> OnnxBuilder:
    """A float operator between conversions of other scales, which isn't fused."""
    build = OnnxBuilder()
    build.input("x", (1, 2, 16, 8), "u1")
    real = build.dequantize("x", scales[0], 100)
    constants = [build.constant(float(value)) for value in attributes.pop("bounds", ())]
    value = build.node(operator, [real, *constants], **attributes)
    build.quantize(value, scales[1], 30, "u1", "y")
    build.output("y", "u1")
    return build


def concatenation() -> OnnxBuilder:
    build = OnnxBuilder()
    inputs = build.parameters(0.07, 120, "u1")
    for name, channels, scale in (("a", 2, 0.07), ("b", 3, 0.03)):
        build.input(name, (1, channels, 4, 5), "u1")
        inputs += [name, *build.parameters(scale, 120, "u1")]
    build.node("QLinearConcat", inputs, "y", MICROSOFT, axis=1)
    build.output("y", "u1")
    return build


def border() -> OnnxBuilder:
    """Real numbers in, and real numbers out."""
    build = OnnxBuilder()
    build.input("x", (2, 3, 4, 5))
    build.dequantize(build.quantize("x", 0.02, 117), 0.02, 117, "u1", "y")
    build.output("y")
    return build


def layouts() -> OnnxBuilder:
    """A model whose images have channels last, as TensorFlow's have when converted."""
    build = OnnxBuilder()
    build.input("x", (1, 6, 5, 3), "u1")
    first = build.node("Transpose", ["x"], perm=[0, 3, 1, 2])
    inputs = [
        first,
        *build.parameters(SCALE, 120, "u1"),
        build.constant(_stored((4, 3, 3, 3), "i1")),
        *build.parameters(0.02, 0, "i1"),
        *build.parameters(0.2, 120, "u1"),
    ]
    value = build.node("QLinearConv", inputs)
    value = build.node("Transpose", [value], perm=[0, 2, 3, 1])
    sizes = build.constant(np.array([1, -1], np.int64))
    build.node("Reshape", [value, sizes], "y")
    build.output("y", "u1")
    return build


def shapes() -> OnnxBuilder:
    """A shape that is computed in the graph, as exporters write it."""
    build = OnnxBuilder()
    build.input("x", ("N", 3, 4, 5), "u1")
    shape = build.node("Shape", ["x"])
    zero = build.constant(np.array(0, np.int64))
    size = build.node("Gather", [shape, zero])
    axes = build.constant(np.array([0], np.int64))
    first = build.node("Unsqueeze", [size, axes])
    rest = build.constant(np.array([-1], np.int64))
    whole = build.node("Concat", [first, rest], axis=0)
    build.node("Reshape", ["x", whole], "y")
    build.output("y", "u1")
    return build


def shape_arithmetic() -> OnnxBuilder:
    """Of [2, 6, 4, 5], by every operator that is computed when a model is read:
    [2 * 3, 2, 4 * 5]."""
    build = OnnxBuilder()
    build.input("x", ("N", 6, 4, 5), "u1")

    def integers(*values: int) -> str:
        return build.constant(np.array(values, np.int64))

    shape = build.node("Shape", ["x"])
    images = build.node("Slice", [shape, integers(0), integers(3), integers(0)])
    first = build.node("Slice", [images, integers(0), integers(1)])
    channels = build.node("Slice", [shape, integers(1), integers(2), integers(0)])
    groups = build.node("Div", [channels, integers(2)])
    single = build.node("Squeeze", [first, integers(0)])
    single = build.node("Cast", [single], to=6)
    single = build.node("Cast", [single], to=7)
    rows = build.node("Mul", [build.node("Unsqueeze", [single, integers(0)]), groups])
    image = build.node(
        "Slice", [shape, integers(-1), integers(1), integers(0), integers(-1)]
    )
    pixels = build.node("ReduceProd", [image], keepdims=1)
    whole = build.node("Concat", [rows, integers(2), pixels], axis=0)
    one = build.numpy.from_array(np.ones(1, np.int64))
    ones = build.node("ConstantOfShape", [integers(3)], value=one)
    same = build.node("Equal", [whole, build.node("Sub", [whole, ones])])
    whole = build.node("Where", [same, ones, whole])
    size = build.node("Add", [build.node("Size", ["x"]), build.constant(np.array(0))])
    size = build.node("Reshape", [size, integers(1)])
    rest = build.node("Div", [size, build.node("Mul", [rows, pixels])])
    flat = build.node("Reshape", ["x", whole])
    build.node(
        "Reshape", [flat, build.node("Concat", [rest, integers(-1)], axis=0)], "y"
    )
    build.output("y", "u1")
    return build


def padding() -> OnnxBuilder:
    """Of stored values by one of them, and of real ones by 0."""
    build = OnnxBuilder()
    build.input("x", (1, 2, 3, 4), "u1")
    pads = build.constant(np.array([0, 1, 0, 2, 0, 0, 1, 0], np.int64))
    filler = build.constant(np.array(7, np.uint8))
    real = build.dequantize(build.node("Pad", ["x", pads, filler]), 0.05, 100)
    build.quantize(build.node("Pad", [real, pads]), 0.05, 100, "u1", "y")
    build.output("y", "u1")
    return build


def greatest() -> OnnxBuilder:
    build = OnnxBuilder()
    build.input("x", (2, 5, 7), "u1")
    real = build.dequantize("x", 0.05, 100)
    build.node("ArgMax", [real], "y", axis=1, keepdims=0)
    build.output("y", "i8")
    return build


def joined_pairs(scales: Sequence[float] = (0.07, 0.03)) -> OnnxBuilder:
    """Dequantized values, of which others are made, too, that are quantized again."""
    build = OnnxBuilder()
    build.input("x", (1, 2, 3, 4), "u1")
    build.input("z", (1, 3, 3, 4), "u1")
    reals = [
        build.dequantize(name, scale, 120)
        for name, scale in zip(("x", "z"), scales, strict=True)
    ]
    value = build.node("Concat", reals, axis=1)
    build.quantize(value, 0.05, 110, "u1", "y")
    build.output("y", "u1")
    return build


def weights_as_floats(axis: int | None) -> OnnxBuilder:
    """A convolution whose weights are quantized in the graph, and its input twice."""
    build = OnnxBuilder()
    real = build.input("x", (1, 3, 5, 4))
    random = np.random.default_rng(1)
    weights = build.constant(random.normal(size=(4, 3, 1, 1)).astype(np.float32))
    scale: Array | float = 0.02
    more: dict[str, Any] = {}
    if axis is not None:
        scale, more = np.linspace(0.01, 0.03, 4, dtype=np.float32), {"axis": axis}
    step = build.parameters(scale, 0, "i1")
    stored = build.node("QuantizeLinear", [weights, *step], **more)
    real_weights = build.node("DequantizeLinear", [stored, *step], **more)
    x = build.pair(build.pair(real, 0.05, 120), 0.04, 110)
    value = build.node("Conv", [x, real_weights])
    build.quantize(value, 0.1, 128, "u1", "y")
    build.output("y", "u1")
    return build


WINDOW = {"kernel_shape": [2, 2], "strides": [2, 2]}
EVEN = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}

CASES: Mapping[str, Case] = {
    "conv": convolution,
    "conv_int8": partial(convolution, type="i1", per_channel=False, pads=[1, 0, 2, 1]),
    "conv_uint8_weights": partial(
        convolution, weight_type="u1", weight_zero=130, per_channel=False, bias=False
    ),
    "conv_strides": partial(convolution, strides=[2, 3], dilations=[2, 1]),
    "conv_same_upper": partial(convolution, auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv_same_lower": partial(convolution, auto_pad="SAME_LOWER", strides=[2, 2]),
    "conv_groups": partial(
        convolution, (1, 4, 5, 5), (6, 2, 3, 3), group=2, pads=[1] * 4
    ),
    "conv_depthwise": partial(
        convolution, (2, 4, 5, 5), (4, 1, 3, 3), group=4, pads=[1] * 4
    ),
    "conv_depthwise_multiplier": partial(
        convolution, (1, 3, 5, 5), (6, 1, 3, 3), group=3
    ),
    "conv_row": partial(convolution, (1, 3, 9), (4, 3, 3), strides=[2], pads=[1, 0]),
    "conv_channels_last": partial(convolution, (1, 6, 5, 3), domain=MICROSOFT),
    "matmul": product,
    "matmul_columns": partial(product, (2, 3, 5), per_column=True),
    "matmul_int8": partial(product, type="i1"),
    "matmul_batched": product_of_two,
    "matmul_computed": partial(product_of_two, (3, 5), (5, 2), "i1"),
    "gemm": gemm,
    "gemm_int8": partial(gemm, "i1", 0),
    "gemm_to_float": gemm_to_float,
    "gemm_to_float_alpha": partial(gemm_to_float, alpha=0.3),
    "add": partial(binary, "QLinearAdd"),
    "add_constant": partial(
        binary, "QLinearAdd", ((1, 3, 4, 5), (3, 1, 1)), "i1", True
    ),
    "add_broadcast": partial(binary, "QLinearAdd", ((1, 3, 1, 1), (1, 3, 4, 5))),
    "add_lower_rank": partial(binary, "QLinearAdd", ((5,), (1, 3, 4, 5))),
    "mul": partial(binary, "QLinearMul", type="i1"),
    "mul_scalar": partial(binary, "QLinearMul", ((1, 3, 4, 5), ()), "u1", True),
    "mul_broadcast": partial(binary, "QLinearMul", ((1, 3, 4, 5), (1, 3, 1, 1))),
    "average_pool": partial(unary, "QLinearAveragePool", **WINDOW),
    "average_pool_pads": partial(unary, "QLinearAveragePool", type="i1", **EVEN),
    "average_pool_counts": partial(
        unary, "QLinearAveragePool", count_include_pad=1, **EVEN
    ),
    "average_pool_ceil": partial(unary, "QLinearAveragePool", ceil_mode=1, **WINDOW),
    "average_pool_last": partial(
        unary, "QLinearAveragePool", channels_last=1, **WINDOW
    ),
    "global_average_pool": partial(unary, "QLinearGlobalAveragePool"),
    "global_average_pool_last": partial(
        unary, "QLinearGlobalAveragePool", type="i1", channels_last=1
    ),
    "sigmoid": partial(unary, "QLinearSigmoid", scale=1 / 256),
    "leaky_relu": partial(unary, "QLinearLeakyRelu", alpha=0.1),
    "softmax": partial(
        unary, "QLinearSoftmax", (3, 10), scale=1 / 256, axis=-1, opset=13
    ),
    "softmax_axis": partial(
        unary, "QLinearSoftmax", (2, 3, 4, 5), scale=1 / 256, axis=1, opset=13
    ),
    "softmax_rows": partial(
        unary, "QLinearSoftmax", (2, 3, 4), scale=1 / 256, axis=1, opset=11
    ),
    "concat": concatenation,
    "max_pool": partial(moving, "MaxPool", (1, 3, 6, 5), **WINDOW),
    "max_pool_pads": partial(moving, "MaxPool", (1, 3, 6, 5), type="i1", **EVEN),
    "max_pool_ceil": partial(moving, "MaxPool", (1, 3, 6, 5), ceil_mode=1, **WINDOW),
    "reshape": partial(moving, "Reshape", (1, 4, 3, 2), [0, -1]),
    "reshape_channels": partial(moving, "Reshape", (1, 4, 3, 2), [1, 2, 2, 3, 2]),
    "flatten": partial(moving, "Flatten", (2, 4, 3, 2), axis=2),
    "squeeze": partial(moving, "Squeeze", (1, 4, 1, 2), [2]),
    "squeeze_attribute": partial(moving, "Squeeze", (1, 4, 1, 2), axes=[2], opset=12),
    "unsqueeze": partial(moving, "Unsqueeze", (1, 4, 3, 2), [0, -1]),
    "transpose": partial(moving, "Transpose", (1, 4, 3, 2), perm=[2, 0, 1, 3]),
    "slice": partial(
        moving, "Slice", (1, 4, 6, 5), [1, -5], [4, 1 << 40], [1, 2], [2, 2]
    ),
    "split": partial(moving, "Split", (1, 4, 3, 2), outputs=2, axis=1, opset=13),
    "split_sizes": partial(moving, "Split", (1, 4, 3, 2), [1, 3], outputs=2, axis=1),
    "gather": partial(moving, "Gather", (1, 4, 3, 2), 2, axis=1),
    "gather_slice": partial(moving, "Gather", (1, 4, 3, 2), [0, 2], axis=1),
    "resize": partial(resizing, (1, 1, 2, 2)),
    "resize_asymmetric": partial(
        resizing,
        sizes=(1, 2, 12, 18),
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
    "resize_smaller": partial(
        resizing,
        (1, 1, 0.5, 0.5),
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
    "clip_between": partial(pair, "Clip", (0.05, 0.07), bounds=(-1.0, 6.0)),
    "relu_between": partial(pair, "Relu", (0.05, 0.03)),
    "max_pool_between": partial(pair, "MaxPool", (0.05, 0.03), **WINDOW),
    "transpose_between": partial(pair, "Transpose", (0.05, 0.03), perm=[0, 2, 1, 3]),
    "resize_align_corners": partial(
        resizing,
        sizes=(1, 2, 1, 6),
        coordinate_transformation_mode="align_corners",
        nearest_mode="ceil",
    ),
    "resize_pytorch_half_pixel": partial(
        resizing,
        sizes=(1, 2, 1, 12),
        coordinate_transformation_mode="pytorch_half_pixel",
        nearest_mode="round_prefer_ceil",
    ),
    "pad": padding,
    "arg_max": greatest,
    "concat_between": joined_pairs,
    "concat_of_one_scale": partial(joined_pairs, (0.07, 0.07)),
    "float_weights": partial(weights_as_floats, None),
    "float_weights_of_channels": partial(weights_as_floats, 0),
    "border": border,
    "layouts": layouts,
    "shapes": shapes,
    "shape_arithmetic": shape_arithmetic,
}
