"""Sums of float32 are in ONNX Runtime's order, interpreted and in native code.

Each model has several operators, on inputs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT
from support.formats.onnx_layers import LEVELS, Layers
from support.formats.onnx_models import make_session
from support.values.same_numbers import assert_same

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN, X86

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

CONVOLUTIONS: Sequence[tuple[tuple[int, int, int], int, int, Mapping[str, Any]]] = [
    ((3, 16, 15), 8, 3, {"pads": [1, 1, 1, 1]}),
    ((16, 12, 12), 32, 1, {}),
    ((16, 12, 12), 32, 1, {"strides": [2, 2]}),
    ((64, 8, 8), 16, 3, {"pads": [1, 0, 2, 1]}),
    ((70, 3, 3), 7, 3, {}),
    ((70, 1, 1), 35, 1, {}),
    ((300, 2, 2), 10, 1, {"bias": False}),
    ((20, 5, 5), 1, 3, {}),
    ((16, 8, 8), 16, 3, {"group": 16, "pads": [1, 1, 1, 1], "dilations": [2, 1]}),
    ((6, 9, 9), 12, 2, {"group": 6, "strides": [2, 1]}),
    ((12, 9, 9), 4, 3, {"group": 4}),
]
"""Image, filters, size of the window and attributes: blocks of K, several of them, one
place of the result, one filter of a group."""


def test_convolutions(tmp_path: Path) -> None:
    build = Layers()
    for image, filters, size, attributes in CONVOLUTIONS:
        x = build.value(2, *image)
        build.returned(build.convolution(x, filters, size, **attributes))
    build.check(tmp_path)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.2, 0.4]), ("Sigmoid", [])],
)
def test_fused_functions(
    activation: str, parameters: list[float], tmp_path: Path
) -> None:
    """As a model has them that ONNX Runtime optimized and saved."""
    build = Layers()
    inputs = [build.value(1, 4, 9, 9), build.weights((8, 4, 3, 3))]
    more: dict[str, Any] = {"activation_params": parameters} if parameters else {}
    value = build.node(
        "FusedConv",
        inputs,
        domain=MICROSOFT,
        kernel_shape=[3, 3],
        activation=activation,
        **more,
    )
    build.returned(value)
    build.check(tmp_path)


@pytest.mark.parts(2)
@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu"])
def test_sums_of_convolutions(activation: str, tmp_path: Path) -> None:
    """ONNX Runtime lets a convolution with a bias start from what is added to it."""
    build = Layers()
    for order, bias, channels in (
        ((0, 1), True, 160),
        ((1, 0), True, 16),
        ((0, 1), False, 16),
        ((0, 0), True, 16),
    ):
        x, z = build.value(1, channels, 9, 9), build.value(1, 8, 9, 9)
        y = build.convolution(x, 8, 3, bias=bias, pads=[1, 1, 1, 1])
        y = build.node("Add", [(y, z)[number] for number in order])
        build.returned(build.node(activation, [y]))
    build.check(tmp_path, X86)


PRODUCTS = [
    (1, 64, 10),
    (1, 67, 13),
    (5, 300, 33),
    (7, 600, 1),
    (3, 5, 2),
    (1, 7, 3),
]


@pytest.mark.long
def test_products(tmp_path: Path) -> None:
    build = Layers()
    for rows, depth, columns in PRODUCTS:
        bias = build.weights((columns,), "i4", 0)
        for transposed in (0, 1):
            shape = (columns, depth) if transposed else (depth, columns)
            inputs = [build.value(rows, depth), build.weights(shape), bias]
            build.returned(build.node("Gemm", inputs, transB=transposed))
        inputs = [build.value(rows, depth), build.weights((depth, columns))]
        build.returned(build.node("MatMul", inputs))
        real = build.constant(build.random.normal(size=(depth, columns)))
        build.returned(build.node("MatMul", [build.value(rows, depth), real]))
    for rows in (1, 5):
        inputs = [build.value(2, 3, rows, 70), build.value(2, 3, 70, 9)]
        build.returned(build.node("MatMul", inputs))
    build.check(tmp_path)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", [X86, AS_WRITTEN])
def test_linear_layers_of_several_dimensions(qdq: str, tmp_path: Path) -> None:
    """ONNX Runtime makes one product of all rows, and the sum a part of it."""
    build = Layers()
    for shape, columns in (
        ((2, 3, 4, 40), 24),
        ((1, 1, 67), 13),
        ((7, 1, 300), 33),
        ((2, 5, 600), 1),
    ):
        depth = shape[-1]
        for weights in (
            build.weights((depth, columns)),
            build.constant(build.random.normal(size=(depth, columns))),
        ):
            value = build.pair(build.value(*shape), 0.03, 120)
            product = build.node("MatMul", [value, weights])
            bias = build.constant(build.random.normal(size=columns))
            build.returned(build.node("Add", [product, bias]))
    build.check(tmp_path, qdq)


@pytest.mark.parts(8)
@pytest.mark.parametrize("opset", [17, 21])
def test_pools(opset: int, tmp_path: Path) -> None:
    build = Layers(opset)
    for size, kernel, step, pads, counted in (
        ((8, 8), (8, 8), 1, 0, 0),
        ((8, 8), (8, 8), 8, 0, 0),
        ((9, 10), (2, 2), 2, 0, 0),
        ((9, 10), (3, 2), 1, 1, 0),
        ((9, 10), (3, 3), 2, 1, 1),
        ((9, 10), (3, 4), 3, 1, 0),
    ):
        window: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": [step] * 2,
            "pads": [pads] * 4,
        }
        x = build.value(2, 5, *size)
        build.returned(build.node("MaxPool", [x], **window))
        window["count_include_pad"] = counted
        build.returned(build.node("AveragePool", [x], **window))
    for size in ((1, 1), (2, 3), (7, 7)):
        build.returned(build.node("GlobalAveragePool", [build.value(2, 5, *size)]))
    build.check(tmp_path)


@pytest.mark.parts(3)
@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (11, 1)])
def test_softmax(opset: int, axis: int, tmp_path: Path) -> None:
    """Of distances so large that terms are denormal, too."""
    build = Layers(opset)
    for shape in ((4, 8), (3, 7, 5), (4, 100)):
        x = build.value(*shape)
        build.returned(build.node("Softmax", [x], axis=axis))
        wide = build.node("Mul", [x, build.constant(40.0)])
        for kind in ("Softmax", "LogSoftmax"):
            build.returned(build.node(kind, [wide], axis=axis))
    if "avx512f" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("ONNX Runtime adds more than eight terms in another order")
    build.check(tmp_path)


@pytest.mark.parts(11)
@pytest.mark.parametrize("size", [1, 2, 7, 8, 11, 12, 13, 16, 23, 64, 100])
def test_normalized_rows(size: int, tmp_path: Path) -> None:
    """Short rows, whole vectors, and each kind of rest behind them."""
    build = Layers(23)
    factors, offsets = (
        build.constant(build.random.normal(size=size).astype(np.float32))
        for _ in range(2)
    )
    for more in ([factors, offsets], [factors]):
        x = build.value(3, 2, size)
        build.returned(build.node("LayerNormalization", [x, *more], epsilon=1e-6))
    far = build.node("Add", [build.value(9, size), build.constant(1000.0)])
    build.returned(build.node("LayerNormalization", [far, factors, offsets]))
    for epsilon in (1e-5, 1.0):
        x = build.value(3, 2, size)
        build.returned(build.node("RMSNormalization", [x, factors], epsilon=epsilon))
    build.check(tmp_path)


@pytest.mark.parts(4)
@pytest.mark.parametrize("size", [(4, 5), (3, 3), (1, 3), (8, 6)])
def test_normalized_channels(size: tuple[int, int], tmp_path: Path) -> None:
    """Channels that begin at any place of a vector, and groups of them."""
    build = Layers(21)
    factors, offsets = (
        build.constant(build.random.normal(size=6).astype(np.float32)) for _ in range(2)
    )
    kinds: Sequence[tuple[str, dict[str, Any]]] = (
        ("InstanceNormalization", {}),
        ("GroupNormalization", {"num_groups": 3}),
    )
    for kind, attributes in kinds:
        x = build.value(2, 6, *size)
        operands = [x, factors, offsets]
        build.returned(build.node(kind, operands, epsilon=1e-4, **attributes))
    build.returned(build.node("GlobalMaxPool", [build.value(2, 6, *size)]))
    build.check(tmp_path)


@pytest.mark.parts(3)
@pytest.mark.parametrize("size", [1, 4, 999])
def test_activations(size: int, tmp_path: Path) -> None:
    """Functions whose last elements are another function's; and of any number."""
    build = Layers(24)
    x = build.value(size)
    wide = build.node("Mul", [x, build.constant(20.0)])
    for value in (x, wide):
        kinds: Sequence[tuple[str, dict[str, Any]]] = (
            ("Elu", {"alpha": 0.7}),
            ("Selu", {}),
            ("Celu", {"alpha": 0.7}),
            ("Gelu", {}),
            ("Gelu", {"approximate": "tanh"}),
            ("Swish", {"alpha": 1.3}),
            ("Softsign", {}),
            ("Reciprocal", {}),
            ("ThresholdedRelu", {"alpha": 0.3}),
            ("Shrink", {"bias": 0.2, "lambd": 0.4}),
            ("Sign", {}),
        )
        for kind, attributes in kinds:
            build.returned(build.node(kind, [value], **attributes))
        for kind in ("QuickGelu", "FastGelu"):
            build.returned(build.node(kind, [value], domain=MICROSOFT))
        size_of = build.node("Abs", [value])
        build.returned(build.node("Log", [size_of]))
        for power in (2.0, 3.0, 0.5, -1.7):
            build.returned(build.node("Pow", [size_of, build.constant(power)]))
        plain = ("Softplus", "Mish", "Asinh", "Atanh", "Sinh", "Cosh", "Tan")
        for kind in (*plain, "Asin", "Acos", "Atan"):
            build.returned(build.node(kind, [value]))
        above = build.node("Add", [size_of, build.constant(1.0)])
        build.returned(build.node("Acosh", [above]))
    build.check(tmp_path)


