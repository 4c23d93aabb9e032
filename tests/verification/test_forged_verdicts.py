"""Verdicts' files in which any one entry says something else: none is accepted."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np
import pytest
from support.damage.forgeries import NEW_LINE, forged, forgeries
from support.lanes import a_part
from support.layers.verdict_models import MODELS, bind_wrong

from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress
from qlower.frontends.load import named
from qlower.interp import Array
from qlower.model import Model
from qlower.tables.json_text import json_text
from qlower.text.parsing import parse_module
from qlower.verification import check as checking
from qlower.verification import equal as equality
from qlower.verification.check import DECIDE, Decide, Record, Verdict, check_text
from qlower.verification.native.verify import native
from qlower.verification.verdict import pack
from qlower.verification.verify import verify

ASKED = ("a", "b", "contract", "contracts", "bits", "order", "levels")
"""What is asked, by the entries that say it; and contracts of layers."""

EXAMPLE = ("index", "a", "b", "inputs")
"""What is looked at of the counterexamples of layers that a sample leaves out."""

CASES = [
    (name, question, sample)
    for name, (_, questions) in MODELS.items()
    for question in questions
    for sample in (None, 1)
]

Place: TypeAlias = tuple[str | int, ...]
Key: TypeAlias = tuple[str, ...]


class First:
    """Draws the first names."""

    def choice(self, names: list[str], count: int, replace: bool) -> Array:
        assert not replace
        return np.array(names[:count])


def once(decide: Decide) -> Decide:
    """Decide what is asked of the same layers only once: that takes long."""
    found: dict[Key, Verdict | QlowerError] = {}

    def again(
        record: Record,
        model: Model,
        only: Collection[str] | None,
        progress: Progress,
    ) -> Verdict:
        asked = [record.get(name, "none") for name in (*ASKED, "layer_contracts")]
        key = ("all",) if only is None else tuple(only)
        key = (*key, json.dumps(asked))
        if key not in found:
            try:
                found[key] = decide(record, model, only, progress)
            except QlowerError as error:
                found[key] = error
        if isinstance(verdict := found[key], QlowerError):
            raise verdict
        return verdict

    return again


def may_be_true(place: Place) -> bool:
    """Whether other words may be as true: sums in another order may have the same ends,
    and there may be the same code for less of a processor."""
    return place == ("order",) or place[-1] in ("features", "tuned_for")


def stands(place: Place, rows: Sequence[Record], left_out: Collection[str]) -> bool:
    """Whether nobody looks at an entry, as the check of a sample says."""
    match place:
        case ("sha256", str(name)):
            return bool(left_out) and name.startswith("code for")
        case ("layers", int(number), str(entry), *more):
            is_seen = entry == "counterexample" and [*more, ""][0] in EXAMPLE
            is_out = rows[number]["layer"] in left_out
            return is_out and not is_seen and entry != "layer"
        case _:
            return False


@pytest.mark.parts(len(CASES))
@pytest.mark.parametrize(("name", "question", "sample"), CASES)
def test_no_forgery_is_accepted(
    name: str,
    question: str,
    sample: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One in a few of the entries of a file, and `--long` each, one at a time."""
    monkeypatch.setattr(equality, "MOST_DRAWN", 2)
    monkeypatch.setattr(equality, "FEWEST_DRAWN", 1)
    text, asked = MODELS[name]
    model = named(parse_module(text), None)
    record = json.loads(json_text(asked[question](model).to_dict()))
    seeded = np.random.default_rng
    monkeypatch.setattr(
        np.random, "default_rng", lambda *seed: seeded(*seed) if seed else First()
    )
    if name == "wrong code":
        monkeypatch.setattr(checking, "native", partial(native, bind=bind_wrong))
    decide = once(DECIDE[question])
    monkeypatch.setitem(DECIDE, question, decide)
    if question == "fits":  # of these no sample is taken
        monkeypatch.setattr(checking, "_fits_again", decide)
    honest = check_text(json.dumps(record), "verdict.json", model, sample)
    assert not honest.faults
    names = list(dict.fromkeys(row["layer"] for row in record["layers"]))
    left_out = [] if sample is None or question == "fits" else names[1:]
    assert honest.not_drawn == len(left_out)
    assert ("--check without --sample" in str(honest)) == bool(left_out)
    leaves = a_part(list(forgeries(record)), 7, 3)
    for leaf in leaves:
        place, _ = leaf
        file = json.dumps(forged(record, leaf))
        try:
            found = check_text(file, "verdict.json", model, sample)
        except QlowerError as error:  # what is no verdict at all
            told = str(error)
        else:
            told = str(found)
            is_free = may_be_true(place) or stands(place, record["layers"], left_out)
            assert found.faults or is_free, leaf
        assert NEW_LINE.strip() not in told.split("\n"), leaf
    assert len(leaves) > 50


NARROW = """
!x = !quant.uniform<i8<-8:7>:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.3>
func.func @main(%x: tensor<2x!x>) -> tensor<2x!y> {
  %y = qnn.requantize %x : (tensor<2x!x>) -> tensor<2x!y>
  return %y : tensor<2x!y>
}
"""


