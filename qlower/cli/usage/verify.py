"""Usage of `qlower verify`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contracts_of_two,
    add_model,
    add_target,
    add_timing,
)
from qlower.cli.output import add_json, add_junit
from qlower.cli.parser import ArgumentParser, add_number
from qlower.cli.usage.rtl import add_rtl

SUMMARY = "show that contracts, or contract and machine code, agree for all inputs"

EXAMPLE = """  qlower verify model.tflite --equal tflite tflite-ruy
  qlower verify model.tflite --equal tflite mine.mlir -o verdict.json --save inputs.npz
  qlower verify model.tflite --native
  qlower verify model.tflite --native --cpu x86-64-v3,x86-64-v4 -o verdict.json
  qlower verify model.tflite --native --target aarch64-linux-gnu
  qlower verify model.tflite --groups
  qlower verify model.tflite --accumulator-bits 24 --contract pytorch-fbgemm-avx2
  qlower verify model.tflite --equal tflite tflite-ruy --layer conv1
  qlower verify model.tflite --equal tflite tflite-ruy --smt claims --solvers all
  qlower verify model.tflite --equal tflite tosa-double --certificate proof
  qlower verify model.tflite --check verdict.json
  qlower verify model.tflite --rtl mine.sv --top requantize --layer conv1
  qlower verify tflm --rtl mine.sv --top requantize --rule conv2d --port q=result

--equal decides each layer by itself, for every input that it could be given:
  equal       the same bits for every accumulator, or every pair of stored integers
  differs     an input of the layer shows it, confirmed by interpreter and machine code
  undecided   and why

--native runs the machine code of each layer on every sum of every channel, or every
byte or pair of bytes, and compares the results with the contract, by default at all
levels of this machine. Drawn inputs show whether each sum is of the layer's products,
and whether the functions fit together. Code for another machine runs under emulation.

--groups compares all pairs of contracts like --equal, and lists which are equal.

--accumulator-bits shows the width that the sums of each layer need: of products, pools,
means, squares, and a softmax's exponentials. Layers it can't decide are listed, and
count as not fitting; those that add real numbers are listed, too.

--smt writes each claim for SMT solvers; what a solver finds against one is replayed in
the interpreter.

--rtl shows that a Verilog module of your own has the results of a layer, or of a
contract's rule, for every input; or an input where it doesn't, replayed in the
simulator, with each step of the contract. The file is read without running anything.

Exits with 0 if everything is equal or fits, or every pair is decided, otherwise with
1."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "--equal",
        nargs=2,
        metavar=("A", "B"),
        help="two contracts, by name or as .mlir files",
    )
    parser.add_argument(
        "--native",
        action="store_true",
        help="machine code and contract, for the levels of --cpu (default: all that "
        "this machine has, and itself)",
    )
    parser.add_argument(
        "--groups",
        action="store_true",
        help="group all contracts by which agree in each layer",
    )
    add_number(
        parser,
        "--accumulator-bits",
        "N",
        "whether no sum on the way to an accumulator leaves N bits, 2 to 63; and "
        "no pair of products 16, where the contract has such pairs",
    )
    parser.add_argument(
        "--order",
        choices=("any", "memory"),
        default="any",
        help="products are added in any order, or the bias first and then as the "
        "weights lie in memory (default: any)",
    )
    parser.add_argument(
        "--check",
        metavar="FILE",
        help="check a verdict's file: its hashes, its counterexamples, and each layer "
        "decided again",
    )
    add_number(
        parser,
        "--sample",
        "COUNT",
        "with --check: decide COUNT layers again, drawn at random",
    )
    parser.add_argument(
        "--smt",
        metavar="DIR",
        help="with --equal or --accumulator-bits: also write what was decided as "
        "SMT-LIB claims, with a script that runs solvers on them",
    )
    parser.add_argument(
        "--certificate",
        metavar="DIR",
        help="with --equal and a .tflite file: also write a certificate, and a script "
        "that checks it without qlower",
    )
    parser.add_argument(
        "--solvers",
        metavar="NAME[,NAME...]",
        help="with --smt: run z3, bitwuzla, cvc5, yices or mathsat on the claims, or "
        "`all` that are installed, and compare",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="with --solvers or --rtl: what a solver has for a claim (default: 60)",
    )
    parser.add_argument(
        "--layer",
        metavar="LAYER",
        help="look at these layers alone: a number, a name or a glob of names (not "
        "with --groups or -o)",
    )
    add_rtl(parser)
    add_contracts_of_two(parser)
    add_target(parser, cpu="CPU[,CPU...]")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the verdict as JSON to this file"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="write counterexamples and worst inputs, by layer, to this .npz file",
    )
    add_json(parser)
    add_junit(parser)
    add_timing(parser)
