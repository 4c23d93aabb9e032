"""Rounding with a gradient: the value is the device's, the gradient passes through.

It passes where a value isn't clipped. This is the straight-through estimator of
Bengio, Léonard and Courville (arXiv:1308.3432), clipped as PyTorch's
`fake_quantize_per_tensor_affine` does it.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from qlower.diagnostics import QlowerError


class DeviceFunction(torch.autograd.Function):
    """A function that `torch.func` may differentiate, but not map."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        raise QlowerError(
            "torch.vmap can't map over a device",
            help="a set of inputs runs in one step: give it to the module itself",
        )


class Rounded(DeviceFunction):
    """The real values of the stored integers of `real`.

    `scale` and `zero_point` are numbers, or tensors that broadcast. The gradient is
    that of `real` where its nearest integer, or the stored one, lies in the range: a
    stored value at a bound was clipped if the real one is beyond it. A scale's is that
    of learned step size quantization (Esser et al., arXiv:1902.08153): by element the
    stored value less its zero point, and less `real / scale` where that isn't clipped.
    """

    @staticmethod
    def forward(
        real: Tensor,
        stored: Tensor,
        scale: Tensor | float,
        zero_point: Tensor | int,
        low: int,
        high: int,
    ) -> Tensor:
        return stored.to(real.dtype).sub(zero_point).mul_(scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        real, stored, scale, zero_point, low, high = inputs
        nearest = real.div(scale).round_().add_(zero_point)
        passes = (nearest >= low).logical_and_(nearest <= high)
        inside = (stored > low).logical_and_(stored < high)
        passes = passes.logical_or_(inside)
        slopes: list[Tensor] = []
        if ctx.needs_input_grad[2]:
            centred = stored.to(real.dtype).sub(zero_point)
            slopes = [centred.sub_(real.div(scale).mul_(passes))]
            ctx.scale_shape = scale.shape
        ctx.save_for_backward(passes, *slopes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        passes, *slopes = ctx.saved_tensors
        (gradient,) = gradients
        of_scale = [(gradient * slope).sum_to_size(ctx.scale_shape) for slope in slopes]
        found = gradient * passes
        return found, None, (of_scale or [None])[0], None, None, None


class Replaced(DeviceFunction):
    """The device's own real values in the place of `real`, whose gradient they have."""

    @staticmethod
    def forward(real: Tensor, device: Tensor) -> Tensor:
        return device.to(real.dtype, copy=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return gradients[0], None


def applied(function: type[torch.autograd.Function], *arguments: object) -> Any:
    """The result of a function, a tensor or several; PyTorch has no type for that."""
    return cast(Any, function).apply(*arguments)


def store(
    real: Tensor, scale: Tensor | float, zero_point: Tensor | int, low: int, high: int
) -> Tensor:
    """The stored values nearest to real ones: `round(real / scale) + zero_point`, ties
    to even, clipped. They have the type of `real`; NaN becomes the zero point.
    """
    steps = real.div(scale).round_().nan_to_num_(nan=0.0)
    return steps.add_(zero_point).clamp_(low, high)
