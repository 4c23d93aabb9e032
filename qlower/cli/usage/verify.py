"""Usage of `qlower verify`: its options and help."""

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

OPTIONS = """
@model
--equal A B  two contracts, by name or as .mlir files
--native  machine code and contract, for the levels of --cpu (default: all that this
    machine has, and itself)
--groups  group all contracts by which agree in each layer
--accumulator-bits N int  whether no sum on the way to an accumulator leaves N bits, 2
    to 63; and no pair of products 16, where the contract has such pairs
--order any|memory = any  products are added in any order, or the bias first and then as
    the weights lie in memory (default: any)
--check FILE  check a verdict's file: its hashes, its counterexamples, and each layer
    decided again
--sample COUNT int  with --check: decide COUNT layers again, drawn at random
--smt DIR  with --equal or --accumulator-bits: also write what was decided as SMT-LIB
    claims, with a script that runs solvers on them
--certificate DIR  with --equal and a .tflite file: also write a certificate, and a
    script that checks it without qlower
--solvers NAME[,NAME...]  with --smt: run z3, bitwuzla, cvc5, yices or mathsat on the
    claims, or `all` that are installed, and compare
--time-limit SECONDS float  with --solvers or --rtl: what a solver has for a claim
    (default: 60)
--layer LAYER  look at these layers alone: a number, a name or a glob of names (not with
    --groups or -o)
@rtl
@contracts-of-two
@target CPU[,CPU...]
-o, --output FILE  write the verdict as JSON to this file
--save FILE  write counterexamples and worst inputs, by layer, to this .npz file
@json
@junit
@timing
"""
