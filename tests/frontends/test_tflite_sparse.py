"""Weights of which a file has only some, beside LiteRT's DENSIFY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_cases import random_inputs
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite.schema import SparseLevel, Sparsity


@dataclass(frozen=True)
class Sparse:
    """A way to leave elements of `shape` out: those levels of `order` that are
    `compressed` have only the indices of places that aren't all 0."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    compressed: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    """The sizes of blocks by dimensions."""
    dtype: str = "int32"

    def write(self, array: NDArray[np.generic]) -> tuple[Sparsity, NDArray[np.generic]]:
        """The levels, and the elements that are left."""
        inner = dict(self.blocks)
        sizes = [n // inner.get(dim, 1) for dim, n in enumerate(self.shape)]
        split: list[int] = []
        for dim, size in enumerate(sizes):
            split += [size, inner[dim]] if dim in inner else [size]
        firsts = [
            dim + sum(block < dim for block in inner) for dim in range(len(sizes))
        ]
        axes = [firsts[dim] for dim in self.order]
        axes += [firsts[dim] + 1 for dim in inner]
        found = array.reshape(split).transpose(axes)
        rows = found[np.newaxis]
        levels: list[SparseLevel] = []
        for level, size in enumerate(found.shape):
            if level in self.compressed:
                kept = rows.reshape(len(rows), size, -1).any(axis=2)
                segments = np.append(0, np.cumsum(kept.sum(axis=1)))
                indices = np.nonzero(kept)[1]
                narrow = [n.astype(self.dtype) for n in (segments, indices)]
                levels.append(SparseLevel(0, *narrow))
                rows = rows[kept]
            else:
                levels.append(SparseLevel(size))
                rows = rows.reshape(-1, *rows.shape[2:])
        order = (*self.order, *range(len(sizes), len(split)))
        return Sparsity(order, tuple(inner), tuple(levels)), rows


def model(
    dtype: str, shape: Sequence[int], sparsity: Sparsity, left: NDArray[np.generic]
) -> bytes:
    builder = TFLiteBuilder()
    scale, type = (0.1, "int8") if dtype == "int8" else (None, "float32")
    x, y = (builder.tensor(name, shape, type, scale=scale) for name in "xy")
    w = builder.tensor("w", shape, dtype, scale=scale, data=left, sparsity=sparsity)
    dense = builder.tensor("dense", shape, dtype, scale=scale)
    builder.operator("DENSIFY", [w], [dense])
    if dtype == "float16":
        half, dense = dense, builder.tensor("wide", shape, type)
        builder.operator("DEQUANTIZE", [half], [dense])
    builder.operator("MAXIMUM", [x, dense], [y])
    return builder.build([x], [y])


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    "sparse",
    [
        Sparse((5, 7), (0, 1), (1,), dtype="uint8"),
        Sparse((5, 7), (1, 0), (1,), dtype="uint16"),
        Sparse((5, 7), (1, 0), (0, 1)),
        Sparse((8, 6), (0, 1), (1,), ((1, 2),)),
        Sparse((8, 6), (1, 0), (0, 1), ((0, 4), (1, 3))),
        Sparse((4, 3, 3, 8), (0, 1, 2, 3), (3,), ((0, 2), (3, 4)), "uint8"),
        Sparse((3, 4), (1, 0), ()),
    ],
)
def test_bits(sparse: Sparse, dtype: str, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    drawn = random.integers(-100, 100, sparse.shape)
    array = np.where(random.random(sparse.shape) < 0.2, drawn, 0).astype(dtype)
    data = model(dtype, sparse.shape, *sparse.write(array))
    (tmp_path / "sparse.tflite").write_bytes(data)
    loaded = qlower.load(tmp_path / "sparse.tflite")
    (x,) = random_inputs([(sparse.shape, loaded.inputs[0].dtype)], 0)
    (expected,) = run_litert(data, [x])
    found = qlower.interpret(loaded, x, at="qnn")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, np.maximum(x, array))


def row(segments: Sequence[int], indices: Sequence[int]) -> SparseLevel:
    return SparseLevel(0, *(np.array(n, np.int32) for n in (segments, indices)))


@pytest.mark.parametrize(
    ("sparsity", "message"),
    [
        (Sparsity((0, 1), (), (SparseLevel(2),)), "1 levels in the order"),
        (Sparsity((0, 0), (), (SparseLevel(2), SparseLevel(3))), "2 levels in the"),
        (Sparsity((0, 1), (), (SparseLevel(3), SparseLevel(3))), "size of a level 3"),
        (
            Sparsity((0, 1), (), (SparseLevel(2), row([0, 1], [0]))),
            "2 segments that don't part 1 indices into 2",
        ),
        (
            Sparsity((0, 1), (), (SparseLevel(2), row([0, 2, 1], [0]))),
            "3 segments that don't part 1 indices into 2",
        ),
        (
            Sparsity((0, 1), (), (SparseLevel(2), row([0, 1, 2], [0, 3]))),
            "sparse index 3 is out of range [0, 2]",
        ),
        (
            Sparsity((0, 1), (), (SparseLevel(2), row([0, 1, 2], [0, -1]))),
            "sparse index -1 is out of range [0, 2]",
        ),
        (
            Sparsity((0, 1), (), (SparseLevel(2), row([0, 0, 1], [2]))),
            "2 bytes of data, expected 1 for 1 elements",
        ),
        (
            Sparsity((0, 1), (), (row([0, 3], [0, 0, 0]), SparseLevel(3))),
            "number of places 9 is out of range [0, 6]",
        ),
        (
            Sparsity((0, 1, 2), (1,), (*map(SparseLevel, (2, 1, 2)),)),
            "blocks of 2 don't part dimension 1, which has 3",
        ),
        (
            Sparsity((0, 1, 2), (1,), (*map(SparseLevel, (2, 1, 0)),)),
            "size of blocks of dimension 1 0 is out of range [1, 3]",
        ),
    ],
)
def test_refusals(sparsity: Sparsity, message: str, tmp_path: Path) -> None:
    left = np.ones(2, np.int8)
    (tmp_path / "sparse.tflite").write_bytes(model("int8", (2, 3), sparsity, left))
    with pytest.raises(QlowerError) as caught:
        qlower.load(tmp_path / "sparse.tflite")
    assert "operator 0 DENSIFY: " in str(caught.value)
    assert message in str(caught.value)


def test_size_is_bounded_by_the_file(tmp_path: Path) -> None:
    """A few bytes don't ask for gigabytes."""
    shape = (1 << 14, 1 << 14)
    empty = row([0, 1], [0])
    data = model("int8", shape, Sparsity((0, 1), (), (empty, empty)), np.ones(1, "i1"))
    (tmp_path / "sparse.tflite").write_bytes(data)
    with pytest.raises(QlowerError, match="number of elements 268435456 is out of"):
        qlower.load(tmp_path / "sparse.tflite")
