"""Every operator in its variants, as the file writes it: the interpreter gives ONNX
Runtime's bits. Other executors and readings are compared elsewhere, in turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_cases import CASES
from support.formats.onnx_models import contract_here, make_session, random_feed
from support.formats.onnx_singles import SINGLES, Single
from support.formats.onnx_variants import VARIANTS

import qlower
from qlower.frontends.import_options import AS_WRITTEN
from qlower.interp.values import Array
from qlower.model import Model

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

REFUSED = ("GridSample cubic", "NonZero", "Resize smooth")
OPERATORS = {
    name: one
    for one in SINGLES
    if (name := f"{one.operator} {one.variant}".strip()) not in REFUSED
}


def read(build: OnnxBuilder, folder: Path) -> Model:
    return qlower.load(build.save(folder / "model.onnx"), qdq=AS_WRITTEN)


def check(model: Model, feed: dict[str, Array], folder: Path) -> None:
    session = make_session(folder / "model.onnx", "DISABLE_ALL", {})
    expected = session.run(None, feed)
    arrays = [feed[spec.name] for spec in model.inputs]
    found = qlower.interpret(model, *arrays, contract=contract_here(model), at="qnn")
    outputs = found if isinstance(found, tuple) else (found,)
    for array, wanted in zip(outputs, expected, strict=True):
        assert array.dtype == wanted.dtype
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_between_pairs(name: str, tmp_path: Path) -> None:
    model = read(OPERATORS[name].build("i1"), tmp_path)
    check(model, OPERATORS[name].feed(0), tmp_path)


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    "one", VARIANTS, ids=lambda one: f"{one.operator} {one.variant}"
)
def test_attributes_and_shapes(one: Single, tmp_path: Path) -> None:
    check(read(one.build("i1"), tmp_path), one.feed(0), tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_operators_on_integers(name: str, tmp_path: Path) -> None:
    model = read(CASES[name](), tmp_path)
    check(model, random_feed(model, 0), tmp_path)
