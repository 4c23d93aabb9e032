"""StableHLO: the quantized tests of its repository, its interpreter, and refusals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support import golden_directory
from support.formats.stablehlo import has_interpreter, run_interpreter

import qlower
from qlower.cli import main
from qlower.compilation.to_arith import lower_to_arith
from qlower.diagnostics import QlowerError
from qlower.dialects.stablehlo import BINARY, UNARY
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.interp import run_function
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

NETWORK = Path(__file__).with_name("stablehlo") / "network.mlir"

GOLDENS = sorted((golden_directory() / "stablehlo").glob("*.mlir"))
"""Test files of openxla/stablehlo; of each the module with quantized types counts."""

IN_EVERY_RUN = ("batch_group", "depthwise2d", "dot_general_batch", "gather_batchdims")
"""Parts of the names of files that always run, beside the shortest ones."""

CHECK = re.compile(
    r" *%\w+ = stablehlo.custom_call @check.eq\((%\w+), (%\w+)\) : "
    r"\(([^)]*), ([^)]*)\) -> tensor<i1>\n"
)


def quantized_module(path: Path) -> str:
    """The module that has quantized types, which returns both sides of its check."""
    parts = path.read_text().split("// -----")
    (text,) = (part for part in parts if "quant.uniform" in part)
    found = CHECK.search(text)
    assert found is not None
    wanted, given, *types = found.groups()
    text = CHECK.sub("", text)
    text = re.sub(r"@main\(\) -> \S+", f"@main() -> ({', '.join(types)})", text)
    both = f"return {wanted}, {given} : {', '.join(types)}"
    return re.sub(r"return %\w+ : \S+", both, text)


def is_quick(path: Path) -> bool:
    return path.stat().st_size < 2500 or any(name in path.name for name in IN_EVERY_RUN)


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=[] if is_quick(p) else [pytest.mark.long], id=str(n))
        for n, p in enumerate(GOLDENS)
    ],
)
def test_quantized_tests_of_stablehlo(path: Path):
    module = parse_module(quantized_module(path), path.name)
    verify_module(module)
    again = parse_module(str(module))
    assert again.is_structurally_equivalent(module)
    wanted, given = run_function(lower_to_arith(module), "main", [])
    np.testing.assert_array_equal(given, wanted)


def load(text: str) -> qlower.Model:
    return load_text(text.encode(), "model.mlir", ImportOptions())


def test_executors_agree():
    random = np.random.default_rng(0)
    x = (3 * random.normal(size=(1, 6, 6, 3))).astype(np.float32)
    expected = qlower.interpret(NETWORK, x, at="arith")
    assert len(np.unique(expected)) == 2
    np.testing.assert_array_equal(qlower.jit(NETWORK)(x), expected)
    for level in ("qnn", "kernel"):
        np.testing.assert_array_equal(qlower.interpret(NETWORK, x, at=level), expected)


def test_stored_integers_are_taken_and_given():
    model = load("""
!q = !quant.uniform<u8:f32, 0.5:3>
func.func @main(%x: tensor<4x!q>) -> tensor<4x!q> {
  %y = stablehlo.negate %x : tensor<4x!q>
  return %y : tensor<4x!q>
}""")
    (spec,) = model.inputs
    assert (spec.dtype, spec.scale, spec.zero_point) == ("uint8", 0.5, 3)
    y = qlower.jit(model)(np.array([0, 3, 5, 255], np.uint8))
    np.testing.assert_array_equal(y, [6, 3, 1, 0])


def test_no_contract_applies(capsys: pytest.CaptureFixture[str]):
    assert main(["run", str(NETWORK), "--random", "--contract", "tflite"]) == 1
    assert "StableHLO states its own arithmetic" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "lint", "import"])
def test_commands(command: str):
    assert main([command, str(NETWORK)]) == 0


def test_functions_of_wide_elements():
    text = """
