"""Operators that stay real in ONNX Runtime: its bits, interpreted and in native code.

Each stands between DequantizeLinear and QuantizeLinear in a model of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_models import contract_here, make_session
from support.machines.vnni import needs_vnni

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
numpy_helper = pytest.importorskip("onnx.numpy_helper")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Shape = Sequence[int]


def model_of(
    operator: str,
    shapes: Sequence[Shape],
    attributes: Mapping[str, Any],
    seed: int,
    more: Sequence[Array] = (),
) -> bytes:
    """Real inputs are quantized to uint8, go through the operator with constant
    operands behind them, and are quantized again; both results are outputs."""
    random = np.random.default_rng(seed)
    constants: list[Any] = []

    def constant(value: Array | np.generic) -> str:
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantization() -> list[str]:
        scale = np.float32(np.exp(random.uniform(-5, -2)))
        return [constant(scale), constant(np.uint8(random.integers(0, 256)))]

    nodes: list[Any] = []
    reals: list[str] = []
    for index in range(len(shapes)):
        step = quantization()
        nodes += [
            helper.make_node("QuantizeLinear", [f"x{index}", *step], [f"q{index}"]),
            helper.make_node("DequantizeLinear", [f"q{index}", *step], [f"r{index}"]),
        ]
        reals.append(f"r{index}")
    reals += map(constant, more)
    nodes += [
        helper.make_node(operator, reals, ["real"], **attributes),
        helper.make_node("QuantizeLinear", ["real", *quantization()], ["y"]),
    ]
    inputs = {f"x{index}": shape for index, shape in enumerate(shapes)}
    return graph_of(nodes, inputs, {"real": np.float32, "y": np.uint8}, constants)


def graph_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, type[np.generic]],
    constants: Sequence[Any],
) -> bytes:
    """A model of float32 inputs."""
    element = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        nodes,
        "island",
        [helper.make_tensor_value_info(name, 1, s) for name, s in inputs.items()],
        [
            helper.make_tensor_value_info(name, element(np.dtype(type)), None)
            for name, type in outputs.items()
        ],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return model.SerializeToString()


def check(model: bytes, shapes: Sequence[Shape], folder: Path, seed: int) -> None:
    """ONNX Runtime and every executor give the same."""
    random = np.random.default_rng(seed)
    inputs = [random.normal(0, 3, shape).astype(np.float32) for shape in shapes]
    feed = {f"x{index}": x for index, x in enumerate(inputs)}
    expected = make_session(model, "ENABLE_ALL").run(None, feed)
    path = folder / "island.onnx"
    path.write_bytes(model)
    loaded = qlower.load(path)
    contract = contract_here(loaded)
    for found in (
        qlower.jit(loaded, contract)(*inputs),
        qlower.interpret(loaded, *inputs, contract=contract, at="qnn"),
    ):
        arrays = found if isinstance(found, tuple) else (found,)
        for array, wanted in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)
            assert array.dtype == wanted.dtype


IMAGE = (2, 5, 7, 9)
ROW = (5, 1, 9)

UNARY = {
    "Abs": {},
    "Ceil": {},
    "Cos": {},
    "Erf": {},
    "Exp": {},
    "Relu": {},
    "Floor": {},
    "HardSigmoid": {"alpha": 1 / 6, "beta": 0.5},
    "HardSwish": {},
    "LeakyRelu": {"alpha": 0.3},
    "Neg": {},
    "Sigmoid": {},
    "Sin": {},
    "Round": {},
    "Tanh": {},
}


@pytest.mark.parts(60)
@pytest.mark.parametrize("operator", UNARY)
def test_one_operand(operator: str, tmp_path: Path) -> None:
    model = model_of(operator, [IMAGE], UNARY[operator], 1)
    check(model, [IMAGE], tmp_path, 2)


@pytest.mark.parametrize(
    "operator", ["Div", "Max", "Mean", "Min", "PRelu", "Sub", "Sum"]
)
def test_two_operands(operator: str, tmp_path: Path) -> None:
    shapes = [IMAGE, ROW]
    check(model_of(operator, shapes, {}, 3), shapes, tmp_path, 4)


@pytest.mark.parts(12)
@pytest.mark.parametrize("size", [(7, 7), (3, 3), (5, 6), (1, 3), (2, 1), (8, 8)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_mean(size: tuple[int, int], keepdims: int, tmp_path: Path) -> None:
    """Of rows that begin at any place of a vector, shorter ones than it among them."""
    shapes = [(2, 37, *size)]
    attributes = {"axes": [2, 3], "keepdims": keepdims}
    check(model_of("ReduceMean", shapes, attributes, 5), shapes, tmp_path, 6)


def test_batch_normalization(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    parameters = [random.normal(size=5), random.normal(size=5), random.normal(size=5)]
    parameters.append(random.uniform(0.01, 3, 5))
    more = [parameter.astype(np.float32) for parameter in parameters]
    check(model_of("BatchNormalization", [IMAGE], {}, 8, more), [IMAGE], tmp_path, 9)


def dynamic_parameters(
    seed: int, rows: int, columns: int, per_column: bool
) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    size = (columns,) if per_column else ()
    return {
        "b": random.integers(-128, 128, (rows, columns)).astype(np.int8),
        "b_scale": np.exp(random.uniform(-8, -2, size)).astype(np.float32),
        "b_zero": np.asarray(random.integers(-9, 9, size), np.int8),
        "bias": random.normal(size=columns).astype(np.float32),
    }


def named(constants: Mapping[str, Array]) -> list[Any]:
    return [numpy_helper.from_array(value, name) for name, value in constants.items()]


@pytest.mark.parts(2)
@pytest.mark.parametrize("per_column", [False, True])
def test_dynamic_quantize_matmul(per_column: bool, tmp_path: Path) -> None:
    constants = named(dynamic_parameters(10, 70, 23, per_column))
    node = helper.make_node(
        "DynamicQuantizeMatMul",
        ["x0", "b", "b_scale", "b_zero", "bias"],
        ["y"],
        domain="com.microsoft",
    )
    shape = (2, 5, 70)
    model = graph_of([node], {"x0": shape}, {"y": np.float32}, constants)
    check(model, [shape], tmp_path, 11)


def test_dynamically_quantized_matrices(tmp_path: Path) -> None:
    """As quantize_dynamic writes it; codes, scale and zero point are returned, too."""
    make = helper.make_node
    nodes = [
        make("DynamicQuantizeLinear", ["x0"], ["codes", "scale", "zero"]),
        make("MatMulInteger", ["codes", "b", "zero", "b_zero"], ["sums"]),
        make("Cast", ["sums"], ["whole"], to=1),
        make("Mul", ["scale", "b_scale"], ["step"]),
        make("Mul", ["whole", "step"], ["product"]),
        make("Add", ["product", "bias"], ["y"]),
    ]
    outputs = {
        "codes": np.uint8,
        "scale": np.float32,
        "zero": np.uint8,
        "sums": np.int32,
        "y": np.float32,
    }
    shape = (6, 70)
    constants = named(dynamic_parameters(12, 70, 23, True))
    check(graph_of(nodes, {"x0": shape}, outputs, constants), [shape], tmp_path, 13)


@needs_vnni
@pytest.mark.parts(2)
@pytest.mark.parametrize(
    "attributes",
    [
        {"pads": [1, 0, 2, 1], "strides": [2, 1]},
        {"group": 4, "dilations": [2, 1], "pads": [0, 2, 1, 0]},
    ],
)
def test_dynamically_quantized_images(
    attributes: dict[str, Any], tmp_path: Path
) -> None:
    """Padding holds the zero point, which only run time knows."""
    random = np.random.default_rng(14)
    weights = random.integers(-128, 128, (8, 4 // attributes.get("group", 1), 3, 3))
    zero = np.array(3 if "group" not in attributes else 0, np.int8)
    make = helper.make_node
    nodes = [
        make("DynamicQuantizeLinear", ["x0"], ["codes", "scale", "zero"]),
        make("ConvInteger", ["codes", "w", "zero", "w_zero"], ["sums"], **attributes),
    ]
    constants = named({"w": weights.astype(np.int8), "w_zero": zero})
    shape = (2, 4, 7, 6)
    outputs = {"sums": np.int32, "scale": np.float32}
    check(graph_of(nodes, {"x0": shape}, outputs, constants), [shape], tmp_path, 15)


SPECIAL = np.array(
    [0, -0.0, 1e-45, -1e-45, 1e-40, -3e-39, np.inf, -np.inf, 3.4e38, -3.4e38, 1, -2],
    np.float32,
)


@pytest.mark.parts(3)
@pytest.mark.parametrize("size", [1, 17, 70])
def test_dynamic_scales_of_special_values(size: int, tmp_path: Path) -> None:
    """Scales of 0 and infinity, by the step itself and by one that takes its result."""
    make, step = helper.make_node, ["codes", "scale", "zero"]
    nodes = [
        make("DynamicQuantizeLinear", ["x0"], step),
        make("QuantizeLinear", ["x1", "scale", "zero"], ["others"]),
    ]
    outputs = dict(zip(step, (np.uint8, np.float32, np.uint8), strict=True))
    model = graph_of(
        nodes, {"x0": (size,), "x1": (size,)}, {**outputs, "others": np.uint8}, []
    )
    path = tmp_path / "special.onnx"
    path.write_bytes(model)
    session, run = make_session(model, "ENABLE_ALL"), qlower.jit(path)
    random = np.random.default_rng(size)
    for _ in range(60):
        few = random.choice(SPECIAL, random.integers(1, 5))
        x, other = random.choice(few, size), random.choice(SPECIAL, size)
        expected = session.run(None, {"x0": x, "x1": other})
        for found, wanted in zip(run(x, other), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, f"{x}, {other}")


def test_zeros_alone_have_the_scale_one(tmp_path: Path) -> None:
    node = helper.make_node("DynamicQuantizeLinear", ["x0"], ["codes", "scale", "zero"])
    outputs = {"codes": np.uint8, "scale": np.float32, "zero": np.uint8}
    path = tmp_path / "zeros.onnx"
    path.write_bytes(graph_of([node], {"x0": (3,)}, outputs, []))
    codes, scale, zero = qlower.jit(qlower.load(path))(np.zeros(3, np.float32))
    assert (codes.tolist(), float(scale), int(zero)) == ([0, 0, 0], 1.0, 0)


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("operator", "axes", "message"),
    [
        ("ReduceMean", [1, 3], "dimensions that don't lie together is not known"),
        ("ReduceProd", [0, 1, 2, 3], "product of all elements is not known"),
    ],
)
def test_orders_that_are_not_known(
    operator: str, axes: Sequence[int], message: str, tmp_path: Path
) -> None:
    """They are refused by this contract alone."""
    path = tmp_path / "refused.onnx"
    path.write_bytes(model_of(operator, [IMAGE], {"axes": axes}, 1, []))
    model, x = qlower.load(path), np.zeros(IMAGE, np.float32)
    with pytest.raises(QlowerError, match=message):
        qlower.jit(model)
    with pytest.raises(QlowerError, match=message):
        qlower.interpret(model, x)
    qlower.jit(model, contract="tflite")


@pytest.mark.parametrize(
    ("operator", "attributes", "more", "message"),
    [
        ("Cast", {"to": 11}, [], "a cast of .* is not supported"),
        ("BatchNormalization", {}, [np.ones(4, np.float32)] * 4, "4 parameters for 5"),
        ("Sub", {}, [np.ones(4, np.float32)], "do not broadcast"),
    ],
)
def test_refusals(
    operator: str,
    attributes: dict[str, Any],
    more: Sequence[Array],
    message: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "refused.onnx"
    path.write_bytes(model_of(operator, [IMAGE], attributes, 1, more))
    with pytest.raises(QlowerError, match=message):
        qlower.load(path)


def test_a_product_of_what_was_quantized(tmp_path: Path) -> None:
    make = helper.make_node
    nodes = [
        make("DynamicQuantizeLinear", ["x0"], ["codes", "scale", "zero"]),
        make("MatMulInteger", ["codes", "codes", "zero", "zero"], ["y"]),
    ]
    model = graph_of(nodes, {"x0": (3, 3)}, {"y": np.int32}, [])
    check(model, [(3, 3)], tmp_path, 16)


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("left", "right"), [((5,), (5, 2)), ((3, 5), (5,)), ((5,), (4, 5, 2))]
)
@pytest.mark.parametrize("constant", [0, 1])
def test_integer_products_of_any_rank(
    left: Shape, right: Shape, constant: int, tmp_path: Path
) -> None:
    """A vector is a matrix of one row or column; either side may be a constant."""
    shapes, operands = [left, right], ["", ""]
    make = helper.make_node
    stored = np.random.default_rng(17).integers(-128, 128, shapes.pop(constant))
    constants = {"w": stored.astype(np.int8), "w_zero": np.array(-9, np.int8)}
    operands[constant], operands[1 - constant] = "w", "codes"
    points = ["w_zero" if name == "w" else "zero" for name in operands]
    nodes = [
        make("DynamicQuantizeLinear", ["x0"], ["codes", "scale", "zero"]),
        make("MatMulInteger", [*operands, *points], ["y"]),
    ]
    model = graph_of(nodes, {"x0": shapes[0]}, {"y": np.int32}, named(constants))
    check(model, shapes, tmp_path, 18)
