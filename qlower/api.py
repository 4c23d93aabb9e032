"""The Python interface: load a model, run it, compile it.

model = qlower.load("model.tflite")
run = qlower.jit(model)
y = run(x)
assert (y == qlower.interpret(model, x)).all()
qlower.compile(model, cpu="x86-64-v3").save("out/")
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.interface import Interface, c_identifier, check_name
from qlower.codegen.program.module import arena_bytes
from qlower.codegen.targets.resolve import (
    Target,
    host_target,
    resolve_levels,
    resolve_target,
)
from qlower.compilation.compilation import Compilation
from qlower.compilation.to_code import generate_package
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.files.replacing import replacing_files
from qlower.frontends.digest import file_digest
from qlower.frontends.load import ModelOrPath
from qlower.kept.fingerprint import fingerprint
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.input_sets import ordered_input_set
from qlower.model.printing import exact_module
from qlower.model.signature import Array, assign_inputs
from qlower.model.state import STATE_ALIGNMENT, State, state_offsets
from qlower.runtime.executors import JitFunction, Level, Outputs, unpack
from qlower.runtime.objects import cached_parts
from qlower.tables.table import counted

if TYPE_CHECKING:
    from qlower.compilation.bisection import Bisection
    from qlower.contract_pages.contract_table import Contracts
    from qlower.packages.memory import Memory
    from qlower.runtime.library import CompiledLibrary

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
}
"""What `Compiled.save` can write, with the name of each file."""


def lower(
    model: ModelOrPath,
    contract: str | None = None,
    *,
    layer_contracts: Mapping[str, str] | None = None,
) -> ModuleOp:
    """The model at the arith level: every rounding, shift and saturation is an op.

    `contract` names the numerics, or is the path of an `.mlir` file with them; by
    default it is the module's own `qnn.contract`. `layer_contracts` gives layers
    another one: `{"pool*": "tflite", "softmax": "exact"}`, by number, name, kind of
    operation or glob.
    """
    return Compilation(model, contract, layer_contracts=layer_contracts or {}).arith


def interpret(
    model: ModelOrPath,
    *inputs: Array,
    contract: str | None = None,
    at: Level = "arith",
    layers: dict[str, Array] | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    state: State | None = None,
    **named_inputs: Array,
) -> Outputs:
    """Run the model in the reference interpreter.

    Inputs are stored values (quantized, as in `model.inputs`), by position or by name;
    sets of them are run in turn, as a `JitFunction` does.
    `at` chooses the level to run: the contract's definition of each layer ("qnn"), the
    lowered arithmetic ("arith"), or the fused loop nests ("kernel"). The result of
    every layer is added to `layers` by name. `layer_contracts` is as in `lower`.
    `state`, from the model's `new_state`, is what the model keeps, as for a
    `JitFunction`.

    Returns one array, or a tuple when the model has several outputs.
    """
    compilation = Compilation(
        model,
        contract,
        with_layers=layers is not None,
        layer_contracts=layer_contracts or {},
    )
    outputs, recorded = compilation.interpreter(at).run(inputs, named_inputs, state)
    if layers is not None:
        layers.update(recorded)
    return unpack(outputs)


def jit(
    model: ModelOrPath,
    contract: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    *,
    threads: int = 1,
    profile: bool = False,
    with_layers: bool = False,
    tune: bool = False,
    layer_contracts: Mapping[str, str] | None = None,
) -> JitFunction:
    """Compile a model to native code for this machine, and load it.

    `cpu` and `features` restrict the instructions ("x86-64-v3", "+avx512vnni,-fma"),
    by default all that the machine has. The object is cached (in $QLOWER_CACHE_DIR,
    empty for no cache), keyed by the model's content, the contract's text, the target
    and qlower's own code.

    `threads` share large layers, through the system's OpenMP runtime ($QLOWER_OPENMP
    names another); the results are the same bits for any number of them. With `profile`
    the code takes the time of every layer, for `JitFunction.profile`. With
    `with_layers` the function also gives every layer's result, through `run`.

    The code rounds to nearest even and keeps subnormal numbers, whatever the calling
    thread's float environment, which it leaves as it was.

    How contractions are cut is estimated; with `tune` it is measured on this machine,
    and remembered beside the objects. The results are the same bits.

    `layer_contracts` is as in `lower`.
    """
    return Compilation(
        model,
        contract,
        resolve_target(None, cpu, features),
        Flavour(threads, profile),
        tune,
        with_layers,
        layer_contracts or {},
    ).function()


@dataclass(frozen=True, repr=False)
class Compiled:
    """A model as machine code, with the stages it went through for each CPU level.

    `interface` is how C code calls the object; its `name` is that of the files.
    """

    interface: Interface
    levels: tuple[Compilation, ...]
    object: CompiledObject

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
        if self.target.is_source:
            return f"<Compiled {self.interface.summary}>"
        size = counted(len(self.object.object_bytes), "byte")
        return f"<Compiled {self.interface.summary}, {size} of object file>"

    def _repr_html_(self) -> str:
        return self.interface.table().render("html")

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
                return c_source(self.kernels[0], self.interface)
            case "selftest":
                from qlower.packages.self_test import self_test_text

                return self_test_text(self.interface, self._outputs_digest())
            case "header":
                from qlower.packages.header import header_text

                return header_text(self.interface)
            case "c-example":
                from qlower.packages.example import example_text

                return example_text(self.interface)
            case _:
                raise QlowerError(f"there is no text form {kind!r}: {_TEXTS}")

    def _outputs_digest(self) -> int:
        """The digest of the outputs for the self-test's inputs, by code for this
        machine."""
        from qlower.packages.self_test import digest, drawn_inputs

        run = self.levels[0].for_target(host_target()).function()
        given = drawn_inputs(self.interface.signature.inputs)
        outputs, _ = run.run(given, {})
        return digest(outputs)

    def memory(self, *, with_stack: bool = True) -> Memory:
        """What the model takes of RAM, flash and stack.

        For the stack the code is compiled again, as assembly. Of C source only what
        the caller gives is known.
        """
        from qlower.packages.memory import memory_use

        code = self.object
        if self.target.is_source:
            return memory_use(self.interface, None, None)
        assembly = code.assembly() if with_stack else None
        return memory_use(self.interface, code.object_bytes, assembly)

    def save(
        self, directory: str | PathLike[str], emit: Sequence[str] = ("obj", "header")
    ) -> list[Path]:
        """Write what `emit` names (see `EMITTED`) into a folder.

        All of the files are written, or none. Returns their paths.
        """
        check_emitted(emit)
        folder = Path(directory)
        with replacing_files(folder) as temporary:
            names = self.write(temporary, emit)
        return [folder / name for name in names]

    def write(self, folder: Path, emit: Sequence[str]) -> list[str]:
        """Write the files into an existing folder, C source with its header; returns
        their names."""
        names: list[str] = []
        kinds = [*emit]
        if "c" in emit and "header" not in emit:
            kinds.append("header")
        for kind in kinds:
            names.append(EMITTED[kind].format(name=self.interface.name))
            path = folder / names[-1]
            if kind == "shared":
                self._link(path)
            elif kind == "obj":
                path.write_bytes(self.object.object_bytes)
            else:
                path.write_text(self.text(kind))
        return names

    def _link(self, library: Path) -> None:
        from qlower.packages.link import link_shared

        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary, "model.o")
            path.write_bytes(self.object.object_bytes)
            link_shared(path, library, self.target.triple)


_TEXTS = "mlir, llvm, asm, c, header, selftest or c-example"


def compile(
    model: ModelOrPath,
    target: str = "host",
    cpu: str | Sequence[str] | None = None,
    features: str | None = None,
    contract: str | None = None,
    *,
    name: str | None = None,
    tune: bool = False,
    layer_contracts: Mapping[str, str] | None = None,
) -> Compiled:
    """Compile a model to an object for `target` ("host", or a triple).

    C symbols, macros and files begin with `name`, by default that of the model's file
    in lower case; QlowerError for a name that C doesn't take.

    With `tune` it is measured how contractions are cut, as in `jit`, which only this
    machine's code can be: QlowerError for another target.

    With several CPUs (`["x86-64", "x86-64-v3", "sapphirerapids"]`, or
    `["generic", "generic+dotprod"]`; the least first) the object carries code for each
    and runs the last one whose instructions the processor has. On a processor that has
    none of them, or not what a single one needs, the C entry point returns an error.

    `layer_contracts` is as in `lower`.
    """
    names = resolve_levels(target, cpu, features)
    shared = Compilation(
        model, contract, tuned=tune, layer_contracts=layer_contracts or {}
    )
    levels = [shared.for_target(level) for level in names.values()]
    return compile_levels(dict(zip(names, levels, strict=True)), name)


def compile_levels(
    levels: Mapping[str, Compilation], name: str | None = None
) -> Compiled:
    """One object with code for each CPU level, by its name, the least first.

    The compilations are of one model, and share its arith level. C symbols begin with
    `name`, by default that of the model's file.
    """
    if name is not None:
        check_name(name)
    first = next(iter(levels.values()))
    model = first.model
    # who observes wants to see all that is done
    with nullcontext() if first.observers else cached_parts():
        code = [(level.kernels, level.target) for level in levels.values()]
    arena = max(arena_bytes(main_function(kernels)) for kernels, _ in code)
    alignment = first.target.alignment
    states = state_offsets(model.signature.states)[-1]
    arena = -(-arena // STATE_ALIGNMENT) * STATE_ALIGNMENT + states if states else arena
    interface = Interface(
        name=name or c_identifier("model" if model.path is None else model.path.stem),
        signature=model.signature,
        arena_bytes=max(arena, alignment),  # C has no arrays of size 0
        arena_alignment=alignment,
        contract=", ".join(
            dict.fromkeys(
                [
                    first.contract or module_contract(model.module) or "none",
                    *first.layer_contracts.values(),
                ]
            )
        ),
        model_sha256=_sha256(model),
        target=first.target.triple,
        levels=tuple(levels),
    )
    start = perf_counter()
    if first.target.is_source:
        package = CompiledObject(
            (), model.signature, interface.arena_bytes, first.target
        )
    else:
        package = generate_package(code, interface)
    for observer in first.observers:
        observer.generated(package, perf_counter() - start)
    return Compiled(interface, tuple(levels.values()), package)


def bisect(
    model: ModelOrPath,
    *inputs: Array,
    contract: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    **named_inputs: Array,
) -> Bisection:
    """Return the kernel, and the pass or schedule, in which native code and interpreter
    part on one input, or the first of a set that shows it, if they do.

    Inputs and options are as for `interpret` and `jit`.
    """
    from qlower.compilation.bisection import Bisection
    from qlower.compilation.bisection import bisect as search

    compilation = Compilation(
        model,
        contract,
        resolve_target(None, cpu, features),
        layer_contracts=layer_contracts or {},
    )
    specs = compilation.model.inputs
    given = ordered_input_set(specs, assign_inputs(specs, inputs, named_inputs))
    faults = (search(compilation, run) for run in given.runs)
    return Bisection(next((fault for fault in faults if fault is not None), None))


def list_contracts() -> Contracts:
    """Return the contracts that come with qlower or an installed package."""
    from qlower.contract_pages.contract_table import Contracts
    from qlower.contracts.headers import contract_headers

    return Contracts(contract_headers())


def load_compiled(directory: str | PathLike[str]) -> CompiledLibrary:
    """The model of a folder that was saved with `emit=["shared"]`, to be called as
    what `jit` gives."""
    from qlower.runtime.library import load_library

    return load_library(Path(directory))


def _sha256(model: Model) -> str:
    """The hash of the model's file, or of its module if it came from none."""
    path = model.path
    return fingerprint(model.module).hex() if path is None else file_digest(path)


def check_emitted(emit: Sequence[str]) -> None:
    """Refuse a kind of output that `Compiled.save` doesn't know."""
    if not emit:
        raise QlowerError(f"nothing to emit; choose from {', '.join(EMITTED)}")
    for kind in emit:
        if kind not in EMITTED:
            close = get_close_matches(kind, EMITTED, n=1)
            raise QlowerError(
                f"cannot emit {kind!r}: known are {', '.join(EMITTED)}",
                help=f"did you mean {close[0]!r}?" if close else None,
            )
