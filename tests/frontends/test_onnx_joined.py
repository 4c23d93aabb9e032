"""Shapes that can be joined along an axis, and those that are refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.formats.onnx_builder import OnnxBuilder

from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN, ImportOptions
from qlower.frontends.onnx import FORMAT

pytest.importorskip("onnx", reason="onnx is not installed")


def joined(axis: int, *shapes: Sequence[int]) -> str:
    build = OnnxBuilder()
    names = [build.input(f"x{at}", shape) for at, shape in enumerate(shapes)]
    build.node("Concat", names, "y", axis=axis)
    build.output("y")
    options = ImportOptions(qdq=AS_WRITTEN)
    return str(FORMAT.module(build.build(), name="m", options=options))


@pytest.mark.parametrize(
    ("axis", "shapes", "result"),
    [
        (0, [(2, 3), (4, 3)], "6x3"),
        (1, [(2, 3), (2, 1), (2, 2)], "2x6"),
        (-1, [(2, 3), (2, 1)], "2x4"),
    ],
)
def test_shapes(axis: int, shapes: list[Sequence[int]], result: str) -> None:
    assert f"-> tensor<{result}xf32>" in joined(axis, *shapes)


@pytest.mark.parametrize(
    ("axis", "shapes", "told"),
    [
        (0, [(2, 3), (2, 4)], "[2, 3] and [2, 4] can't be joined along axis 0"),
        (-1, [(2, 3), (4, 3)], "[2, 3] and [4, 3] can't be joined along axis 1"),
        (0, [(2, 3), (2,)], "[2, 3] and [2] can't be joined along axis 0"),
        (0, [(2, 3), (2, 3, 1)], "[2, 3] and [2, 3, 1] can't be joined along axis 0"),
    ],
)
def test_refusals(axis: int, shapes: list[Sequence[int]], told: str) -> None:
    with pytest.raises(QlowerError) as caught:
        joined(axis, *shapes)
    assert f"shapes {told}" in caught.value.message
