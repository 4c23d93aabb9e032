"""The lowered IR of real models is upstream MLIR, says upstream's own mlir-opt."""

from __future__ import annotations

import subprocess
from io import StringIO
from pathlib import Path

import pytest
from support import models_directory
from support.systems.upstream import find_mlir_opt
from xdsl.printer import Printer

import qlower
from qlower.compilation.to_arith import lower_to_arith

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.tflite"))
OURS = {"qnn", "quant", "fixed", "kernel"}

pytestmark = [
    pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}"),
    pytest.mark.skipif(
        find_mlir_opt() is None, reason="no mlir-opt of LLVM 22 (extra `mlir`)"
    ),
]


@pytest.mark.parts(13)
@pytest.mark.parametrize("name", NAMES)
def test_mlir_opt_accepts_the_expanded_model(name: str, tmp_path: Path):
    model = qlower.load(MODELS / name / "model.tflite")
    lowered = lower_to_arith(model.module, expand_fixed=True)
    assert {op.dialect_name() for op in lowered.walk()} & OURS == set()
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(lowered)
    source = tmp_path / "model.mlir"
    source.write_text(text.getvalue())
    mlir_opt = find_mlir_opt()
    assert mlir_opt is not None
    result = subprocess.run(
        [mlir_opt, str(source), "--canonicalize", "-o", "/dev/null"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[:2000]
