"""Observers of a compilation: its IR, its times, the counts of its passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.compilation.passes import Applied, GeneratedCode, Observer, pipeline_text
from qlower.files.replacing import writing
from qlower.model.contract_files import text_in
from qlower.model.printing import readable_module
from qlower.tables.table import Column, Table


@dataclass
class IrFiles(Observer):
    """Writes the module into a folder, after each pass into `NN-pass.mlir`.

    Each file begins with the command that goes on with it. The first, `00-input.mlir`,
    is what came in, the last LLVM's IR.
    """

    folder: Path
    number: int = 0

    def before(self, module: ModuleOp, steps: Sequence[ModulePass]) -> None:
        if self.number == 0:
            self._write_module("input", module, steps)

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        self._write_module(applied.step.name, module, rest)

    def generated(self, code: GeneratedCode, seconds: float) -> None:
        self._write("llvm.ll", code.llvm_text)

    def _write_module(
        self, name: str, module: ModuleOp, rest: Sequence[ModulePass]
    ) -> None:
        file = f"{name}.mlir"
        command = f"// qlower-opt {self.number:02}-{file} -p '{pipeline_text(rest)}'\n"
        text = text_in(module, str(self.folder))
        self._write(file, (command if rest else "") + text)

    def _write(self, name: str, text: str) -> None:
        path = self.folder / f"{self.number:02}-{name}"
        with writing(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.number += 1


class IrPrinter(Observer):
    """Prints the module on standard error after each pass, to be read."""

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        title = f"// after {applied.step.name}"
        print(f"{title}\n{readable_module(module)}", file=sys.stderr)


@dataclass(frozen=True)
class Stage:
    """A pass, or the generation of code: its seconds, and what it did in words."""

    name: str
    seconds: float
    done: str = ""


@dataclass
class Timing(Observer):
    """Print the time and counts of each pass on standard error at the end, with the
    layers' shares of the time.

    Modules are verified as without it: at the end.
    """

    sees_modules: ClassVar[bool] = False

    stages: list[Stage] = field(default_factory=list[Stage])
    verification_seconds: float = 0.0
    layers: dict[str, dict[str, float]] = field(
        default_factory=dict[str, dict[str, float]]
    )
    """Seconds by pass, by layer."""

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        name = applied.step.name
        self.stages.append(Stage(name, applied.seconds, str(applied.tally)))
        self.verification_seconds += applied.verification_seconds
        for layer, seconds in applied.tally.seconds.items():
            passes = self.layers.setdefault(layer, {})
            passes[name] = passes.get(name, 0.0) + seconds

    def generated(self, code: GeneratedCode, seconds: float) -> None:
        self.stages.append(Stage("machine code", seconds))

    def finish(self) -> None:
        verified = Stage("verification", self.verification_seconds)
        print(_stage_table([*self.stages, verified]), file=sys.stderr)
        if self.layers:
            print(f"\n{_layer_table(self.layers)}", file=sys.stderr)


def _stage_table(stages: Sequence[Stage]) -> Table[Stage]:
    columns: list[Column[Stage]] = [
        Column("pass", "pass", lambda stage: stage.name, right=False),
        Column("us", "us", lambda stage: round(1e6 * stage.seconds), sums=True),
        Column("what it did", "done", lambda stage: stage.done, right=False),
    ]
    return Table("time of every pass", stages, columns, total="all")


def _layer_table(layers: dict[str, dict[str, float]]) -> Table[str]:
    def microseconds(name: str) -> Column[str]:
        def value(layer: str) -> int:
            return round(1e6 * layers[layer].get(name, 0.0))

        return Column(f"{name}, us", name, value, sums=True)

    names = dict.fromkeys(name for passes in layers.values() for name in passes)
    columns: list[Column[str]] = [
        Column("layer", "layer", lambda layer: layer, least=12),
        *map(microseconds, names),
    ]
    return Table("time of every layer", list(layers), columns, total="all")
