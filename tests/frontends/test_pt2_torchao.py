"""What torchao's `quantize_` writes, call by call, beside the functions of PyTorch that
it calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.pt2_builder import Name, Pt2Builder

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

ROWS, DEPTH, UNITS = 5, 64, 48
BYTES: dict[str, Any] = {"quant_min": -128, "quant_max": 127}
UINT8, INT8, INT32, FLOAT32 = 1, 2, 4, 7


def rows(seed: int) -> Array:
    """Rows of several sizes, zeros, and ties: multiples of half a step."""
    random = np.random.default_rng(seed)
    x = random.normal(0, 1, (ROWS, DEPTH)) * 10.0 ** random.integers(-9, 9, (ROWS, 1))
    x[1] = 0
    x[2] = random.integers(-255, 256, DEPTH) / 2
    x[2, 0], x[3] = 127.5, np.abs(x[3])
    return x.astype(np.float32)


def ranges(build: Pt2Builder, x: Name, kind: str, depth: int) -> list[Name]:
    """The scale and the zero point of each row."""
    is_symmetric = kind == "SYMMETRIC"
    more = {"scale_dtype": FLOAT32, "keepdim": True} if is_symmetric else {}
    first = build.call(
        "torchao.choose_qparams_affine.default",
        2,
        input=x,
        mapping_type=kind,
        block_size=[1, depth],
        target_dtype=INT8,
        eps=2.0**-23 if is_symmetric else None,
        zero_point_dtype=INT8,
        **BYTES,
        **more,
    )
    return [first, Name(f"{first}_1")]


def codes(build: Pt2Builder, x: Name, step: list[Name], depth: int) -> Name:
    return build.call(
        "torchao.quantize_affine.default",
        input=x,
        block_size=[1, depth],
        scale=step[0],
        zero_point=step[1],
        output_dtype=INT8,
        **BYTES,
    )


def dynamic(weights: Array, scales: Array, offset: int, total: int = 0) -> Pt2Builder:
    """A layer of int8, whose codes have `offset` added."""
    build = Pt2Builder()
    x = build.input("x", (ROWS, DEPTH))
    step = ranges(build, x, "SYMMETRIC", DEPTH)
    stored = codes(build, x, step, DEPTH)
    turned = build.call("aten.t.default", self=build.constant(weights))
    matrix = build.call("aten.reshape.default", self=stored, shape=[-1, DEPTH])
    scale = build.call("aten.reshape.default", self=step[0], shape=[-1, 1])
    build.call("aten._assert_tensor_metadata.default", self=scale)
    scale = build.call("aten.to.dtype", self=scale, dtype=FLOAT32)
    if offset:
        matrix = build.call("aten.to.dtype", self=matrix, dtype=INT32)
        matrix = build.call("aten.add.Tensor", self=matrix, other=offset)
        matrix = build.call("aten.to.dtype", self=matrix, dtype=UINT8)
    sums = build.call("aten._int_mm.default", self=matrix, mat2=turned)
    if offset:
        added = build.call(
            "aten.sum.dim_IntList", self=turned, dim=[0], keepdim=True, dtype=INT32
        )
        added = build.call("aten.mul.Tensor", self=added, other=total or offset)
        sums = build.call("aten.sub_.Tensor", self=sums, other=added)
    real = build.call("aten.to.dtype", self=sums, dtype=FLOAT32)
    scaled = build.call("aten.mul.Tensor", self=real, other=scale)
    flat = build.call("aten.flatten.using_ints", self=build.constant(scales))
    product = build.call("aten.mul.Tensor", self=scaled, other=flat)
    shaped = build.call("aten.reshape.default", self=product, shape=[ROWS, UNITS])
    bias = build.constant(np.linspace(-1, 1, UNITS, dtype=np.float32))
    build.output(build.call("aten.add_.Tensor", self=shaped, other=bias))
    return build


def stored_weights() -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    weights = random.integers(-128, 128, (UNITS, DEPTH)).astype(np.int8)
    return weights, np.exp(random.uniform(-7, -3, (UNITS, 1))).astype(np.float32)


@pytest.mark.parts(2)
@pytest.mark.parametrize("offset", [0, 128])
def test_dynamic_layers(offset: int, tmp_path: Path) -> None:
    weights, scales = stored_weights()
    model = qlower.load(dynamic(weights, scales, offset).save(tmp_path / "model.pt2"))
    assert [op.name for op in model.module.walk() if "hybrid" in op.name]
    run = qlower.jit(model)
    for seed in range(4):
        x = torch.from_numpy(rows(seed))
        ends = x.amin(1, True).clamp(max=0), x.amax(1, True).clamp(min=0)
        step = (torch.max(-ends[0], ends[1]) / (255.0 / 2)).clamp(min=2.0**-23)
        code = torch.round(x * (1.0 / step)).clamp(-128, 127).to(torch.int32)
        sums = code @ torch.from_numpy(weights.T.astype(np.int32))
        y = sums.to(torch.float32) * step * torch.from_numpy(scales.reshape(-1))
        wanted = (y + torch.from_numpy(np.linspace(-1, 1, UNITS, dtype="f4"))).numpy()
        np.testing.assert_array_equal(run(rows(seed)), wanted)
        np.testing.assert_array_equal(qlower.interpret(model, rows(seed)), wanted)


def test_what_does_not_come_off_the_sums_is_refused(tmp_path: Path) -> None:
    build = dynamic(*stored_weights(), 128, total=127)
    with pytest.raises(QlowerError, match="dtype 1 is not supported"):
        qlower.load(build.save(tmp_path / "model.pt2"))


def test_quantized_rows(tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.input("x", (ROWS, DEPTH))
    step = ranges(build, x, "ASYMMETRIC", DEPTH)
    real = build.call(
        "torchao.dequantize_affine.default",
        input=codes(build, x, step, DEPTH),
        block_size=[1, DEPTH],
        scale=step[0],
        zero_point=step[1],
        input_dtype=INT8,
        **BYTES,
    )
    build.output(real)
    model = qlower.load(build.save(tmp_path / "model.pt2"))
    for seed in range(4):
        x = torch.from_numpy(rows(seed))
        ends = x.amin(1, True).clamp(max=0), x.amax(1, True).clamp(min=0)
        least = torch.finfo(torch.float32).smallest_normal
        scale = ((ends[1] - ends[0]) / 255.0).clamp(min=least)
        point = (-128 - torch.round(ends[0] / scale)).clamp(-128, 127)
        code = (torch.round(x * (1.0 / scale)) + point).clamp(-128, 127)
        wanted = ((code - point) * scale).numpy()
        np.testing.assert_array_equal(qlower.jit(model)(rows(seed)), wanted)


@pytest.mark.parts(2)
@pytest.mark.parametrize("block", [32, DEPTH])
def test_weights_alone(block: int, tmp_path: Path) -> None:
    """Weights by groups are real when the model is read."""
    weights, _ = stored_weights()
    groups = DEPTH // block
    random = np.random.default_rng(2)
    scales = np.exp(random.uniform(-7, -3, (UNITS, groups))).astype(np.float32)
    points = random.integers(-8, 8, (UNITS, groups)).astype(np.int8)
    build = Pt2Builder()
    x = build.input("x", (1, DEPTH))
    real = build.call(
        "torchao.dequantize_affine.default",
        input=build.constant(weights),
        block_size=[1, block],
        scale=build.constant(scales),
        zero_point=build.constant(points),
        input_dtype=INT8,
        **BYTES,
    )
    build.output(build.call("aten.linear.default", input=x, weight=real))
    model = qlower.load(build.save(tmp_path / "model.pt2"))
    given = torch.from_numpy(weights).reshape(UNITS, groups, block).to(torch.float32)
    each = [torch.from_numpy(part).unsqueeze(2) for part in (points, scales)]
    wanted = ((given - each[0].to(torch.float32)) * each[1]).reshape(UNITS, DEPTH)
    for place in (0, 5, DEPTH - 1):
        unit = np.zeros((1, DEPTH), np.float32)
        unit[0, place] = 1
        found = qlower.interpret(model, unit)
        np.testing.assert_array_equal(found[0], wanted[:, place].numpy())
