"""Faults planted in the kernel level are found in machine code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i8,
)
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from qlower import pipeline
from qlower.codegen.targets.base import Target
from qlower.codegen.targets.resolve import host_target
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.interp.values import Array
from qlower.model.layers import layer_names
from qlower.model.nests import dense
from qlower.transforms.lower_qnn.lowering import constant_of
from qlower.verification.native.verify import native

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
REAL = [models_directory() / name for name in ("ic_resnet8_int8", "kws_dscnn_int8")]

Plant = Callable[[NestOp, ModuleOp], bool]
"""Plants a fault in a nest, or near it; False where there is no place for it."""


def constant(value: SSAValue) -> tuple[arith.ConstantOp, Array] | None:
    """The constant that a value is, maybe reshaped, and a copy of its elements."""
    while not isinstance(value.owner, arith.ConstantOp):
        operands = getattr(value.owner, "operands", ())
        if len(operands) != 1:
            return None
        (value,) = operands
    found = constant_of(value.owner.result)
    return None if found is None else (value.owner, found.copy())


def one_more(
    dtype: type[np.generic], number: int = 0, by: float = 1, relative: bool = False
) -> Plant:
    """One element of a constant input of a type is larger."""

    def plant(nest: NestOp, module: ModuleOp) -> bool:
        found = [constant(value) for value in nest.inputs]
        typed = [one for one in found if one is not None and one[1].dtype == dtype]
        if number >= len(typed):
            return False
        op, elements = typed[number]
        flat = elements.reshape(-1)
        place = min(3, len(flat) - 1)
        old = flat[place]
        more = flat[place] * by if relative else by
        flat[place] = old - 1 if dtype is np.int8 and old == 127 else old + more
        before = op.value
        assert isinstance(before, DenseIntOrFPElementsAttr)
        op.properties["value"] = dense(elements, before.get_element_type())
        return bool(flat[place] != old)

    return plant


def no_flip(nest: NestOp, module: ModuleOp) -> bool:
    """The sign of a whole tensor, which another function reads as flipped."""
    for op in nest.epilogue.block.ops:
        if isinstance(op, arith.XOrIOp):
            op.result.replace_all_uses_with(op.lhs)
            return True
    return False


def padding(nest: NestOp, module: ModuleOp) -> bool:
    """What is around an image."""
    for value in nest.inputs:
        op = value.owner
        if isinstance(op, CopyOp) and isinstance(op.fill, IntegerAttr):
            op.fill = IntegerAttr((op.fill.value.data + 129) % 256 - 128, i8)
            return True
    return False


def bound(nest: NestOp, module: ModuleOp) -> bool:
    """The greatest result."""
    for op in nest.epilogue.block.ops:
        if isinstance(op, arith.MinSIOp) and isinstance(op.rhs.owner, arith.ConstantOp):
            limit = op.rhs.owner
            assert isinstance(limit.value, IntegerAttr)
            less = limit.value.value.data - 1
            limit.properties["value"] = IntegerAttr(less, IntegerType(32))
            return True
    return False


FAULTS: dict[str, Plant] = {
    "weight": one_more(np.int8),
    "bias": one_more(np.int32),
    "scale": one_more(np.float32, 0, 2.0**-16, relative=True),
    "addend": one_more(np.float32, 1, 0.25),
    "no flip": no_flip,
    "padding": padding,
    "bound": bound,
}


@dataclass(frozen=True)
class PlantPass(ModulePass):
    """A fault in the function of a layer, after all other passes."""

    name = "plant"

    layer: str
    plant: Plant
    planted: list[str]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in op.walk():
            if isinstance(nest, NestOp) and self.layer in layer_names(nest):
                if self.plant(nest, op):
                    self.planted.append(self.layer)
                return


def verdict_with(
    path: Path,
    layer: str,
    fault: str,
    patch: pytest.MonkeyPatch,
    only: list[str] | None,
) -> bool | None:
    """Whether a fault is found; None where there is no place for it."""
    planted: list[str] = []
    passes = pipeline.kernel_passes

    def with_fault(target: Target) -> list[ModulePass]:
        return [*passes(target), PlantPass(layer, FAULTS[fault], planted)]

    with patch.context() as here:
        here.setattr(pipeline, "kernel_passes", with_fault)
        found = native(path, {"host": host_target()}, contract=None, only=only)
    if not planted:
        return None
    is_wrong = any(one.differing for one in found.whole.values())
    return is_wrong or any(row.verdict == "differs" for row in found.layers)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the function itself, or by the one that reads its bytes."""
    only = ["conv1", "depthwise"] if fault == "no flip" else ["conv1"]
    assert verdict_with(DIGITS, "conv1", fault, monkeypatch, only) is True


@pytest.mark.long
@pytest.mark.parametrize("folder", REAL, ids=lambda folder: folder.name)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_real_models(
    folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} isn't there")
    for layer in ("conv2d", "conv2d_1", "depthwise_conv2d", "dense"):
        assert verdict_with(path, layer, fault, monkeypatch, None) is not False
