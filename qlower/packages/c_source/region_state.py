"""The state while the operations of a region become C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue

from qlower.codegen.values.bounds import largest_magnitude
from qlower.diagnostics import QlowerError

from .helpers import Helpers


@dataclass
class RegionState:
    """One region being written: what is known of its values so far.

    `tables` gives the C expression of whole tensors, `index` that of a loop's counter.
    """

    helpers: Helpers
    tables: Mapping[SSAValue, str]
    index: Callable[[int], str]
    values: dict[SSAValue, str]
    bounds: dict[SSAValue, float]

    def magnitude(self, value: SSAValue) -> float:
        """A bound on |value|."""
        return largest_magnitude(value, self.bounds)


Expression = Callable[[RegionState, Operation, list[str]], str]
"""From an operation and the C expressions of its operands to that of its result."""


SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""C's comparison operators by the last letters of predicates."""


def without_c(op: Operation, what: str) -> QlowerError:
    return QlowerError(
        f"{what} has no form in C",
        op.location,
        help="the interpreter computes it: qlower run --executor interp",
    )


def type_of(op: Operation) -> Attribute:
    return op.results[0].type
