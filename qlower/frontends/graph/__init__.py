"""Models that are graphs of nodes, as the front ends of ONNX and PyTorch share them.

A reader gives nodes, constants and ports (`schema`) in the words of ONNX, whose
operators are those of `operators`; operators that only other frameworks have are in
domains of their own. A front end rewrites the graph (`nodes`, `qdq`, `passes`) to the
one that its framework runs, and `importer` makes a function of it, node by node
(`context`).
"""
