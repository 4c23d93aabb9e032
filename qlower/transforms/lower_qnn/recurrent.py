"""An LSTM as nests, step after step: sums for each gate, then cell and state."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.contracts.recurrent_values import (
    lstm_gate_values,
    lstm_state_values,
    svdf_state_values,
    svdf_values,
)
from qlower.dialects import qnn
from qlower.dialects.kernel import ScanOp
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.sums import Factor, multiply_accumulate, sum_products
from qlower.emit.tensors import storage_type
from qlower.model.nests import Nest
from qlower.operators.sums import Sums, matrix_rows
from qlower.transforms.lower_qnn.bias import accumulator_type
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_lstm(lowering: Lowering, op: qnn.LstmOp) -> Sequence[SSAValue]:
    """Lower an LSTM: the sums of all inputs together, loops (b, t, g*u | i); at each
    step the sums of the state, loops (b, g*u | k), the gates, loops (b, g, u), then
    cell and state."""
    batch, steps, units = shape_of(op.result)
    wide = accumulator_type(op.input)
    bias = lowering.value(op.bias)
    start = Nest(lowering.emit, (batch, steps, len(qnn.GATES) * units))
    biases = start.build_one(start.input(bias, [2]))
    of_inputs = _sums(
        lowering, lowering.value(op.input), op.input, op.input_weight, biases
    )
    of_inputs = lowering.reshape(of_inputs, (batch, steps, len(qnn.GATES), units))
    state, cell = lowering.value(op.state), lowering.value(op.cell)
    states = lowering.emit.empty(
        shape_of(op.result), storage_type(op.result.type.element_type)
    )
    for step in range(steps):
        zeros = lowering.emit.filled((batch, len(qnn.GATES) * units), wide, 0)
        of_state = _sums(lowering, state, op.state, op.state_weight, zeros)
        of_state = lowering.reshape(of_state, (batch, len(qnn.GATES), units))
        gates = _gates(lowering, op, of_inputs, step, of_state)
        cell, state = _step(lowering, op, gates, cell)
        part = lowering.reshape(state, (batch, 1, units))
        states = lowering.emit.inserted(part, states, (0, step, 0))
    return states, state, cell


def _sums(
    lowering: Lowering,
    stored: SSAValue,
    source: SSAValue,
    weight: SSAValue,
    init: SSAValue,
) -> SSAValue:
    """Rows of stored integers of the type of `source` times weights [O, K], added to
    `init`; exact modulo 2^32 or 2^64, as that has bits."""
    return sum_products(
        lowering.emit,
        Sums(matrix_rows(len(shape_of(stored)))),
        (
            Factor.quantized(stored, source),
            Factor.quantized(lowering.value(weight), weight),
        ),
        lambda shape, channels: init,
    )


def _gates(
    lowering: Lowering,
    op: qnn.LstmOp,
    of_inputs: SSAValue,
    step: int,
    of_state: SSAValue,
) -> SSAValue:
    """The gates [B, G, U] of a step: of its own sum among those of all inputs
    [B, T, G, U], and of the last state [B, G, U]."""
    nest = Nest(lowering.emit, shape_of(of_state))
    runtime = {
        "input_sum": nest.input(of_inputs, (0, AffineConstantExpr(step), 1, 2)),
        "state_sum": nest.input(of_state, (0, 1, 2)),
    }
    gate = lowering.apply_rule(nest, op.rules[-1], runtime, lstm_gate_values(op))
    return nest.build_one(gate)


def _step(
    lowering: Lowering, op: qnn.LstmOp, gates: SSAValue, cell: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The new cell and the new state."""
    nest = Nest(lowering.emit, shape_of(op.state))
    old = nest.input(cell, (0, 1))
    values: dict[str, SSAValue] = {
        f"{name}_gate": nest.input(gates, (0, AffineConstantExpr(number), 1))
        for number, name in enumerate(qnn.GATES)
    }
    constants = lstm_state_values(lowering.contract, op)
    values["cell"] = lowering.widen(nest, old, quantized_element(op.cell.type))
    values["cell"] = lowering.apply_rule(nest, "lstm_cell", values, constants)
    state = lowering.apply_rule(nest, "lstm_output", values, constants)
    stored = [
        lowering.narrow(nest, value, quantized_element(result.type))
        for value, result in ((values["cell"], op.last_cell), (state, op.last_state))
    ]
    new_cell, new_state = nest.build(stored)
    return new_cell, new_state


def lower_scan(lowering: Lowering, op: ScanOp) -> Sequence[SSAValue]:
    """The scan of a function that has been lowered, to the types which that gives."""
    function = op.function
    function.detach()
    given = function.function_type.outputs.data
    carried = len(op.carried)
    parts = [
        TensorType(element_type(type), shape_of(part))
        for type, part in zip(given[carried:], op.parts, strict=True)
    ]
    scan = ScanOp(
        None if op.is_open else op.count,
        [lowering.value(value) for value in op.carried],
        [lowering.value(value) for value in op.over],
        Region(Block([function])),
        [*given[:carried], *parts],
        is_reversed=op.is_reversed is not None,
    )
    scan.location = lowering.op.location
    lowering.block.add_op(scan)
    return scan.res


def lower_svdf(lowering: Lowering, op: qnn.SvdfOp) -> Sequence[SSAValue]:
    """The sums of this call, loops (b, f | i), which become the last place of the
    state; the sums over units, loops (b, u | r, m); the state, moved on."""
    shape = shape_of(op.state)
    batch, filters, places = shape
    units = shape_of(op.bias)[0]
    memory = lowering.emit.inserted(
        lowering.reshape(_remembered(lowering, op), (batch, filters, 1)),
        lowering.value(op.state),
        (0, 0, places - 1),
    )
    nest = Nest(lowering.emit, (batch, units))
    biases = nest.build_one(nest.input(lowering.value(op.bias), [1]))
    split = (units, filters // units, places)
    nest = Nest(lowering.emit, (batch, *split), reductions=2)
    x = nest.input(lowering.reshape(memory, (batch, *split)), (0, 1, 2, 3))
    w = nest.input(lowering.reshape(lowering.value(op.time_weight), split), (1, 2, 3))
    x = lowering.widen(nest, x, quantized_element(op.state.type))
    w = lowering.widen(nest, w, quantized_element(op.time_weight.type))
    (sums,) = nest.reduce([biases], multiply_accumulate(nest, x, w))
    nest = Nest(lowering.emit, (batch, units))
    result = lowering.finish_with_rule(
        nest,
        "svdf",
        {"accumulator": nest.input(sums, (0, 1))},
        svdf_values(lowering.contract, op),
        op.result,
    )
    moved = lowering.emit.filled(shape, storage_type(op.state.type.element_type), 0)
    if places > 1:
        nest = Nest(lowering.emit, (batch, filters, places - 1))
        rest = nest.build_one(nest.input(memory, (0, 1, AffineDimExpr(2) + 1)))
        moved = lowering.emit.inserted(rest, moved, (0, 0, 0))
    return result, moved


def _remembered(lowering: Lowering, op: qnn.SvdfOp) -> SSAValue:
    """The state of this call that is kept, [B, F]."""
    bounds = shape_of(op.state)[:2]
    zeros = lowering.emit.filled(bounds, i32, 0)
    sums = _sums(lowering, lowering.value(op.input), op.input, op.weight, zeros)
    nest = Nest(lowering.emit, bounds)
    return lowering.finish_with_rule(
        nest,
        "svdf_state",
        {"accumulator": nest.input(sums, (0, 1))},
        svdf_state_values(lowering.contract, op),
        op.state,
    )
