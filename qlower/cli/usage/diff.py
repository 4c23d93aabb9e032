"""Usage of `qlower diff`: its options and help."""

SUMMARY = "find the layer and the rounding where two systems part"

EXAMPLE = """  qlower diff tflite pytorch-fbgemm model.tflite --input images.npy
  qlower diff tflite device_layers.npz model.tflite --input image.npy
  qlower diff litert jit model.tflite --random
  qlower diff interp x86-64-v3 model.mlir --input x.npy --at conv1[0,3,4,7]
  qlower diff old.tflite new.tflite --input image.npy

A and B are each one of
  a contract      by name, or an .mlir file
  an executor     interp, jit, or a CPU such as x86-64-v3; CONTRACT:EXECUTOR for both
  a live system   litert, litert-ref, litert-opt, live:onnxruntime, torch,
                  torch-fbgemm, torch-onednn, torch-qnnpack, torch-x86
  a dump          of layers' results: .npz (as of --save-layers), .npy, a folder,
                  Polygraphy's .json, ONNX Runtime's .tensorproto or .pb
  a model         another version of MODEL, compared by the names of layers; without
                  MODEL both sides are models; a float .onnx, .tflite or .pt2 model is
                  run by ONNX Runtime, LiteRT or PyTorch, its numbers rounded to the
                  stored ones

Each layer is compared twice: carried, where each side has its own values, and alone,
where both have those of A (of B, if only A can be computed here).

Exits with 0 if everything is equal, otherwise with 1; with --fail-below only where the
signal to noise of some layer is less."""

OPTIONS = """
a A  the first side
b B  the second side
@optional-model
@inputs
--at LAYER[n,h,w,c]  the element whose steps are shown (default: the first that
    differs), as for trace
@contracts-of-two
@match
@layer-gate , and not wherever an element differs
@timing
"""
