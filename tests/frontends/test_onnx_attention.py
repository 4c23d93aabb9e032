"""Attention that ONNX Runtime fused, and products that an equation states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder
from support.formats.onnx_layers import LEVELS, Layers

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import X86
from qlower.frontends.onnx.remarks import OPEN_SIZES
from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SIZES = [(1, 7, 4, 16), (2, 5, 3, 8), (1, 1, 2, 64)]
"""Batch, length, heads and numbers of a head."""


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("", {}),
        ("", {"unidirectional": 1}),
        ("mask", {"scale": 0.3}),
        ("mask", {"unidirectional": 1}),
        ("length", {"mask_filter_value": -500.0}),
    ],
)
def test_attention(kind: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    """Of real numbers, and of integers as the quantizer writes it."""
    build, masks = Layers(), dict[str, Array]()
    for batch, length, heads, depth in SIZES:
        width = heads * depth
        x = build.value(batch, length, width)
        mask = ""
        if kind:
            shape, most = ((batch, length), 2) if kind == "mask" else ((batch,), length)
            mask = build.input(f"{kind}{len(masks)}", shape, "i4")
            masks[mask] = build.random.integers(0, most, shape).astype(np.int32)

        def attention(
            operator: str, operands: Sequence[str], heads: int = heads
        ) -> None:
            build.returned(
                build.node(
                    operator, operands, domain=MICROSOFT, num_heads=heads, **attributes
                )
            )

        bias = build.constant(build.random.normal(size=3 * width) * 0.1)
        weights = build.constant(build.random.normal(size=(width, 3 * width)) * 0.2)
        attention("Attention", [x, weights, bias, mask])
        names = [f"{x}_{part}" for part in ("codes", "scale", "zero_point")]
        codes = build.node("DynamicQuantizeLinear", [x], names)
        for zeros in (np.array(3, np.int8), np.zeros(3 * width, np.int8)):
            size = (width, 3 * width)
            stored = build.random.integers(-128, 128, size).astype(np.int8)
            scales = build.random.uniform(0.001, 0.01, zeros.shape).astype(np.float32)
            step = build.constant(scales), build.constant(zeros)
            quantized = [codes, build.constant(stored), bias, names[1], step[0], mask]
            attention("QAttention", [*quantized, names[2], step[1]])
    build.check(tmp_path, given=masks)


EQUATIONS = [
    ("bhid,bhjd->bhij", (1, 3, 5, 8), (1, 3, 7, 8)),
    ("bhij,bhjd->bihd", (2, 3, 1, 64), (2, 3, 64, 5)),
    ("bijc, cd", (1, 3, 4, 300), (300, 10)),
    ("abc,cba->ab", (3, 4, 5), (5, 4, 3)),
    ("bi,bj->bij", (2, 3), (2, 4)),
]


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_products_of_equations(qdq: str, tmp_path: Path) -> None:
    build = Layers()
    for equation, *shapes in EQUATIONS:
        operands = [build.value(*shape) for shape in shapes]
        build.returned(build.node("Einsum", operands, equation=equation))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("rows", [1, 3])
def test_products_with_factors(rows: int, tmp_path: Path) -> None:
    """ONNX Runtime has kernels of single rows, but not where factors follow."""
    build = Layers()
    for alpha, beta, transposed in ((0.5, 1.0, 0), (0.5, 0.3, 1), (1.0, 0.5, 0)):
        shape = (9, 40) if transposed else (40, 9)
        operands = [build.value(rows, 40), build.value(*shape), build.value(rows, 9)]
        factors: dict[str, Any] = {"alpha": alpha, "beta": beta, "transB": transposed}
        build.returned(build.node("Gemm", operands, **factors))
    operands = [build.value(2, rows, 64), build.value(2, 64, 9)]
    made = build.node("FusedMatMul", operands, domain=MICROSOFT, alpha=0.3)
    build.returned(made)
    build.check(tmp_path)


def test_embeddings(tmp_path: Path) -> None:
    """As ONNX Runtime's optimizer fuses them, and its quantizer writes them."""
    build, given = Layers(), dict[str, Array]()
    for length, has_segments, has_mask in ((5, False, False), (7, True, True)):
        names = [""] * 3
        used = (True, has_segments, has_mask)
        for at, most in enumerate((20, 2, 2)):
            if used[at]:
                names[at] = build.input(f"i{len(given)}", (2, length), "i4")
                random = build.random.integers(0, most, (2, length))
                given[names[at]] = random.astype(np.int32)
        ids, segments, mask = names
        sizes = [(20, 12), (9, 12), (2, 12) if has_segments else (), (12,), (12,)]
        stored = [build.random.integers(0, 256, one).astype(np.uint8) for one in sizes]
        real = [
            build.constant(array.astype(np.float32) / 64) if array.shape else ""
            for array in stored
        ]
        codes = [build.constant(array) if array.shape else "" for array in stored]
        scales = [build.constant(0.02 + at / 100) for at in range(5)]
        zeros = [build.constant(np.array(100 + at, np.uint8)) for at in range(5)]
        if not has_segments:
            scales[2] = zeros[2] = ""
        for operator, tables, more in (
            ("EmbedLayerNormalization", real, []),
            ("QEmbedLayerNormalization", codes, [*scales, *zeros]),
        ):
            results = [f"{operator}{length}", f"{operator}{length}_mask"]
            operands = [ids, segments, *tables, mask, *more]
            made = build.node(operator, operands, results, MICROSOFT, epsilon=1e-12)
            build.returned(made)
            build.output(results[1], "i4")
    build.check(tmp_path, given=given)


