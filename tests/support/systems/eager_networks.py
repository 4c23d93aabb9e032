"""Networks as people quantize them in PyTorch's eager mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
quantization: Any = import_module("torch.ao.quantization")


@dataclass(frozen=True)
class Network:
    """A float module, the shape of its input, and which of its layers are fused."""

    module: Any
    shape: tuple[int, ...]
    fused: Sequence[Sequence[str]] = ()

    def example(self, seed: int = 0) -> Any:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self.shape, generator=generator)

    def quantized(self, engine: str) -> Any:
        """Return the module, calibrated and converted for an engine."""
        module = self.module.eval()
        module.qconfig = quantization.get_default_qconfig(engine)
        for part in module.modules():
            if isinstance(part, nn.ConvTranspose2d | nn.ConvTranspose1d):
                part.qconfig = quantization.QConfig(
                    activation=module.qconfig.activation,
                    weight=quantization.default_weight_observer,
                )
        if self.fused:
            quantization.fuse_modules(module, self.fused, inplace=True)
        prepared = quantization.prepare(module)
        with torch.no_grad():
            for seed in range(3):
                prepared(self.example(seed))
            return quantization.convert(prepared)


class Stubs(nn.Module):
    """Layers between a quantization and a dequantization."""

    def __init__(
        self, layers: Mapping[str, Any], forward: Callable[[Any, Any], Any]
    ) -> None:
        super().__init__()
        self.quantize = quantization.QuantStub()
        self.dequantize = quantization.DeQuantStub()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.body = forward

    def forward(self, x: Any) -> Any:
        return self.dequantize(self.body(self, self.quantize(x)))


def _sum() -> Any:
    return import_module("torch.ao.nn.quantized").FloatFunctional()


def _norm(channels: int) -> Any:
    """A norm with statistics, as after training."""
    norm = nn.BatchNorm2d(channels)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    return norm


IMAGE = (2, 3, 12, 12)


def plain() -> Network:
    layers = {
        "first": nn.Conv2d(3, 16, 3, padding=1),
        "relu": nn.ReLU(),
        "second": nn.Conv2d(16, 32, 3, stride=2, padding=1),
        "pool": nn.AdaptiveAvgPool2d(1),
        "classify": nn.Linear(32, 10),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.pool(net.relu(net.second(net.relu(net.first(x)))))
        return net.classify(x.flatten(1))

    return Network(Stubs(layers, forward), IMAGE)


def sequential() -> Network:
    """Layers are called 0, 1, 2 and so on."""
    layers = (
        *(quantization.QuantStub(), nn.Conv2d(3, 8, 3), _norm(8), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(200, 12)),
        *(nn.ReLU(), nn.Linear(12, 5), quantization.DeQuantStub()),
    )
    return Network(nn.Sequential(*layers), IMAGE, [["1", "2", "3"], ["7", "8"]])


def residual() -> Network:
    layers = {
        "first": nn.Conv2d(3, 16, 3, padding=1),
        "relu": nn.ReLU(),
        "depthwise": nn.Conv2d(16, 16, 3, padding=1, groups=16),
        "pointwise": nn.Conv2d(16, 16, 1),
        **{name: _sum() for name in ("bounded", "plain", "product")},
        "classify": nn.Linear(16, 4),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.relu(net.first(x))
        x = net.bounded.add_relu(x, net.pointwise(net.depthwise(x)))
        x = net.plain.add(x, net.depthwise(x))
        return net.classify(net.product.mul(x, x).mean([2, 3]))

    return Network(Stubs(layers, forward), IMAGE, [["first", "relu"]])


def depthwise() -> Network:
    """More channels than oneDNN takes of the engine x86."""
    layers = {
        "depthwise": nn.Conv2d(128, 128, 3, padding=1, groups=128),
        "pointwise": nn.Conv2d(128, 16, 1, bias=False),
        "grouped": nn.Conv2d(16, 32, (3, 5), (2, 1), groups=4, dilation=(1, 2)),
    }
    body = nn.Sequential(*layers.values())
    return Network(quantization.QuantWrapper(body), (1, 128, 9, 9))


def joined() -> Network:
    layers = {
        "wide": nn.Conv2d(3, 8, 3, padding=1),
        "narrow": nn.Conv2d(3, 5, 1),
        "join": _sum(),
        "pool": nn.AvgPool2d(2),
        "last": nn.Conv2d(13, 7, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        return net.last(net.pool(net.join.cat([net.wide(x), net.narrow(x)], 1)))

    return Network(Stubs(layers, forward), IMAGE)


def activations() -> Network:
    layers = {
        "first": nn.Conv2d(3, 8, 1),
        "hard_swish": nn.Hardswish(),
        "sigmoid": nn.Sigmoid(),
        "elu": nn.ELU(),
        "leaky": nn.LeakyReLU(0.1),
        "tanh": nn.Tanh(),
        "hard_sigmoid": nn.Hardsigmoid(),
        "join": _sum(),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.first(x)
        steps = list(layers)[1:-1]
        return net.join.cat([getattr(net, name)(x) for name in steps], 1)

    return Network(Stubs(layers, forward), IMAGE)


def rows() -> Network:
    layers = {
        "first": nn.Conv1d(4, 8, 3, padding=1),
        "relu": nn.ReLU(),
        "second": nn.Conv1d(8, 8, 5, stride=2),
    }
    body = nn.Sequential(*layers.values())
    wrapped = quantization.QuantWrapper(body)
    return Network(wrapped, (2, 4, 20), [["module.0", "module.1"]])


def perceptron() -> Network:
    layers = {
        "first": nn.Linear(20, 33),
        "relu": nn.ReLU(),
        "second": nn.Linear(33, 7, bias=False),
    }

    def forward(net: Any, x: Any) -> Any:
        return net.second(net.relu(net.first(x)))

    return Network(Stubs(layers, forward), (5, 20), [["first", "relu"]])


def shuffled() -> Network:
    """Parts of channels in another order, by sizes that shapes give."""
    layers = {"first": nn.Conv2d(3, 8, 1), "last": nn.Conv2d(8, 8, 3, groups=4)}

    def forward(net: Any, x: Any) -> Any:
        x = net.first(x)
        n, c, h, w = x.size()
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)
        left, right = x.chunk(2, 1)
        return net.last(torch.cat((right, left), 1))

    return Network(Stubs(layers, forward), IMAGE)


def transposed() -> Network:
    """Channels as many as PyTorch's engines have right results for."""
    layers = (
        nn.Conv2d(3, 8, 3, stride=2),
        nn.ConvTranspose2d(8, 8, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 8, 3, padding=1, groups=8),
        nn.ConvTranspose2d(8, 8, (1, 2), stride=(1, 3), groups=2, bias=False),
    )
    return Network(quantization.QuantWrapper(nn.Sequential(*layers)), IMAGE)


