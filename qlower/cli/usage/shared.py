"""Rows of options that several commands have, by the names that they go by in theirs.

A name stands behind `@` there; `{0}` is what follows it (`qlower.cli.rows`).
"""

from __future__ import annotations

from collections.abc import Mapping

from qlower.codegen.targets.optimized import OPTIMIZED, SPEED

_AIMS = "; ".join(f"{name}: {what}" for name, what in OPTIMIZED.items())

SHARED: Mapping[str, str] = {
    "model": """
model MODEL  a .tflite, .onnx, .pt2 or .mlir file, or - for MLIR text from standard
    input
@import-options
""",
    "optional-model": """
model MODEL ?  a .tflite, .onnx, .pt2 or .mlir file, or - for MLIR text from standard
    input
@import-options
""",
    "import-options": """
[how the model is read]
--shape NAME=SIZES several  the shape of an input that the file leaves open, such as
    x=8x224x224x3 (repeatable; sizes that are not given are 1)
--outputs NAME,... names = ''  cut the model at these tensors: they become its outputs,
    and parts that they don't need are not read
--qdq integer|x86|as-written|device  how groups of dequantize, operator, quantize in an
    ONNX file are read: as operators on integers wherever ONNX Runtime may use those,
    where its default session on x86-64 does, nowhere, or everywhere, with ReLUs that
    clip codes, as on accelerators (default: as the systems of the contracts that are
    named, else integer)
--signature NAME  the signature of a TFLite file to read (default: that of its first
    subgraph)
""",
    "inputs": """
[inputs]
--input [NAME=]FILE several  an .npy or .npz file of stored values, or of real values,
    which are then quantized (of several arrays, the one named after the input or the
    only one that fits); with one more leading dimension than the model's input it is a
    set, run row by row
--random SEED int ? const 0  draw one example instead: any stored integers, or normally
    distributed real numbers (default SEED: 0)
""",
    "contract": """
[whose arithmetic]
--contract NAME  the contract: a name, or an .mlir file (default: the model's own)
--layer-contract LAYER=NAME several  another contract for some layers: by number, name,
    kind of operation or glob, such as 'pool*=tflite' (repeatable; the last match holds)
""",
    "contracts-of-two": """
@contract
[whose arithmetic]
--b-layer-contract LAYER=NAME several  another contract for some layers of B alone
    (repeatable)
""",
    "match": """
--match LAYER=TENSOR several  the tensor of the float model that a layer is compared
    with, for layers that names and shapes don't match
""",
    "layer-gate": """
--fail-below DB float  fail where a layer's signal to noise, carried, is less than this
    many dB{0}
@json
@junit
""",
    "target": """
[how code is generated]
--target TRIPLE = host  host (default) or a triple, such as aarch64-linux-gnu,
    aarch64-none-elf for code that needs no C library, or thumbv7em-none-eabi (-eabihf
    for firmware that passes floats in registers); experimental: riscv64-linux-gnu,
    riscv32im-unknown-none-elf, wasm32-unknown-unknown
@machine {0}
""",
    "machine": """
[how code is generated]
--cpu {0}  generate code for this CPU, such as x86-64-v3 (default: host)
--features LIST  refine the CPU, such as +avx512vnni,-fma
""",
    "threads": """
[how code is generated]
--threads N int = 1  share large layers among N threads of the system's OpenMP runtime;
    the results are the same (default: 1)
""",
    "tune": """
[how code is generated]
--tune  measure the best tiling of contractions on this machine instead of estimating
    it, and keep it in the cache; the results are the same
""",
    "optimize": f"""
[how code is generated]
--optimize {"|".join(OPTIMIZED)} = {SPEED}  {_AIMS} (default: speed; others for targets
    without an operating system)
""",
    "passes": """
[how code is generated]
--arith-passes LIST = ''  passes to apply at the arith level, before loop nests are
    formed, as for qlower-opt -p; also of installed packages
""",
    "observers": """
[what the compiler shows]
--dump-ir DIR  write the IR after each pass into this folder, as NN-pass.mlir, which
    qlower-opt can continue from, and LLVM IR at the end; the cache is not used
@timing
""",
    "timing": """
[what the compiler shows]
--timing  print the time and work of each pass, and the time of each layer in passes
    that process layers one by one, on standard error; the cache is not used
""",
    "full-names": """
[output]
--full-names  show layers by their full names in the model's file, not by short ones
""",
    "format": """
[output]
--format plain|markdown|csv|json|html = {0}  how a table is written (default: {0});
    plain is as wide as the terminal
--json const json as format  the same as --format json
""",
    "json": """
[output]
--json  write everything as JSON
""",
    "junit": """
[output]
--junit FILE  also write the verdicts as JUnit's XML, for continuous integration
""",
    "plot": """
[output]
--plot FILE  draw {0}, as .svg or .png
""",
    "data": """
--data SOURCE required  {0}
""",
    "labels": """
--labels FILE  the right classes, one an example: integers in .npy, .npz, .txt or .csv;
    or .json, where an example may have several, or none
--label-offset N int = 0  added to each label, such as 1 where output 0 is the
    background
--class-names FILE  the classes' names in order, one a line, for picture folders that
    are called so (default: the folders in alphabetical order)
""",
    "preprocessing": """
--resize N|HxW sizes = ''  resize pictures: the shorter side to N, or to height x width
--crop N|HxW sizes = ''  crop the centre
--channels rgb|bgr|grey = rgb  the order of a picture's channels (default: rgb)
--mean X[,Y,Z] numbers = 0  subtracted from numbers in [0, 255] (default: 0)
--deviation X[,Y,Z] numbers = 1  then divided by (default: 1)
--stored-pixels  pixels are the stored values; of an int8 input, less 128
""",
    "work": """
--limit N int  the first N examples only
--jobs N int  {0} (default: one a core)
--scheduler ADDRESS  share the examples among the workers of a Dask cluster, which find
    the data under the same path
--resume FILE  keep the {1} in this file, and continue from them
""",
    "circuits": """
[circuits]
--layer LAYER  only these layers: a number, a name or a glob (default: all)
--constants inside|ports  constants that differ from channel to channel are looked up by
    the input `channel`, or are inputs themselves (default: inside)
--rules RULE,...  of a contract given for MODEL: only these rules (default: all of
    integers)
--accumulator-bits N int  of a contract given for MODEL: the width of accumulators, 2 to
    32 (default: 32)
--unsigned  of a contract given for MODEL: stored integers are uint8, not int8
--stages N int = 0  pipeline each module: its result is N cycles of `clk` later, 1 to 64
    (default: 0, no clock)
""",
    "rtl": """
[Verilog]
--rtl FILE  a Verilog file with a module of your own, to be compared with a layer of
    MODEL, or with a rule of a contract given for MODEL (needs Yosys and an SMT solver)
--top NAME  with --rtl: the module
--rule RULE  with --rtl and a contract: its rule
--port PORT=VALUE several  with --rtl: what a port carries: accumulator, input, lhs,
    rhs, a constant such as multiplier or shift, channel, result; or an integer that it
    is held at (repeatable; default: the value of the port's name)
--value NAME=NUMBER several  with --rtl and a contract: a constant's number (repeatable;
    default: any that the rule can have)
--channel N int  with --rtl: only this channel, whose constants the module has inside
--latency N int  with --rtl: the result is N cycles of the clock after the inputs
    (default: 0)
""",
}
