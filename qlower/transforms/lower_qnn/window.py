"""Windows over NHWC images: what they read, and the padding around it."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from qlower.dialects import qnn
from qlower.transforms.lower_qnn.lowering import Lowering


def window_indices(
    op: qnn.ConvolutionOp, kh: int, kw: int
) -> tuple[AffineExpr, AffineExpr]:
    """Row and column of the padded image that loops y = 1, x = 2 and taps read."""
    row, column = (
        AffineDimExpr(loop) * slide.stride + AffineDimExpr(tap) * slide.dilation
        for loop, tap, slide in zip((1, 2), (kh, kw), op.slides, strict=True)
    )
    return row, column


def pad_image(
    lowering: Lowering,
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp,
    image: SSAValue,
    stored: int,
) -> SSAValue:
    """The op's lowered image, surrounded by a stored integer as its `pad` says."""
    low, high = op.sums.padding()
    return lowering.pad(image, low, high, stored)
