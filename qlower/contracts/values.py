"""The values that an operation's types and attributes pass to a rule, by name.

Scales and zero points are passed as they appear in the types, without arithmetic: how
they combine is up to the contract. A per-axis value is an array along the channels,
which are the last dimension of every output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f16
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from qlower.contracts import Contract
from qlower.contracts.accumulator_range import accumulator_range
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn, quant
from qlower.dialects.operations import named_operands
from qlower.dialects.qnn.attributes import QDQ
from qlower.dialects.qnn.constraints import check_storage
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, is_tensor_type
from qlower.interp.values import Array

Values = dict[str, Array]

LoadContract: TypeAlias = Callable[[str], Contract]

TOSA_ROUNDING = "tosa.rounding_mode"
"""The attribute of an operation that says how TOSA's RESCALE rounds in it."""

_SINGLE_ROUND = StringAttr("SINGLE_ROUND")


def contract_of(op: Operation, default: str | None, load: LoadContract) -> Contract:
    """The contract that gives `op` its arithmetic: its own, or else `default`.

    An operation on real numbers that names none has its fallback's where `default` has
    no rule for it. `load` is `load_contract`, cached by callers that ask for many
    operations: a contract of the user's own would be read again for each.
    """
    own = op.contract if isinstance(op, qnn.QnnOp) else None
    name = own or default
    if own is None and isinstance(op, qnn.FallbackOp):
        name = _with_real_rule(op, default, load)
    if name is None:
        raise QlowerError(
            f"{op.name} has no contract",
            op.location,
            help="name one for the module, `module attributes {qnn.contract = "
            '"tflite"}`, or on the command line, `--contract tflite`',
        )
    if isinstance(op, quant.QuantizeCastOp | quant.DequantizeCastOp):
        _check_widths(op)
    contract = load(name)
    return contract.of_words if has_words(op) else contract


def _with_real_rule(
    op: qnn.FallbackOp, default: str | None, load: LoadContract
) -> str | None:
    """The default if it has a rule for an operation on real numbers, else the
    fallback if there is one."""
    has_rules = default is not None and all(
        rule in load(default).rules for rule in op.rules
    )
    return default if has_rules else op.fallback or default


def _check_widths(op: Operation) -> None:
    """Refuse stored integers that no rule is for; other operations verify theirs."""
    for value in (*op.operands, *op.results):
        element = element_type(value.type)
        if isinstance(element, QuantizedType):
            try:
                check_storage(element, (8, 16))
            except VerifyException as error:
                raise QlowerError(f"{op.name}: {error}", op.location) from error


def has_words(op: Operation) -> bool:
    """Whether any operand or result has elements of 16 or 32 bits with a scale."""
    elements = (element_type(value.type) for value in (*op.operands, *op.results))
    return any(
        isinstance(element, QuantizedType) and element.storage_width >= 16
        for element in elements
    )


def operand_values(prefix: str, type: Attribute) -> Values:
    """Scale, zero point and signedness of a quantized tensor type."""
    quantized = quantized_element(type)
    scale = np.array(quantized.scales, np.float32)
    zero_point = np.array(quantized.zero_points, np.int32)
    if quantized.is_per_tensor:
        scale, zero_point = scale.reshape(()), zero_point.reshape(())
    return {
        f"{prefix}_scale": scale,
        f"{prefix}_zero_point": zero_point,
        f"{prefix}_unsigned": np.array(not quantized.signed),
    }


