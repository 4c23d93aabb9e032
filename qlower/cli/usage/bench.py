"""Usage of `qlower bench`: its options and help."""

SUMMARY = "compare the speed of models with other runtimes"

EXAMPLE = """  qlower bench model.tflite --against litert --threads 1,2
  qlower bench model.tflite --against litert,onnxruntime=model_qdq.onnx --json out.json
  qlower bench model.onnx --against onnxruntime
  qlower bench model.tflite --layers
  qlower bench model.tflite --emulate --target thumbv7em-none-eabi --cpu cortex-m4
  qlower bench model.tflite --emulate --target thumbv7em-none-eabi --contract tflm \\
      --cmsis-nn CMSIS-NN"""

OPTIONS = """
models MODEL +  a .tflite, .onnx or .mlir file
@import-options
--against PEER[=FILE],... = ''  litert (XNNPACK), mnn, ncnn, onnxruntime, openvino or
    torch, with the peer's form of the model (default: the file of its format beside
    MODEL, with the same stem)
--threads N,... = 1  numbers of threads (default: 1)
--layers  also the time of every layer, and the least that it can take: its products at
    the measured peak of the dot product, or the bytes of its tensors at the measured
    bandwidth of the cache that they fit in
--emulate  count the instructions of each kernel under emulation (extra emulation), and
    the memory, for --target; nothing is timed
--cmsis-nn DIR  with --emulate: also count CMSIS-NN's kernels for the same layers, built
    from a checkout of it by arm-none-eabi-gcc -O3
--rounds N int = 101  runs of each contestant (default: 101)
--json FILE  also write everything as JSON (- prints it)
--format plain|markdown|csv|html = plain  how the table is written; csv has no layers
@contract
@tune
@target CPU
@optimize
@timing
"""
