"""Commands that had nothing to look at, or were asked for what they can't, say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main

NO_LAYER = """\
!q = !quant.uniform<i8:f32, 0.5:-128>
func.func @main(%x: tensor<1x4x!q> {qnn.name = "x"})
    -> (tensor<1x4x!q> {qnn.name = "y"}) {
  return %x : tensor<1x4x!q>
}
"""
REAL = """\
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %e = tensor.empty() : tensor<1x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x4xf32>) outs(%e : tensor<1x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.mlir").write_text(SMALL_MODEL)
    Path("none.mlir").write_text(NO_LAYER)
    Path("real.mlir").write_text(REAL)
    np.save("x.npy", np.zeros((3, 2, 2, 1), np.int8))
    np.save("m.npy", np.zeros((1, 4), np.int8))
    Path("none.csv").write_text("\n\n\n")
    Path("names.txt").write_text("a\nb\n")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("lint none.mlir", 0, "No layer is quantized: nothing was looked at"),
        ("lint real.mlir", 0, "No layer is quantized: nothing was looked at"),
        ("verify none.mlir --accumulator-bits 8", 0, "there are no sums to look at"),
        ("verify real.mlir --accumulator-bits 8", 0, "there are no sums to look at"),
        ("diff tflite tvm none.mlir --random", 0, "nothing was compared"),
        ("identify m.npy none.mlir --input m.npy", 1, "is a layer of the model"),
        ("vectors none.mlir -o v", 1, "it has no layers"),
        ("vectors real.mlir -o v", 1, "follows a contract"),
        ("validate small.mlir --data x.npy --against tflite", 1, "against itself"),
        ("validate small.mlir --data x.npy --labels none.csv", 1, "has no class for"),
        ("validate small.mlir --data x.npy --label-offset 1", 1, "there are no labels"),
        ("validate small.mlir --data x.npy --crop 2", 1, "a crop is for pictures"),
        ("validate small.mlir --data x.npy --class-names names.txt", 1, "for pictures"),
        ("run small.mlir --random --executor interp --dump-ir d", 1, "--executor jit"),
        ("inspect small.mlir --dump-ir d", 2, "no pass is run for --at qnn"),
        ("import --check small.mlir -o x.mlir", 2, "--check writes no model"),
    ],
)
def test_it_is_said(
    line: str, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == code
    out, error = capsys.readouterr()
    assert told in out + error
    assert not Path("v").exists()


@pytest.mark.parametrize(
    ("question", "option"),
    [
        ("--accumulator-bits 24", "--b-layer-contract conv=tvm"),
        ("--accumulator-bits 24", "--sample 3"),
        ("--accumulator-bits 24", "--cpu x86-64"),
        ("--groups", "--contract tvm"),
        ("--groups", "--layer-contract conv=tvm"),
        ("--groups", "--save x.npz"),
        ("--equal tflite tvm", "--order memory"),
        ("--equal tflite tvm", "--contract exact"),
        ("--native", "--b-layer-contract conv=tvm"),
        ("--check verdict.json", "--output x.json"),
    ],
)
def test_no_question_leaves_an_option_aside(
    question: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"verify small.mlir {question} {option}"
    assert main(line.split()) == 2
    what = question.split()[0], option.split()[0]
    assert f"{what[0]} takes no {what[1]}" in capsys.readouterr().err
