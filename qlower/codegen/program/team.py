"""A team of threads for one call, through the OpenMP runtime's binary interface.

The threads are the runtime's, and it starts them once a call: `GOMP_parallel` with one
function, in which the first thread runs the model and the others help it. Where the
first comes to a nest that is cut into blocks it says so; each thread then runs blocks
of its own, always the same part of a nest, for these read what it wrote before and
what its cache holds. It costs up to a microsecond until another core sees what one has
written, so nothing that several threads write is touched on the way.

Who has no blocks left and waits for a while takes those of others. So the first thread
never waits for one that has not begun a block: one that sleeps, or whose core is busy
with something else.

GCC's libgomp, LLVM's libomp and Intel's libiomp5 all have these symbols of GCC's
interface. `team.ll` is the code of the threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Template

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, Value, constant
from qlower.codegen.nests.blocks import Blocks
from qlower.codegen.program.float_environment import enter_default
from qlower.codegen.targets.float_control import FloatControl

OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num")
"""The runtime's functions that code for several threads calls."""

LEAST_SAVED_NANOSECONDS = 15_000.0
"""The least time that helpers have to save of a call, by estimate: it begins and ends
with all of them, which takes some microseconds while they are awake, and 30 to
100 if they sleep."""

_SHARING_NANOSECONDS = 1_000.0
"""Until others have seen that there is a nest, and the first thread that it is done."""

INPUTS, OUTPUTS, ARENA = range(3)
"""The entry's arguments: arrays of pointers, and memory for all between them."""


def is_worthwhile(nanoseconds: Iterable[float], threads: int) -> bool:
    """Whether kernels that are cut, of so much work each, are enough for a team."""
    saved = [n * (1 - 1 / threads) - _SHARING_NANOSECONDS for n in nanoseconds]
    return bool(saved) and sum(saved) >= LEAST_SAVED_NANOSECONDS


@dataclass(frozen=True)
class BufferPlace:
    """The place of a buffer according to the entry's arguments: in the arena, or in
    their array of pointers. `offset` is the buffer's in bytes, or its pointer's."""

    argument: int
    offset: int


@dataclass
class Team:
    """The cut nests of a function `serial`, which `entry` calls in `threads` threads.

    `serial` takes the entry's three pointers and the frame. `runners` has a function
    for each block that a thread owns, in the order in which it takes them. Each thread
    has a float environment of its own, in `float_control` if it matters.
    """

    entry: str
    serial: str
    threads: int
    float_control: FloatControl | None
    runners: list[str] = field(default_factory=list[str])

    def share(
        self,
        f: Function,
        name: str,
        blocks: Blocks,
        functions: Sequence[str],
        places: Sequence[BufferPlace],
    ) -> None:
        """Run the blocks of a nest, in `serial`.

        Each has a function, of pointers to `places` and the block's first iteration.
        """
        table = ", ".join(f"ptr @{function}" for function in functions)
        f.module.globals.append(
            f"@{name}_blocks = internal constant [{blocks.count} x ptr] [{table}]"
        )
        _emit_runner(f.module, name, blocks, len(self.runners), places)
        self.runners += [f"{name}_block"] * blocks.per_thread
        limit = constant(I64, len(self.runners))
        f.call_function("team_share", (f.arguments[-1], limit))

    def finish(self, module: Module) -> None:
        """Define `entry`, and what its threads do. `serial` has been written."""
        table = ", ".join(f"ptr @{name}" for name in self.runners)
        count = len(self.runners)
        module.globals.append(
            f"@team_runners = internal constant [{count} x ptr] [{table}]"
        )
        module.texts.append(
            team_text(self.entry, self.serial, self.threads, len(self.runners))
        )
        thread = Function(module, "team_thread", [POINTER], [""])
        leave = None
        if self.float_control is not None:
            leave = enter_default(thread, self.float_control)
        thread.call_function("team_work", thread.arguments)
        if leave is not None:
            leave()
        thread.finish()


def team_text(entry: str, serial: str, threads: int, runners: int) -> str:
    """LLVM IR of the threads; @team_runners has `runners` functions."""
    return _template().substitute(
        entry=entry, serial=serial, threads=threads, runners=runners
    )


@cache
def _template() -> Template:
    return Template(Path(__file__).with_suffix(".ll").read_text())


def _emit_runner(
    module: Module, name: str, blocks: Blocks, base: int, places: Sequence[BufferPlace]
) -> None:
    """Runs one block of a nest: the one that thread `owner` has when it takes its
    `number`-th of all nests; the nest's first has number `base`."""
    f = Function(module, f"{name}_block", [POINTER, I64, I64], ["", "", ""])
    frame, number, owner = f.arguments
    turn = f.binary("sub", number, constant(I64, base))
    before = f.binary("mul", owner, constant(I64, blocks.per_thread))
    block = f.binary("add", before, turn)

    def run() -> None:
        pointers = [_pointer(f, frame, place) for place in places]
        start = f.binary("mul", block, constant(I64, blocks.size))
        code = f.entry_of_table(f"{name}_blocks", block)
        f.call_pointer(code, [*pointers, start])

    f.when(f.compare("ult", block, constant(I64, blocks.count)), run)
    f.finish()


def _pointer(f: Function, frame: Value, place: BufferPlace) -> Value:
    """The address of a place, from the frame's copy of the entry's arguments."""
    field = f.field("%frame", frame, 5, place.argument)
    array = f.load(POINTER, field, 8)
    at = f.at(array, constant(I64, place.offset))
    return at if place.argument == ARENA else f.load(POINTER, at, 8)
