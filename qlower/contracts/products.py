"""Products and sums of a contraction, before its rule takes over.

`exact` sums are those of integers. The others sum saturated pairs of products of stored
codes (`fixed.pair_dot`), and differ in which products are paired:

- flat: neighbours in the order (kh, kw, c) of what a window sees, across pixels where
  the channels are odd; padding holds the zero point;
- pixel: neighbouring channels of one tap, the last of an odd number alone; padding is
  left out;
- taps: neighbouring taps (kh, kw) of one channel of a depthwise convolution, the last
  of an odd number alone; padding holds the zero point. It is flat for such layers.

Sums are made in turn where a register is narrower than 32 bits: in the order of the
weights in memory, each product, less zero points, is added to the bias (or 0 where the
rule adds that), and the rule `accumulate` says what is left after each group of
`accumulate_group` products, by default after each. Padding adds 0. Products of two
matrices are added in the order of the dimension that they share, to 0. Sums of elements
of 16 bits have 64 bits, and rules of their own, `accumulate_i16`. A rule that asks for
`product` sees the last product of the sum, and may cut that by itself; one that asks
for `input_channel` sees where among the channels of a pixel the last product was, and
may leave a sum alone there.

Layers on real numbers with stored weights quantize each row (image) of their input by a
range of its own, or the whole tensor by one.

Sums of real numbers are made in one of the orders of `qlower.operators.orders`.
"""

from __future__ import annotations

from collections.abc import Mapping

from qlower.operators.orders import ROW_ORDERS, WINDOW_ORDERS

EXACT = "exact"
FLAT = "saturating_pairs_flat"
PIXEL = "saturating_pairs_pixel"
TAPS = "saturating_pairs_taps"
IN_PAIRS = (FLAT, PIXEL, TAPS)
IN_TURN = "in_turn"

ROWS = "row_ranges"
TENSOR = "tensor_range"

PRODUCTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("conv2d", "conv2d_add", "linear"), (EXACT, FLAT, PIXEL, IN_TURN)),
    **dict.fromkeys(
        ("depthwise_conv2d", "depthwise_conv2d_add"), (EXACT, FLAT, TAPS, IN_TURN)
    ),
    "matmul": (EXACT, IN_TURN),
    **{
        f"{name}_i16": (EXACT, IN_TURN)
        for name in ("conv2d", "depthwise_conv2d", "linear", "matmul")
    },
    "real_conv2d": tuple(WINDOW_ORDERS),
    "real_depthwise_conv2d": tuple(WINDOW_ORDERS),
    "real_linear": tuple(ROW_ORDERS),
    "real_matmul": tuple(ROW_ORDERS),
    "hybrid_conv2d": (ROWS, TENSOR),
    "hybrid_depthwise_conv2d": (ROWS, TENSOR),
    "hybrid_linear": (ROWS, TENSOR),
}
"""The products that each rule may name in its attribute `contract.product`; others
are exact. The first one holds for a rule that names none."""
