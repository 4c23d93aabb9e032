"""What networks of PyTorch are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
IMAGE = ((1, 3, 33, 29),)


class Net(nn.Module):
    """Layers by name, and what is computed with them."""

    def __init__(
        self, forward: Callable[..., Any], layers: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        for name, layer in (layers or {}).items():
            setattr(self, name, layer)
        self.body = forward

    def forward(self, x: Any) -> Any:
        return self.body(self, x)


class Pair(nn.Module):
    """A network of two inputs."""

    def __init__(self, forward: Callable[..., Any], layers: Mapping[str, Any]) -> None:
        super().__init__()
        self.layers, self.body = nn.ModuleDict(layers), forward

    def forward(self, x: Any, y: Any) -> Any:
        return self.body(self.layers, x, y)


@dataclass(frozen=True)
class Real:
    """A network of real numbers, with the shapes of its inputs; those in `tokens` are
    indices below that number."""

    module: Any
    shapes: tuple[tuple[int, ...], ...]
    tokens: int = 0

    def inputs(self, seed: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        if self.tokens:
            return tuple(
                torch.randint(self.tokens, shape, generator=generator)
                for shape in self.shapes
            )
        return tuple(torch.randn(s, generator=generator) for s in self.shapes)


def norm(channels: int) -> Any:
    """A norm with statistics, as after training."""
    made = nn.BatchNorm2d(channels)
    made.running_mean.normal_(0, 0.2)
    made.running_var.uniform_(0.5, 2)
    return made


def block(inputs: int, outputs: int, kernel: Any = 3, **options: Any) -> Any:
    """A convolution, a norm and a ReLU."""
    convolution = nn.Conv2d(inputs, outputs, kernel, bias=False, **options)
    return nn.Sequential(convolution, norm(outputs), nn.ReLU(inplace=True))
