"""Schedules change how fast code is, and nothing else; measured ones are remembered."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.layers.random_layers import LAYERS, random_layer_inputs
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

import qlower
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.kernel import NestOp, Schedule, TileAttr, TileRegistersAttr
from qlower.dialects.quant import QuantizedType
from qlower.kept.cache import keep_entry
from qlower.model.build import constant, make_module, quantized
from qlower.runtime import tuning
from qlower.runtime.executable import Executable
from qlower.runtime.tuning import tune
from qlower.text.parsing import parse_module


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.tflite"
    path.write_bytes(LAYERS["conv2d"](0, "int8"))
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parts(3)
@pytest.mark.parametrize("tile", [(1, 1), (3, 2), (64, 8)])
def test_any_tile_gives_the_same_bits(tile: tuple[int, int], layer: Path):
    model = qlower.load(layer)
    kernel = lower_to_kernel(lower_to_arith(model.module), host_target())
    inputs = random_layer_inputs(model, 0)
    expected = Executable(generate_code(kernel, host_target()))(inputs)
    assert schedule(kernel, TileAttr(*tile)) > 0
    found = Executable(generate_code(kernel, host_target()))(inputs)
    np.testing.assert_array_equal(found, expected)


def test_tile_registers_that_are_not_there(layer: Path):
    target = resolve_target("x86_64-linux-gnu", "x86-64-v3")
    kernel = lower_to_kernel(lower_to_arith(qlower.load(layer).module), target)
    assert schedule(kernel, TileRegistersAttr()) > 0
    with pytest.raises(QlowerError, match="x86-64-v3 has no tile registers for this"):
        generate_code(kernel, target)


def schedule(kernel: ModuleOp, chosen: Schedule) -> int:
    """Give all contractions a schedule; how many there are."""
    nests = [op for op in kernel.walk() if isinstance(op, NestOp)]
    contractions = [op for op in nests if op.family.data == "contraction"]
    for op in contractions:
        op.schedule = chosen
    return len(contractions)


def test_tuned_code_gives_the_same_bits(layer: Path, cache: Path):
    inputs = random_layer_inputs(qlower.load(layer), 0)
    tuned = qlower.jit(layer, tune=True)
    np.testing.assert_array_equal(tuned(*inputs), qlower.jit(layer)(*inputs))
    assert list(cache.glob("*.tuned"))


def test_what_was_measured_is_remembered(
    layer: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    qlower.jit(layer, tune=True)
    (file,) = cache.glob("*.tuned")
    keep_entry(file, b"#kernel.tile<3, 1>")

    def measured(*arguments: object) -> None:
        raise AssertionError("measured again")

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "_fastest", measured)
        compiled = qlower.compile(layer, tune=True)
    (kernel,) = compiled.kernels
    assert "schedule #kernel.tile<3, 1>" in str(kernel)
    file.write_text("damaged <")
    qlower.compile(layer, tune=True)
    assert b"#kernel.tile" in file.read_bytes()


def test_another_machine_is_refused(layer: Path):
    with pytest.raises(QlowerError, match="can't be timed on this machine"):
        qlower.compile(layer, "riscv64-linux-gnu", tune=True)


def test_other_shapes_are_measured_anew(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is remembered belongs to types, not to weights."""
    target = host_target()
    monkeypatch.setattr(tuning, "_fastest", lambda *_: TileAttr(1, 1))
    for size in (4, 4, 5):
        model = qlower.Model(product_of(size))
        tune(lower_to_kernel(lower_to_arith(model.module, "tflite"), target), target)
    assert len(list(cache.glob("*.tuned"))) == 2


def product_of(size: int) -> ModuleOp:
    """Drawn weights of `size` outputs."""
    weights = np.random.default_rng().integers(-9, 9, (size, 8)).astype(np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5))
        return [qnn.LinearOp(x, w, None, quantized((4, size), 0.5)).result]

    return make_module([quantized((4, 8), 0.5)], body)


def test_schedules_are_of_shapes_not_of_numbers() -> None:
    """And of shapes that stand in constants alone."""
    text = """func.func @f() {
  %c = arith.constant dense<VALUE> : tensor<SIZExi8>
  return
}"""
    v3 = resolve_target("x86_64-linux-gnu", "x86-64-v3")
    key = vars(import_module("qlower.runtime.tuning"))["_key"]
    keys = [
        key(parse_module(text.replace("SIZE", size).replace("VALUE", value)), target)
        for size, value, target in (
            ("4", "[1, 2, 3, 4]", v3),
            ("4", "[1, 2, 3, 5]", v3),
            ("5", "7", v3),
            ("4", "[1, 2, 3, 4]", resolve_target("x86_64-linux-gnu", "x86-64-v2")),
        )
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


@pytest.mark.parts(5)
def test_other_reads_are_measured_anew(cache: Path, monkeypatch: pytest.MonkeyPatch):
    """Nests of the same loops, whose types or places of what they read differ."""
    target = host_target()
    monkeypatch.setattr(tuning, "_fastest", lambda *_: TileAttr(1, 1))
    for dilation, bits in ((1, 8), (2, 8), (1, 16), (2, 8)):
        model = qlower.Model(window_of(dilation, bits))
        tune(lower_to_kernel(lower_to_arith(model.module, "tflite"), target), target)
    assert len(list(cache.glob("*.tuned"))) == 3


def window_of(dilation: int, bits: int) -> ModuleOp:
    """A convolution with 4x4 outputs, whose taps lie `dilation` apart."""
    weights = np.ones((8, 3, 3, 8), np.int8)
    size = 4 + 2 * dilation
    element = QuantizedType.per_tensor(bits, True, 0.5, 0)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5))
        y = TensorType(element, (1, 4, 4, 8))
        window = {"stride": (1, 1), "pad": (0, 0, 0, 0)}
        conv = qnn.Conv2DOp(x, w, None, y, **window, dilation=(dilation, dilation))
        return [conv.result]

    return make_module([TensorType(element, (1, size, size, 8))], body)
