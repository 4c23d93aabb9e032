"""Windows over NHWC images: what they read, and the padding around it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from qlower.dialects import qnn
from qlower.transforms.lower_qnn.lowering import Lowering


def window_indices(
    op: qnn.ConvolutionOp | qnn.PoolOp, kh: int, kw: int
) -> tuple[AffineExpr, AffineExpr]:
    """Row and column of the padded image that loops y = 1, x = 2 and taps read."""
    dilation = op.dilation if isinstance(op, qnn.ConvolutionOp) else (1, 1)
    row, column = tap_indices(op.stride, dilation, kh, kw)
    return row, column


def tap_indices(
    strides: Sequence[int], dilation: Sequence[int], *taps: int
) -> tuple[AffineExpr, ...]:
    """Where loops 1, 2, ... and `taps` read, of windows that move by `strides` and have
    elements `dilation` apart."""
    return tuple(
        AffineDimExpr(loop) * stride + AffineDimExpr(tap) * step
        for loop, (stride, tap, step) in enumerate(
            zip(strides, taps, dilation, strict=True), 1
        )
    )


def pad_image(
    lowering: Lowering,
    op: qnn.ConvolutionOp | qnn.PoolOp,
    image: SSAValue,
    stored: int,
) -> SSAValue:
    """The op's lowered image, surrounded by a stored integer as its `pad` says."""
    top, bottom, left, right = op.pad
    return lowering.pad(image, (0, top, left, 0), (0, bottom, right, 0), stored)
