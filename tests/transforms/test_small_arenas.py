"""Code that has inputs, outputs and layers in a small arena gives the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import models_directory
from support.layers.random_networks import random_network
from support.layers.windows import Window, build
from support.machines.native import kernel_module
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import resolve_target
from qlower.codegen.targets.set_target import SetTargetPass
from qlower.compilation.compilation import Compilation
from qlower.dialects.kernel import ARENA_INPUTS, ARENA_OUTPUTS, arena_offsets
from qlower.emulation.emulator import EmulatedExecutable
from qlower.model.entry import main_function
from qlower.model.random_inputs import random_input
from qlower.text.context import make_context
from qlower.transforms.plan_memory import PlanMemoryPass, place_padding
from qlower.transforms.split_layers.choose import Layers

pytest.importorskip("unicorn")

TIGHT = resolve_target("thumbv7em-none-eabi", "cortex-m4").optimized("ram")

POINTS = Window(6, 7, 16, 4)
IMAGE = Window(9, 8, 8, 4, (3, 3), zero_x=-128)
DEEP = Window(9, 8, 8, 8, (3, 3), groups=8, depthwise=True)
PADDED = replace(DEEP, padding=(1, 1, 1, 1), border=-128, zero_x=-128)

WINDOWS = [
    *(replace(POINTS, width=width, outputs=n) for width in (1, 2, 5) for n in (5, 8)),
    *(replace(IMAGE, stride=(step, step)) for step in (1, 2)),
    replace(IMAGE, kernel=(5, 2), dilation=(1, 3)),
    replace(IMAGE, kernel=(1, 8)),
    replace(IMAGE, groups=2, outputs=16),
    *(replace(DEEP, channels=n, outputs=n, groups=n) for n in (3, 33, 70)),
    *(replace(PADDED, width=width, stride=(1, 2)) for width in (4, 7, 13)),
    replace(PADDED, kernel=(5, 5), padding=(2, 2, 2, 2), stride=(2, 2)),
]


def run_in_arena(
    compiled: CompiledObject, kernels: ModuleOp, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    """The outputs of a call whose inputs and outputs lie in the arena."""
    function = main_function(kernels)
    offsets = [
        *arena_offsets(function, ARENA_INPUTS),
        *arena_offsets(function, ARENA_OUTPUTS),
    ]
    assert len(offsets) == len(inputs) + len(compiled.signature.results)
    return EmulatedExecutable(compiled, offsets)(inputs)


@pytest.mark.parts(4)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_a_layer_over_its_input(case: Window) -> None:
    text, x, want = build(case, seed=case.channels)
    module = kernel_module(text).clone()
    for each in (SetTargetPass.of(TIGHT), PlanMemoryPass(TIGHT.alignment)):
        each.apply(make_context(), module)
    compiled = compile_module(module, TIGHT)
    (found,) = run_in_arena(compiled, module, [x])
    np.testing.assert_array_equal(found.reshape(want.shape), want)


RETURNED = """
func.func @main(%x: tensor<24xi8>) -> (tensor<24xi8>, tensor<24xi8>, tensor<24xi8>) {
  %y = kernel.nest map parallel [24]
    maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<24xi8>) epilogue {
    ^bb0(%v: i8):
      %r = arith.addi %v, %v : i8
      kernel.yield %r : i8
    } -> tensor<24xi8>
  return %x, %y, %y : tensor<24xi8>, tensor<24xi8>, tensor<24xi8>
}
"""


def test_outputs_that_are_copied() -> None:
    """An input that is returned, and a result that is returned twice."""
    module = kernel_module(RETURNED).clone()
    for each in (SetTargetPass.of(TIGHT), PlanMemoryPass(TIGHT.alignment)):
        each.apply(make_context(), module)
    x = np.arange(24, dtype=np.int8)
    found = run_in_arena(compile_module(module, TIGHT), module, [x])
    for one, want in zip(found, (x, 2 * x, 2 * x), strict=True):
        np.testing.assert_array_equal(one, want)


@pytest.mark.parts(8)
@pytest.mark.parametrize("seed", range(8))
def test_networks(seed: int) -> None:
    model = qlower.Model(random_network(seed))
    compilation = Compilation(model, "tflite", TIGHT)
    random = np.random.default_rng(seed)
    inputs = [random_input(spec, random) for spec in model.inputs]
    found = run_in_arena(compilation.object, compilation.kernels, inputs)
    wanted = Compilation(model, "tflite").function()(*inputs)
    results = [wanted] if isinstance(wanted, np.ndarray) else wanted
    for one, other in zip(found, results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parts(5)
@pytest.mark.parametrize("seed", [6, 10, 19, 22, 26])
def test_bands(seed: int) -> None:
    """Layers in bands of rows, whatever the planner of memory would say of it."""
    model = qlower.Model(random_network(seed))
    compilation = Compilation(model, "tflite", TIGHT)
    random = np.random.default_rng(seed)
    inputs = [random_input(spec, random) for spec in model.inputs]
    wanted = Compilation(model, "tflite").function()(*inputs)
    results = [wanted] if isinstance(wanted, np.ndarray) else wanted
    block = main_function(compilation.kernels).body.block
    place_padding(block)
    splits = Layers(block).best_splits()
    assert splits
    for split in splits:
        module = compilation.kernels.clone()
        split.apply(main_function(module).body.block)
        PlanMemoryPass(TIGHT.alignment).apply(make_context(), module)
        module.verify()
        found = run_in_arena(compile_module(module, TIGHT), module, inputs)
        for one, other in zip(found, results, strict=True):
            np.testing.assert_array_equal(one, other)


MODELS = {
    "kws_dscnn_int8": 12_000,
    "micro_speech_int8": 5_000,
    "micro_kws_m_int8": 20_000,
    "ic_resnet8_int8": 31_000,
    "person_detect_int8": 36_000,
    "vww_mobilenetv1_025_96_int8": 48_000,
}
"""Bytes that an arena takes at most. Without bands the last four take 32,824, 36,144,
46,464 and 55,880."""


LARGEST = "person_detect_int8", "vww_mobilenetv1_025_96_int8"


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("name", "most"),
    [
        pytest.param(*item, marks=[pytest.mark.long] if item[0] in LARGEST else [])
        for item in MODELS.items()
    ],
)
def test_models(name: str, most: int) -> None:
    """Their arenas, with inputs and outputs, are below what CMSIS-NN's plan takes."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    compilation = Compilation(path, "tflm", TIGHT)
    compiled = compilation.object
    assert compiled.arena_bytes <= most
    golden = np.load(path.with_name("golden.npz"))["ref"][:2]
    inputs = np.load(path.with_name("inputs.npz"))["x"][:2]
    for x, want in zip(inputs, golden, strict=True):
        (found,) = run_in_arena(compiled, compilation.kernels, [x[None]])
        np.testing.assert_array_equal(found.ravel(), want.ravel())
