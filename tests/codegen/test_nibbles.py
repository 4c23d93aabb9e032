"""Weights of 4 bits: two in a byte where that pays, and the bits that bytes give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.lanes import a_part
from support.layers.windows import Window, build
from support.machines.native import compile_text, guarded_runs, levels, run_object

import qlower
from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.skeletons.contraction.tiling import choose_step, plan_vectors
from qlower.codegen.skeletons.products.halves import HalvesOfNibbles
from qlower.codegen.skeletons.products.nibbles import Nibbles
from qlower.codegen.skeletons.products.packing import Weights
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

CORTEX_M4 = levels()["cortex-m4"]

DENSE = Window(1, 1, 70, 30, nibbles=True)

WINDOWS = [
    *(replace(DENSE, channels=256 + rest, outputs=8 + rest) for rest in range(9)),
    *(replace(DENSE, unsigned_x=x, zero_x=9) for x in (False, True)),
    *(replace(DENSE, unsigned_w=True, zero_w=zero) for zero in (0, 7, -128, None)),
    *(replace(DENSE, zero_w=zero, zero_x=-128) for zero in (-8, 1, None)),
    *(replace(DENSE, every_w=w, every_x=x) for w in (-8, 7) for x in (-128, 127)),
    Window(3, 5, 67, 33, nibbles=True, zero_x=-5),
    Window(5, 4, 13, 29, (3, 2), (2, 1), nibbles=True),
    Window(6, 6, 7, 33, (3, 3), dilation=(1, 2), nibbles=True),
    Window(3, 4, 90, 72, groups=3, nibbles=True, unsigned_x=True, zero_x=100),
    Window(4, 4, 60, 40, nibbles=True, narrow=True, zero_x=7),
    Window(4, 4, 60, 40, nibbles=True, narrow=True, unsigned_w=True, zero_w=8),
]

PACKED = {
    name: target
    for name, target in levels().items()
    if target.triple.startswith("aarch64")
    or (target.triple.startswith("x86_64") and name not in ("x86-64", "host"))
}
"""Targets without halves that have products for such weights."""


def recognised(text: str) -> Contraction:
    """The module's nest."""
    (nest,) = (op for op in parse_module(text).walk() if isinstance(op, NestOp))
    found = recognise(analyse(nest))
    assert isinstance(found, Contraction)
    return found


def has_nibbles(text: str) -> bool:
    """Whether the module's nest has a step for such weights."""
    contraction = recognised(text)
    step, _ = choose_step(CORTEX_M4, contraction, Weights(contraction))
    return isinstance(step, HalvesOfNibbles)


@pytest.mark.parametrize(("nibbles", "tile"), [(False, (2, 2)), (True, (1, 3))])
def test_tiles_fit_registers(nibbles: bool, tile: tuple[int, int]):
    """Halves of eight activations leave room for a sum less than those of four."""
    text, _, _ = build(Window(6, 6, 64, 64, nibbles=nibbles), seed=1)
    contraction = recognised(text)
    weights = Weights(contraction)
    tiling = plan_vectors(CORTEX_M4, contraction, weights, None).tiling
    assert (tiling.height, tiling.width) == tile


@pytest.mark.parts(12)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_sums(case: Window):
    """All rests of words, signs and offsets; nothing beyond an input is read."""
    text, x, want = build(case, seed=case.channels)
    assert has_nibbles(text)
    for (found,) in guarded_runs(compile_text(text, CORTEX_M4), [x]):
        np.testing.assert_array_equal(found.reshape(want.shape), want)


@pytest.mark.parametrize(
    "case",
    [
        replace(DENSE, nibbles=False),
        replace(DENSE, every_w=8),
        replace(DENSE, every_w=-9),
        replace(DENSE, unsigned_w=True, every_w=16),
        replace(DENSE, channels=1024, outputs=7),
        Window(9, 9, 1, 99, (9, 4), nibbles=True),
        Window(3, 3, 45, 45, nibbles=True),
        replace(DENSE, words=True),
    ],
    ids=str,
)
def test_bytes_stay(case: Window):
    """Of greater weights, of few, where few channels or activations share a sum, and
    beside activations of 16 bits."""
    text, _, _ = build(case, seed=1)
    assert not has_nibbles(text)


WHOLE = Window(7, 14, 16, 16, (3, 9), groups=16, depthwise=True, nibbles=True)
"""Lines are too long for routines, which take weights as bytes."""


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    "case",
    [
        WHOLE,
        replace(WHOLE, zero_x=-128, padding=(1, 1, 1, 1), border=-128),
        replace(WHOLE, unsigned_x=True, zero_x=9, stride=(2, 1), kernel=(2, 9)),
        replace(WHOLE, channels=5, outputs=5, groups=5, narrow=True, dilation=(2, 1)),
        replace(WHOLE, every_w=-8, every_x=-128),
        replace(WHOLE, words=True),
    ],
    ids=str,
)
def test_depthwise(case: Window):
    """Four weights lie in 16 bits on a Cortex-M4."""
    text, x, want = build(case, seed=2)
    other, _, _ = build(_bytes(case), seed=2)
    codes = [compile_text(part, CORTEX_M4) for part in (text, other)]
    for (found,) in guarded_runs(codes[0], [x]):
        np.testing.assert_array_equal(found.reshape(want.shape), want)
    sizes = [sum(map(len, code.objects)) for code in codes]
    assert sizes[0] < sizes[1]


