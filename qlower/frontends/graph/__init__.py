"""What the front ends of ONNX and PyTorch share: models that are graphs of nodes.

A reader gives nodes, constants and ports (`schema`) in the words of ONNX, whose
operators are those of `operators`; what other frameworks have besides is in domains of
their own. A front end rewrites the graph (`nodes`, `qdq`, `passes`) to what its
framework runs, and `importer` makes a function of it, node by node (`context`).
"""
