"""Resize to the nearest index, or between indices of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType, TensorType, f32, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.files.arrays import Array
from qlower.model.nests import extract, to_index

from ...entry import takes
from ...import_options import AS_WRITTEN
from ...scalars import Scalars, in_turn, text
from ..context import NodeContext
from ..values import Value, real_value
from .real import real_operand
from .rearranging import pick
from .slicing import take

Reals = NDArray[np.float32]

HALF = np.float32(0.5)

ROUNDINGS: Mapping[str, Callable[[Reals], Reals]] = {
    "round_prefer_floor": lambda x: np.ceil(x - HALF),
    "round_prefer_ceil": lambda x: np.floor(x + HALF),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""The schema's `nearest_mode`."""

MAX_SIZE = 1 << 20


def import_resize(node: NodeContext) -> None:
    """Sizes, or scales that give them rounded down."""
    value = node.value(0)
    node.expect("keep_aspect_ratio_policy", "stretch")
    mode = node.text("mode", "nearest", ["nearest", "linear", "cubic"])
    if mode != "nearest":
        sizes = _image_sizes(node, value)
        if value.is_real:
            value = real_operand(node, 0)
        elif mode == "cubic":
            raise node.error(
                "cubic interpolation of stored integers is not supported; expected real"
                " numbers",
                help="quantize the model in QDQ form, in which ONNX Runtime"
                " interpolates real numbers",
            )
        (_interpolate if mode == "linear" else _interpolate_cubic)(node, value, sizes)
        return
    indices = [
        _sources(node, size, wanted, scale)
        for size, (wanted, scale) in zip(value.shape, _sizes(node, value), strict=True)
    ]
    for axis, sources in enumerate(indices):
        value = resized(node, value, axis, sources)
    node.define(value)


def _image_sizes(node: NodeContext, value: Value) -> list[tuple[int, float]]:
    """The sizes of an image of real numbers whose channels stay, and the scales."""
    node.expect("antialias", 0)
    sizes = _sizes(node, value)
    if len(sizes) != 4 or any(scale != 1 for _, scale in sizes[:2]):
        raise node.error(
            f"interpolation of {list(value.shape)} to {[size for size, _ in sizes]} is"
            " not supported; expected images whose channels stay"
        )
    return sizes


def _interpolate_cubic(
    node: NodeContext, value: Value, sizes: Sequence[tuple[int, float]]
) -> None:
    """Interpolate between four columns in each row, then between four such rows
    (ResizeBiCubic of upsample.cc)."""
    node.expect("exclude_outside", 0)
    factor = node.number("cubic_coeff_a", -0.75)
    value = node.in_order(value)
    ssa, shape = value.ssa, list(value.shape)
    for axis in (3, 2):
        size, (wanted, scale) = shape[axis], sizes[axis]
        places = np.arange(wanted, dtype=np.float32)
        if scale != 1:
            places = _places(node, size, wanted, scale)
        first = np.floor(places)
        shape[axis] = wanted
        nest = node.nest(shape, f"cubic_{axis}")
        steps = Scalars(nest)
        distance = nest.input(nest.emitter.constant(places - first, f32), (axis,))
        total = steps.constant(0, f32)
        for number, share in enumerate(_cubic_shares(steps, distance, factor)):
            at = np.clip(first.astype(np.int32) + number - 1, 0, size - 1)
            index = to_index(nest, nest.input(nest.emitter.constant(at, i32), (axis,)))
            loops: list[SSAValue] = [
                nest.add(IndexOp(loop)).result for loop in range(4)
            ]
            loops[axis] = index
            pixel = extract(nest, ssa, loops)
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


