"""The addends of a layer without weights, and inputs that bring its sum to either end.

Each input element lies anywhere in its type's storage range, independently, except in
the product of a matrix with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.interp import Array
from qlower.model.layers import is_constant
from qlower.observe.layer_run import Evaluation, LayerRun
from qlower.observe.place import Index
from qlower.operators.windows import WindowAxis
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.reach import Operands, filled

UNBOUNDED = (qnn.LstmOp, qnn.SvdfOp, qnn.ProductOp)
"""Operations that sum or multiply step by step, which nothing here bounds."""


class Unseen(Exception):
    """Why a layer's sums can't be bounded."""


class Real(Unseen):
    """A layer adds real numbers: no width of integers holds them."""

    def __init__(self) -> None:
        super().__init__("adds real numbers")


@dataclass(frozen=True)
class Addends:
    """The least and the greatest value of what sums add up, [row, term], in order.

    Terms that always grow together are one. `ends` gives for a row an element of the
    result with such a sum, and operands that bring each of its terms to the greatest
    value, or to the least.
    """

    least: Integers
    most: Integers
    ends: Callable[[int, bool], tuple[Index, Operands]]


def addends_of(op: Operation, run: Callable[[], LayerRun]) -> Addends | None:
    """The addends of a layer; None if it adds nothing, or has weights.

    `op` is alone in its module, and `run` is it, run on anything. Raises Unseen.
    """
    match op:
        case qnn.MatMulOp():
            return _products(op)
        case qnn.AvgPool2DOp():
            return _pool(op, run())
        case qnn.AdaptiveAvgPool2DOp():
            sizes = [[len(window) for window in axis] for axis in op.windows]
            places = [int(np.argmax(axis)) for axis in sizes]
            count = int(np.prod([max(axis) for axis in sizes]))
            return _same(run(), count, (0, *places, 0))
        case qnn.MeanOp() | qnn.SumOp():
            shape = shape_of(op.input)
            count = int(np.prod([shape[axis] for axis in op.axes]))
            return _same(run(), count, _origin(op))
        case qnn.L2NormalizeOp():
            return _squares(op)
        case qnn.SoftmaxOp() | qnn.LogSoftmaxOp():
            return _exponentials(run())
        case _ if isinstance(op, UNBOUNDED):
            raise Unseen(f"the sums of {op.name.removeprefix('qnn.')} aren't bounded")
        case GenericOp() if _reduces(op):
            _of_reals(op)
            raise Unseen("the layer states its own arithmetic")
        case _:
            return None


def _reduces(op: GenericOp) -> bool:
    return IteratorTypeAttr.reduction() in op.iterator_types


def _of_reals(op: GenericOp) -> None:
    """Raises Real if a nest's results are real numbers."""
    if all(isinstance(element_type(value.type), AnyFloat) for value in op.results):
        raise Real


def _origin(op: Operation) -> Index:
    return (0,) * len(shape_of(op.results[0]))


def _products(op: qnn.MatMulOp) -> Addends:
    """The products of two computed matrices."""
    if op.lhs is op.rhs or any(is_constant(one.owner) for one in (op.lhs, op.rhs)):
        raise Unseen("an operand is constant, or both are the same tensor")
    corners = matrix_corners(op)
    depth = shape_of(op.lhs)[-1]

    def ends(row: int, is_high: bool) -> tuple[Index, Operands]:
        _, *stored = corners[-1 if is_high else 0]
        pair = zip((op.lhs, op.rhs), stored, strict=True)
        return _origin(op), {one: filled(one, end) for one, end in pair}

    least, most = (np.array([[depth * corners[at][0]]]) for at in (0, -1))
    return Addends(least, most, ends)


def matrix_corners(op: qnn.MatMulOp) -> list[tuple[int, int, int]]:
    """The products of the ends of both matrices' stored integers, each with these two;
    the least product first."""
    lhs, rhs = (quantized_element(one.type) for one in (op.lhs, op.rhs))
    ends = product(*((type.storage_min, type.storage_max) for type in (lhs, rhs)))
    return sorted(
        ((left - lhs.zero_point) * (right - rhs.zero_point), left, right)
        for left, right in ends
    )


@dataclass(frozen=True)
class _Stored:
    """The amount that each stored integer of an operand adds to a sum."""

    source: SSAValue
    stored: Integers
    added: Integers

    @property
    def bounds(self) -> tuple[int, int]:
        return int(self.added.min()), int(self.added.max())

    def full(self, is_high: bool) -> Operands:
        """The operand, full of the stored integer that adds most, or least."""
        place = self.added.argmax() if is_high else self.added.argmin()
        return {self.source: filled(self.source, int(self.stored[place]))}


