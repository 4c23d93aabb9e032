"""The example relay-requantize: its page shows what it prints, and it is right."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type

FOLDER = Path(__file__).parents[2] / "examples" / "relay-requantize"


@pytest.fixture(scope="module")
def compare() -> Any:
    """The script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        # other examples have a script of this name
        sys.modules.pop("compare", None)
        yield import_module("compare")
        del sys.modules["compare"]


@pytest.mark.long
def test_the_page_shows_what_is_printed(
    compare: Any, capsys: pytest.CaptureFixture[str]
):
    assert compare.main([]) == 0
    page = (FOLDER / "README.md").read_text()
    for table in capsys.readouterr().out.strip().split("\n\n"):
        lines = [f"    {line}".rstrip() for line in table.splitlines()]
        assert "\n".join(lines) in page


def test_scales_are_powers_of_two(compare: Any):
    module = compare.variants()["powers of two"].module
    for op in module.walk():
        for value in op.results:
            element = element_type(value.type)
            if isinstance(element, QuantizedType) and op.name != "qnn.softmax":
                assert not any(element.zero_points)
                assert set(np.frexp(element.scales)[0].tolist()) == {0.5}


@pytest.mark.long
def test_native_code_and_interpreter_agree(compare: Any):
    model = compare.variants()["powers of two"]
    image = compare.images_for(model)[0]
    for contract in compare.CONTRACTS:
        native = qlower.jit(model, contract=contract)(image)
        expected = qlower.interpret(model, image, contract=contract)
        np.testing.assert_array_equal(native, expected)


@pytest.mark.long
def test_a_model(compare: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    examples = tmp_path / "images.npy"
    np.save(examples, np.load(compare.DIGITS / "test_images.npy")[:3])
    model = str(compare.DIGITS / "digits.mlir")
    assert compare.main(["--model", model, "--input", str(examples)]) == 0
    assert "of 3 examples" in capsys.readouterr().out
