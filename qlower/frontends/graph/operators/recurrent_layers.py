"""Directions of recurrent layers: their operands, gates and results.

onnxruntime/core/providers/cpu/rnn: first the products of all inputs, then in each step
those of the state, which are added to them. A layer in reverse takes the last step
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest

from ..context import NodeContext
from ..orders import identity
from ..real_constants import Reals, real_constant
from ..scanning import ScanStep, scan
from ..values import Value, real_value, slice_of
from .dynamic import quantize_dynamically, real_sums
from .integer_products import times_constant, weights_type
from .real import real_operand
from .real_layers import layer, real_tensor

Product: TypeAlias = Callable[[SSAValue, SSAValue | None, str], SSAValue]
"""Rows times a matrix, added to sums where there are some; the last is a name."""

DIRECTIONS = ("forward", "reverse", "bidirectional")


@dataclass(frozen=True)
class Layer:
    """One direction of a node, whose gates lie one behind the other in its weights; it
    begins with its own part of the initial states, which `directions` share."""

    node: NodeContext
    gates: str
    direction: int
    directions: int
    is_reverse: bool
    steps: int
    batch: int
    units: int

    def gate(
        self, nest: Nest, sums: SSAValue, name: str, bias: Reals | None
    ) -> SSAValue:
        """A gate's sum with its bias, of sums [B, gates, U] of some of the gates."""
        place = self.gates.index(name) if shape_of(sums)[1] > 1 else 0
        x = nest.input(sums, (0, AffineConstantExpr(place), 1))
        if bias is not None:
            x = nest.add(arith.AddfOp(x, nest.constant(bias, f32))).result
        return x

    def nest(self, step: str) -> Nest:
        place = self.node.place()
        emit = self.node.builder.emitter(place, f"{step}_{self.direction}")
        return Nest(emit, (self.batch, self.units))

    def initial(self, operand: int) -> SSAValue:
        """The state [B, U] before the first step: 0, or what is given."""
        place, shape = self.node.place(), (self.batch, self.units)
        if not self.node.has(operand):
            return self.node.builder.constant(np.zeros(shape, np.float32), f32, place)
        check_shape(self.node, operand, (self.directions, *shape))
        value = real_tensor(self.node, operand)
        value = self.node.builder.in_order(value, identity(3), place)
        ranges = [range(self.direction, self.direction + 1), *map(range, shape)]
        name = f"initial_{operand}_{self.direction}"
        found = self.node.emit(slice_of(value.ssa, ranges), name)
        return self.reshaped(found, shape, name)

    def reshaped(self, value: SSAValue, shape: Sequence[int], name: str) -> SSAValue:
        operation = qnn.ReshapeOp(value, TensorType(f32, shape))
        return self.node.emit(operation, name)

    def of_gates(self, sums: SSAValue, gates: str, name: str) -> SSAValue:
        """The sums [B, gates U] of some neighbouring gates, of those of all."""
        first = self.gates.index(gates[0]) * self.units
        ranges = [range(self.batch), range(first, first + len(gates) * self.units)]
        return self.node.emit(slice_of(sums, ranges), f"{name}_{self.direction}")

    def apart(self, sums: SSAValue, name: str) -> SSAValue:
        """Sums [B, gates U] as [B, gates, U]."""
        shape = (self.batch, shape_of(sums)[1] // self.units, self.units)
        return self.reshaped(sums, shape, f"{name}_{self.direction}")

    def run(
        self, start: Sequence[SSAValue], sums: SSAValue, step: ScanStep
    ) -> tuple[Sequence[SSAValue], SSAValue]:
        """The carried values after all steps, and the states [S, B, U]. `sums` are the
        sums of all inputs, [S B, gates U]."""
        shape = (self.steps, self.batch, len(self.gates) * self.units)
        name = f"sums_{self.direction}"
        left, (states,) = scan(
            self.node.builder,
            self.node.place(),
            f"steps_{self.direction}",
            self.steps,
            start,
            [self.reshaped(sums, shape, name)],
            step,
            is_reversed=self.is_reverse,
        )
        return left, states


def check_shape(node: NodeContext, operand: int, *expected: tuple[int, ...]) -> None:
    """Refuse an operand of none of the shapes expected."""
    if node.has(operand) and node.shape(operand) not in expected:
        raise node.error(
            f"operand {node.name(operand)!r} has shape {list(node.shape(operand))};"
            f" expected {' or '.join(str(list(shape)) for shape in expected)}"
        )


def read_layers(
    node: NodeContext, gates: str, activations: Sequence[str], *, is_stored: bool
) -> tuple[SSAValue, list[Layer]]:
    """The inputs [S B, I], and the directions of a node. Stored weights are
    transposed, and their scales are operands 8 and 10."""
    value = real_operand(node, 0)
    value = node.in_order(value)
    steps, batch, inputs = value.shape
    units = node.integer("hidden_size", None, 1)
    direction = node.text("direction", "forward", DIRECTIONS)
    count = 1 + (direction == "bidirectional")
    wanted = tuple(activations) * count
    given = node.node.attributes.get("activations", wanted)
    if not isinstance(given, tuple) or [str(one).lower() for one in given] != [
        one.lower() for one in wanted
    ]:
        raise node.error(f"activations {given} are not supported; expected {wanted}")
    for name in ("clip", "input_forget", "layout"):
        if node.node.attributes.get(name):
            raise node.error(f"attribute {name} is not supported; expected none")
    if node.has(4) and set(node.integers(4, "sequence_lens", batch)) != {steps}:
        raise node.error(
            f"sequences that are shorter than {steps} steps are not supported"
        )
    size = len(gates) * units
    node.check_elements(steps * batch * size)
    for operand, columns in ((1, inputs), (2, units)):
        shape = (columns, size) if is_stored else (size, columns)
        check_shape(node, operand, (count, *shape))
    check_shape(node, 3, (count, 2 * size))
    check_shape(node, 7, (count, 3 * units))
    for operand in range(8, 12):
        check_shape(node, operand, (count,), (count, size))
    rows = node.reshaped(value, (steps * batch, inputs))
    return rows.ssa, [
        Layer(node, gates, at, count, is_reverse, steps, batch, units)
        for at, is_reverse in enumerate((direction == "reverse", True)[:count])
    ]


def read_biases(layer: Layer) -> tuple[Reals, Reals] | None:
    """The biases of inputs and of the state [gates, U], or none."""
    if not layer.node.has(3):
        return None
    count = len(layer.gates)
    array = real_constant(layer.node, 3)[layer.direction]
    both = array.reshape(2, count, layer.units)
    return both[0], both[1]


def real_product(
    node: NodeContext, operand: int, direction: int, rows: slice
) -> Product:
    weights = real_constant(node, operand)[direction][rows]

    def product(x: SSAValue, start: SSAValue | None, name: str) -> SSAValue:
        matrix = node.builder.constant(weights, f32, node.place(node.name(operand)))
        type = TensorType(f32, (shape_of(x)[0], len(weights)))
        operation = qnn.RealLinearOp(x, matrix, start, type)
        name = f"{name}_{direction}"
        return layer(node, operation, name, is_computed=not node.is_constant(operand))

    return product


def stored_product(
    node: NodeContext, operand: int, scale: int, direction: int
) -> Product:
    """Weights [K, outputs] of 8 bits, with one scale or one for each output."""
    matrix = node.array(operand, "weights")[direction].T
    element = weights_type(node, operand, scale + 1, 0, len(matrix), direction)
    scales = real_constant(node, scale)[direction].reshape(-1)

    def product(x: SSAValue, start: SSAValue | None, name: str) -> SSAValue:
        step = node.builder.constant(scales, f32, node.place(node.name(scale)))
        of_weights = Value(step, (0,), is_real=True)
        name = f"{name}_{direction}"
        names = [f"{node.place().name}/{name}_{one}" for one in ("codes", "scale", "z")]
        codes, of_input, zero = quantize_dynamically(node, Value(x, (0, 1)), names)
        sums = times_constant(node, (codes, zero), (operand, matrix), element, name)
        more = [] if start is None else [Value(start, (0, 1), is_real=True)]
        return real_sums(node, sums, [of_input, of_weights], more).ssa

    return product


def finish(
    layers: Sequence[Layer],
    states: Sequence[SSAValue],
    finals: Sequence[Sequence[SSAValue]],
) -> None:
    """All states [S, directions, B, U], then what is left of each direction."""
    node, first = layers[0].node, layers[0]
    shape = (first.batch, first.units)
    _join(node, 0, (first.steps, len(layers), *shape), states, 1)
    for at, left in enumerate(zip(*finals, strict=True), 1):
        _join(node, at, (len(layers), *shape), left, 0)


def _join(
    node: NodeContext,
    number: int,
    shape: Sequence[int],
    parts: Sequence[SSAValue],
    axis: int,
) -> None:
    """Define a result whose parts have the indices of an axis, if it is asked for."""
    if number >= len(node.node.outputs) or not node.node.outputs[number]:
        return
    name = node.node.outputs[number]
    emit = node.builder.emitter(node.place(name))
    single = TensorType(f32, [*shape[:axis], 1, *shape[axis + 1 :]])
    result, *others = [emit.add(qnn.ReshapeOp(part, single)).result for part in parts]
    if others:
        whole = emit.filled(shape, f32, 0)
        for at, part in enumerate((result, *others)):
            offsets = [at if n == axis else 0 for n in range(len(shape))]
            whole = emit.inserted(part, whole, offsets)
        result = whole
    node.define(real_value(result), number)