@pytest.mark.parametrize("qdq", LEVELS)
def test_signs_of_zeros_within_bounds(qdq: str, tmp_path: Path) -> None:
    """As infinities of both signs, which reciprocals make of them."""
    build = Layers()
    zeros = build.node("Mul", [build.value(2, 35), build.constant(0.0)])
    kinds: Sequence[tuple[str, tuple[float, ...]]] = (
        ("Relu", ()),
        *(("Clip", bounds) for bounds in ((0.0, 6.0), (-0.0, 1.0), (-1.0, 0.0))),
    )
    for kind, bounds in kinds:
        operands = [zeros, *map(build.constant, bounds)]
        build.returned(build.node("Reciprocal", [build.node(kind, operands)]))
    build.check(tmp_path, qdq)


@pytest.mark.long
def test_fused_reals(tmp_path: Path) -> None:
    """What ONNX Runtime fuses by default, where that rounds in another order."""
    build = Layers()
    random, size = build.random, 20

    def row() -> str:
        return build.constant(random.normal(size=size).astype(np.float32))

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        return build.node(kind, inputs, **attributes)

    two, half = build.constant(2.0), build.constant(0.5)
    for is_first in (True, False):
        x = build.value(2, 3, size)
        scaled = node("Div", x, build.constant(1.4142135))
        factor = node("Add", node("Erf", scaled), build.constant(1.0))
        gelu = (
            node("Mul", node("Mul", x, half), factor)
            if is_first
            else node("Mul", node("Mul", x, factor), half)
        )
        build.returned(gelu)
    x = build.value(2, 3, size)
    build.returned(node("Mul", x, node("Sigmoid", x)))
    curved = node("Sigmoid", node("Mul", x, build.constant(1.702)))
    build.returned(node("Mul", x, curved))
    epsilon = build.constant(1e-5)
    x = build.value(2, 3, size)
    distance = node("Sub", x, node("ReduceMean", x, axes=[-1]))
    square = node("ReduceMean", node("Pow", distance, two), axes=[-1])
    whole = node("Div", distance, node("Sqrt", node("Add", square, epsilon)))
    build.returned(node("Add", node("Mul", whole, row()), row()))
    square = node("ReduceMean", node("Pow", x, two), axes=[-1])
    whole = node("Div", x, node("Sqrt", node("Add", square, epsilon)))
    build.returned(node("Mul", whole, row()))
    for shapes in ([(2, 3, size)] * 2, [(2, 3, size), (size,)], [(4, size)] * 2):
        total = node("Add", *(build.value(*shape) for shape in shapes))
        build.returned(node("LayerNormalization", total, row(), row()))
    biased = node("Add", node("Exp", build.value(1, 3, size)), row())
    total = node("Add", biased, build.value(1, 3, size))
    build.returned(node("LayerNormalization", total, row(), row()))
    for scale in ("Mul", "Div"):
        one, other = build.value(2, 5, 9), build.value(2, 9, 4)
        scaled = node("Mul", one, build.constant(0.3))
        product = node("MatMul", scaled, other)
        build.returned(node(scale, product, build.constant(5.656854)))
    build.check(tmp_path, X86)


