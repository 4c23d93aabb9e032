"""The modules that files become: names of layers, orders, types and operations.

Results are compared with other systems elsewhere; they show no names, and not how
values are stored on the way. `read_modules.txt` has a line for each file: its
operations, and a digest of the module's text without the values of real constants.
`pytest tests/frontends/test_read_modules.py --bless` records them: explain a line that
changes before you do.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from support.formats.case_files import FILES, MORE_FILES
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from qlower.diagnostics import QlowerError
from qlower.frontends.onnx import FORMAT as ONNX
from qlower.frontends.tflite import import_tflite

RECORDED = Path(__file__).with_name("read_modules.txt")

PACKAGES = {"tflite": "ai_edge_litert", "onnx": "onnx"}

CASES = {
    f"{format} {case}": make
    for files in (FILES, MORE_FILES)
    for format, cases in files.items()
    for case, make in cases.items()
}


class _WithoutReals(Printer):
    """Prints of real constants the types alone: some hold a library's functions."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            type = attribute.get_element_type()
            if isinstance(type, Float32Type):
                super().print_attribute(attribute.type)
                return
        super().print_attribute(attribute)


def module(name: str) -> ModuleOp:
    data = CASES[name]()
    if name.startswith("tflite "):
        return import_tflite(data, name="model")
    return ONNX.module(data, name="model")


def line(name: str) -> str:
    """The case, its operations and a digest, or why it is refused."""
    try:
        read = module(name)
    except QlowerError as error:
        return f"{name}: {error.message}"
    text = StringIO()
    _WithoutReals(stream=text, print_debuginfo=True).print_op(read)
    digest = hashlib.sha256(text.getvalue().encode()).hexdigest()[:10]
    counted = Counter(op.name for op in read.walk() if op.name.startswith("qnn."))
    listed = ", ".join(f"{count} {kind[4:]}" for kind, count in counted.items())
    return f"{name}: {listed or 'nothing'} {digest}"


@cache
def recorded() -> dict[str, str]:
    lines = RECORDED.read_text().splitlines()
    return {one.partition(": ")[0]: one for one in lines}


def lines() -> Iterator[str]:
    for package in PACKAGES.values():
        pytest.importorskip(package, reason=f"{package} is not installed")
    yield from map(line, CASES)


def test_write(request: pytest.FixtureRequest) -> None:
    """Only with --bless: all files."""
    if request.config.getoption("--bless"):
        RECORDED.write_text("".join(f"{one}\n" for one in lines()))


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", CASES)
def test_read_modules(name: str) -> None:
    package = PACKAGES[name.partition(" ")[0]]
    pytest.importorskip(package, reason=f"{package} is not installed")
    assert line(name) == recorded()[name]


def test_every_line_is_of_a_file() -> None:
    assert list(recorded()) == list(CASES)
