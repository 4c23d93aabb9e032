"""Nests that are sums of products with constant weights, and the family of each nest.

This is the one place that decides. Passes ask for the `family_of` a nest, before its
tensors have places in memory, and write it into the IR; the code generator asks again
when they have, with the same answer: where tensors lie changes neither a body nor which
loop moves what. (Padding that isn't stored would, but only nests that can do with it
are given it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from qlower.codegen.nests.nest import LoopNest, analyse
from qlower.codegen.nests.operand import Operand, constant_bytes
from qlower.codegen.values.elements import scalar_type
from qlower.dialects.kernel import NestOp

MOST_TAPS = 128
"""Taps of a depthwise window, which is written out; larger ones are other windows."""


@dataclass(frozen=True)
class Factor:
    """`extend(operand) - offset`, where `offset` is a number or a constant operand.

    `operand` is the nest's input number `index`.
    """

    index: int
    operand: Operand
    signed: bool
    offset: int | Operand

    @property
    def scalar(self) -> str:
        """The type in memory: i8; activations may be i16, weights i4."""
        return self.operand.scalar

    def of(self, nest: LoopNest) -> Factor:
        """This factor in `nest`: its nest with addresses, or a part of that."""
        return replace(self, operand=nest.inputs[self.index])


@dataclass(frozen=True)
class Contraction:
    """A recognised nest, its loops by the part they play.

    `lane`: the output channels. `run`: the reduction loop along which x is contiguous,
    None if there is none (one tap). `taps`: the other reduction loops. `groups`: the
    parallel loops that choose weights. `pixels`: the others, the last one is tiled.
    """

    family: ClassVar = "contraction"

    nest: LoopNest
    activation: Factor
    weight: Factor
    lane: int
    run: int | None
    taps: tuple[int, ...]
    groups: tuple[int, ...]
    pixels: tuple[int, ...]

    @property
    def accumulator(self) -> str:
        """The accumulator's type: i32, or a wider integer."""
        (type,) = self.nest.op.accumulator_types
        return scalar_type(type)

    def on(self, nest: LoopNest) -> Contraction:
        """These roles in `nest`: theirs with addresses, or a part of that."""
        return replace(self, nest=nest, activation=self.activation.of(nest))


@dataclass(frozen=True)
class DepthwiseProducts:
    """A recognised nest in which the `lane` loop moves activations and weights alike.

    `zero_point` is the offset of the activation.
    """

    family: ClassVar = "depthwise"

    nest: LoopNest
    activation: Factor
    zero_point: int
    weight: Factor
    lane: int

    def on(self, nest: LoopNest) -> DepthwiseProducts:
        """These roles in `nest`: theirs with addresses, or a part of that."""
        return replace(self, nest=nest, activation=self.activation.of(nest))


Products: TypeAlias = Contraction | DepthwiseProducts

NIBBLE = "i4"
_WEIGHTS = (NIBBLE, "i8")

PRODUCT_FAMILIES = (Contraction.family, DepthwiseProducts.family)
"""The families of nests that are sums of products with constant weights."""


def family_of(op: NestOp) -> str:
    """One of `NestOp.FAMILIES`, which defines them."""
    if not op.reduction_bounds:
        return "map"
    products = recognise(analyse(op))
    return _other_reduction(op) if products is None else products.family


def _other_reduction(op: NestOp) -> str:
    """The family of a reduction that is no sum of products with constant weights."""
    activations = [
        map
        for map, value, argument in zip(
            op.input_maps, op.inputs, op.body.block.args, strict=False
        )
        if argument.uses and constant_bytes(value) is None
    ]
    moved = {d for d, bound in enumerate(op.parallel_bounds) if bound > 1}
    if not activations or not moved <= activations[0].used_dims():
        return "loop"
    return "row" if _has_plain_indices(activations[0]) else "window"


def _has_plain_indices(map: AffineMap) -> bool:
    return all(
        isinstance(expression, AffineDimExpr) or not expression.used_dims()
        for expression in map.results
    )


def recognise(nest: LoopNest) -> Products | None:
    """The kind of sum of products that the nest is, None if it is no such sum."""
    factors = factors_of(nest)
    if factors is None:
        return None
    for with_roles in (_contraction, _depthwise):
        for activation, weight in (factors, factors[::-1]):
            if weight.scalar not in _WEIGHTS or activation.scalar == NIBBLE:
                continue
            found = with_roles(nest, activation, weight)
            if found is not None:
                return found
    return None


