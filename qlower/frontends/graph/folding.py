"""Arithmetic on shapes, which exporters write into the graph: it is done here.

With fixed shapes these nodes have integers for results that depend on no input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from .context import NodeContext
from .nodes import MOST_FOLDED, TYPE_NAMES, Node, cast, filled
from .schema import Array, Constant

Integers = NDArray[np.int64]


def is_folded(node: Node) -> bool:
    """Whether nodes of this kind may be computed when a model is read."""
    return not node.domain and node.kind in ("Shape", "Size", *FOLDERS)


def fold(node: NodeContext) -> bool:
    """Compute the node's result if it is known now, and return whether it is."""
    if node.node.domain or len(node.node.outputs) != 1:
        return False
    if node.node.kind in ("Shape", "Size"):
        shape = list(node.shape(0))
        if node.node.kind == "Shape":
            start = node.integer("start", 0)
            end = node.integer("end", len(shape))
            result = np.array(shape[start:end], np.int64)
        else:
            result = np.array(np.prod(shape), np.int64)
    else:
        folder = FOLDERS.get(node.node.kind)
        if folder is None:
            return False
        operands: list[Integers] = []
        for name in node.node.inputs:
            array = node.graph.array(name)
            if (
                array is None
                or array.size > MOST_FOLDED
                or array.dtype.kind not in "bi"
            ):
                return False
            operands.append(array.astype(np.int64))
        if not operands:
            return False
        try:
            found = folder(node, operands)
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise node.error(f"can't be computed: {error}") from error
        if found is None:
            return False
        result = found
    if result.dtype.name not in TYPE_NAMES or result.size > MOST_FOLDED:
        return False
    name = node.result()
    type = TYPE_NAMES[result.dtype.name]
    node.graph.constants[name] = Constant(type, result.shape, result)
    return True


def _gather(node: NodeContext, operands: list[Integers]) -> Array:
    data, indices = operands
    return np.take(data, indices, node.axis(node.integer("axis", 0), data.ndim))


def _concat(node: NodeContext, operands: list[Integers]) -> Array:
    return np.concatenate(operands, node.integer("axis", None, -8, 7))


def _unsqueeze(node: NodeContext, operands: list[Integers]) -> Array | None:
    axes = node.axes(1, operands[0].ndim + 1)
    return None if axes is None else np.expand_dims(operands[0], tuple(axes))


def _squeeze(node: NodeContext, operands: list[Integers]) -> Array:
    axes = node.axes(1, operands[0].ndim)
    return np.squeeze(operands[0], None if axes is None else tuple(axes))


def _slice(node: NodeContext, operands: list[Integers]) -> Array | None:
    if len(operands) < 3:
        return None
    data, starts, ends = operands[:3]
    axes = node.axes(3, data.ndim) or list(range(starts.size))
    steps = operands[4].reshape(-1) if len(operands) > 4 else np.ones_like(starts)
    box = [slice(None)] * data.ndim
    for at, axis in enumerate(axes):
        box[axis] = slice(int(starts[at]), int(ends[at]), int(steps[at]))
    return data[tuple(box)]


def _made(
    make: Callable[[Node, Array], Constant | None],
) -> Callable[[NodeContext, list[Integers]], Array | None]:
    """A rule of folding that makes any constant in the same way."""

    def fold(node: NodeContext, operands: list[Integers]) -> Array | None:
        made = make(node.node, operands[0])
        return made and made.array

    return fold


def _reshape(node: NodeContext, operands: list[Integers]) -> Array:
    return operands[0].reshape([int(size) for size in operands[1].reshape(-1)])


def _quotient(node: NodeContext, operands: list[Integers]) -> Array | None:
    one, other = operands
    if not other.all():
        return None
    # The schema's division of integers cuts off.
    return (np.sign(one) * np.sign(other)) * (np.abs(one) // np.abs(other))


def _remainder(node: NodeContext, operands: list[Integers]) -> Array | None:
    """The remainder with the divisor's sign, or with `fmod` the dividend's."""
    one, other = operands
    if not other.all():
        return None
    is_c = node.integer("fmod", 0, 0, 1)
    return np.fmod(one, other) if is_c else np.mod(one, other)


def _where(node: NodeContext, operands: list[Integers]) -> Array:
    condition, one, other = operands
    return np.where(condition != 0, one, other)


def _binary(
    function: Callable[[Integers, Integers], Array],
) -> Callable[[NodeContext, list[Integers]], Array]:
    return lambda node, operands: function(operands[0], operands[1])


FOLDERS: Mapping[str, Callable[[NodeContext, list[Integers]], Array | None]] = {
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Cast": _made(cast),
    "ConstantOfShape": _made(filled),
    "Reshape": _reshape,
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _quotient,
    "Mod": _remainder,
    "Equal": _binary(np.equal),
    "Where": _where,
    "ReduceProd": lambda node, operands: np.prod(operands[0], keepdims=True),
}
