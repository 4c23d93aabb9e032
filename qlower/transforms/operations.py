"""Operations that are made one after another and inserted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.model.nests import constant


@dataclass
class Operations:
    """Scalar operations with one result each, in order and in no block yet."""

    ops: list[Operation] = field(default_factory=list[Operation])

    def add(self, op: Operation) -> SSAValue:
        """Append `op`; its result."""
        self.ops.append(op)
        return op.results[0]

    def make(
        self, kind: type[Operation], operands: Sequence[SSAValue], type: Attribute
    ) -> SSAValue:
        """Append an operation that its operands and its result's type decide: its class
        would first ask what each is, for three times as long."""
        return self.add(kind.create(operands=operands, result_types=[type]))

    def integer(self, value: int, type: IntegerType = i32) -> SSAValue:
        """Append a constant, whose signed number is `value`."""
        return self.add(constant(IntegerAttr(value, type)))


def insert_at(
    point: InsertPoint, ops: Sequence[Operation], location: LocationAttr
) -> None:
    """Insert `ops` in order, and give all of them a location."""
    for op in ops:
        op.location = location
    Rewriter.insert_op(ops, point)
