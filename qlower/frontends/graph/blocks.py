"""The real images that ONNX Runtime keeps in blocks of 16 channels ("NCHWc").

A session that optimizes moves pools of real images there if the blocks divide their
channels, and after them whatever has a kernel for blocks
(onnxruntime/core/optimizer/nchwc_transformer.cc). Averages are then added in raster
order, and normalizations and products with a constant are convolutions. These are the
blocks of AVX-512; without it, they have 8 channels.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type

from .context import NodeContext

CHANNELS = 16
STARTING = ("AveragePool", "MaxPool")
KEEPING = (
    *("BatchNormalization", "GlobalAveragePool", "GlobalMaxPool"),
    *("HardSigmoid", "HardSwish", "Relu", "Sigmoid", "Tanh"),
)
JOINING = ("Add", "Mul", "Sum")
"""Operators with kernels for blocks: the first ones make blocks of any image, the
others take and give blocks, of the last all operands."""


class Blocks:
    """The values so far that lie in blocks; none where nothing is optimized."""

    def __init__(self, is_optimized: bool) -> None:
        self.is_optimized = is_optimized
        self.names: set[str] = set()

    def holds(self, node: NodeContext, number: int = 0) -> bool:
        """Return whether an operand lies in blocks."""
        return node.name(number) in self.names

    def starts(self, node: NodeContext) -> bool:
        """Return whether a pool of a real image runs in blocks."""
        shape = node.shape(0)
        return self.is_optimized and len(shape) == 4 and shape[1] % CHANNELS == 0

    def scales(self, node: NodeContext) -> bool:
        """Return whether a product is that of an image in blocks with a constant for
        each channel, which is a convolution then."""
        held = [number for number in (0, 1) if self.holds(node, number)]
        if len(held) != 1 or not node.is_constant(1 - held[0]):
            return False
        shape = node.shape(1 - held[0])
        channels = node.shape(held[0])[1]
        return shape in ((channels, 1, 1), (1, channels, 1, 1))

    def follow(self, node: NodeContext) -> None:
        """Take down whether the result of a node, which was imported, is in blocks."""
        kind = node.node.kind
        if not self.is_optimized or node.node.domain or len(node.node.outputs) != 1:
            return
        if kind in STARTING:
            is_real = isinstance(node.given().element, Float32Type)
            is_held = is_real and self.starts(node)
        elif not self.names:
            return
        elif kind in KEEPING:
            is_held = self.holds(node)
        elif kind in JOINING or kind == "Concat":
            is_held = all(name in self.names for name in node.node.inputs)
            if kind == "Mul":
                shapes = {node.shape(number) for number in (0, 1)}
                is_held = (is_held and len(shapes) == 1) or self.scales(node)
            elif kind == "Concat":
                is_held = is_held and node.node.attributes.get("axis") == 1
        else:
            return
        if is_held:
            self.names.add(node.node.outputs[0])
