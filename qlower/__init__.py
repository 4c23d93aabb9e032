"""qlower: a compiler for quantized neural networks whose arithmetic is a contract."""