def told_of(
    packed: object,
    index: object,
    stated: tuple[object, object],
    results: tuple[float, float],
    monkeypatch: pytest.MonkeyPatch,
    verdict: str = "differs",
) -> list[str]:
    """What is said of a counterexample for which contracts give some results."""
    given: dict[str, float] = dict(zip(("tflite", "tflm"), results, strict=True))

    def run(side: Model, contract: str, *_: object) -> SimpleNamespace:
        return SimpleNamespace(result=np.array([given[contract]] * 2))

    monkeypatch.setattr(checking, "run_layer", run)
    example = {"index": index, "a": stated[0], "b": stated[1], "inputs": {"x": packed}}
    record = {"a": "tflite", "b": "tflm", "layer_contracts": [{}, {}]}
    row = {"layer": "y", "verdict": verdict, "counterexample": example}
    faults = vars(checking)["_counterexample_faults"]
    return list(faults(record, named(parse_module(NARROW), None), [row]))


@pytest.mark.parametrize(
    ("results", "stated", "holds"),
    [
        ((1.0, 2.0), (1.0, 2.0), True),
        ((1.0, 2.0), (1, 2.0), False),
        ((1.0, 2.0), (2.0, 1.0), False),
        ((1.0, 1.0), (1.0, 1.0), False),
        ((0.0, -0.0), (0.0, -0.0), True),
        ((0.0, -0.0), (0.0, 0.0), False),
        ((np.nan, 1.0), (None, 1.0), True),
        ((np.nan, np.nan), (None, None), False),
    ],
)
def test_results_that_differ(
    results: tuple[float, float],
    stated: tuple[object, object],
    holds: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Zeros differ by their signs; NaN is NaN, which JSON doesn't have."""
    packed = pack(np.array([-8, 7], np.int8))
    told = told_of(packed, [1], stated, results, monkeypatch)
    a, b = results
    assert told == ([] if holds else [f"y: its input gives {a} | {b}"])


@pytest.mark.parametrize(
    ("stored", "index", "told"),
    [
        ([-9, 0], [1], "x isn't in [-8, 7]"),
        ([0, 8], [1], "x isn't in [-8, 7]"),
        ([0, 0], [2], "there is no element [2]"),
        ([0, 0], [-1], "there is no element [-1]"),
        ([0, 0], [1.0], "there is no element [1.0]"),
        ([0, 0], [True], "there is no element [True]"),
        ([0, 0], [], "there is no element []"),
        ([0, 0], [0, 0], "there is no element [0, 0]"),
    ],
)
def test_inputs_and_elements_that_are_not_there(
    stored: list[int], index: list[object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(np.array(stored, np.int8))
    found = told_of(packed, index, (1.0, 2.0), (1.0, 2.0), monkeypatch)
    assert found == [f"y: {told}"]


@pytest.mark.parametrize("change", [{"more": 1}, {"shape": [2.0]}])
def test_arrays_that_are_written_otherwise(
    change: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = {**pack(np.zeros(2, np.int8)), **change}
    told = told_of(packed, [1], (1.0, 2.0), (1.0, 2.0), monkeypatch)
    assert told == ["y: x isn't written as an array"]


def test_verdicts_and_their_counterexamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that differs has one, no other has; machine code's have none."""
    faults = vars(checking)["_counterexample_faults"]
    model = named(parse_module(NARROW), None)
    for row, told in (
        (
            {"verdict": "differs", "counterexample": None},
            ["differs, counterexample: False"],
        ),
        ({"verdict": "equal", "counterexample": None}, []),
        ({"verdict": "differs"}, []),
    ):
        found = list(faults({}, model, [{"layer": "y", **row}]))
        assert found == [f"y: {one}" for one in told]
    packed = pack(np.zeros(2, np.int8))
    found = told_of(packed, [1], (1.0, 2.0), (1.0, 2.0), monkeypatch, "equal")
    assert found == ["y: equal, counterexample: True"]


def test_entries_that_one_side_has() -> None:
    """Also where null stands for nothing."""
    changed = vars(checking)["_changed"]
    assert changed({"a": None, "b": 0}, {"b": 0}) == ["a"]
    assert changed({"b": 0}, {"a": None, "b": 0}) == ["a"]
    assert changed({"a": 0.0, "b": 1, "c": True}, {"a": -0.0, "b": 1, "c": 1}) == [
        *("a", "c")
    ]


def test_a_verdict_about_no_contracts() -> None:
    """All contracts aren't what it is about, either."""
    model = named(parse_module(NARROW), None)
    record = {"question": "groups", "contracts": [], "sha256": {}, "layers": []}
    with pytest.raises(QlowerError, match="it is about no contracts"):
        check_text(json.dumps({"schema": 1, **record}), "verdict.json", model)


@pytest.mark.parametrize(
    "change",
    [{"schema": NEW_LINE}, {"contract": f"x{NEW_LINE}.mlir"}, {"bits": NEW_LINE}],
)
def test_texts_that_would_be_lines(change: Mapping[str, object]) -> None:
    model = named(parse_module(NARROW), None)
    record = verify(model, accumulator_bits=8, contract="tflite").to_dict()
    text = json.dumps({"schema": 1, **record, **change})
    with pytest.raises(QlowerError) as caught:
        check_text(text, "verdict.json", model)
    assert "\n" not in caught.value.message


def test_features_that_would_be_lines() -> None:
    with pytest.raises(QlowerError) as caught:
        resolve_target("x86_64-unknown-linux-gnu", None, f"avx2{NEW_LINE}")
    assert "\n" not in caught.value.message
