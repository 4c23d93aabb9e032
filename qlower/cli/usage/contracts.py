"""Usage of `qlower contracts`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_command, add_common, add_import_options
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser, Commands, add_number, runner

SUMMARY = "list and explain numerics contracts"

EXAMPLE = """  qlower contracts
  qlower contracts show tflite
  qlower contracts show ./my_npu.mlir --mlir"""


PAGES_EXAMPLE = """  qlower contracts pages
  qlower contracts pages --check"""


COMPARE_EXAMPLE = """  qlower contracts compare model.tflite=inputs.npz
  qlower contracts compare model.mlir --contract exact --contract ./my_npu.mlir"""


NEW_EXAMPLE = """  qlower contracts new my_npu --multiplier "12 bits, floor"
  qlower contracts new my_npu --multiplier 16 --rounding half_away --base tflm

Without a file, in place of a contract's name:
  --contract 'arithmetic: multiplier 12 bits floor; accumulator 20 bits saturate'"""


ROUNDINGS = "half_up, half_away, half_even, floor, ..."


NEW_CHOICES = {
    "products": "exact (default), or pairs that saturate at 16 bits: "
    "saturating_pairs_flat, saturating_pairs_pixel; or 'in turn' or 'in turn by 2' to "
    "16, where the accumulator saturates on the way",
    "accumulator": "32 bits (default), or 12 to 31 and how it ends: '20, saturate'",
    "bias": "integer (default); real, or in steps of the sum",
    "scaling": "fixed point (default), or by floats: multiply, divide or reciprocal, "
    "f32 or f64: 'multiply f32'",
    "scales": "of floats: given (default), or kept as ranges or reciprocals",
    "ratio": "how the scales combine: f64 (default), f64_of_f32_product, "
    "f32_product_first, f32_weight_first, f32_input_first, f32_reciprocal",
    "multiplier": "its bits, 2 (a power of two) or 8 to 32, and how it is rounded: "
    "half_up, half_even, floor or ceil (default: '32, half_up'); or '2, nearest in "
    "log2'",
    "first": "the rounding to the high half of the product, if there are two: once "
    f"(default), {ROUNDINGS}",
    "rounding": f"half_up (default), {ROUNDINGS.partition(', ')[2]}",
    "zero_point": "when it is added: after the rounding (default), inside, 'inside, "
    "fused', or 'after, saturated before'",
}
"""The options of `new`: the choices of `contracts.family`."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    common = add_common()
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
    show.set_defaults(run=runner("qlower.cli.contracts:show_contract"))
    pages = add_command(
        actions, common, "pages", "write the contracts' pages", PAGES_EXAMPLE
    )
    pages.add_argument(
        "--check", action="store_true", help="write nothing, fail if a page is stale"
    )
    pages.set_defaults(run=runner("qlower.cli.contracts:write_pages"))
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
    add_number(compare, "--examples", "COUNT", "use the first COUNT inputs of a set")
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
    compare.set_defaults(run=runner("qlower.cli.compare:run"))


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
    new.set_defaults(run=runner("qlower.cli.contracts:new_contract"))
