"""Usage of `qlower report`: its options and help."""

SUMMARY = "write a page that shows a model, its differences and its roundings"

EXAMPLE = """  qlower report model.tflite -o report.html
  qlower report model.tflite --against tflite-xnnpack --input image.npy -o report.html
  qlower report model.tflite --against device.npz --input image.npy -o report.html
  qlower report model.tflite --model-explorer graph/

The page is one file that needs no network: the graph of the network, coloured by what
differs, by time, or by what is cut; a layer opens to pictures of its tensors, the
rounding steps of some elements, its scales, ranges and proof, and its IR.

Exits with 1 where --fail-below is missed by some layer."""

OPTIONS = """
@model
-o, --output FILE  the .html file to write
--model-explorer DIR  a folder to write graph.json and node data for Model Explorer to
--against B  the other side: a contract, an executor, a live system, a dump or a float
    model, as in `qlower diff`
@match
--verify  also decide which layers are the same by both contracts for all inputs
--no-native  generate no machine code: the page has neither times nor LLVM IR, and the
    same command writes the same file
@layer-gate ; the page is written all the same
@inputs
@contract
"""
