"""No file that a command reads makes it fail itself, hang or take the machine.

The commands run as from the command line, in processes that may die: each ends with
success or a located refusal, within 30 s and 2 GB. $QLOWER_TEST_HOSTILE is how many
files of each kind there are; another $QLOWER_TEST_HOSTILE_SEED draws others.
"""

from __future__ import annotations

import os
import random
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from support.hostile_files import (
    Kind,
    kinds,
    prepare,
    with_flatbuffer,
    write_checkpoint,
)
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.mutants import judge_all
from support.tosa import has_tosa

from qlower.cli import main
from qlower.diagnostics import QlowerError

FILES = int(
    os.environ.get(
        "QLOWER_TEST_HOSTILE", "1000" if is_asked_for(LARGE_VARIABLE) else "3"
    )
)
SEED = os.environ.get("QLOWER_TEST_HOSTILE_SEED", "0")
SECONDS = 30.0
MEMORY = 2 << 30

KINDS = (
    *("tflite", "onnx", "pt2", "qnn", "tosa", "linalg", "stablehlo", "arith"),
    *("kernel", "contract", "npz", "npy", "json", "checkpoint", "mlirbc", "tosa file"),
)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Kind]:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    write_checkpoint(tmp_path)
    found = kinds(tmp_path)
    if has_tosa():
        with_flatbuffer(found, tmp_path)
    return found


def outcome(command: list[str]) -> str:
    """ "done", "refused", or a fault."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([*command, "--debug"])
        except QlowerError as error:
            return "refused" if str(error).strip() else "fault: an empty message"
        except (MemoryError, RecursionError):
            return "refused"  # without --debug
        except TimeoutError:
            raise
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            return f"fault: {type(error).__name__}: {error} at {place}"
    return "done" if code in (0, 1) else f"fault: exit code {code}: {err.getvalue()}"


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files(name: str, found: dict[str, Kind], tmp_path: Path) -> None:
    if name not in found:
        pytest.skip(f"no tool reads {name} here")
    kind = found[name]
    choice = random.Random(f"{name} {SEED}")
    files: list[tuple[Path, list[str]]] = []
    for number in range(FILES):
        path = tmp_path / f"{number}{kind.suffix}"
        path.write_bytes(kind.mutant(choice))
        command = [
            path.name if part == "FILE" else part
            for part in choice.choice(kind.commands)
        ]
        files.append((path, command))
    outcomes = judge_all(
        [str(number) for number in range(FILES)],
        lambda number: outcome(files[int(number)][1]),
        seconds=SECONDS,
        memory=MEMORY,
    )
    print(name, Counter(text[:120] for text in outcomes).most_common())
    faults = [
        f"{' '.join(command)}: {text}\n{path}"
        for (path, command), text in zip(files, outcomes, strict=True)
        if text.startswith("fault")
    ]
    assert not faults, "\n".join(faults)
