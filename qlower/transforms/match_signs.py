"""Pass match-signs: bytes between nests as numbers of the sign that products take.

Some machines multiply unsigned bytes with signed weights only, or signed with signed.
An activation of the other sign would have its highest bit flipped whenever it is read
for a product; here the nest that computes it stores it flipped, once. As x is read from
x' = x ^ 0x80,

    signed x = unsigned x' - 128,   unsigned x = signed x' + 128,

and in a sum of products that is another zero point. Other readers flip back. Arguments,
constants and results of the function stay what they are, and so do tables. Copies and
reshapes pass bytes on: what they connect is flipped together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, ModuleOp, i8
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from qlower.codegen.targets.set_target import target_of
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.dialects.types import tensor_type
from qlower.model.entry import defined_functions
from qlower.tally import Rewrites
from qlower.transforms.operations import Operations, insert_at

_HIGHEST_BIT = 128


@dataclass(frozen=True)
class MatchSignsPass(ModulePass):
    """Store bytes that are multiplied with the sign that all products take.

    The module says which machine it is for; where its products take either sign,
    nothing is done. With `limit`, only that many values are flipped, each with those
    that are connected to it.
    """

    name = "match-signs"

    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unsigned = target_of(op).prefers_unsigned
        if unsigned is None:
            return
        rewrites = Rewrites("values flipped", self.limit)
        for function in defined_functions(op):
            match_signs(function.body.block, unsigned, rewrites)


def match_signs(block: Block, unsigned: bool, rewrites: Rewrites) -> None:
    """Flips what is multiplied with the other sign, in a function's body."""
    groups = _Groups()
    for op in block.ops:
        for value, other in _connected(op):
            groups.join(value, other)
    stay = {groups.first(value) for value in _fixed(block)}
    multiplied = _multiplied(block, unsigned=unsigned)
    wanted = dict.fromkeys(groups.first(value) for value in multiplied)
    flipped = {
        value for value in wanted if value not in stay and rewrites.allow(_maker(value))
    }
    for op in tuple(block.ops):
        if isinstance(op, CopyOp):
            fill = op.fill
            if groups.first(op.result) in flipped and isinstance(fill, IntegerAttr):
                op.fill = IntegerAttr(_flip(fill.value.data), i8)
        elif isinstance(op, NestOp):
            passed_on = {value for pair in _connected(op) for value in pair}
            for index, value in enumerate(op.inputs):
                if groups.first(value) in flipped:
                    _flip_input(op, index, passed_on)
            for index, value in enumerate(op.res):
                if groups.first(value) in flipped and value not in passed_on:
                    _flip_result(op, index)


def _maker(value: SSAValue) -> Operation:
    """The operation that a value which isn't an argument comes from."""
    assert isinstance(value.owner, Operation)
    return value.owner


class _Groups:
    """Values that are flipped together, each named by one of them."""

    def __init__(self) -> None:
        self._parents: dict[SSAValue, SSAValue] = {}

    def first(self, value: SSAValue) -> SSAValue:
        while value in self._parents:
            value = self._parents[value]
        return value

    def join(self, a: SSAValue, b: SSAValue) -> None:
        a, b = self.first(a), self.first(b)
        if a is not b:
            self._parents[b] = a


