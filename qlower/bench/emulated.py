"""Instructions of a model's kernels under emulation, for processors that aren't here.

They are exact: unicorn reports each block that runs, whose instructions are counted in
its bytes. What they take of time, only a board can tell. Functions of a compiler's
runtime are no code of the model, and aren't counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
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
    """A kernel's instructions for one inference, `products`, including the routines
    that it calls."""

    layer: str
    family: str
    products: int
    instructions: int

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
    counter = _Blocks(executable.emulator, names)
    random = np.random.default_rng(seed)
    inputs: list[Array] = [
        random_input(spec, random) for spec in compiled.signature.arguments
    ]
    executable(inputs)
    counts = counter.instructions()
    rows = [
        KernelCount(kernel.layer, kernel.family, kernel.products, counts[number])
        for number, kernel in enumerate(compiled.kernels)
    ]
    return [*rows, KernelCount("(calls)", "", 0, counts[-1])]


class _Blocks:
    """How often each block runs for each kernel, by number: -1 for what calls them. A
    function that is no kernel runs for the one that calls it."""

    def __init__(self, emulator: Emulator, kernels: Sequence[str]) -> None:
        self.emulator = emulator
        self.runs: Counter[tuple[int, int, int]] = Counter()
        self.current = -1
        numbers = {ENTRY: -1} | {name: n for n, name in enumerate(kernels)}
        functions = {
            address & ~1: numbers.get(name)
            for name, address in emulator.symbols.items()
            if name and not name.startswith("$")
        }
        self.starts = sorted(functions)
        self.numbers = [functions[start] for start in self.starts]
        emulator.on_blocks(self.add)

    def add(self, machine: Machine, address: int, size: int, data: None) -> None:
        """Unicorn's hook: a block is about to run."""
        position = bisect_right(self.starts, address) - 1
        number = self.numbers[position] if position >= 0 else None
        if number is not None:
            self.current = number
        self.runs[self.current, address, size] += 1

    def instructions(self) -> Counter[int]:
        """Instructions by kernel."""
        found: Counter[int] = Counter()
        for (kernel, address, size), runs in self.runs.items():
            code = self.emulator.read(address, size)
            found[kernel] += runs * self.emulator.processor.count(code)
        return found


def count_table(counts: Sequence[KernelCount]) -> Table[KernelCount]:
    """Each kernel's instructions, with their share and those of a product."""
    total = sum(count.instructions for count in counts) or 1
    columns: list[Column[KernelCount]] = [
        Column("layer", "layer", lambda c: c.layer, right=False, least=12),
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
    ]
    return Table("instructions", counts, columns, total="total")
