"""Usage of `qlower improve`: its options and help."""

METHODS = ("equalize", "ranges", "gains", "rounding", "biases")
"""The methods of `qlower.improvement`, in its order."""

SUMMARY = "recover accuracy without training, and find the layers that cost it"

EXAMPLE = """  qlower improve model.tflite --data inputs.npy -o better.tflite
  qlower improve model.tflite --data inputs.npy --contract tflm --float float.onnx
  qlower improve model.onnx --data inputs.npz --labels labels.npy --methods biases

Nothing is trained, and labels are only counted. Methods, in this order:
  equalize  give channels of adjacent layers weights of like ranges
  ranges    choose the ranges of results
  gains     choose scales of weights by which the device multiplies as is meant
  rounding  learn for each weight whether it is rounded up or down (AdaRound)
  biases    move biases by the mean error of results

Each is kept if the contract's own integers come nearer to the real network on examples
that it wasn't fitted to. Exits with 0, also where nothing helps."""

OPTIONS = f"""
@model
@data examples without labels, as for `qlower validate`
--float FILE as float_model  the float model (.tflite, .onnx, .pt2) whose weights were
    quantized (default: the real values of the stored weights)
--methods A,B,... = {",".join(METHODS)}  what is tried (default: all)
--labels FILE  the right classes, to show top-1 accuracy
--limit N int = 1024  the first N examples only (default: 1024)
-o, --output FILE  the better model: .mlir, or the format of MODEL's file
@plot which layers hurt
@contract
@format plain
@timing
"""
