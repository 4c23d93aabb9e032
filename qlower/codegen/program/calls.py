"""The functions of kernels, how they are called, and the buffers they are given."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, VOID, Value
from qlower.codegen.program.team import ARENA, BufferPlace


@dataclass(frozen=True)
class Buffer:
    """The position of a value in memory, and its bytes. A value of the caller's may
    lie `in_arena`, at this offset."""

    place: BufferPlace
    size: int
    in_arena: int | None = None

    def overlaps(self, other: Buffer) -> bool:
        a, b = (
            one.place.offset if one.place.argument == ARENA else one.in_arena
            for one in (self, other)
        )
        if a is None or b is None:
            return self.place == other.place
        return a < b + other.size and b < a + self.size


@dataclass
class KernelCall:
    """A kernel's function and its call: `passed` are the caller's pointers to `places`.

    `pointers` are, inside of the function, those of inputs and results in order, and
    of scratch. Constants are no arguments: their address is the same everywhere. Their
    entry is None, as that of scratch which the function doesn't have. `module` has the
    call, `unit` the function.
    """

    module: Module
    unit: Module
    name: str
    passed: list[Value]
    places: list[BufferPlace]
    attributes: list[str]
    pointers: list[Value | None]

    def function(self, name: str, *, takes_start: bool = False) -> Function:
        """The function, to be filled; with `takes_start` for a block of iterations."""
        types = [*(POINTER for _ in self.passed), *([I64] if takes_start else [])]
        attributes = [*self.attributes, *([""] if takes_start else [])]
        if takes_start and self.is_unit:
            self.module.declare(name, VOID, types)
        is_separate = self.is_unit and not self.module.joined
        return Function(self.unit, name, types, attributes, separate=is_separate)

    @property
    def is_unit(self) -> bool:
        """Whether the function is a unit of the code, which may have parameters."""
        return self.unit is not self.module
