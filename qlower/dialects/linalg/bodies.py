"""The computation of a named `linalg` op on one element of each operand.

The operations and their order are those that upstream gives the op's hidden region,
which its generic form shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

Body: TypeAlias = Callable[["BodyBuilder", Sequence[SSAValue]], SSAValue]
"""From the elements of the operands, the result's last, to the result's next one."""

Make: TypeAlias = Callable[..., Operation]
"""Makes an operation of its operands, or of an operand and the result's type."""

Operations: TypeAlias = tuple[Make | None, Make | None]
"""Constructors of the operation on integers and on floats; None where there is none."""

ARITHMETIC: Mapping[str, Operations] = {
    "abs": (None, math.AbsFOp),
    "add": (arith.AddiOp, arith.AddfOp),
    "ceil": (None, math.CeilOp),
    "div": (arith.DivSIOp, arith.DivfOp),
    "div_unsigned": (arith.DivUIOp, None),
    "floor": (None, math.FloorOp),
    "max": (arith.MaxSIOp, arith.MaximumfOp),
    "max_unsigned": (arith.MaxUIOp, None),
    "min": (arith.MinSIOp, arith.MinimumfOp),
    "min_unsigned": (arith.MinUIOp, None),
    "mul": (arith.MuliOp, arith.MulfOp),
    "negf": (None, arith.NegfOp),
    "round": (None, math.RoundOp),
    "sqrt": (None, math.SqrtOp),
    "sub": (arith.SubiOp, arith.SubfOp),
}
"""Functions of numbers of one type, by what ops are called after them."""


class BodyBuilder:
    """A region under construction, whose result has the type `type`."""

    def __init__(self, block: Block, type: Attribute, is_unsigned: bool) -> None:
        if not isa(type, IntegerType | AnyFloat) or type == IntegerType(1):
            raise VerifyException(f"results of {type} aren't supported")
        self._block = block
        self._type = type
        self._is_unsigned = is_unsigned

    def compute(self, function: str, *values: SSAValue) -> SSAValue:
        """A function of `ARITHMETIC`."""
        types = {value.type for value in values}
        if types != {self._type}:
            raise VerifyException(
                f"elements of {', '.join(str(value.type) for value in values)}; "
                f"all must be of {self._type}"
            )
        operation = ARITHMETIC[function][isa(self._type, AnyFloat)]
        if operation is None:
            raise VerifyException(f"{function} has no meaning on {self._type}")
        return self._add(operation(*values))

    def cast(self, value: SSAValue) -> SSAValue:
        """A number as one of the result's type."""
        if value.type == self._type:
            return value
        convert = _conversion(value.type, self._type, self._is_unsigned)
        return self._add(convert(value, self._type))

    def select(self, condition: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
        if condition.type != IntegerType(1) or one.type != other.type:
            raise VerifyException(
                f"selects by {condition.type} between {one.type} and {other.type}"
            )
        return self._add(arith.SelectOp(condition, one, other))

    def _add(self, operation: Operation) -> SSAValue:
        self._block.add_op(operation)
        return operation.results[0]


def _conversion(source: Attribute, target: Attribute, is_unsigned: bool) -> Make:
    match source, target:
        case IntegerType(), IntegerType():
            if source.width.data > target.width.data:
                return arith.TruncIOp
            return arith.ExtUIOp if is_unsigned else arith.ExtSIOp
        case IntegerType(), _:
            return arith.UIToFPOp if is_unsigned else arith.SIToFPOp
        case _:
            raise VerifyException(f"{source} isn't turned into {target}")


def product(body: BodyBuilder, elements: Sequence[SSAValue]) -> SSAValue:
    """`c + a * b`, in the type of c."""
    a, b, c = elements
    return body.compute("add", c, body.compute("mul", body.cast(a), body.cast(b)))


def centred_product(body: BodyBuilder, elements: Sequence[SSAValue]) -> SSAValue:
    """`c + (a - a_zero) * (b - b_zero)`, in the type of c."""
    a, b, a_zero, b_zero, c = elements
    left = body.compute("sub", body.cast(a), body.cast(a_zero))
    right = body.compute("sub", body.cast(b), body.cast(b_zero))
    return body.compute("add", c, body.compute("mul", left, right))


def reducing(function: str) -> Body:
    """`function(c, a)` over a window, in the type of c."""

    def compute(body: BodyBuilder, elements: Sequence[SSAValue]) -> SSAValue:
        a, _window, c = elements
        return body.compute(function, c, body.cast(a))

    return compute


def elementwise(function: str) -> Body:
    """A function of the inputs."""
    return lambda body, elements: body.compute(function, *elements[:-1])


def copy(body: BodyBuilder, elements: Sequence[SSAValue]) -> SSAValue:
    """The input, in the type of the result."""
    return body.cast(elements[0])


def select(body: BodyBuilder, elements: Sequence[SSAValue]) -> SSAValue:
    """The second input where the first is true, else the third."""
    condition, one, other, _ = elements
    return body.select(condition, one, other)
