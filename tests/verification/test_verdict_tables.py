"""Verdicts as tables and as data, from given layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qlower.verification.fit_table import Fit, Fits, Unbounded, WorstInput
from qlower.verification.group_table import Groups, LayerGroups
from qlower.verification.native.verdict import Level, Mismatch, Native, NativeVerdict
from qlower.verification.native.whole import Whole
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


def lines(table: object) -> list[str]:
    """Those that aren't a rule, with single spaces."""
    found = [" ".join(line.split()) for line in str(table).splitlines()]
    return [line for line in found if line.strip("-")]


def test_sums_that_fit_or_leave() -> None:
    worst = WorstInput((0, 2), {"x": np.zeros(2, np.int8)}, -40000, 25536)
    rows = [
        Fit("a", "linear", "accumulator", 16, 3, -32768, 32767),
        Fit("b", "conv2d", "accumulator", 16, 0, -32769, 5, 100, worst),
        Fit("c", "mean", "pairs", 17, None, 0, 65535, None, WorstInput((1,), {}, 9, 9)),
    ]
    others = [
        Unbounded("d", "softmax", "real", True),
        *(Unbounded(name, "mul", "no sums") for name in "ef"),
    ]

    def fits(rows: list[Fit], others: list[Unbounded]) -> Fits:
        return Fits("tflite", "memory", rows, others, {}, 16, {}, {"npu": 20, "u": 1})

    whole = fits(rows, others)
    table = lines(whole)
    named = "layer op what verdict bits needed channel its range weights up to worst"
    assert table[0] == f"{named} input gives"
    assert table[1] == "a linear accumulator fits 16 16 3 [-32768, 32767] -"
    assert table[2].startswith("b conv2d accumulator leaves 16 17 0 [-32769, 5]")
    assert table[2].endswith("100 [0,2] -40,000, held as 25,536")
    assert table[3] == "c mean pairs fits 17 17 - [0, 65535] - [1] 9"
    notes = whole.table.notes
    assert notes[:3] == [
        "2 of 3 fit, with products added in the order of memory.",
        "npu itself sums in a register of 20 bits.",
        "u itself sums in a register of 1 bit.",
    ]
    assert notes[3].startswith("weights up to N: the layer fits once weights of [-127")
    assert notes[4:] == ["Not looked at (real): d.", "Not looked at (no sums): e, f."]
    assert len(fits([rows[0], rows[2]], []).table.notes) == 3
    assert fits([], []).table.notes[0].startswith("No layer adds anything up: ")
    assert fits([], others).table.notes[0].startswith("0 of 0 fit, ")
    for held, some, rest in (
        (True, [rows[0], rows[2]], others[:1]),
        (False, rows, others[:1]),
        (False, rows[:1], others),
    ):
        assert fits(some, rest).holds == held
    assert [*whole.inputs()] == ["b accumulator<-x"]


def test_groups_of_contracts() -> None:
    """By their first name, where they are the same everywhere."""
    rows = [
        LayerGroups("x", "conv2d", [["a", "b"], ["c"], ["d"]], [("a", "c")], {}),
        LayerGroups("y", "add", [["a", "b", "d"], ["c"]], [], {}),
        LayerGroups("z", "mul", [["a", "b"], ["c"]], [], {"d": "no rule"}),
    ]
    found = Groups(["a", "b", "c", "d"], rows, {})
    assert lines(found)[1:4] == [
        "x conv2d 3 1 - a +1",
        "y add 2 - - a +1 = d",
        "z mul 2 - 1 a +1",
    ]
    assert [row["same"] for row in found.table.records()] == [
        *("a = b", "a = b = d", "a = b")
    ]
    assert found.table.notes == [
        "4 contracts; equal in every layer, and listed above by the first name: a = b "
        "(1 pair)."
    ]
    assert found.everywhere() == [["a", "b"], ["c"]]
    assert [Groups("abcd", [row], {}).holds for row in rows] == [False, True, True]
    kinds = [rows[0].verdict("b", name) for name in "acd"]
    assert kinds == ["equal", "undecided", "differs"]
    assert rows[2].verdict("a", "d") is rows[2].verdict("d", "a") is None
    (note,) = Groups("abd", rows[1:2], {}).table.notes
    assert note.endswith("by the first name: a = b = d (3 pairs).")
    (note,) = Groups(["a", "c"], rows[:1], {}).table.notes
    assert note.endswith("by the first name: none (0 pairs).")


def test_machine_code_of_levels() -> None:
    """Levels that say the same of a layer share a line."""
    wrong = Mismatch(3, (1200, -7), 255, 1)
    of_rows = Mismatch(None, (1000,), 5, 6, "quotient")
    rows = [
        *(NativeVerdict(v, "a", "conv2d", "equal", "steps", 100, 8) for v in "vw"),
        NativeVerdict("v", "b", "add", "differs", "pairs", 65536, 1, wrong),
        NativeVerdict("w", "b", "add", "equal", "pairs", 65536, 1),
        NativeVerdict("w", "c", "softmax", "undecided", "rows", 0, 0, of_rows),
    ]
    levels = {name: Level("x", name, "", "") for name in "vw"}
    whole = {"v": Whole(3, 1000, 2), "w": Whole(3, 1000, 0)}

    def native(
        rows: list[NativeVerdict], whole: dict[str, Whole], *moved: str
    ) -> Native:
        return Native("tflite", rows, levels, {}, {}, 0.5, whole, moved)

    found = native(rows, whole, "r", "s")
    assert lines(found)[1:5] == [
        "a conv2d equal all 8 100 steps",
        "b add differs v 1 65,536 channel 3 at 1,200, -7: 0xff | 0x1",
        "b add equal w 1 65,536 pairs",
        "c softmax undecided w - - quotient 1,000: 5 | 6",
    ]
    drawn = "the whole code, on 3 drawn inputs:"
    notes = found.table.notes
    assert notes[:4] == [
        "5 functions of machine code for v, w: 3 equal, 1 differs, 1 undecided.",
        "131,272 sums and pairs in 0.5 s, 262,544 a second.",
        f"v: {drawn} 2 of 1,000 outputs differ; `qlower bisect` finds the function.",
        f"w: {drawn} 0 of 1,000 outputs differ.",
    ]
    assert notes[4].endswith("what others wrote, only the drawn inputs show.")
    assert notes[5].endswith("compute nothing in machine code: r, s.")
    assert notes[6].startswith("For each function that differs: a channel and its sum")
    right = native(rows[:2], {})
    assert len(right.table.notes) == 3
    assert right.table.notes[2].endswith("none were run: that takes all layers.")
    assert str(replace(wrong, channel=None)) == "at 1,200, -7: 0xff | 0x1"
    for held, some, runs in (
        (True, rows[:2], {"w": whole["w"]}),
        (False, rows[:2], whole),
        (False, rows[:3], {}),
        (False, rows[4:], {}),
    ):
        assert native(some, runs).holds == held
    data = found.to_dict()
    assert data["equal"] is False
    differences = [row.to_dict()["difference"] for row in rows]
    assert differences[0] is None
    assert differences[2] == {
        **{"channel": 3, "numbers": [1200, -7]},
        **{"contract": 255, "native": 1, "of": "result"},
    }
