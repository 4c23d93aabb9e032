"""Faults in the kernel level: each changes one number or step of a function.

A `Plant` changes a nest, or what is near it, and returns whether it found a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i8,
    i32,
)
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass

from qlower.dialects.fixed import (
    ConvertOp,
    RoundingMode,
    RoundingModeAttr,
    ShiftRightOp,
)
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.dialects.types import integer_range
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.layers import layer_names
from qlower.model.nests import dense

Plant = Callable[[NestOp], bool]


def constant(value: SSAValue) -> tuple[arith.ConstantOp, Array] | None:
    """The constant that a value is, maybe reshaped, and a copy of its elements."""
    while not isinstance(value.owner, arith.ConstantOp):
        operands = getattr(value.owner, "operands", ())
        if len(operands) != 1:
            return None
        (value,) = operands
    found = constant_of(value.owner.result)
    return None if found is None else (value.owner, found.copy())


def put(op: arith.ConstantOp, elements: Array) -> None:
    """Give a constant other elements."""
    before = op.value
    assert isinstance(before, DenseIntOrFPElementsAttr)
    op.properties["value"] = dense(elements, before.get_element_type())


def changed(
    dtype: type[np.generic], change: Callable[[Array], None], number: int = 0
) -> Plant:
    """A constant input of a type, of several that of a number, is changed in place."""

    def plant(nest: NestOp) -> bool:
        found = [constant(value) for value in nest.inputs]
        typed = [one for one in found if one is not None and one[1].dtype == dtype]
        if number >= len(typed):
            return False
        op, elements = typed[number]
        before = elements.copy()
        change(elements)
        put(op, elements)
        return not np.array_equal(before, elements)

    return plant


def one_more(
    dtype: type[np.generic],
    number: int = 0,
    by: float = 1,
    *,
    relative: bool = False,
    place: int = 3,
) -> Plant:
    """One element of a constant input of a type is larger."""

    def change(elements: Array) -> None:
        flat = elements.reshape(-1)
        at = min(place, len(flat) - 1) if place >= 0 else place
        old = flat[at]
        more = old * by if relative else by
        flat[at] = old - 1 if dtype is np.int8 and old == 127 else old + more

    return changed(dtype, change, number)


def swap_first(elements: Array) -> None:
    if elements.ndim == 1 and len(elements) > 1:
        elements[:2] = elements[1::-1].copy()


def reverse(elements: Array) -> None:
    elements[:] = elements[::-1].copy()


def no_flip(nest: NestOp) -> bool:
    """The sign of a whole tensor, which another function reads as flipped."""
    for op in nest.epilogue.block.ops:
        if isinstance(op, arith.XOrIOp):
            op.result.replace_all_uses_with(op.lhs)
            return True
    return False


def padding(nest: NestOp) -> bool:
    """What is around an image."""
    for value in nest.inputs:
        op = value.owner
        if isinstance(op, CopyOp) and isinstance(op.fill, IntegerAttr):
            op.fill = IntegerAttr((op.fill.value.data + 129) % 256 - 128, i8)
            return True
    return False


def rounding(mode: RoundingMode) -> Plant:
    """The last step that rounds does so in another way."""

    def plant(nest: NestOp) -> bool:
        steps = [
            op
            for op in nest.epilogue.block.ops
            if isinstance(op, ConvertOp | ShiftRightOp)
        ]
        if not steps or steps[-1].rounding.data == mode:
            return False
        steps[-1].properties["rounding"] = RoundingModeAttr(mode)
        return True

    return plant


def number_of(
    kinds: type[Operation] | tuple[type[Operation], ...], change: Callable[[int], int]
) -> Plant:
    """The first number that operations of some kinds in an epilogue have."""

    def plant(nest: NestOp) -> bool:
        for op in nest.epilogue.block.ops:
            if isinstance(op, kinds):
                for value in op.operands:
                    if _change(value.owner, change):
                        return True
        return False

    return plant


def constant_of_sums(nest: NestOp) -> bool:
    """What is subtracted from each input before it is multiplied, if it is."""
    return any(
        _change(op, lambda old: old + 1)
        for block in nest.body.blocks
        for op in block.ops
        if any(isinstance(use.operation, arith.SubiOp) for use in _uses(op))
    )


def constant_of_epilogue(nest: NestOp) -> bool:
    """The first number of 32 bits in an epilogue."""
    return any(
        _change(op, lambda old: old + 1)
        for op in nest.epilogue.block.ops
        if op.results and op.results[0].type == i32
    )


def entry_of_table(place: int, bit: int = 1) -> Plant:
    """A bit of one entry of a table."""

    def plant(nest: NestOp) -> bool:
        for value in nest.tables:
            found = constant(value)
            if found is not None:
                op, elements = found
                elements.reshape(-1)[place] ^= bit
                put(op, elements)
                return True
        return False

    return plant


def _uses(op: Operation) -> Iterator[Use]:
    return (use for result in op.results for use in result.uses)


def _change(owner: object, change: Callable[[int], int]) -> bool:
    if not isinstance(owner, arith.ConstantOp):
        return False
    if not isinstance(owner.value, IntegerAttr):
        return False
    old = owner.value
    new = change(old.value.data)
    assert isinstance(old.type, IntegerType)
    low, high = integer_range(old.type.width.data)
    if not low <= new <= high:
        return False
    owner.properties["value"] = IntegerAttr(new, old.type)
    return True


FAULTS: dict[str, Plant] = {
    "scale, 2^-16": one_more(np.float32, 0, 2.0**-16, relative=True),
    "scale, 2^-20": one_more(np.float32, 0, 2.0**-20, relative=True),
    "scale, 2^-23": one_more(np.float32, 0, 2.0**-23, relative=True),
    "scales exchanged": changed(np.float32, swap_first),
    "addend, 0.001": one_more(np.float32, 1, 0.001, place=-1),
    "addend, 0.25": one_more(np.float32, 1, 0.25, place=-1),
    "half up": rounding(RoundingMode.HALF_UP),
    "half away": rounding(RoundingMode.HALF_AWAY),
    "floor": rounding(RoundingMode.FLOOR),
    "upper bound": number_of(arith.MinSIOp, lambda old: old - 1),
    "lower bound": number_of(arith.MaxSIOp, lambda old: old + 1),
    "flipped bits": number_of(arith.XOrIOp, lambda old: old ^ 1),
    "no flip": no_flip,
    "weight": one_more(np.int8),
    "filters reversed": changed(np.int8, reverse),
    "bias, 1 more": one_more(np.int32),
    "bias, 1 less": one_more(np.int32, by=-1),
    "padding": padding,
    "zero point": constant_of_sums,
    "table": entry_of_table(100),
    "number": constant_of_epilogue,
}


@dataclass(frozen=True)
class PlantPass(ModulePass):
    """A fault in a nest, by its number, after all other passes; `planted` gets what
    layers that nest computes."""

    name = "plant"

    nest: int
    plant: Plant
    planted: list[tuple[str, ...]]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = [one for one in op.walk() if isinstance(one, NestOp)]
        nest = nests[self.nest]
        if self.plant(nest):
            self.planted.append(layer_names(nest))
