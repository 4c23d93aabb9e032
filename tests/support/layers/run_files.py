"""Run tests as text: a module, its inputs, and what every executor must give.

    // CONTRACTS: exact tflite
    // INPUT: -128 -3 5 127
    // EXPECT exact: 1 2 3 4
    // EXPECT tflite: 1 2 3 4
    module { func.func @main(...) ... }

`CONTRACTS` stands in modules of the qnn level only, and `EXPECT` then names one. There
is an `INPUT` for each argument of @main: its stored values in row-major order, repeated
until the tensor is full. `EXPECT` holds all results, one after another. Numbers are
written as Python prints them; parts between lines `// -----` are tests of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qlower
from qlower.model.signature import Array
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from support.systems.recordings import make_executors

SEPARATOR = "// -----\n"
_LINE = re.compile(r"// (CONTRACTS|INPUT|EXPECT)(?: ([\w-]+))?:(.*)\n")


@dataclass(frozen=True)
class RunTest:
    """One part of a file: its text and what the comments in it say."""

    path: Path
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}-{self.number}"

    @property
    def contracts(self) -> list[str]:
        """The contracts to run by; one empty name where the module needs none."""
        found = [words for kind, _, words in _lines(self.text) if kind == "CONTRACTS"]
        return found[0].split() if found else [""]

    @property
    def expected(self) -> dict[str, list[float]]:
        """What every executor must give, by contract."""
        return {
            contract: _numbers(words)
            for kind, contract, words in _lines(self.text)
            if kind == "EXPECT"
        }

    def inputs(self, model: qlower.Model) -> list[Array]:
        """An array for each argument of the model."""
        lines = [words for kind, _, words in _lines(self.text) if kind == "INPUT"]
        return [
            np.resize(np.array(_numbers(words)), spec.shape).astype(spec.dtype)
            for words, spec in zip(lines, model.inputs, strict=True)
        ]

    def results(self, contract: str, turn: int | None = None) -> dict[str, list[float]]:
        """What each executor gives: all results, one after another."""
        module = parse_module(self.text, str(self.path))
        verify_module(module)
        model = qlower.Model(module)
        inputs = self.inputs(model)
        executors = make_executors(model, contract or None, turn)
        return {
            name: _flat(executor.run(inputs, {})[0])
            for name, executor in executors.items()
        }


def bless(test: RunTest, expected: Mapping[str, Sequence[float]]) -> None:
    """Write into the test's file what it shall expect, after its other comments."""
    kept = re.sub(r"// EXPECT.*\n", "", test.text)
    lines = "".join(
        f"// EXPECT{contract and ' '}{contract}: {' '.join(map(_shown, values))}\n"
        for contract, values in expected.items()
    )
    *_, last = re.finditer(r"// (?:CONTRACTS|INPUT).*\n", kept)
    parts = test.path.read_text().split(SEPARATOR)
    parts[test.number] = kept[: last.end()] + lines + kept[last.end() :]
    test.path.write_text(SEPARATOR.join(parts))


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    for match in _LINE.finditer(text):
        yield match[1], match[2] or "", match[3]


def _numbers(words: str) -> list[float]:
    return [float(word) for word in words.split()]


def _flat(arrays: Sequence[Array]) -> list[float]:
    return [value for array in arrays for value in array.reshape(-1).tolist()]


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


RUN_TESTS = tuple(
    RunTest(path, number, text)
    for path in sorted((Path(__file__).parents[2] / "run").rglob("*.mlir"))
    for number, text in enumerate(path.read_text().split(SEPARATOR))
)
"""The tests of all files below `tests/run`."""
