"""The example of LLVM's own tools: the same bits, where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import pytest

from qlower.files.llvm_tools import find_tool

EXAMPLE = Path(__file__).parents[2] / "examples/upstream-mlir"


TOOLS = {"mlir-opt": "mlir", "mlir-translate": "mlir", "llc": "llvm"}
"""Tools that the example runs, and the packages that bring them."""

MISSING = [
    tool for tool, package in TOOLS.items() if find_tool(package, tool, 22) is None
]


@pytest.mark.parts(5)
@pytest.mark.skipif(
    bool(MISSING), reason=f"no {', '.join(MISSING)} of LLVM 22 (extra `mlir`)"
)
def test_the_same_bits(tmp_path: Path):
    command = [sys.executable, EXAMPLE / "route.py", "--keep", tmp_path]
    done = run([str(part) for part in command], capture_output=True, text=True)
    if "needs a C compiler" in done.stderr:
        pytest.skip("no C compiler")
    assert done.returncode == 0, done.stderr
    *digits, last = done.stdout.splitlines()
    assert [line.split(" is a ")[1][0] for line in digits] == list("0123456789")
    assert last == "10 of 10 images: the same bits as qlower's own code"
    assert "qnn" not in (tmp_path / "digits.upstream.mlir").read_text()


def test_the_page_shows_the_passes_that_run():
    script, page = ((EXAMPLE / name).read_text() for name in ("route.py", "README.md"))
    shown = page.split("```sh\n")[2].split("```")[0]
    for option in script.split("TO_LLVM = (")[1].split("\n)")[0].split('"')[1::2]:
        assert option.strip() in shown, option