def element_values(prefix: str, type: Attribute) -> Values:
    """Scale, zero point and signedness for each element of a tensor: where they vary,
    with a size for each dimension."""
    values = operand_values(prefix, type)
    quantized = quantized_element(type)
    if quantized.is_per_tensor:
        return values
    assert is_tensor_type(type)
    sizes = type.get_shape()
    blocks = dict(quantized.data.blocks)
    for name in (f"{prefix}_scale", f"{prefix}_zero_point"):
        counts = [-(-n // blocks.get(axis, n)) for axis, n in enumerate(sizes)]
        array = values[name].reshape(counts)
        for axis, size in blocks.items():
            array = np.repeat(array, size, axis)
            array = array.take(np.arange(sizes[axis]), axis)
        values[name] = array
    return values


def output_values(
    contract: Contract,
    type: Attribute,
    bounds: tuple[float | None, float | None] = (None, None),
) -> Values:
    """An output's scale and zero point, and its storage range within real `bounds` and
    without."""
    values = operand_values("output", type)
    quantized = quantized_element(type)
    low, high = bounds
    minimum, maximum = quantized.storage_min, quantized.storage_max
    values |= {
        "storage_min": np.array(minimum, np.int32),
        "storage_max": np.array(maximum, np.int32),
        "activation_min": np.array(-np.inf if low is None else low, np.float32),
        "activation_max": np.array(np.inf if high is None else high, np.float32),
    }
    if low is not None:
        minimum = min(max(minimum, _bound(contract, low, values)), maximum)
    if high is not None:
        maximum = max(min(maximum, _bound(contract, high, values)), minimum)
    values["output_min"] = np.array(minimum, np.int32)
    values["output_max"] = np.array(maximum, np.int32)
    return values


def activation_values(
    contract: Contract, type: Attribute, activation: str | None
) -> Values:
    """`output_values` within the bounds of a fused activation, if there is one."""
    return output_values(contract, type, qnn.ACTIVATION_BOUNDS[activation])


def window_values(
    op: qnn.ConvolutionOp | qnn.PoolOp | qnn.RealPool2DOp, kernel: Sequence[int]
) -> Values:
    """Size, steps and padding of a window."""
    sides = {
        "kernel": (("height", "width"), kernel),
        "stride": (("height", "width"), op.stride),
        "pad": (("top", "bottom", "left", "right"), op.pad),
    }
    if not isinstance(op, qnn.PoolOp):
        sides["dilation"] = (("height", "width"), op.dilation)
    return {
        f"{name}_{side}": np.array(number, np.int32)
        for name, (names, numbers) in sides.items()
        for side, number in zip(names, numbers, strict=True)
    }


def operation_values(contract: Contract, op: Operation) -> Values:
    """All that is constant about an operation with one result.

    Scale, zero point and signedness of each quantized operand, by its name, and of the
    result, whose range an activation may narrow; and what the operation states itself.
    Raises QlowerError for what the contract has no arithmetic for.
    """
    values: Values = {"in_qdq": np.array(is_in_qdq(op))}
    for name, operand in named_operands(op):
        if isinstance(element_type(operand.type), QuantizedType):
            values |= element_values(name, operand.type)
    (result,) = op.results
    if isinstance(element_type(result.type), QuantizedType):
        values |= output_values(contract, result.type, _bounds_of(op))
        values |= element_values("output", result.type)
    match op:
        case qnn.BinaryOp():
            values |= _factor_values(op) | {"lhs_is_scalar": _lhs_is_scalar(op)}
        case qnn.MatMulOp():
            values |= _factor_values(op) | _matmul_values(contract, op)
        case qnn.ScaledOp():
            values["half_scales"] = np.array(op.half_scales)
        case qnn.LeakyReluOp():
            values["alpha"] = np.array(op.alpha, np.float32)
        case qnn.SoftmaxOp() | qnn.LogSoftmaxOp():
            values["beta"] = np.array(op.beta, np.float32)
            values["row_size"] = np.array(op.input.type.get_shape()[-1], np.int32)
        case qnn.AvgPool2DOp():
            values |= window_values(op, op.kernel) | {
                "window_size": np.array(math.prod(op.kernel), np.int32),
                "count_include_pad": np.array(op.count_include_pad),
            }
        case qnn.AdaptiveAvgPool2DOp():
            values |= _adaptive_avg_pool_values(op)
        case qnn.ReductionOp():
            values |= _reduced_values(op) | rounding_values(op)
        case _:
            pass
    return values


def is_in_qdq(op: Operation) -> bool:
    """Whether an operation is in a model that was read from QDQ form, in which scales
    and zero points are stated, not ranges."""
    top: Operation | None = op
    while top is not None and not isinstance(top, ModuleOp):
        top = top.parent_op()
    return top is not None and QDQ in top.attributes


def mapping_rule(op: Operation) -> str:
    """The rule of an operation on one element of each operand."""
    if isinstance(op, qnn.QnnOp):
        return op.rules[0]
    return "quantize" if isinstance(op, quant.QuantizeCastOp) else "dequantize"


def _bounds_of(op: Operation) -> tuple[float | None, float | None]:
    """The real bounds of an operation's result."""
    match op:
        case qnn.ReluOp() | qnn.Relu6Op():
            return qnn.ACTIVATION_BOUNDS[op.kind]
        case qnn.ClampOp():
            return op.min, op.max
        case qnn.ActivatedOp(activation=str(activation)):
            return qnn.ACTIVATION_BOUNDS[activation]
        case _:
            return None, None


def _matmul_values(contract: Contract, op: qnn.MatMulOp) -> Values:
    """The reach of a product of matrices, and whether its scales are of f16."""
    reach = accumulator_range(op)
    assert reach is not None
    is_half = quantized_element(op.result.type).expressed_type == f16
    if is_half and "half_scales" not in contract.rule("matmul").values:
        raise QlowerError(
            f"contract {contract.name} has no arithmetic for scales of f16", op.location
        )
    return {
        "half_scales": np.array(is_half),
        "accumulator_min": np.array(reach.minimum, np.int64),
        "accumulator_max": np.array(reach.maximum, np.int64),
    }


def _factor_values(op: qnn.MatMulOp | qnn.BinaryOp) -> Values:
    """Both operands by the names that a product has for them."""
    return {
        **operand_values("input", op.lhs.type),
        **operand_values("weight", op.rhs.type),
        "per_channel": np.array(False),
    }


def _lhs_is_scalar(op: qnn.BinaryOp) -> Array:
    """Whether the lhs has size 1 along the innermost dimension of the result that is
    larger than 1, or there is none."""
    lhs, result = op.lhs.type.get_shape(), op.result.type.get_shape()
    inner = next((n for n, size in enumerate(reversed(result)) if size > 1), None)
    return np.array(inner is None or inner >= len(lhs) or lhs[-1 - inner] == 1)


def position_values(shape: Sequence[int]) -> Values:
    """The position of each result of a tensor of `shape`, as far as it doesn't change
    with the other dimensions: the index along the last one."""
    channels = shape[-1] if shape else 1
    channel = np.arange(channels, dtype=np.int32)
    return {
        "channel": channel if channels > 1 else channel.reshape(()),
        "channel_count": np.array(channels, np.int32),
        "element_count": np.array(math.prod(shape), np.int32),
    }


def _adaptive_avg_pool_values(op: qnn.AdaptiveAvgPool2DOp) -> Values:
    """Size of each window, along (y, x, c), and the number of windows."""
    rows, columns = (
        np.array([len(window) for window in axis], np.int32) for axis in op.windows
    )
    height, width = rows[:, np.newaxis, np.newaxis], columns[:, np.newaxis]
    image = op.input.type.get_shape()[1:3]
    return {
        "kernel_height": height,
        "kernel_width": width,
        "count": height * width,
        "output_size": np.array(rows.size * columns.size, np.int32),
        "even_windows": np.array(rows.sum() * columns.sum() == math.prod(image)),
    }


def rounding_values(op: Operation) -> Values:
    """The rounding that an operation in place of a TOSA RESCALE asks for; for an
    inexact one, which may be either, single."""
    mode = op.attributes.get(TOSA_ROUNDING, _SINGLE_ROUND)
    modes = ("SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND")
    if not isinstance(mode, StringAttr) or mode.data not in modes:
        raise QlowerError(
            f"{TOSA_ROUNDING} {mode} is not one of {', '.join(modes)}", op.location
        )
    return {"double_round": np.array(mode.data == "DOUBLE_ROUND")}


def resize_positions(
    contract: Contract, op: qnn.ResizeOp
) -> Sequence[tuple[Array, ...]]:
    """The contract's positions for each row, and for each column, of a result: the
    nearest pixel, or two pixels, and the weight of the second."""
    sizes = zip(op.input.type.get_shape(), op.result.type.get_shape(), strict=True)
    return [
        contract.rule(f"resize_{op.mode}_position").evaluate_each(
            {
                "output_index": np.arange(output_size, dtype=np.int32),
                "input_size": np.array(input_size, np.int32),
                "output_size": np.array(output_size, np.int32),
                "align_corners": np.array(op.align_corners),
                "half_pixel_centers": np.array(op.half_pixel_centers),
                **operand_values("input", op.input.type),
            },
            (output_size,),
        )
        for input_size, output_size in list(sizes)[1:3]
    ]


def _reduced_values(op: qnn.ReductionOp) -> Values:
    """The number of values that are reduced to one, and the dimensions of this."""
    type = op.input.type
    assert isinstance(type, TensorType)
    shape = type.get_shape()
    over_image = len(shape) == 4 and sorted(op.axes) == [1, 2]
    return {
        "count": np.array(math.prod(shape[axis] for axis in op.axes), np.int32),
        "keep_dims": np.array(op.keep_dims),
        "over_image": np.array(over_image),
        "in_sequence": np.array(isinstance(op, qnn.MeanOp) and op.in_sequence),
    }


def _bound(contract: Contract, real: float, output: Values) -> int:
    (bound,) = contract.rule("bound").evaluate(
        {**output, "real": np.array(real, np.float32)}
    )
    return int(bound)
