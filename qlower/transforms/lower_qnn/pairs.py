"""Contractions whose products are summed in saturating pairs, as `vpmaddubsw` does.

The pairs are of stored codes: activations unsigned (an int8 is taken as the code 128
above it, as is its zero point), weights signed. What is then wrong by the zero points
is taken off the saturated sum exactly: `zero_point * sum(w - weight_zero_point)` and
`weight_zero_point * sum(x)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.contracts.products import PIXEL
from qlower.diagnostics import QlowerError
from qlower.dialects import fixed, qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest, scalar_constant
from qlower.operators.structured import Structured
from qlower.transforms.lower_qnn.bias import LoweredContraction
from qlower.transforms.lower_qnn.lowering import Lowering


def accumulate_pairs(lowered: LoweredContraction, product: str) -> SSAValue:
    """The accumulators of a contraction, in the shape of its result."""
    pairs = _Pairs(lowered.lowering, lowered.op)
    if product == PIXEL and isinstance(lowered.op, qnn.Conv2DOp):
        return pairs.by_pixels(lowered.op)
    return pairs.in_a_row()


class _Pairs(LoweredContraction):
    """A contraction that is lowered to sums of pairs."""

    def in_a_row(self) -> SSAValue:
        """Gathers each window's elements in a row, where a pair may span two pixels;
        then loops (result... | pair). Padding holds the zero point; the last of an odd
        number of elements is alone."""
        lowering, op, weights = self.lowering, self.op, self._weights
        sums, structure = op.sums, op.sums.structure
        bounds = sums.bounds(shape_of(op.input), weights.shape)
        image, weight, result = structure.letters
        channels = [loop for loop in result if loop in weight]
        seen = [loop for loop in result if loop not in channels or loop in image]
        summed = [loop for loop in structure.loops if loop not in result]
        codes = self._padded_codes(self._zero_code)
        if structure.sliding:
            gathered = Structured("".join([*seen, *summed]), structure.words)
            gather = Nest(lowering.emit, [bounds[loop] for loop in gathered.loops])
            places = gathered.places(structure.axes[0], bounds, sums.steps)
            codes = gather.build_one(gather.input(codes, places))
            depth = math.prod(bounds[loop] for loop in summed)
            codes = lowering.reshape(codes, (*(bounds[loop] for loop in seen), depth))
        weights = weights.reshape([bounds[loop] for loop in weight])
        order = [weight.index(loop) for loop in (*channels, *summed)]
        weights = weights.transpose(order)
        weights = weights.reshape(*(bounds[loop] for loop in channels), -1)
        accumulator = self._sum(
            [bounds[loop] for loop in result],
            _split_into_pairs(lowering, codes),
            (*map(result.index, seen), len(result)),
            weights,
            [result.index(loop) for loop in channels],
            self._zero_offset(weights),
        )
        return lowering.reshape(accumulator, shape_of(op.result))

    def by_pixels(self, op: qnn.Conv2DOp) -> SSAValue:
        """Loops (n, y, x, [group,] o | kh, kw, pair). Padding is left out, as code 0
        and of the correction."""
        lowering, weights = self.lowering, self._weights
        outputs, kernel_h, kernel_w, depth = weights.shape
        image = self._padded_codes(0)
        groups = () if op.groups == 1 else (op.groups,)
        image = lowering.reshape(image, (*shape_of(image)[:3], *groups, depth))
        shape = shape_of(op.result)[:3]
        channels = (*groups, outputs // op.groups)
        kh = 3 + len(channels)
        # For each row and column of the result, the sum of the weights inside the
        # image, less their zero points.
        rows, columns = _taps_inside(op)
        points = self._weight_zero_points((outputs, 1, 1, 1))
        inside = rows @ (weights - points).sum(axis=3) @ columns.T
        inside = inside.transpose(1, 2, 0)
        accumulator = self._sum(
            (*shape, *channels),
            _split_into_pairs(lowering, image),
            (0, *_window_indices(op, kh, kh + 1), *range(3, 3 + len(groups)), kh + 2),
            weights.reshape(*channels, kernel_h, kernel_w, depth),
            range(3, kh),
            -self._zero_code * inside.reshape(*shape[1:], *channels),
        )
        return lowering.reshape(accumulator, (*shape, outputs))

    def _sum(
        self,
        shape: Sequence[int],
        codes: SSAValue,
        code_indices: Sequence[Index],
        weights: Array,
        channel_loops: Sequence[int],
        offset: Array,
    ) -> SSAValue:
        """Bias, offset and the sum of the saturated pairs; `shape` are the parallel
        loops.

        The last dimension of `codes` is the two of a pair; `code_indices` leave it out.
        `weights` are (channels..., reduction loops...) before they are paired.
        """
        emit, paired = self.lowering.emit, _pair_up(weights)
        reductions = paired.shape[len(channel_loops) : -1]
        nest = Nest(emit, (*shape, *reductions), len(reductions))
        constant = emit.constant(paired, i8)
        weight_indices = (*channel_loops, *range(len(shape), len(nest.bounds)))
        (a0, a1), (b0, b1) = (
            [nest.input(value, (*places, AffineConstantExpr(n))) for n in (0, 1)]
            for value, places in ((codes, code_indices), (constant, weight_indices))
        )

        points = self._weight_zero_points(paired.shape[: len(channel_loops)])
        point = nest.constant(points, i32, channel_loops) if points.any() else None

        def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            pair = nest.add(fixed.PairDotOp(a0, b0, a1, b1)).result
            wide = nest.add(arith.ExtSIOp(pair, i32)).result
            if point is not None:
                x0, x1 = (
                    nest.add(arith.ExtUIOp(code, i32)).result for code in (a0, a1)
                )
                both = nest.add(arith.AddiOp(x0, x1)).result
                excess = nest.add(arith.MuliOp(both, point)).result
                wide = nest.add(arith.SubiOp(wide, excess)).result
            return [nest.add(arith.AddiOp(accumulators[0], wide)).result]

        start = offset.astype(np.int32)
        init = self.initial_accumulator(shape, channel_loops, start)
        (accumulator,) = nest.reduce([init], combine)
        return accumulator

    def _padded_codes(self, filler: int) -> SSAValue:
        """The input as unsigned codes, where an int8 has its sign bit flipped,
        surrounded by a code where windows are padded."""
        stored = self.lowering.value(self.op.input)
        if quantized_element(self.op.input.type).signed:
            nest = Nest(self.lowering.emit, shape_of(stored))
            scalar = nest.input(stored, range(nest.parallel))
            sign = nest.add(scalar_constant(-128, i8)).result
            stored = nest.build_one(nest.add(arith.XOrIOp(scalar, sign)).result)
        low, high = self.op.sums.padding()
        return self.lowering.pad(stored, low, high, filler)

    @property
    def _zero_code(self) -> int:
        """The code of real 0."""
        type = quantized_element(self.op.input.type)
        return type.zero_point + (128 if type.signed else 0)

    def _weight_zero_points(self, channels: Sequence[int]) -> Array:
        """The weights' zero points of all output channels, in the shape `channels`."""
        points = np.array(quantized_element(self.op.weight.type).zero_points, np.int64)
        count = int(np.prod(channels))
        return np.broadcast_to(points, count).reshape(tuple(channels))

    def _zero_offset(self, weights: Array) -> Array:
        """The excess of each channel's sum that the input's zero point causes, negated;
        `weights` are (channels..., reduction)."""
        points = self._weight_zero_points((*weights.shape[:-1], 1))
        return -self._zero_code * (weights - points).sum(axis=-1)

    @property
    def _weights(self) -> Array:
        weights = constant_of(self.op.weight)
        if weights is None:
            raise QlowerError(
                "this contract multiplies in saturating pairs and needs constant "
                "weights, they are computed here",
                self.op.location,
            )
        return weights.astype(np.int64)


