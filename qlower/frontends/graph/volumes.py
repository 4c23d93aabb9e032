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
from qlower.operators.windows import Window

from .context import NodeContext
from .orders import channels_last, identity
from .values import Value
from .window import read_window

RANK = 5
"""Dimensions of what holds volumes, [N, C, D, H, W]."""


@dataclass(frozen=True, slots=True)
class Volume:
    """The steps of a window along the three axes of a volume."""

    node: NodeContext
    window: Window

    @property
    def places(self) -> int:
        return math.prod(self.window.sizes)

    @property
    def taps(self) -> int:
        return math.prod(self.window.kernel)

    @property
    def is_padded(self) -> bool:
        return any(self.window.pad)

    def seen(self, value: Value, filler: float, *, taps_last: bool) -> Value:
        """The volume as windows read it, with `filler` around it: [N, 1, places, C
        taps], channel by channel, or [N, places, taps, C]."""
        node, place = self.node, self.node.place()
        value = node.in_order(value)
        batch, channels, *_ = value.shape
        count = batch * channels * self.places * self.taps
        node.check_elements(count)
        emit = node.builder.emitter(place, "windows")
        element, plain = value.element, value.ssa
        held = element
        if isinstance(element, QuantizedType):
            held = element.storage_type
            type = TensorType(held, value.shape)
            plain = emit.add(StorageCastOp(plain, type)).result
        window = self.window
        if self.is_padded:
            padded = (axis.room + axis.extent for axis in window.axes)
            around = emit.filled((batch, channels, *padded), held, filler)
            plain = emit.inserted(plain, around, (0, 0, *window.pad[::2]))
        last = (channels, *window.kernel) if taps_last else (*window.kernel, channels)
        nest = Nest(emit, (batch, *window.sizes, *last))
        first = 5 if taps_last else 4
        loops: list[Index] = [0, 4 if taps_last else 7]
        for at, axis in enumerate(window.axes):
            start = AffineDimExpr(1 + at) * axis.stride
            loops.append(start + AffineDimExpr(first + at) * axis.dilation)
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
        shape = (image.shape[0], *self.window.sizes, image.shape[-1])
        whole = node.reshaped(image, shape)
        node.define(Value(whole.ssa, channels_last(RANK), like.is_real))


def read_volume(
    node: NodeContext, shape: Sequence[int], kernel: Sequence[int]
) -> Volume:
    """The window that the attributes give for a volume [N, C, D, H, W]."""
    node.expect("auto_pad", "", "NOTSET", "VALID")
    node.expect("ceil_mode", 0)
    return Volume(node, read_window(node, shape[2:], kernel))