def factors_of(nest: LoopNest) -> tuple[Factor, Factor] | None:
    """The two factors of a body that adds their product to one accumulator.

    Bytes are summed in 32 bits. A word times a byte, both signed and without offsets,
    may be summed in more: 32 bits hold the product.
    """
    if len(nest.op.body.blocks) != 1:
        return None
    block = nest.op.body.block
    terminator = block.last_op
    if terminator is None or len(terminator.operands) != 1:
        return None
    accumulator = block.args[-1]
    total = accumulator.type
    if not isa(total, IntegerType) or total.width.data < 32:
        return None
    added = _operands_of(terminator.operands[0], "arith.addi")
    if added is None or accumulator not in added:
        return None
    product = added[1] if added[0] is accumulator else added[0]
    if total != i32:
        product = (_operands_of(product, "arith.extsi") or [product])[0]
    multiplied = _operands_of(product, "arith.muli")
    if multiplied is None or product.type not in (i32, total):
        return None
    first, second = (_factor(nest, value) for value in multiplied)
    if first is None or second is None:
        return None
    scalars = {"i8" if f.scalar == NIBBLE else f.scalar for f in (first, second)}
    if scalars == {"i8"}:
        return (first, second) if total == i32 else None
    is_plain = all(f.signed and f.offset == 0 for f in (first, second))
    return (first, second) if is_plain and scalars == {"i8", "i16"} else None


def _operands_of(value: SSAValue, name: str) -> Sequence[SSAValue] | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == name:
        return tuple(owner.operands)
    return None


def _factor(nest: LoopNest, value: SSAValue) -> Factor | None:
    offset: int | Operand = 0
    difference = _operands_of(value, "arith.subi")
    if difference is not None:
        value, subtrahend = difference
        found = _offset(nest, subtrahend)
        if found is None:
            return None
        offset = found
    for name, signed in (("arith.extsi", True), ("arith.extui", False)):
        extended = _operands_of(value, name)
        if extended is not None:
            index = _input(nest, extended[0])
            if index is not None and nest.inputs[index].scalar in (*_WEIGHTS, "i16"):
                return Factor(index, nest.inputs[index], signed, offset)
    return None


def _offset(nest: LoopNest, value: SSAValue) -> int | Operand | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        attribute = owner.properties["value"]
        return attribute.value.data if isinstance(attribute, IntegerAttr) else None
    index = _input(nest, value)
    if index is None or nest.inputs[index].data is None:
        return None
    return nest.inputs[index]


def _input(nest: LoopNest, value: SSAValue) -> int | None:
    """The number of the input that the value is, if it is one."""
    if isinstance(value, BlockArgument) and value.index < len(nest.inputs):
        return value.index
    return None


def lanes_of_products(
    nest: LoopNest, activation: Factor, weight: Factor, stride: int
) -> list[int]:
    """The loops whose iterations are channels: weights differ and results lie side by
    side, and so do activations, if their `stride` is 1."""
    x, w = activation.operand.strides, weight.operand.strides
    return [
        loop
        for loop in range(len(nest.parallel))
        if x[loop] == stride
        and w[loop] != 0
        and all(result.strides[loop] == 1 for result in nest.results)
    ]


def _contraction(
    nest: LoopNest, activation: Factor, weight: Factor
) -> Contraction | None:
    x, w = activation.operand.strides, weight.operand.strides
    if weight.operand.data is None or not isinstance(activation.offset, int):
        return None
    if activation.operand.edges:
        return None
    parallel = range(len(nest.parallel))
    lanes = lanes_of_products(nest, activation, weight, 0)
    if len(lanes) != 1:
        return None
    reduction = range(len(nest.parallel), len(nest.bounds))
    runs = [loop for loop in reduction if x[loop] == 1]
    if reduction and not runs:
        return None
    offset = weight.offset
    if isinstance(offset, Operand) and any(offset.strides[loop] for loop in reduction):
        return None
    chosen = [
        loop
        for loop in parallel
        if loop != lanes[0]
        and (w[loop] or (isinstance(offset, Operand) and offset.strides[loop]))
    ]
    return Contraction(
        nest,
        activation,
        weight,
        lanes[0],
        runs[0] if runs else None,
        tuple(loop for loop in reduction if loop not in runs[:1]),
        tuple(chosen),
        tuple(loop for loop in parallel if loop not in (lanes[0], *chosen)),
    )


def _depthwise(
    nest: LoopNest, activation: Factor, weight: Factor
) -> DepthwiseProducts | None:
    w = weight.operand.strides
    zero_point, offset = activation.offset, weight.offset
    if weight.operand.data is None or not isinstance(zero_point, int):
        return None
    if activation.operand.data is not None:
        return None
    parallel = range(len(nest.parallel))
    lanes = lanes_of_products(nest, activation, weight, 1)
    if len(lanes) != 1 or not nest.reduction or prod(nest.reduction) > MOST_TAPS:
        return None
    others = [loop for loop in parallel if loop != lanes[0]]
    if any(w[loop] for loop in others) or (
        isinstance(offset, Operand) and any(offset.strides[loop] for loop in others)
    ):
        return None
    return DepthwiseProducts(nest, activation, zero_point, weight, lanes[0])
