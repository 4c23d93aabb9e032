"""Verdicts that are checked again, and those that don't hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from support.damage.forgeries import forged, forgeries
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress
from qlower.frontends.load import load, named
from qlower.interp import Array
from qlower.model import Model
from qlower.tables.json_text import json_text
from qlower.text.parsing import parse_module
from qlower.verification import equal as equality
from qlower.verification.check import DECIDE, Decide, Record, Verdict, check, check_text
from qlower.verification.equal import equal
from qlower.verification.groups import groups
from qlower.verification.verify import verify

ASKED = Path(__file__).parents[2] / "examples" / "fbgemm-overflow" / "asked.mlir"
SIDES = ("pytorch-fbgemm-avx2", "pytorch-qnnpack")


@pytest.mark.long
def test_equality(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict, model = tmp_path / "verdict.json", tmp_path / "elsewhere.mlir"
    shutil.copy(ASKED, model)
    main(["verify", str(ASKED), "--equal", *SIDES, "-o", str(verdict)])
    words = ["verify", str(model), "--check", str(verdict)]
    assert main(words) == 0
    assert "all as the verdict says" in capsys.readouterr().out
    assert main([*words, "--sample", "1"]) == 0
    record = json.loads(verdict.read_text())
    row = next(row for row in record["layers"] if row["counterexample"])
    row["counterexample"]["a"] += 1
    verdict.write_text(json.dumps(record))
    assert main(words) == ExitCode.FOUND
    row["counterexample"]["a"] -= 1
    row["verdict"] = "equal"
    record["sha256"]["model"] = "0" * 64
    verdict.write_text(json.dumps(record))
    capsys.readouterr()
    assert main(words) == ExitCode.FOUND
    told = capsys.readouterr().out
    assert "equal in the file, now differs" in told
    assert "model: not what the verdict is about" in told


def test_widths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = tmp_path / "verdict.json"
    words = ["verify", str(ASKED), "--accumulator-bits", "16"]
    main([*words, "--contract", SIDES[0], "-o", str(verdict)])
    words = ["verify", str(ASKED), "--check", str(verdict)]
    assert main(words) == 0
    verdict.write_text(verdict.read_text().replace('"minimum": -', '"minimum": -1'))
    assert main(words) == ExitCode.FOUND
    assert "in the file, now -" in capsys.readouterr().out


TINY = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 1.7:-3>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!x>) -> tensor<2x!y> {
    %w = qnn.constant dense<"0x7F01"> : tensor<1x2xi8> -> tensor<1x2x!w>
    %y = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<1x2x!w>) -> tensor<1x1x!y>
    %p = qnn.pad %y {low = [0, 0], high = [0, 1]} : (tensor<1x1x!y>) -> tensor<1x2x!y>
    %z = qnn.reshape %p : (tensor<1x2x!y>) -> tensor<2x!y>
    return %z : tensor<2x!y>
  }
}
"""

QUESTIONS: dict[str, Callable[[Model], Verdict]] = {
    "equal": lambda model: verify(model, equal=("tflite", "glow-cpu")),
    "fits": lambda model: verify(model, accumulator_bits=8),
    "groups": lambda model: groups(model, ["tflite", "glow-cpu", "tflm"]),
    "native": lambda model: verify(model, native=True, cpu="host"),
}

SOFTMAX = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 1.7:-3>
!z = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!z> {
  %w = qnn.constant dense<"0x7F7F0102"> : tensor<2x2xi8> -> tensor<2x2x!w>
  %y = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y>
  %z = qnn.softmax %y : (tensor<1x2x!y>) -> tensor<1x2x!z>
  return %z : tensor<1x2x!z>
}
"""
FILLED: dict[str, Callable[[Model], Verdict]] = {
    "equal": lambda model: equal(
        "tflite",
        "tflite-xnnpack",
        model,
        layer_contracts={"y": "tflm"},
        b_layer_contracts={"y": "pytorch-fbgemm-avx2"},
    ),
    "fits": lambda model: verify(
        model,
        accumulator_bits=16,
        contract="max78000",
        order="memory",
        layer_contracts={"z": "tflite-xnnpack"},
    ),
    "groups": lambda model: groups(
        model, ["tflite", "tflite-xnnpack", "pytorch-qnnpack"]
    ),
    "native": lambda model: verify(
        model,
        native=True,
        cpu="host",
        contract="tflite",
        layer_contracts={"z": "tflm"},
    ),
}
"""Verdicts on softmax whose files have all entries that may be empty: other contracts
of layers, refusals, pairs and layers that aren't decided, registers."""

ASKED_OF = {"tiny": (TINY, QUESTIONS), "softmax": (SOFTMAX, FILLED)}


