"""Verdicts that are checked again, and those that don't hold."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
from support.damage.forgeries import forged
from support.layers.small_model import SMALL_MODEL
from support.layers.verdict_models import QUESTIONS, TINY

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.diagnostics import QlowerError
from qlower.frontends.load import load, named
from qlower.tables.json_text import json_text
from qlower.text.parsing import parse_module
from qlower.verification.check import Check, Record, check
from qlower.verification.equal import equal

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


def test_files_that_readers_may_see_differently(tmp_path: Path) -> None:
    """A key that is there twice, and versions that only count as equal to 1."""
    (tmp_path / "tiny.mlir").write_text(TINY)
    model, path = load(tmp_path / "tiny.mlir"), tmp_path / "verdict.json"
    text = json_text(QUESTIONS["fits"](model).to_dict())
    for old, new in (
        ('"fits": false', '"fits": true, "fits": false'),
        ('"schema": 1', '"schema": 1.0'),
        ('"schema": 1', '"schema": true'),
        ('"schema": 1', '"schema": 2'),
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
    found = equal("tflite", "glow-cpu", model)
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


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"cannot read .*: Is a directory"):
        check(tmp_path, ASKED)
    (tmp_path / "verdict.json").write_bytes(b"{\xff}")
    with pytest.raises(QlowerError, match="is no verdict of qlower verify: 'utf-8'"):
        check(tmp_path / "verdict.json", ASKED)


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


CHECKS = [
    (Check(1, 0, []), "1 layer decided again, 0 counterexamples run: all as the ver"),
    (Check(2, 1, []), "2 layers decided again, 1 counterexample run: all as the verdi"),
    (
        Check(2, 1, [], 1),
        "2 layers decided again, 1 counterexample run: all of that is as the verdict "
        "says. Nothing else in the file about 1 other layer was checked: --check "
        "without --sample does.",
    ),
    (
        Check(2, 1, ["a: wrong", "b: wrong"], 1),
        "a: wrong\nb: wrong\n2 layers decided again, 1 counterexample run: the verdict "
        "doesn't hold.",
    ),
]


@pytest.mark.parametrize(("found", "text"), CHECKS)
def test_checks_of_verdicts_in_words(found: Check, text: str) -> None:
    assert str(found).startswith(text)
    assert found.to_dict() == {
        **{"layers": found.layers, "inputs": found.inputs, "faults": found.faults},
        **{"not_drawn": found.not_drawn, "holds": not found.faults},
    }
