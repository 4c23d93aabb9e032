"""What is wrong or not supported is refused by operator, tensor, value and range."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from support.formats.tflite_builder import Option, TFLiteBuilder
from support.formats.tflite_general_cases import model, transpose_conv
from support.formats.tflite_models import (
    binary,
    conv2d,
    depthwise_conv2d,
    fully_connected,
    layout,
    pool,
    slice_,
    split_v,
    strided_slice,
    unary,
)
from xdsl.dialects import arith

from qlower.diagnostics import QlowerError
from qlower.frontends.load import load
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.evaluation import EVALUATORS
from qlower.frontends.tflite.graph import entry_of
from qlower.frontends.tflite.schema import Sparsity
from qlower.model.entry import main_function

CONV_OPTIONS = {
    "padding": 1,
    "stride_h": 1,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}


def refusal(data: bytes) -> QlowerError:
    with pytest.raises(QlowerError) as caught:
        import_tflite(data, name="model.tflite")
    error = caught.value
    assert "\n" not in error.message
    if error.message.startswith("operator"):
        assert "tensor" in error.message
        assert error.help
    return error


def expect_refusal(data: bytes, message: str) -> None:
    report = str(refusal(data)).splitlines()[0]
    assert re.fullmatch(r"model\.tflite:\d+:0: error: .*", report)
    assert message in report


# The file


def test_a_file_that_is_something_else() -> None:
    for data, message in (
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n....", "bytes 4 to 7 aren't TFL3"),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "it is a pointer of Git LFS, and `git lfs pull` gets the file",
        ),
        (b"\n<!DOCTYPE html><p>Not found", "it is a page in HTML"),
        (b"module {\n\n}\n", "it is text"),
    ):
        expect_refusal(data, f"not a TFLite file: {message}")


def test_an_address() -> None:
    with pytest.raises(QlowerError, match="is an address") as caught:
        load("https://example.com/m.tflite")
    assert caught.value.help == "curl -LO https://example.com/m.tflite gets it"


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"cannot read .*none.tflite: No such file"):
        import_tflite(tmp_path / "none.tflite", name="none.tflite")
    with pytest.raises(QlowerError, match=r"cannot read .*: Is a directory"):
        import_tflite(tmp_path, name="none.tflite")


def test_a_truncated_file() -> None:
    data = conv2d()
    # The last bytes are padding.
    for size in range(8, len(data) - 8):
        error = refusal(data[:size])
        assert str(error).startswith("model.tflite:0:0: error: ")
    size = len(data) // 2
    expect_refusal(data[:size], f"the file ends after {size:,} of at least")


def test_a_vector_longer_than_the_file() -> None:
    shape = struct.pack("<5i", 4, 2, 9, 7, 4)
    data = conv2d().replace(shape, struct.pack("<5i", 0x7FFFFFFF, 2, 9, 7, 4), 1)
    expect_refusal(data, "damaged file: shape of tensor 0: 8589934588 bytes in a file")


def test_too_many_tables() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1,), scale=0.1)
    for _ in range(7):
        builder.operator("RELU", [x], [x])
    count = struct.pack("<i", 7)
    data = bytearray(builder.build([x], [x]))
    # The vectors of seven are those of the operators.
    for place in re.finditer(re.escape(count), bytes(data)):
        changed = bytearray(data)
        changed[place.start() : place.start() + 4] = struct.pack("<i", 70000)
        message = str(refusal(bytes(changed)))
        if "70000 operators are out of range [0, 65536]" in message:
            return
    pytest.fail("the table of operators was not found")


def test_without_the_tflite_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    error = refusal(b"....TFL3")
    assert "reading TFLite files needs the package 'tflite'" in error.message
    assert error.help == "pip install 'tflite==2.18.*' 'flatbuffers>=24'"


# The graph


def relu(
    source: int = 0, target: int = 1, operator: str = "RELU", is_variable: bool = False
) -> bytes:
    builder = TFLiteBuilder()
    builder.tensor("x", (1, 4), scale=0.1)
    builder.tensor("y", (1, 4), scale=0.1, is_variable=is_variable)
    builder.operator(operator, [source], [target])
    return builder.build([0], [1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (relu(source=1), "operator 0 RELU: tensor 1 'y': used before it is computed"),
        (
            relu(source=1, is_variable=True),
            "operator 0 RELU: tensor 1 'y': a variable tensor is not supported here",
        ),
        (relu(target=0), "operator 0 RELU: tensor 0 'x': computed a second time"),
        (relu(source=2), "operator 0 RELU: tensor index 2 is out of range [0, 1]"),
        (relu(target=-5), "operator 0 RELU: tensor index -5 is out of range [0, 1]"),
        (relu(source=-1), "operator 0 RELU: operand 0 is missing"),
        (
            relu(operator="ADD"),
            "operator 0 ADD: number of operands 1 is out of range [2, 2]",
        ),
        (relu(operator="LSTM"), "operator 0 LSTM: this operator is not supported"),
        (
            relu(operator="CUSTOM"),
            "operator 0 CUSTOM 'MyOperator': this operator is not supported",
        ),
        (
            relu(operator="CUSTOM")
            .replace(b"MyOperator\0", b"ethos-u\0\0\0\0")
            .replace(b"\n\0\0\0ethos-u", b"\7\0\0\0ethos-u"),
            "operator 0 CUSTOM 'ethos-u': this is a program for Arm's Ethos-U",
        ),
    ],
)
def test_graphs(data: bytes, message: str) -> None:
    expect_refusal(data, message)


@pytest.mark.parts(2)
@pytest.mark.parametrize("operator", sorted(EVALUATORS))
def test_missing_operands_of_constants(operator: str) -> None:
    """Of any operator that is computed now: one operand is there, or none. What is
    refused is the missing one; one operand alone may give a number."""
    entry = entry_of(operator)
    assert entry is not None
    low, high = entry.inputs
    refused = re.compile(
        rf"operator 0 {operator}: "
        r"(operand (?P<missing>\d) is missing|tensor 1 'y': shape \[1\], expected)"
    )
    for number in range(max(low, 1), min(high, 3) + 1):
        for present in range(number + 1):
            builder = TFLiteBuilder()
            constant = builder.tensor("c", (1,), "int32", data=[1])
            result = builder.tensor("y", (1,), "int32")
            operands = [-1] * number
            operands[present:] = operands[present + 1 :]
            operands.insert(present, constant)
            builder.operator(operator, operands[:number], [result])
            message = ""
            try:
                import_tflite(builder.build([], [result]), name="model.tflite")
            except QlowerError as error:
                message = error.message
            match = refused.match(message)
            if match is None:
                assert not message
                assert (number, present) == (1, 0)
            elif match["missing"] is not None:
                assert operands[int(match["missing"])] == -1


def test_the_place_is_the_operator() -> None:
    builder = TFLiteBuilder()
    x, y, z = (builder.tensor(name, (1, 4), scale=0.1) for name in "xyz")
    builder.operator("RELU", [x], [y])
    builder.operator("FLOOR", [y], [z])
    error = refusal(builder.build([x], [z]))
    assert str(error).startswith("model.tflite:1:0: error: operator 1 FLOOR: ")


def test_long_names_are_cut_in_messages() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x" * 1000, (1,), "float64")
    expect_refusal(builder.build([x], [x]), f"tensor 0 '{'x' * 80}...': type FLOAT64")


def test_no_outputs() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1,), scale=0.1)
    expect_refusal(builder.build([x], []), "model: no outputs, expected at least 1")


def test_constants_are_not_computed() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1,), scale=0.1)
    c = builder.tensor("c", (1,), scale=0.1, data=[1])
    builder.operator("RELU", [x], [c])
    expect_refusal(builder.build([x], [c]), "tensor 1 'c': a result that is a constant")
    expect_refusal(builder.build([c], [c]), "tensor 1 'c': an input that is a constant")


# Tensors


def input_tensor(
    shape: Sequence[int] = (1, 4),
    dtype: str = "int8",
    scale: float | Sequence[float] | None = 0.1,
    zero_point: int | Sequence[int] = 0,
    sparsity: Sparsity | None = None,
) -> bytes:
    builder = TFLiteBuilder()
    x = builder.tensor(
        "x",
        shape,
        dtype,
        scale=scale,
        zero_point=zero_point,
        axis=1,
        sparsity=sparsity,
    )
    y = builder.tensor("y", (1, 4), scale=0.1)
    builder.operator("RELU", [x], [y])
    return builder.build([x], [y])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (input_tensor((1, 0)), "dimension 0 is out of range [1, 1073741824]"),
        (input_tensor((1, -1)), "dimension -1 is out of range [1, 1073741824]"),
        (
            input_tensor((1 << 20, 1 << 20)),
            "1099511627776 elements are out of range [1, 1073741824]",
        ),
        (input_tensor((1,) * 9), "rank 9 is out of range [0, 8]"),
        (input_tensor(dtype="uint16"), "type UINT16 is not supported; expected one of"),
        (
            input_tensor(dtype="int16", zero_point=1),
            "INT16 with zero point 1 is not supported; expected 0",
        ),
        (input_tensor(dtype="int4"), "type INT4 is not supported here: LiteRT unpacks"),
        (input_tensor(dtype="string"), "type STRING is not supported"),
        (input_tensor(scale=0.0), "scale 0.0 is out of range: finite and above 0"),
        (input_tensor(scale=-0.5), "scale -0.5 is out of range: finite and above 0"),
        (input_tensor(scale=np.nan), "scale nan is out of range: finite and above 0"),
        (input_tensor(scale=np.inf), "scale inf is out of range: finite and above 0"),
        (input_tensor(zero_point=128), "zero point 128 is out of range [-128, 127]"),
        (
            input_tensor(dtype="uint8", zero_point=-1),
            "zero point -1 is out of range [0, 255]",
        ),
        (
            input_tensor(zero_point=(1, 2, 3)),
            "3 zero points for 1 scales; expected 1 or 1",
        ),
        (
            input_tensor(scale=(0.1, 0.2)),
            "2 scales along dimension 1 of shape [1, 4]; expected 1 or 4",
        ),
        (
            input_tensor((4,), scale=(0.1, 0.2, 0.3, 0.4)),
            "quantized dimension 1 is out of range [0, 0]",
        ),
        (
            input_tensor(sparsity=Sparsity((), (), ())),
            "sparse tensors are not supported",
        ),
    ],
)
def test_tensors(data: bytes, message: str) -> None:
    expect_refusal(data, f"model: tensor 0 'x': {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            input_tensor(scale=(0.1, 0.2, 0.3, 0.4)),
            "4 scales along dimension 1 are not supported by RELU here; expected one",
        ),
        (
            input_tensor(dtype="int32", scale=None),
            "type INT32 is not supported by RELU here; expected INT8, UINT8, INT16 or",
        ),
        (
            input_tensor(dtype="uint8"),
            "type UINT8 is not supported together with INT8",
        ),
    ],
)
def test_operands(data: bytes, message: str) -> None:
    expect_refusal(data, f"operator 0 RELU: tensor 0 'x': {message}")


def test_results_of_a_type_that_the_operator_does_not_give() -> None:
    mean = model("MEAN", ["float32 2x5x3", [1]], "int64 2x3", options={})()
    expect_refusal(mean, "'y0': type INT64 is not supported together with FLOAT32")
    running = model("CUMSUM", ["float32 4", [0]], "int64 4", options={})()
    expect_refusal(running, "'y0': type INT64, CUMSUM gives f32 here")
    shape = model("SHAPE", ["float32 2x5x3"], "uint32 3")()
    expect_refusal(shape, "'y0': type UINT32 is not supported")


def test_a_stride_beyond_the_result() -> None:
    data = transpose_conv((4, 2, 5, 3), (2, 8, 17, 4), 1, (2, 65536))()
    expect_refusal(data, "TRANSPOSE_CONV: a stride of 65536 for a result of 17")


def test_transposed_weights_without_a_scale() -> None:
    operands = [[2, 8, 10, 4], "int64 4x2x2x3", "int64 2x4x5x3"]
    window: dict[str, Option] = {"padding": 0, "stride_w": 2, "stride_h": 2}
    data = model("TRANSPOSE_CONV", operands, "int64 2x8x10x4", options=window)()
    expect_refusal(data, "weights of type INT64 have no scale")


@pytest.mark.parametrize("operator", ["EXP", "LOG", "RSQRT"])
def test_functions_of_integers(operator: str) -> None:
    data = model(operator, ["int64 4"], "int64 4")()
    expect_refusal(data, f"'x0': type INT64 is not supported by {operator} here")


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("MAXIMUM", ["int8 4", "int8 4"]),
        ("MINIMUM", ["int8 4", "int8 4"]),
        ("SELECT", ["bool 4", "int8 4", "int8 4"]),
        ("FILL", [[4], np.int8(3)]),
        ("TILE", ["int8 2", [2]]),
        ("BROADCAST_TO", ["int8 1", [4]]),
        ("REVERSE_V2", ["int8 4", [0]]),
        ("GATHER", ["int8 4", [3, 2, 1, 0]]),
    ],
)
def test_results_of_another_type(operator: str, operands: list[ArrayLike]) -> None:
    data = model(operator, operands, "uint8 4")()
    expect_refusal(data, "'y0': type UINT8 is not supported together with INT8")


@pytest.mark.parametrize(
    ("operator", "shape", "message"),
    [
        ("DEPTH_TO_SPACE", (4, 4, 6), "6 channels are not a multiple of 2 squared"),
        ("SPACE_TO_DEPTH", (3, 4, 8), "an image of [3, 4] has no blocks of 2"),
        ("SPACE_TO_DEPTH", (4, 3, 8), "an image of [4, 3] has no blocks of 2"),
    ],
)
def test_images_without_blocks(
    operator: str, shape: tuple[int, int, int], message: str
) -> None:
    sizes = "x".join(map(str, (1, *shape)))
    block: dict[str, Option] = {"block_size": 2}
    data = model(operator, [f"int8 {sizes}"], f"int8 {sizes}", options=block)()
    expect_refusal(data, message)


@pytest.mark.parametrize("number", [1, 2])
def test_a_selection_from_other_types(number: int) -> None:
    operands: list[ArrayLike] = ["bool 4", "int8 4", "int8 4"]
    operands[number] = "int32 4"
    data = model("SELECT_V2", operands, "int8 4")()
    expect_refusal(data, "is not supported together with")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("operator", ["LESS", "EQUAL", "GREATER_EQUAL", "NOT_EQUAL"])
def test_comparisons_by_channel(operator: str, number: int) -> None:
    builder = TFLiteBuilder()
    scales = ([0.1], [0.1, 0.2, 0.3, 0.4])
    inputs = [
        builder.tensor(f"x{n}", (4,), scale=scales[n == number], axis=0)
        for n in range(2)
    ]
    y = builder.tensor("y", (4,), "bool")
    builder.operator(operator, inputs, [y])
    data = builder.build(inputs, [y])
    expect_refusal(data, f"4 scales along dimension 0 are not supported by {operator}")


@pytest.mark.parametrize("operator", ["ADD", "MUL", "NEG", "ABS"])
def test_real_constants_are_not_computed_by_numpy(operator: str) -> None:
    """Which rounds as LiteRT does, but that is the contract's to say."""
    operands: list[ArrayLike] = [np.array([1, 2], np.float32)] * (
        1 if operator in ("NEG", "ABS") else 2
    )
    module = import_tflite(model(operator, operands, "float32 2")(), name="m")
    terminator = main_function(module).body.block.last_op
    assert terminator is not None
    (returned,) = terminator.operands
    assert not isinstance(returned.owner, arith.ConstantOp)


