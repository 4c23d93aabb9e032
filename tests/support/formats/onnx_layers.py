"""Operators of real numbers side by side in one model, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import qlower
from qlower.frontends.import_options import AS_WRITTEN, X86
from qlower.interp.values import Array
from support.values.same_numbers import assert_same

from .onnx_builder import OnnxBuilder
from .onnx_models import contract_here, make_session

LEVELS = {AS_WRITTEN: "DISABLE_ALL", X86: "ENABLE_ALL"}


class Layers(OnnxBuilder):
    """Operators side by side."""

    def __init__(self, opset: int = 17) -> None:
        super().__init__(opset)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.random = np.random.default_rng(1)

    def value(self, *shape: int) -> str:
        name = f"x{len(self.shapes)}"
        self.shapes[name] = shape
        return self.input(name, shape)

    def weights(self, shape: Sequence[int], type: str = "i1", zero: int = 3) -> str:
        stored = self.random.integers(-128, 128, shape).astype(type)
        return self.dequantize(self.constant(stored), 0.01, zero, type)

    def returned(self, name: str) -> None:
        self.output(self.node("Identity", [name]))

    def convolution(
        self, x: str, filters: int, size: int, *, bias: bool = True, **attributes: Any
    ) -> str:
        groups = attributes.get("group", 1)
        depth = self.shapes[x][1] // groups
        inputs = [x, self.weights((filters, depth, size, size))]
        if bias:
            inputs.append(self.weights((filters,), "i4", 0))
        return self.node("Conv", inputs, kernel_shape=[size] * 2, **attributes)

    def check(
        self,
        folder: Path,
        qdq: str = AS_WRITTEN,
        given: Mapping[str, Array] | None = None,
    ) -> None:
        """ONNX Runtime and every executor give the same."""
        path = self.save(folder / "model.onnx")
        feed: dict[str, Array] = {
            name: self.random.normal(size=shape).astype(np.float32)
            for name, shape in self.shapes.items()
        }
        feed |= given or {}
        expected = make_session(path, LEVELS[qdq], {}).run(None, feed)
        model = qlower.load(path, qdq=qdq)
        contract = contract_here(model)
        inputs = [feed[spec.name] for spec in model.inputs]
        for found in (
            qlower.jit(model, contract).run(inputs, {})[0],
            tuple_of(qlower.interpret(model, *inputs, contract=contract, at="qnn")),
        ):
            for array, wanted in zip(found, expected, strict=True):
                assert_same(array, wanted)


def tuple_of(found: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)
