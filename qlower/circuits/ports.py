"""A contract's rule as a function of integers whose constants are arguments, too.

Steps that depend on scales, zero points and sizes alone are the driver's: what comes of
them, a multiplier or a shift, is an argument where a step of the device takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.circuits.functions import (
    Argument,
    LaneBody,
    annotate,
    first_real,
    identifier,
    port_name,
)
from qlower.contracts import Contract, Rule, contract_names, load_contract
from qlower.contracts.calls import value_name
from qlower.contracts.rules import RULES
from qlower.contracts.walk import walk_function
from qlower.diagnostics import QlowerError
from qlower.dialects import fixed
from qlower.dialects.types import integer_range
from qlower.interp import Array, make_interpreter

RULES_OF_CIRCUITS = (
    *("conv2d", "depthwise_conv2d", "linear", "matmul"),
    *("requantize", "clamp", "concat", "add", "sub", "mul"),
    *("avg_pool2d", "adaptive_avg_pool2d", "mean", "leaky_relu"),
)
"""Rules of a contract that become modules where no model is given."""

_AMOUNTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, fixed.ShiftRightOp)
_QUOTIENTS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)


@dataclass(frozen=True)
class OpenFunction:
    """A rule as a function: of what changes with the model's input, then of constants
    that the driver of a device computes."""

    contract: str
    rule_name: str
    function: func.FuncOp
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, eq=False)
class _Unknown:
    """A value that is known before the model runs, but not here; an integer of
    `limits`, which may be less than its type has."""

    type: Attribute
    name: str | None
    limits: tuple[int, int] | None = None


def open_function(
    contract: Contract, rule_name: str, *, unsigned: bool = False, bits: int = 32
) -> OpenFunction:
    """A rule's function for stored integers int8, or uint8 if `unsigned`, and
    accumulators of `bits` bits.

    Raises `QlowerError` for a rule with a step in floats on what changes with the
    input.
    """
    rule = contract.rule(rule_name)
    body = LaneBody({})
    stored = integer_range(8, not unsigned)
    signature = RULES[rule.name]
    arguments: list[Argument] = []
    values: list[SSAValue | _Unknown] = []
    for index, name in enumerate(rule.values):
        type = rule.function.function_type.inputs.data[index]
        if name not in signature.runtime or name == "element":
            values.append(_Unknown(type, value_name(rule.function, index)))
            continue
        values.append(body.argument(type, port_name(name)))
        limits = integer_range(bits) if name == "accumulator" else stored
        arguments.append(_between(port_name(name), *limits))
    work = _Opening(contract.name, rule, body)
    results = [
        work.value(one, None) for one in walk_function(rule.function, values, work.run)
    ]
    real = first_real(body)
    if real is not None or any(
        not isinstance(one.type, IntegerType) for one in (*results, *body.arguments)
    ):
        raise QlowerError(
            f"rule {rule.name} of contract {contract.name} computes in floats"
            + ("" if real is None else f" ({real.name})")
            + ", a circuit has integers only"
        )
    name = identifier(f"{contract.name}_{rule.name}")
    function = body.function(name, results)
    for unknown, argument in work.ports():
        assert argument.name_hint is not None
        limits = _limits(argument, unknown, stored)
        arguments.append(_between(argument.name_hint, *limits))
    annotate(function, arguments)
    return OpenFunction(contract.name, rule.name, function, tuple(arguments))


def integer_contracts(rule_name: str) -> list[str]:
    """The contracts that come with qlower whose rule computes in integers alone."""
    found: list[str] = []
    for name in contract_names():
        try:
            open_function(load_contract(name), rule_name)
        except QlowerError:
            continue
        found.append(name)
    return found


def _between(name: str, low: int, high: int) -> Argument:
    return Argument(name, np.array([low]), np.array([high]))


def _limits(
    argument: SSAValue, unknown: _Unknown, stored: tuple[int, int]
) -> tuple[int, int]:
    """The integers for which a port's steps have results; all of the type where each
    has one. Zero points and bounds are stored integers."""
    name, type = unknown.name or "", unknown.type
    if name.endswith("_zero_point") or name in ("output_min", "output_max"):
        return stored
    assert isinstance(type, IntegerType)
    low, high = unknown.limits or integer_range(type.bitwidth)
    for use in argument.uses:
        if isinstance(use.operation, _AMOUNTS) and use.index == 1:
            low, high = max(low, 0), min(high, type.bitwidth - 1)
        if isinstance(use.operation, _QUOTIENTS) and use.index == 1:
            low = max(low, 1)
    return low, high


class _Opening:
    """Appends the steps that change with the input to a body."""

    def __init__(self, contract: str, rule: Rule, body: LaneBody) -> None:
        self._contract, self._rule, self._body = contract, rule, body
        self._interpreter = make_interpreter(ModuleOp([]))
        self._ports: dict[_Unknown, SSAValue] = {}

    def run(
        self, op: Operation, operands: Sequence[SSAValue | _Unknown | Array]
    ) -> Sequence[SSAValue | _Unknown | Array]:
        """The result of an operation: a number, an unknown one, or a step of the
        body."""
        if not any(isinstance(one, SSAValue) for one in operands):
            known = [
                one for one in operands if not isinstance(one, _Unknown | SSAValue)
            ]
            if len(known) == len(operands):
                return self._interpreter.run_op(op, tuple(known))
            return self._unknown(op, operands[0])
        if isinstance(op, cf.AssertOp):
            raise QlowerError(
                "an assertion of a rule depends on the input", op.location
            )
        values = [
            self.value(one, operand.type)
            for one, operand in zip(operands, op.operands, strict=True)
        ]
        mapped = dict(zip(op.operands, values, strict=True))
        copy = op.clone(mapped)
        return self._body.add(copy).results

    @staticmethod
    def _unknown(op: Operation, first: object) -> Sequence[_Unknown]:
        """The result of an operation on unknown operands; widened ones keep their
        narrower type."""
        limits = first.limits if isinstance(first, _Unknown) else None
        if isinstance(op, arith.ExtSIOp | arith.ExtUIOp):
            source = op.operands[0].type
            assert isinstance(source, IntegerType)
            signed = isinstance(op, arith.ExtSIOp)
            limits = limits or integer_range(source.bitwidth, signed)
            name = first.name if isinstance(first, _Unknown) else None
            return [_Unknown(op.result.type, name, limits)]
        return [_Unknown(result.type, None) for result in op.results]

    def value(
        self, one: SSAValue | _Unknown | Array, type: Attribute | None
    ) -> SSAValue:
        """A value of the body."""
        if isinstance(one, SSAValue):
            return one
        if isinstance(one, _Unknown):
            if one not in self._ports:
                self._ports[one] = self._body.argument(one.type, one.name)
            return self._ports[one]
        assert type is not None, "a rule's result changes with the input"
        return self._body.constant(one, type)

    def ports(self) -> Sequence[tuple[_Unknown, SSAValue]]:
        """The ports in order, each with a name of its own."""
        self._body.name_arguments(list(self._ports.values()))
        return list(self._ports.items())
