"""Real operators are fused where ONNX Runtime fuses them, into the same nodes, and
stay where it leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.formats.onnx_layers import Layers
from support.formats.onnx_models import make_session
from support.formats.onnx_reals import (
    BEFORE_AXES_ARE_OPERANDS,
    CASES,
    SHAPE,
    SINCE,
    Reals,
    fused,
    fused_by_onnx_runtime,
    normalized,
)
from support.values.same_numbers import assert_same
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import REMARKS
from qlower.frontends.import_options import X86
from qlower.frontends.onnx.remarks import OTHER_AXIS

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.mark.parametrize("opset", [BEFORE_AXES_ARE_OPERANDS, SINCE])
@pytest.mark.parametrize("case", CASES)
def test_results(case: str, opset: int, tmp_path: Path) -> None:
    build = Reals(opset)
    build.output(CASES[case](build))
    path = build.save(tmp_path / "model.onnx")
    assert fused(path) == fused_by_onnx_runtime(path, tmp_path)


@pytest.mark.parts(2)
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("shape", [(2, 3, 8), (2, 2, 3, 8)])
def test_normalized_sums(shape: Sequence[int], axis: int, tmp_path: Path) -> None:
    """Sums of three dimensions are normalized along the last one, whatever the axis is,
    others along the axes that the file states."""
    build = Layers()
    total = build.node("Add", [build.value(*shape), build.value(*shape)])
    row = shape[axis:] if len(shape) > 3 else shape[-1:]
    rows = [build.constant(build.random.normal(size=row)) for _ in range(2)]
    build.returned(build.node("LayerNormalization", [total, *rows], axis=axis))
    build.check(tmp_path, X86)
    model = qlower.load(tmp_path / "model.onnx", qdq=X86)
    is_remarked = any(OTHER_AXIS in remark for remark in remarks_of(model.module))
    assert is_remarked == (len(shape) == 3 and axis == 1)


@pytest.mark.parametrize("rows", ["constant", "input"])
@pytest.mark.parametrize("centred", [True, False])
def test_last_axis_by_its_number(centred: bool, rows: str, tmp_path: Path) -> None:
    build = Reals()
    offset = SHAPE[-1:] if centred else None
    last = normalized(build, axis=2, centred=centred, offset=offset, rows=rows)
    build.output(build("Identity", last))
    path = build.save(tmp_path / "model.onnx")
    model = qlower.load(path, qdq=X86)
    feed = {
        spec.name: build.random.normal(size=spec.shape).astype(np.float32)
        for spec in model.inputs
    }
    (expected,) = make_session(path, "ENABLE_ALL", {}).run(None, feed)
    assert_same(qlower.jit(model)(*feed.values()), expected)


def test_malformed_nodes_are_refused(tmp_path: Path) -> None:
    """Where a fusion looks at them first, too."""
    build = Reals()
    build.output(build("Mul", build("Div"), build.value()))
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="number of operands 0 is out of range"):
        qlower.load(path, qdq=X86)
    build = Reals()
    x = build.value()
    build.output(normalized(build, x))
    mean = build.nodes[0].output[0]
    build.output(build("Sub", x, mean, mean))
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="number of operands 3 is out of range"):
        qlower.load(path, qdq=X86)


def remarks_of(module: ModuleOp) -> list[str]:
    remarks = module.attributes[REMARKS]
    assert isinstance(remarks, ArrayAttr)
    return [remark.data for remark in remarks if isinstance(remark, StringAttr)]


def refusal(build: Reals, folder: Path) -> str:
    path = build.save(folder / "model.onnx")
    with pytest.raises(QlowerError) as caught:
        fused(path)
    return str(caught.value).partition("error: ")[2].splitlines()[0]


def test_unknown_lengths_are_refused(tmp_path: Path) -> None:
    build = Reals()
    build.output(normalized(build, rows="result"))
    assert refusal(build, tmp_path) == (
        "node 10 Add: the lengths of 'v7' and 'v9' are not known: ONNX Runtime fuses"
        " the normalization if they are equal"
    )


def test_an_axis_of_unknown_rank_is_refused(tmp_path: Path) -> None:
    build = Reals()
    x = build("Einsum", build.value(), equation="abc->abc")
    build.output(normalized(build, x, axis=2))
    assert refusal(build, tmp_path) == (
        "node 1 ReduceMean: axis 2 of 'v0', whose rank is not known: ONNX Runtime fuses"
        " the normalization if that is the last axis"
    )
    build = Reals()
    x = build("Einsum", build.value(), equation="abc->abc")
    build.output(normalized(build, x))
    path = build.save(tmp_path / "model.onnx")
    assert fused(path) == fused_by_onnx_runtime(path, tmp_path)
