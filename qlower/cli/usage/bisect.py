"""Usage of `qlower bisect`: its options and help."""

SUMMARY = "find where native code and the interpreter part"

EXAMPLE = """  qlower bisect model.tflite image.npy
  qlower bisect model.mlir left=a.npy right=b.npy --cpu x86-64-v3

Exits with 0 if native code and interpreter give the same bits. Otherwise exits with 1
and prints the first kernel that differs, with the proof, fusion or schedule that causes
it."""

OPTIONS = """
@model
input [NAME=]INPUT +  an .npy file, or an .npz file with one array, of stored values,
    for each input of the model
@contract
@machine CPU
@passes
@observers
"""
