"""The contract of a made-up NPU in examples/npu: its bits, its errors, and its page."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
from support.layers.rescaling import Rescaling, check_rescalings
from support.systems.recordings import make_executors
from support.values.stored import random_stored
from xdsl.ir import SSAValue

import qlower
from qlower.cli import main
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import make_module, quantized

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "npu"
DIGITS = EXAMPLES / "digits"
CONTRACT = str(FOLDER / "my_npu.mlir")
README = (FOLDER / "README.md").read_text()


def saturate(x: int) -> int:
    return min(max(x, -128), 127)


def multiply_and_shift(x: int, ratio: np.float32, zero_point: int) -> int:
    """The device, in Python's integers."""
    fraction, exponent = math.frexp(float(ratio))
    multiplier = math.floor(fraction * 2**15)
    return saturate((x * multiplier >> (15 - exponent)) + zero_point)


@pytest.mark.parts(12)
@pytest.mark.parametrize("ratio", [1.0, 0.25, 3.0, 0.0123, 0.3333333, 2.0**-17])
@pytest.mark.parametrize("zero_point", [-128, 3])
def test_products(ratio: float, zero_point: int):
    """Through a linear layer, at the limits of 24 bits and where a step begins."""
    scale = np.float32(ratio)
    steps = np.arange(-140, 141) / float(scale)
    near = np.concatenate([np.floor(steps) + offset for offset in (-1, 0, 1, 2)])
    limits = [-(1 << 23), (1 << 23) - 1]
    accumulators = np.concatenate([near[abs(near) < 1 << 22], limits]).astype(np.int32)
    expected = [multiply_and_shift(x, scale, zero_point) for x in accumulators.tolist()]
    rescaling = Rescaling(accumulators, float(scale), 1.0, 1.0, zero_point)
    check_rescalings([rescaling], CONTRACT, [np.array(expected)])


@pytest.mark.parts(4)
@pytest.mark.parametrize("seed", range(4))
def test_additions(seed: int):
    """Each operand to a step of the output, then one saturating 8-bit sum."""
    random = np.random.default_rng(seed)
    scales = np.exp(random.uniform(-3, 1, 3)).astype(np.float32)
    points = random.integers(-128, 128, 3).tolist()
    left, right, result = (
        quantized((1000,), float(scale), point)
        for scale, point in zip(scales, points, strict=True)
    )

    def body(a: SSAValue, b: SSAValue) -> list[SSAValue]:
        return [qnn.AddOp(a, b, result).result]

    model = qlower.Model(make_module([left, right], body))
    inputs: list[Array] = [random_stored((1000,), seed=2 * seed + i) for i in (0, 1)]
    expected = [
        saturate(
            multiply_and_shift(a - points[0], scales[0] / scales[2], points[2])
            + multiply_and_shift(b - points[1], scales[1] / scales[2], 0)
        )
        for a, b in zip(inputs[0].tolist(), inputs[1].tolist(), strict=True)
    ]
    for name, executor in make_executors(model, CONTRACT).items():
        ((sums,), _) = executor.run(inputs, {})
        np.testing.assert_array_equal(sums, expected, name)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The contract as ./my_npu.mlir."""
    monkeypatch.chdir(tmp_path)
    path = Path("my_npu.mlir")
    path.write_text(Path(CONTRACT).read_text())
    return path


WANTS_ANOTHER = '%accumulator: i32 {contract.value = "accumulated"},'


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%accumulator: i32,", WANTS_ANOTHER),
        ("%sum : i64 to i8", "%sum : i32 to i8"),
        (',\n  contract.base = "exact"', ""),
    ],
)
def test_mistakes_are_shown_as_the_page_says(
    edited: Path, old: str, new: str, capsys: pytest.CaptureFixture[str]
):
    text = edited.read_text()
    assert old in text
    edited.write_text(text.replace(old, new, 1))
    image = str(DIGITS / "images" / "7.npy")
    arguments = ["--input", image, "--contract", "./my_npu.mlir"]
    assert main(["run", str(DIGITS / "digits.mlir"), *arguments]) == 1
    for line in capsys.readouterr().err.splitlines():
        beginning, *_ = line.split("element, bias, real_bias, ")
        assert f"    {beginning}" in README


def test_what_the_device_cannot_do_is_refused(
    edited: Path, capsys: pytest.CaptureFixture[str]
):
    model = edited.with_name("model.mlir")
    model.write_text("""\
