"""Usage of `qlower explore`: its options and help."""

SUMMARY = "find the arithmetics that are worth their area on a set of examples"

EXAMPLE = """  qlower explore model.tflite --data x.npz --against exact --plot front.svg
  qlower explore model.tflite --data x.npy --labels y.npy --resume walk.json
  qlower explore model.tflite --data x.npy --against tflite --area cells \\
      --choice multiplier=8,10,12 --choice rounding=half_up,floor

The walk varies the multiplier's bits and rounding (2 bits are a power of two), the
rounding of results, a first rounding, the accumulator, and where the zero point is
added. It begins with what differs from the base in one choice, and goes on from the
best. The table has the arithmetics that no other beats in quality, area and bits."""

OPTIONS = """
model MODEL  a model's file
@import-options
@data examples, as `qlower validate` takes them
--against REFERENCE  the reference for outputs: a contract, litert or onnxruntime, or a
    .tflite or .onnx file
--base CONTRACT = tflite  the contract of all other operations (default: tflite)
--points N int = 500  arithmetics to look at, at most (default: 500)
--choice CHOICE=VALUE,... several  only these values of multiplier, rounding, first,
    accumulator or zero_point (repeatable)
--by top1|agreement|equal  rank by top-1 accuracy (default with labels), by examples
    whose largest output is that of --against, or by equal outputs (default)
--area luts|cells|bits  the area of a requantizer: LUTs or cells by Yosys, or bits of
    its wires (default: luts if Yosys is installed, else bits)
@labels
@preprocessing
@work processes | figures
@plot all points and the front
--report FILE.html  write a page with the picture, the front and all points
@format plain
"""