def _interpolate(
    node: NodeContext, value: Value, sizes: Sequence[tuple[int, float]]
) -> None:
    """Interpolate between four pixels, each times the product of two distances
    (UpsampleBilinear of upsample.cc). Stored integers are taken as they are; what is
    between them is cut toward 0."""
    is_fixed = _is_fixed(node, value)
    value = node.in_order(value)
    table, number = node.plain(value), i32 if is_fixed else f32
    nest = node.nest([size for size, _ in sizes], "interpolated")
    emit, element = nest.emitter, value.element
    steps = Scalars(nest, isinstance(element, QuantizedType) and not element.signed)
    image = [nest.add(IndexOp(loop)).result for loop in (0, 1)]
    sides = [_neighbours(node, value, axis, *sizes[axis], number) for axis in (2, 3)]
    places = [
        [to_index(nest, nest.input(emit.constant(at, i32), (axis,))) for at in ends]
        for axis, (ends, _) in zip((2, 3), sides, strict=True)
    ]
    shares = [
        [nest.input(emit.constant(at, number), (axis,)) for at in distances]
        for axis, (_, distances) in zip((2, 3), sides, strict=True)
    ]
    terms: list[SSAValue] = []
    for row in (0, 1):
        for column in (0, 1):
            at = [*image, places[0][row], places[1][column]]
            pixel = steps.cast(extract(nest, table, at), number)
            share = steps.multiply(shares[1][1 - column], shares[0][1 - row])
            terms.append(steps.multiply(share, pixel))
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


def _neighbours(
    node: NodeContext,
    value: Value,
    axis: int,
    wanted: int,
    scale: float,
    number: Float32Type | IntegerType,
) -> tuple[list[NDArray[np.int32]], list[Array]]:
    """The two indices next to each place, and its distance from each, as an integer
    number of `PARTS`; halves where the two are one."""
    size = value.shape[axis]
    places = np.arange(wanted, dtype=np.float32)
    if scale != 1:
        places = _places(node, size, wanted, scale)
    places = np.clip(places, np.float32(0), np.float32(size - 1))
    low = places.astype(np.int32)
    high = np.minimum(low + 1, size - 1).astype(np.int32)
    half = float(HALF)
    if number == i32:
        places, half = (places * np.float32(PARTS)).astype(np.int32), PARTS // 2
    one = 1 if number == f32 else PARTS
    distances = [np.abs(places - end * one) for end in (low, high)]
    return [low, high], [np.where(low == high, half, each) for each in distances]


def _sizes(node: NodeContext, value: Value) -> list[tuple[int, float]]:
    """For each dimension the result's size and how much larger it is."""
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
    return list(zip(sizes, scales, strict=True))


def _sources(node: NodeContext, size: int, wanted: int, scale: float) -> list[int]:
    """The index that each index of the result is taken from (core/providers/cpu/tensor,
    upsample.cc and upsamplebase.h)."""
    if size == wanted and scale == 1:
        return list(range(size))
    old = node.graph.model.opset < 11
    rounding = node.text(
        "nearest_mode", "floor" if old else "round_prefer_floor", [*ROUNDINGS]
    )
    place = _places(node, size, wanted, scale)
    nearest = np.clip(ROUNDINGS[rounding](place), 0, size - 1)
    return [int(index) for index in nearest]


def _places(node: NodeContext, size: int, wanted: int, scale: float) -> Reals:
    """The place in the operand of each index of the result."""
    old = node.graph.model.opset < 11
    transformation = node.text(
        "coordinate_transformation_mode", "asymmetric" if old else "half_pixel"
    )
    x, ratio = np.arange(wanted, dtype=np.float32), np.float32(scale)
    match transformation:
        case "asymmetric":
            place = x / ratio
        case "half_pixel":
            place = (x + HALF) / ratio - HALF
        case "pytorch_half_pixel":
            place = (x + HALF) / ratio - HALF if wanted > 1 else np.zeros_like(x)
        case "align_corners":
            last = np.float32(wanted - 1)
            place = x * np.float32(size - 1) / last if wanted > 1 else x * 0
        case _:
            legal = "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"
            name = "coordinate_transformation_mode"
            raise node.unsupported(name, transformation, *legal)
    return place.astype(np.float32)


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
