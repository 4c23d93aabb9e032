"""Models as C source: strict C99 that gives the interpreter's bits on any machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats import edge_layers
from support.formats.tflite_models import conv2d, fully_connected
from support.layers import random_layers
from support.layers.run_files import RUN_TESTS, RunTest
from support.layers.small_model import SMALL_MODEL
from support.machines.c_compilers import AVR, COMPILERS
from support.machines.c_programs import Compiler, portable
from support.values.stored import random_stored

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.packages.c_source.loops import Lines, Loop
from qlower.text.parsing import parse_module

DIGITS = Path(__file__).parents[2] / "examples" / "digits"

QUICK = (
    "fixed/convert-0",
    "fixed/shift_right-0",
    "kernel/scan-0",
    "kernel/scan-1",
    "kernel/scan-4",
    "qnn/conv2d-0",
    "qnn/concat-0",
    "qnn/softmax-0",
)
"""Run files with what C has no operators for: roundings, floats, tables, copies; and
loops over steps."""


def built(name: str) -> Compiler:
    """The compiler of that name; skips the test where a tool is missing."""
    compiler = COMPILERS[name]
    for tool in (compiler.command[0], *compiler.runner[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} isn't installed")
    return compiler


def check(test: RunTest, compiler: Compiler, folder: Path) -> None:
    """The program gives what the file says, by every contract but those of floats where
    the compiler's runtime has none."""
    for contract in test.contracts:
        model = qlower.Model(parse_module(test.text, str(test.path)))
        compiled = portable(model, contract or None)
        if not compiler.has_floats and "<float.h>" in str(compiled.text("c")):
            continue
        outputs = compiler.outputs(compiled, test.inputs(model), folder)
        values = [value for array in outputs for value in array.reshape(-1).tolist()]
        assert values == test.expected[contract], f"{test} {contract}"


