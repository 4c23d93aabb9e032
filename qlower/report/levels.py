"""The IR of one layer at each level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qlower.codegen.program.compiled import CompiledObject
from qlower.compilation.compilation import Compilation
from qlower.model.entry import main_function
from qlower.model.layers import layer_names
from qlower.model.printing import readable_operations
from qlower.tables.table import counted

MOST_CHARACTERS = 40_000
"""A longer text of one layer is cut."""


@dataclass(frozen=True)
class LevelText:
    """A layer's text at a level, and what is left out of it."""

    level: str
    text: str
    about: str


@dataclass(frozen=True)
class Levels:
    """A model's operations at each level, and its native functions, by layers."""

    operations: Mapping[str, Mapping[str, list[Operation]]]
    code: CompiledObject | None

    @staticmethod
    def of(compilation: Compilation, code: CompiledObject | None) -> Levels:
        """The levels of a compilation; LLVM's only with its code."""
        modules = {
            "qnn": compilation.model.module,
            "arith": compilation.arith,
            "kernel": compilation.kernels,
        }
        operations = {level: _by_layer(module) for level, module in modules.items()}
        return Levels(operations, code)

    def texts(self, layer: str) -> Iterator[LevelText]:
        """The layer at each level that has anything of it."""
        for level, by_layer in self.operations.items():
            if layer in by_layer:
                yield _cut(level, readable_operations(by_layer[layer]))
        if self.code is not None:
            functions = [
                self.code.functions[kernel.name]
                for kernel in self.code.kernels
                if layer in kernel.layers
            ]
            if functions:
                yield _cut("llvm", "\n".join(functions))


def _by_layer(module: ModuleOp) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for op in main_function(module).body.block.ops:
        for name in layer_names(op):
            found.setdefault(name, []).append(op)
    return found


def _cut(level: str, text: str) -> LevelText:
    if len(text) <= MOST_CHARACTERS:
        return LevelText(level, text, "")
    shown = text[: text.rfind("\n", 0, MOST_CHARACTERS)]
    rest = counted(text.count("\n", len(shown)), "line")
    about = f"{rest} more: qlower inspect MODEL --at {level} --layer LAYER"
    return LevelText(level, shown, about)
