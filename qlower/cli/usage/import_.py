"""Usage of `qlower import`: its options and help."""

SUMMARY = "read a model and write it as qnn text"

EXAMPLE = """  qlower import model.tflite -o model.mlir
  qlower import model.tflite | less
  qlower import model.tflite --generic -o netron.mlir
  qlower import --check zoo/ other.tflite

With --check, exits with 0 if all can be imported and compiled, otherwise with 1."""

OPTIONS = """
models MODEL +  a .tflite, .onnx, .pt2, .param, .espdl or .mlir file, or - for MLIR text
    from standard input; with --check several, or folders of them
@import-options
--check  list for each model whether it can be imported and compiled, and every obstacle
-o, --output FILE = -  the .mlir file to write, - for standard output (default)
--generic  write the generic form, which tools such as Netron read; it shows the layers'
    names as locations
@format plain
"""
