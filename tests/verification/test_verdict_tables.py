"""Verdicts as tables and as data, from given layers."""

from __future__ import annotations

from qlower.verification.verdict import Equality, LayerVerdict


def test_layers_that_are_equal_differ_or_have_no_function() -> None:
    """An unknown count is no number, for programs and for people."""
    rows = [
        LayerVerdict("a", "conv2d", "equal", "all accumulators", 1234, 8),
        LayerVerdict("b", "reshape", "equal", "moved or compared alike"),
        LayerVerdict("c", "add", "differs", "some", 50, 4, 3),
        LayerVerdict("d", "softmax", "undecided", "real numbers", 0, 2),
    ]
    table = Equality("tflite", "tvm", rows, {}).table
    assert [
        (row["layer"], row["channels"], row["channels_that_differ"], row["numbers"])
        for row in table.records()
    ] == [("a", 8, 0, 1234), ("b", None, 0, None), ("c", 4, 3, 50), ("d", 2, 0, None)]
    shown = {column.key: column for column in table.columns}
    assert [shown["channels"].text(row) for row in rows] == ["8", "-", "3/4", "2"]
    assert [shown["numbers"].text(row) for row in rows] == ["1,234", "-", "50", "-"]
    assert table.notes[0] == (
        "4 layers: 2 equal, 1 differs, 1 undecided; 1,284 accumulators and pairs "
        "decided."
    )
    assert len(table.notes) == 1
    assert not Equality("tflite", "tvm", rows, {}).holds
    assert Equality("tflite", "tvm", rows[:2], {}).holds
