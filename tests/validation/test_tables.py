"""What is shown of counts: every cell, note and record, of sums written out here."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.validation import cells
from qlower.validation.counts import Counts, Signal, Spread
from qlower.validation.result import Validation
from qlower.validation.rows import ContractRow, SignalRow

BINS = [8, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4]

REFERENCE = Counts(
    examples=8,
    labelled=4,
    top1=3,
    top5=4,
    confusion=Counter({(0, 0): 2, (1, 1): 1, (1, 0): 1}),
    custom={"error": Fraction(9, 2), "loss": Fraction(4)},
)
OUTPUT = Signal(80, 20, 640, 5120, 6400, 640_000, 655_360, 640_000)
LAYERS = {
    "conv": Signal(16, 2, 256, 512, 10, 1_000_000, 1_000_000, 999_995),
    "add": Signal(elements=16, power=5, own_power=5, product=5),
    "fc": Signal(),
    "soft": Signal(10, 9, 700, 2560, 100, 1000),
}
OWN = Counts(
    *(8, 4, 2, 3, 6, 8, 2, 1),
    output=OUTPUT,
    steps=Counter({0: 60, 1: 15, -2: 5}),
    confusion=Counter({(0, 0): 1, (0, 2): 1, (1, 1): 1, (1, 2): 1}),
    layers=LAYERS,
    spreads={"conv": Spread(16, 4, BINS, -512, 768)},
)
FAILURES = ((3, "no picture"), (5, "element 0 is nan"))


def result(**given: Any) -> Validation:
    counts = {"tflite": REFERENCE, "mine": OWN}
    return replace(Validation(12, 4, 1, FAILURES, "tflite", counts, step=0.25), **given)


def lines(table: object) -> list[str]:
    """Those that aren't a rule, with single spaces."""
    found = [" ".join(line.split()) for line in str(table).splitlines()]
    return [line for line in found if line.strip("-")]


def test_contracts_and_a_reference() -> None:
    assert lines(result()) == [
        "contract examples labelled top-1 95 % top-5 loss 95 % McNemar's p argmax "
        "agrees outputs that differ mean largest dB cosine error loss",
        "tflite 8 4 75.00% 30.1% to 95.4% 100.00% 0.00 points - - - - - - - - 0.5625 "
        "0.5",
        "mine 8 4 50.00% 15.0% to 85.0% 75.00% 25.00 points -55.15 to 88.48 1 75.00% "
        "20 (25.00%) 0.25 2.5 20.0 0.988212 - -",
        "held against tflite; mean and largest difference in steps of the output, "
        "signal to noise in dB",
        "4 of 12 rows could not be used, 1 of them for infinities or NaN:",
        "row 3: no picture",
        "row 5: element 0 is nan",
        "and 2 more",
    ]


def test_contracts_for_programs() -> None:
    """A metric that is called like a column is kept apart from it."""
    reference, own = result().table.records()
    nothing = dict.fromkeys(
        [
            *("loss_interval", "mcnemar", "agreement", "differing", "mean_steps"),
            *("mean_real", "largest_steps", "largest_real", "decibels", "cosine"),
        ]
    )
    assert reference == {
        **{"contract": "tflite", "examples": 8, "labelled": 4, "top1": 0.75},
        **{"interval": pytest.approx((0.30064, 0.95441), abs=1e-5), "top5": 1.0},
        **{"loss": 0.0, "error": 0.5625, "metric_loss": 0.5, **nothing},
    }
    assert own == {
        **{"contract": "mine", "examples": 8, "labelled": 4, "top1": 0.5},
        **{"interval": pytest.approx((0.15004, 0.84996), abs=1e-5), "top5": 0.75},
        **{"loss": 0.25, "mcnemar": 1.0, "agreement": 0.75, "differing": 20},
        **{"loss_interval": pytest.approx((-0.55149, 0.88483), abs=1e-5)},
        **{"mean_steps": 0.25, "mean_real": 0.0625},
        **{"largest_steps": 2.5, "largest_real": 0.625},
        **{"decibels": pytest.approx(20), "cosine": pytest.approx(0.98821, abs=1e-5)},
        **{"error": None, "metric_loss": None},
    }


