"""Arithmetic on shapes, which exporters write into the graph: it is done here.

With fixed shapes these nodes have integers for results that depend on no input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .context import NodeContext
from .nodes import MOST_FOLDED, TYPE_NAMES, Node, cast, filled
from .operators.layout import RESHAPES, Read
from .operators.slicing import read_slice
from .schema import Array, Constant

Integers = NDArray[np.int64]

Fold: TypeAlias = Callable[[NodeContext, list[Integers]], Array | None]
"""The result of a node with these operands; None if it isn't known."""


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


def _slice(node: NodeContext, operands: list[Integers]) -> Array:
    return operands[0][np.ix_(*read_slice(node, operands[0].shape))]


def _reshaped(read: Read) -> Fold:
    """A rule of folding of an operator that gives another shape."""
    return lambda node, operands: operands[0].reshape(read(node, operands[0].shape))


def _made(
    make: Callable[[Node, Array], Constant | None],
) -> Fold:
    """A folding rule that builds the result by `make`."""

    def fold(node: NodeContext, operands: list[Integers]) -> Array | None:
        made = make(node.node, operands[0])
        return made and made.array

    return fold


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


FOLDERS: Mapping[str, Fold] = {
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    **{kind: _reshaped(read) for kind, (_, read) in RESHAPES.items()},
    "Cast": _made(cast),
    "ConstantOfShape": _made(filled),
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _quotient,
    "Mod": _remainder,
    "Equal": _binary(np.equal),
    "Where": _where,
    "ReduceProd": lambda node, operands: np.prod(operands[0], keepdims=True),
}
