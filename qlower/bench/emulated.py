"""Instructions of a model's kernels under emulation, for processors that aren't here.

They are exact: unicorn reports each block that runs, whose instructions are counted in
its bytes. Cycles are a model's, where there is one; only a board has a time. Functions
of a compiler's runtime are no code of the model, and aren't counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.emulation.emulator import EmulatedExecutable, Emulator
from qlower.emulation.processor import Machine
from qlower.model.random_inputs import random_input
from qlower.model.signature import Array
from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class KernelCount:
    """A kernel's run for an inference: instructions for `products`, the routines that
    it calls included; cycles, where there is a model of the processor; and the bytes of
    its function, 0 where an earlier kernel's is its own, too."""

    layer: str
    family: str
    products: int
    instructions: int
    cycles: int | None
    code: int

    @property
    def each(self) -> float | None:
        """Instructions a product."""
        return self.instructions / self.products if self.products else None


def count_kernels(compiled: CompiledObject, seed: int = 0) -> list[KernelCount]:
    """The kernels' counts for a drawn input, in the order in which they run, and that
    of what calls them.

    Raises QlowerError for a target without an emulator.
    """
    executable = EmulatedExecutable(compiled)
    names = [kernel.name for kernel in compiled.kernels]
    counter = Blocks(executable.emulator, names)
    random = np.random.default_rng(seed)
    inputs: list[Array] = [
        random_input(spec, random) for spec in compiled.signature.arguments
    ]
    executable(inputs)
    counts, cycles = counter.instructions(), counter.cycles()
    rows: list[KernelCount] = []
    for number, kernel in (*enumerate(compiled.kernels), (_CALLS, None)):
        rows.append(
            KernelCount(
                "(calls)" if kernel is None else kernel.layer,
                "" if kernel is None else kernel.family,
                0 if kernel is None else kernel.products,
                counts[number],
                None if cycles is None else cycles[number],
                0
                if number in counter.shared
                else counter.code_bytes(ENTRY if kernel is None else kernel.name),
            )
        )
    return rows


_CALLS = -1
"""The number of what calls the kernels."""


class Blocks:
    """Counts of each block's runs for each kernel, by number, and of jumps elsewhere
    after it. A function that is no kernel runs for the one that calls it.

    A function may be that of several kernels. They run in order, so that the second
    call is for the next kernel without a function of its own.
    """

    def __init__(self, emulator: Emulator, kernels: Sequence[str]) -> None:
        self.emulator = emulator
        self.runs: Counter[tuple[int, int, int]] = Counter()
        self.taken: Counter[int] = Counter()
        self.current = self.last = _CALLS
        self.end: int | None = None
        addresses = {
            name: address & ~1
            for name, address in emulator.symbols.items()
            if name and not name.startswith("$")
        }
        self.starts = sorted(addresses.values())
        self.addresses = addresses
        numbered = [(i, n) for i, n in enumerate(kernels) if n in addresses]
        self.own = {addresses[name]: i for i, name in reversed(numbered)}
        first = {*self.own.values()}
        self.shared = [i for i in range(len(kernels)) if i not in first]
        emulator.on_blocks(self.add)

    def add(self, machine: Machine, address: int, size: int, data: None) -> None:
        """Unicorn's hook: a block is about to run."""
        if self.end is not None and self.end != address:
            self.taken[self.current] += 1
        self.end = address + size
        number = self.own.get(address)
        if number is not None:
            if number <= self.last:
                number = next((n for n in self.shared if n > self.last), number)
            self.current = self.last = number
        elif self._function(address) == self.addresses.get(ENTRY):
            self.current = _CALLS
        self.runs[self.current, address, size] += 1

    def _function(self, address: int) -> int | None:
        """Where the function begins that an address is in."""
        position = bisect_right(self.starts, address) - 1
        return self.starts[position] if position >= 0 else None

    def instructions(self) -> Counter[int]:
        """Instructions by kernel."""
        return self._sums(self.emulator.processor.count)

    def cycles(self) -> Counter[int] | None:
        """Cycles by kernel, as the processor's model has them, if there is one."""
        processor = self.emulator.processor
        if processor.cycles is None:
            return None
        found = self._sums(processor.cycles)
        for number, count in self.taken.items():
            found[number] += processor.taken * count
        return found

    def code_bytes(self, name: str) -> int:
        """Bytes of a function with what is up to the next one; 0 if it isn't there."""
        start = self.addresses.get(name)
        if start is None:
            return 0
        after = bisect_right(self.starts, start)
        return self.starts[after] - start if after < len(self.starts) else 0

    def _sums(self, measure: Callable[[bytes], int]) -> Counter[int]:
        measured: dict[tuple[int, int], int] = {}
        found: Counter[int] = Counter()
        for (kernel, address, size), runs in self.runs.items():
            block = address, size
            if block not in measured:
                measured[block] = measure(self.emulator.read(address, size))
            found[kernel] += runs * measured[block]
        return found


def count_table(counts: Sequence[KernelCount]) -> Table[KernelCount]:
    """Each kernel's instructions, with their share and those of a product."""
    total = sum(count.instructions for count in counts) or 1
    columns: list[Column[KernelCount]] = [
        Column("layer", "layer", lambda c: c.layer, least=12),
        Column("kernel", "family", lambda c: c.family, right=False, rank=2),
        Column("instructions", "instructions", lambda c: c.instructions, sums=True),
        Column("share", None, lambda c: f"{c.instructions / total:.1%}"),
        Column("MAC", "products", lambda c: c.products or None, sums=True),
        Column(
            "per MAC",
            "instructions_per_product",
            lambda c: c.each,
            lambda c: "" if c.each is None else f"{c.each:.2f}",
        ),
        Column("code", "code", lambda c: c.code, sums=True, rank=1),
    ]
    if any(count.cycles is not None for count in counts):
        columns.insert(3, Column("cycles", "cycles", lambda c: c.cycles, sums=True))
    return Table("instructions", counts, columns, total="total")
