"""Usage of `qlower identify`: its options and help."""

SUMMARY = "find whose arithmetic made given outputs"

EXAMPLE = """  qlower identify device.npz model.tflite --input images.npy
  qlower identify device.npz model.tflite --input x.npy -o my_device.mlir
  qlower identify litert model.tflite --random
  qlower identify --probe tflite -o probe

A dump has outputs of the whole model, or of its layers: .npz (as of --save-layers),
.npy, a folder, Polygraphy's .json, ONNX Runtime's .tensorproto or .pb; or it is a live
system, as for `qlower diff`. Each layer gets the dump's results of those before it.

--probe writes a model and inputs that distinguish arithmetics best: run it on the
device, and identify the device by its outputs.

Exits with 0 where a contract explains all outputs, with 1 where none does."""

OPTIONS = """
dump DUMP ?  the outputs, or a live system that computes them
@optional-model
@inputs
--probe FORMAT tflite|onnx|mlir  write a probe in this format (tflite, onnx, mlir) into
    the folder -o
--contract A,B,... = ''  the contracts to try, by name or as .mlir files (default: all)
--no-verify  don't decide whether equally good contracts agree for all inputs
--family either  search the arithmetics that are composed of
    steps (default: where no contract explains everything, and the model gives no reason
    for that)
-o, --output FILE  write the result as a contract's file; with --probe, the folder to
    write
@json
"""
