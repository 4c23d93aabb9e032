"""Usage of `qlower compile`: its options and help."""

SUMMARY = "compile a model to native code"

EXAMPLE = """  qlower compile model.tflite -o out/
  qlower compile model.mlir -o out/ --cpu x86-64-v3 --emit obj,asm,llvm,mlir
  qlower compile model.tflite -o out/ --emit obj,header,shared,c-example
  qlower compile model.tflite -o out/ --emit c
  qlower compile model.tflite -o components/model --emit c --package idf
  qlower compile model.tflite -o out/ --cpu x86-64,x86-64-v3,cascadelake
  qlower compile model.tflite -o out/ --target aarch64-linux-gnu \\
      --cpu generic,generic+dotprod,generic+dotprod+i8mm
  qlower compile bert.onnx -o out/ --shape ids=1x16,1x64 --shape mask=1x16,1x64

  qlower compile model.tflite -o rtl/ --emit systemverilog --contract tflm
  qlower compile tvm -o rtl/ --emit systemverilog --rules conv2d,add --stages 3
  qlower compile model.tflite -o gates/ --emit gates --contract tflm

C source is for any processor (c99-none) unless --target names one, or an object is
written with it: then both have the loop nests, arena and header of that target.

Several CPUs, the least first, make one object with code for each. It runs the
last one whose instructions the processor has, and returns an error if there is none.

Several shapes of an input make one object with code for each and weights once. Symbols
and macros of each begin with its sizes, such as bert_1x16_run.

systemverilog writes the integer arithmetic of each layer, or of each rule of a
contract, as a module M.sv, and a test bench M_tb.sv that reads the layer's folder of
`qlower vectors`. Inputs and wires have no more bits than the layer's weights need.

gates writes the whole model as sums, products, shifts by constants and tables of
integers, with the proved bits of every wire, and a reader that evaluates them."""

OPTIONS = """
@model
-o, --output DIR required  the folder to write
--name NAME  the prefix of C symbols, macros and files (default: the model's file)
@target CPU[,CPU...]
@optimize
--emit LIST = obj,header  what to write, of obj and header (default), shared (a
    library), c (C99 source, with its header), c-example (a main.c), selftest (a header:
    a test that a device runs when it starts), wasm (a module for engines of
    WebAssembly), asm, llvm and mlir (the arith level); or of systemverilog and comb
    (the circuits as MLIR); or gates (the model as a list of integer gates)
--stack  print the depth of the stack, for which code is generated twice (default: for
    targets without an operating system)
--max-flash BYTES bytes  refuse, with the table of memory, if code and constants take
    more: bytes, or KiB as 64K
--max-ram BYTES bytes  refuse, with the table of memory, if arena, inputs, outputs,
    variables and stack take more: bytes, or KiB as 64K
--package KIND  with --emit c: also the files of a library: zephyr (a module), arduino
    (also PlatformIO's) or idf (a component)
--weights-section NAME = ''  the section of weights and tables, which a linker script
    may put into external flash; equal ones of several models are linked once
--json  print files and memory as JSON
@circuits
@contract
@tune
@passes
@observers
"""
