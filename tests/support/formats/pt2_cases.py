"""Small quantized programs: of layers, and of operators between pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qlower.interp.values import Array
from support.formats.pt2_builder import Argument, Name, Pt2Builder

SHAPE = (1, 4, 6, 6)


def network(dtype: str = "u1") -> Pt2Builder:
    """Convolutions, one of them depthwise, a sum, a pool and a linear layer."""
    random = np.random.default_rng(1)
    low = 0 if dtype == "u1" else -128
    build = Pt2Builder()

    def convolution(value: Name, shape: tuple[int, ...], groups: int = 1) -> Name:
        return build.call(
            "aten.conv2d.default",
            input=value,
            weight=build.weight(
                random.integers(-127, 128, shape), random.uniform(0.001, 0.01, shape[0])
            ),
            bias=build.constant(random.normal(size=shape[0]).astype(np.float32)),
            stride=[1, 1],
            padding=[shape[2] // 2, shape[3] // 2],
            dilation=[1, 1],
            groups=groups,
        )

    x = build.pair(build.input("x", (1, 3, 6, 6)), 0.03, low + 120, dtype)
    value = convolution(x, (8, 3, 3, 3))
    value = build.call("aten.relu_.default", self=value)
    first = build.pair(value, 0.02, low, dtype)
    value = convolution(first, (8, 1, 3, 3), 8)
    value = build.call("aten.hardtanh_.default", self=value, min_val=0.0, max_val=6.0)
    second = build.pair(value, 0.015, low, dtype)
    value = build.call("aten.add_.Tensor", self=second, other=first)
    value = build.pair(value, 0.03, low + 3, dtype)
    value = build.call(
        "aten.max_pool2d.default", self=value, kernel_size=[2, 2], stride=[2, 2]
    )
    value = build.pair(value, 0.03, low + 3, dtype)
    value = build.call(
        "aten.adaptive_avg_pool2d.default", self=value, output_size=[1, 1]
    )
    value = build.pair(value, 0.03, low + 3, dtype)
    value = build.call("aten.flatten.using_ints", self=value, start_dim=1)
    weight = build.weight(random.integers(-127, 128, (5, 8)), np.full(5, 0.004))
    value = build.call(
        "aten.linear.default",
        input=value,
        weight=weight,
        bias=build.constant(random.normal(size=5).astype(np.float32)),
    )
    build.output(build.pair(value, 0.05, low + 100, dtype))
    return build


def real(target: str, shape: tuple[int, ...] = SHAPE, **given: Argument) -> Pt2Builder:
    """One operator of ATen on float32."""
    build = Pt2Builder()
    build.output(build.call(target, self=build.input("x", shape), **given))
    return build


def row_pool(includes: bool) -> Pt2Builder:
    """An average pool of rows, whose last window ends beyond the padding."""
    return real(
        "aten.avg_pool1d.default",
        (2, 3, 8),
        kernel_size=[3],
        stride=[2],
        padding=[1],
        ceil_mode=True,
        count_include_pad=includes,
    )


Case = Callable[[], Pt2Builder]

REAL: dict[str, Case] = {
    "abs": lambda: real("aten.abs.default"),
    "leaky_relu": lambda: real("aten.leaky_relu.default", negative_slope=0.3),
    "neg": lambda: real("aten.neg.default"),
    "pow": lambda: real("aten.pow.Tensor_Scalar", exponent=2),
    "rsub": lambda: real("aten.rsub.Scalar", other=0.7),
    "adaptive_avg_pool2d": lambda: real(
        "aten.adaptive_avg_pool2d.default", output_size=[2, 3]
    ),
    "add": lambda: real("aten.add.Tensor", other=1.5),
    "avg_pool1d": lambda: row_pool(True),
    "avg_pool1d_inside": lambda: row_pool(False),
    "avg_pool2d": lambda: real(
        "aten.avg_pool2d.default", kernel_size=[3, 3], stride=[2, 2], padding=[1, 1]
    ),
    "avg_pool2d_inside": lambda: real(
        "aten.avg_pool2d.default",
        kernel_size=[3, 2],
        stride=[2, 2],
        padding=[1, 1],
        ceil_mode=True,
        count_include_pad=False,
    ),
    "chunk": lambda: _parts("aten.chunk.default", chunks=2),
    "clamp": lambda: real("aten.clamp.default", min=-0.5),
    "flatten": lambda: real("aten.flatten.using_ints", start_dim=1, end_dim=2),
    "hardsigmoid": lambda: real("aten.hardsigmoid.default"),
    "hardswish": lambda: real("aten.hardswish.default"),
    "max_pool2d": lambda: real(
        "aten.max_pool2d.default", kernel_size=[3, 3], padding=[1, 1], ceil_mode=True
    ),
    "mean": lambda: real("aten.mean.dim", dim=[-1], keepdim=True),
    "mul": lambda: real("aten.mul.Tensor", other=0.3),
    "permute": lambda: real("aten.permute.default", dims=[0, 2, 3, -3]),
    "relu6": lambda: real("aten.relu6.default"),
    "select": lambda: real("aten.select.int", dim=1, index=-2),
    "slice": lambda: real("aten.slice.Tensor", dim=3, start=1, end=(1 << 63) - 1),
    "split": lambda: _parts("aten.split.Tensor", split_size=3),
    "squeeze": lambda: real("aten.squeeze.dim", dim=0),
    "transpose": lambda: real("aten.transpose.int", dim0=1, dim1=-1),
    "unflatten": lambda: real("aten.unflatten.int", dim=1, sizes=[2, -1]),
    "unsqueeze": lambda: real("aten.unsqueeze.default", dim=-1),
    "view": lambda: real("aten.view.default", size=[2, -1]),
}
"""Operators that ATen and qlower compute alike, to the last bit."""


def _parts(target: str, **given: Argument) -> Pt2Builder:
    build = Pt2Builder()
    name = build.call(target, 2, self=build.input("x", SHAPE), dim=1, **given)
    build.output(name)
    build.output(Name(f"{name}_1"))
    return build


def example(build: Pt2Builder, seed: int = 0) -> Array:
    """An input for a case."""
    shape = build.shapes["x"]
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) * 2
