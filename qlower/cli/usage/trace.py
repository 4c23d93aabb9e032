"""Usage of `qlower trace`: its options and help."""

SUMMARY = "show every rounding on the way to one element"

EXAMPLE = """  qlower trace model.tflite --input image.npy --at conv1[0,3,4,7]
  qlower trace model.mlir --random --at 2[0,5] --contract tvm --products"""

OPTIONS = """
@model
--at LAYER[n,h,w,c] required  an element of a layer's result, the layer by number, name
    or glob; axes may be named in any order: conv1[n=0,c=7,h=3,w=4]
@inputs
@contract
--given NAME=VALUE several  also show what the element would be with another value of
    its rule, such as output_scale=0.0040 (repeatable)
--products  also show the products that are summed
--all-steps  also show steps that change nothing, and what is computed when a model is
    compiled
@json
"""
