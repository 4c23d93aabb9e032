"""SMT-LIB 2 text of functions that are terms of SMT-LIB (pass `arith-to-smt`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import smt
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.dialects.smtlib import ApplyOp, FloatType


@dataclass(frozen=True)
class Definitions:
    """The commands that define a function's steps, and the terms of its results."""

    lines: Sequence[str]
    results: Sequence[str]
    has_floats: bool


def bit_vector(value: int, width: int) -> str:
    """A number as a bit vector."""
    return f"(_ bv{value % (1 << width)} {width})"


def definitions(function: FuncOp, prefix: str, arguments: Sequence[str]) -> Definitions:
    """Each step of `function` as a constant `prefix` and a number, in order.

    `arguments` are the terms that it is applied to.
    """
    block = function.body.block
    names = dict[SSAValue, str](zip(block.args, arguments, strict=True))
    lines: list[str] = []
    has_floats = False
    for op in block.ops:
        operands = [names[operand] for operand in op.operands]
        match op:
            case ReturnOp():
                return Definitions(lines, operands, has_floats)
            case smt.BvConstantOp():
                names[op.result] = bit_vector(
                    op.value.value.data, op.value.type.width.data
                )
            case smt.ConstantBoolOp():
                names[op.result] = "true" if op.value else "false"
            case _:
                (result,) = op.results
                names[result] = f"{prefix}{len(lines)}"
                term = f"({_function(op)} {' '.join(operands)})"
                lines.append(
                    f"(define-fun {names[result]} () {sort(result.type)} {term})"
                )
                has_floats |= isinstance(result.type, FloatType)
    raise AssertionError("a verified function returns")


def _function(op: Operation) -> str:
    """SMT-LIB's name of what an operation applies."""
    if isinstance(op, ApplyOp):
        return op.function.data
    return op.name.removeprefix("smt.").replace(".", "")


def sort(type: Attribute) -> str:
    """A sort's name."""
    match type:
        case smt.BoolType():
            return "Bool"
        case smt.BitVectorType():
            return f"(_ BitVec {type.width.data})"
        case FloatType():
            return f"(_ FloatingPoint {type.exponent.data} {type.significand.data})"
        case _:
            raise AssertionError(f"{type} is no sort")