def _stored(run: LayerRun, count: int) -> _Stored:
    """Addends by the contract's rule for them, if it has one; `count` are added."""
    source = run.op.operands[0]
    stored = _all_stored(quantized_element(source.type))
    last = run.evaluations[-1]
    if "sum" not in last.values:
        return _Stored(source, stored, stored)
    addend = run.evaluations[0]
    given = {**addend.values, "input": stored.astype(np.int32)}
    return _Stored(source, stored, _integers(addend.rule.evaluate(given), count))


def _all_stored(type: QuantizedType) -> Integers:
    return np.arange(type.storage_min, type.storage_max + 1, dtype=np.int64)


def _integers(results: Sequence[Array], count: int) -> Integers:
    """The results of a rule, `count` of which are added. Raises Real unless they are
    integers, or floats whose sums are exact."""
    (result,) = results
    if result.dtype.kind == "f":
        limit = 2.0 ** np.finfo(result.dtype).nmant / max(count, 1)
        is_exact = np.array_equal(np.rint(result), result)
        if not is_exact or not (np.abs(result) <= limit).all():
            raise Real
    return result.astype(np.int64)


def _same(run: LayerRun, count: int, index: Index) -> Addends:
    """The given number of stored integers; each may be at an end."""
    added = _stored(run, count)
    low, high = (np.array([[count * end]]) for end in added.bounds)
    return Addends(low, high, lambda _, is_high: (index, added.full(is_high)))


def _pool(op: qnn.AvgPool2DOp, run: LayerRun) -> Addends:
    """A row for each way in which windows hang over the image."""
    added = _stored(run, int(np.prod(op.kernel)))
    point = 0
    if op.count_include_pad and "sum" not in run.evaluations[-1].values:
        point = quantized_element(op.input.type).zero_point
    shape, sides = shape_of(op.input), (op.pad[:2], op.pad[2:])
    axes = [
        _ways(WindowAxis(shape[1 + n], op.kernel[n], op.stride[n], *sides[n]))
        for n in range(2)
    ]
    ways = list(product(*(list(axis.items()) for axis in axes)))
    inside = np.stack(
        [np.outer(rows, columns).reshape(-1) for (rows, _), (columns, _) in ways]
    )
    low, high = (np.where(inside, end, point) for end in added.bounds)

    def ends(row: int, is_high: bool) -> tuple[Index, Operands]:
        (_, y), (_, x) = ways[row]
        return (0, y, x, 0), added.full(is_high)

    return Addends(low, high, ends)


def _ways(axis: WindowAxis) -> Mapping[tuple[bool, ...], int]:
    """Each set of taps inside the image that a window has, with its first position."""
    found: dict[tuple[bool, ...], int] = {}
    for place in range(axis.results):
        first = place * axis.stride - axis.before
        taps = range(first, first + axis.taps)
        found.setdefault(tuple(0 <= tap < axis.size for tap in taps), place)
    return found


def _squares(op: qnn.L2NormalizeOp) -> Addends:
    """The squares of a row."""
    type = quantized_element(op.input.type)
    stored = _all_stored(type)
    added = _Stored(op.input, stored, np.square(stored - type.zero_point))
    count = shape_of(op.input)[-1]
    low, high = (np.array([[count * end]]) for end in added.bounds)
    return Addends(low, high, lambda _, is_high: (_origin(op), added.full(is_high)))


def _exponentials(run: LayerRun) -> Addends:
    """The greatest element of a row adds what no difference adds, others what any
    does."""
    source = run.op.operands[0]
    type = quantized_element(source.type)
    last = type.storage_max - type.storage_min
    term, addend = (_evaluation(run, name) for name in ("term", "addend"))
    differences = np.arange(-last, 1, dtype=np.int32)
    terms = term.rule.evaluate({**term.values, "difference": differences})
    size = shape_of(source)[-1]
    added = _integers(addend.rule.evaluate({**addend.values, "term": terms[0]}), size)
    others = size - 1
    first = int(added[-1])
    low, high = (
        np.array([[first, others * end]])
        for end in (int(added.min()), int(added.max()))
    )

    def ends(row: int, is_high: bool) -> tuple[Index, Operands]:
        place = int(added.argmax() if is_high else added.argmin())
        stored = filled(source, type.storage_max + int(differences[place]))
        stored[..., 0] = type.storage_max
        return _origin(run.op), {source: stored}

    return Addends(low, high, ends)


def _evaluation(run: LayerRun, name: str) -> Evaluation:
    return next(
        one
        for one in run.evaluations
        if one.rule.name.removesuffix("_i16") == f"softmax_{name}"
    )
