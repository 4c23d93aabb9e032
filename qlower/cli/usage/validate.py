"""Usage of `qlower validate`: its options and help."""

SUMMARY = "measure accuracy and agreement on a set of examples"

EXAMPLE = """  qlower validate model.tflite --data inputs.npz --labels labels.npy
  qlower validate model.tflite --data pictures/ --resize 256 --crop 224 \\
      --mean 127.5 --deviation 127.5 --contract tflite,pytorch-qnnpack
  qlower validate model.tflite --data x.npy --contract pow2-shift --against tflite
  qlower validate model.tflite --data set/ --scheduler tcp://10.0.0.1:8786

Exits with 1 where no example could be used, or a bound (--min-top1, --max-loss,
--min-agreement, --fail-below) is missed by some contract."""

OPTIONS = """
model MODEL  a model's file
@import-options
@data an .npy, .npz or .parquet file, or a folder of these or of pictures; stored
    values, or real numbers that are then quantized; the first dimension counts examples
--contract A,B,... = ''  one contract or more; all get the same rows, read once
    (default: the model's own)
--layer-contract LAYER=NAME several  another contract for some layers, as for `qlower
    run`
--against REFERENCE  the reference for outputs: a contract; litert or onnxruntime, on
    the model's own file; or a .tflite, .onnx or .pt2 file, such as the float model
@labels
@preprocessing
--metrics FILE.py:NAME  your own function, called with an example's outputs (real
    numbers) and its set of classes; returns named numbers, whose means are shown
--layers  show which layer loses the signal; --against is a contract, or the file of a
    float model, whose tensors are matched by name, or else by shape and values
@match
--classes  show the accuracy of each class
@work threads that share the examples | counts
@plot the figures
--min-top1 SHARE share  the least top-1 accuracy, such as 0.9 or 90%%
--max-loss SHARE share  how far the top-1 accuracy may be below that of --against, such
    as 0.005 or 0.5%%
--min-agreement SHARE share  the least share of examples whose largest output is that of
    --against
--fail-below DB float  the least signal to noise against --against, in dB: of the
    output, and with --layers of each layer
@format plain
@junit
@timing
"""