def cut() -> Network:
    """Parts of an image by index, some of them enlarged."""
    layers = {"first": nn.Conv2d(3, 8, 3), "last": nn.Conv2d(4, 3, 1)}
    layers["enlarge"] = nn.Upsample(scale_factor=2)

    def forward(net: Any, x: Any) -> Any:
        x = net.first(x)
        height = x.shape[2]
        left, right = x[:, ::2, 1:-1], x[:, 1::2][..., 1 : height - 1, :]
        x = net.enlarge(net.last(torch.cat([left[:, :2], right[:, -2:]], 1)))
        return nn.functional.interpolate(x[:, 1, None], size=(48, 40))

    return Network(Stubs(layers, forward), IMAGE)


def scaled() -> Network:
    """Numbers that change scale and zero point alone."""
    layers = {
        "first": nn.Conv2d(3, 8, 3),
        **{name: _sum() for name in ("plus", "share", "product")},
        "last": nn.Conv2d(8, 3, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.first(x)
        y = net.share.mul_scalar(net.plus.add_scalar(x, 0.25), 1 / 6)
        return net.last(net.product.mul(x, y))

    return Network(Stubs(layers, forward), IMAGE)


NETWORKS = (
    *(plain, sequential, residual, depthwise, joined, activations, rows),
    *(perceptron, shuffled, transposed, cut, scaled),
)
