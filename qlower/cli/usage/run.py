"""Usage of `qlower run`: its options and help."""

SUMMARY = "run a model on arrays"

EXAMPLE = """  qlower run model.tflite --input image.npy
  qlower run model.mlir --input images.npz --output y.npz --save-layers layers.npz
  qlower run model.mlir --input left=a.npy --input right=b.npy --executor interp
  qlower run model.tflite --random --digest"""

OPTIONS = """
@model
@inputs
--labels FILE  an .npy or .npz file with the right class of each example; counts how
    often it is the largest element of the model's only output
--output FILE  the .npz file to write, with one array per output, stacked for a set
    (default: print a summary)
--save-layers FILE  the .npz file to write with the result of every layer, by name
--executor jit|interp = jit  native code (default), or the reference interpreter
--profile  print the time of every layer (the median of some calls on the first input),
    its multiply-accumulates a second, and the bytes of its tensors
--digest  print one SHA-256 of the outputs, the inputs, the model, its contracts and
    qlower's version, which is the same on every machine, and each of them
@full-names
@format plain
@threads
@contract
@tune
@machine CPU
@passes
@observers
"""
