"""Code for Cortex-M55, RVV and 32-bit NEON: inner loops, and bits under QEMU."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats import edge_layers
from support.layers import random_layers
from support.layers.run_files import RUN_TESTS, RunTest
from support.layers.windows import Window, build
from support.machines.native import compile_text, guarded_runs, run_object
from support.machines.qemu import (
    ArmNeon,
    CortexM55,
    QemuExecutable,
    RiscvVectors,
    WideRiscvVectors,
)

import qlower
from qlower.codegen.program.machine_code import assembly_text
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.emulation.emulator import EmulatedExecutable
from qlower.text.parsing import parse_module

TARGETS = {
    "cortex-m55": resolve_target("thumbv8.1m.main-none-eabi", "cortex-m55"),
    "rvv": resolve_target("riscv64-linux-gnu", None, "+v"),
    "cortex-a7": resolve_target("armv7-linux-gnueabihf", "cortex-a7"),
}
machines = pytest.mark.parametrize("machine", TARGETS)

DENSE = Window(1, 1, 64, 16)
POINTS = Window(5, 3, 16, 8)
IMAGE = Window(7, 6, 8, 12, (3, 3), zero_x=-128)
DEEP = Window(9, 8, 8, 8, (3, 3), groups=8, depthwise=True)
PADDED = replace(DEEP, padding=(1, 1, 1, 1), border=-128, zero_x=-128)

WINDOWS = [
    *(replace(DENSE, channels=channels) for channels in (1, 3, 15, 17, 31, 48, 100)),
    *(replace(DENSE, outputs=outputs, zero_x=5) for outputs in (1, 5, 9, 33, 130)),
    *(replace(POINTS, width=width, unsigned_x=True, zero_x=7) for width in (1, 2, 4)),
    *(replace(POINTS, outputs=outputs) for outputs in (3, 6, 7)),
    *(replace(POINTS, every_x=x, every_w=w) for x in (-128, 127) for w in (-128, 127)),
    replace(POINTS, unsigned_w=True, zero_w=0, outputs=70),
    replace(POINTS, unsigned_w=True, zero_w=None, channels=7),
    replace(POINTS, words=True, channels=11),
    replace(POINTS, words=True, channels=5),
    IMAGE,
    replace(IMAGE, channels=3, stride=(2, 2)),
    replace(IMAGE, channels=7, dilation=(2, 1), unsigned_x=True, zero_x=200),
    replace(IMAGE, groups=2, kernel=(2, 5)),
    *(replace(DEEP, kernel=(height, width)) for height, width in ((1, 8), (5, 5))),
    *(replace(DEEP, channels=n, outputs=n, groups=n) for n in (2, 3, 5, 33, 70)),
    *(replace(PADDED, width=width) for width in (4, 5, 7, 13, 21)),
    *(replace(PADDED, stride=stride) for stride in ((2, 2), (1, 3))),
    replace(PADDED, dilation=(2, 2), unsigned_x=True, zero_x=200, border=-56),
    replace(DEEP, unsigned_w=True, zero_w=128, every_x=-128),
    replace(DEEP, every_x=-128, every_w=-128),
    replace(DEEP, words=True),
]


@pytest.mark.parametrize(
    ("machine", "product", "products", "loads", "length"),
    [
        ("cortex-m55", "vmlava.s8", 6, 5, 12),
        ("rvv", "vwmacc.vx", 24, 20, 60),
        ("cortex-a7", "vmlal.s16", 64, 18, 130),
    ],
)
def test_loops_are_of_few_instructions(
    machine: str, product: str, products: int, loads: int, length: int
) -> None:
    """For 96, 384 and 256 products."""
    text, _, _ = build(replace(POINTS, channels=64, outputs=48, width=6), seed=1)
    code = compile_text(text, TARGETS[machine]).llvm_text
    assembly = assembly_text(code, TARGETS[machine])
    loops = re.findall(
        r"\n\.LBB\S+:.*\n((?:\t[^.]\S*(?:\t.*)?\n)*?\t(?:le|b\w*)\t)", assembly
    )
    sums = next(loop for loop in loops if loop.count(product) == products)
    assert len(re.findall(r"\t(?:vldr|vld1|lb|vle)", sums)) == loads
    assert sums.count("\n") < length


@machines
def test_no_other_emulator_runs_it(machine: str) -> None:
    text, _, _ = build(DENSE, seed=1)
    with pytest.raises(QlowerError, match="there is no emulator"):
        EmulatedExecutable(compile_text(text, TARGETS[machine]))


def test_a_cpu_with_vectors() -> None:
    named = resolve_target("riscv64-linux-gnu", "sifive-x280")
    assert named.vector_bits == TARGETS["rvv"].vector_bits


@pytest.mark.long
@machines
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_sums(machine: str, case: Window) -> None:
    text, x, want = build(case, seed=case.channels)
    for (found,) in guarded_runs(compile_text(text, TARGETS[machine]), [x]):
        np.testing.assert_array_equal(found.reshape(want.shape), want)


@pytest.mark.long
@machines
@pytest.mark.parametrize("test", RUN_TESTS, ids=str)
def test_run_files(machine: str, test: RunTest) -> None:
    for contract in test.contracts:
        model = qlower.Model(parse_module(test.text, str(test.path)))
        compiled = Compilation(model, contract or None).for_target(TARGETS[machine])
        outputs = run_object(compiled.object, test.inputs(model))
        values = [value for array in outputs for value in array.reshape(-1).tolist()]
        assert values == test.expected[contract], f"{test} {contract}"


@pytest.mark.long
@machines
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("layers", [edge_layers.LAYERS, random_layers.LAYERS])
def test_layers_of_any_size(
    machine: str,
    layers: Mapping[str, Callable[[int, str], bytes]],
    dtype: str,
    tmp_path: Path,
) -> None:
    for kind, make in layers.items():
        path = tmp_path / f"{kind}.tflite"
        path.write_bytes(make(1, dtype))
        inputs = random_layers.random_layer_inputs(qlower.load(path), 1)
        compiled = Compilation(path, "tflite").for_target(TARGETS[machine])
        (given,) = run_object(compiled.object, inputs)
        wanted = qlower.jit(path, "tflite")(*inputs)
        assert given.tobytes() == wanted.tobytes(), path


@pytest.mark.long
@pytest.mark.parametrize(
    ("run_by", "machine"),
    [
        *((CortexM55, "cortex-m55"), (RiscvVectors, "rvv"), (WideRiscvVectors, "rvv")),
        (ArmNeon, "cortex-a7"),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        *("ic_resnet8_int8", "kws_dscnn_int8", "vww_mobilenetv1_025_96_int8"),
        *("ad01_fc_autoencoder_int8", "micro_speech_int8", "person_detect_int8"),
    ],
)
def test_real_models(name: str, run_by: type[QemuExecutable], machine: str) -> None:
    """By a contract of integers and one of floats."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    target = TARGETS[machine]
    for contract in ("tflm", "tflite-xnnpack"):
        compiled = Compilation(path, contract).for_target(target).object
        run, wanted = run_by(compiled), qlower.jit(path, contract)
        (spec,) = wanted.inputs
        x = np.random.default_rng(1).integers(-128, 128, (3, *spec.shape))
        for given in x.astype(spec.dtype):
            np.testing.assert_array_equal(run([given])[0], wanted(given))
