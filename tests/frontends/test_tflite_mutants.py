"""Files whose tables say something else are refused, or mean one thing to everyone.

Mutants (`support/damage/tflite_mutants.py`) are tried in processes of their own, which
may use only so much memory and time. What is read equals LiteRT's list of operators and
tensors; native code and interpreter give the same bits, or refuse in the same words;
what they give has the shapes and types of LiteRT's outputs.

The long run tries $QLOWER_TEST_MUTANTS mutants (100,000), and others for each
$QLOWER_TEST_MUTANTS_SEED (0).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.formats.tflite_builder import TFLiteBuilder

from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

MUTANTS = 12
LONG_MUTANTS = int(os.environ.get("QLOWER_TEST_MUTANTS", "100000"))
SEED = int(os.environ.get("QLOWER_TEST_MUTANTS_SEED", "0"))

STAGES = ("import", "litert", "run")


class Worker:
    """A process that tries mutants, one at a time."""

    def __init__(self) -> None:
        tests = str(Path(__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.damage.tflite_trial"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": tests, "QLOWER_CACHE_DIR": ""},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout

    def try_mutant(self, number: int) -> str:
        """The verdict; "fault: ..." where the process crashes or hangs as well."""
        print(number, file=self.input, flush=True)
        stage = "start"
        for line in self.output:
            word = line.strip()
            if word not in STAGES:
                return word
            stage = word
        ended = self.process.wait()
        if stage == "litert" and ended != -signal.SIGALRM:
            return "peer crashed"
        return f"fault: {'hangs' if ended == -signal.SIGALRM else 'dies'} in {stage}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.input.close()
        self.output.close()


def verdicts(numbers: range) -> Iterator[tuple[int, str]]:
    worker = Worker()
    try:
        for number in numbers:
            verdict = worker.try_mutant(number)
            yield number, verdict
            if worker.process.returncode is not None:
                worker.close()
                worker = Worker()
    finally:
        worker.close()


def check(numbers: range) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    found: Counter[str] = Counter()
    faults: list[str] = []
    for number, verdict in verdicts(numbers):
        found[verdict.split(":")[0]] += 1
        if verdict.startswith("fault"):
            faults.append(f"mutant {number}: {verdict}")
    print(found.most_common())
    assert not faults, "\n".join(faults[:20])
    assert found["alike"] > 0
    assert found["refused"] > 0


def test_some_mutants() -> None:
    check(range(MUTANTS))


@pytest.mark.long
def test_many_mutants() -> None:
    first = SEED * LONG_MUTANTS
    check(range(first, first + LONG_MUTANTS))


def packed(operands: int) -> bytes:
    """A file in which one operand of four bytes is one operation."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1,), scale=0.1)
    y = builder.tensor("y", (operands, 1), scale=0.1)
    builder.operator("PACK", [x] * operands, [y], {"axis": 0})
    return builder.build([x], [y])


def convolved(channels: int, operators: int) -> bytes:
    """A file in which every operator has the same scales."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 1, 1, 1), scale=0.1)
    scales = [0.1] * (channels - 1) + [0.2]
    shape = (channels, 1, 1, 1)
    w = builder.tensor("w", shape, scale=scales, data=bytes(channels))
    outputs = [
        builder.tensor("y", (1, 1, 1, channels), scale=0.1) for _ in range(operators)
    ]
    for y in outputs:
        builder.operator("CONV_2D", [x, w, -1], [y], {"stride_h": 1, "stride_w": 1})
    return builder.build([x], outputs)


@pytest.mark.parametrize("data", [packed(2000), convolved(2000, 80)])
def test_work_is_bounded_by_the_size_of_the_file(data: bytes) -> None:
    with pytest.raises(QlowerError, match=r"than a file of \d+ bytes has room for"):
        import_tflite(data, name="model.tflite")


@pytest.mark.parametrize("data", [packed(500), convolved(500, 4)])
def test_work_that_files_may_make(data: bytes) -> None:
    import_tflite(data, name="model.tflite").verify()