@pytest.mark.parametrize(
    ("operator", "operands", "message"),
    [
        ("REDUCE_PROD", ["uint8 4x4", [1]], "type UINT8 is not supported by"),
        ("SQRT", ["uint8 4"], "type UINT8 is not supported by"),
        ("FLOOR_DIV", ["int64 4", "int64 4"], "type INT64 is not supported by FLOOR"),
        ("RIGHT_SHIFT", ["int8 4", "uint8 4"], "type UINT8 is not supported by"),
        ("ARG_MAX", ["int64 4", [0]], "type INT64 is not supported by ARG_MAX here"),
        ("GATHER_ND", ["int8 4x4", "int32 2x3"], "expected rows of 1 to 2"),
        ("GATHER_ND", ["int8 4x4", "float32 2x2"], "expected INT32 or INT64"),
        ("SCATTER_ND", ["int32 2x1", "int8 2x3", [4, 4]], "[2, 3], expected [2, 4]"),
        ("REVERSE_SEQUENCE", ["int8 4x4", "int32 4"], "dimension other than 0"),
        (
            "DYNAMIC_UPDATE_SLICE",
            ["int8 4x4", "int8 2x5", [0, 0]],
            "[2, 5] does not fit into [4, 4]",
        ),
        (
            "DYNAMIC_UPDATE_SLICE",
            ["int8 4x4", "int8 2x2", [0]],
            "tensor 2 'c2': shape [1], expected [2]",
        ),
        ("MATRIX_SET_DIAG", ["int8 4x3", "int8 4"], "a row of the shorter side"),
        (
            "CONV_3D_TRANSPOSE",
            [
                [1, 5, 5, 5, 1],
                np.ones((2, 2, 2, 1, 3), np.float32),
                "float32 1x2x2x2x3",
            ],
            "[2, 2, 2, 1, 3] does not give [1, 5, 5, 5, 1]",
        ),
        (
            "UNSORTED_SEGMENT_SUM",
            ["int32 4x4", "int32 3", np.int32(2)],
            "[3] does not begin [4, 4]",
        ),
    ],
)
def test_plain_operators(
    operator: str, operands: list[ArrayLike], message: str
) -> None:
    given = "int32 4" if operator == "ARG_MAX" else "float32 1x5x5x5x1"
    given = f"{operands[0]}" if isinstance(operands[0], str) else given
    steps: dict[str, Option] = {f"stride_{side}": 1 for side in "dhw"}
    steps |= {f"dilation_{side}_factor": 1 for side in "dhw"}
    options = steps if operator == "CONV_3D_TRANSPOSE" else None
    expect_refusal(model(operator, operands, given, options=options)(), message)


