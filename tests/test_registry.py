"""What every operation of every dialect must have; a failing row names where to add it.

Contracts have such a test in `tests/contracts/test_every_operator.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.formats.named_ops import EXAMPLES
from support.layers.run_files import RUN_TESTS
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation

from qlower.codegen.values.region import BUILDERS
from qlower.dialects import stablehlo, tosa
from qlower.dialects.fixed import FIXED
from qlower.dialects.kernel import KERNEL
from qlower.dialects.linalg.table import DEFINITIONS, named_op
from qlower.dialects.operations import kind_of, operations_of
from qlower.dialects.qnn import QNN
from qlower.dialects.quant import QUANT
from qlower.semantics import make_qnn_interpreter
from qlower.transforms import lower_stablehlo, lower_tosa
from qlower.transforms.lower_qnn import LOWERINGS
from qlower.transforms.lower_stablehlo.elementwise import BINARY
from qlower.transforms.lower_tosa.elementwise import COMPUTE
from qlower.transforms.lowered_function import find_lowering

ROOT = Path(__file__).parents[1]
DIALECTS = (QUANT, QNN, FIXED, KERNEL)
INSIDE_NESTS = ("kernel.yield", "kernel.index")
"""Parts of a nest, whose example and verifier's messages are the nest's."""


@cache
def interpreted() -> set[type[Operation]]:
    """The operations that an interpreter gives a meaning to."""
    interpreter = make_qnn_interpreter(ModuleOp([]))
    for functions in interpreter.dialects.values():
        interpreter.register_implementations(functions()())
    return set(interpreter.implementations)


@cache
def texts(folder: str, pattern: str) -> str:
    """The text of all files below a folder of the project that match."""
    files = sorted((ROOT / folder).rglob(pattern))
    return "\n".join(path.read_text() for path in files)


def used(op: type[Operation], text: str) -> bool:
    """Whether a text has the operation, under its own name or quoted."""
    return re.search(rf'[ "]{re.escape(op.name)}[ "(]', text) is not None


def missing(op: type[Operation]) -> Iterator[str]:
    """What the operation lacks, each as what to do and where."""
    dialect = op.dialect_name()
    short = op.name.removeprefix(f"{dialect}.")
    inside = op.name in INSIDE_NESTS
    if not inside and "```mlir" not in (inspect.getdoc(op) or ""):
        yield f"give an example in the docstring: {inspect.getsourcefile(op)}"
    folder = f"filecheck/dialects/{dialect}"
    if not used(op, texts(folder, "ops.mlir")):
        yield f"let the text go round: {folder}/ops.mlir"
    if not inside and not used(op, texts(folder, "*invalid.mlir")):
        yield f"show what the verifier refuses: {folder}/*_invalid.mlir"
    if op not in interpreted():
        yield "define the meaning: qlower/interp, or qlower/semantics for qnn"
    if dialect in ("qnn", "quant") and find_lowering(LOWERINGS, op) is None:
        yield "lower it: LOWERINGS of qlower/transforms/lower_qnn"
    if dialect == "fixed":
        if op.name not in BUILDERS:
            yield "make native code: BUILDERS of qlower/codegen/values/region.py"
        if not used(op, texts("filecheck/transforms", "expand-fixed.mlir")):
            yield "rewrite it to upstream's: qlower/transforms/expand_fixed.py and test"
    if dialect != "kernel" and not any(used(op, test.text) for test in RUN_TESTS):
        yield f"run it in every executor: tests/run/{dialect}/{short}.mlir"


def operations(dialects: tuple[Dialect, ...]) -> list[type[Operation]]:
    return [op for dialect in dialects for op in dialect.operations]


@pytest.mark.parametrize("op", operations(DIALECTS), ids=lambda op: op.name)
def test_every_operation_is_complete(op: type[Operation]) -> None:
    assert not list(missing(op))


CHECKS = {"check", "result_shape", "movement", "sums"}
"""What a class of TOSA or StableHLO states that its verifier reads."""


def missing_of_read(op: type[Operation]) -> Iterator[str]:
    """What an operation of another project's dialect lacks."""
    dialect = op.dialect_name()
    folder, tests = f"filecheck/dialects/{dialect}", f"tests/frontends/{dialect}"
    if not (inspect.getdoc(op) or ""):
        yield f"say what it means: qlower/dialects/{dialect}"
    if not used(op, texts(folder, "ops.mlir")):
        yield f"let the text go round: {folder}/ops.mlir"
    checked = next(base for base in op.__mro__ if CHECKS & vars(base).keys())
    refusals = texts(folder, "*invalid.mlir")
    if not any(used(other, refusals) for other in operations_of(checked)):
        yield f"show what the verifier of {checked.__name__} refuses: {folder}"
    if not has_lowering(op):
        yield f"lower it: qlower/transforms/lower_{dialect}"
    # a test runs all functions of StableHLO
    cases = texts(tests, "*.mlir") + texts("tests/frontends", f"test_{dialect}*.py")
    if not (used(op, cases) or op in stablehlo.FUNCTIONS):
        yield f"run it beside the dialect's own interpreter: {tests}"


def has_lowering(op: type[Operation]) -> bool:
    """Whether something lowers an operation of TOSA or StableHLO, and knows it."""
    if issubclass(op, tosa.ElementwiseOp):
        return kind_of(op) in COMPUTE
    if issubclass(op, stablehlo.BinaryOp):
        return kind_of(op) in BINARY
    if issubclass(op, stablehlo.UnaryOp):
        functions = lower_stablehlo.Lowering.step(f"real_{kind_of(op)}")
        return functions.values == ("x",)
    rows = {**lower_tosa.LOWERINGS, **lower_stablehlo.LOWERINGS}
    del rows[Operation]
    return find_lowering(rows, op) is not None


READ = [
    op
    for op in operations((tosa.TOSA, stablehlo.STABLEHLO))
    if not issubclass(op, stablehlo.ReturnOp)
]
"""All but the end of a body, which means nothing by itself."""


@pytest.mark.parametrize("op", READ, ids=lambda op: op.name)
def test_every_operation_that_is_read_is_complete(op: type[Operation]) -> None:
    assert not list(missing_of_read(op))


def test_every_named_operation_of_linalg_is_complete() -> None:
    """Each has a class; `test_linalg.py` compares all examples with upstream and runs
    them."""
    assert [example.name for example in EXAMPLES] == list(DEFINITIONS)
    assert all(named_op(name) is not None for name in DEFINITIONS)
