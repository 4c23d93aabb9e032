"""`qlower run`: a model on arrays from files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from qlower.cli.colour import complain
from qlower.cli.given import make_compilation
from qlower.cli.inputs import check_inputs, given_arrays
from qlower.cli.output import print_table, show
from qlower.cli.progress import clear_status, progress
from qlower.cli.tables.output_table import OutputSummary, output_table
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.files.arrays import write_arrays
from qlower.files.replacing import replacing
from qlower.model.input_sets import InputSet, input_set
from qlower.model.signature import Array, TensorSpec
from qlower.runtime.executors import Executor, JitFunction
from qlower.tables.json_text import json_text
from qlower.tables.table import Table

if TYPE_CHECKING:
    from qlower.runtime.profiling import KernelTime, Profile


def run(options: argparse.Namespace) -> int:
    """Run the model on every example, then write or show the outputs.

    What the model keeps from one call to the next goes from one example to the next.
    """
    check_inputs(options)
    labels = None
    if options.labels is not None:
        from qlower.cli.labels import read_labels

        labels = read_labels(Path(options.labels))
    with ExitStack() as stack:
        output = _open(stack, options.output)
        layers_output = _open(stack, options.save_layers)
        compilation, inputs = _prepared(options)  # to compile may take long
        executor = _make_executor(compilation, options)
        if labels is not None:
            labels.check(executor.outputs, len(inputs.runs))
        state = executor.new_state()
        results = [executor.run((), run, state) for run in progress(inputs.runs, "run")]
        profile = None
        if options.profile and options.format == "json" and output is None:
            profile = _profile(executor, inputs.runs[0]).table
        elif options.profile:
            print_table(_profile(executor, inputs.runs[0]).table, options)
        outputs = {
            spec.name: inputs.join([arrays[index] for arrays, _ in results])
            for index, spec in enumerate(executor.outputs)
        }
        if output is not None:
            _write(output, outputs)
        if layers_output is not None:
            full = compilation.model.full_names if options.full_names else {}
            layers = {
                full.get(name, name): inputs.join([found[name] for _, found in results])
                for name in results[0][1]
            }
            _write(layers_output, layers)
    if options.digest:
        given = [arrays for arrays, _ in results]
        _show_digest(compilation, inputs.runs, executor.outputs, given, options)
    elif output is None:
        _show(executor.outputs, [arrays for arrays, _ in results], options, profile)
    if labels is not None:
        clear_status()
        complain(f"note: {labels.judge([arrays[0] for arrays, _ in results])}")
    return 0


def _prepared(options: argparse.Namespace) -> tuple[Compilation, InputSet]:
    """The model and its inputs, whose sizes are those that the file leaves open where
    no option gives these."""
    compilation = make_compilation(options)
    wanted = compilation.signature.inputs
    arrays = given_arrays(wanted, options)
    try:
        return compilation, input_set(wanted, arrays)
    except QlowerError as error:
        if options.shape or options.model == "-":
            raise
        shapes = [
            f"{name}={'x'.join(map(str, array.shape))}"
            for name, array in arrays.items()
            if array.shape
        ]
        options.shape = shapes
        try:
            compilation = make_compilation(options)
            wanted = compilation.signature.inputs
        except QlowerError:
            raise error from None
        complain(f"note: sizes are those of the inputs: --shape {' '.join(shapes)}")
        return compilation, input_set(wanted, arrays)


def _show_digest(
    compilation: Compilation,
    inputs: Sequence[Mapping[str, Array]],
    specs: Sequence[TensorSpec],
    results: Sequence[Sequence[Array]],
    options: argparse.Namespace,
) -> None:
    from qlower.sides.run_digest import run_digest

    names = [spec.name for spec in specs]
    outputs = [dict(zip(names, arrays, strict=True)) for arrays in results]
    found = run_digest(compilation.model, compilation.contract, inputs, outputs)
    if options.format == "json":
        show(json_text(found.to_dict()))
    else:
        show(str(found))


def _show(
    specs: Sequence[TensorSpec],
    results: Sequence[Sequence[Array]],
    options: argparse.Namespace,
    profile: Table[KernelTime] | None,
) -> None:
    """The outputs of one run in lines, of several in a table; as JSON with the profile,
    so that it is one object."""
    rows = [
        OutputSummary.of(number, spec, array)
        for number, arrays in enumerate(results)
        for spec, array in zip(specs, arrays, strict=True)
    ]
    if profile is not None:
        outputs = output_table(rows).records()
        show(json_text({"rows": outputs, "profile": profile.records()}))
        return
    if len(results) > 1 or options.format != "plain":
        print_table(output_table(rows), options)
        return
    show("\n".join(line for row in rows for line in row.lines))


def _profile(executor: Executor, inputs: Mapping[str, Array]) -> Profile:
    assert isinstance(executor, JitFunction)
    return executor.profile(*(inputs[spec.name] for spec in executor.inputs))


def _make_executor(compilation: Compilation, options: argparse.Namespace) -> Executor:
    if options.executor == "jit":
        return compilation.function()
    if options.cpu is not None or options.features is not None:
        raise QlowerError("--cpu and --features are for --executor jit")
    if options.profile or options.tune or options.threads != 1:
        raise QlowerError("--profile, --tune and --threads are for --executor jit")
    if options.dump_ir is not None or options.arith_passes:
        raise QlowerError("--dump-ir and --arith-passes are for --executor jit")
    return compilation.interpreter()


def _open(stack: ExitStack, path: str | None) -> BinaryIO | None:

    if path is None:
        return None
    if Path(path).suffix != ".npz" and not Path(path).is_char_device():
        raise QlowerError(f"{path}: arrays are written to .npz files")
    return stack.enter_context(replacing(Path(path)))


def _write(stream: BinaryIO, arrays: Mapping[str, Array]) -> None:
    write_arrays(stream, arrays)
