"""The real images that ONNX Runtime keeps in blocks of 16 channels ("NCHWc").

A session that optimizes moves pools of real images there if the blocks divide their
channels, and after them whatever has a kernel for blocks
(onnxruntime/core/optimizer/nchwc_transformer.cc). Averages are then added in raster
order, and normalizations and products with a constant are convolutions. These are the
blocks of AVX-512; without it, they have 8 channels. Before that it moves transposes
(`moving`): those that undo each other are gone, if only operators with kernels for
blocks lie between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float32Type

from .context import NodeContext
from .moving import BARRIERS, Moving
from .nodes import Graph
from .orders import Order, channels_last, identity

CHANNELS = 16
CHANNELS_FIRST = (0, 3, 1, 2)
STARTING = ("AveragePool", "MaxPool")
GLOBAL = ("GlobalAveragePool", "GlobalMaxPool")
KEEPING = (
    *("BatchNormalization", "Gelu", "HardSigmoid", "HardSwish", "QuickGelu"),
    *("Relu", "Sigmoid", "Tanh"),
)
JOINING = ("Add", "Mul", "Sum")
"""Operators with kernels for blocks: the first ones make blocks of any image, global
pools of what no node computes, too (nchwc_transformer.cc asks for no edge to them), and
the others take and give blocks, of the last all operands."""


class Blocks:
    """The values so far that lie in blocks; none where nothing is optimized."""

    def __init__(self, is_optimized: bool) -> None:
        self.is_optimized = is_optimized
        self.names: set[str] = set()
        self.hidden: dict[str, Order] = {}
        """The values that are images in blocks once transposes have moved behind
        them, with the dimension of the image that each of theirs is."""
        self.unknown: set[str] = set()
        """The values that may lie in blocks, or not."""
        self.moving: Moving | None = None

    def holds(self, node: NodeContext, number: int = 0) -> bool:
        """Return whether an operand lies in blocks."""
        name = node.name(number)
        if name in self.unknown:
            raise node.error(
                f"whether {name!r} lies in blocks of channels depends on how ONNX"
                " Runtime moves transposes or resizes, which is not known here",
                help="--qdq as-written reads the model so",
            )
        return name in self.names

    def starts(self, node: NodeContext) -> bool:
        """Return whether a pool of a real image runs in blocks."""
        shape = node.shape(0)
        return self.is_optimized and len(shape) == 4 and shape[1] % CHANNELS == 0

    def pools(self, node: NodeContext) -> bool:
        """Return whether a global pool of a real image runs in blocks: of an image
        there, of one there whose channels a transpose puts last, and of an input."""
        name = node.name(0)
        is_held = self.holds(node)
        is_free = is_input(node.graph, name)
        return is_held or (
            (is_free or self.hidden.get(name) == channels_last(4)) and self.starts(node)
        )

    def scales(self, node: NodeContext) -> bool:
        """Return whether a product is that of an image in blocks with a constant for
        each channel, which is a convolution then."""
        images = [number for number in (0, 1) if not node.is_constant(number)]
        if len(images) != 1:
            return False
        (image,) = images
        shape = node.shape(1 - image)
        order = self.hidden.get(node.name(image))
        if order is None:
            channels = node.shape(image)[1:2]
            shapes = ((*channels, 1, 1), (1, *channels, 1, 1))
            may_scale = shape in shapes or node.name(image) in self.unknown
            return may_scale and math.prod(shape) > 1 and self.holds(node, image)
        whole = node.shape(image)
        shape = (*[1] * (4 - len(shape)), *shape)
        channels = whole[order.index(1)]
        if [shape[order.index(at)] for at in range(4)] != [1, channels, 1, 1]:
            return False
        crosses = self.crosses(node)
        if crosses is None or math.prod(whole) == whole[order.index(0)] * channels:
            raise node.error(
                "how ONNX Runtime moves transposes before this product, and so whether"
                " it is a convolution in blocks of channels, is not known",
                help="--qdq as-written reads the model so",
            )
        return crosses

    def crosses(self, node: NodeContext) -> bool | None:
        """Return whether transposes move behind a node; None where not known."""
        if self.moving is None:
            self.moving = Moving(node.graph)
        return self.moving.crosses(node, self.hidden)

    def follow(self, node: NodeContext) -> None:
        """Take down whether the result of a node, which was imported, is in blocks."""
        kind = node.node.kind
        is_standard = not node.node.domain or kind in ("Gelu", "QuickGelu")
        if not self.is_optimized or not is_standard or len(node.node.outputs) != 1:
            return
        result = node.node.result
        if kind in STARTING or kind in GLOBAL:
            starts = self.starts if kind in STARTING else self.pools
            if isinstance(node.given().element, Float32Type) and starts(node):
                self.names.add(result)
        elif not self.names:
            return
        elif kind == "Transpose":
            self.follow_transpose(node, result)
        elif kind == "Resize":
            self.follow_resize(node, result)
        elif kind == "Reshape":
            self.follow_reshape(node, result)
        elif kind in KEEPING or kind in JOINING or kind == "Concat":
            self.follow_kernel(node, result)

    def follow_transpose(self, node: NodeContext, result: str) -> None:
        """Transposes merge; what they leave as it was lies in blocks again. Behind
        others than to channels last and back that is not known."""
        name, rank = node.name(0), len(node.shape(0))
        if name in self.unknown:
            self.unknown.add(result)
        if name not in self.hidden and name not in self.names:
            return
        first = self.hidden.get(name)
        perm = node.integer_list("perm", list(reversed(range(rank))), 0, rank - 1)
        if tuple(perm) not in (channels_last(4), CHANNELS_FIRST):
            # Some are dropped or merged before what is behind them is moved.
            self.unknown.add(result)
            return
        order = tuple(perm if first is None else (first[at] for at in perm))
        if first is None or order != identity(4):
            self.hidden[result] = order
        elif node.graph.is_returned(result) and self.names & set(node.graph.outputs):
            # Two results that are equal: between them is a copy, perhaps.
            self.unknown.add(result)
        else:
            self.names.add(result)

    def follow_resize(self, node: NodeContext, result: str) -> None:
        """An image whose pixels are repeated stays in blocks; whether it does by other
        modes or by sizes is not known."""
        name, attributes = node.name(0), node.node.attributes
        scales = node.graph.array(node.name(2)) if node.has(2) else None
        if name not in self.names and name not in self.unknown:
            return
        if scales is not None and not np.array_equal(scales, np.trunc(scales)):
            return
        is_repeated = (
            attributes.get("mode", "nearest") == "nearest"
            and attributes.get("coordinate_transformation_mode") == "asymmetric"
            and attributes.get("nearest_mode") == "floor"
        )
        if attributes.get("mode") == "linear":
            raise node.error(
                "ONNX Runtime interpolates this image in blocks of channels, in an"
                " order that is not supported",
                help="--qdq as-written reads the model so",
            )
        is_known = scales is not None and is_repeated and name in self.names
        (self.names if is_known else self.unknown).add(result)

    def follow_reshape(self, node: NodeContext, result: str) -> None:
        """A reshape that only moves dimensions of 1 merges as a transpose does."""
        name, value = node.name(0), node.importer.value(result, node)
        before, after = (
            [size for size in shape if size != 1]
            for shape in (node.shape(0), value.shape)
        )
        if before == after and (name in self.hidden or name in self.unknown):
            self.unknown.add(result)

    def follow_kernel(self, node: NodeContext, result: str) -> None:
        """What has a kernel for blocks gives blocks, if it takes nothing else."""
        kind, names = node.node.kind, node.node.inputs
        if kind in KEEPING:
            names = names[:1]
        elif kind == "Mul" and node.shape(0) != node.shape(1):
            if not self.scales(node):
                return
            names = [name for name in names if name not in node.graph.constants]
        if not self.names.union(self.hidden, self.unknown).issuperset(names):
            return
        known = [name for name in names if name not in self.unknown]
        orders = {self.hidden.get(name) for name in known}
        order = orders.pop() if orders else None
        if orders or (kind == "Concat" and known and not is_of_channels(node, order)):
            return
        if len(known) < len(names):
            self.unknown.add(result)
        elif order is None:
            self.names.add(result)
        elif kind not in BARRIERS:
            crosses = self.crosses(node)
            if crosses:
                self.hidden[result] = order
            elif crosses is None:
                self.unknown.add(result)


def is_input(graph: Graph, name: str) -> bool:
    """Return whether a value is an input, perhaps by transposes that cancel."""
    order, count = identity(4), 0
    while (node := graph.producer(name)) is not None and node.kind == "Transpose":
        perm = node.attributes.get("perm", (3, 2, 1, 0))
        if not isinstance(perm, Sequence) or len(perm) != 4:
            return False
        order = tuple(int(perm[at]) for at in order)
        name, count = node.inputs[0], count + 1
    return node is None and order == identity(4) and count != 1


def is_of_channels(node: NodeContext, order: Order | None) -> bool:
    """Return whether a concatenation is one of channels."""
    axis = node.integer("axis", None)
    return axis == 1 if order is None else order[axis] == 1
