"""qlower: a compiler for quantized neural networks whose arithmetic is a contract.

import qlower
model = qlower.load("model.tflite")
run = qlower.jit(model, contract="tflite")  # numpy in, numpy out
assert (run(x) == qlower.interpret(model, x, contract="tflite")).all()
qlower.compile(model).save("out/")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qlower.process.forking import survive_forks
from qlower.process.lazy import lazy_attributes
from qlower.version import __version__

if TYPE_CHECKING:
    from qlower.api import (
        bisect,
        compile,
        interpret,
        jit,
        jit_by_shape,
        list_contracts,
        load_compiled,
        lower,
    )
    from qlower.compilation.bisection import Bisection
    from qlower.contract_pages.contract_table import Contracts
    from qlower.contracts.family.names import arithmetic
    from qlower.contracts.rule_function import rule
    from qlower.diagnostics import QlowerError
    from qlower.explain.diff import diff
    from qlower.explain.diff_result import Diff
    from qlower.explain.trace import Trace, trace
    from qlower.explain.vectors import Vectors, vectors
    from qlower.exports.weights import to_onnx, to_tflite
    from qlower.frontends.in_memory import from_eager, from_fx, from_torch
    from qlower.frontends.load import load
    from qlower.identification.identify import identify
    from qlower.identification.result import Identification
    from qlower.inspection.findings import Lint
    from qlower.inspection.linting import lint
    from qlower.inspection.statistics import Stats, stats
    from qlower.model import Model, build
    from qlower.model.signature import TensorSpec
    from qlower.model.state import State
    from qlower.packages.compiled import Compiled
    from qlower.report.make import make_report
    from qlower.report.report import Report
    from qlower.runtime.by_shape import FunctionByShape
    from qlower.runtime.executors import JitFunction
    from qlower.runtime.library import CompiledLibrary
    from qlower.validation.result import Validation
    from qlower.validation.validate import validate
    from qlower.verification.verify import verify

__all__ = [
    "Bisection",
    "Compiled",
    "CompiledLibrary",
    "Contracts",
    "Diff",
    "FunctionByShape",
    "Identification",
    "JitFunction",
    "Lint",
    "Model",
    "QlowerError",
    "Report",
    "State",
    "Stats",
    "TensorSpec",
    "Trace",
    "Validation",
    "Vectors",
    "__version__",
    "arithmetic",
    "bisect",
    "build",
    "compile",
    "diff",
    "from_eager",
    "from_fx",
    "from_torch",
    "identify",
    "interpret",
    "jit",
    "jit_by_shape",
    "lint",
    "list_contracts",
    "load",
    "load_compiled",
    "lower",
    "make_report",
    "rule",
    "stats",
    "to_onnx",
    "to_tflite",
    "trace",
    "validate",
    "vectors",
    "verify",
]

survive_forks()

__getattr__ = lazy_attributes(
    __name__,
    {
        "Compiled": "qlower.packages.compiled:Compiled",
        "CompiledLibrary": "qlower.runtime.library:CompiledLibrary",
        "FunctionByShape": "qlower.runtime.by_shape:FunctionByShape",
        "JitFunction": "qlower.runtime.executors:JitFunction",
        "Model": "qlower.model:Model",
        "QlowerError": "qlower.diagnostics:QlowerError",
        "Diff": "qlower.explain.diff_result:Diff",
        "Identification": "qlower.identification.result:Identification",
        "Report": "qlower.report.report:Report",
        "State": "qlower.model.state:State",
        "TensorSpec": "qlower.model.signature:TensorSpec",
        "Trace": "qlower.explain.trace:Trace",
        "Vectors": "qlower.explain.vectors:Vectors",
        "arithmetic": "qlower.contracts.family.names:arithmetic",
        "rule": "qlower.contracts.rule_function:rule",
        "lint": "qlower.inspection.linting:lint",
        "stats": "qlower.inspection.statistics:stats",
        "bisect": "qlower.api:bisect",
        "list_contracts": "qlower.api:list_contracts",
        "Lint": "qlower.inspection.findings:Lint",
        "Stats": "qlower.inspection.statistics:Stats",
        "Validation": "qlower.validation.result:Validation",
        "Bisection": "qlower.compilation.bisection:Bisection",
        "Contracts": "qlower.contract_pages.contract_table:Contracts",
        "build": "qlower.model.build",
        "compile": "qlower.api:compile",
        "diff": "qlower.explain.diff:diff",
        "identify": "qlower.identification.identify:identify",
        "from_eager": "qlower.frontends.in_memory:from_eager",
        "from_fx": "qlower.frontends.in_memory:from_fx",
        "from_torch": "qlower.frontends.in_memory:from_torch",
        "interpret": "qlower.api:interpret",
        "jit": "qlower.api:jit",
        "jit_by_shape": "qlower.api:jit_by_shape",
        "load": "qlower.frontends.load:load",
        "load_compiled": "qlower.api:load_compiled",
        "lower": "qlower.api:lower",
        "make_report": "qlower.report.make:make_report",
        "to_onnx": "qlower.exports.weights:to_onnx",
        "to_tflite": "qlower.exports.weights:to_tflite",
        "trace": "qlower.explain.trace:trace",
        "vectors": "qlower.explain.vectors:vectors",
        "validate": "qlower.validation.validate:validate",
        "verify": "qlower.verification.verify:verify",
    },
)
"""Where each name comes from; `import qlower` alone loads none of them."""


def __dir__() -> list[str]:
    return sorted(__all__)
