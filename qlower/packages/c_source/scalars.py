"""A region's scalar operations as C: one table, from op name to expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Operation, Region, SSAValue

from qlower.codegen.values.bounds import constant_value, of_arguments
from qlower.diagnostics import QlowerError
from qlower.dialects.types import tensor_type

from .c_types import bits_of, c_type, loaded, real_of
from .floats import FLOATS, real_constant
from .helpers import Helpers
from .integers import INTEGERS
from .literals import integer
from .region_state import Expression, RegionState, type_of, without_c


@dataclass
class Scalars:
    """Writes the values that regions compute inside of one C function.

    `tables` gives the C expression of whole tensors, `index` that of a loop's counter.
    """

    helpers: Helpers
    tables: Mapping[SSAValue, str]
    index: Callable[[int], str]
    taken: set[str] = field(default_factory=set[str])

    def name(self, hint: str | None) -> str:
        """A name of this function's that isn't taken, after a hint from the IR."""
        base = re.sub(r"\W+", "_", hint or "t", flags=re.ASCII).strip("_")[:40] or "t"
        base = base if base[0].isalpha() else f"t{base}"
        base = base.rstrip("0123456789").rstrip("_") or "t"
        number = 0
        while f"{base}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{base}_{number}")
        return f"{base}_{number}"

    def region(
        self,
        region: Region,
        arguments: Sequence[str | None],
        magnitudes: Sequence[float],
    ) -> tuple[list[str], list[str]]:
        """Statements, and the expressions of what the region yields.

        No integer among the first arguments is greater than its entry of `magnitudes`.
        """
        block = region.block
        values, bounds = of_arguments(block, arguments, magnitudes)
        step = RegionState(self.helpers, self.tables, self.index, values, bounds)
        *operations, last = block.ops
        lines = [line for op in operations if (line := self._statement(step, op))]
        results = [values[operand] for operand in last.operands]
        return list(_used(lines, results))[::-1], results

    def _statement(self, step: RegionState, op: Operation) -> str | None:
        """The statement of an operation; constants are written where they are used."""
        try:
            expression = EXPRESSIONS.get(op.name)
            if expression is None:
                raise without_c(op, f"operation {op.name}")
            texts = [
                "" if isinstance(operand.type, TensorType) else step.values[operand]
                for operand in op.operands
            ]
            result = op.results[0]
            type = c_type(result.type)
            text = expression(step, op, texts)
        except QlowerError as error:
            raise _at(error, op) from error
        if isinstance(op, arith.ConstantOp):
            step.values[result] = text
            return None
        step.values[result] = self.name(result.name_hint)
        return f"const {type} {step.values[result]} = {text};"


def _used(lines: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    """The statements, from the last, whose values something uses."""
    used = set(_NAMES.findall(" ".join(results)))
    for line in reversed(lines):
        if _NAMES.findall(line.split(" = ")[0])[-1] in used:
            used |= {*_NAMES.findall(line)}
            yield line


_NAMES = re.compile(r"[A-Za-z_]\w*")


def _at(error: QlowerError, op: Operation) -> QlowerError:
    """The error at the operation, if it has no place yet."""
    if error.location is not None:
        return error
    return QlowerError(error.message, op.location, notes=error.notes, help=error.help)


def _constant(step: RegionState, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.ConstantOp)
    match op.value:
        case IntegerAttr(value=value):
            if bits_of(type_of(op)) == 1:
                return "true" if value.data else "false"
            return integer(value.data)
        case FloatAttr(value=value):
            return real_constant(step.helpers, value.data, real_of(type_of(op)))
        case _:
            raise QlowerError("a constant in a loop nest must be a number", op.location)


def _select(step: RegionState, op: Operation, v: list[str]) -> str:
    return f"{v[0]} ? {v[1]} : {v[2]}"


def _loop_index(step: RegionState, op: Operation, v: list[str]) -> str:
    dim = op.properties["dim"]
    assert isinstance(dim, IntegerAttr)
    return f"(int64_t){step.index(dim.value.data)}"


def _extract(step: RegionState, op: Operation, v: list[str]) -> str:
    """An element of a table; where an index isn't known to be inside, it is clamped."""
    table = op.operands[0]
    element = ""
    for index, text, size in zip(
        op.operands[1:], v[1:], tensor_type(table).get_shape(), strict=True
    ):
        if not _is_below(index, size):
            text = f"{step.helpers.inside()}({text}, {size}u)"
        element = text if not element else f"({element}) * {size} + {text}"
    return loaded(type_of(op), f"{step.tables[table]}[{element or '0'}]")


def _is_below(index: SSAValue, size: int) -> bool:
    """Whether an index is a number, or the code of one, that a table is large enough
    for."""
    owner = index.owner
    if isinstance(owner, arith.ConstantOp):
        return 0 <= constant_value(index) < size
    if isinstance(owner, arith.IndexCastOp):
        owner = owner.input.owner
    return isinstance(owner, arith.ExtUIOp) and (1 << bits_of(owner.input.type) <= size)


EXPRESSIONS: dict[str, Expression] = {
    **INTEGERS,
    **FLOATS,
    "arith.constant": _constant,
    "arith.select": _select,
    "kernel.index": _loop_index,
    "tensor.extract": _extract,
}
"""Everything that C can compute."""
