"""Machine code as a function of sums: its pieces, found by evaluating all sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target, architecture_of, host_target
from qlower.emulation.emulator import EmulatedExecutable
from qlower.interp import Array
from qlower.runtime.executable import Executable
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.native.sums import Sums
from qlower.verification.pieces import Pieces

Bind: TypeAlias = Callable[
    [CompiledObject, Sequence[Array], Sequence[Array]], Callable[[], object]
]
"""Machine code on given inputs and outputs: a call reads the ones as they are then, and
writes the others."""


def bind_code(
    compiled: CompiledObject, inputs: Sequence[Array], outputs: Sequence[Array]
) -> Callable[[], object]:
    """Machine code in this process, or under emulation where it is for another machine.

    Raises QlowerError where there is no emulator (`EmulatedExecutable`).
    """
    target = compiled.target
    if architecture_of(target.triple) is architecture_of(host_target().triple):
        return Executable(compiled).bind(inputs, outputs)
    return EmulatedExecutable(compiled).bind(inputs, outputs)


@dataclass(frozen=True)
class Code:
    """The code of a `Sums`: a call reads `sums` and `others`, and writes `results`,
    [row, column] each. Results are bits, as unsigned numbers. Sums are given as numbers
    x [column], to which `base` is added."""

    call: Callable[[], object]
    base: Integers
    sums: Array
    others: Sequence[Array]
    results: Array

    @staticmethod
    def of(given: Sums, base: Integers, target: Target, bind: Bind) -> Code:
        """The code that the target's compiler makes."""
        compiled = compile_module(given.alone.module, target)
        ports = compiled.signature
        inputs = [np.zeros(one.shape, one.numpy_dtype) for one in ports.inputs]
        outputs = [np.zeros(one.shape, one.numpy_dtype) for one in ports.outputs]
        call = bind(compiled, inputs, outputs)
        shape = given.rows, given.columns
        (result,) = outputs
        others = inputs[len(inputs) - len(given.others) :]
        return Code(
            call,
            base,
            inputs[0].reshape(shape),
            [other.reshape(shape) for other in others],
            result.reshape(shape).view(f"u{result.itemsize}"),
        )

    def pieces(
        self, low: Integers, high: Integers, most: int
    ) -> tuple[Pieces, Integers]:
        """The pieces of the results for the sums low ... high of each column, and the
        greatest sum of each: the sweep ends early once there are more than `most`."""
        end = high
        rows, columns = self.results.shape
        dtype = self.sums.dtype
        steps = np.arange(rows, dtype=dtype)[:, np.newaxis]
        changed = np.ones(self.results.shape, bool)
        before = self.results[:1]
        found: list[tuple[Integers, Integers, Integers]] = []
        count = 0
        for first in range(0, int((high - low).max()) + 1, rows):
            start = np.minimum(low + first, high)
            left = high - start
            own = (start + self.base).astype(dtype)
            if left.min() >= rows - 1:
                np.add(steps, own, out=self.sums)
            else:
                ends = np.minimum(left, rows).astype(dtype)
                np.minimum(steps, ends, out=self.sums)
                np.add(self.sums, own, out=self.sums)
            self.call()
            np.not_equal(self.results[1:], self.results[:-1], out=changed[1:])
            if first:
                np.not_equal(self.results[:1], before, out=changed[:1])
            row, column = np.divmod(_places(changed), columns)
            x = self.sums[row, column].astype(np.int64) - self.base[column]
            found.append((column, x, self.results[row, column].astype(np.int64)))
            count += len(column)
            if count > most:
                end = np.minimum(start + rows - 1, high)
                break
            before = self.results[-1:].copy()
        channel, x, value = (np.concatenate(one) for one in zip(*found, strict=True))
        return Pieces.of(channel, x, value), end

    def at(self, sums: Integers) -> Array:
        """The results for any numbers, [any, column]."""
        rows = len(self.results)
        found: list[Array] = []
        for first in range(0, len(sums), rows):
            block = sums[first : first + rows]
            self.sums[: len(block)] = block + self.base
            self.call()
            found.append(self.results[: len(block)].copy())
        return np.concatenate(found)


def _places(changed: Array) -> Integers:
    """The indices at which a flat view, whose length is a multiple of 8, is true: few
    of them are."""
    words = changed.reshape(-1, 8)
    some = np.flatnonzero(words.view(np.uint64))
    number, within = np.nonzero(words[some])
    return some[number] * 8 + within
