"""Verdicts that are checked again, and those that don't hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode

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
    assert "the sums aren't those in the file" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"question": "equal"}'])
def test_no_verdict(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(text)
    words = ["verify", str(ASKED), "--check", str(path)]
    assert main(words) == ExitCode.WRONG_INPUT
    assert "is no verdict of qlower verify" in capsys.readouterr().err
