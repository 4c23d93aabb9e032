"""Messages about files with one field changed, for each operator and field.

`changed_files/` has the changes of the cases' files whose answers are of different
kinds: a refusal, `as it was` where the model means the same, or `other`. `pytest
tests/frontends/test_changed_files.py --bless` chooses them and records what they give
now; explain a line that changes before you record it. What other models compute is
compared with other systems elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support.damage.file_changes import onnx_changes, tflite_changes
from support.formats.case_files import FILES, File

from qlower.diagnostics import QlowerError
from qlower.frontends.onnx import FORMAT as ONNX
from qlower.frontends.tflite import import_tflite
from qlower.kept.fingerprint import fingerprint

RECORDED = Path(__file__).with_name("changed_files")

SAME = "as it was"


@dataclass(frozen=True)
class Kind:
    """The files of a format, their changes, how one is read, and what changes them."""

    cases: Mapping[str, File]
    changes: Callable[..., dict[str, bytes]]
    read: Callable[[bytes], bytes]
    package: str


def _read_tflite(data: bytes) -> bytes:
    return fingerprint(import_tflite(data, name="m.tflite"), locations=False)


def _read_onnx(data: bytes) -> bytes:
    return fingerprint(ONNX.module(data, name="m.onnx"), locations=False)


KINDS = {
    "tflite": Kind(FILES["tflite"], tflite_changes, _read_tflite, "ai_edge_litert"),
    "onnx": Kind(FILES["onnx"], onnx_changes, _read_onnx, "onnx"),
}


def answer(kind: Kind, data: bytes, whole: bytes | None) -> str:
    """What a file gives, beside the one that wasn't changed."""
    try:
        found = kind.read(data)
    except QlowerError as error:
        return error.message
    return SAME if found == whole else "other"


def whole(kind: Kind, case: str) -> tuple[bytes, bytes | None]:
    """A case's file, and what is read of it; None where that is refused."""
    data = kind.cases[case]()
    try:
        return data, kind.read(data)
    except QlowerError:
        return data, None


@cache
def recorded(name: str) -> dict[str, dict[str, str]]:
    """The answer to each change of each case."""
    found: dict[str, dict[str, str]] = {}
    changes: dict[str, str] = {}
    for line in (RECORDED / f"{name}.txt").read_text().splitlines():
        if line.startswith(" "):
            change, _, told = line.strip().partition(": ")
            changes[change] = told
        else:
            changes = found[line] = {}
    return found


def template(told: str) -> str:
    """An answer without its numbers, names and types."""
    told = re.sub(
        r"'[^']*'", "'n'", re.sub(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", "#", told)
    )
    told = re.sub(r"\b(U?INT|FLOAT)#|\b(FLOAT|BOOL)\b|tensor\([^)]*\)", "T", told)
    told = re.sub(r"T(, T)*( or T)?", "T", told)
    return re.sub(r"\[#(, #)*\]", "[#]", told)


def chosen(name: str) -> Iterator[str]:
    """The lines of a file: of answers of one kind the first, and of those that say
    nothing the first of each operator's fields."""
    kind, seen = KINDS[name], set[str]()
    for case in kind.cases:
        data, read = whole(kind, case)
        lines: list[str] = []
        for change, changed in kind.changes(data).items():
            told = answer(kind, changed, read)
            key = template(told)
            if told in (SAME, "other"):
                key = f"{told} {case.partition('_')[0]} {template(change)}"
            if key not in seen:
                seen.add(key)
                lines.append(f"  {change}: {told}")
        if lines:
            yield case
            yield from lines


@pytest.mark.parametrize("name", KINDS)
def test_write(name: str, request: pytest.FixtureRequest) -> None:
    """Only with --bless: all files."""
    if request.config.getoption("--bless"):
        RECORDED.mkdir(exist_ok=True)
        text = "\n".join(chosen(name))
        (RECORDED / f"{name}.txt").write_text(f"{text}\n")


PARTS = 24
"""Tests of a format, which share its cases evenly."""


@pytest.mark.parts(12)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", KINDS)
def test_changed_files(name: str, part: int) -> None:
    kind = KINDS[name]
    pytest.importorskip(kind.package, reason=f"{kind.package} is not installed")
    for case in list(recorded(name))[part::PARTS]:
        data, read = whole(kind, case)
        found = {
            change: answer(kind, kind.changes(data, change)[change], read)
            for change in recorded(name)[case]
        }
        assert found == recorded(name)[case], case


@pytest.mark.parametrize(
    ("operator", "change", "told"),
    [
        (
            "Conv volume",
            "constant 4 is [1, ...]",
            "a window of 4 dimensions; expected 3",
        ),
        (
            "MaxPool volume",
            "2.kernel_shape = [2, 2, 2, 1]",
            "a window of 4 dimensions; expected 3",
        ),
        ("ConvTranspose", "3.input more", "a bias of shape [4, 5, 3, 3]; expected [5]"),
    ],
)
def test_other_ranks(operator: str, change: str, told: str) -> None:
    """They were an internal error once."""
    data = KINDS["onnx"].cases[operator]()
    given = onnx_changes(data, change)[change]
    assert told in answer(KINDS["onnx"], given, None)
