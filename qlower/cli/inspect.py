"""`qlower inspect`: read a model at any level, or a table of its layers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.cli.exit_codes import UsageError
from qlower.cli.given import make_compilation
from qlower.cli.output import print_table
from qlower.cli.progress import clear_status
from qlower.codegen.llvm.assembly import functions_of
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import CONTRACT, module_contract
from qlower.model.entry import main_function
from qlower.model.extract import extract_layers
from qlower.model.layers import is_constant, layer_names
from qlower.model.printing import readable_module, readable_operations
from qlower.model.selection import select_layers


def run(options: argparse.Namespace) -> int:
    """Lower as far as asked for, and print."""
    if options.format != "plain" and not options.stats:
        raise UsageError(
            f"--format {options.format} is for the table of layers",
            help="inspect MODEL --stats prints it",
        )
    if options.at == "qnn" and not options.stats and options.dump_ir is not None:
        raise UsageError(
            "--dump-ir has nothing to write: no pass is run for --at qnn",
            help="--at llvm runs all of them",
        )
    compilation = make_compilation(options)
    chosen = None
    if options.layer is not None:
        chosen = select_layers(compilation.model.module, options.layer)
    if options.stats:
        from qlower.inspection.statistics import stats_of

        table = stats_of(compilation, chosen, full_names=options.full_names).table
        given = shlex.quote(options.model)
        hint = (
            f"Run `qlower lint {given}` to find layers that can overflow 32 bits (or "
            "--accumulator-bits N)."
        )
        print_table(replace(table, notes=[*table.notes, hint]), options)
        return 0
    text = _text(compilation, options.at, chosen, options.constants)
    clear_status()
    print(text.rstrip("\n"))
    return 0


def _text(
    compilation: Compilation,
    level: str,
    chosen: Sequence[str] | None,
    constants: bool,
) -> str:
    match level:
        case "qnn":
            return _layers(_with_contract(compilation), chosen, constants)
        case "arith":
            name = compilation.contract or module_contract(compilation.qnn)
            lead = "" if name is None else f"// contract {name}\n"
            return f"{lead}{_layers(compilation.arith, chosen, constants)}"
        case "kernel":
            return _ir(compilation.kernels, chosen, constants)
        case _:
            return _native(compilation, level, chosen)


def _with_contract(compilation: Compilation) -> ModuleOp:
    """The model under the contract that was asked for, which has to exist."""
    if compilation.contract is None:
        return compilation.qnn
    load_contract(compilation.contract)
    module = compilation.qnn.clone()
    module.attributes[CONTRACT] = StringAttr(compilation.contract)
    return module


def _layers(module: ModuleOp, chosen: Sequence[str] | None, constants: bool) -> str:
    """The layers as `_ir` prints them, or as a model if they are wanted with
    constants."""
    if chosen is None or not constants:
        return _ir(module, chosen, constants)
    return readable_module(extract_layers(module, chosen), constants=True)


def _ir(module: ModuleOp, chosen: Sequence[str] | None, constants: bool) -> str:
    if chosen is None:
        return readable_module(module, constants=constants)
    body = list(main_function(module).body.block.ops)
    ops = [op for op in body if not set(chosen).isdisjoint(layer_names(op))]
    if not ops:
        raise QlowerError(f"nothing is left of {_quoted(chosen)} at this level")
    if constants:
        read = {operand.owner for op in ops for operand in op.operands}
        shown = {*ops, *filter(is_constant, read)}
        ops = [op for op in body if op in shown]
    return readable_operations(ops, constants=constants)


def _quoted(chosen: Sequence[str]) -> str:
    """The layers in an error: `layer 'conv'`, or `layers 'conv', 'add'`."""
    noun = "layer" if len(chosen) == 1 else "layers"
    return f"{noun} {', '.join(map(repr, chosen))}"


def _native(compilation: Compilation, level: str, chosen: Sequence[str] | None) -> str:
    compiled = compilation.code
    text = compiled.llvm_text if level == "llvm" else compiled.assembly()
    if chosen is None:
        return text
    functions = compiled.functions if level == "llvm" else functions_of(text)
    names = [
        kernel.name
        for kernel in compiled.kernels
        if not set(chosen).isdisjoint(kernel.layers)
    ]
    if not names:
        raise QlowerError(f"there is no code of {_quoted(chosen)} alone")
    return "\n".join(functions[name] for name in names)
