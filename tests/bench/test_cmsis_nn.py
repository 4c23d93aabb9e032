"""Layers by CMSIS-NN's kernels: their calls, counts and outputs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import models_directory
from support.formats import edge_layers
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.bench.cmsis_nn import calls, count
from qlower.bench.cmsis_nn.calls import call_of
from qlower.bench.cmsis_nn.count import COMPILER, LayerCount, compare_layers
from qlower.bench.emulated import count_kernels
from qlower.cli import main
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

VARIABLE = "QLOWER_MAKERS"
MODELS = ("kws_dscnn_int8", "ic_resnet8_int8", "ad01_fc_autoencoder_int8")
RECORDED = {"kws_dscnn_int8": 7_697_654, "ic_resnet8_int8": 29_873_456}
"""Instructions of whole models, by the better of -O2 and -O3, from the tables."""


KINDS = (
    *("conv2d", "conv2d_grouped", "depthwise_conv2d", "fully_connected", "add"),
    *("average_pool", "max_pool", "softmax"),
)


def checkout() -> Path:
    """The checkout of CMSIS-NN; skips the test where it or a compiler is missing."""
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} names no folder with a checkout CMSIS-NN")
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} isn't installed")
    return Path(os.environ[VARIABLE]) / "CMSIS-NN"


def compared(path: Path, cpu: str = "cortex-m4") -> list[LayerCount]:
    """The layers of a model, beside CMSIS-NN's kernels."""
    target = resolve_target("thumbv7em-none-eabi", cpu)
    compilation = Compilation(path, "tflm", target)
    return compare_layers(compilation, count_kernels(compilation.object), checkout())


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_real_models(name: str) -> None:
    """No output differs, and counts are those that were recorded by other means."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    found = compared(path)
    assert sum(layer.differ for layer in found) == 0
    assert sum(layer.instructions for layer in found) < sum(one.theirs for one in found)
    if name in RECORDED:
        theirs = sum(layer.theirs for layer in found)
        assert theirs == pytest.approx(RECORDED[name], rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_layers_at_the_edges(kind: str, tmp_path: Path) -> None:
    """Strides, padding, dilation and activations give CMSIS-NN's outputs."""
    path = tmp_path / "model.tflite"
    for seed in range(3):
        path.write_bytes(edge_layers.LAYERS[kind](seed, "int8"))
        assert sum(layer.differ for layer in compared(path, "cortex-m7")) == 0, seed


def test_a_call() -> None:
    """A convolution's parameters are CMSIS-NN's: width before height, and offsets
    whose signs are turned."""
    module = qlower.Model(parse_module(SMALL_MODEL, "model.mlir")).module
    found = [call for op in layers(module) if (call := call_of(op)) is not None]
    assert found
    call = next(call for call in found if "conv" in call.kernel)
    assert call.arrays["weights"].dtype == "int8"
    multipliers = call.arrays["multipliers"]
    assert ((multipliers >= 1 << 30) & (multipliers < 1 << 31)).all()


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.75, (3 << 29, 0)),
        (1 - 2.0**-31, ((1 << 31) - 1, 0)),
        (1 - 2.0**-33, (1 << 30, 1)),  # its fraction is rounded to 1
        (2.0**-32, (1 << 30, -31)),
        (2.0**-33, (0, 0)),
    ],
)
def test_multipliers_are_those_of_tflite(
    ratio: float, expected: tuple[int, int]
) -> None:
    assert vars(calls)["_multiplier"](ratio) == expected


def test_a_layer_without_a_kernel() -> None:
    text = """\
!a = !quant.uniform<u8:f32, 0.5:3>
func.func @main(%x: tensor<1x4x4x2x!a>) -> tensor<1x2x2x2x!a> {
  %y = qnn.max_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
    : (tensor<1x4x4x2x!a>) -> tensor<1x2x2x2x!a>
  return %y : tensor<1x2x2x2x!a>
}
"""
    (op,) = layers(qlower.Model(parse_module(text, "model.mlir")).module)
    assert call_of(op) is None


def test_what_kernels_call_is_compiled_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a compiler that writes which file an object is of."""
    called = {"layers.c": {"a"}, "a.c": {"b", "memcpy"}, "b.c": set[str]()}
    sources = [tmp_path / "Source" / "Any" / f"{name}.c" for name in "abc"]
    sources[0].parent.mkdir(parents=True)
    for path in sources:
        path.write_text(f"int {path.stem}(void) {{ return 0; }}\n")
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> None:
        commands.append(command)
        Path(command[-1]).write_text(Path(command[-3]).name)

    def read(data: bytes) -> Any:
        name = data.decode()
        defined = {name.removesuffix(".c")}
        return SimpleNamespace(defined_symbols=defined, external_symbols=called[name])

    monkeypatch.setattr(count, "_run", run)
    monkeypatch.setattr(count, "read_object", read)
    target = resolve_target("thumbv7em-none-eabi", "cortex-m4")
    assert vars(count)["_built"]([], sources, target)
    *compiled, linked = commands
    assert [Path(one[-3]).name for one in compiled] == list(called)
    objects = [Path(one[-1]).name for one in compiled]
    assert [Path(one).name for one in linked if one.endswith(".o")][:3] == objects
    assert len(set(objects)) == 3


HEADER = """\
#include <stdint.h>
typedef struct { void *buf; int32_t size; } cmsis_nn_context;
typedef struct { int32_t n, h, w, c; } cmsis_nn_dims;
typedef struct { int32_t w, h; } cmsis_nn_tile;
typedef struct { int32_t min, max; } cmsis_nn_activation;
typedef struct {
  cmsis_nn_tile stride, padding;
  cmsis_nn_activation activation;
} cmsis_nn_pool_params;
int32_t arm_max_pool_s8(const cmsis_nn_context *, const cmsis_nn_pool_params *,
                        const cmsis_nn_dims *, const int8_t *, const cmsis_nn_dims *,
                        const cmsis_nn_dims *, int8_t *);
