"""qlower: a compiler for quantized neural networks whose arithmetic is a contract.

import qlower
model = qlower.load("model.tflite")
run = qlower.jit(model, contract="tflite")  # numpy in, numpy out
assert (run(x) == qlower.interpret(model, x, contract="tflite")).all()
qlower.compile(model).save("out/")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from qlower.version import __version__

if TYPE_CHECKING:
    from qlower.api import Compiled, compile, interpret, jit, load_compiled, lower
    from qlower.diagnostics import QlowerError
    from qlower.frontends.load import load
    from qlower.model import Model
    from qlower.model.signature import TensorSpec
    from qlower.runtime.executors import JitFunction
    from qlower.runtime.library import CompiledLibrary

__all__ = [
    "Compiled",
    "CompiledLibrary",
    "JitFunction",
    "Model",
    "QlowerError",
    "TensorSpec",
    "__version__",
    "compile",
    "interpret",
    "jit",
    "load",
    "load_compiled",
    "lower",
]

_HOME = {
    "Compiled": "qlower.api",
    "CompiledLibrary": "qlower.runtime.library",
    "JitFunction": "qlower.runtime.executors",
    "Model": "qlower.model",
    "QlowerError": "qlower.diagnostics",
    "TensorSpec": "qlower.model.signature",
    "compile": "qlower.api",
    "interpret": "qlower.api",
    "jit": "qlower.api",
    "load": "qlower.frontends.load",
    "load_compiled": "qlower.api",
    "lower": "qlower.api",
}
"""Where each name comes from; `import qlower` alone loads none of them."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'qlower' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
