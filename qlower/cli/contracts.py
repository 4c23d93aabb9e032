"""`qlower contracts`: whose arithmetic there is, and what each of them says."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.options import add_command, add_import_options, model_of
from qlower.cli.output import add_format, print_table, terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status
from qlower.diagnostics import QlowerError
from qlower.files.replacing import replacing, write_text

if TYPE_CHECKING:
    from qlower.contract_pages.contract_differences import Subject

EXAMPLE = """  qlower contracts
  qlower contracts show tflite
  qlower contracts show ./my_npu.mlir --mlir"""

PAGES_EXAMPLE = """  qlower contracts pages
  qlower contracts pages --check"""

COMPARE_EXAMPLE = """  qlower contracts compare model.tflite=inputs.npz
  qlower contracts compare model.mlir --contract exact --contract ./my_npu.mlir"""


NEW_EXAMPLE = """  qlower contracts new my_npu --multiplier "12 bits, floor"
  qlower contracts new my_npu --multiplier 16 --rounding half_away --base tflm

The same in place of a contract's name, without a file:
  --contract 'arithmetic: multiplier 12 bits floor; accumulator 20 bits saturate'"""


ROUNDINGS = "half_up, half_away, half_even, floor, ..."

NEW_CHOICES = {
    "products": "exact (default), or pairs that saturate at 16 bits: "
    "saturating_pairs_flat, saturating_pairs_pixel",
    "accumulator": "32 bits (default), or 12 to 31 and how it ends: '20, saturate'",
    "bias": "integer (default); real, or in steps of the sum",
    "scaling": "fixed point (default), or by floats: multiply, divide or reciprocal, "
    "f32 or f64: 'multiply f32'",
    "ratio": "how the scales combine: f64 (default), f64_of_f32_product, "
    "f32_product_first, f32_weight_first, f32_input_first, f32_reciprocal",
    "multiplier": "its bits, 2 (a power of two) or 8 to 32, and how it is rounded: "
    "half_up, half_even, floor or ceil (default: '32, half_up')",
    "first": "the rounding to the high half of the product, if there are two: once "
    f"(default), {ROUNDINGS}",
    "rounding": f"half_up (default), {ROUNDINGS.partition(', ')[2]}",
    "zero_point": "when it is added: after the rounding (default), inside, or 'after, "
    "saturated before'",
}
"""What `new` has options for: the choices of `contracts.family`."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command and its actions to the parser."""
    parser = add_command(
        commands, common, "contracts", "list and explain numerics contracts", EXAMPLE
    )
    parser.set_defaults(run=list_contracts)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    add_format(parser)
    listed = add_command(
        actions, common, "list", "list the contracts (default)", "  qlower contracts"
    )
    add_format(listed)
    show = add_command(actions, common, "show", "explain a contract", EXAMPLE)
    show.add_argument(
        "name", nargs="?", help="a contract's name, or the path of its file"
    )
    show.add_argument(
        "--mlir", action="store_true", help="print its text, and that of its bases"
    )
    show.add_argument(
        "--plain",
        action="store_true",
        help="print all its functions, inherited ones too, as MLIR without shorthand",
    )
    show.set_defaults(run=show_contract)
    pages = add_command(
        actions, common, "pages", "write the pages beside the contracts", PAGES_EXAMPLE
    )
    pages.add_argument(
        "--check", action="store_true", help="write nothing, fail if a page is stale"
    )
    pages.set_defaults(run=write_pages)
    _register_new(actions, common)
    compare = add_command(
        actions,
        common,
        "compare",
        "count how often contracts differ in each kind of layer, or each layer",
        COMPARE_EXAMPLE,
    )
    compare.add_argument(
        "models",
        nargs="+",
        metavar="MODEL[=FILE]",
        help="a .tflite, .onnx, .pt2 or .mlir file; the .npy or .npz file of its "
        "input, or of a set of inputs (default: random codes)",
    )
    add_import_options(compare)
    compare.add_argument(
        "--contract",
        action="append",
        metavar="NAME",
        help="one of the contracts to compare (default: all that come with qlower)",
    )
    compare.add_argument(
        "--examples",
        type=int,
        metavar="COUNT",
        help="use the first COUNT inputs of a set",
    )
    compare.add_argument(
        "--layers", action="store_true", help="count for each layer, not for each kind"
    )
    compare.add_argument(
        "--output",
        metavar="FILE",
        default="-",
        help="write to this file (default: print)",
    )
    add_format(compare, default="markdown")
    compare.set_defaults(run=compare_contracts)