@pytest.mark.parts(16)
@pytest.mark.parametrize("sample", [None, 1])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ASKED_OF)
def test_no_forgery_is_accepted(
    name: str,
    question: str,
    sample: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each entry of a file, one at a time; what is decided again stays the same.

    Of layers that a sample leaves out the file's entries stand, as is said.
    """
    monkeypatch.setattr(equality, "MOST_DRAWN", 2)
    monkeypatch.setattr(equality, "FEWEST_DRAWN", 1)
    text, asked = ASKED_OF[name]
    (tmp_path / "tiny.mlir").write_text(text)
    model = load(tmp_path / "tiny.mlir")
    record = json.loads(json_text(asked[question](model).to_dict()))
    seeded = np.random.default_rng
    monkeypatch.setattr(
        np.random, "default_rng", lambda *seed: seeded(*seed) if seed else First()
    )
    decide = once(DECIDE[question])
    monkeypatch.setitem(DECIDE, question, decide)
    if question == "fits":  # of these no sample is taken
        monkeypatch.setattr("qlower.verification.check._fits_again", decide)
    honest = check_text(json.dumps(record), "verdict.json", model, sample)
    assert not honest.faults
    names = list(dict.fromkeys(row["layer"] for row in record["layers"]))
    left_out = [] if sample is None or question == "fits" else names[1:]
    assert honest.not_drawn == len(left_out)
    assert ("--check without --sample" in str(honest)) == bool(left_out)
    count = 0
    for place, value in forgeries(record):
        stands = place[0] == "sha256" and str(place[-1]).startswith("code for")
        if place[0] == "layers" and isinstance(number := (*place, None)[1], int):
            is_name = place[2:] == ("layer",)
            stands = record["layers"][number]["layer"] in left_out and not is_name
        if left_out and stands:
            continue
        text = json.dumps(forged(record, (place, value)))
        with suppress(QlowerError):  # what is no verdict at all
            found = check_text(text, "verdict.json", model, sample)
            assert found.faults, (place, value)
        count += 1
    assert count > 100


class First:
    """Draws the first names."""

    def choice(self, names: list[str], count: int, replace: bool) -> Array:
        assert not replace
        return np.array(names[:count])


def once(decide: Decide) -> Decide:
    """Decide about the same layers only once: that takes long."""
    found: dict[tuple[str, ...], Verdict] = {}

    def again(
        record: Record,
        model: Model,
        only: Collection[str] | None,
        progress: Progress,
    ) -> Verdict:
        key = ("all",) if only is None else tuple(only)
        if key not in found:
            found[key] = decide(record, model, only, progress)
        return found[key]

    return again


def test_files_that_readers_may_see_differently(tmp_path: Path) -> None:
    """A key that is there twice, and versions that only count as equal to 1."""
    (tmp_path / "tiny.mlir").write_text(TINY)
    model, path = load(tmp_path / "tiny.mlir"), tmp_path / "verdict.json"
    text = json_text(QUESTIONS["fits"](model).to_dict())
    for old, new in (
        ('"fits": false', '"fits": true, "fits": false'),
        ('"schema": 1', '"schema": 1.0'),
        ('"schema": 1', '"schema": true'),
        ('"layers": [', '"layers": [], "layers": ['),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(QlowerError):
            check(path, model)


def test_a_verdict_about_no_layers(tmp_path: Path) -> None:
    (tmp_path / "add.mlir").write_text(ADD)
    path = tmp_path / "verdict.json"
    found = QUESTIONS["fits"](load(tmp_path / "add.mlir")).to_dict()
    assert found["layers"] == []
    path.write_text(json_text({**found, "layers": {}}))
    with pytest.raises(QlowerError, match="layers is no list"):
        check(path, tmp_path / "add.mlir")


ADD = """
!x = !quant.uniform<i8:f32, 0.5:-3>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<2x!x>) -> tensor<2x!x> {
    %y = qnn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x>
    return %y : tensor<2x!x>
  }
}
"""


def test_a_verdict_about_no_code(tmp_path: Path) -> None:
    """All of nothing is equal."""
    (tmp_path / "tiny.mlir").write_text(TINY)
    path = tmp_path / "verdict.json"
    found = QUESTIONS["native"](load(tmp_path / "tiny.mlir")).to_dict()
    hashes = cast(dict[str, str], found["sha256"])
    own = {name: one for name, one in hashes.items() if "code for" not in name}
    empty = {"levels": {}, "whole": {}, "layers": [], "sha256": own}
    path.write_text(json_text({**found, **empty}))
    for sample in (None, 1):
        with pytest.raises(QlowerError, match="there are no levels"):
            check(path, tmp_path / "tiny.mlir", sample=sample)


TWO = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 40.0:-3>
!z = !quant.uniform<i8:f32, 33.0:7>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x3x!z> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B0"> : tensor<3x4xi8>
    -> tensor<3x4x!w>
  %y = qnn.linear %x, %w : (tensor<1x4x!x>, tensor<3x4x!w>) -> tensor<1x3x!y>
  %v = qnn.constant dense<"0x7F40810305F911EE33"> : tensor<3x3xi8> -> tensor<3x3x!w>
  %z = qnn.linear %y, %v : (tensor<1x3x!y>, tensor<3x3x!w>) -> tensor<1x3x!z>
  return %z : tensor<1x3x!z>
}
"""