@pytest.mark.parts(2)
@pytest.mark.parametrize("name", QUICK)
def test_run_files(name: str, tmp_path: Path) -> None:
    (test,) = (one for one in RUN_TESTS if str(one) == name)
    check(test, built("gcc -O2"), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", COMPILERS)
def test_every_run_file(name: str, tmp_path: Path) -> None:
    compiler = built(name)
    for test in RUN_TESTS:
        check(test, compiler, tmp_path)


def test_digits(tmp_path: Path) -> None:
    """A whole network, on a digit that it was tested with."""
    model = qlower.load(DIGITS / "digits.mlir")
    (spec,) = model.inputs
    image = np.load(DIGITS / "test_images.npy")[:1].astype(spec.dtype)
    image = image.reshape(spec.shape)
    compiled = portable(model, "tflite")
    (result,) = built("gcc -O2").outputs(compiled, [image], tmp_path)
    np.testing.assert_array_equal(
        result, qlower.interpret(model, image, contract="tflite")
    )


ROWS = {
    "an odd row of pixels, three blocks": conv2d(
        weights_shape=(130, 3, 3, 4), output_shape=(2, 9, 7, 130)
    ),
    "pairs of rows": fully_connected(),
    "a row": fully_connected(input_shape=(1, 12), output_shape=(1, 5)),
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_widened_in_the_arena(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(ROWS[name])
    compiled = portable(path, "tflite")
    assert f"sums_{'1x4' if name == 'a row' else '2x2'}(" in compiled.text("c")
    (spec,) = compiled.interface.signature.inputs
    x = random_stored(spec.shape, seed=3)
    (found,) = built("gcc -O2").outputs(compiled, [x], tmp_path)
    np.testing.assert_array_equal(found, qlower.interpret(path, x, contract="tflite"))


def test_loops_count_by_their_steps() -> None:
    lines = Lines()
    with lines.loops([Loop(f"i{n}", 8, begin=n, step=n) for n in (1, 2, 4)]):
        lines.add("f();")
    assert lines.texts == [
        "  for (int32_t i1 = 1; i1 < 8; i1++) {",
        "    for (int32_t i2 = 2; i2 < 8; i2 += 2) {",
        "      for (int32_t i4 = 4; i4 < 8; i4 += 4) {",
        *("        f();", "      }", "    }", "  }"),
    ]


SHORT_RUNS = f"""
!x = !quant.uniform<i8:f32, 5.0e-01:-3>
!w = !quant.uniform<i8<-127:127>:f32, 1.0e-02>
func.func @main(%x: tensor<1x3x3x5x!x>) -> tensor<1x3x3x4x!x> {{
  %w = qnn.constant dense<"0x{bytes(range(30)).hex()}"> : tensor<6x1x1x5xi8>
    -> tensor<6x1x1x5x!w>
  %y = qnn.conv2d %x, %w {{stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}}
    : (tensor<1x3x3x5x!x>, tensor<6x1x1x5x!w>) -> tensor<1x3x3x6x!x>
  %v = qnn.constant dense<"0x{bytes(range(96)).hex()}"> : tensor<4x2x2x6xi8>
    -> tensor<4x2x2x6x!w>
  %z = qnn.conv2d %y, %v {{stride = [1, 1], pad = [1, 0, 0, 1], dilation = [1, 1]}}
    : (tensor<1x3x3x6x!x>, tensor<4x2x2x6x!w>) -> tensor<1x3x3x4x!x>
  return %z : tensor<1x3x3x4x!x>
}}"""


def test_short_runs_and_padding_around_a_result(tmp_path: Path) -> None:
    """Products that aren't widened, in blocks of pixels and channels that leave some
    over, into the middle of what the next layer pads."""
    model = qlower.Model(parse_module(SHORT_RUNS, "model.mlir"))
    compiled = portable(model, "tflite")
    text = str(compiled.text("c"))
    assert "dot_2x2_s8(" in text
    assert re.search(r"if \(.* >= 3u", text)
    x = random_stored((1, 3, 3, 5), seed=3)
    (found,) = built("gcc -O0").outputs(compiled, [x], tmp_path)
    np.testing.assert_array_equal(found, qlower.interpret(model, x, contract="tflite"))


@pytest.mark.long
def test_intrinsics_are_inlined_beside_floats(tmp_path: Path) -> None:
    """gcc calls a function whose options for floats differ from its caller's."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc isn't installed")
    path = tmp_path / "model.tflite"
    path.write_bytes(conv2d())
    compiled = portable(path, "pytorch-qnnpack")
    assert "<float.h>" in str(compiled.text("c"))
    compiled.save(tmp_path, ["c"])
    command = [
        "arm-none-eabi-gcc",
        "-O3",
        "-mcpu=cortex-m4",
        "-mthumb",
        "-DQLOWER_ACLE",
    ]
    subprocess.run([*command, "-S", "m.c"], cwd=tmp_path, check=True)
    text = (tmp_path / "m.s").read_text()
    assert "smlad" in text
    assert "load_word" not in text
    assert "widen_s8" not in text


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("layers", [edge_layers.LAYERS, random_layers.LAYERS])
def test_layers_of_any_size(
    layers: Mapping[str, Callable[[int, str], bytes]], dtype: str, tmp_path: Path
) -> None:
    """Blocks that are cut off, strides, dilation and padding of sums of products."""
    compiler = built("gcc -O2")
    makers = {k: v for k, v in layers.items() if "conv" in k or "connected" in k}
    for seed in range(6):
        for kind, make in makers.items():
            path = tmp_path / f"{kind}_{seed}.tflite"
            path.write_bytes(make(seed, dtype))
            inputs = random_layers.random_layer_inputs(qlower.load(path), seed)
            (given,) = compiler.outputs(portable(path, "tflite"), inputs, tmp_path)
            wanted = qlower.jit(path, "tflite")(*inputs)
            assert given.tobytes() == wanted.tobytes(), path


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*COMPILERS} - {"cortex-m0"}))
def test_real_models(name: str, tmp_path: Path) -> None:
    """All but those of floats, where the compiler's runtime has none."""
    compiler = built(name)
    generator = np.random.default_rng(1)
    paths = sorted(models_directory().glob("*/model.*"))
    if not paths:
        pytest.skip(f"there are no models in {models_directory()}")
    for number, path in enumerate(paths):
        # an order of sums is known of the float model where nothing is fused
        qdq = "as-written" if "fp32" in path.parent.name else "integer"
        model = qlower.load(path, qdq=qdq)
        inputs = [
            generator.standard_normal(spec.shape).astype(spec.dtype)
            if spec.numpy_dtype.kind == "f"
            else generator.integers(0, 100, spec.shape).astype(spec.dtype)
            for spec in model.inputs
        ]
        contract = None if model.module.attributes.get("qnn.contract") else "tflite"
        if contract and not compiler.has_floats and model.inputs[0].dtype == "int8":
            contract = "tflm"  # of unsigned codes, "tflite" has no floats
        expected = qlower.jit(model, contract)(*inputs)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        folder = tmp_path / str(number)
        compiled = portable(model, contract)
        if "<float.h>" in str(compiled.text("c")) and not compiler.has_floats:
            continue
        given = compiler.outputs(compiled, inputs, folder)
        for one, other in zip(given, wanted, strict=True):
            assert one.tobytes() == other.tobytes(), path


@pytest.mark.long
def test_avr(tmp_path: Path) -> None:
    for tool in ("avr-gcc", "simavr"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} isn't installed")
    path = models_directory() / "hello_world_int8" / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    compiled, model = portable(path, "tflm"), qlower.load(path)
    (spec,) = model.inputs
    for number in range(-128, 128, 15):
        x = np.full(spec.shape, number, spec.dtype)
        (found,) = AVR.outputs(compiled, [x], tmp_path)
        wanted = qlower.interpret(model, x, contract="tflm")
        np.testing.assert_array_equal(found, wanted)


def test_an_object_and_its_source_have_one_header(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    target = ("thumbv7em-none-eabi", "cortex-m4")
    both = qlower.compile(path, *target).save(tmp_path / "both", ["obj", "c"])
    assert [file.name for file in both] == ["model.o", "model.c", "model.h"]
    only = qlower.compile(path, *target).save(tmp_path / "only", ["header"])
    assert only[0].read_text() == both[2].read_text()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C source is for any processor, unless an object is written beside it."""
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    out = tmp_path / "out"
    assert main(["compile", str(path), "-o", str(out), "--emit", "c"]) == 0
    assert "model.c\n" in (text := capsys.readouterr().out)
    assert "arena" in text
    assert "stack" not in text
    assert 'TARGET "c99-none"' in (out / "model.h").read_text()
    assert main(["compile", str(path), "-o", str(out), "--emit", "c,obj"]) == 0
    assert (
        'TARGET "x86_64' in (out / "model.h").read_text() or os.uname()[4] != "x86_64"
    )


@pytest.mark.parametrize("kind", ["obj", "asm", "llvm", "shared"])
def test_no_machine_code(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    command = [
        "compile",
        str(path),
        "-o",
        str(tmp_path / "out"),
        "--target",
        "c99-none",
    ]
    assert main([*command, "--emit", kind]) == 1
    assert "c99-none" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_has_no_form_in_c() -> None:
    """An operation is named, with its place."""
    text = """\
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %init = tensor.empty() : tensor<4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>,
      affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%init : tensor<4xf64>) {
  ^bb0(%a: f64, %b: f64):
    %c = math.fma %a, %a, %a : f64
    linalg.yield %c : f64
  } -> tensor<4xf64>
  return %y : tensor<4xf64>
}
"""
    model = qlower.Model(parse_module(text, "model.mlir"))
    with pytest.raises(QlowerError, match=r"model.mlir:7:10: error: math.fma on f64"):
        str(portable(model, None).text("c"))


def test_two_levels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    compiled = qlower.compile(path, "x86_64-linux-gnu", ["x86-64", "x86-64-v3"])
    with pytest.raises(QlowerError, match="C source has one level"):
        compiled.text("c")


MISRA_DEVIATIONS = frozenset(
    (
        *(
            "2.2",
            "2.3",
            "2.5",
            "7.2",
            "8.9",
            "8.11",
            "8.14",
            "10.1",
            "10.3",
            "10.8",
            "11.5",
            "11.6",
        ),
        *("12.1", "12.3", "15.5", "18.4", "20.1"),
    )
)
"""Rules of MISRA C:2012 that the files break, as the documentation says."""

_MACROS = ("FLT_EVAL_METHOD=0", "FLT_RADIX=2", "FLT_MANT_DIG=24", "DBL_MANT_DIG=53")
_WITHOUT = ("QLOWER_ACLE", "__FAST_MATH__", "__GNUC__", "__cplusplus", "M_CANARIES")


@pytest.mark.long
def test_misra(tmp_path: Path) -> None:
    if shutil.which("cppcheck") is None:
        pytest.skip("cppcheck isn't installed")
    portable(qlower.load(DIGITS / "digits.mlir"), "tflite").save(tmp_path, ["c"])
    command = ["cppcheck", "--addon=misra", "--enable=style", "--std=c99"]
    command += [f"-D{macro}" for macro in _MACROS]
    command += [f"-U{macro}" for macro in _WITHOUT]
    done = subprocess.run(
        [*command, "m.c"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = set(re.findall(r"misra-c2012-([\d.]+)", done.stderr))
    assert found  # else it didn't read the file
    assert found <= MISRA_DEVIATIONS


def test_several_results_a_channel(tmp_path: Path) -> None:
    """Weights of a depthwise layer, whose taps lie apart, are summed as they lie."""
    weights = np.random.default_rng(2).integers(-127, 128, 72, np.int8).tobytes().hex()
    text = f"""\
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 40.0:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.5>
func.func @main(%x: tensor<1x5x7x1x!a>) -> tensor<1x3x5x8x!c> {{
  %w = qnn.constant dense<"0x{weights}"> : tensor<1x3x3x8xi8> -> tensor<1x3x3x8x!w>
  %y = qnn.depthwise_conv2d %x, %w
    {{stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}}
    : (tensor<1x5x7x1x!a>, tensor<1x3x3x8x!w>) -> tensor<1x3x5x8x!c>
  return %y : tensor<1x3x5x8x!c>
}}
"""
    model = qlower.Model(parse_module(text, "model.mlir"))
    image = np.random.default_rng(3).integers(-128, 128, (1, 5, 7, 1)).astype(np.int8)
    compiled = portable(model, "tflite")
    (result,) = built("gcc -O2").outputs(compiled, [image], tmp_path)
    expected = qlower.interpret(model, image, contract="tflite")
    np.testing.assert_array_equal(result, expected)