def _taps_inside(op: qnn.Conv2DOp) -> list[Array]:
    """For rows, then columns: (position, tap) to whether the image is there."""
    masks: list[Array] = []
    for axis in (0, 1):
        places = np.arange(shape_of(op.result)[1 + axis]) * op.stride[axis]
        taps = np.arange(shape_of(op.weight)[1 + axis]) * op.dilation[axis]
        at = np.add.outer(places - op.pad[2 * axis], taps)
        masks.append(
            np.logical_and(at >= 0, at < shape_of(op.input)[1 + axis]).astype(np.int64)
        )
    return masks


def _pair_up(weights: Array) -> Array:
    """(..., n) as (..., ceil(n / 2), 2), with 0 after an odd number."""
    *outer, depth = weights.shape
    widths = [(0, 0)] * len(outer) + [(0, depth % 2)]
    return np.pad(weights, widths).reshape(*outer, -1, 2).astype(np.int8)


def _split_into_pairs(lowering: Lowering, codes: SSAValue) -> SSAValue:
    """A tensor (..., n) as (..., ceil(n / 2), 2), with 0 after an odd number."""
    *outer, depth = shape_of(codes)
    none = [0] * len(outer)
    even = lowering.pad(codes, (*none, 0), (*none, depth % 2), 0)
    return lowering.reshape(even, (*outer, (depth + 1) // 2, 2))


def _window_indices(
    op: qnn.ConvolutionOp, kh: int, kw: int
) -> tuple[AffineExpr, AffineExpr]:
    """Row and column of the padded image that loops y = 1, x = 2 and taps read."""
    row, column = (
        AffineDimExpr(loop) * slide.stride + AffineDimExpr(tap) * slide.dilation
        for loop, tap, slide in zip((1, 2), (kh, kw), op.slides, strict=True)
    )
    return row, column
