"""A contract's rule as a function of scalars: a straight line of `arith` and `math`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import FunctionType, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue

from qlower.contracts import Rule
from qlower.diagnostics import QlowerError
from qlower.emit.inline_rule import inline_rule
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Nest
from qlower.text.hints import set_hint


class ScalarBody(Nest):
    """The body of a function of scalars: a nest without loops."""

    def __init__(self) -> None:
        super().__init__(Emitter(self._outside, UnknownLoc()), ())

    def _outside(self, op: Operation) -> None:
        """An operation that other nests have outside of their loops."""
        raise QlowerError(f"{op.name} has no place in a function of scalars")

    def argument(self, type: Attribute, name: str | None = None) -> BlockArgument:
        """Append an argument."""
        found = self._block.insert_arg(type, len(self._block.args))
        set_hint(found, name)
        return found

    def function(self, name: str, results: Sequence[SSAValue]) -> FuncOp:
        """The function that returns `results`."""
        self._block.add_op(ReturnOp(*results))
        inputs = [argument.type for argument in self._block.args]
        type = FunctionType.from_lists(inputs, [result.type for result in results])
        return FuncOp(name, type, Region(self._block))


def function_of_rule(
    name: str,
    rule: Rule,
    constants: Mapping[str, Array],
    arguments: Sequence[Attribute],
    runtime: Callable[[ScalarBody, Sequence[SSAValue]], Mapping[str, SSAValue]],
) -> FuncOp:
    """`rule` for scalar `constants`; `runtime` makes its other values of arguments of
    the given types.

    Raises QlowerError where the rule looks up a table.
    """
    body = ScalarBody()
    values = runtime(body, [body.argument(type) for type in arguments])
    return body.function(name, inline_rule(rule, values, constants, body))