def _bytes(case: Window) -> Window:
    """The same with weights that 4 bits don't hold."""
    return replace(case, nibbles=False, narrow=False, every_w=None)


def step_of(level: str, case: Window) -> str:
    """The name of the step that a level has for a window."""
    contraction = recognised(build(case, seed=1)[0])
    step, _ = choose_step(PACKED[level], contraction, Weights(contraction))
    return type(step).__name__


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small layers have packed weights too."""

    def pays(self: Nibbles, count: int, uses: int) -> bool:
        return True

    monkeypatch.setattr(Nibbles, "pays", pays)


@pytest.mark.parts(5)
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("level", PACKED)
def test_sums_elsewhere(level: str):
    """A third of the same windows, at each level another."""
    for case in a_part(WINDOWS, 3, list(PACKED).index(level)):
        text, x, want = build(case, seed=case.channels)
        for (found,) in guarded_runs(compile_text(text, PACKED[level]), [x]):
            np.testing.assert_array_equal(found.reshape(want.shape), want, str(case))


@pytest.mark.parametrize(
    ("level", "dense", "small", "image"),
    [
        ("x86-64-v2", "SummedNibbles", "Pairs", "SummedNibbles"),
        ("x86-64-v3", "SummedNibbles", "Pairs", "SummedNibbles"),
        ("x86-64-v4", "SummedNibbles", "Pairs", "SummedNibbles"),
        ("avxvnni", "BroadcastNibbles", "BroadcastBytes", "BroadcastBytes"),
        ("avx512vnni", "BroadcastNibbles", "BroadcastBytes", "BroadcastBytes"),
        (
            "aarch64 baseline",
            "SelectedSingleNibbles",
            "SelectedSingles",
            "SelectedSingleNibbles",
        ),
        ("aarch64 dotprod", "SelectedBytes", "SelectedBytes", "SelectedBytes"),
    ],
)
def test_what_pays(level: str, dense: str, small: str, image: str):
    """By the number of weights, and of pixels that use each."""
    if level not in PACKED:
        pytest.skip(f"this machine doesn't run {level}")
    case = replace(DENSE, channels=128, outputs=128)
    assert step_of(level, case) == dense
    assert step_of(level, replace(case, outputs=127)) == small
    assert step_of(level, replace(case, height=3)) == image
    assert step_of(level, replace(case, nibbles=False)) == small


def test_far_memory():
    """Beside SDOT weights must be more than near caches hold."""
    case = replace(DENSE, channels=1024, outputs=1024)
    assert step_of("aarch64 dotprod", case) == "SelectedNibbles"


def layer(operator: str, bits: int, random: np.random.Generator) -> bytes:
    """A layer of 64 x 256 weights of so many bits."""
    is_dense = operator == "FULLY_CONNECTED"
    shape = (64, 256) if is_dense else (64, 4, 4, 16)
    given, result = ((1, 256), (1, 64)) if is_dense else ((1, 5, 5, 16), (1, 2, 2, 64))
    weights = random.integers(-(1 << bits - 1), 1 << bits - 1, 64 * 256, np.int8)
    if bits == 4:
        weights = (weights[::2] & 15) | (weights[1::2] << 4)
    bias = np.arange(-3200, 3200, 100, dtype=np.int32)
    builder = TFLiteBuilder()
    x = builder.tensor("x", given, "int8", scale=0.05, zero_point=-3)
    data = weights.tobytes()
    w = builder.tensor("w", shape, f"int{bits}", scale=0.05, data=data)
    b = builder.tensor("b", bias.shape, "int32", data=bias)
    y = builder.tensor("y", result, "int8", scale=2.0 * bits, zero_point=1)
    window = {"padding": 1, "stride_h": 1, "stride_w": 1}
    builder.operator(operator, [x, w, b], [y], {} if is_dense else window)
    return builder.build([x], [y])


@pytest.mark.parts(10)
@pytest.mark.parametrize("operator", ["FULLY_CONNECTED", "CONV_2D"])
def test_flash(operator: str, tmp_path: Path):
    """Layers of a TFLite file: the interpreter's bits from half of the constants."""
    random = np.random.default_rng(4)
    constants: list[int] = []
    for bits in (8, 4):
        path = tmp_path / f"layer{bits}.tflite"
        path.write_bytes(layer(operator, bits, random))
        compiled = qlower.compile(path, target=CORTEX_M4.triple, cpu=CORTEX_M4.cpu)
        size = compiled.memory().constants
        assert size is not None
        constants.append(size)
        model = qlower.load(path)
        arith = lower_to_arith(model.module)
        code = generate_code(lower_to_kernel(arith, CORTEX_M4), CORTEX_M4)
        x = random.integers(-128, 128, model.inputs[0].shape, np.int8)
        (found,) = run_object(code, [x])
        np.testing.assert_array_equal(found, qlower.interpret(model, x, at="qnn"))
    assert constants[1] < 0.6 * constants[0]
