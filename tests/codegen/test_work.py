"""What kernels are said to do, and the estimates that decide on tiles and threads, by
hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.values.stored import random_stored
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import Block, Region, SSAValue

from qlower.codegen.program import work
from qlower.codegen.program.compiled import Kernel
from qlower.codegen.program.team import is_worthwhile
from qlower.codegen.skeletons.contraction.tiling import VectorPlan
from qlower.codegen.skeletons.depthwise.emit import WindowPlan
from qlower.codegen.skeletons.loops import LoopPlan
from qlower.codegen.skeletons.products.step import StepCost, WeightLayout
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.dialects.kernel import YieldOp
from qlower.model.build import constant, make_model, quantized


def kernels() -> list[Kernel]:
    """Kernels of a convolution with stride 2 over 9 x 9 x 4, and a depthwise one with
    padding, for AArch64."""
    image, results = (1, 9, 9, 4), (1, 4, 4, 16)

    def layers(x: SSAValue) -> list[SSAValue]:
        first = qnn.Conv2DOp(
            x,
            constant(random_stored((16, 3, 3, 4)), quantized((16, 3, 3, 4), 0.1)),
            None,
            quantized(results, 2.0),
            stride=(2, 2),
        )
        second = qnn.DepthwiseConv2DOp(
            first.result,
            constant(random_stored((1, 3, 3, 16)), quantized((1, 3, 3, 16), 0.1)),
            None,
            quantized(results, 2.0),
            pad=(1, 1, 1, 1),
        )
        return [second.result]

    model = make_model([quantized(image, 0.5)], layers)
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    code = Compilation(model, "tflite", target).code
    return list(code.kernels)


def test_what_kernels_are_said_to_do() -> None:
    by_family = {kernel.family: kernel for kernel in kernels()}
    found = by_family["contraction"]
    assert found.products == 4 * 4 * 16 * 3 * 3 * 4
    assert found.results == 4 * 4 * 16
    assert (found.channels, found.step, found.takes_words) == (16, 2, False)
    # image, weights and results; words of a bias, multipliers and shifts on top
    least = 9 * 9 * 4 + 16 * 3 * 3 * 4 + 4 * 4 * 16
    assert least <= found.bytes <= least + 3 * 16 * 8
    assert found.operations > 0
    deep = by_family["depthwise"]
    assert deep.products == 4 * 4 * 16 * 3 * 3
    assert (deep.results, deep.channels, deep.step) == (4 * 4 * 16, 16, 1)
    assert deep.layer.startswith("depthwise_conv2d")
    assert deep.layers == (deep.layer,)


@pytest.mark.parametrize(
    ("nanoseconds", "threads", "pays"),
    [
        ([], 2, False),
        ([32_000], 2, True),
        ([31_999], 2, False),
        ([17_000, 17_000], 2, True),
        ([16_000, 17_000], 2, False),
        ([64_000 / 3], 4, True),
        ([64_000 / 3 - 1], 4, False),
        ([1e9, -1e9], 2, False),
    ],
)
def test_a_team_has_to_save_15_microseconds(
    nanoseconds: list[float], threads: int, pays: bool
) -> None:
    """Each kernel saves the share of the others, but for a microsecond to share it."""
    assert is_worthwhile(nanoseconds, threads) == pays


def region(count: int) -> Region:
    """One of that many operations, and others that compute nothing."""
    block = Block(arg_types=[i32])
    block.add_ops(AddiOp(block.args[0], block.args[0]) for _ in range(count))
    block.add_ops((YieldOp(), ConstantOp.from_int_and_width(1, 32)))
    return Region(block)


def plan(kind: type, **fields: Any) -> Any:
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def test_estimates_of_time() -> None:
    """At 3 GHz, half a cycle an operation and vector; 60 bytes a nanosecond at most."""
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    assert target.vector_bits == 128
    nest: Any = SimpleNamespace(
        parallel=(10, 12),
        bounds=(10, 12, 8),
        reduction=(8,),
        op=SimpleNamespace(init=region(2), epilogue=region(4), body=region(3)),
    )
    around = 0.5 * (120 / 4) * 6
    size = SimpleNamespace(
        activation=SimpleNamespace(operand=SimpleNamespace(element_bytes=2))
    )
    for skeleton, cycles in (
        (plan(LoopPlan), around + 0.5 * (120 / 4) * 8 * 3),
        (plan(VectorPlan, contraction=size), around + 960 * 2 / 16),
        (plan(WindowPlan), around + 0.5 * 960 / 4),
    ):
        found = work.estimated_nanoseconds(nest, skeleton, 60, target)
        assert found == pytest.approx(cycles / 3)
        moved = work.estimated_nanoseconds(nest, skeleton, 60_000, target)
        assert moved == pytest.approx(1000)
    copied: Any = SimpleNamespace(bytes=120)
    assert work.estimated_copy_nanoseconds(copied) == 2


def test_what_a_chunk_costs() -> None:
    """Its products and what is beside them, at least what is loaded or the latency;
    late loads and the fixed part come on top."""
    cost = StepCost(load=0.5, weight=0.25, row=2.0, late=0.125, fixed=1.0)
    beside = 0.5 * 3 + 0.25 * 2 + 2.0 * 4
    assert cost.of_chunk(3, 2, 4, 2) == 4 * 2 + beside + 0.125 * 5 + 1
    assert StepCost(shared=10).of_chunk(3, 2, 4, 2) == 50
    assert StepCost(latency=9).of_chunk(3, 2, 4, 2) == 9
    assert StepCost(latency=7).of_chunk(3, 2, 4, 2) == 8


class Overlapping(WeightLayout):
    def reads_again(self, length: int) -> bool:
        return length > 4


@pytest.mark.parametrize(
    ("layout", "length", "expected"),
    [
        (WeightLayout, 4, [[0, 1, 2, 3]]),
        (WeightLayout, 6, [[0, 1, 2, 3], [4, 5, -1, -1]]),
        (Overlapping, 6, [[0, 1, 2, 3], [-1, -1, 4, 5]]),
        (Overlapping, 8, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (Overlapping, 3, [[0, 1, 2, -1]]),
    ],
)
def test_which_numbers_chunks_multiply(
    layout: type[WeightLayout], length: int, expected: list[list[int]]
) -> None:
    """A last chunk that overlaps the one before multiplies no number again."""
    assert layout(16).positions(length).tolist() == expected


@pytest.mark.parametrize(
    ("bounds", "strides", "step"),
    [
        ((4, 4, 8), (72, 8, 0), 2),
        ((4, 1, 8), (72, 3, 0), 18),
        ((1, 1, 8), (72, 8, 0), 1),
        ((4, 4, 8), (0, 12, 1), 3),
        ((4, 4, 8), (-8, 16, 1), 4),
        ((4, 4, 8), (2, 16, 1), 1),
    ],
)
def test_the_distance_of_windows(
    bounds: tuple[int, ...], strides: tuple[int, ...], step: int
) -> None:
    """In pixels of 4 bytes, along loops that go on and aren't the channels'."""
    (image,) = Block(arg_types=[TensorType(i8, (9, 18, 4))]).args
    nest = SimpleNamespace(
        bounds=[*bounds, 3], parallel=bounds, op=SimpleNamespace(inputs=[None, image])
    )
    operand = SimpleNamespace(strides=[*strides, 1])
    products: Any = SimpleNamespace(
        nest=nest, lane=2, activation=SimpleNamespace(index=1, operand=operand)
    )
    assert vars(work)["_step"](products) == step
