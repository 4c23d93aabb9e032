"""Resize to the nearest index, or between indices of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.emit.movement import elements_at
from qlower.files.arrays import Array
from qlower.operators.resizing import Reals, Side

from ...entry import takes
from ...import_options import AS_WRITTEN
from ...scalars import Scalars, in_turn, text
from ..context import NodeContext
from ..values import Value, real_value
from .real import real_operand
from .rearranging import pick
from .slicing import take

TRANSFORMATIONS = "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"
ROUNDINGS = "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"

MAX_SIZE = 1 << 20


def import_resize(node: NodeContext) -> None:
    """Sizes, or scales that give them rounded down."""
    value = node.value(0)
    node.expect("keep_aspect_ratio_policy", "stretch")
    mode = node.text("mode", "nearest", ["nearest", "linear", "cubic"])
    if mode != "nearest":
        sides = _image_sides(node, value)
        if value.is_real:
            value = real_operand(node, 0)
        elif mode == "cubic":
            raise node.error(
                "cubic interpolation of stored integers is not supported; expected real"
                " numbers",
                help="quantize the model in QDQ form, in which ONNX Runtime"
                " interpolates real numbers",
            )
        (_interpolate if mode == "linear" else _interpolate_cubic)(node, value, sides)
        return
    indices = [_sources(node, side) for side in _sides(node, value)]
    for axis, sources in enumerate(indices):
        value = resized(node, value, axis, sources)
    node.define(value)


def _image_sides(node: NodeContext, value: Value) -> list[Side]:
    """The axes of an image of real numbers whose channels stay."""
    node.expect("antialias", 0)
    sides = _sides(node, value)
    if len(sides) != 4 or any(side.factor != 1 for side in sides[:2]):
        raise node.error(
            f"interpolation of {list(value.shape)} to {[side.wanted for side in sides]}"
            " is not supported; expected images whose channels stay"
        )
    return sides


def _interpolate_cubic(node: NodeContext, value: Value, sides: Sequence[Side]) -> None:
    """Interpolate between four columns in each row, then between four such rows
    (ResizeBiCubic of upsample.cc)."""
    node.expect("exclude_outside", 0)
    factor = node.number("cubic_coeff_a", -0.75)
    value = node.in_order(value)
    ssa, shape = value.ssa, list(value.shape)
    for axis in (3, 2):
        places = _places(node, sides[axis])
        first, last = np.floor(places), shape[axis] - 1
        shape[axis] = sides[axis].wanted
        nest = node.nest(shape, f"cubic_{axis}")
        steps = Scalars(nest)
        distance = nest.input(nest.emitter.constant(places - first, f32), (axis,))
        ends = [np.clip(first + number, 0, last) for number in range(-1, 3)]
        total = steps.constant(0, f32)
        for share, pixel in zip(
            _cubic_shares(steps, distance, factor),
            elements_at(nest, ssa, {axis: ends}),
            strict=True,
        ):
            total = steps.add(total, steps.multiply(share, pixel))
        (ssa,) = nest.build([total])
    node.define(real_value(ssa))


def _cubic_shares(steps: Scalars, distance: SSAValue, factor: float) -> list[SSAValue]:
    """The shares of four pixels; the second one is at `distance` before a place."""
    near, far = (text("_mlas", f"cubic_{name}") for name in ("near", "far"))
    one, two, a = (steps.constant(number, f32) for number in (1.0, 2.0, factor))
    return [
        far(steps, steps.add(distance, one), a),
        near(steps, distance, a),
        near(steps, steps.subtract(one, distance), a),
        far(steps, steps.subtract(two, distance), a),
    ]


def _interpolate(node: NodeContext, value: Value, sides: Sequence[Side]) -> None:
    """Interpolate between four pixels, each times the product of two distances
    (UpsampleBilinear of upsample.cc). Stored integers are taken as they are; what is
    between them is cut toward 0."""
    is_fixed = _is_fixed(node, value)
    value = node.in_order(value)
    table, number = node.plain(value), i32 if is_fixed else f32
    nest = node.nest([side.wanted for side in sides], "interpolated")
    element = value.element
    steps = Scalars(nest, isinstance(element, QuantizedType) and not element.signed)
    places = {axis: _places(node, sides[axis]) for axis in (2, 3)}
    pixels = elements_at(
        nest, table, {axis: sides[axis].neighbours(at) for axis, at in places.items()}
    )
    rows, columns = (
        [
            nest.constant(share, number, (axis,))
            for share in _shares(sides[axis], at, is_fixed=is_fixed)
        ]
        for axis, at in places.items()
    )
    terms: list[SSAValue] = []
    for pixel, (row, column) in zip(pixels, product(rows, columns), strict=True):
        pixel = steps.cast(pixel, number)
        terms.append(steps.multiply(steps.multiply(column, row), pixel))
    result = in_turn(Scalars.add)(steps, *terms)
    if is_fixed:
        result = steps.step(arith.DivSIOp(result, steps.constant(PARTS**2, i32)))
    if not value.is_real:
        result = steps.cast(steps.cast(result, i32), element_type(table.type))
    (found,) = nest.build([result])
    node.define(replace(value, ssa=node.meant(found, value.element)))


PARTS = 1 << 10
"""Integer distances are multiples of 1 over this number."""


FOLLOWING = frozenset(
    {
        *("QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid"),
        *("QLinearLeakyRelu", "QLinearAveragePool", "QLinearGlobalAveragePool"),
        *("MaxPool", "Concat", "Relu", "Clip", "Resize"),
    }
)
"""Operators on stored integers whose images lie as their operands do."""


def _is_fixed(node: NodeContext, value: Value) -> bool:
    """Whether distances are integers (NhwcUpsampleBilinearInteger): of stored integers
    whose channels ONNX Runtime's optimizer lets lie last, as its convolutions do."""
    if value.is_real or node.importer.qdq == AS_WRITTEN:
        return False
    graph, seen = node.graph, {node.name(0)}
    left, sources = [node.name(0)], set[str]()
    while left:
        producer = graph.producer(left.pop())
        if producer is None or producer.kind not in FOLLOWING:
            sources.add("" if producer is None else producer.kind)
            continue
        images = set(producer.inputs) - graph.constants.keys() - seen - {""}
        seen |= images
        left += images
    if "Transpose" in sources or len({kind == CONVOLUTION for kind in sources}) > 1:
        raise node.error(
            "interpolation of stored integers is not supported where an image that is"
            " not a convolution's, or is transposed, decides how they lie in memory",
            help="--qdq as-written reads the file as ONNX Runtime runs it without"
            " optimization",
        )
    return sources == {CONVOLUTION}


