"""Usage of `qlower inspect`: its options and help."""

SUMMARY = "show a model at any level"

EXAMPLE = """  qlower inspect model.tflite --stats
  qlower inspect model.tflite --at arith --layer conv_1
  qlower inspect model.tflite --at asm --target aarch64-linux-gnu --cpu cortex-a76"""

LEVELS = ("qnn", "arith", "kernel", "llvm", "asm")

OPTIONS = f"""
@model
--at {"|".join(LEVELS)} = qnn  the level (default: qnn)
--layer LAYER  show this layer only: its number or name as --stats has them, its full
    name, or a glob such as 'conv*' for several
--constants  print long constants in full (at the qnn, arith and kernel level), with
    --layer also those that it reads, as a model of its own (at the qnn and arith level)
@full-names
--stats  a table of layers: shapes, scales, accumulator range, proved epilogue, work and
    bytes
@format plain
@contract
@tune
@target CPU
@passes
@observers
"""
