"""The small files that tests of reading share, one for each way to use an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import onnx_cases, tflite_cases
from .onnx_singles import SINGLES

File = Callable[[], bytes]


def _onnx_files() -> dict[str, File]:
    found: dict[str, File] = {
        name: lambda c=case: c().build() for name, case in onnx_cases.CASES.items()
    }
    for one in SINGLES:
        name = f"{one.operator} {one.variant}".strip()
        found[name] = lambda c=one: c.build("i1").build()
    return found


FILES: Mapping[str, Mapping[str, File]] = {
    "tflite": tflite_cases.CASES,
    "onnx": _onnx_files(),
}
"""By format and case."""