!in = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.5>
module {
  func.func @main(%x: tensor<1x1x!in>) -> tensor<1x1x!in> {
    %w = qnn.constant dense<[[64]]> : tensor<1x1xi8> -> tensor<1x1x!w>
    %y = qnn.linear %x, %w : (tensor<1x1x!in>, tensor<1x1x!w>) -> tensor<1x1x!in>
    return %y : tensor<1x1x!in>
  }
}
""")
    command = ["compile", str(model), "-o", "out", "--contract", "./my_npu.mlir"]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "error: this NPU stores int8, not uint8\n" in error
    note = "note: the contract says so here: ./my_npu.mlir:85:3"
    assert note in error
    assert note in README
    text = model.read_text().replace("u8:f32, 0.5", "i8:f32, 0.5")
    model.write_text(
        text.replace("%w :", "%w, %b :")
        .replace("!w>)", "!w>, tensor<1xi32>)")
        .replace(
            "    %y =",
            "    %b = arith.constant dense<8388608> : tensor<1xi32>\n    %y =",
        )
    )
    assert main(command) == 1
    assert "may need more than the 24 bits" in capsys.readouterr().err


@pytest.mark.long
def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]):
    script = [sys.executable, str(FOLDER / "accuracy.py")]
    done = run(script, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    table, _ = done.stdout.split("\n\n")
    lines = table.splitlines()
    digits = f"{DIGITS / 'digits.mlir'}"
    inspect = ["inspect", digits, "--at", "arith", "--layer", "conv1"]
    assert main([*inspect, "--contract", CONTRACT]) == 0
    ir = capsys.readouterr().out.splitlines()
    images = f"{digits}={DIGITS / 'test_images.npy'}"
    pair = ["--contract", "exact", "--contract", CONTRACT]
    assert main(["contracts", "compare", images, *pair]) == 0
    lines += [
        line for line in capsys.readouterr().out.splitlines() if "| my_npu" in line
    ]
    start = next(i for i, line in enumerate(ir) if "%product = " in line)
    lines += [line for line in ir if "dense<" in line] + ir[start : start + 5]
    assert len(lines) == 13
    for line in lines:
        assert f"    {line}\n" in README


def test_the_contract_explains_itself(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show", CONTRACT]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# my_npu\n")
    assert "## Ties\nThere are none" in text
    assert "- `add`: Both operands in steps of the output" in text


LINEAR = """\
!x = !quant.uniform<i8:f32, 1.0:0>
!w = !quant.uniform<i8:f32, 1.0:0>
!y = !quant.uniform<i8:f32, 1024.0:0>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x1x!y> {
  %w = qnn.constant dense<[[100, 100, -100, -100]]> : tensor<1x4xi8> -> tensor<1x4x!w>
  %y = qnn.linear %x, %w : (tensor<1x4x!x>, tensor<1x4x!w>) -> tensor<1x1x!y>
  return %y : tensor<1x1x!y>
}
"""


@pytest.mark.parts(3)
@pytest.mark.parametrize("most", [524287, 12000, 20000])
def test_an_accumulator_that_saturates_at_each_addition(
    most: int, tmp_path: Path
) -> None:
    """The page's rules, with other ends too: partial sums are 10,000, 20,000, 10,000
    and 0, or less where they saturate."""
    start = README.index("    func.func @accumulate(")
    end = README.index("    }\n", README.index("@sum_of_products(%accumulator"))
    rules = README[start : end + 6]
    rules = rules.replace("524287", str(most))
    contract, model = tmp_path / "own.mlir", tmp_path / "linear.mlir"
    head = f'module attributes {{contract.base = "{CONTRACT}"}} {{\n'
    contract.write_text(head + re.sub(r"(?m)^    ", "", rules) + "}\n")
    model.write_text(LINEAR)
    given = np.full((1, 4), 100, np.int8)
    held = 0
    for weight in (100, 100, -100, -100):
        held = min(held + 100 * weight, most)
    (found,) = np.ravel(
        np.asarray(qlower.interpret(model, given, contract=str(contract)))
    )
    assert found == held // 1024  # the shifter rounds down
    assert np.array_equal(qlower.jit(model, contract=str(contract))(given), [[found]])