def test_powers_of_a_norm() -> None:
    options: dict[str, Option] = {
        "radius": 2,
        "bias": 1.0,
        "alpha": 1.0,
        "beta": 0.6,
    }
    operator = "LOCAL_RESPONSE_NORMALIZATION"
    data = model(operator, ["float32 1x4"], "float32 1x4", options=options)()
    expect_refusal(data, "is not supported; expected 0.5, 0.75, 1.0")


@pytest.mark.parametrize(
    ("condition", "x", "y"),
    [("4", "4x8", "4"), ("4", "4x8", "4x8x8"), ("8", "4x8", "4x8")],
)
def test_select_of_other_shapes(condition: str, x: str, y: str) -> None:
    operands = [f"bool {condition}", f"int8 {x}", f"int8 {y}"]
    data = model("SELECT", operands, f"int8 {x}")()
    expect_refusal(data, f"SELECT: a condition of shape [{condition}] chooses from")


def constant(
    data: bytes = b"abcd",
    buffer: int | None = None,
    external_offset: int = 0,
) -> bytes:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), scale=0.1)
    c = builder.tensor(
        "c",
        (1, 4),
        scale=0.1,
        data=data,
        buffer=buffer,
        external_offset=external_offset,
    )
    y = builder.tensor("y", (1, 4), scale=0.1)
    builder.operator("ADD", [x, c], [y])
    return builder.build([x], [y])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            constant(b"abc"),
            "tensor 1 'c': 3 bytes of data, expected 4 for shape [1, 4] of INT8",
        ),
        (constant(buffer=9), "tensor 1 'c': buffer index 9 is out of range [0, 0]"),
        (constant(b""), "tensor 1 'c': used before it is computed"),
    ],
)
def test_constants(data: bytes, message: str) -> None:
    expect_refusal(data, f"operator 0 ADD: {message}")


