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
from support.run_files import RUN_TESTS
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation

from qlower.codegen.values.region import BUILDERS
from qlower.dialects.fixed import FIXED
from qlower.dialects.kernel import KERNEL
from qlower.dialects.qnn import QNN
from qlower.dialects.quant import QUANT
from qlower.semantics import make_qnn_interpreter
from qlower.transforms.lower_qnn import LOWERINGS
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
    """Whether the operation stands in a text, under its own name or quoted."""
    return re.search(rf'[ "]{re.escape(op.name)}[ "]', text) is not None


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
