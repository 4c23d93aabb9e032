"""Two versions of one model, compared by the names of their layers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.model.layers import layers
from qlower.sides.versions import version_of

EXAMPLES = Path(__file__).parents[2] / "examples"
IMAGE = str(EXAMPLES / "digits" / "images" / "3.npy")
DIGITS = EXAMPLES / "digits" / "digits.mlir"

Capture = pytest.CaptureFixture[str]


def new_version(folder: Path) -> tuple[str, str]:
    """The digits, and a version with another weight in one layer."""
    text = DIGITS.read_text()
    weights = next(re.finditer(r'%(\S*pointwise\S*) = qnn.constant.*?"0x(..)', text))
    start = weights.start(2)
    changed = f"{text[:start]}{'01' if weights[2] != '01' else '02'}{text[start + 2 :]}"
    old, new = folder / "old.mlir", folder / "new.mlir"
    old.write_text(text)
    new.write_text(changed)
    return str(old), str(new)


def test_the_layer_with_other_weights_is_named(tmp_path: Path, capsys: Capture) -> None:
    old, new = new_version(tmp_path)
    assert main(["diff", old, new, "--input", IMAGE]) == ExitCode.FOUND
    printed = capsys.readouterr().out
    assert "the first layer that differs by itself is pointwise" in printed
    assert (
        f"\nnew.mlir: {len(list(layers(qlower.load(old).module)))} layers by name"
        in printed
    )
    assert "exact result:" not in printed
    assert main(["diff", old, old, "--input", IMAGE]) == 0
    printed = capsys.readouterr().out
    assert "nothing differs" in printed
    assert "for all inputs" not in printed


def test_versions_that_cannot_be_compared(tmp_path: Path, capsys: Capture) -> None:
    old, _ = new_version(tmp_path)
    assert main(["diff", "tflite", old, "--input", IMAGE]) == ExitCode.USAGE
    assert "MODEL is required, unless" in capsys.readouterr().err
    given = EXAMPLES / "fbgemm-overflow" / "asked.mlir"
    assert main(["diff", old, str(given), "--input", IMAGE]) == ExitCode.WRONG_INPUT
    assert "the models take different inputs" in capsys.readouterr().err


def test_layers_of_one_version_alone_are_left_out(tmp_path: Path) -> None:
    text = """
!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, SCALE>
func.func @main(%x: tensor<1x6x!x>) -> tensor<1x6x!y> {
  %clip = qnn.relu %x : (tensor<1x6x!x>) -> tensor<1x6x!x>
  %NAME = qnn.relu6 %clip : (tensor<1x6x!x>) -> tensor<1x6x!x>
  %last = qnn.requantize %NAME : (tensor<1x6x!x>) -> tensor<1x6x!y>
  return %last : tensor<1x6x!y>
}
"""
    paths = [tmp_path / "a.mlir", tmp_path / "b.mlir"]
    for path, name, scale in zip(paths, ("one", "two"), ("0.25", "0.3"), strict=True):
        path.write_text(text.replace("NAME", name).replace("SCALE", scale))
    codes = np.array([[-3, 0, 3, 5, 9, 20]], np.int8)
    a, b = (qlower.load(path) for path in paths)
    found = qlower.diff("tflite", version_of("b", a, b, "tflite", "interp"), a, codes)
    assert {row.name for row in found.layers if row.carried} == {"clip", "last"}
    alone = {row.name: row.alone for row in found.layers}
    assert alone["clip"] is not None
    assert alone["clip"].differing == 0
    assert "1 in the first model alone (one), 1 in the second model alone" in str(found)
    assert "1 layer with a different scale or zero point" in str(found)


@pytest.mark.parametrize(("count", "end"), [(3, "a, b, c"), (4, "a, b, c, ...")])
def test_a_few_of_many_layers_are_named(count: int, end: str, tmp_path: Path) -> None:
    lines = "".join(
        f"  %{name} = qnn.relu %x : (tensor<2x!x>) -> tensor<2x!x>\n"
        for name in "abcd"[:count]
    )
    text = "!x = !quant.uniform<i8:f32, {}>\n" + (
        "func.func @main(%x: tensor<2x!x>) -> tensor<2x!x> {{\n"
        f"{lines}  return %a : tensor<2x!x>\n}}}}\n"
    )
    paths = [tmp_path / "a.mlir", tmp_path / "b.mlir"]
    for path, scale in zip(paths, (0.5, 0.25), strict=True):
        path.write_text(text.format(scale))
    a, b = map(qlower.load, paths)
    *_, note = version_of("b", a, b, "tflite", "interp").notes
    assert note.endswith(f"numbers: {end}")
