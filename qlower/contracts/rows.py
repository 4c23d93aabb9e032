"""Helpers of a contract that look at all elements of a row: sums, folds, statistics.

    func.func private @larger(%so_far: f32, %input: f32) -> f32
        attributes {contract.rows = "fold"} {

A rule on rows gives the result for one element. Calls of such a helper give what it
makes of the whole row (a window, or the elements along some dimensions):

- `fold`: the helper on each element in turn. Its first arguments, as many as results,
  are what it gave before: at first what the call gives.
- an order of `qlower.operators.orders`: the sum of the helper's results. Of a list the
  helper `contract.choice` chooses, by index.
- `row`: the helper once for each row, from what other helpers make of that.
- `each`: the helper once for each element, which is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    Float64Type,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues, impl_callable, register_impls
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from qlower.contracts.calls import value_name
from qlower.contracts.walk import ROWS
from qlower.diagnostics import QlowerError
from qlower.interp import evaluate_function, make_interpreter
from qlower.interp.func import FuncFunctions
from qlower.interp.ordered_sums import ArraySums
from qlower.interp.values import Array
from qlower.operators.orders import ELEMENT_ORDERS, Order

CHOICE = "contract.choice"
"""The attribute of a helper that names another, which chooses its order."""

FOLD, ROW, EACH = "fold", "row", "each"
WHOLE_ROWS = (FOLD, ROW, EACH)
"""Uses of rows other than sums."""

Values = Mapping[str, Array]


def kinds_of(helper: FuncOp) -> tuple[str, ...]:
    """The use that a helper makes of a row: a word, or the orders to choose from."""
    attribute = helper.attributes[ROWS]
    entries = attribute.data if isa(attribute, ArrayAttr) else (attribute,)
    return tuple(entry.data for entry in entries if isinstance(entry, StringAttr))


def check_rows(helper: FuncOp) -> None:
    """Refuse a helper on rows that isn't one of their kinds."""
    if ROWS not in helper.attributes:
        return
    name, kinds = helper.sym_name.data, kinds_of(helper)
    legal = (*ELEMENT_ORDERS, *(() if len(kinds) > 1 else WHOLE_ROWS))
    if not kinds or any(kind not in legal for kind in kinds):
        raise QlowerError(
            f"{ROWS} {helper.attributes[ROWS]} of function {name} is not one of"
            f" {', '.join(legal)}",
            helper.location,
        )
    if len(kinds) > 1 and not isinstance(helper.attributes.get(CHOICE), SymbolRefAttr):
        raise QlowerError(
            f"function {name} has {len(kinds)} orders and no {CHOICE}", helper.location
        )
    types = helper.function_type
    results, count = types.outputs.data, len(types.outputs)
    fits = len(set(results)) == 1 and isinstance(results[0], Float32Type | Float64Type)
    if kinds[0] == FOLD:
        fits = fits and types.inputs.data[:count] == results
    else:
        fits = fits and count == 1
    if not fits:
        raise QlowerError(
            f"function {name} has {ROWS} {kinds[0]!r}, and does not take and give"
            " floats as that does",
            helper.location,
        )


def order_of(helper: FuncOp, values: Values) -> tuple[str, Order]:
    """The name of a sum's order, and the order, by the constants of an operation."""
    kinds = kinds_of(helper)
    if len(kinds) == 1:
        return kinds[0], ELEMENT_ORDERS[kinds[0]]
    symbol = helper.attributes[CHOICE]
    assert isinstance(symbol, SymbolRefAttr)
    chooser = SymbolTable.lookup_symbol(helper, symbol)
    if not isinstance(chooser, FuncOp):
        raise QlowerError(f"there is no function {symbol}", helper.location)
    names = [value_name(chooser, n) for n in range(len(chooser.body.block.args))]
    (choice,) = evaluate_function(chooser, [values[str(name)] for name in names])
    if not 0 <= int(choice) < len(kinds):
        raise QlowerError(
            f"{chooser.sym_name.data} gives {choice}, {helper.sym_name.data} has"
            f" {len(kinds)} orders",
            chooser.location,
        )
    return kinds[int(choice)], ELEMENT_ORDERS[kinds[int(choice)]]


def evaluate_rows(
    function: FuncOp, names: Sequence[str], values: Values
) -> tuple[tuple[Array, ...], dict[str, Array]]:
    """The results of a rule on rows, and those of its helpers, by name.

    Arrays have the elements of a row along their last dimension, or 1 where a value is
    one for the whole row.
    """
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    interpreter = make_interpreter(module)
    functions = _RowFunctions(values)
    interpreter.register_implementations(functions, override=True)
    arguments = tuple(np.asarray(values[name]) for name in names)
    return interpreter.call_op(function, arguments), functions.found


@register_impls
@dataclass
class _RowFunctions(FuncFunctions):
    """Calls of functions, some of which look at rows."""

    values: Values
    found: dict[str, Array] = field(default_factory=dict[str, Array])

    @impl_callable(FuncOp)
    def call_func(
        self, interpreter: Interpreter, op: FuncOp, args: PythonValues
    ) -> PythonValues:
        if ROWS not in op.attributes:
            return super().call_func(interpreter, op, args)
        kind = kinds_of(op)[0]
        if kind == FOLD:
            results = self._folded(interpreter, op, args)
        else:
            results = super().call_func(interpreter, op, args)
        if kind in ELEMENT_ORDERS:
            results = (self._summed(op, results[0]),)
        self.found[op.sym_name.data] = results[0]
        return results

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.values["input"].shape

    def _folded(
        self, interpreter: Interpreter, op: FuncOp, args: PythonValues
    ) -> PythonValues:
        count = len(op.function_type.outputs)
        state, others = args[:count], args[count:]
        for place in range(self._shape[-1]):
            here = [
                other[..., place : place + 1]
                if other.ndim and other.shape[-1] > 1
                else other
                for other in others
            ]
            state = super().call_func(interpreter, op, (*state, *here))
        return state

    def _summed(self, op: FuncOp, terms: Array) -> Array:
        _, order = order_of(op, self.values)
        whole = np.broadcast_to(terms, self._shape)
        sums = ArraySums([whole] * (1 + order.squares), self._shape[-1:])
        sums.columns = int(self.values.get("kernel_width", 1))
        return sums.ordered(order)[..., np.newaxis]