"""
KERNEL = """\
#include "arm_nnfunctions.h"
int32_t arm_max_pool_s8(const cmsis_nn_context *context,
                        const cmsis_nn_pool_params *params, const cmsis_nn_dims *given,
                        const int8_t *x, const cmsis_nn_dims *taps,
                        const cmsis_nn_dims *made, int8_t *y) {
  (void)context;
  for (int32_t i = 0; i < made->h; i++)
    for (int32_t j = 0; j < made->w; j++)
      for (int32_t c = 0; c < given->c; c++) {
        int8_t most = -128;
        for (int32_t u = 0; u < taps->h; u++)
          for (int32_t v = 0; v < taps->w; v++) {
            const int32_t row = i * params->stride.h + u - params->padding.h;
            const int32_t column = j * params->stride.w + v - params->padding.w;
            const int8_t one = x[(row * given->w + column) * given->c + c];
            most = one > most ? one : most;
          }
        most = most > params->activation.max ? params->activation.max : most;
        y[(i * made->w + j) * given->c + c] = STORED;
      }
  return STATUS;
}
"""
POOLS = """\
!a = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%x: tensor<1x6x4x5x!a>) -> tensor<1x2x1x5x!a> {
  %y = qnn.max_pool2d %x {kernel = [2, 1], stride = [2, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x6x4x5x!a>) -> tensor<1x3x4x5x!a> loc("first")
  %z = qnn.max_pool2d %y {kernel = [2, 4], stride = [1, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x3x4x5x!a>) -> tensor<1x2x1x5x!a> loc("last")
  return %z : tensor<1x2x1x5x!a>
}
"""


def pools(
    folder: Path, *, stored: str = "most", status: str = "0", triple: str = ""
) -> list[LayerCount]:
    """Two layers beside a kernel of this test's own, in folders as CMSIS-NN has."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} isn't installed")
    source = folder / "Source" / "PoolingFunctions" / "arm_max_pool_s8.c"
    source.parent.mkdir(parents=True)
    source.write_text(KERNEL.replace("STORED", stored).replace("STATUS", status))
    (folder / "Include").mkdir()
    (folder / "Include" / "arm_nnfunctions.h").write_text(HEADER)
    path = folder / "model.mlir"
    path.write_text(POOLS)
    target = resolve_target(triple or "thumbv7em-none-eabi", None)
    compilation = Compilation(path, "tflm", target)
    return compare_layers(compilation, count_kernels(compilation.object), folder)


@pytest.mark.parts(5)
def test_a_kernel_is_counted_and_compared(tmp_path: Path) -> None:
    first, last = pools(tmp_path)
    assert (first.layer, last.layer) == ("first", "last")
    assert {first.kernels, last.kernels} == {"arm_max_pool_s8"}
    assert (first.differ, last.differ) == (0, 0)
    # 60 results of 2 elements, and 10 of 8
    assert 60 * 2 * 8 < first.theirs < 60 * 2 * 60
    assert 10 * 8 * 8 < last.theirs < 10 * 8 * 60
    for layer in (first, last):
        assert layer.their_cycles >= layer.theirs
        assert layer.cycles >= layer.instructions > 0
        assert layer.ratio == layer.instructions / layer.theirs


def test_outputs_that_differ_are_counted(tmp_path: Path) -> None:
    """In both layers, each from its own inputs."""
    first, last = pools(tmp_path, stored="c == 1 ? (most ^ 1) : most")
    assert (first.differ, last.differ) == (3 * 4, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"status": "-1"}, "CMSIS-NN refuses layer 0"),
        (
            {"triple": "thumbv6m-none-eabi"},
            "--cmsis-nn: its kernels aren't counted for thumbv6m-unknown-none-eabi",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError) as refusal:
        pools(tmp_path, **given)
    assert refusal.value.message == message


def test_a_kernel_that_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=rf"{COMPILER}: .*arm_max_pool_s8\.c:.*error"):
        pools(tmp_path, stored="most +")


def test_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} isn't installed")
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    command = ["bench", str(path), "--emulate", "--target", "thumbv7em-none-eabi"]
    assert main([*command, "--cmsis-nn", str(tmp_path)]) == 1
    assert "there is no Include/arm_nnfunctions.h" in capsys.readouterr().err
