"""Models as C source, built by any compiler and run, here or under an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qlower
from qlower.codegen.targets.c99 import PORTABLE_C
from qlower.model.signature import Array
from qlower.packages.header import C_TYPES

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic")


@dataclass(frozen=True)
class Compiler:
    """A command that builds a program, and what runs it; whether its runtime has floats
    where the processor has none."""

    command: tuple[str, ...]
    runner: tuple[str, ...] = ()
    has_floats: bool = True

    def outputs(
        self, compiled: qlower.Compiled, inputs: Sequence[Array], folder: Path
    ) -> list[Array]:
        """What the program gives for one input; it writes numbers as hexadecimal, so
        that the order of bytes is the same everywhere."""
        compiled.save(folder, ["c"])
        (folder / "main.c").write_text(main_text(compiled, inputs))
        name = compiled.interface.name
        program = folder / "program"
        built = subprocess.run(
            [*self.command, *WARNINGS, "main.c", f"{name}.c", "-o", str(program)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr
        done = subprocess.run(
            [*self.runner, str(program)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
        words = iter(done.stdout.split())
        outputs: list[Array] = []
        for spec in compiled.interface.signature.outputs:
            data = b"".join(
                int(next(words), 16).to_bytes(spec.numpy_dtype.itemsize, "little")
                for _ in range(int(np.prod(spec.shape)))
            )
            outputs.append(np.frombuffer(data, spec.numpy_dtype).reshape(spec.shape))
        return outputs


def portable(model: qlower.Model | Path, contract: str | None) -> qlower.Compiled:
    """A model for C source."""
    return qlower.compile(model, target=PORTABLE_C, contract=contract, name="m")


def main_text(compiled: qlower.Compiled, inputs: Sequence[Array]) -> str:
    """A program with its inputs inside, that prints the outputs."""
    interface = compiled.interface
    specs = interface.signature
    names = [name for name, _ in interface.ports]
    lines = ["#include <stdio.h>", '#include "m.h"']
    for name, spec, array in zip(names, specs.inputs, inputs, strict=False):
        values = np.ascontiguousarray(array.reshape(-1)).view(f"u{array.itemsize}")
        suffix = "ull" if array.itemsize == 8 else "u"
        texts = ",".join(f"{value}{suffix}" for value in values.tolist())
        lines.append(
            f"static uint{8 * array.itemsize}_t {name}[{max(1, values.size)}]"
            f" = {{{texts or 0}}};"
        )
        assert spec.dtype == str(array.dtype), (spec.dtype, array.dtype)
    for name, spec in interface.ports[len(specs.inputs) :]:
        bits = 8 * spec.numpy_dtype.itemsize
        lines.append(
            f"static union {{ uint{bits}_t bits[M_{name.upper()}_COUNT];"
            f" {C_TYPES[spec.dtype]} numbers[M_{name.upper()}_COUNT]; }} {name};"
        )
    lines += [
        "static unsigned char memory[M_ARENA_BYTES + M_ARENA_ALIGNMENT];",
        "int main(void) {",
        "  size_t i;",
        "  const uintptr_t unit = M_ARENA_ALIGNMENT;",
        "  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);",
    ]
    if interface.state_bytes:
        lines.append("  static uint64_t words[M_STATE_BYTES / 8 + 1];")
        lines.append("  void *state = (void *)(((uintptr_t)words + 7) / 8 * 8);")
        lines.append("  if (m_reset(state) != M_OK) return 3;")
    arguments = [
        f"(const {C_TYPES[spec.dtype]} *)(const void *){name}"
        for name, spec in zip(names, specs.inputs, strict=False)
    ]
    arguments += [f"{name}.numbers" for name in names[len(specs.inputs) :]]
    arguments += ["state"] if interface.state_bytes else []
    lines += [
        f"  if (m_run({', '.join(arguments)},",
        "            arena, M_ARENA_BYTES) != M_OK) return 2;",
    ]
    lines += [
        f"  for (i = 0; i < M_{name.upper()}_COUNT; i++)"
        f' printf("%lx%08lx ", (unsigned long)((uint64_t){name}.bits[i] >> 32),'
        f" (unsigned long)((uint64_t){name}.bits[i] & 0xffffffffu));"
        for name in names[len(specs.inputs) :]
    ]
    return "\n".join([*lines, "  return 0;", "}", ""])
