from __future__ import annotations
def recognise(nest, target): return None
def emit_contraction(f, target, c): raise NotImplementedError
