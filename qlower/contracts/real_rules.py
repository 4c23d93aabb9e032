"""The rules of operations on real numbers: sums in an order, rows, stored weights.

`rules.py` says what such a table lists.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i1, i32

from qlower.contracts.rule_signature import DILATED, RuleSignature, Values, inlined
from qlower.dialects import qnn

_REAL_SUM = inlined(
    {"sum": f32, "real_bias": f32}, {"activation_min": f32, "activation_max": f32}, f32
)
# Which entry of the list `contract.product` of the rule for real numbers holds, and how
# many products `fused_blocks` has in a block: by the places of an image, or the rows
# that meet one matrix; the groups of results there, the results of each (channels,
# units or columns) and the products of each result; and by whether the weights are a
# constant, of one matrix, or were dequantized from few bits, and whether a factor of
# all sums follows.
_REAL_PRODUCT = RuleSignature(
    {},
    {
        **dict.fromkeys(
            ("place_count", "group_count", "group_channels", "depth"),
            i32,
        ),
        "constant_weights": i1,
        "is_scaled": i1,
        "narrow_weights": i1,
    },
)
_REAL_WINDOW_PRODUCT = RuleSignature({}, {**_REAL_PRODUCT.constants, **DILATED})
_REAL_SIZES = (
    ("real_conv2d", _REAL_WINDOW_PRODUCT),
    ("real_depthwise_conv2d", _REAL_WINDOW_PRODUCT),
    ("real_linear", _REAL_PRODUCT),
    ("real_matmul", _REAL_PRODUCT),
)
CHOICES_OF_SUMS = {
    f"{rule}_{choice}": sizes
    for rule, sizes in _REAL_SIZES
    for choice in ("product", "block")
}
"""Rules that choose the order of another one's sum, or the size of its blocks."""

# Of an element of a row: how many there are, and the bounds of an activation; of a
# window, which counts the taps inside of an image of that width, its sizes; of a row
# along some dimensions, how many elements those before and behind them have together,
# whether any other dimension lies between them, and whether there is any other.
_REAL_ROWS = RuleSignature(
    # The element's number in its row, from 1.
    {"input": f32, "scale": f32, "bias": f32, "turn": f32},
    {
        "epsilon": f32,
        "beta": f32,
        "count": i32,
        "activation_min": f32,
        "activation_max": f32,
        **DILATED,
        "image_width": i32,
        "row_count": i32,
        "column_count": i32,
        "apart": i1,
        "whole": i1,
    },
    (f32,),
    of_rows=True,
)
_CODE: Values = {"input_scale": f32, "input_factor": f32, "input_zero_point": i32}
_HYBRID = inlined(
    {"accumulator": i32, "input_scale": f32, "real_bias": f32},
    {
        "weight_scale": f32,
        "per_channel": i1,
        "groups": i32,
        "activation_min": f32,
        "activation_max": f32,
    },
    f32,
)

RULES_OF_REALS: Mapping[str, RuleSignature] = {
    # The sum of real products in the order that `contract.product` names, which starts
    # from the bias unless the rule asks for that; -0 stands for none.
    **{rule: _REAL_SUM for rule, _ in _REAL_SIZES},
    **CHOICES_OF_SUMS,
    **{f"real_{function}": _REAL_ROWS for function in qnn.ROW_FUNCTIONS},
    # Of the lowest and the highest number of a range, with 0 among them: a scale, a
    # factor for the rule hybrid_code, and the code of 0. Codes are signed, of 8 bits.
    **dict.fromkeys(
        ("hybrid_range", "hybrid_symmetric_range"),
        RuleSignature(
            {"lowest": f32, "highest": f32}, {"is_depthwise": i1}, (f32, f32, i32)
        ),
    ),
    "hybrid_code": inlined({"input": f32, **_CODE}, {"is_depthwise": i1}, i32),
    # Of the exact sum of (code - zero point) * stored weight.
    **dict.fromkeys(
        ("hybrid_conv2d", "hybrid_depthwise_conv2d", "hybrid_linear"), _HYBRID
    ),
}
