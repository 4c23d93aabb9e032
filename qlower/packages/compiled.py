"""A model as machine code for C programs, and the files that it is saved as."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.interface import Interface, c_identifier, check_name
from qlower.codegen.program.module import PackageModel, arena_bytes
from qlower.codegen.targets.optimized import RAM
from qlower.codegen.targets.resolve import Target, host_target
from qlower.compilation.compilation import Compilation
from qlower.compilation.to_code import generate_package
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import ARENA_INPUTS, ARENA_OUTPUTS, arena_offsets
from qlower.dialects.qnn.attributes import module_contract
from qlower.files.replacing import replacing_files
from qlower.frontends.digest import file_digest
from qlower.kept.fingerprint import fingerprint
from qlower.kept.parts import kept_at_least_in
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.printing import exact_module
from qlower.model.signature import Signature
from qlower.model.state import STATE_ALIGNMENT, state_offsets
from qlower.packages.example import example_text
from qlower.packages.header import header_text
from qlower.packages.known_names import check_known
from qlower.packages.library import library_kind, write_library
from qlower.packages.link import link_shared
from qlower.packages.memory import Memory, memory_use
from qlower.packages.self_test import (
    SEEDS,
    digest,
    drawn_inputs,
    room,
    self_test_text,
)
from qlower.packages.wasm_module import linked_module
from qlower.runtime.objects import cached_parts
from qlower.tables.table import counted

EMITTED = {
    "obj": "{name}.o",
    "header": "{name}.h",
    "shared": "lib{name}.so",
    "c-example": "main.c",
    "asm": "{name}.s",
    "llvm": "{name}.ll",
    "mlir": "{name}.mlir",
    "c": "{name}.c",
    "selftest": "{name}_selftest.h",
    "wasm": "{name}.wasm",
}
"""The outputs of `Compiled.save`, with the name of each file."""


@dataclass(frozen=True, repr=False)
class Compiled:
    """A model as machine code, with the stages it went through for each CPU level.

    `interface` is how C code calls the object; `name` is that of the files. An object
    for inputs of several shapes has `interface` for the first of them, and `others`.
    Weights are in the `weights_section`, if it has a name.
    """

    interface: Interface
    levels: tuple[Compilation, ...]
    object: CompiledObject
    name: str
    weights_section: str = ""
    others: tuple[Interface, ...] = ()

    @property
    def target(self) -> Target:
        """The only target, or the first of several."""
        return self.levels[0].target

    @property
    def arith(self) -> ModuleOp:
        """The arith level, which all CPU levels share."""
        return self.levels[0].arith

    @property
    def kernels(self) -> tuple[ModuleOp, ...]:
        """The kernel level for each CPU level."""
        return tuple(level.kernels for level in self.levels)

    def __repr__(self) -> str:
        summary = "\n".join(one.summary for one in self.interfaces)
        if self.target.is_source:
            return f"<Compiled {summary}>"
        size = counted(len(self.object.object_bytes), "byte")
        return f"<Compiled {summary}, {size} of object file>"

    def _repr_html_(self) -> str:
        return "\n".join(one.table().render("html") for one in self.interfaces)

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """One for each shape of the inputs."""
        return (self.interface, *self.others)

    def text(self, kind: str) -> str:
        """One stage as text: "mlir" (the arith level), "llvm", "asm"; for C "c",
        "header", "c-example" and "selftest", whose digest this machine computes."""
        match kind:
            case "mlir":
                return exact_module(self.arith)
            case "llvm":
                return self.object.llvm_text
            case "asm":
                return self.object.assembly()
            case "c":
                from qlower.packages.c_source.program import c_source

                if len(self.levels) > 1:
                    raise QlowerError("C source has one level", help="name one CPU")
                if self.target.optimize == RAM:
                    raise QlowerError(
                        "--optimize ram relies on the order of machine code, which C "
                        "source doesn't have"
                    )
                return c_source(self.kernels[0], self.interface, self.weights_section)
            case "selftest":
                return self._self_test()
            case "header":
                return "\n".join(map(header_text, self.interfaces))
            case "c-example":
                return example_text(self.interface)
            case _:
                raise QlowerError(f"there is no text form {kind!r}: {_TEXTS}")

    def _self_test(self) -> str:
        """The self-test for the input, of a few, whose outputs are least saturated.
        Code for this machine computes them."""
        run = self.levels[0].for_target(host_target()).function()
        specs = self.interface.signature.inputs
        found = {seed: run.run(drawn_inputs(specs, seed), {})[0] for seed in SEEDS}
        best = max(SEEDS, key=lambda seed: room(found[seed]))
        return self_test_text(self.interface, best, digest(found[best]))

    def memory(self, *, with_stack: bool = True) -> Memory:
        """The RAM, flash and stack that the model takes.

        For the stack the code is compiled again, as assembly. Of C source only the
        memory that the caller gives is known.
        """
        code = self.object
        if self.target.is_source:
            return memory_use(self.interface, None, None)
        assembly = code.assembly() if with_stack else None
        largest = max(self.interfaces, key=lambda one: one.arena_bytes)
        return memory_use(largest, code.object_bytes, assembly)

    def save(
        self,
        directory: str | PathLike[str],
        emit: Sequence[str] = ("obj", "header"),
        package: str | None = None,
    ) -> list[Path]:
        """Write what `emit` names (see `EMITTED`) into a folder, C source as a library
        of the build system `package` (see `LIBRARIES`), if there is one.

        All of the files are written, or none. Returns their paths.
        """
        check_emitted(emit, package)
        folder = Path(directory)
        with replacing_files(folder) as temporary:
            names = self.write(temporary, emit, package)
        return [folder / name for name in names]

    def write(
        self, folder: Path, emit: Sequence[str], package: str | None = None
    ) -> list[str]:
        """Write the files into an existing folder, C source with its header; returns
        their names."""
        if self.others:
            check_shared(emit)
        names: list[str] = []
        kinds = [*emit]
        if "c" in emit and "header" not in emit:
            kinds.append("header")
        library = None if package is None else library_kind(package)
        sources = Path()
        if library is not None:
            names += write_library(folder, library, self.interface)
            sources = Path(library.sources)
            (folder / sources).mkdir(exist_ok=True)
        for kind in kinds:
            name = EMITTED[kind].format(name=self.name)
            names.append(str(sources / name))
            path = folder / names[-1]
            if kind == "shared":
                self._link(path)
            elif kind == "obj":
                path.write_bytes(self.object.object_bytes)
            elif kind == "wasm":
                path.write_bytes(self._module())
            else:
                path.write_text(self.text(kind))
        return names

    def _module(self) -> bytes:
        """The object as a module for engines of WebAssembly."""
        if not self.target.triple.startswith("wasm"):
            raise QlowerError(
                f"cannot emit wasm for {self.target.triple}",
                help="--target wasm32-unknown-unknown --features +simd128",
            )
        stack = self.memory().stack.bytes
        if stack is None:
            raise QlowerError("the depth of the stack isn't known")
        return linked_module(self.object.object_bytes, self.interface, stack)

    def _link(self, library: Path) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "model.o")
            path.write_bytes(self.object.object_bytes)
            link_shared(path, library, self.target.triple)


_OF_SHAPES = ("obj", "header", "shared", "asm", "llvm")
"""The outputs for a model for inputs of several shapes."""

_TEXTS = "mlir, llvm, asm, c, header, selftest or c-example"


def compile_levels(
    levels: Mapping[str, Compilation],
    name: str | None = None,
    weights_section: str = "",
) -> Compiled:
    """One object with code for each CPU level, by its name, the least first.

    The compilations are of one model, and share its arith level. C symbols begin with
    `name`, by default that of the model's file. Weights lie in sections of the name
    `weights_section`, if there is one; QlowerError for one that no linker script has.
    """
    return compile_shapes([levels], name, weights_section)


def compile_shapes(
    shapes: Sequence[Mapping[str, Compilation]],
    name: str | None = None,
    weights_section: str = "",
) -> Compiled:
    """One object as of `compile_levels` for inputs of each of several shapes: symbols
    of each begin with the name and the sizes that aren't the same for all."""
    if name is not None:
        check_name(name)
    first = next(iter(shapes[0].values()))
    if first.target.is_source and len(shapes) > 1:
        raise QlowerError("C source is for inputs of one shape")
    _check_section(weights_section, first.target)
    path = first.model.path
    name = name or c_identifier("model" if path is None else path.stem)
    labels = _labels([next(iter(levels.values())).signature for levels in shapes])
    models: list[PackageModel] = []
    # who observes wants to see all that is done
    with nullcontext() if first.observers else cached_parts():
        for label, levels in zip(labels, shapes, strict=True):
            code = [(level.kernels, level.target) for level in levels.values()]
            models.append((_interface(name + label, levels), code))
    interfaces = [interface for interface, _ in models]
    start = perf_counter()
    if first.target.is_source:
        size = interfaces[0].arena_bytes
        package = CompiledObject((), first.model.signature, size, first.target)
    else:
        with kept_at_least_in(first.parts):
            listed = name if len(shapes) > 1 else None
            package = generate_package(models, weights_section, listed)
    for observer in first.observers:
        observer.generated(package, perf_counter() - start)
    return Compiled(
        interfaces[0],
        tuple(shapes[0].values()),
        package,
        name,
        weights_section,
        tuple(interfaces[1:]),
    )