def test_sums_that_are_normalized(tmp_path: Path) -> None:
    """Sums are results, too; whole numbers are cast and added."""
    build = Layers()
    for width in (5, 24):
        x, y = build.value(2, 3, width), build.value(2, 3, width)
        scale, bias = (
            build.constant(build.random.normal(size=width)) for _ in range(2)
        )
        for operator, operands in (
            ("SkipLayerNormalization", [scale, bias, bias]),
            ("SkipSimplifiedLayerNormalization", [scale, bias]),
        ):
            results = [f"{operator}{width}", "", "", f"{operator}{width}_sum"]
            build.returned(build.node(operator, [x, y, *operands], results, MICROSOFT))
            build.returned(results[3])
    ids = build.input("ids", (2, 3), "i8")
    narrow = build.node("Cast", [ids], to=6)
    axes = build.constant(np.array([1]))
    build.output(narrow, "i4")
    words = build.input("words", (2, 3), "i4")
    build.output(build.node("ReduceSum", [words, axes], keepdims=0), "i4")
    truth = build.node("Cast", [narrow], to=9)
    build.output(build.node("Cast", [truth], to=7), "i8")
    given: dict[str, Array] = {
        "ids": build.random.integers(-(1 << 40), 1 << 40, (2, 3)),
        "words": np.array([[1, 0, 1], [1 << 20, -5, 3]], np.int32),
    }
    given["ids"][0] = [0, 1, 1 << 32]
    build.check(tmp_path, given=given)


@pytest.mark.parametrize(("size", "is_remarked"), [("length", True), (3, False)])
def test_sizes_that_are_open(
    size: int | str, is_remarked: bool, tmp_path: Path
) -> None:
    """ONNX Runtime fuses an addition with a normalization where it knows shapes."""
    build = OnnxBuilder()
    names = [build.input(name, (1, size, 8)) for name in "xy"]
    scale, bias = build.constant(np.ones(8)), build.constant(np.zeros(8))
    total = build.node("Add", names)
    build.output(build.node("LayerNormalization", [total, scale, bias]))
    found = qlower.load(build.save(tmp_path / "model.onnx")).remarks
    assert (OPEN_SIZES in found) == is_remarked


def _attention(width: int, mask: Sequence[int] = (), **attributes: Any) -> OnnxBuilder:
    build = OnnxBuilder()
    build.input("x", (1, 4, 6))
    operands = ["x", build.constant(np.ones((6, width)))]
    operands.append(build.constant(np.ones(width)))
    if mask:
        operands.append(build.input("mask", mask, "i4"))
    build.node("Attention", operands, "y", MICROSOFT, **attributes)
    build.output("y")
    return build


def _equation(equation: str, *shapes: Sequence[int]) -> OnnxBuilder:
    build = OnnxBuilder()
    names = [build.input(f"x{at}", shape) for at, shape in enumerate(shapes)]
    build.node("Einsum", names, "y", equation=equation)
    build.output("y")
    return build


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            _attention(18, num_heads=4),
            "rows of 18 numbers do not hold queries, keys and values of 4 heads",
        ),
        (
            _attention(18, (1, 3), num_heads=2),
            "a mask 'mask' of shape [1, 3] is not supported; expected INT32 of shape"
            " [1, 4] or [1]",
        ),
        (_equation("ij,jk->ik", (2, 3), (4, 5)), "'j' is 3 of one operand, 4 of the"),
        (_equation("ii,ij->j", (2, 2), (2, 5)), "'ii' in equation 'ii,ij->j' repeats"),
        (_equation("ij,kl->ik", (2, 3), (4, 5)), "sums 'j' of one operand alone"),
        (_equation("...i,ij->...j", (2, 3), (3, 5)), "'...i' in equation"),
        (_equation("ij->i", (2, 3)), "of 1 operands is not supported; expected 2"),
        (_equation("ij,ij->ij", (2, 3), (2, 3)), "is no product of matrices"),
        (_equation("i,ij->k", (2,), (2, 3)), "'k' of equation 'i,ij->k' has no"),
    ],
)
def test_refusals(build: OnnxBuilder, expected: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError) as caught:
        qlower.load(build.save(tmp_path / "model.onnx"))
    assert expected in caught.value.message


@pytest.mark.parts(9)
@pytest.mark.parametrize("transposed", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("alpha", [1.0, 0.125, 0.3])
def test_transposed_factors(
    alpha: float, transposed: tuple[int, int], tmp_path: Path
) -> None:
    """Of short sums; with a factor of single rows and columns, too."""
    build = Layers()
    sizes = [(3, 16, 40, 33), (2, 9, 128, 2)]
    sizes += [] if alpha == 1 else [(2, 1, 64, 7), (1, 20, 31, 1), (3, 1, 5, 1)]
    for batch, rows, depth, columns in sizes:
        shapes = (rows, depth), (depth, columns)
        operands = [
            build.value(batch, *(reversed(shape) if is_turned else shape))
            for shape, is_turned in zip(shapes, transposed, strict=True)
        ]
        options: dict[str, Any] = {"transA": transposed[0], "transB": transposed[1]}
        options["alpha"] = alpha
        made = build.node("FusedMatMul", operands, domain=MICROSOFT, **options)
        build.returned(made)
    build.check(tmp_path, X86)


def test_long_transposed_sums_are_refused(tmp_path: Path) -> None:
    build = Layers()
    operands = [build.value(4, 300), build.value(5, 300)]
    made = build.node("FusedMatMul", operands, domain=MICROSOFT, transB=1)
    build.returned(made)
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match=r"sums of up to 128 products"):
        qlower.load(path)
