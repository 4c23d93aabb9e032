"""Comparing contracts on single layers: what is counted, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_cases import CASES
from support.layers.small_model import SMALL_MODEL
from xdsl.ir import SSAValue

import qlower
from qlower.cli import main
from qlower.contract_pages.contract_differences import (
    Subject,
    compare,
    random_inputs,
    rounded_layers,
)
from qlower.contract_pages.differences_page import differences_page
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import make_module, quantized
from qlower.model.entry import name_tensors
from qlower.model.extract import detach_layers, extract_layers
from qlower.model.layers import layer_name, layers, name_layers
from qlower.model.random_inputs import random_input
from qlower.text.parsing import parse_module

DIGITS = Path(__file__).parents[1] / "examples" / "digits"
CODES = np.arange(-128, 128, dtype=np.int8)


def all_codes() -> Subject:
    """Every int8 code to a step that is four times as large."""

    def body(x: SSAValue) -> list[SSAValue]:
        half = qnn.RequantizeOp(x, quantized((256,), 1.0)).result
        return [qnn.ReshapeOp(half, quantized((2, 128), 1.0)).result]

    module = make_module([quantized((256,), 0.25)], body)
    name_layers(module)
    name_tensors(module)
    model = qlower.Model(module)
    return Subject("codes", model, {model.inputs[0].name: CODES})


def test_layers_stand_alone():
    model = qlower.Model(parse_module(SMALL_MODEL))
    name_layers(model.module)
    image = np.array([[[[-128], [0]], [[64], [127]]]], np.int8)
    _, recorded = qlower.jit(model, "tflite", with_layers=True).run([image], {})
    module, sources, results = detach_layers(model.module, ["conv", "scores"])
    assert sources == ["image", "flat"]
    assert results == ["conv", "scores"]
    assert [op.name for op in layers(module)] == ["qnn.conv2d", "qnn.linear"]
    other = np.full_like(recorded["flat"], 7)
    outputs, _ = qlower.jit(qlower.Model(module), "tflite").run([image, other], {})
    np.testing.assert_array_equal(outputs[0], recorded["conv"])
    assert not np.array_equal(outputs[1], recorded["scores"])
    outputs, _ = qlower.jit(qlower.Model(module), "tflite").run(
        [image, recorded["flat"]], {}
    )
    np.testing.assert_array_equal(outputs[1], recorded["scores"])


@pytest.mark.parametrize("case", ["gather", "gather_nd", "dynamic_update_slice_run"])
def test_a_layer_takes_what_its_loops_read(case: str, tmp_path: Path):
    """A gather's body reads tensors that aren't its operands."""
    path = tmp_path / "model.tflite"
    path.write_bytes(CASES[case]())
    model = qlower.load(path)
    xs = [random_input(spec, np.random.default_rng(0)) for spec in model.inputs]
    assert qlower.diff("tflite", "exact", model, *xs).is_equal
    for op in layers(model.module):
        name = layer_name(op) or ""
        extract_layers(model.module, [name]).verify()
        detach_layers(model.module, [name])[0].verify()


def test_differences_are_counted():
    """x / 4: half up and half to even part at every second of 64 ties."""
    subject = all_codes()
    assert list(rounded_layers(subject.model).values()) == ["requantize"]
    comparison = compare([subject], ["exact", "pow2-shift", "tosa"])
    kind = comparison.kinds["requantize"]
    assert kind.outputs == {"exact": 256, "pow2-shift": 256, "tosa": 256}
    difference = kind.difference("tosa", "exact")
    assert (difference.count, difference.differing, difference.largest) == (256, 32, 1)
    assert kind.groups() == [["exact"], ["pow2-shift", "tosa"]]
    page = differences_page(comparison)
    assert "| codes |      1 |        1 |\n" in page
    assert "1 layer, 256 outputs." in page
    assert "1. exact\n2. pow2-shift, tosa\n" in page
    assert "| 1 | 12.5 % |\n" in page


def test_what_a_contract_refuses_is_said(tmp_path: Path):
    path = tmp_path / "mine.mlir"
    path.write_text(
        "module attributes {contract.summary = 'none'} {}".replace("'", '"')
    )
    comparison = compare([all_codes()], ["exact", str(path)])
    kind = comparison.kinds["requantize"]
    assert kind.outputs == {"exact": 256}
    assert str(kind.difference("exact", "mine")) == "-"
    assert "- mine: 1 layer, it has no rule requantize" in differences_page(comparison)


def test_the_command_compares(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    page = tmp_path / "page.md"
    arguments = ["contracts", "compare", "--examples", "2"]
    arguments += ["--contract", "exact", "--contract", "tflite"]
    digits = f"{DIGITS / 'digits.mlir'}={DIGITS / 'test_images.npy'}"
    assert main([*arguments, digits, "--output", str(page)]) == 0
    text = page.read_text()
    assert "| digits |      5 |        2 |\n" in text
    assert "2 layers, 3,072 outputs." in text
    assert main([*arguments, str(DIGITS / "digits.mlir")]) == 0
    assert "## depthwise_conv2d\n" in capsys.readouterr().out
    assert main([*arguments, digits, "--examples", "0"]) == 1
    assert "--examples must be at least 1" in capsys.readouterr().err


def test_contracts_have_names_of_their_own():
    with pytest.raises(QlowerError, match="2 of the contracts to compare are called"):
        compare([all_codes()], ["exact", "tflite", "exact"])


def test_real_numbers_are_not_drawn():
    spec = qlower.load(DIGITS / "digits.mlir").inputs[0]
    drawn = random_inputs([spec])[spec.name]
    assert drawn.shape[1:] == spec.shape
    real = type(spec)("x", (3,), "float32")
    with pytest.raises(QlowerError, match="'x' holds float32, not codes"):
        random_inputs([real])
