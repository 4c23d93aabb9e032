"""Networks with planted constant channels: the same results without them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.layers.random_networks import random_network
from support.machines.native import guarded_runs, levels
from support.values.stored import random_stored
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.compilation.passes import apply_passes
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.interp import Array, run_function
from qlower.model.entry import main_function
from qlower.process.float_environment import default_floats
from qlower.tally import tallied
from qlower.transforms.drop_channels import DROPPED, DropChannelsPass
from qlower.transforms.form_kernels import FormKernelsPass

CONTRACTS = ("tflite", "tflite-xnnpack", "onnxruntime", "tvm", "pytorch-qnnpack")

LEVELS = sorted(levels())


@pytest.mark.parts(20)
@pytest.mark.parametrize("seed", range(20))
def test_without_constant_channels(seed: int):
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20, 400))
def test_more_without_constant_channels(seed: int):
    check(seed)


@default_floats()
def check(seed: int) -> None:
    """The kernel level before and after the pass, and machine code."""
    module = random_network(seed, idle=True)
    model = qlower.Model(module)
    (port,) = model.inputs
    x = random_stored(port.shape, signed=port.dtype == "int8", seed=seed)
    arith = arith_of(module, seed)
    before = apply_passes(arith, [FormKernelsPass()])
    expected = run_function(before, "main", [x.view(np.int8)])
    for unit in (1, 4):
        after = apply_passes(before, [DropChannelsPass(unit)])
        check_equal(run_function(after, "main", [x.view(np.int8)]), expected)
    target = levels()[LEVELS[seed % len(LEVELS)]]
    compiled = generate_code(lower_to_kernel(arith, target), target)
    for found in guarded_runs(compiled, [x]):
        check_equal([one.view(np.int8) for one in found], expected)


def arith_of(module: ModuleOp, seed: int) -> ModuleOp:
    """By one of the contracts that have rules for all layers."""
    for step in range(len(CONTRACTS)):
        try:
            return lower_to_arith(module, CONTRACTS[(seed + step) % len(CONTRACTS)])
        except QlowerError:
            continue
    raise AssertionError("tflite has rules for all")


def check_equal(found: Sequence[Array], expected: Sequence[Array]) -> None:
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_planted_channels_are_dropped():
    """Most networks lose some; the attribute tells which a nest computes."""
    lost = 0
    for seed in range(2, 12):
        arith = lower_to_arith(random_network(seed, idle=True), "tflite")
        with tallied() as tally:
            after = apply_passes(arith, [FormKernelsPass(), DropChannelsPass(1)])
        lost += tally.counts[DROPPED] > 0
        for op in main_function(after).body.block.ops:
            if isinstance(op, NestOp) and op.kept_channels is not None:
                shape = op.res[0].type.get_shape()
                assert len(op.kept_channels) == shape[-1]
    assert lost >= 5


def test_first_so_many():
    """`limit` is what a search for a wrong rewrite halves."""
    arith = lower_to_arith(random_network(5, idle=True), "tflite")
    before = apply_passes(arith, [FormKernelsPass()])
    with tallied() as tally:
        apply_passes(before, [DropChannelsPass(1)])
    every = tally.counts[DROPPED]
    seen: set[int] = set()
    for limit in range(tally.counts["tensors narrowed"] + 1):
        with tallied() as tally:
            apply_passes(before, [DropChannelsPass(1, limit)])
        seen.add(tally.counts[DROPPED])
    assert min(seen) == 0 < every == max(seen)
