"""The Python interface: load a model, run it, compile it.

model = qlower.load("model.tflite")
run = qlower.jit(model)
y = run(x)
assert (y == qlower.interpret(model, x)).all()
qlower.compile(model, cpu="x86-64-v3").save("out/")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.executors import (
    JitFunction,
    Level,
    ModelInterpreter,
    ModelOrPath,
    Outputs,
    as_model,
    unpack,
)
from qlower.output import replacing_files
from qlower.pipeline import generate_code, lower_to_arith, lower_to_kernel
from qlower.printing import exact_module
from qlower.signature import Array, Signature

if TYPE_CHECKING:
    from qlower.codegen.module import CompiledObject
    from qlower.codegen.target import Target

EMITTED = {"obj": ".o", "asm": ".s", "llvm": ".ll", "mlir": ".mlir"}
"""What `Compiled.save` can write, with the suffix of each file."""


def lower(model: ModelOrPath, contract: str | None = None) -> ModuleOp:
    """The model at the arith level: every rounding, shift and saturation is an op.

    `contract` names the numerics, or is the path of an `.mlir` file with them; by
    default it is the module's own `qnn.contract`.
    """
    return lower_to_arith(as_model(model).module, contract)


def interpret(
    model: ModelOrPath,
    *inputs: Array,
    contract: str | None = None,
    at: Level = "arith",
    layers: dict[str, Array] | None = None,
    **named_inputs: Array,
) -> Outputs:
    """Run the model in the reference interpreter.

    Inputs are stored values (quantized, as in `model.inputs`), by position or by name.
    `at` chooses the level to run: the contract's definition of each layer ("qnn"), the
    lowered arithmetic ("arith"), or the fused loop nests ("kernel"). The result of
    every layer is added to `layers` by name.

    Returns one array, or a tuple when the model has several outputs.
    """
    interpreter = ModelInterpreter(
        model, contract=contract, at=at, with_layers=layers is not None
    )
    outputs, recorded = interpreter.run(inputs, named_inputs)
    if layers is not None:
        layers.update(recorded)
    return unpack(outputs)


def jit(
    model: ModelOrPath,
    contract: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    *,
    with_layers: bool = False,
) -> JitFunction:
    """Compile a model to native code for this machine, and load it.

    `cpu` and `features` restrict the instructions ("x86-64-v3", "+avx512vnni,-fma"),
    by default all that the machine has. The object is cached (in $QLOWER_CACHE_DIR,
    empty for no cache), keyed by the model's content, the contract's text, the target
    and qlower's own code.
    With `with_layers` the function also gives every layer's result, through `run`.
    """
    from qlower.codegen.target import resolve_target
    from qlower.objects import jit_function

    target = resolve_target(None, cpu, features)
    return jit_function(model, contract, target, with_layers)


@dataclass(frozen=True)
class Compiled:
    """A model as machine code for `target`, with the stages it went through."""

    name: str
    signature: Signature
    target: Target
    arith: ModuleOp
    kernel: ModuleOp
    object: CompiledObject

    def text(self, kind: str) -> str:
        """One stage as text: "mlir" (the arith level), "llvm" or "asm"."""
        match kind:
            case "mlir":
                return exact_module(self.arith)
            case "llvm":
                return self.object.llvm_text
            case "asm":
                return self.object.assembly()
            case _:
                raise QlowerError(f"there is no text form {kind!r}: mlir, llvm or asm")

    def save(
        self, directory: str | PathLike[str], emit: Sequence[str] = ("obj",)
    ) -> list[Path]:
        """Write `<name>.o` (obj), `.s` (asm), `.ll` (llvm), `.mlir` into a folder.

        All of the files are written, or none. Returns their paths.
        """
        check_emitted(emit)
        folder = Path(directory)
        with replacing_files(folder) as temporary:
            names = self.write(temporary, emit)
        return [folder / name for name in names]

    def write(self, folder: Path, emit: Sequence[str]) -> list[str]:
        """Write the files into an existing folder; returns their names."""
        names: list[str] = []
        for kind in emit:
            obj = kind == "obj"
            data = self.object.object_bytes if obj else self.text(kind).encode()
            names.append(f"{self.name}{EMITTED[kind]}")
            (folder / names[-1]).write_bytes(data)
        return names


def compile(
    model: ModelOrPath,
    target: str = "host",
    cpu: str | None = None,
    features: str | None = None,
    contract: str | None = None,
) -> Compiled:
    """Compile a model to an object for `target` ("host", or a triple)."""
    from qlower.codegen.target import resolve_target

    resolved = resolve_target(target, cpu, features)
    loaded = as_model(model)
    arith = lower_to_arith(loaded.module, contract)
    kernel = lower_to_kernel(arith)
    name = "model" if loaded.path is None else loaded.path.stem
    return Compiled(
        name, loaded.signature, resolved, arith, kernel, generate_code(kernel, resolved)
    )


def check_emitted(emit: Sequence[str]) -> None:
    """Refuse a kind of output that `Compiled.save` doesn't know."""
    if not emit:
        raise QlowerError(f"nothing to emit: choose of {', '.join(EMITTED)}")
    for kind in emit:
        if kind not in EMITTED:
            raise QlowerError(
                f"cannot emit {kind!r}: known are {', '.join(EMITTED)}",
            )
