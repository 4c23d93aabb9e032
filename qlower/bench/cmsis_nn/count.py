"""CMSIS-NN's kernels for the layers of a model, built from a checkout of it and counted
under emulation.

Every layer is given what the model's own code computes for it, so that its outputs can
be compared. Of the checkout those files are compiled that define what is called.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.ir import Operation, SSAValue

from qlower.bench.cmsis_nn.calls import ARGUMENTS, Call, call_of
from qlower.bench.emulated import Blocks, KernelCount
from qlower.codegen.targets.resolve import Target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import Emulator
from qlower.files.programs import run_program
from qlower.model.layers import layer_name, layers, value_names
from qlower.model.random_inputs import random_input
from qlower.model.signature import Array
from qlower.tables.table import Column, Table

COMPILER = "arm-none-eabi-gcc"

_CPUS = {
    "thumbv7em": "cortex-m4",
    "thumbv7m": "cortex-m3",
    "thumbv8m.main": "cortex-m33",
}
"""CPUs of targets that name none."""

_FLOATS = {
    "cortex-m4": ("-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"),
    "cortex-m7": ("-mfloat-abi=softfp", "-mfpu=fpv5-d16"),
    "cortex-m33": ("-mfloat-abi=softfp", "-mfpu=fpv5-sp-d16"),
}
"""Units for floats, whose registers the compiler spills to."""


@dataclass(frozen=True)
class LayerCount:
    """A layer's instructions and modelled cycles, in qlower and in CMSIS-NN's
    `kernels`, and how many outputs differ. A layer here may be several in the model;
    the outputs of all of them are compared."""

    layer: str
    kernels: str
    instructions: int
    theirs: int
    cycles: int
    their_cycles: int
    differ: int

    @property
    def ratio(self) -> float:
        """Our instructions as a part of theirs."""
        return self.instructions / self.theirs


@dataclass(frozen=True)
class _Layer:
    """A layer with a kernel: its operation, and its position as a C function."""

    name: str
    op: Operation
    call: Call

    def text(self, number: int) -> str:
        """The C functions that say how much memory the kernel needs, and call it."""
        statements = "\n".join(f"  {line}" for line in self.call.statements)
        return (
            f"int32_t memory_{number}(void) {{\n{statements}\n"
            f"  return {self.call.memory};\n}}\n"
            f"int32_t layer_{number}({', '.join(ARGUMENTS)}) {{\n{statements}\n"
            "  cmsis_nn_context context = {memory, 0};\n"
            f"  (void)context;\n  {self.call.call}\n}}\n"
        )


def compare_layers(
    compilation: Compilation, kernels: Sequence[KernelCount], checkout: Path
) -> list[LayerCount]:
    """The layers that CMSIS-NN has kernels for, in order, with the counts of both for
    drawn inputs; `kernels` are qlower's.

    Raises QlowerError where `checkout` is none of CMSIS-NN, or its compiler is missing.
    """
    sources = _sources(checkout)
    named = Compilation(
        compilation.source,
        compilation.contract,
        with_layers=True,
        layer_contracts=compilation.layer_contracts,
    )
    module = named.model.module
    found = [
        _Layer(layer_name(op) or op.name, op, call)
        for op in layers(module)
        if (call := call_of(op)) is not None
    ]
    if not found:
        return []
    random = np.random.default_rng(0)
    inputs: list[Array] = [random_input(s, random) for s in named.model.inputs]
    _, results = named.function().run(inputs, {}, None)
    specs = named.model.inputs
    values = {**results, **{s.name: x for s, x in zip(specs, inputs, strict=True)}}
    names = value_names(module)
    emulator = Emulator(_built(found, sources, compilation.target))
    memory = [emulator.call(f"memory_{number}") for number in range(len(found))]
    blocks = Blocks(emulator, [f"layer_{number}" for number in range(len(found))])
    differ: list[int] = []
    for number, layer in enumerate(found):
        given = {
            argument: values[names[value]]
            for argument, value in zip(("x", "other"), _data(layer.op), strict=False)
        }
        wanted = values[names[layer.op.results[0]]]
        arrays = {**layer.call.arrays, **given}
        got = _run_layer(emulator, number, arrays, wanted, memory[number])
        differ.append(int((got != wanted).sum()))
    counts, cycles = blocks.instructions(), blocks.cycles() or Counter[int]()
    theirs = {
        layer.name: LayerCount(
            *(layer.name, layer.call.kernel, 0, counts[number], 0, cycles[number]),
            differ[number],
        )
        for number, layer in enumerate(found)
    }
    return [*_joined(kernels, theirs)]


def _data(op: Operation) -> list[SSAValue]:
    """The operands that aren't constants of a layer."""
    has_weights = op.name in ("qnn.conv2d", "qnn.depthwise_conv2d", "qnn.linear")
    return list(op.operands[: 1 if has_weights else None])


def _joined(
    kernels: Sequence[KernelCount], theirs: Mapping[str, LayerCount]
) -> Iterator[LayerCount]:
    """Our layers all of whose parts CMSIS-NN has kernels for."""
    titles = {kernel.layer: kernel.layer.split(" + ") for kernel in kernels}
    for title, names in titles.items():
        if any(title in others for others in titles.values() if others != names):
            continue  # a copy for a layer of several parts
        ours = [kernel for kernel in kernels if kernel.layer in (title, *names)]
        parts = [theirs.get(name) for name in names]
        found = [part for part in parts if part is not None]
        if len(found) == len(parts):
            yield LayerCount(
                title,
                " + ".join(part.kernels for part in found),
                sum(kernel.instructions for kernel in ours),
                sum(part.theirs for part in found),
                sum(kernel.cycles or 0 for kernel in ours),
                sum(part.their_cycles for part in found),
                sum(part.differ for part in found),
            )