def _interface(name: str, levels: Mapping[str, Compilation]) -> Interface:
    """The interface of a model whose symbols begin with `name`."""
    first = next(iter(levels.values()))
    model, alignment = first.model, first.target.alignment
    functions = [main_function(level.kernels) for level in levels.values()]
    arena = max(map(arena_bytes, functions))
    states = state_offsets(model.signature.states)[-1]
    arena = -(-arena // STATE_ALIGNMENT) * STATE_ALIGNMENT + states if states else arena
    contract = first.contract or module_contract(model.module) or "none"
    return Interface(
        name=name,
        signature=model.signature,
        arena_bytes=max(arena, alignment),  # C has no arrays of size 0
        arena_alignment=alignment,
        contract=", ".join(dict.fromkeys([contract, *first.layer_contracts.values()])),
        model_sha256=_sha256(model),
        target=first.target.triple,
        levels=tuple(levels),
        arena_inputs=arena_offsets(functions[0], ARENA_INPUTS),
        arena_outputs=arena_offsets(functions[0], ARENA_OUTPUTS),
    )


def _labels(signatures: Sequence[Signature]) -> list[str]:
    """The ends of the names of models that are one for inputs of several shapes: the
    shapes that differ, such as `_1x16`. Raises QlowerError where none do."""
    if len(signatures) == 1:
        return [""]
    shapes = [[spec.shape for spec in one.inputs] for one in signatures]
    varying = [column for column in zip(*shapes, strict=True) if len({*column}) > 1]
    rows = [dict.fromkeys(row) for row in zip(*varying, strict=True)]
    labels = ["".join("_" + "x".join(map(str, shape)) for shape in row) for row in rows]
    if len({*labels}) < len(signatures):
        raise QlowerError("the same shapes of inputs are given twice")
    return labels


def check_shared(emit: Sequence[str]) -> None:
    """Raise QlowerError for outputs that a model for inputs of several shapes lacks."""
    for kind in emit:
        if kind not in _OF_SHAPES:
            raise QlowerError(
                f"--emit {kind} is for inputs of one shape; several take "
                f"{', '.join(_OF_SHAPES)}"
            )


def _check_section(name: str, target: Target) -> None:
    if not name:
        return
    if not re.fullmatch(r"[A-Za-z_.][\w.]*", name, flags=re.ASCII):
        raise QlowerError(
            f"{name!r} is no name of a section: expected letters, digits, _ and dots",
            help="--weights-section .xip_weights",
        )
    if target.triple.startswith("wasm"):
        raise QlowerError(f"--weights-section: {target.triple} has no sections")


def _sha256(model: Model) -> str:
    """The hash of the model's file, or of its module if it came from none."""
    path = model.path
    return fingerprint(model.module).hex() if path is None else file_digest(path)


def check_emitted(emit: Sequence[str], package: str | None = None) -> None:
    """Refuse a kind of output that `Compiled.save` doesn't know, and a `package` of
    anything but C source."""
    if package is not None:
        library_kind(package)
        if "c" not in emit:
            raise QlowerError("--package is made of C source", help="--emit c")
    if not emit:
        raise QlowerError(f"nothing to emit; choose from {', '.join(EMITTED)}")
    for kind in emit:
        check_known("cannot emit", kind, EMITTED)