def test_a_constant_behind_the_end() -> None:
    expect_refusal(
        constant(b"", external_offset=4096), "damaged file: buffer 1: the file ends"
    )


# Operators


def convolution(
    weights: Callable[[TFLiteBuilder], int] | None = None,
    bias: Callable[[TFLiteBuilder], int] | None = None,
    **options: Option,
) -> bytes:
    """CONV_2D of a [1, 4, 4, 2] image with two 1x1 filters, one thing changed."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4, 4, 2), scale=0.1)
    if weights is None:
        w = builder.tensor("w", (2, 1, 1, 2), scale=0.1, data=[1, 2, 3, 4])
    else:
        w = weights(builder)
    b = builder.tensor("b", (2,), "int32", data=[1, 2]) if not bias else bias(builder)
    y = builder.tensor("y", (1, 4, 4, 2), scale=0.1)
    builder.operator("CONV_2D", [x, w, b], [y], CONV_OPTIONS | options)
    return builder.build([x], [y])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (convolution(stride_h=0), "stride_h 0 is out of range [1, 65536]"),
        (convolution(dilation_w_factor=0), "dilation_w_factor 0 is out of range [1, 4"),
        (convolution(padding=2), "padding 2 is out of range [0, 1]"),
        (
            convolution(fused_activation_function=4),
            "fused activation function TANH is not supported; expected one of NONE,",
        ),
        (
            convolution(fused_activation_function=99),
            "fused activation function 99 is not supported",
        ),
        (
            convolution(lambda b: b.tensor("w", (2, 2), scale=0.1, data=b"abcd")),
            "tensor 1 'w': rank 2, expected 4",
        ),
        (
            convolution(
                lambda b: b.tensor("w", (2, 1, 1, 3), scale=0.1, data=b"abcdef")
            ),
            "2 input channels and 2 filters of 3 channels do not divide into groups",
        ),
        (
            convolution(
                lambda b: b.tensor(
                    "w", (2, 1, 1, 2), scale=(0.1, 0.2), axis=3, data=b"abcd"
                )
            ),
            "tensor 1 'w': weights quantized along dimension 3 are not supported;"
            " expected 0",
        ),
        (
            convolution(
                lambda b: b.tensor(
                    "w", (2, 1, 1, 2), scale=0.1, zero_point=-4, data=b"abcd"
                )
            ),
            "tensor 1 'w': INT8 weights with zero point -4 are not supported;"
            " expected 0",
        ),
        (
            convolution(
                lambda b: b.tensor("w", (2, 1, 1, 2), "float32", data=[1, 2, 3, 4])
            ),
            "tensor 1 'w': type FLOAT32 is not supported",
        ),
        (
            convolution(bias=lambda b: b.tensor("b", (3,), "int32", data=[1, 2, 3])),
            "tensor 2 'b': a bias of shape [3], expected [2]",
        ),
        (
            convolution(bias=lambda b: b.tensor("b", (2,), "int64", data=[1, 2])),
            "tensor 2 'b': type INT64 is not supported by CONV_2D for a bias",
        ),
        (
            convolution(bias=lambda b: b.tensor("b", (2,), "int32")),
            "tensor 2 'b': operand 2 has no data; expected a constant",
        ),
    ],
)
def test_convolutions(data: bytes, message: str) -> None:
    expect_refusal(data, f"operator 0 CONV_2D: {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            conv2d(output_shape=(2, 8, 7, 6)),
            "tensor 3 'y': shape [2, 8, 7, 6], expected [2, 9, 7, 6]",
        ),
        (
            depthwise_conv2d(multiplier=2, depth_multiplier=1),
            "depth_multiplier 1 with 3 input channels and 6 filters",
        ),
        (
            fully_connected(input_shape=(2, 7)),
            "14 elements are not a multiple of the 12 columns of the weights",
        ),
        (
            fully_connected(input_shape=(2, 3, 12)),
            "tensor 3 'y': shape [2, 5], expected [6, 5]",
        ),
        (
            pool("AVERAGE_POOL_2D", dtype="int16"),
            "INT16 with zero point 3 is not supported; expected 0",
        ),
        (
            unary("SOFTMAX", scale=0.1, beta=1.0),
            "expected scale 0.00390625 and zero point -128",
        ),
        (
            unary("SOFTMAX", scale=1 / 256, zero_point=-128, beta=0.0),
            "beta 0.0 is out of range: above 0",
        ),
        (unary("LEAKY_RELU", alpha=float("nan")), "alpha nan is not finite"),
        (
            binary("ADD", shapes=((2, 3), (2, 4), (2, 4))),
            "shapes [2, 3] and [2, 4] do not broadcast",
        ),
        (
            layout("RESHAPE", 7, -1, input_shape=(2, 3), output_shape=(6,)),
            "shape [7, -1] does not hold the 6 elements of tensor 0 'x'",
        ),
        (
            layout("RESHAPE", 2, 3, input_shape=(2, 3), output_shape=(6,)),
            "tensor 1 'y': shape [6], expected [2, 3]",
        ),
        (
            layout("SQUEEZE", input_shape=(1, 3), output_shape=(2,)),
            "tensor 1 'y': shape [2], expected [3]",
        ),
        (
            layout("TRANSPOSE", 0, 2, input_shape=(2, 3), output_shape=(2, 3)),
            "permutation 2 is out of range [-2, 1]",
        ),
        (
            layout("TRANSPOSE", 0, 0, input_shape=(2, 2), output_shape=(2, 2)),
            "is not an order of the axes of",
        ),
        (
            layout("MEAN", 2, input_shape=(2, 3), output_shape=(2,)),
            "axis 2 is out of range [-2, 1]",
        ),
        (
            slice_((0, 1, 2), (2, 5, 4), (2, 5, 4)),
            "size of dimension 1 5 is out of range [0, 4]",
        ),
        (
            strided_slice((0, 0, 5), (2, 5, 0), (1, 1, 0), (2, 5, 5)),
            "stride 0 of dimension 2 is not supported",
        ),
        (
            strided_slice((0, 0), (2, 2), (1, 1), (2, 5, 6), ellipsis_mask=3),
            "ellipsis_mask 3 has more than one bit",
        ),
        (
            strided_slice((1,), (1,), (1,), (2, 5, 6)),
            "nothing is left of dimension 0 of size 2 from 1 to 1",
        ),
        (split_v(3, 4), "parts of sizes [3, 4] do not add up to the 6 of dimension 1"),
        (
            layout("PAD", 0, 0, -1, 0, input_shape=(2, 3), output_shape=(2, 2)),
            "padding -1 is out of range [0, 65536]",
        ),
        (
            model("BITCAST", ["bool 4"], "int8 4")(),
            "type INT8 for bits of BOOL; expected BOOL for both, or numbers",
        ),
        (
            model("BITCAST", ["int8 4x2"], "int32 4")(),
            "shape [4, 2], of whose last dimension INT32 takes 4 elements",
        ),
        (
            model(
                "BUCKETIZE",
                ["float32 4"],
                "int32 4",
                options={"boundaries": np.array([1, 0], np.float32)},
            )(),
            "boundaries that do not ascend",
        ),
        (
            model("DILATE", ["int32 4", [0], np.array([1], np.int32)], "int32 4")(),
            "dilation 0 is out of range [1, 1073741824]",
        ),
        (
            model(
                "FAKE_QUANT",
                ["float32 4"],
                "float32 4",
                options={"min": 1.0, "max": 1.0, "num_bits": 8},
            )(),
            "a range from 1.0 to 1.0; expected min below max",
        ),
        (
            model("ADD", ["int16 4 0.5 0", "int16 4 0.25 0"], "int16 4 1 0")(),
            "INT16 with pot_scale_int16 and scales of 2^-1, 2^-2, 2^0; expected",
        ),
        (
            model("SUB", ["int16 4 0.5 0", "int16 4 0.25 0"], "int16 4 0.25 0")(),
            "scales of 2^-1, 2^-2, 2^-2; expected the result's for one operand",
        ),
        (
            model("ADD", ["int16 2x4 0.5 0", "int16 4 0.25 0"], "int16 2x4 0.5 0")(),
            "INT16 with pot_scale_int16 and operands that broadcast",
        ),
        (
            model("QUANTIZE", ["int8 4 0.5 0"], "int32 4 0.25 0")(),
            "LiteRT has no QUANTIZE from INT8 to INT32; expected INT16 for one",
        ),
        (
            model("QUANTIZE", ["int32 4"], "int8 4 0.25 0")(),
            "tensor 0 'x0': INT32 without one scale; expected one",
        ),
        (
            model("PRELU", ["int16 4 0.1 0", "int16 4 0.1 0"], "int16 4 0.1 0")(),
            "type INT16 is not supported by PRELU",
        ),
        *(
            (
                model(
                    "SPARSE_TO_DENSE",
                    [indices, [2, 3], values, np.array(default, np.float32)],
                    "float32 2x3",
                )(),
                message,
            )
            for indices, values, default, message in (
                ([[0, 3]], "float32 1", 7, "index 3 is out of range [0, 2]"),
                (
                    [[0, 1]],
                    "float32 2",
                    7,
                    "shape [2], expected [] or [1]",
                ),
                ([0, 1], "float32 2", 7, "indices of shape [2] for [2, 3]"),
                ([[0, 1]], "float32 1", [7, 8], "shape [2], expected one value"),
            )
        ),
    ],
)
def test_operators(data: bytes, message: str) -> None:
    expect_refusal(data, message)


def test_options_of_another_operator() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), scale=0.1)
    y = builder.tensor("y", (1, 4), scale=0.1)
    builder.operator("ADD", [x, x], [y], options_kind="SubOptions")
    expect_refusal(
        builder.build([x], [y]),
        "operator 0 ADD: options of kind SubOptions, expected AddOptions",
    )


def test_average_and_concatenation_do_not_rescale() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4, 4, 1), scale=0.1)
    y = builder.tensor("y", (1, 4, 4, 1), scale=0.2)
    window = {"stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}
    builder.operator("AVERAGE_POOL_2D", [x], [y], window)
    expect_refusal(
        builder.build([x], [y]),
        "AVERAGE_POOL_2D: quantization !quant.uniform<i8:f32, 0.20000000298023224> "
        "of the result, expected !quant.uniform<i8:f32, 0.10000000149011612>",
    )
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 2), scale=0.1)
    y = builder.tensor("y", (2, 2), scale=0.2)
    builder.operator("CONCATENATION", [x, x], [y], {"axis": 0})
    expect_refusal(
        builder.build([x], [y]), "CONCATENATION: tensor 0 'x': quantization !quant"
    )
