"""Python that pages show: it runs, and prints what stands below it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import qlower

PAGES = Path(qlower.__file__).parent / "docs/pages"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n((?:    [^\n]*\n)+))?", re.DOTALL)


@pytest.mark.long
def test_sweeps_and_training(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.chdir(tmp_path)
    digits = PAGES.parents[2] / "examples/digits"
    text = (PAGES / "sweeps-and-training.md").read_text()
    text = text.replace("model.tflite", str(digits / "digits.mlir"))
    given = {"input": np.zeros((2, 8, 8, 1), np.int8)}
    np.savez("inputs.npz", **given)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(text)
    assert len(blocks) == 5
    for code, shown in blocks:
        exec(code, names)
        printed = capsys.readouterr().out
        if shown:
            assert printed == re.sub(r"(?m)^    ", "", shown)