@pytest.mark.parts(2)
@pytest.mark.parametrize("sampled", [[], ["--sample", "1"]])
def test_forged_files(sampled: list[str], tmp_path: Path) -> None:
    """All is decided again, or a layer that is drawn."""
    model, path = tmp_path / "two.mlir", tmp_path / "verdict.json"
    model.write_text(TWO)
    found = equal("tflite", "glow-cpu", model, native=False)
    record = json.loads(json_text(found.to_dict()))
    rows = cast(list[dict[str, object]], record["layers"])
    assert [row["verdict"] for row in rows] == ["differs", "differs"]
    words = ["verify", str(model), "--check", str(path), *sampled]
    path.write_text(json.dumps(record))
    assert main(words) == 0
    example = "layers", 0, "counterexample"
    packed = cast(dict[str, dict[str, object]], rows[0]["counterexample"])["inputs"]
    for leaf in (
        (("layers",), []),
        (("layers",), rows[:1]),
        (("equal",), True),
        (("question",), "equalx"),
        (example, None),
        ((*example, "index"), [9, 9]),
        ((*example, "index"), [0, 0, 0]),
        ((*example, "a"), 1000),
        ((*example, "inputs"), {}),
    ):
        path.write_text(json.dumps(forged(record, leaf)))
        assert main(words) in (ExitCode.FOUND, ExitCode.WRONG_INPUT)
    faults = vars(import_module("qlower.verification.check"))["_counterexample_faults"]
    packed.update(more=packed["x"])
    with pytest.raises(ValueError, match=r"reads \['x'\], not \['x', 'more'\]"):
        list(faults(record, load(model), rows))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"question": "equal"}'])
def test_no_verdict(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(text)
    words = ["verify", str(ASKED), "--check", str(path)]
    assert main(words) == ExitCode.WRONG_INPUT
    assert "is no verdict of qlower verify" in capsys.readouterr().err


def test_layers_that_are_not_drawn_keep_their_rows() -> None:
    """What is said of all layers follows from these and the new ones."""
    with_others = vars(import_module("qlower.verification.check"))["_with_others"]
    model = named(parse_module(SMALL_MODEL), None)

    def rows(*verdicts: str, **more: str) -> list[Record]:
        names = ("conv", "flat", "scores")
        pairs = zip(names, verdicts, strict=True)
        return [{"layer": name, "verdict": one, **more} for name, one in pairs]

    alike = rows("equal", "equal", "equal")
    apart = rows("differs", "equal", "equal")
    for stated, new, drawn, is_equal in (
        (apart, alike, "scores", False),
        (apart, alike, "conv", True),
        (alike, apart, "scores", True),
        (alike, apart, "conv", False),
    ):
        again = {"layers": new, "equal": "?", "sha256": {"code for v": "new"}}
        found = with_others({"layers": stated, "equal": "?"}, again, model, [drawn])
        assert found["equal"] is is_equal
        assert found["layers"] == [
            one if one["layer"] == drawn else other
            for one, other in zip(new, stated, strict=True)
        ]
        assert found["sha256"] == {"code for v": "new"}
    again = {"layers": alike[:1]}
    found = with_others({"layers": []}, again, model, ["conv"])
    assert found == {"layers": [alike[0], {"layer": "flat"}, {"layer": "scores"}]}


def test_code_that_is_not_drawn_keeps_its_hash() -> None:
    with_others = vars(import_module("qlower.verification.check"))["_with_others"]
    model = named(parse_module(SMALL_MODEL), None)
    row = {"layer": "conv", "verdict": "equal"}
    hashes = {"model": "same", "code for v": "all", "code for w": "all"}
    for differing, is_equal in ((0, True), (1, False)):
        again = {
            "layers": [{**row, "level": level} for level in "vw"],
            "levels": {},
            "equal": "?",
            "whole": {"v": {"differing": 0}, "w": {"differing": differing}},
            "sha256": {"model": "new", "code for v": "part", "code for w": "part"},
        }
        record = {"layers": [{**row, "level": "v"}], "sha256": hashes}
        found = with_others(record, again, model, ["scores"])
        assert found["sha256"] == {**hashes, "model": "new"}
        assert found["layers"] == [{**row, "level": "v"}, {"layer": "conv"}]
        assert found["equal"] is False
        found = with_others(record, again, model, ["conv"])
        assert found["equal"] is is_equal