!q = !quant.uniform<i16:f32, 0.5>
func.func @main(%x: tensor<4x!q>) -> tensor<4x!q> {
  %y = stablehlo.tanh %x : tensor<4x!q>
  return %y : tensor<4x!q>
}"""
    with pytest.raises(QlowerError, match=r"4:8: error: stablehlo.tanh of .*i16"):
        qlower.jit(load(text))
    x = np.array([-32768, -1, 1, 32767], np.int16)
    y = qlower.jit(load(text.replace("tanh", "abs")))(x)
    np.testing.assert_array_equal(y, [32767, 1, 1, 32767])


# ------------------------------------------------------------ the reference interpreter

LIVE = pytest.mark.skipif(
    not has_interpreter(), reason="needs jaxlib, which has StableHLO's interpreter"
)


def quantization(random: np.random.Generator, storage: str = "i8") -> str:
    scale = 10 ** random.uniform(-2.5, 0.5)
    return f"!quant.uniform<{storage}:f32, {scale:.17f}:{random.integers(-128, 128)}>"


def both(text: str, inputs: Sequence[NDArray[np.float32]]) -> None:
    """Native code and the interpreter of StableHLO give the same."""
    (expected,) = run_interpreter(text, inputs)
    np.testing.assert_array_equal(qlower.jit(load(text))(*inputs), expected)


@pytest.mark.parts(54)
@LIVE
@pytest.mark.parametrize("kind", UNARY)
def test_functions(kind: str):
    random = np.random.default_rng(1)
    q, y = quantization(random), quantization(random)
    both(
        f"""func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {{
  %q = stablehlo.uniform_quantize %x : (tensor<4096xf32>) -> tensor<4096x{q}>
  %y = stablehlo.{kind} %q : (tensor<4096x{q}>) -> tensor<4096x{y}>
  %z = stablehlo.uniform_dequantize %y : (tensor<4096x{y}>) -> tensor<4096xf32>
  return %z : tensor<4096xf32>
}}""",
        [np.linspace(-99, 99, 4096).astype(np.float32)],
    )


@pytest.mark.parts(6)
@LIVE
@pytest.mark.parametrize("kind", BINARY)
def test_functions_of_two(kind: str):
    random = np.random.default_rng(2)
    a, b, y = (quantization(random) for _ in range(3))
    size = 16384
    inputs = [random.uniform(-99, 99, size).astype(np.float32) for _ in range(2)]
    t = f"tensor<{size}x"
    both(
        f"""func.func @main(%x: {t}f32>, %w: {t}f32>) -> {t}f32> {{
  %a = stablehlo.uniform_quantize %x : ({t}f32>) -> {t}{a}>
  %b = stablehlo.uniform_quantize %w : ({t}f32>) -> {t}{b}>
  %y = stablehlo.{kind} %a, %b : ({t}{a}>, {t}{b}>) -> {t}{y}>
  %r = stablehlo.uniform_quantize %y : ({t}{y}>) -> {t}{a}>
  %z = stablehlo.uniform_dequantize %r : ({t}{a}>) -> {t}f32>
  return %z : {t}f32>
}}""",
        inputs,
    )


MOVEMENT = """
!q = !quant.uniform<i8:f32, 0.5:3>
!joined = tensor<2x6x!q>
!padded = tensor<5x6x!q>
func.func @main(%x: tensor<2x3x!q>, %z: tensor<3x!q>)
    -> (tensor<3x2x!q>, tensor<2x3x!q>, !joined, tensor<1x2x!q>, !padded) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x!q>) -> tensor<3x2x!q>
  %b = stablehlo.broadcast_in_dim %z, dims = [1] : (tensor<3x!q>) -> tensor<2x3x!q>
  %c = stablehlo.concatenate %x, %b, dim = 1
    : (tensor<2x3x!q>, tensor<2x3x!q>) -> !joined
  %s = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3x!q>) -> tensor<1x2x!q>
  %f = stablehlo.constant() <{value = dense<-7> : tensor<i8>}> : () -> tensor<!q>
  %p = stablehlo.pad %x, %f, low = [1, 0], high = [1, 1], interior = [1, 1]
    : (tensor<2x3x!q>, tensor<!q>) -> !padded
  return %t, %b, %c, %s, %p
    : tensor<3x2x!q>, tensor<2x3x!q>, !joined, tensor<1x2x!q>, !padded
}
"""


def test_movement(tmp_path: Path) -> None:
    """As NumPy moves what is stored."""
    path = tmp_path / "movement.mlir"
    path.write_text(MOVEMENT)
    model = qlower.load(path)
    x, z = np.arange(-3, 3, dtype=np.int8).reshape(2, 3), np.array([9, 8, 7], np.int8)
    padded = np.full((5, 6), -7, np.int8)
    padded[1:4:2, 0:5:2] = x
    repeated = np.stack([z, z])
    joined = np.concatenate([x, repeated], axis=1)
    wanted = [x.T, repeated, joined, x[1:, ::2], padded]
    for found in (qlower.jit(model)(x, z), qlower.interpret(model, x, z)):
        for array, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(array, expected)


CLAMP = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %least = stablehlo.constant dense<-1.5> : tensor<f32>
  %most = stablehlo.constant dense<2.0> : tensor<f32>
  %y = stablehlo.clamp %least, %x, %most
    : (tensor<f32>, tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}
"""


def test_clamp(tmp_path: Path) -> None:
    """As NumPy clips."""
    path = tmp_path / "clamp.mlir"
    path.write_text(CLAMP)
    model, x = qlower.load(path), np.array([-9, -1.5, 0, 2, 9], np.float32)
    for found in (qlower.jit(model)(x), qlower.interpret(model, x)):
        np.testing.assert_array_equal(found, np.clip(x, -1.5, 2))
