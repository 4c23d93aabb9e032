"""What is printed has no controls of the terminal, whatever files are called."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main
from qlower.cli.progress import CLEAR_LINE, progress
from qlower.diagnostics import LOGGER

NAME = "a\x1b]0;mine\x07\x9b31m\u202eb"
CONTROLS = {"\x1b", "\x07", "\x9b", "\u202e"}


@pytest.mark.parts(2)
@pytest.mark.parametrize("folder", ["", "none/"], ids=["damaged", "missing"])
def test_a_file_s_name_is_no_escape_of_the_terminal(
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for suffix in ("mlir", "tflite", "onnx", "pt2", "npz", "json"):
        Path(f"{NAME}.{suffix}").write_bytes(b"nonsense")
    Path("model.mlir").write_text(SMALL_MODEL)
    Path("model.mlir").rename(f"{NAME}_model.mlir")
    model, path = f"{NAME}_model.mlir", f"{folder}{NAME}"
    for command in (
        *(["run", f"{path}.{kind}", "--random"] for kind in ("mlir", "tflite", "onnx")),
        ["run", model, "--input", f"{path}.npz"],
        ["run", model, "--random", "--contract", f"{path}.mlir"],
        ["run", model, "--random", "--output", f"{path}_y.npz"],
        ["diff", f"{path}_y.npz", "tflite", model, "--random"],
        ["diff", f"{path}.npz", "tflite", model, "--random"],
        ["identify", f"{path}_y.npz", model, "--random"],
        ["identify", model, "--probe", "-o", f"{path}_probe"],
        ["trace", model, "--random", "--at", f"{path}[0]"],
        ["validate", model, "--data", f"{path}.npz"],
        ["verify", model, "--check", f"{path}.json"],
        ["compile", model, "-o", f"{path}_out"],
        ["import", "--check", "."],
        [path],
        ["run", f"--{path}"],
    ):
        assert main(command) in (0, 1, 2), command
        captured = capfd.readouterr()
        shown = captured.out + captured.err
        assert not CONTROLS & set(shown), command


@pytest.mark.parts(8)
@pytest.mark.parametrize(
    "line",
    [
        "diff tflite tvm model.mlir --random",
        "trace model.mlir --random --at conv[0,0,0,0]",
        "trace model.mlir --random --at conv[0,0,0,0] --all-steps --products",
        "identify layers_of_a_device_with_a_long_name.npz model.mlir --input x.npy "
        "--contract tflite,tvm",
        "lint model.mlir --accumulator-bits 8",
        "verify model.mlir --equal tflite tvm",
        "verify model.mlir --native --cpu host",
        "validate model.mlir --data x.npy --contract tflite,tvm --against exact",
        "validate model.mlir --data x.npy --contract onnxruntime-avx2 --against exact "
        "--layers",
        "inspect model.mlir --stats",
    ],
)
def test_lines_fit_the_terminal(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("model.mlir").write_text(SMALL_MODEL)
    np.save("x.npy", np.zeros((3, 2, 2, 1), np.int8))
    dump = "layers_of_a_device_with_a_long_name.npz"
    saved = f"run model.mlir --input x.npy --save-layers {dump} --contract tvm"
    assert main(saved.split()) == 0
    capsys.readouterr()
    assert main(line.split()) in (0, 1)
    out = capsys.readouterr().out
    assert out
    assert not [long for long in out.splitlines() if len(long) > 80]


def test_things_of_no_known_number_are_gone_through() -> None:
    assert list(progress(iter([1, 2]), "things")) == [1, 2]


class Screen(StringIO):
    """A terminal. Text that follows what is said to be under way, in the same line,
    is in `mixed`."""

    def __init__(self, status: list[str], mixed: list[str]) -> None:
        super().__init__()
        self._status, self._mixed = status, mixed
        self.is_error = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if self.is_error:
            whole = self._status[0] + text.replace(CLEAR_LINE, "\r")
            line = whole.rpartition("\n")[2].rpartition("\r")[2]
            self._status[0] = line.lstrip()
        elif text.strip() and self._status[0]:
            self._mixed.append(f"{self._status[0]}{text}")
        return super().write(text)


@pytest.mark.parts(14)
@pytest.mark.parametrize(
    "line",
    [
        "run model.mlir --random",
        "diff tflite tvm model.mlir --random",
        "trace model.mlir --random --at conv[0,0,0,0]",
        "identify y.npz model.mlir --random --contract tflite,tvm --no-verify",
        "lint model.mlir --accumulator-bits 8",
        "verify model.mlir --equal tflite tflite-single",
        "verify model.mlir --accumulator-bits 24",
        "verify model.mlir --native --cpu host",
        "validate model.mlir --data x.npy --contract tflite",
        "inspect model.mlir --stats",
        "report model.mlir --no-native -o r.html",
        "contracts compare model.mlir --contract tflite --contract tvm",
        "bench model.mlir --rounds 1",
        "compile model.mlir -o out --emit obj",
    ],
)
def test_what_is_under_way_goes_before_the_answer_comes(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(SMALL_MODEL)
    np.save("x.npy", np.zeros((3, 2, 2, 1), np.int8))
    assert main(["run", "model.mlir", "--random", "--save-layers", "y.npz"]) == 0
    status, mixed = [""], list[str]()
    out, error = (Screen(status, mixed) for _ in range(2))
    error.is_error = True
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    level = LOGGER.level
    assert main(line.split()) in (0, 1)
    assert out.getvalue()
    assert not mixed
    assert LOGGER.level == level
