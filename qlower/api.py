"""The Python interface: load a model, run it, compile it.

model = qlower.load("model.tflite")
run = qlower.jit(model)
y = run(x)
assert (y == qlower.interpret(model, x)).all()
qlower.compile(model, cpu="x86-64-v3").save("out/")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.program.flavour import Flavour
from qlower.codegen.targets.resolve import resolve_levels, resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import ModelOrPath
from qlower.model import Model
from qlower.model.input_sets import ordered_input_set
from qlower.model.signature import Array, TensorSpec, assign_inputs
from qlower.model.state import State
from qlower.runtime.executors import JitFunction, Level, Outputs, unpack

if TYPE_CHECKING:
    from qlower.compilation.bisection import Bisection
    from qlower.contract_pages.contract_table import Contracts
    from qlower.packages.compiled import Compiled
    from qlower.runtime.by_shape import FunctionByShape
    from qlower.runtime.library import CompiledLibrary

ShapesOfInputs: TypeAlias = Mapping[str, Sequence[int]]
"""The shapes of inputs whose sizes a file leaves open, by name."""


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


def jit_by_shape(
    path: str | PathLike[str],
    contract: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    *,
    threads: int = 1,
    layer_contracts: Mapping[str, str] | None = None,
    qdq: str | None = None,
    most: int = 32,
) -> FunctionByShape:
    """Compile a model whose file leaves sizes open, such as the length of a sequence,
    for the shapes of the arrays that it is called with.

    run = qlower.jit_by_shape("bert.onnx")
    run(ids, mask)  # [1, 16]: compiled once, and kept in the cache
    run.function({"ids": (1, 128), "mask": (1, 128)})  # compiled ahead of a call

    `qdq` is as in `load`, by default as the systems of the contracts read the file; at
    most `most` functions stay loaded. The rest is as in `jit`.
    """
    from qlower.frontends.load import as_read
    from qlower.runtime.by_shape import FunctionByShape, Shapes

    if most < 1:
        raise QlowerError(f"most is {most}, at least 1 function stays loaded")
    target, flavour = resolve_target(None, cpu, features), Flavour(threads)

    def make(shapes: Shapes) -> JitFunction:
        return Compilation(
            path,
            contract,
            target,
            flavour,
            layer_contracts=layer_contracts or {},
            reading=_reading(path, contract, shapes, qdq),
        ).function()

    def default_inputs() -> Sequence[TensorSpec]:
        return as_read(path, _reading(path, contract, {}, qdq)).inputs

    return FunctionByShape(make, default_inputs, most)


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
    optimize: str = "speed",
    weights_section: str = "",
    shapes: Sequence[ShapesOfInputs] = (),
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

    `layer_contracts` is as in `lower`. For targets without an operating system,
    `optimize="ram"` makes the arena small, and puts inputs and outputs into it.
    Weights and tables lie in sections of the name `weights_section`, if there is one,
    which a linker script may put elsewhere.

    `shapes` are those of inputs whose sizes the file leaves open. For several
    (`[{"ids": (1, 16)}, {"ids": (1, 128)}]`) the object has an entry point for each,
    and weights once; names begin with `name` and the sizes, such as `bert_1x16`.
    """
    from qlower.packages.compiled import compile_shapes

    names = resolve_levels(target, cpu, features)
    given: list[dict[str, Compilation]] = []
    readings = [_reading(model, contract, one) for one in shapes]
    for reading in readings or [None]:
        shared = Compilation(
            model,
            contract,
            tuned=tune,
            layer_contracts=layer_contracts or {},
            reading=reading,
        )
        given.append(
            {
                name: shared.for_target(level.optimized(optimize))
                for name, level in names.items()
            }
        )
    return compile_shapes(given, name, weights_section)


def _reading(
    model: ModelOrPath,
    contract: str | None,
    shapes: ShapesOfInputs,
    qdq: str | None = None,
) -> ImportOptions:
    """The options by which a model's file is read for inputs of these shapes."""
    if isinstance(model, Model):
        raise QlowerError("shapes are for a model's file: this one is read already")
    from qlower.frontends.load import reading_by

    named = reading_by(model, [contract] if contract else [])
    return ImportOptions.of(shapes, (), qdq or named.qdq)


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


def load_compiled(
    directory: str | PathLike[str], entry: str | None = None
) -> CompiledLibrary:
    """The model of a folder that was saved with `emit=["shared"]`, to be called as
    what `jit` gives; of one for inputs of several shapes that of the name `entry`."""
    from qlower.runtime.library import load_library

    return load_library(Path(directory), entry)
