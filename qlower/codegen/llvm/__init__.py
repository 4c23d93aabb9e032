"""LLVM IR as text, and llvmlite that compiles it."""