def test_integer_products_of_two_inputs(tmp_path: Path) -> None:
    """With zero points that are known, and that only run time knows."""
    build = Layers()
    one, other = build.value(2, 1, 5, 9), build.value(3, 9, 4)
    codes = [
        build.node("DynamicQuantizeLinear", [x], [f"{x}_q", f"{x}_s", f"{x}_z"])
        for x in (one, other)
    ]
    assert codes
    operands = [f"{one}_q", f"{other}_q"]
    points = [f"{one}_z", f"{other}_z"]
    for more in ([], [build.constant(np.array(7, np.uint8))], points):
        build.output(build.node("MatMulInteger", [*operands, *more]), "i4")
    scales = [f"{one}_s", f"{other}_s"]
    sums = build.node(
        "MatMulIntegerToFloat", [*operands, *scales, *points], domain=MICROSOFT
    )
    build.returned(sums)
    build.check(tmp_path)


def test_functions(tmp_path: Path) -> None:
    """At every size: zeros, denormal results, infinite ones."""
    build = Layers()
    random = build.random
    numbers = [random.normal(0, size, 3000) for size in (1e-3, 1, 5)]
    numbers.append(random.uniform(-110, 95, 3000))
    edges = [0.0, -0.0, 1e-30, 1e30, -1e30, np.inf, -np.inf, 89.5, 3.925, 0.921875, -9]
    values = np.concatenate([*numbers, edges]).astype(np.float32)
    x = build.value(values.size)
    names = [build.node(kind, [x]) for kind in ("Tanh", "Erf", "Exp")]
    for name in names:
        build.output(name)
    path = build.save(tmp_path / "model.onnx")
    expected = make_session(path, "DISABLE_ALL", {}).run(None, {x: values})
    found = qlower.jit(qlower.load(path)).run([values], {})[0]
    for array, wanted in zip(found, expected, strict=True):
        assert_same(array, wanted)


