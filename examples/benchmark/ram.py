"""RAM for models on a Cortex-M4, beside TensorFlow Lite Micro's: a table in Markdown.

python examples/benchmark/ram.py MODEL.tflite...

TFLite Micro's interpreter is that of the package `tflite-micro` on this machine. Its
arena holds inputs, outputs, results of layers ("head") and its own structures ("tail"),
which have pointers in them and so are larger on 64 bits than on a microcontroller.
qlower's inputs and outputs lie outside of its arena, so they are added to it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import qlower
from qlower.packages.memory import Memory
from qlower.tables.table import Column, Table

TARGET, CPU, CONTRACT = "thumbv7em-none-eabi", "cortex-m4", "tflm"

ASK = """
import sys
from tflite_micro.python.tflite_micro import runtime
runtime.Interpreter.from_file(sys.argv[1], arena_size=1 << 24).print_allocations()
"""
"""What makes TFLite Micro tell its arena; it prints from C."""


@dataclass(frozen=True)
class Row:
    """Bytes of one model; of TFLite Micro None where it doesn't take the model."""

    name: str
    head: int | None
    tail: int | None
    ours: Memory

    @property
    def theirs(self) -> int | None:
        return None if self.head is None or self.tail is None else self.head + self.tail

    @property
    def ours_with_ports(self) -> int:
        return self.ours.arena + self.ours.inputs + self.ours.outputs

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.theirs / self.ours_with_ports


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="RAM beside TFLite Micro.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    models: list[Path] = parser.parse_args(arguments).models
    rows = [measured(model) for model in models]
    print(Table("ram", rows, COLUMNS).render("markdown"))
    return 0


COLUMNS = [
    Column[Row]("model", "model", lambda row: row.name, right=False),
    Column[Row]("TFLite Micro: arena", "tflm", lambda row: row.theirs),
    Column[Row]("of it structures", "tflm_structures", lambda row: row.tail),
    Column[Row]("qlower: arena", "arena", lambda row: row.ours.arena),
    Column[Row]("with inputs, outputs", "with_ports", lambda row: row.ours_with_ports),
    Column[Row]("stack, at most", "stack", lambda row: row.ours.stack.bytes),
    Column[Row]("arena / ours", "ratio", lambda row: row.ratio),
]


def measured(model: Path) -> Row:
    """Both systems' RAM for one model."""
    ours = qlower.compile(model, TARGET, CPU, contract=CONTRACT).memory()
    name = model.parent.name if model.stem == "model" else model.stem
    return Row(name, *tflm_arena(model), ours)


def tflm_arena(model: Path) -> tuple[int | None, int | None]:
    """Bytes of head and tail of TFLite Micro's arena; None where it can't be asked."""
    command = [sys.executable, "-c", ASK, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = dict(
        re.findall(r"Arena allocation (\w+) (\d+) bytes", done.stdout + done.stderr)
    )
    if not {"head", "tail"} <= said.keys():
        print(f"note: {model}: nothing from tflite-micro", file=sys.stderr)
        return None, None
    return int(said["head"]), int(said["tail"])


if __name__ == "__main__":
    raise SystemExit(main())