def _register_new(actions: Commands, common: ArgumentParser) -> None:
    """The action that writes a contract of a device's own."""
    new = add_command(
        actions, common, "new", "write a contract composed of steps", NEW_EXAMPLE
    )
    new.add_argument(
        "name", help="the contract's name: the file is NAME.mlir, which has to be new"
    )
    new.add_argument(
        "--base",
        default="tflite",
        metavar="CONTRACT",
        help="the contract of all operations but convolutions and linear layers "
        "(default: tflite)",
    )
    for name, help in NEW_CHOICES.items():
        new.add_argument(f"--{name.replace('_', '-')}", metavar="VALUE", help=help)
    new.set_defaults(run=new_contract)


def new_contract(options: argparse.Namespace) -> int:
    """Write the file, and say what runs it."""
    from qlower.contracts import load_contract
    from qlower.contracts.family.names import arithmetic, text_of

    given = {name: getattr(options, name) for name in NEW_CHOICES}
    chosen = {name: value for name, value in given.items() if value is not None}
    name = arithmetic(options.base, **chosen)
    contract = load_contract(name)
    path = Path(options.name.removesuffix(".mlir") + ".mlir")
    if os.path.exists(path):
        raise QlowerError(f"{path} is there already")
    with replacing(path) as file:
        file.write(text_of(name).encode())
    where = path if path.is_absolute() else f"./{path}"
    print(f"{path}: {contract.summary}; base {options.base}")
    print(f"qlower run MODEL --random --contract {where}")
    return 0


def list_contracts(options: argparse.Namespace) -> int:
    """One line a contract."""
    from qlower.contract_pages.contract_table import Contracts
    from qlower.contracts.headers import contract_headers

    print_table(Contracts(contract_headers()).table, options)
    return 0


def show_contract(options: argparse.Namespace) -> int:
    """The explanation of a contract, or its text with what it takes from others."""
    from qlower.contract_pages.pages import explain
    from qlower.contracts import contract_names, load_contract, plain_module
    from qlower.model.printing import readable_module

    if options.name is None:
        names = ", ".join(contract_names())
        raise UsageError(f"show needs the name of a contract: {names}")
    contract = load_contract(options.name)
    if options.mlir:
        print(f"// {contract.name}: {contract.summary}")
        print(f"// rules: {', '.join(contract.rules)}")
        print(contract.source, end="")
    elif options.plain:
        print(readable_module(plain_module(contract), constants=True), end="")
    else:
        print(explain(contract), end="")
    return 0


def write_pages(options: argparse.Namespace) -> int:
    """Bring the pages up to date, or say which aren't."""
    import qlower.contracts
    from qlower.contract_pages.pages import stale_pages

    folder = Path(qlower.contracts.__file__).parent
    stale = stale_pages(folder)
    for path, text in stale.items():
        file = folder / path
        print(file)
        if options.check:
            continue
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return ExitCode.FOUND if options.check and stale else 0


def compare_contracts(options: argparse.Namespace) -> int:
    """How often contracts differ on the layers of the models."""
    from qlower.contract_pages.contract_differences import compare
    from qlower.contract_pages.differences_page import differences_page, pairs_table
    from qlower.contracts import contract_names

    if options.examples is not None and options.examples < 1:
        raise QlowerError(f"--examples must be at least 1, not {options.examples}")
    subjects = [subject_of(argument, options) for argument in options.models]
    contracts: list[str] = options.contract or contract_names()
    found = compare(subjects, contracts, options.examples, by_layer=options.layers)
    clear_status()
    if options.format == "markdown":
        text = differences_page(found)
    else:
        width = terminal_width() if options.output == "-" else None
        text = pairs_table(found).render(options.format, width) + "\n"
    write_text(options.output, lambda: text)
    return 0


def subject_of(argument: str, options: argparse.Namespace) -> Subject:
    """The model, and its inputs' arrays of the file, or random ones."""
    from qlower.cli.inputs import Given, assign_inputs
    from qlower.contract_pages.contract_differences import Subject, random_inputs
    from qlower.files.arrays import read_arrays
    from qlower.frontends.load import as_model

    path, separator, file = argument.rpartition("=")
    if not separator or os.path.exists(argument):
        path, file = argument, ""
    model = as_model(model_of(path, options))
    name = Path(path).stem
    if name == "model":  # a folder a model
        name = Path(path).absolute().parent.name
    if not file:
        return Subject(name, model, random_inputs(model.inputs))
    given = Given(None, Path(file), read_arrays(Path(file)))
    return Subject(name, model, assign_inputs(model.inputs, [given]))
