"""The dialects as Python values: constructors, accessors, and their documentation."""

from __future__ import annotations

import inspect
import re

import pytest
from xdsl.dialects.builtin import TensorType, f32, f64, i8, i32
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects.fixed import FIXED
from qlower.dialects.qnn import QNN, Conv2DOp, PadOp, RealLinearOp, SoftmaxOp
from qlower.dialects.quant import QUANT, QuantizedType
from qlower.text.context import make_context

OPERATIONS = [op for dialect in (QUANT, QNN, FIXED) for op in dialect.operations]

ALIASES = {
    "!in": "!quant.uniform<i8:f32, 0.5:-3>",
    "!other": "!quant.uniform<u8:f32, 0.25:128>",
    "!out": "!quant.uniform<i8:f32, 0.125>",
    "!w": "!quant.uniform<i8:f32, 0.5>",
    "!codes": "!quant.uniform<i8:f32, 1.0>",
}
"""Types that the examples in docstrings are written with."""


def spell_out_aliases(text: str) -> str:
    """The text with its type aliases spelled out."""
    for name, value in ALIASES.items():
        text = re.sub(rf"{name}\b", value, text)
    return text


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_examples_of_documentation_are_valid(op: type[Operation]) -> None:
    examples = re.findall(r"```mlir\n(.*?)```", inspect.getdoc(op) or "", re.DOTALL)
    assert examples
    for example in examples:
        parser = Parser(make_context(), spell_out_aliases(example))
        names: set[str] = set()
        while (parsed := parser.parse_optional_operation()) is not None:
            parsed.verify()
            names.add(parsed.name)
        assert names == {op.name}


def test_per_tensor_type_reads_back() -> None:
    type = QuantizedType.per_tensor(8, False, 0.1, 128)
    assert (type.storage_type, type.storage_width, type.signed) == (i8, 8, False)
    assert (type.storage_min, type.storage_max) == (0, 255)
    assert type.expressed_type == f32
    assert type.scale == pytest.approx(0.1, rel=1e-7)
    assert type.scale != 0.1
    assert (type.scales, type.zero_points) == ((type.scale,), (128,))
    assert type.zero_point == 128
    assert type.axis is None
    assert not type.is_per_axis


def test_per_axis_type_reads_back() -> None:
    type = QuantizedType.per_axis(8, True, 3, [0.5, 0.25], storage_min=-127)
    assert (type.storage_min, type.storage_max, type.signed) == (-127, 127, True)
    assert (type.axis, type.scales, type.zero_points) == (3, (0.5, 0.25), (0, 0))
    assert type.is_per_axis
    with pytest.raises(ValueError, match="no single scale"):
        _ = type.scale
    with pytest.raises(ValueError, match="no single scale"):
        _ = type.zero_point


def test_scale_of_f64_keeps_its_digits() -> None:
    assert QuantizedType.per_tensor(8, True, 0.1, expressed=f64).scale == 0.1


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e39, float("inf"), float("nan")])
def test_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(VerifyException, match="out of expressed type range"):
        QuantizedType.per_tensor(8, True, scale)


def test_scales_and_zero_points_are_paired() -> None:
    with pytest.raises(VerifyException, match="2 scales do not match 1 zero points"):
        QuantizedType.per_axis(8, True, 0, [0.5, 0.25], [0])
    with pytest.raises(VerifyException, match="at least one scale"):
        QuantizedType.per_axis(8, True, 0, [])
    with pytest.raises(VerifyException, match="illegal quantized dimension: -1"):
        QuantizedType.per_axis(8, True, -1, [0.5])
    with pytest.raises(VerifyException, match="illegal storage type maximum: 128"):
        QuantizedType.per_tensor(8, True, 0.5, storage_max=128)


def test_constructor_takes_python_values() -> None:
    activation = QuantizedType.per_tensor(8, True, 0.5, -3)
    weight = QuantizedType.per_axis(8, True, 0, [0.5, 0.25])
    conv = Conv2DOp(
        create_ssa_value(TensorType(activation, [1, 9, 9, 4])),
        create_ssa_value(TensorType(weight, [2, 3, 3, 2])),
        create_ssa_value(TensorType(i32, [2])),
        TensorType(activation, [1, 4, 4, 2]),
        stride=(2, 2),
        groups=2,
        activation="relu6",
        contract="tflite",
    )
    conv.verify()
    assert (conv.stride, conv.pad, conv.dilation) == ((2, 2), (0, 0, 0, 0), (1, 1))
    assert (conv.groups, conv.activation, conv.contract) == (2, "relu6", "tflite")


def test_defaults_read_back() -> None:
    quantization = QuantizedType.per_tensor(8, True, 0.5, -3)
    value = create_ssa_value(TensorType(quantization, [2, 4]))
    softmax = SoftmaxOp(value, value.type)
    assert (softmax.axis, softmax.beta, softmax.contract) == (1, 1.0, None)
    result = TensorType(quantization, [3, 4])
    assert PadOp(value, result, low=[0, 0], high=[1, 0]).value == -3
    assert PadOp(value, result, low=[0, 0], high=[1, 0], value=5).value == 5


def test_constructors_follow_from_definitions() -> None:
    """Fields in the order of the text, those left out as they are at first."""
    x, w = (create_ssa_value(TensorType(f32, shape)) for shape in ((1, 4), (2, 4)))
    op = RealLinearOp(x, w, None, TensorType(f32, (1, 2)), activation="relu")
    op.verify()
    assert (op.activation, op.contract, op.bias) == ("relu", None, None)
    op.fallback = "tflite"
    assert str(op.properties["fallback"]) == '"tflite"'
    op.activation = None
    assert "activation" not in op.properties
    with pytest.raises(TypeError, match=r"qnn.real_linear has no groups, stride"):
        RealLinearOp(x, w, None, TensorType(f32, (1, 2)), stride=(1, 1), groups=2)
