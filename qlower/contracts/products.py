"""How a contraction multiplies and sums, before its rule takes over.

`exact` sums are those of integers. The others sum saturated pairs of products of stored
codes (`fixed.pair_dot`), and differ in which products are paired:

- flat: neighbours in the order (kh, kw, c) of what a window sees, across pixels where
  the channels are odd; padding holds the zero point;
- pixel: neighbouring channels of one tap, the last of an odd number alone; padding is
  left out;
- taps: neighbouring taps (kh, kw) of one channel of a depthwise convolution, the last
  of an odd number alone; padding holds the zero point. It is flat for such layers.
"""

from __future__ import annotations

from collections.abc import Mapping

EXACT = "exact"
FLAT = "saturating_pairs_flat"
PIXEL = "saturating_pairs_pixel"
TAPS = "saturating_pairs_taps"

SEQUENTIAL = "sequential"
FUSED = "fused"
FUSED_COLUMNS = "fused_columns"
LANES = "lanes"

ORDERS = (SEQUENTIAL, FUSED)
"""How sums of real numbers are made."""

ROW_ORDERS = (*ORDERS, LANES)
"""How they are made of the elements of two rows."""

WINDOW_ORDERS = (*ORDERS, FUSED_COLUMNS)
"""How they are made of what a window sees."""

PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "conv2d": (EXACT, FLAT, PIXEL),
    "depthwise_conv2d": (EXACT, FLAT, TAPS),
    "linear": (EXACT, FLAT, PIXEL),
    "real_conv2d": WINDOW_ORDERS,
    "real_depthwise_conv2d": WINDOW_ORDERS,
    "real_linear": ROW_ORDERS,
    "real_matmul": ROW_ORDERS,
}
"""What each rule may name in its attribute `contract.product`; others are exact.
The first is what a rule has that names none."""