@pytest.mark.parametrize(
    ("given", "absent"),
    [
        ({}, {"argmax agrees", "dB", "mean", "cosine", "McNemar's p"}),
        ({"counts": {"a": Counts(examples=3)}}, {"top-1", "labelled", "loss", "dB"}),
    ],
)
def test_columns_that_nothing_is_known_of(given: Any, absent: set[str]) -> None:
    table = result(**given, against=None).table
    titles = [column.title for column in table.columns]
    assert absent.isdisjoint(titles)
    assert not [note for note in table.notes if "held against" in note]
    assert titles[:2] == ["contract", "examples"]


def test_columns_that_narrow_terminals_leave_out_first() -> None:
    found = result(against="tflite")
    ranks = {column.title: column.rank for column in found.table.columns}
    assert {title: rank for title, rank in ranks.items() if rank} == {
        **{"labelled": 1, "95 %": 2, "McNemar's p": 2, "mean": 1, "cosine": 3}
    }
    real = result(is_real=True).table.columns
    assert [column.title for column in real if column.rank == 1] == ["labelled", "mean"]


def test_real_numbers() -> None:
    table = result(is_real=True, step=2.0**-20).table
    keys = [column.key for column in table.columns]
    assert "mean_steps" not in keys
    assert table.records()[1]["mean_real"] == 0.25 * 2.0**-20
    assert table.notes[0] == (
        "held against tflite; mean and largest difference in real numbers, signal to "
        "noise in dB"
    )


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        ({"failed": 0, "failures": ()}, []),
        ({"failed": 2, "not_finite": 0}, ["2 of 12 rows could not be used:"]),
        (
            {"examples": 5000, "failed": 1002, "not_finite": 1001},
            [
                "1,002 of 5,000 rows could not be used, 1,001 of them for infinities "
                "or NaN:"
            ],
        ),
        ({"failed": 3}, ["3 of 12 rows could not be used, 1 of them for infinities "]),
    ],
)
def test_rows_that_failed(given: Any, notes: list[str]) -> None:
    found = result(**given)
    told = found.table.notes[1:]
    assert [one.startswith(n) for one, n in zip(told, notes, strict=False)] == (
        [True] * len(notes)
    )
    more = found.failed - len(found.failures)
    named = [f"  row {row}: {reason}" for row, reason in found.failures]
    assert told[1:] == [*named, *([f"  and {more:,} more"] if more else [])]


def test_a_reference_that_is_no_contract() -> None:
    """It comes last, with its own accuracy."""
    counts = {"mine": OWN}
    found = result(counts=counts, against="x.onnx", reference=REFERENCE)
    assert [row.contract for row in found.contracts] == ["mine", "x.onnx"]
    assert [row.loss for row in found.contracts] == [0.25, 0.0]
    lone = result(counts=counts, against=None)
    assert [(row.contract, row.loss) for row in lone.contracts] == [("mine", None)]
    unseen = result(counts=counts, against="x.onnx")
    assert [row.contract for row in unseen.contracts] == ["mine"]


def test_classes() -> None:
    assert lines(result().class_table()) == [
        "contract class examples met top-1",
        "tflite 0 2 2 100.00%",
        "tflite 1 2 1 50.00%",
        "mine 0 2 1 50.00%",
        "mine 1 2 1 50.00%",
    ]
    assert result().class_table().records()[1] == {
        **{"contract": "tflite", "class": 1, "examples": 2, "met": 1, "top1": 0.5},
    }
    empty = result(counts={"a": Counts(examples=3)}).class_table()
    assert (empty.rows, empty.notes) == ([], ["no example has a label, see --labels"])


