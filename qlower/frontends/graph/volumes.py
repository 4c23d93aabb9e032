"""Windows that slide over three dimensions, as images with what each of them sees.

A volume's windows lie one behind the other, [N, 1, places, taps]: a convolution becomes
one of single pixels, a pool one along the taps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.model.nests import Index, Nest
from qlower.operators.windows import window_extent

from .context import NodeContext
from .orders import channels_last, identity
from .values import Value
from .window import MAX_DILATION, MAX_PAD, MAX_STRIDE, Window

RANK = 5
"""Dimensions of what holds volumes, [N, C, D, H, W]."""

POINT = Window((1, 1), (0, 0, 0, 0), (1, 1), (1, 1))
"""The window of the convolution that is left: no larger than a pixel."""


@dataclass(frozen=True, slots=True)
class Volume:
    """How a window slides, a number for each of the three dimensions."""

    node: NodeContext
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def places(self) -> int:
        return math.prod(self.sizes)

    @property
    def taps(self) -> int:
        return math.prod(self.kernel)

    @property
    def is_padded(self) -> bool:
        return any((*self.low, *self.high))

    def seen(self, value: Value, filler: float, *, taps_last: bool) -> Value:
        """The volume as windows read it, with `filler` around it: [N, 1, places, C
        taps], channel by channel, or [N, places, taps, C]."""
        node, place = self.node, self.node.place()
        value = node.in_order(value)
        batch, channels, *volume = value.shape
        count = batch * channels * self.places * self.taps
        node.check_elements(count)
        emit = node.builder.emitter(place, "windows")
        element, plain = value.element, value.ssa
        held = element
        if isinstance(element, QuantizedType):
            held = element.storage_type
            type = TensorType(held, value.shape)
            plain = emit.add(StorageCastOp(plain, type)).result
        if self.is_padded:
            padded = [
                low + size + high
                for low, size, high in zip(self.low, volume, self.high, strict=True)
            ]
            around = emit.filled((batch, channels, *padded), held, filler)
            plain = emit.inserted(plain, around, (0, 0, *self.low))
        last = (channels, *self.kernel) if taps_last else (*self.kernel, channels)
        nest = Nest(emit, (batch, *self.sizes, *last))
        first = 5 if taps_last else 4
        loops: list[Index] = [0, 4 if taps_last else 7]
        for axis in range(3):
            start = AffineDimExpr(1 + axis) * self.stride[axis]
            loops.append(start + AffineDimExpr(first + axis) * self.dilation[axis])
        nest.window(range(len(nest.bounds)))
        (found,) = nest.build([nest.input(plain, loops)])
        shape = (batch, 1, self.places, channels * self.taps)
        if not taps_last:
            shape = (batch, self.places, self.taps, channels)
        found = emit.add(qnn.ReshapeOp(found, TensorType(held, shape))).result
        if isinstance(element, QuantizedType):
            found = emit.add(StorageCastOp(found, TensorType(element, shape))).result
        return Value(found, identity(4), value.is_real)

    def define(self, ssa: SSAValue | Operation, like: Value) -> None:
        """Make [N, places..., C] the node's result."""
        node = self.node
        if isinstance(ssa, Operation):
            ssa = node.emit(ssa, "image")
        image = Value(ssa, identity(4), like.is_real)
        shape = (image.shape[0], *self.sizes, image.shape[-1])
        whole = node.reshaped(image, shape)
        node.define(Value(whole.ssa, channels_last(RANK), like.is_real))


def read_volume(
    node: NodeContext, shape: Sequence[int], kernel: Sequence[int]
) -> Volume:
    """The window that the attributes give for a volume [N, C, D, H, W]."""
    ones = [1] * 3
    node.integer_list("kernel_shape", list(kernel), 1)
    stride = node.integer_list("strides", ones, 1, MAX_STRIDE)
    dilation = node.integer_list("dilations", ones, 1, MAX_DILATION)
    pads = node.integer_list("pads", [0] * 6, 0, MAX_PAD)
    for name, legal in (("auto_pad", ("", "NOTSET", "VALID")), ("ceil_mode", (0,))):
        given = node.node.attributes.get(name, legal[0])
        if given not in legal:
            raise node.unsupported(name, given, *legal)
    sizes: list[int] = []
    for axis, size in enumerate(shape[2:]):
        extent = window_extent(kernel[axis], dilation[axis])
        room = size + pads[axis] + pads[axis + 3] - extent
        if room < 0:
            raise node.error(f"a window of {extent} is larger than the padded volume")
        sizes.append(room // stride[axis] + 1)
    return Volume(
        node,
        *map(tuple, (kernel, stride, dilation, pads[:3], pads[3:], sizes)),
    )
