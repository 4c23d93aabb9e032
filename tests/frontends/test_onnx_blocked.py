"""Weights of few bits in blocks: products and tables, to ONNX Runtime's bits."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder
from support.formats.onnx_layers import LEVELS, Layers
from support.machines.vnni import needs_vnni

import qlower
from qlower.diagnostics import QlowerError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

PRODUCTS = [(64, 10, 32), (100, 7, 16), (300, 130, 64), (40, 3, 128)]
"""Numbers in a row, columns, and numbers in a block."""


def product(
    build: Layers,
    sizes: tuple[int, int, int],
    rows: tuple[int, ...],
    bits: int = 4,
    *,
    has_all: bool = True,
) -> str:
    """A MatMulNBits, with zero points and bias if it has all."""
    (depth, columns, block), random = sizes, build.random
    blocks = -(-depth // block)
    shape = (columns, blocks, block * bits // 8)
    points = random.integers(0, 256, columns * (-(-blocks * bits // 8)))
    operands = [
        build.value(*rows, depth),
        build.constant(random.integers(0, 256, shape).astype(np.uint8)),
        build.constant(random.uniform(0.01, 0.05, columns * blocks)),
    ]
    if has_all:
        operands.append(build.constant(points.astype(np.uint8)))
        operands += ["", build.constant(random.normal(size=columns))]
    attributes: dict[str, Any] = {"K": depth, "N": columns, "block_size": block}
    return build.node(
        "MatMulNBits", operands, domain=MICROSOFT, bits=bits, **attributes
    )


@needs_vnni
@pytest.mark.parts(2)
@pytest.mark.parametrize("bits", [4, 8])
def test_products(bits: int, tmp_path: Path) -> None:
    """Single rows and several, which have kernels of their own."""
    build = Layers()
    for sizes in PRODUCTS:
        for rows in ((1,), (2, 3)):
            for has_all in (False, True):
                build.returned(product(build, sizes, rows, bits, has_all=has_all))
    build.check(tmp_path)


def _nibbles(build: OnnxBuilder, type: str, shape: tuple[int, ...], low: int) -> str:
    onnx: Any = import_module("onnx")
    name = f"c{len(build.constants)}"
    codes = np.random.default_rng(2).integers(low, low + 16, int(np.prod(shape)))
    number = onnx.TensorProto.DataType.Value(type)
    tensor = build.helper.make_tensor(name, number, shape, codes.tolist())
    build.constants.append(tensor)
    return name


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_tables(qdq: str, tmp_path: Path) -> None:
    build, given = Layers(21), {}
    rows, depth, block = 9, 64, 16
    scales = build.constant(build.random.uniform(0.01, 0.05, (rows, depth // block)))
    tables = [
        (_nibbles(build, name, (rows, depth), low), _nibbles(build, name, (rows, 4), 0))
        for name, low in (("UINT4", 0), ("INT4", -8))
    ]
    for bits in (4, 8):
        shapes = (rows, depth * bits // 8), (rows, depth // block * bits // 8)
        stored = [build.random.integers(0, 256, shape) for shape in shapes]
        one, other = (build.constant(array.astype(np.uint8)) for array in stored)
        tables.append((one, other))
    for at, (table, zeros) in enumerate(tables):
        for points in ([], [zeros]):
            name = build.input(f"i{len(given)}", (2, 3), "i8")
            given[name] = build.random.integers(-rows, rows, (2, 3))
            operands = [table, name, scales, *points]
            more: dict[str, Any] = {"bits": 8} if at == 3 else {}
            made = build.node(
                "GatherBlockQuantized",
                operands,
                domain=MICROSOFT,
                block_size=block,
                gather_axis=0,
                quantize_axis=1,
                **more,
            )
            build.returned(made)
    build.check(tmp_path, qdq, given)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("accuracy_level", 4, "quantizes what it multiplies by these weights"),
        ("bits", 5, "bits 5 is not supported; expected 4 or 8"),
        ("block_size", 8, "block_size 8 is out of range [16, 1048576]"),
        ("N", 11, "has 320 elements of uint8; expected 352 of uint8, for 64 codes"),
        ("K", 33, "an input of shape [2, 64] with weights for 33 numbers"),
    ],
)
def test_refusals(name: str, value: int, expected: str, tmp_path: Path) -> None:
    build = Layers()
    build.returned(product(build, PRODUCTS[0], (2,), has_all=False))
    (attribute,) = [one for one in build.nodes[0].attribute if one.name == name] or [
        build.nodes[0].attribute.add(name=name, type=2)
    ]
    attribute.i = value
    with pytest.raises(QlowerError) as caught:
        qlower.load(build.save(tmp_path / "model.onnx"))
    assert expected in caught.value.message
