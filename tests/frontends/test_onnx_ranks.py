"""Ranks of values that follow from their operators are those of what is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder

from qlower.frontends.graph.nodes import Graph, hoist_constants
from qlower.frontends.onnx.ranks import find_ranks
from qlower.frontends.onnx.reader import read_model

onnx: Any = pytest.importorskip("onnx.reference", reason="onnx is not installed")


class Values(OnnxBuilder):
    """Operators on a value of shape [2, 3, 8], or another."""

    def x(self, *shape: int | str) -> str:
        return self.input(f"x{len(self.inputs)}", shape or (2, 3, 8))

    def row(self, *shape: int) -> str:
        return self.constant(np.ones(shape, np.float32))

    def whole(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def one(self, value: int) -> str:
        return self.constant(np.array(value, np.int64))

    def __call__(self, kind: str, *operands: str, **attributes: Any) -> str:
        return self.node(kind, operands, **attributes)

    def size(self, number: int) -> str:
        """One size of a shape, as a vector."""
        size = self("Gather", self("Shape", self.x()), self.one(number))
        return self("Unsqueeze", size, axes=[0])


CASES: Mapping[str, Callable[[Values], str]] = {
    "input": lambda b: b("Identity", b.x()),
    "image": lambda b: b("Conv", b.x(1, 3, 8, 8), b.row(4, 3, 3, 3), b.row(4)),
    "pointwise": lambda b: b("Relu", b.x()),
    "broadcast": lambda b: b("Add", b.row(8), b.x(2, 1, 3, 8)),
    "choice": lambda b: b("Where", b("Less", b.x(), b.row(1)), b.x(8), b.row()),
    "transposed": lambda b: b("Transpose", b.x(), perm=[2, 0, 1]),
    "joined": lambda b: b("Concat", b.x(), b.x(), axis=1),
    "flat": lambda b: b("Flatten", b.x()),
    "product": lambda b: b("MatMul", b.x(), b.row(8, 4)),
    "product by a vector": lambda b: b("MatMul", b.x(), b.row(8)),
    "product of vectors": lambda b: b("MatMul", b.x(8), b.row(8)),
    "affine": lambda b: b("Gemm", b.x(3, 8), b.row(8, 4), b.row(4)),
    "gathered": lambda b: b("Gather", b.x(), b.constant(np.zeros((2, 2), np.int64))),
    "element": lambda b: b("Gather", b.x(), b.one(1)),
    "reshaped": lambda b: b("Reshape", b.x(), b.whole(6, 8)),
    "reshaped to one size": lambda b: b("Reshape", b.x(), b.whole(-1)),
    "reshaped as another": lambda b: b("Reshape", b.x(), b("Shape", b.x(4, 12))),
    "reshaped to joined sizes": lambda b: b(
        "Reshape",
        b.x(),
        b("Concat", b.size(0), b("Cast", b.whole(2, -1), to=7), b.size(1), axis=0),
    ),
    "unsqueezed": lambda b: b("Unsqueeze", b.x(), axes=[0, 2]),
    "squeezed": lambda b: b("Squeeze", b.x(1, 3, 1), axes=[0]),
    "expanded": lambda b: b("Expand", b.x(), b.whole(4, 2, 3, 8)),
    "expanded to less": lambda b: b("Expand", b.x(), b.whole(1)),
    "mean": lambda b: b("ReduceMean", b.x(), axes=[1]),
    "mean without its dimensions": lambda b: b(
        "ReduceMean", b.x(), axes=[1, 2], keepdims=0
    ),
    "place": lambda b: b("ArgMax", b.x(), axis=1, keepdims=0),
    "place in its dimension": lambda b: b("ArgMax", b.x(), axis=1),
}
"""Where the rank is known."""

UNKNOWN: Mapping[str, Callable[[Values], str]] = {
    "of an equation": lambda b: b("Einsum", b.x(), equation="abc->abc"),
    "after an equation": lambda b: b("Relu", b("Einsum", b.x(), equation="abc->abc")),
    "of another domain": lambda b: b.node("Twice", [b.x()], domain="mine"),
    "of blocks": lambda b: b.node("MatMulNBits", [b.x(), b.row(4)], domain=MICROSOFT),
    "reshaped by an input": lambda b: b("Reshape", b.x(), b.input("shape", (2,), "i8")),
    "reshaped by a result": lambda b: b(
        "Reshape", b.x(), b("Mul", b("Shape", b.x()), b.whole(1))
    ),
    "reshaped as an unknown": lambda b: b(
        "Reshape", b.x(), b("Shape", b("Einsum", b.x(), equation="abc->abc"))
    ),
    "reshaped by a part of a shape": lambda b: b(
        "Reshape", b.x(), b("Shape", b.x(), start=1)
    ),
    "reshaped as nothing": lambda b: b("Reshape", b.x(), b("Shape")),
    "squeezed where it can be": lambda b: b("Squeeze", b.x(1, 3, 1)),
    "expanded by an input": lambda b: b("Expand", b.x(), b.input("shape", (2,), "i8")),
    "mean of all": lambda b: b("ReduceMean", b.x(), keepdims=0),
}


def rank_of(build: Values, name: str, folder: Path) -> int | None:
    build.output(build("Identity", name))
    path = build.save(folder / "model.onnx")
    model = read_model(path.read_bytes(), str(path), None)
    graph = Graph(model, [port.name for port in model.outputs])
    hoist_constants(graph, list(graph.nodes))
    return find_ranks(graph).get(name)


@pytest.mark.parametrize("case", CASES)
def test_known_ranks(case: str, tmp_path: Path) -> None:
    build = Values(12)
    name = CASES[case](build)
    found = rank_of(build, name, tmp_path)
    feed = {
        port.name: np.zeros(
            [size.dim_value for size in port.type.tensor_type.shape.dim], np.float32
        )
        for port in build.inputs
    }
    path = str(tmp_path / "model.onnx")
    (computed,) = onnx.ReferenceEvaluator(path).run(None, feed)
    assert found == np.ndim(computed)


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_ranks(case: str, tmp_path: Path) -> None:
    build = Values(12)
    assert rank_of(build, UNKNOWN[case](build), tmp_path) is None


def test_inputs_without_a_shape(tmp_path: Path) -> None:
    build = Values(12)
    build.inputs.append(build.helper.make_tensor_value_info("x", 1, None))
    assert rank_of(build, build("Relu", "x"), tmp_path) is None


def test_axes_as_operands(tmp_path: Path) -> None:
    build = Values(18)
    mean = build("ReduceMean", build.x(), build.whole(0, 1), keepdims=0)
    assert rank_of(build, mean, tmp_path) == 1
