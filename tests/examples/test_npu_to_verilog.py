"""The story of an NPU's Verilog: each step ends as its page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.circuits.rtl import needs_rtl_tools

FOLDER = Path(__file__).parents[2] / "examples" / "npu-to-verilog"


@pytest.mark.long
@needs_rtl_tools
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog isn't installed")
def test_the_story(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    line = [sys.executable, str(FOLDER / "story.py"), str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS conv1: 2048 vectors" in done.stdout
    assert "my_npu: differs\n2 of 8 channels equal" in done.stdout
    assert "my_npu: equal\n8 of 8 channels equal" in done.stdout
    assert (tmp_path / "c" / "digits.h").is_file()
    assert (tmp_path / "cost.svg").is_file()


def test_the_page_shows_the_verilog_that_differs() -> None:
    page = (FOLDER / "README.md").read_text()
    (shown,) = re.findall(r"```verilog\n(.*?)```", page, re.DOTALL)
    assert shown in (FOLDER / "requantize_narrow.sv").read_text()
