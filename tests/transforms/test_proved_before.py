"""Equal layers of a compilation are proved once, and others by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import SSAValue

from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.dialects.kernel import NestOp
from qlower.kept.parts import PartsInMemory
from qlower.model import Model
from qlower.model.build import constant, make_model, quantized

TARGET = resolve_target("x86_64-linux-gnu", "x86-64-v3")
SHAPE = [1, 16]


def found(model: Model, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many proofs were made, and for how many nests there was one already."""
    kept: list[bytes] = []

    def keep(self: PartsInMemory, digest: bytes, made: bytes) -> None:
        kept.append(digest)
        self.made[digest] = made

    monkeypatch.setattr(PartsInMemory, "keep", keep)
    kernels = Compilation(model, "tflite", TARGET).kernels
    nests = [op for op in kernels.walk() if isinstance(op, NestOp)]
    return len(kept), len(nests) - len(kept)


def sums(scales: list[float], zero_points: list[int]) -> Model:
    """Sums of the model's inputs, into other types."""
    inputs = [quantized(SHAPE, 0.05, 3), quantized(SHAPE, 0.07, -5)]

    def body(a: SSAValue, b: SSAValue) -> list[SSAValue]:
        types = map(quantized, [SHAPE] * len(scales), scales, zero_points)
        return [qnn.AddOp(a, b, type).result for type in types]

    return make_model(inputs, body)


def layers(biases: list[int], ones: list[int]) -> Model:
    """Linear layers of the model's input; weights are 1 at first and then 2."""

    def body(value: SSAValue) -> list[SSAValue]:
        results: list[SSAValue] = []
        for bias, count in zip(biases, ones, strict=True):
            stored = np.full([16, 16], 2, np.int8)
            stored[:, :count] = 1
            weight = constant(stored, quantized([16, 16], 0.02))
            start = constant(np.full(16, bias, np.int32))
            result = quantized(SHAPE, 0.07, 5)
            results.append(qnn.LinearOp(value, weight, start, result).result)
        return results

    return make_model([quantized(SHAPE, 0.05, 3)], body)


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    ("model", "made", "shared"),
    [
        (sums([0.1, 0.1], [7, 7]), 1, 1),
        (sums([0.1, 0.11], [7, 7]), 2, 0),
        (sums([0.1, 0.1], [7, 8]), 2, 0),
        (layers([100, 100], [3, 3]), 1, 1),
        (layers([100, 101], [3, 3]), 2, 0),
        (layers([100, 100], [3, 4]), 2, 0),  # the accumulators have other bounds
    ],
)
def test_equal_layers_share_proofs(
    model: Model, made: int, shared: int, monkeypatch: pytest.MonkeyPatch
):
    assert found(model, monkeypatch) == (made, shared)


def test_what_is_shared_is_the_same():
    once = Compilation(sums([0.1], [7]), "tflite", TARGET).kernels
    twice = Compilation(sums([0.1, 0.1], [7, 7]), "tflite", TARGET).kernels
    one, *two = (
        [str(op.attributes | op.properties) for op in nest.epilogue.block.ops]
        for module in (once, twice)
        for nest in module.walk()
        if isinstance(nest, NestOp)
    )
    assert two == [one, one]