def _run_layer(
    emulator: Emulator,
    number: int,
    given: Mapping[str, Array],
    wanted: Array,
    memory: int,
) -> Array:
    """The outputs of a layer's function, which has `memory` bytes to work in. Raises
    QlowerError if the function refuses."""
    sizes = {name: array.nbytes for name, array in given.items()}
    sizes |= {"y": wanted.nbytes, "memory": memory}
    pages = emulator.map_buffers(sizes.values())
    addresses = {name: start for name, (start, _) in zip(sizes, pages, strict=True)}
    for name, array in given.items():
        emulator.write(addresses[name], np.ascontiguousarray(array).tobytes())
    words = [addresses.get(p.split("*")[1], 0) for p in ARGUMENTS]
    if emulator.call(f"layer_{number}", *words):
        raise QlowerError(f"CMSIS-NN refuses layer {number}")
    made = emulator.read(addresses["y"], wanted.nbytes)
    for start, size in pages:
        emulator.unmap(start, size)
    return np.frombuffer(made, wanted.dtype).reshape(wanted.shape)


def _sources(checkout: Path) -> list[Path]:
    """The files of a checkout that define kernels."""
    if shutil.which(COMPILER) is None:
        raise QlowerError(
            f"--cmsis-nn needs {COMPILER}",
            help="Debian and Ubuntu: apt-get install gcc-arm-none-eabi",
        )
    found = sorted((checkout / "Source").rglob("*.c"))
    if not (checkout / "Include" / "arm_nnfunctions.h").is_file() or not found:
        raise QlowerError(
            f"--cmsis-nn {checkout}: there is no Include/arm_nnfunctions.h",
            help="git clone https://github.com/ARM-software/CMSIS-NN",
        )
    return found


def _built(found: Sequence[_Layer], sources: Sequence[Path], target: Target) -> bytes:
    """A relocatable object of the layers' functions and all that they call."""
    architecture = target.triple.split("-")[0]
    if architecture not in _CPUS:
        raise QlowerError(
            f"--cmsis-nn: its kernels aren't counted for {target.triple}",
            help=f"--target: {', '.join(f'{name}-none-eabi' for name in _CPUS)}",
        )
    cpu = target.cpu if target.cpu != "generic" else _CPUS[architecture]
    texts = {source: source.read_text(errors="replace") for source in sources}
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder) / "layers.c"
        main.write_text(
            '#include "arm_nnfunctions.h"\n'
            + "\n".join(layer.text(number) for number, layer in enumerate(found))
        )
        include = sources[0].parents[2] / "Include"
        flags = [f"-mcpu={cpu}", "-mthumb", *_FLOATS.get(cpu, ())]
        compile = [COMPILER, "-O3", *flags, "-ffunction-sections", "-I", str(include)]
        objects: list[Path] = []
        chosen, wanted = [main], set[str]()
        while chosen:
            for source in chosen:
                objects.append(Path(folder) / f"{len(objects)}.o")
                _run([*compile, "-c", str(source), "-o", str(objects[-1])])
            elves = [read_object(path.read_bytes()) for path in objects]
            defined = {name for elf in elves for name in elf.defined_symbols}
            missing = {n for elf in elves for n in elf.external_symbols} - defined
            chosen = [
                source
                for source, text in texts.items()
                if any(_defines(text, name) for name in missing - wanted)
            ]
            wanted |= missing
        roots = [
            f"-Wl,-u,{kind}_{number}"
            for kind in ("layer", "memory")
            for number in range(len(found))
        ]
        program = Path(folder) / "program.o"
        link = [COMPILER, *flags, "-r", "-nostdlib", "-Wl,--gc-sections", *roots]
        _run([*link, *map(str, objects), "-lc", "-lgcc", "-o", str(program)])
        return program.read_bytes()


def _defines(text: str, name: str) -> bool:
    return bool(re.search(rf"^[a-z]\w*[ \w*]*[ *]{name}\(", text, re.MULTILINE))


def _run(command: Sequence[str]) -> None:
    done = run_program(command)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        reason = next((line for line in lines if "error" in line), "failed")
        raise QlowerError(f"{command[0]}: {reason}")


def layers_table(counts: Sequence[LayerCount]) -> Table[LayerCount]:
    """Each layer's instructions, ours and CMSIS-NN's."""
    total, theirs = (
        sum(getattr(count, name) for count in counts)
        for name in ("instructions", "theirs")
    )
    columns: list[Column[LayerCount]] = [
        Column("layer", "layer", lambda c: c.layer, least=12),
        Column("CMSIS-NN's kernel", "kernels", lambda c: c.kernels, right=False),
        Column("instructions", "instructions", lambda c: c.instructions, sums=True),
        Column("CMSIS-NN", "theirs", lambda c: c.theirs, sums=True),
        Column("ratio", "ratio", lambda c: c.ratio, lambda c: f"{c.ratio:.2f}"),
        Column("cycles", "cycles", lambda c: c.cycles, sums=True, rank=2),
        Column("CMSIS-NN", "their_cycles", lambda c: c.their_cycles, sums=True, rank=1),
        Column("differ", "differ", lambda c: c.differ, sums=True),
    ]
    notes = ["Outputs that differ are those of the layer for the same inputs."]
    if theirs:
        notes.insert(0, f"Together {total / theirs:.3f} times CMSIS-NN's instructions.")
    return Table("CMSIS-NN", counts, columns, total="total", notes=notes)
