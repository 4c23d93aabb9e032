"""Verdicts that are checked again, and those that don't hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from support.forgeries import forged, forgeries

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text
from qlower.verification.check import DECIDE, Verdict, check
from qlower.verification.equal import equal
from qlower.verification.groups import groups
from qlower.verification.verify import verify

ASKED = Path(__file__).parents[2] / "examples" / "fbgemm-overflow" / "asked.mlir"
SIDES = ("pytorch-fbgemm-avx2", "pytorch-qnnpack")


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


QUESTIONS: dict[str, Callable[[], Verdict]] = {
    "equal": lambda: verify(ASKED, equal=SIDES),
    "fits": lambda: verify(ASKED, accumulator_bits=16, contract=SIDES[0]),
    "groups": lambda: groups(ASKED, SIDES),
    "native": lambda: verify(ASKED, native=True, cpu="host", contract="tflite"),
}


@pytest.mark.parametrize(
    "question",
    [
        name
        if name in ("equal", "fits")
        else pytest.param(name, marks=pytest.mark.long)
        for name in QUESTIONS
    ],
)
def test_no_forgery_is_accepted(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every entry of a file, one at a time; what is decided again stays the same."""
    found = QUESTIONS[question]()
    record = json.loads(json_text(found.to_dict()))
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(record))
    assert not check(path, ASKED).faults
    for name in QUESTIONS:
        monkeypatch.setitem(DECIDE, name, lambda *_: found)
    count = 0
    for leaf in forgeries(record):
        path.write_text(json.dumps(forged(record, leaf)))
        with suppress(QlowerError):  # what is no verdict at all
            assert check(path, ASKED).faults, leaf
        count += 1
    assert count > 50


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


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"question": "equal"}'])
def test_no_verdict(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(text)
    words = ["verify", str(ASKED), "--check", str(path)]
    assert main(words) == ExitCode.WRONG_INPUT
    assert "is no verdict of qlower verify" in capsys.readouterr().err
