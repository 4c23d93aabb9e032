"""Layers whose results in PyTorch aren't those of the engine's contract, by what a
module gave: because PyTorch gets them wrong, or by the memory format of an image."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

CLAMPS = ("clamp", "hardtanh", "relu6")
"""Operators that PyTorch's qnnpack gives wrong results for in images whose channels are
last in memory: it takes them for images whose channels are first."""


POOLS = ("adaptive_avg_pool2d", "avg_pool2d")
"""Operators that round otherwise in images whose channels are first in memory."""


class Image(Protocol):
    """A quantized tensor in some memory format."""

    def is_contiguous(self, *, memory_format: object = ...) -> bool: ...


class TransposedLayer(Protocol):
    """A transposed convolution, whose weights are unpacked on request."""

    stride: Sequence[int]
    padding: Sequence[int]
    output_padding: Sequence[int]
    groups: int
    dilation: Sequence[int]

    def weight(self) -> object: ...
    def bias(self) -> object: ...


def remark_on(name: str, image: Image, engine: str) -> str | None:
    """Return the remark for the user about an operator on an image, if there is one."""
    last = import_module("torch").channels_last
    formats = image.is_contiguous(), image.is_contiguous(memory_format=last)
    if engine == "qnnpack" and name in CLAMPS and formats == (False, True):
        return (
            "PyTorch's qnnpack mixes up the elements of images here, qlower does not:"
            " outputs differ from PyTorch's"
        )
    if engine != "qnnpack" and name in POOLS and formats == (True, False):
        whose = ", as the contract pytorch-nchw does" if engine == "x86" else ""
        return (
            "its image has the channels first in memory, where PyTorch rounds averages"
            f" in another way{whose}; here they are those of channels_last"
        )
    return None


def remark_on_tanh(layer: str) -> str:
    """Return the remark on a layer whose tanh PyTorch takes from MKL."""
    return (
        f"{layer}: its tanh is MKL's in PyTorch, whose steps aren't published, and"
        " SLEEF's here: last bits may differ"
    )


def remark_on_steps(layer: str) -> str:
    """Return the remark on a layer of real numbers whose sums or functions PyTorch
    takes from its libraries."""
    return (
        f"{layer} runs on float32, in steps that aren't those of PyTorch's library:"
        " last bits may differ"
    )


def fault_of_transposed(
    name: str, layer: TransposedLayer, given: object, result: object, engine: str
) -> str | None:
    """Return why a transposed convolution isn't what PyTorch computed, if it isn't.

    PyTorch 2.13 mixes up weights: of onednn and x86 where the numbers of channels
    differ, of fbgemm from 16 input channels on.
    """
    if engine == "x86" and any(layer.output_padding):
        return (
            "with output_padding the engine x86 leaves it to fbgemm: convert for that"
        )
    torch = import_module("torch")
    real = getattr(torch.nn.functional, name)(
        torch.dequantize(given),
        torch.dequantize(layer.weight()),
        layer.bias(),
        layer.stride,
        layer.padding,
        layer.output_padding,
        layer.groups,
        layer.dilation,
    )
    found = torch.int_repr(result).int()
    scale, point = torch.q_scale(result), torch.q_zero_point(result)
    expected = (real / scale).round() + point
    apart = (expected.clamp(0, 255) - found).abs().max().item()
    if apart <= 1:
        return None
    return (
        f"PyTorch's engine {engine} gives other results than the convolution of its"
        f" weights, by up to {apart:.0f} steps: it mixes up weights here"
    )
