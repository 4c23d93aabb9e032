"""Rows that `tosa.gather` takes and `tosa.scatter` puts, and which they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.utils.exceptions import VerifyException

from qlower.text.parsing import parse_module


def made(kind: str, indices: str, *shapes: str) -> Any:
    """The operation on these shapes, the second its indices': constants or %x1."""
    types = [
        f"tensor<{one}x{'i32' if n == 1 else 'i8'}>" for n, one in enumerate(shapes)
    ]
    ports = ", ".join(f"%x{n}: {type}" for n, type in enumerate(types))
    given = f"%c = arith.constant dense<{indices}> : {types[1]}\n" if indices else ""
    names = [f"%x{n}" for n in range(len(types))]
    names[1] = "%c" if indices else "%x1"
    text = (
        f"func.func @main({ports}) {{\n{given}%y = tosa.{kind} {', '.join(names)} : "
        f"({', '.join(types)}) -> tensor<1x1x1xi8>\nreturn\n}}"
    )
    return next(op for op in parse_module(text).walk() if op.name == f"tosa.{kind}")


@pytest.mark.parametrize(
    ("kind", "shapes", "wanted"),
    [
        ("gather", ("2x3x4", "2x5"), (2, 5, 4)),
        ("gather", ("2x3x4", "1x5"), "batches 2 and 1 differ"),
        ("gather", ("2x3", "2x5"), "values has rank 2, expected 3"),
        ("gather", ("2x3x4", "2x5x1"), "indices has rank 3, expected 2"),
        ("scatter", ("2x3x4", "2x3", "2x3x4"), (2, 3, 4)),
        ("scatter", ("2x3x4", "2x1", "2x1x4"), (2, 3, 4)),
        ("scatter", ("2x3x4", "2x4", "2x4x4"), "4 places among 3 rows"),
        ("scatter", ("2x3x4", "1x3", "2x3x4"), "indices has shape [1, 3], expected"),
        ("scatter", ("2x3x4", "2x3", "2x3x5"), "input has shape [2, 3, 5], expected"),
    ],
)
def test_shapes(
    kind: str, shapes: tuple[str, ...], wanted: tuple[int, ...] | str
) -> None:
    op = made(kind, "", *shapes)
    if not isinstance(wanted, str):
        assert op.result_shape() == wanted
        return
    with pytest.raises(VerifyException) as refused:
        op.result_shape()
    assert str(refused.value).startswith(wanted)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ("", ""),
        ("[[0, 1], [2, 0], [2, 1]]", ""),
        ("[[0, 1], [0, 1], [2, 1]]", ""),
        (
            "[[0, 1], [2, 2], [2, 1]]",
            "a place is named twice, which TOSA calls unpredictable",
        ),
        (
            "[[1, 1], [2, 0], [2, 1]]",
            "a place is named twice, which TOSA calls unpredictable",
        ),
        ("[[0, 1], [2, 3], [2, 1]]", "place 3 is outside [0, 3)"),
        ("[[0, -1], [2, 0], [2, 1]]", "place -1 is outside [0, 3)"),
    ],
)
def test_places(indices: str, message: str) -> None:
    """Each batch has places of its own; those that are computed pass."""
    op = made("scatter", indices, "3x3x4", "3x2", "3x2x4")
    if not message:
        op.check()
        return
    with pytest.raises(VerifyException) as refused:
        op.check()
    assert str(refused.value) == message
