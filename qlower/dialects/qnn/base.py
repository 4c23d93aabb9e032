"""The common parts of `qnn` ops: their text, and the constraints on their types and
properties."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ShapedType,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..integers import integers
from ..operations import BracedOp
from .constraints import Value
from .fields import (
    Setting,
    contract_field,
    integers_field,
    optional_word_field,
    properties_of,
)


class QnnOp(BracedOp, ABC):
    """
    An op on quantized tensors. `contract` names the numerics contract that gives it its
    arithmetic, where that is not the module's.

    Lists of integers are written `[1, 1]` and read as `array<i64: 1, 1>` as well.
    """

    contract = contract_field(allow_file=True)

    def __init__(
        self,
        *values: Value | Attribute | Sequence[Value] | Sequence[Attribute] | None,
        **fields: Setting,
    ) -> None:
        """`values` are the operands, then the types of the results, each in the order
        of their definitions: a sequence where there are several, None for an operand
        that is left out. Raises TypeError for a field that the op doesn't have."""
        operands = len(self.get_irdl_definition().operands)
        super().__init__(
            operands=cast(Sequence[Value], values[:operands]),
            result_types=cast(Sequence[Attribute], values[operands:]),
            properties=properties_of(type(self), fields),
        )

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that a contract needs for the op, that of its result first.

        What parameters decide is part of that, what the contract's own functions ask
        for (a bias in another form) is not. None for an op that moves stored values.
        """
        return (self.kind,)

    @classmethod
    def parse_entries(cls, parser: Parser) -> Mapping[str, Attribute]:
        start = parser.pos
        entries = parser.parse_optional_attr_dict()
        for name in entries.keys() & cls.get_irdl_definition().properties:
            value = entries[name]
            if isa(value, ArrayAttr[IntegerAttr]):
                entries[name] = integers([item.value.data for item in value])
            elif isinstance(value, ArrayAttr):
                parser.raise_error(f"{name} {value} is not a list of integers", start)
            elif isa(value, FloatAttr[Float64Type]):
                entries[name] = FloatAttr(value.value.data, f32)
        return entries

    @classmethod
    def property_text(cls, value: Attribute) -> str | None:
        if isa(value, DenseArrayBase[IntegerType]):
            return str(list(value.get_values()))
        if isa(value, IntegerAttr[IntegerType]) and value.type == i64:
            return str(value.value.data)
        return None


class MovingOp(QnnOp, ABC):
    """An op that moves or selects stored values, in which nothing is rounded."""

    @property
    def rules(self) -> tuple[str, ...]:
        return ()


ACTIVATION_BOUNDS: Mapping[str | None, tuple[float | None, float | None]] = {
    None: (None, None),
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
}
"""The real bounds of each fused activation."""


class ActivatedOp(QnnOp, ABC):
    """
    An op with an optional fused activation: its real result is clamped to [0, inf)
    (`relu`), [0, 6] (`relu6`) or [-1, 1] (`relu_n1_to_1`) before it is quantized.
    """

    activation = optional_word_field(*filter(None, ACTIVATION_BOUNDS))

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.kind,) if self.activation is None else (self.kind, "bound")


class WindowOp(ActivatedOp, ABC):
    """
    An op whose result (y, x) reads the input's rows
    `y * stride[0] - pad[0] + dilation[0] * k` for 0 <= k < kernel rows, and columns
    likewise; what lies outside of the image is padding.
    """

    stride = integers_field(1, length=2, initial=(1, 1))
    """Steps down and right between windows, (height, width)."""
    pad = integers_field(0, length=4, initial=(0, 0, 0, 0))
    """Padding (top, bottom, left, right)."""


def check_shape(name: str, actual: Sequence[int], expected: Sequence[int]) -> None:
    """Refuses a value whose shape is not what the other operands make it."""
    if tuple(actual) != tuple(expected):
        raise VerifyException(
            f"shape {list(actual)} of {name} does not match the expected "
            f"{list(expected)}"
        )


def check_broadcast(name: str, shape: Sequence[int], result: Sequence[int]) -> None:
    """Refuses a value that doesn't broadcast to the result's shape, as numpy's."""
    pairs = zip(reversed(shape), reversed(result), strict=False)
    if len(shape) > len(result) or any(n not in (1, size) for n, size in pairs):
        raise VerifyException(
            f"shape {list(shape)} of {name} does not broadcast to {list(result)}"
        )


def check_same_shape(input: ShapedType, result: ShapedType) -> None:
    """Refuses a result of another shape than the input has."""
    check_shape("result", result.get_shape(), input.get_shape())


def check_same_quantization(
    name: str, type: TensorType[Attribute], expected: TensorType[Attribute]
) -> None:
    """Refuses a value of an op that only moves stored values if they change meaning."""
    if type.element_type != expected.element_type:
        raise VerifyException(
            f"quantization {type.element_type} of {name} differs from the "
            f"{expected.element_type} of input"
        )