def test_layers() -> None:
    assert lines(result().layer_table()) == [
        "contract layer elements differ mean largest dB cosine saturated histogram",
        "mine conv 16 2 (12.50%) 0.125 1 50.0 0.999995 25.00% █ ▁▂ ▁▄",
        "mine add 16 0 (0.00%) 0 0 equal 1.000000 - -",
        "mine fc 0 - 0 0 equal - - -",
        "mine soft 10 9 (90.00%) 1 2.734 10.0 - - -",
        "saturated: stored as the least or largest value; histogram: over all values "
        "that the type holds",
        "mine: the first layer that hurts is soft, 10.0 dB",
    ]
    rows = result().layer_table().records()
    assert rows[0] == {
        **{"contract": "mine", "layer": "conv", "elements": 16, "differing": 2},
        **{"mean_steps": 0.125, "largest_steps": 1.0, "decibels": 50.0},
        **{"cosine": 0.999995, "saturated": 0.25, "least": -2.0, "most": 3.0},
        "histogram": BINS,
    }
    unknown = ("decibels", "saturated", "least", "most", "histogram")
    assert [rows[1][key] for key in unknown] == [None] * 5
    plain = result(counts={"mine": replace(OWN, spreads={}, layers={})})
    assert plain.layer_table().notes == []


@pytest.mark.parametrize(
    ("powers", "hurt"),
    [
        ([], None),
        ([40.0, 37.0, 34.0], None),
        ([36.99, 80.0], "0"),
        ([40.0, 36.9], "1"),
        ([80.0, 39.0, 60.0, 35.9], "3"),
        ([80.0, 39.0, 60.0, 36.1], None),
        ([math.inf, 38.0, 35.5, 32.4], "3"),
    ],
)
def test_the_first_layer_that_hurts(powers: list[float], hurt: str | None) -> None:
    """Three decibels below the least before it, or below 40."""
    layers = {str(n): SimpleNamespace(decibels=d) for n, d in enumerate(powers)}
    found = result(counts={"a": SimpleNamespace(layers=layers)})
    assert found.first_hurt("a") == hurt


def test_all_as_plain_data() -> None:
    data = json.loads(json.dumps(result(reference=REFERENCE).to_dict()))
    assert list(data) == [
        *("examples", "failed", "not_finite", "failures", "against", "contracts"),
        *("classes", "layers", "first_hurt", "sums", "reference"),
    ]
    assert (data["examples"], data["failed"], data["not_finite"]) == (12, 4, 1)
    assert data["failures"][0] == {"row": 3, "reason": "no picture"}
    assert data["first_hurt"] == {"tflite": None, "mine": "soft"}
    assert data["reference"] == data["sums"]["tflite"]
    assert data["sums"]["tflite"]["custom"] == {"error": "9/2", "loss": "4"}
    for name, counts in (("tflite", REFERENCE), ("mine", OWN)):
        assert Counts.from_json(data["sums"][name]) == counts
    assert result().to_dict()["reference"] is None


@pytest.mark.parametrize(
    ("counts", "bars"),
    [
        ([], ""),
        ([0, 0], "  "),
        ([1, 8, 1000], "▁▁█"),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], " ▁▂▃▄▅▆▇█"),
        ([3, 6], "▄█"),
    ],
)
def test_bars(counts: list[int], bars: str) -> None:
    assert cells.bars(counts) == bars


def test_cells_of_what_was_not_counted() -> None:
    """Nothing is known without a label, a reference, a scale or an element."""
    row = ContractRow("a", Counts(examples=4, output=Signal(elements=3)))
    shown = [
        *(cells.show_share_of(1)(row), cells.show_share_of(5)(row)),
        *(cells.show_interval(row), cells.show_agreement(row), cells.show_loss(row)),
        *(cells.show_loss_interval(row), cells.show_output_decibels(row)),
        cells.show_output_cosine(row),
    ]
    assert shown == ["-"] * 8
    assert (cells.differing_outputs(row), row.loss_probability) == (None, None)
    assert cells.of_output("mean_steps")(row) is None
    compared = replace(row, counts=replace(OWN, output=Signal(4, 1, 256, 256)))
    assert cells.of_output("mean_steps")(compared) == 0.25
    assert cells.of_output("decibels")(compared) is None
    assert cells.real_output("mean_steps")(compared) is None
    assert cells.real_output("mean_steps")(replace(compared, step=2.0)) == 0.5
    spread = SignalRow("a", "b", Signal(), Spread())
    assert cells.saturated_share(spread) == 0
    assert cells.saturated_share(replace(spread, spread=None)) is None
    unlabelled = ContractRow("a", OWN, None, Counts(examples=3))
    assert (unlabelled.loss, unlabelled.loss_interval) == (None, None)
