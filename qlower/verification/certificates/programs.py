"""A contract's rules as straight lines of a few kinds of steps, for the checker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from qlower.contracts import Contract, Rule
from qlower.contracts.walk import walk_function
from qlower.diagnostics import QlowerError
from qlower.dialects import fixed

STEPS: Mapping[str, str] = {
    **{"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"},
    **{"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul"},
    **{"arith.divsi": "divide", "arith.divui": "divide_unsigned"},
    **{"arith.divf": "divide_float", "arith.negf": "neg"},
    **{"arith.shli": "left", "arith.shrui": "right_unsigned", "arith.shrsi": "right"},
    **{"arith.andi": "and_", "arith.ori": "or_", "arith.xori": "xor"},
    **{"arith.maxsi": "max", "arith.minsi": "min", "arith.select": "select"},
    **{"arith.maximumf": "max_float", "arith.minimumf": "min_float"},
    **{"arith.extsi": "cast", "arith.extui": "cast", "arith.trunci": "cast"},
    **{"arith.extf": "cast", "arith.truncf": "cast", "arith.sitofp": "cast"},
    **{"arith.bitcast": "bits", "math.absf": "abs", "math.absi": "abs"},
    **{"math.ctlz": "zeros", "cf.assert": "assert", "fixed.shift_right": "right"},
    **{"fixed.saturate": "saturate", "fixed.convert": "round"},
}
"""The checker's names of operations; a comparison is named after its predicate."""

INTEGER_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
FLOAT_ORDERS = ("", "eq", "gt", "ge", "lt", "le")
"""The checker's names of predicates, by their numbers in MLIR."""


def programs_text(contract: Contract, rules: Sequence[str]) -> str:
    """`rules` of a contract as JSON, a step a line."""
    found = json.dumps({name: program(contract.rule(name)) for name in rules})
    return found.replace(']], ["', ']],\n["').replace("}, ", "},\n") + "\n"


def program(rule: Rule) -> Mapping[str, object]:
    """The arguments, the constants, the steps and the number of the result of a rule.

    Its values have numbers: arguments, constants, then what each step but an assertion
    gives. A step is its name, its rounding, the type of its last operand, the type that
    it makes, and the numbers of its operands. Raises QlowerError for an operation that
    the checker doesn't have.
    """
    types = [str(type) for type in rule.function.function_type.inputs.data]
    constants: list[float] = []
    steps: list[list[object]] = []

    def collect(op: Operation, operands: Sequence[None]) -> Sequence[None]:
        if isinstance(op, arith.ConstantOp):
            constants.append(_number(op.value))
        return [None] * len(op.results)

    walk_function(rule.function, [None] * len(types), collect)
    of_constants = count(len(types))
    of_steps = count(len(types) + len(constants))

    def run(op: Operation, operands: Sequence[int]) -> Sequence[int]:
        if isinstance(op, arith.ConstantOp):
            return [next(of_constants)]
        given = str(op.operands[-1].type)
        made = str(op.results[0].type) if op.results else given
        steps.append([*_name(op), given, made, list(operands)])
        if isinstance(op, cf.AssertOp):
            return []
        number = next(of_steps)
        if isinstance(op, arith.ExtSIOp) and given == "i1":  # true is 1 here, not -1
            steps.append(["neg", "", made, made, [number]])
            number = next(of_steps)
        return [number]

    (result,) = walk_function(rule.function, range(len(types)), run)
    arguments = list(zip(rule.values, types, strict=True))
    parts = {"arguments": arguments, "constants": constants, "steps": steps}
    return {**parts, "result": result}


def _name(op: Operation) -> tuple[str, str]:
    """The checker's name of an operation, and how it rounds."""
    if isinstance(op, arith.CmpiOp | arith.CmpfOp):
        orders = INTEGER_ORDERS if isinstance(op, arith.CmpiOp) else FLOAT_ORDERS
        predicate = op.predicate.value.data
        name = orders[predicate] if predicate < len(orders) else ""
    elif isinstance(op, arith.ExtUIOp) and str(op.operands[0].type) != "i1":
        name = ""
    else:
        name = STEPS.get(op.name, "")
    if not name:
        raise QlowerError(f"the checker has no {op.name} of this kind", op.location)
    if isinstance(op, fixed.ShiftRightOp | fixed.ConvertOp):
        return name, str(op.rounding.data)
    return name, "floor" if isinstance(op, arith.ShRSIOp) else ""


def _number(value: Attribute) -> float:
    """A constant's number; true is 1."""
    if isa(value, IntegerAttr[IntegerType | IndexType]):
        number = value.value.data
        return number & 1 if str(value.type) == "i1" else number
    assert isa(value, FloatAttr[AnyFloat]), "a scalar's constant"
    number = value.value.data
    return float(np.float32(number)) if str(value.type) == "f32" else number
