"""Numbers of eight bits that are computed from one or two others, and nothing else.

Such a function has 256 or 65,536 arguments, so that it is known at all of them: what
gives the same table is the same function. It may be a whole nest, as in an elementwise
sum of two tensors, or a part of an epilogue between two 8-bit values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.fixed import SaturateOp
from qlower.dialects.kernel import IndexOp
from qlower.interp import Array
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers

_EVERY_BYTE = np.arange(256, dtype=np.uint8).view(np.int8)


@dataclass(frozen=True)
class ByteFunction:
    """`ops` compute the i8 `value` from the i8 `sources`, one or two, and constants."""

    value: SSAValue
    sources: tuple[SSAValue, ...]
    ops: Sequence[Operation]

    @property
    def grid(self) -> tuple[Array, ...]:
        """The bits of each source in all its cases, with an axis for each source."""
        return every_case(len(self.sources))

    @cached_property
    def lanes(self) -> tuple[Array, ...]:
        """The bits of the sources in all cases, [case] each."""
        return tuple(map(self.flat, self.grid))

    @cached_property
    def values(self) -> Values:
        """All that `ops` compute, in all cases of the sources that it is computed from.

        Raises InterpretationError where some case has no result.
        """
        values: Values = dict(zip(self.sources, self.grid, strict=True))
        run_scalars(self.ops, values)
        return values

    def flat(self, values: Array) -> Array:
        """Values of some of the sources, in all cases: [case]."""
        return np.broadcast_to(values, (256,) * len(self.sources)).reshape(-1)

    @cached_property
    def bits(self) -> Array:
        """The bits of the result, i8[case]."""
        return self.flat(self.values[self.value])

    @cached_property
    def numbers(self) -> Integers:
        """The result in all cases, by the signedness of what made it."""
        return numbers_of(self.bits, unsigned=self.is_unsigned)

    @property
    def is_unsigned(self) -> bool:
        """Whether the result's bits are those of a number from 0 to 255."""
        owner = self.value.owner
        if isinstance(owner, arith.TruncIOp):
            return bool(np.max(self.values[owner.operands[0]]) > np.iinfo(np.int8).max)
        return isinstance(owner, SaturateOp) and owner.unsigned

    @cached_property
    def source_numbers(self) -> list[Integers]:
        """The numbers that the sources represent, on the grid."""
        return [
            numbers_of(bits, unsigned=self.reads_unsigned(index))
            for index, bits in enumerate(self.grid)
        ]

    def reads_unsigned(self, source: int) -> bool:
        """Whether a source is first of all extended to a number from 0 to 255."""
        value = self.sources[source]
        return any(isinstance(use.operation, arith.ExtUIOp) for use in value.uses)


def every_case(count: int) -> tuple[Array, ...]:
    """The bits of `count` bytes in all cases, with an axis for each byte."""
    return tuple(
        _EVERY_BYTE.reshape([256 if own == axis else 1 for own in range(count)])
        for axis in range(count)
    )


def numbers_of(bits: Array, *, unsigned: bool) -> Integers:
    """The numbers that bytes represent."""
    return (bits.view(np.uint8) if unsigned else bits).astype(np.int64)


def byte_functions(block: Block) -> Iterator[ByteFunction]:
    """Yields the functions between bytes in a region, in order.

    Each may be replaced before the next one is asked for; what replaces it isn't given.
    """
    for op in tuple(block.ops):
        for value in op.results:
            if value.type == i8 and op.parent is block:
                found = _find(value, block)
                if found is not None:
                    yield found


def _find(value: SSAValue, block: Block) -> ByteFunction | None:
    """The function of others of its type that a value is; None if of anything else."""
    needed: set[Operation] = set()
    sources: list[SSAValue] = []
    waiting = [value]
    while waiting:
        current = waiting.pop()
        owner = current.owner
        is_source = current.type == i8 and current is not value
        if is_source and not isinstance(owner, arith.ConstantOp):
            sources += [] if current in sources else [current]
            continue
        if not isinstance(owner, Operation) or isinstance(owner, IndexOp):
            return None
        if owner in needed:
            continue
        needed.add(owner)
        if any(isinstance(operand.type, TensorType) for operand in owner.operands):
            return None
        waiting += reversed(owner.operands)
    if len(sources) not in (1, 2):
        return None
    return ByteFunction(value, tuple(sources), [op for op in block.ops if op in needed])
