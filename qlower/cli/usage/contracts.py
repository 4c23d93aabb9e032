"""Usage of `qlower contracts`: its options and help."""

from __future__ import annotations

from collections.abc import Mapping

from qlower.cli.options import Action

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


OPTIONS = """
@format plain
"""

SHOW_OPTIONS = """
name ?  a contract's name, or the path of its file
--mlir  print its text, and that of its bases
--plain  print all its functions, inherited ones too, as MLIR without shorthand
"""

PAGES_OPTIONS = """
--check  write nothing, fail if a page is stale
"""

NEW_OPTIONS = """
name  the contract's name: the file is NAME.mlir, which has to be new
--base CONTRACT = tflite  the contract of all operations but convolutions and linear
    layers (default: tflite)
""" + "\n".join(
    f"--{name.replace('_', '-')} VALUE  {what}" for name, what in NEW_CHOICES.items()
)

COMPARE_OPTIONS = """
models MODEL[=FILE] +  a .tflite, .onnx, .pt2 or .mlir file; the .npy or .npz file of
    its input, or of a set of inputs (default: random codes)
@import-options
--contract NAME several  one of the contracts to compare (default: all that come with
    qlower)
--examples COUNT int  use the first COUNT inputs of a set
--layers  count for each layer, not for each kind
--output FILE = -  write to this file (default: print)
@format markdown
"""

ACTIONS: Mapping[str, Action] = {
    "list": Action(
        "contracts:run",
        "list the contracts (default)",
        "  qlower contracts",
        OPTIONS,
    ),
    "show": Action(
        "contracts:show_contract", "explain a contract", EXAMPLE, SHOW_OPTIONS
    ),
    "pages": Action(
        "contracts:write_pages",
        "write the contracts' pages",
        PAGES_EXAMPLE,
        PAGES_OPTIONS,
    ),
    "new": Action(
        "contracts:new_contract",
        "write a contract composed of steps",
        NEW_EXAMPLE,
        NEW_OPTIONS,
    ),
    "compare": Action(
        "compare:run",
        "count how often contracts differ in each kind of layer, or each layer",
        COMPARE_EXAMPLE,
        COMPARE_OPTIONS,
    ),
}
"""The actions of `qlower contracts`, by their names."""
