"""StableHLO's reference interpreter, which jaxlib (extra `peers`) has; tests skip
without it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

TRIVIAL = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.abs %x : tensor<f32>
  return %0 : tensor<f32>
}"""


def has_interpreter() -> bool:
    return find_spec("jaxlib") is not None


@cache
def _context() -> Any:
    """A context with the dialects of a quantized module."""
    ir = import_module("jaxlib.mlir.ir")
    stablehlo = import_module("jaxlib.mlir.dialects.stablehlo")
    registry = ir.DialectRegistry()
    extension = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    extension.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    with context:
        # Reading an artifact is what loads the dialect quant.
        artifact = stablehlo.serialize_portable_artifact(
            ir.Module.parse(TRIVIAL), stablehlo.get_current_version()
        )
        stablehlo.deserialize_portable_artifact(context, artifact)
    return context


def run_interpreter(
    text: str, inputs: Sequence[NDArray[np.generic]]
) -> list[NDArray[np.generic]]:
    """The results of `@main` in a module's text."""
    ir = import_module("jaxlib.mlir.ir")
    stablehlo = import_module("jaxlib.mlir.dialects.stablehlo")
    with _context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        elements = [ir.DenseElementsAttr.get(array) for array in inputs]
        return [np.array(r) for r in stablehlo.eval_module(module, elements)]