CONVOLUTION = "QLinearConv"


def _shares(side: Side, places: Reals, *, is_fixed: bool) -> Sequence[Array]:
    """The shares of the two indices next to each place: how far it is from the other
    one, as an integer number of `PARTS` if it `is_fixed`; halves where the two are
    one."""
    at = np.clip(places, np.float32(0), np.float32(side.size - 1))
    low, high = side.neighbours(at)
    whole = PARTS if is_fixed else 1
    if is_fixed:
        at = np.trunc(at * np.float32(PARTS))
    distances = [np.abs(at - end * whole) for end in (high, low)]
    return [np.where(low == high, whole / 2, each) for each in distances]


def _sides(node: NodeContext, value: Value) -> list[Side]:
    """Each axis with the result's size and how much larger that is."""
    rank = len(value.shape)
    if node.has(3):
        sizes = node.integers(3, "sizes", rank)
        scales = [new / old for new, old in zip(sizes, value.shape, strict=True)]
    else:
        number = 2 if len(node.node.inputs) > 2 else 1
        array = node.array(number, "scales")
        if array.dtype != np.float32 or array.size != rank:
            raise node.error(f"{array.size} scales of {array.dtype}; expected {rank}")
        scales = [float(scale) for scale in array.reshape(-1)]
        for scale in scales:
            if not 0 < scale <= MAX_SIZE:
                raise node.error(f"scale {scale} is out of range (0, {MAX_SIZE}]")
        sizes = [
            int(np.floor(np.float32(old) * np.float32(scale)))
            for old, scale in zip(value.shape, scales, strict=True)
        ]
    for size in sizes:
        node.check_range("size", size, 1, MAX_SIZE)
    return [Side(*axis) for axis in zip(value.shape, sizes, scales, strict=True)]


def _sources(node: NodeContext, side: Side) -> list[int]:
    """The index that each index of the result is taken from (core/providers/cpu/tensor,
    upsample.cc and upsamplebase.h)."""
    if side.factor == 1:
        return list(range(side.size))
    old = node.graph.model.opset < 11
    default = "floor" if old else "round_prefer_floor"
    rounding = node.text("nearest_mode", default, ROUNDINGS)
    return side.nearest(_places(node, side), rounding)


def _places(node: NodeContext, side: Side) -> Reals:
    """The place in the operand of each index of the result."""
    if side.factor == 1:
        return np.arange(side.wanted, dtype=np.float32)
    default = "asymmetric" if node.graph.model.opset < 11 else "half_pixel"
    name = "coordinate_transformation_mode"
    return side.places(node.text(name, default, TRANSFORMATIONS))


def resized(node: NodeContext, value: Value, axis: int, sources: list[int]) -> Value:
    """Take these indices of a dimension, which never go back."""
    size, wanted = value.shape[axis], len(sources)
    factor = wanted // size
    if sources == list(range(size)):
        return value
    if sources == [index // factor for index in range(size * factor)]:
        return _repeated(node, value, axis, factor)
    step = sources[1] - sources[0] if wanted > 1 else 1
    found = range(sources[0], sources[0] + wanted * max(step, 1), max(step, 1))
    if list(found) != sources:
        return pick(node, value, axis, sources)
    ranges = [range(extent) for extent in value.shape]
    ranges[axis] = found
    return take(node, value, ranges, 0, f"slice_{axis}")


def _repeated(node: NodeContext, value: Value, axis: int, factor: int) -> Value:
    """Each index `factor` times: copies side by side along a new dimension."""
    sizes = value.type.get_shape()
    place = value.order.index(axis)
    before, after = sizes[: place + 1], sizes[place + 1 :]
    single = TensorType(value.element, (*before, 1, *after))
    column = node.emit(qnn.ReshapeOp(value.ssa, single), f"column_{axis}")
    copies = TensorType(value.element, (*before, factor, *after))
    joined = qnn.ConcatOp([column] * factor, copies, axis=place + 1)
    node.importer.charge(factor)
    copied = node.emit(joined, f"copies_{axis}")
    merged = (*sizes[:place], sizes[place] * factor, *after)
    result = qnn.ReshapeOp(copied, TensorType(value.element, merged))
    return replace(value, ssa=node.emit(result, f"repeated_{axis}"))


IMPORTERS = {
    ("", "Resize"): takes(
        "x: STORED | FLOAT, roi?, scales?, sizes?; axes: None", import_resize
    )
}
