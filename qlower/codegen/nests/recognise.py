"""Sums of products with constant weights, recognised by their structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from qlower.codegen.nests.nest import Nest, Operand


@dataclass(frozen=True)
class Factor:
    """`extend(operand) - offset`, where `offset` is a number or a constant operand."""

    operand: Operand
    signed: bool
    offset: int | Operand


@dataclass(frozen=True)
class Contraction:
    """A recognised nest, its loops by the part they play.

    `lane`: the output channels. `run`: the reduction loop along which x is contiguous,
    None if there is none (one tap). `taps`: the other reduction loops. `groups`: the
    parallel loops that choose weights. `pixels`: the others, the last one is tiled.
    """

    nest: Nest
    activation: Factor
    weight: Factor
    lane: int
    run: int | None
    taps: tuple[int, ...]
    groups: tuple[int, ...]
    pixels: tuple[int, ...]


@dataclass(frozen=True)
class DepthwiseProducts:
    """A recognised nest in which the `lane` loop moves activations and weights alike.

    `zero_point` is the offset of the activation.
    """

    nest: Nest
    activation: Factor
    zero_point: int
    weight: Factor
    lane: int


def recognise(nest: Nest) -> Contraction | DepthwiseProducts | None:
    """The kind of sum of products that the nest is, None if it is no such sum."""
    factors = _factors(nest)
    if factors is None:
        return None
    for with_roles in (_contraction, _depthwise):
        for activation, weight in (factors, factors[::-1]):
            found = with_roles(nest, activation, weight)
            if found is not None:
                return found
    return None


def _factors(nest: Nest) -> tuple[Factor, Factor] | None:
    """The two factors of a body that adds their product to one i32 accumulator."""
    if len(nest.op.body.blocks) != 1:
        return None
    block = nest.op.body.block
    terminator = block.last_op
    if terminator is None or len(terminator.operands) != 1:
        return None
    accumulator = block.args[-1]
    if accumulator.type != i32:
        return None
    added = _operands_of(terminator.operands[0], "arith.addi")
    if added is None or accumulator not in added:
        return None
    product = added[1] if added[0] is accumulator else added[0]
    multiplied = _operands_of(product, "arith.muli")
    if multiplied is None:
        return None
    found = [_factor(nest, value) for value in multiplied]
    if found[0] is None or found[1] is None:
        return None
    return found[0], found[1]


def _operands_of(value: SSAValue, name: str) -> Sequence[SSAValue] | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == name:
        return tuple(owner.operands)
    return None


def _factor(nest: Nest, value: SSAValue) -> Factor | None:
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
            operand = _input(nest, extended[0])
            if operand is not None and operand.scalar == "i8":
                return Factor(operand, signed, offset)
    return None


def _offset(nest: Nest, value: SSAValue) -> int | Operand | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        attribute = owner.properties["value"]
        return attribute.value.data if isinstance(attribute, IntegerAttr) else None
    operand = _input(nest, value)
    return operand if operand is not None and operand.data is not None else None


def _input(nest: Nest, value: SSAValue) -> Operand | None:
    if isinstance(value, BlockArgument) and value.index < len(nest.inputs):
        return nest.inputs[value.index]
    return None


def _contraction(nest: Nest, activation: Factor, weight: Factor) -> Contraction | None:
    x, w = activation.operand.strides, weight.operand.strides
    if weight.operand.data is None or not isinstance(activation.offset, int):
        return None
    if activation.operand.edges:
        return None
    parallel = range(len(nest.parallel))
    lanes = [
        loop
        for loop in parallel
        if x[loop] == 0
        and w[loop] != 0
        and all(result.strides[loop] == 1 for result in nest.results)
    ]
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
    nest: Nest, activation: Factor, weight: Factor
) -> DepthwiseProducts | None:
    x, w = activation.operand.strides, weight.operand.strides
    zero_point, offset = activation.offset, weight.offset
    if weight.operand.data is None or not isinstance(zero_point, int):
        return None
    if activation.operand.data is not None:
        return None
    parallel = range(len(nest.parallel))
    lanes = [
        loop
        for loop in parallel
        if x[loop] == 1
        and w[loop] != 0
        and all(result.strides[loop] == 1 for result in nest.results)
    ]
    if len(lanes) != 1 or not nest.reduction:
        return None
    others = [loop for loop in parallel if loop != lanes[0]]
    if any(w[loop] for loop in others) or (
        isinstance(offset, Operand) and any(offset.strides[loop] for loop in others)
    ):
        return None
    return DepthwiseProducts(nest, activation, zero_point, weight, lanes[0])