def _connected(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Pairs of values between which the op passes elements unchanged."""
    match op:
        case ExpandShapeOp() | CollapseShapeOp():
            yield op.src, op.results[0]
        case CopyOp():
            yield op.source, op.result
            if op.destination is not None:
                yield op.destination, op.result
        case NestOp():
            terminator = op.epilogue.block.last_op
            assert terminator is not None
            for value, result in zip(terminator.operands, op.res, strict=True):
                if isinstance(value, BlockArgument) and value.index < len(op.inputs):
                    yield op.inputs[value.index], result
        case _:
            pass


def _fixed(block: Block) -> Iterator[SSAValue]:
    """Values whose bytes others see too, or that aren't bytes."""
    yield from block.args
    for op in block.ops:
        match op:
            case NestOp():
                yield from op.tables
            case CopyOp() | ExpandShapeOp() | CollapseShapeOp():
                pass
            case _:
                yield from (*op.operands, *op.results)
        for result in op.results:
            if tensor_type(result).element_type != i8:
                yield result


def _multiplied(block: Block, *, unsigned: bool) -> Iterator[SSAValue]:
    """Inputs that nests extend with the other sign for their sums of products."""
    kind = arith.ExtSIOp if unsigned else arith.ExtUIOp
    for op in block.ops:
        if not isinstance(op, NestOp) or not op.body.blocks:
            continue
        for value, argument in zip(op.inputs, op.body.block.args, strict=False):
            extensions = [use.operation for use in argument.uses]
            if argument.type == i8 and any(
                isinstance(extension, kind) and _is_factor(extension.result)
                for extension in extensions
            ):
                yield value


def _is_factor(value: SSAValue) -> bool:
    """Whether a value is multiplied, maybe after its zero point was subtracted."""
    seen, pending = {value}, [value]
    while pending:
        users = [use.operation for use in pending.pop().uses]
        if any(isinstance(user, arith.MuliOp) for user in users):
            return True
        new = {user.result for user in users if isinstance(user, arith.SubiOp)} - seen
        pending += new
        seen |= new
    return False


def _flip_input(nest: NestOp, index: int, passed_on: set[SSAValue]) -> None:
    """Makes all regions read the flipped bytes of an input."""
    for region in nest.regions:
        if not region.blocks:
            continue
        argument = region.block.args[index]
        is_passed_on = nest.inputs[index] in passed_on
        others: list[Use] = []
        for use in tuple(argument.uses):
            user = use.operation
            if isinstance(user, arith.ExtSIOp | arith.ExtUIOp):
                _extend_otherwise(user)
            elif not is_passed_on or user is not region.block.last_op:
                others.append(use)
        if others:
            at_start = InsertPoint.at_start(region.block)
            flipped = _flipped(argument, at_start, nest.location)
            for use in others:
                use.operation.operands[use.index] = flipped


def _extend_otherwise(extension: arith.ExtSIOp | arith.ExtUIOp) -> None:
    """Extends the flipped byte with the other sign, and subtracts the difference."""
    to_unsigned = isinstance(extension, arith.ExtSIOp)
    other = arith.ExtUIOp if to_unsigned else arith.ExtSIOp
    type = extension.result.type
    distance = _HIGHEST_BIT if to_unsigned else -_HIGHEST_BIT
    new = other.create(operands=[extension.input], result_types=[type])
    insert_at(InsertPoint.before(extension), (new,), extension.location)
    for use in tuple(extension.result.uses):
        user = use.operation
        zero_point = _zero_point(user) if use.index == 0 else None
        centred = _minus(new.results[0], (zero_point or 0) + distance, user)
        if zero_point is None:
            user.operands[use.index] = centred
        else:
            Rewriter.replace_op(user, (), (centred,))
    Rewriter.erase_op(extension)


def _minus(value: SSAValue, number: int, before: Operation) -> SSAValue:
    """`value` less a constant, computed in front of an operation."""
    if number == 0:
        return value
    assert isa(value.type, IntegerType)
    code = Operations()
    subtrahend = code.integer(number, value.type)
    difference = code.make(arith.SubiOp, [value, subtrahend], value.type)
    insert_at(InsertPoint.before(before), code.ops, before.location)
    return difference


def _zero_point(op: Operation) -> int | None:
    """The constant that the operation subtracts, if it does."""
    subtrahend = op.rhs.owner if isinstance(op, arith.SubiOp) else None
    if not isinstance(subtrahend, arith.ConstantOp):
        return None
    attribute = subtrahend.value
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _flip_result(nest: NestOp, index: int) -> None:
    """Makes the nest store the flipped bytes of a result."""
    block = nest.epilogue.block
    terminator = block.last_op
    assert terminator is not None
    before = InsertPoint.before(terminator)
    flipped = _flipped(terminator.operands[index], before, nest.location)
    terminator.operands[index] = flipped


def _flipped(value: SSAValue, point: InsertPoint, location: LocationAttr) -> SSAValue:
    """The byte `value` with its highest bit flipped, computed at `point`."""
    code = Operations()
    highest = code.integer(-_HIGHEST_BIT, i8)
    flipped = code.make(arith.XOrIOp, [value, highest], i8)
    insert_at(point, code.ops, location)
    return flipped


def _flip(byte: int) -> int:
    """A signed byte with its highest bit flipped."""
    return byte - _HIGHEST_BIT if byte >= 0 else byte + _HIGHEST_BIT