def test_selections(tmp_path: Path) -> None:
    build = Layers()
    x, z = build.value(4, 5, 6), build.value(5, 1)
    both = [build.node("Less", [x, z]), build.node("GreaterOrEqual", [x, z])]
    condition = build.node("Not", [build.node("Or", both[:1] * 2)])
    build.returned(build.node("Where", [build.node("And", [condition, both[1]]), x, z]))
    reals = [build.pair(x, 0.02, 5), build.pair(z, 0.03, 7)]
    chosen = build.node("Where", [both[1], *reals])
    build.returned(build.pair(chosen, 0.025, 9))
    places = build.constant(np.array([[2, 0], [4, -1]]))
    build.returned(build.node("Gather", [x, places], axis=1))
    table = build.random.integers(0, 256, (5, 7)).astype(np.uint8)
    stored, numbers = build.constant(table), build.input("i", (3, 2), "i8")
    found = build.node("Gather", [build.dequantize(stored, 0.1, 5), numbers])
    build.returned(build.pair(found, 0.1, 5))
    found = build.dequantize(build.node("Gather", [stored, numbers]), 0.2, 7)
    build.returned(build.pair(found, 0.2, 7))
    for qdq in LEVELS:
        build.check(tmp_path, qdq, {"i": build.random.integers(-5, 5, (3, 2))})


def test_orders_that_are_not_known(tmp_path: Path) -> None:
    build = Layers()
    x = build.value(1, 3, 4, 4)
    build.returned(build.node("Conv", [x, build.constant(np.ones((2, 3, 1, 1)))]))
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="known only where nothing is fused"):
        qlower.load(path, qdq=X86)
    qlower.load(path, qdq=AS_WRITTEN)
    build = Layers()
    inputs = [build.value(2, 8), build.weights((8, 4))]
    build.returned(build.node("MatMul", inputs))
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="in an order that isn't known"):
        qlower.load(path)
    build = Layers()
    window: dict[str, Any] = {
        "kernel_shape": [2, 2],
        "ceil_mode": 1,
        "count_include_pad": 1,
    }
    build.returned(build.node("AveragePool", [build.value(1, 1, 5, 5)], **window))
    with pytest.raises(QlowerError, match="ceil_mode with count_include_pad"):
        qlower.load(build.save(tmp_path / "model.onnx"), qdq=AS_WRITTEN)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_factors_of_gemm(qdq: str, tmp_path: Path) -> None:
    """alpha and beta, of stored weights and dequantized ones."""
    build = Layers()
    given: list[dict[str, Any]] = [{"alpha": 0.7}, {"beta": 2.5}]
    given.append({"alpha": 1.3, "beta": 0.3})
    for factors in given:
        for real in (False, True):
            x = build.value(5, 40)
            weights = build.weights((40, 6))
            bias = build.weights((6,), "i4", 0)
            if real:
                values = build.random.normal(size=6).astype(np.float32)
                bias = build.constant(values)
            y = build.node("Gemm", [build.pair(x, 0.02, 9), weights, bias], **factors)
            build.returned(build.pair(y, 0.05, 120) if not real else y)
    x = build.pair(build.value(50, 40), 0.02, 9)
    y = build.node("Gemm", [x, build.weights((40, 6))], alpha=0.7)
    build.returned(build.pair(y, 0.05, 120))
    build.check(tmp_path, qdq)
