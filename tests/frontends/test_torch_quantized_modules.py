"""Single modules and functions of PyTorch's quantized engine, read from a traced module
and interpreted: the bits of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
quantized: Any = import_module("torch.ao.nn.quantized")
fused: Any = import_module("torch.ao.nn.intrinsic.quantized")
functional: Any = torch.nn.functional
operators: Any = torch.ops.quantized

pytestmark = pytest.mark.filterwarnings("ignore")

SCALE, POINT = 0.05, 120
"""Of each input; results have others."""


def example(*shape: int, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator) * 3


def drawn(count: int, seed: int) -> Any:
    """Weights of a norm: some of them negative."""
    return torch.nn.Parameter(example(count, seed=seed) / 3, requires_grad=False)


def norm(kind: Any, *arguments: Any, **options: Any) -> Any:
    """A norm of stored integers with drawn weights, some of them negative."""
    weight = options.pop("count")
    return kind(
        *arguments, drawn(weight, 1), drawn(weight, 2), scale=0.04, zero_point=101
    )


def batch_norm(kind: Any, count: int) -> Any:
    made = kind(count)
    made.weight.data, made.bias.data = drawn(count, 1), drawn(count, 2)
    made.running_mean = drawn(count, 3).detach()
    made.running_var = drawn(count, 4).square() + 0.1
    made.scale, made.zero_point = torch.tensor(0.07), torch.tensor(99)
    return made.eval()


def prelu(count: int) -> Any:
    made = quantized.PReLU(0.03, 110, count)
    slopes = torch.quantize_per_tensor(drawn(count, 5), 0.01, 128, torch.quint8)
    made.set_weight(slopes)
    return made


MODULES: dict[str, tuple[tuple[int, ...], Callable[[], Any]]] = {
    "rows": ((2, 3, 20), lambda: norm(quantized.LayerNorm, 20, count=20)),
    "rows of two dimensions": (
        (2, 3, 4),
        lambda: quantized.LayerNorm(
            (3, 4),
            *(torch.nn.Parameter(drawn(12, n).reshape(3, 4)) for n in (1, 2)),
            scale=0.04,
            zero_point=101,
        ),
    ),
    "rows with another epsilon": (
        (4, 6),
        lambda: quantized.LayerNorm(
            6, drawn(6, 1), drawn(6, 2), scale=0.04, zero_point=101, eps=0.5
        ),
    ),
    "groups": ((2, 6, 3, 5), lambda: norm(quantized.GroupNorm, 2, 6, count=6)),
    "images": ((2, 4, 3, 5), lambda: norm(quantized.InstanceNorm2d, 4, count=4)),
    "batches": ((2, 3, 2, 4), lambda: batch_norm(quantized.BatchNorm2d, 3)),
    "batches of volumes": (
        (2, 3, 2, 2, 3),
        lambda: batch_norm(quantized.BatchNorm3d, 3),
    ),
    "bounded batches": ((2, 3, 2, 4), lambda: batch_norm(fused.BNReLU2d, 3)),
    "slopes of channels": ((2, 3, 4, 2), lambda: prelu(3)),
    "one slope": ((2, 3, 4, 2), lambda: prelu(1)),
    "leaky": ((2, 64), lambda: quantized.LeakyReLU(0.04, 100, 0.2)),
    "elu": ((2, 64), lambda: quantized.ELU(0.04, 100)),
    "sigmoid": ((2, 64), lambda: quantized.Sigmoid(1 / 256, 0)),
    "hardswish": ((2, 64), lambda: quantized.Hardswish(0.04, 10)),
    "relu6": ((2, 64), lambda: quantized.ReLU6()),
    "softmax": ((2, 5, 3), lambda: quantized.Softmax(1, 1 / 256, 0)),
}


class Largest(torch.nn.Module):
    """A pool of real numbers: the engine has none of codes."""

    def __init__(self, *size: int) -> None:
        super().__init__()
        self.pool = torch.nn.AdaptiveMaxPool2d(size)

    def forward(self, x: Any) -> Any:
        real = self.pool(x.dequantize())
        return torch.quantize_per_tensor(real, SCALE, POINT, torch.quint8)


def swapped(x: Any) -> Any:
    parts = torch.chunk(x, 2, 1)
    return torch.cat([parts[1], parts[0]], 1)


FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "relu": ((2, 64), functional.relu),
    "clamp": ((2, 64), lambda x: torch.clamp(x, -1.0, 1.5)),
    "clamp at one end": ((2, 64), lambda x: torch.clamp(x, min=-0.5)),
    "hardtanh": ((2, 64), functional.hardtanh),
    "hardsigmoid": ((2, 64), functional.hardsigmoid),
    "tanh": ((2, 64), torch.tanh),
    "pixel_shuffle": ((2, 8, 3, 2), lambda x: functional.pixel_shuffle(x, 2)),
    "pixel_shuffle of 3": ((1, 18, 2, 1), lambda x: functional.pixel_shuffle(x, 3)),
    "interpolate": ((1, 2, 3, 2), lambda x: functional.interpolate(x, (6, 6))),
    "largest": ((1, 2, 6, 4), Largest(3, 2)),
    "mean": ((2, 3, 4, 5), lambda x: torch.mean(x, [2, 3])),
    "mean that is kept": ((2, 3, 4, 5), lambda x: torch.mean(x, [1], keepdim=True)),
    "average": ((2, 3, 5, 4), lambda x: functional.avg_pool2d(x, (2, 3), (3, 1))),
    "adaptive average": (
        (2, 3, 5, 4),
        lambda x: functional.adaptive_avg_pool2d(x, (2, 3)),
    ),
    "one for both": ((2, 3, 5, 4), lambda x: functional.adaptive_avg_pool2d(x, 2)),
    "turned": ((2, 3, 4), lambda x: x.transpose(1, 2).reshape(2, 12)),
    "largest of windows": ((1, 2, 6, 4), lambda x: functional.max_pool2d(x, (3, 2))),
    "parts": ((2, 4, 3), swapped),
    "flat": ((2, 4, 3), lambda x: torch.flatten(x.contiguous(), 1)),
    "seen": ((2, 4, 3), lambda x: functional.dropout(x, 0.5, False).view(2, 12)),
    "sizes one by one": ((2, 4, 3), lambda x: x.reshape(4, -1).permute(1, 0)),
    "more dimensions": ((2, 4, 3), lambda x: x.unsqueeze(2).unsqueeze(-1)),
    "fewer dimensions": ((2, 1, 30), lambda x: x.squeeze(1)),
    "leaky": ((2, 64), lambda x: functional.leaky_relu(x, 0.3)),
    "sigmoid": ((2, 64), torch.sigmoid),
    "relu6": ((2, 64), functional.relu6),
    "hardswish": ((2, 64), lambda x: operators.hardswish(x, 0.04, 10)),
    "sum": ((2, 64), lambda x: operators.add(x, operators.mul(x, x, 0.2, 7), 0.3, 99)),
    "bounded sum": ((2, 64), lambda x: operators.add_relu(x, x, 0.07, 50)),
    "bounded product": ((2, 64), lambda x: operators.mul_relu(x, x, 0.1, 20)),
    "twice": ((2, 30), lambda x: operators.mul_scalar(x, 2.0)),
    "a row of several": ((3, 4, 5), lambda x: x[1]),
    "a row from the end": ((3, 9, 5), lambda x: x[-1, :, None, 2]),
    "every other": ((3, 4, 5), lambda x: x[..., 1::2]),
    "all but two": ((3, 4, 5), lambda x: x[:, 1:-1, None]),
    "whole": ((3, 4, 5), lambda x: x[:, :, :]),
    "joined": ((2, 3, 4), lambda x: torch.cat([x, x[:, 1:]], 1)),
}


@pytest.fixture(autouse=True)
def engine() -> Any:
    """The engine whose contract the modules have."""
    engines: Any = torch.backends.quantized
    before = engines.engine
    if not torch.cpu._is_vnni_supported() or "x86" not in engines.supported_engines:
        pytest.skip("this PyTorch has no engine x86 with VNNI")
    engines.engine = "x86"
    yield
    engines.engine = before


class Between(torch.nn.Module):
    """A step between a quantization and a dequantization."""

    def __init__(self, step: Any) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Any) -> Any:
        x = torch.quantize_per_tensor(x, SCALE, POINT, torch.quint8)
        return self.step(x).dequantize()


def read(step: Any, x: Any) -> tuple[Any, qlower.Model]:
    module = import_module("torch.fx").symbolic_trace(Between(step))
    return module, qlower.from_fx(module, x)


def check(step: Any, shape: tuple[int, ...]) -> None:
    x = example(*shape)
    module, model = read(step, x)
    with torch.no_grad():
        expected = module(x).numpy()
    found = np.asarray(qlower.interpret(model, x.numpy()))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected)) > 4


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    shape, make = MODULES[name]
    check(make(), shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    shape, function = FUNCTIONS[name]
    check(function, shape)


@pytest.mark.parametrize(
    ("shape", "function", "message"),
    [
        (
            (1, 2, 3, 2),
            lambda x: functional.interpolate(x, (6, 5)),
            "[1, 2, 6, 5] of [1, 2, 3, 2] is not supported; expected whole multiples",
        ),
        (
            (1, 2, 6, 4),
            Largest(4, 2),
            "[4, 2] of [6, 4] is not supported; expected whole parts",
        ),
        (
            (2, 3),
            lambda x: torch.clamp(x, 2.0, -1.0),
            "min 2.0 is above max -1.0",
        ),
        (
            (2, 4),
            lambda x: torch.cat(torch.chunk(x, 2, 1)[::-1], 1),
            "parts of a value that are joined are not supported",
        ),
        (
            (2, 3),
            lambda x: torch.topk(x, 2)[0],
            "node 2 topk 'topk': this operator is not supported on quantized tensors",
        ),
        (
            (2, 3),
            lambda x: operators.mul_scalar(x, -2.0),
            "node 2 mul_scalar: -2.0 changes what is stored, which is not supported",
        ),
        (
            (2, 3),
            lambda x: operators.add_scalar(x, 100.0),
            "node 2 add_scalar: 100.0 changes what is stored, which is not supported",
        ),
        (
            (2, 3),
            lambda x: x[torch.tensor([1, 0])],
            "node 3 getitem: an index is not supported",
        ),
        (
            (1, 2),
            quantized.ELU(0.04, 100, 0.5),
            "alpha 0.5 is not supported; expected 1.0",
        ),
    ],
)
def test_refusals(
    shape: tuple[int, ...], function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(QlowerError) as caught:
        read(function, example(*shape))
    assert message in caught.value.message
