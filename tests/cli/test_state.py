"""Commands on a model with state: each takes one, or none is started."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_streams import drawn_frames, keyword_spotter

import qlower
from qlower.cli import main

STEPS = 4

COMMANDS = {
    "inspect": "inspect stream.tflite --stats",
    "bisect": "bisect stream.tflite x.npy",
    "diff": "diff tflite tflite stream.tflite --input x.npy",
    "trace": "trace stream.tflite --input x.npy --at words[0,2]",
    "vectors": "vectors stream.tflite -o vectors",
    "report": "report stream.tflite -o report.html",
    "lint": "lint stream.tflite",
    "verify": "verify stream.tflite --accumulator-bits 24",
    "compile": "compile stream.tflite -o out --emit obj,header",
}
"""Those that take no state: every row of a set is a first call."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("stream.tflite").write_bytes(keyword_spotter())
    frames = drawn_frames(STEPS)
    np.save("set.npy", np.stack(frames))
    np.save("x.npy", frames[0])
    return tmp_path


@pytest.mark.parts(9)
@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, folder: Path) -> None:
    assert main(COMMANDS[command].split()) == 0


@pytest.mark.parametrize("executor", ["jit", "interp"])
def test_run_goes_on_from_row_to_row(executor: str, folder: Path) -> None:
    given = "run stream.tflite --input set.npy --output y.npz --executor"
    assert main([*given.split(), executor]) == 0
    run = qlower.jit("stream.tflite")
    words, counts = run(np.load("set.npy"), state=run.new_state())
    with np.load("y.npz") as found:
        np.testing.assert_array_equal(found["words"], words)
        np.testing.assert_array_equal(found["calls_after"], counts)


def test_validate_says_what_a_row_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    succeed("validate stream.tflite --data set.npy")
    assert "each is a first call, with a new state" in capsys.readouterr().err


def succeed(command: str) -> None:
    assert main(command.split()) == 0


def test_text_that_is_cut_keeps_its_states(folder: Path) -> None:
    succeed("import stream.tflite -o stream.mlir")
    succeed("run stream.mlir --input set.npy --output y.npz --outputs rest")
    with np.load("y.npz") as found:
        rest = found["rest"]
    np.testing.assert_array_equal(rest[1:, 0, -1], np.load("set.npy")[:-1, 0, 0])


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
def test_each_row_of_a_live_system_is_a_first_call(folder: Path) -> None:
    succeed("diff tflite litert stream.tflite --input set.npy")
