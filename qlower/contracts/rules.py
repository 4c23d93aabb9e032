"""The rules that a contract may define, and the values that each may ask for.

A function of a contract file serves the rule of its name, or those that it lists. Its
arguments are named after the values they need, or name them with the attribute
`contract.value`; it may leave out those that only its helpers need (`calls.py`). This
table says which values exist, with their types (`rule_signature.py`). *Run-time* values
change with the input; *constants* are known when a model is compiled (scales, zero
points, shapes) and may differ from channel to channel. Stored integers arrive widened
to i32, by their own signedness; a rule returns an i32 that the storage type can hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i1, i32, i64

from qlower.contracts.real_rules import CHOICES_OF_SUMS, RULES_OF_REALS
from qlower.contracts.rule_signature import (
    DILATED,
    INPUT,
    OUTPUT,
    WINDOW,
    RuleSignature,
    Values,
    inlined,
    operand,
)
from qlower.dialects import qnn
from qlower.dialects.operations import kind_of, operations_of

_FACTORS = {
    **operand("lhs"),
    **operand("rhs"),
    # Names as in a contraction: the lhs is its input, the rhs its weight.
    **operand("input"),
    **operand("weight"),
    # False: each of them has one scale.
    "per_channel": i1,
}
_TABULATED = RuleSignature({"input": i32}, {**INPUT, **OUTPUT})
_UNARY = inlined(_TABULATED.runtime, _TABULATED.constants)
_BINARY = inlined(
    {"lhs": i32, "rhs": i32},
    {
        **operand("lhs"),
        **operand("rhs"),
        **OUTPUT,
        # Whether the lhs has size 1 along the result's last dimension that has more, or
        # the result is one number.
        "lhs_is_scalar": i1,
    },
)
# Whether the scales are numbers of float16, to be combined in that: in a product of
# computed matrices alone, by a contract that asks.
_HALF_SCALES: Values = {"half_scales": i1}
_GIVEN_OUTPUT: Values = {"output_scale": f32, "output_zero_point": i32}
_CODES: Values = {
    **{name: type for name, type in OUTPUT.items() if name not in _GIVEN_OUTPUT},
    **_HALF_SCALES,
}
# Whether the model was read from QDQ form, which states scales and zero points.
_FORM: Values = {"in_qdq": i1}
_ACCUMULATOR_RANGE = {
    # The smallest and largest accumulator of each channel, before it wraps, over all
    # stored inputs; further apart where weights are computed or pairs saturate.
    "accumulator_min": i64,
    "accumulator_max": i64,
}
_LAYER = {
    "per_channel": i1,
    # Whether every zero point of the weights is 0.
    "weights_symmetric": i1,
    # Whether all scales of the weights are the same number, one or several.
    "one_weight_scale": i1,
    "input_channels": i32,
    # Of a depthwise convolution as many as input channels.
    "groups": i32,
    # Whether a convolution computes a transposed one.
    "transposed": i1,
}
_TURN = {
    **_LAYER,
    "channel": i32,
    "channel_count": i32,
    # What 1 in a sum stands for: the product of the factors' scales, no number where
    # those of the weights differ.
    "product_step": f32,
}
# The place of a group's last product among the input channels of its weight's pixel, or
# along the dimension that matrices share.
_TURNING = {"input_channel": i32}
_CONTRACTION = inlined(
    # sum((x - x_zero_point) * (w - w_zero_point)) over the taps inside the image, and
    # the bias unless the rule asks for that by itself; wraps at 32 bits.
    {"accumulator": i32},
    {
        # The bias, through the rules quantize_bias and dequantize_bias if the model has
        # it in the other form; 0 if it has none.
        "bias": i32,
        "real_bias": f32,
        # Whether all channels have the same bias, as one channel does.
        "one_bias": i1,
        "first_weight_scale": f32,
        # Whether a kernel of several linear layers quantizes the result.
        "in_sequence": i1,
        # Dimensions of the input.
        "input_rank": i32,
        **_FORM,
        **_LAYER,
        **_ACCUMULATOR_RANGE,
        # The sum of the channel's weights without their zero point, which must be
        # constants: for what a system adds to the codes that it multiplies.
        "weight_sum": i32,
        # What the rule weight_addend gives for each of them, added to 0 one after the
        # other in the order of memory, and rounded.
        "weight_total": f32,
        **_HALF_SCALES,
        **INPUT,
        **operand("weight"),
        **OUTPUT,
    },
)
_CONVOLUTION = RuleSignature(
    _CONTRACTION.runtime, {**_CONTRACTION.constants, **DILATED}
)
# Of a convolution and an addition in one; `summand` is the quantization between them.
_FUSED_ADD = RuleSignature(
    {**_CONVOLUTION.runtime, "addend": i32},
    {**_CONVOLUTION.constants, **operand("addend"), **operand("summand")},
)
# Which entry of the list `contract.product` of the contraction's rule holds.
_LINEAR_PRODUCT = RuleSignature(
    {},
    {
        **_LAYER,
        "channel_count": i32,
        "input_unsigned": i1,
        "weight_unsigned": i1,
        # Whether the sums themselves are the result.
        "gives_sums": i1,
    },
)
_CONVOLUTION_PRODUCT = RuleSignature({}, {**_LINEAR_PRODUCT.constants, **DILATED})
_BIAS_SCALES: Values = {"input_scale": f32, "weight_scale": f32}
_SUM = inlined(
    # The sum of the stored integers inside the image, zero point not subtracted, and
    # how many there are.
    {"accumulator": i32},
    {"count": i32, **_FORM, **INPUT, **OUTPUT},
)
_REDUCED: Values = {
    "count": i32,
    "keep_dims": i1,
    # Whether the dimensions are rows and columns of an image [N, H, W, C].
    "over_image": i1,
    **_FORM,
    **INPUT,
    **OUTPUT,
}
_RESIZE_POSITION: Values = {
    "output_index": i32,
    "input_size": i32,
    "output_size": i32,
    "align_corners": i1,
    "half_pixel_centers": i1,
    "input_unsigned": i1,
}

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d", "conv2d_add", "depthwise_conv2d_add")

_RULES_OF_BYTES: Mapping[str, RuleSignature] = {
    "conv2d": _CONVOLUTION,
    "depthwise_conv2d": _CONVOLUTION,
    "linear": _CONTRACTION,
    **dict.fromkeys(("conv2d_add", "depthwise_conv2d_add"), _FUSED_ADD),
    **dict.fromkeys(
        [f"{convolution}_product" for convolution in _CONVOLUTIONS],
        _CONVOLUTION_PRODUCT,
    ),
    "linear_product": _LINEAR_PRODUCT,
    "matmul": inlined(
        {"accumulator": i32},
        {**_ACCUMULATOR_RANGE, **_HALF_SCALES, **_FACTORS, **OUTPUT},
    ),
    **RULES_OF_REALS,
    # Between a bias in real numbers and one that can be added to an accumulator.
    "quantize_bias": RuleSignature({}, {"real_bias": f32, **_BIAS_SCALES}),
    "dequantize_bias": RuleSignature({}, {"bias": i32, **_BIAS_SCALES}, (f32,)),
    # What a register of sums made in turn holds (`products.py`) of the sum of what it
    # held and a group of products, whose last one is `product`, by output channel; and
    # how many products make a group. The second factor of a product of matrices stands
    # for weights.
    "accumulate": RuleSignature(
        {"accumulator": i32, "product": i32, **_TURNING}, _TURN
    ),
    "accumulate_group": RuleSignature({}, _LAYER),
    # The bits of a register in which sums are exact, where nobody says what it does
    # with longer ones: layers with weights whose sums can leave it are refused.
    "accumulator_bits": RuleSignature({}, {}),
    # What a weight without its zero point adds to `weight_total`.
    "weight_addend": RuleSignature({"weight": i32}, {**_FORM, **INPUT}, (f32,)),
    # What a stored integer adds to `sum`, in a type of the contract's choice: 0 for the
    # zero point. Only contracts have it whose avg_pool2d asks for `sum`.
    "avg_pool2d_addend": RuleSignature({"input": i32}, INPUT, None),
    "avg_pool2d": RuleSignature(
        # Instead of the accumulator, the addends of the taps inside the image, added to
        # 0 one after the other, row by row.
        {**_SUM.runtime, "sum": i32},
        # The size of the whole window; `count` of its taps count.
        {**_SUM.constants, **WINDOW, "window_size": i32, "count_include_pad": i1},
    ),
    "adaptive_avg_pool2d": RuleSignature(
        # The windows differ from place to place; `output_size` is how many there are.
        _SUM.runtime,
        {
            **_SUM.constants,
            "kernel_height": i32,
            "kernel_width": i32,
            "output_size": i32,
            # Whether they are all of one size and don't overlap.
            "even_windows": i1,
        },
    ),
    "mean": RuleSignature(
        _SUM.runtime, {**_SUM.constants, **_REDUCED, "in_sequence": i1}
    ),
    # What a stored integer adds to a sum, as in avg_pool2d_addend.
    "sum_addend": RuleSignature({"input": i32}, {**INPUT, "double_round": i1}, None),
    # The mean's, without the division; of the accumulator or the sum of all addends.
    "sum": RuleSignature({**_SUM.runtime, "sum": i32}, {**_SUM.constants, **_REDUCED}),
    # A product so far, which begins as the first `input - zero point`, times one more
    # of `count` inputs; then the result of the whole one.
    "product": inlined({"product": i32, "input": i32}, _REDUCED),
    "product_output": inlined({"product": i32}, _REDUCED),
    # The accumulator is the sum of the squares of `input - zero point` of a row.
    "l2_normalize": inlined({"input": i32, "accumulator": i32}, {**INPUT, **OUTPUT}),
    **{kind_of(op): _BINARY for op in operations_of(qnn.BinaryOp)},
    # A number that compares with those of other operands as the real values do.
    "compare": inlined({"input": i32}, INPUT),
    "mul": RuleSignature(_BINARY.runtime, {**_BINARY.constants, **_FACTORS}),
    # The stored integer of a real bound of a fused activation.
    "bound": RuleSignature(
        {}, {"real": f32, "output_scale": f32, "output_zero_point": i32}
    ),
    "quantize": inlined({"input": f32}, OUTPUT),
    # By scales and zero points that only run time knows.
    "quantize_with": inlined({"input": f32, **_GIVEN_OUTPUT}, _CODES),
    "dequantize_with": inlined(
        {"input": i32, "input_scale": f32, "input_zero_point": i32}, _HALF_SCALES, f32
    ),
    **dict.fromkeys(
        ("conv2d_with", "matmul_with"),
        inlined(
            {
                "accumulator": i32,
                "input_scale": f32,
                "weight_scale": f32,
                **_GIVEN_OUTPUT,
            },
            _CODES,
        ),
    ),
    "dequantize": inlined({"input": i32}, {**_FORM, **INPUT}, f32),
    "requantize": _UNARY,
    # relu, relu6 and clamp on their own: output_min and output_max carry the bounds.
    "clamp": _UNARY,
    "concat": _UNARY,
    # Functions of one stored value: the lowering tabulates them.
    **{
        name: _TABULATED
        for op in operations_of(qnn.TabulatedOp)
        for name in (qnn.FUNCTIONS if op is qnn.FunctionOp else [kind_of(op)])
    },
    "leaky_relu": RuleSignature({"input": i32}, {"alpha": f32, **INPUT, **OUTPUT}),
    # The row maximum is taken from the stored integers; `difference` is at most 0 and
    # term and addend are tabulated. The type of terms and sums is the contract's
    # choice.
    "softmax_term": RuleSignature(
        {"difference": i32}, {"beta": f32, "row_size": i32, **INPUT}, None
    ),
    "softmax_addend": RuleSignature({"term": i32}, {}, None),
    "softmax_output": RuleSignature(
        {"term": i32, "sum": i32}, {"row_size": i32, **OUTPUT}
    ),
    # With the softmax's terms and addends.
    "log_softmax_output": RuleSignature(
        {"difference": i32, "sum": i32}, {"row_size": i32, **INPUT, **OUTPUT}
    ),
    # One axis at a time, when a model is compiled.
    "resize_nearest_position": RuleSignature({}, _RESIZE_POSITION),
    # Lower and upper neighbour, and the weight of the upper one.
    "resize_bilinear_position": RuleSignature({}, _RESIZE_POSITION, (i32, i32, i32)),
    "resize_bilinear": RuleSignature(
        {
            name: i32
            for name in ("top_left", "top_right", "bottom_left", "bottom_right")
        },
        {"y_weight": i32, "x_weight": i32, **INPUT, **OUTPUT},
    ),
}

_LSTM_CELL = {**operand("cell"), "cell_clip": f32}
_LSTM_GATE = {
    **INPUT,
    **operand("input_weight"),
    **operand("state"),
    **operand("state_weight"),
    "is_update": i1,
}

OF_WORDS = "_i16"
"""The end of the names of rules for stored integers of 16 bits. Such a rule may ask for
the same values as the one for 8 bits; the accumulators of contractions have 64 bits
and don't wrap."""


def is_of_words(name: str) -> bool:
    """Whether a rule is for stored integers of 16 bits."""
    return name.endswith(OF_WORDS)


def _of_words(signature: RuleSignature) -> RuleSignature:
    if "accumulator_min" not in signature.constants:
        return signature
    constants = signature.constants
    if "bias" in constants:
        # The bits of a bias of integers, 0 for another or none; and of weights.
        constants = {**constants, "bias_bits": i32, "weight_bits": i32}
    return RuleSignature({**signature.runtime, "accumulator": i64}, constants)


RULES_OF_WORDS: Mapping[str, RuleSignature] = {
    "accumulate_i16": RuleSignature(
        {"accumulator": i64, "product": i64, **_TURNING}, _TURN, (i64,)
    ),
    "accumulate_group_i16": _RULES_OF_BYTES["accumulate_group"],
    # Of the sums of what comes in, which have the bias, and of the last state, both
    # modulo 2^32; gates are integers of the contract's choice. Those of inputs and
    # states of 16 bits are exact.
    "lstm_gate_i16": inlined({"input_sum": i32, "state_sum": i32}, _LSTM_GATE),
    "lstm_wide_gate_i16": inlined({"input_sum": i64, "state_sum": i64}, _LSTM_GATE),
    # The new cell; then, from that, the new state.
    "lstm_cell_i16": inlined(
        {"cell": i32, "input_gate": i32, "forget_gate": i32, "update_gate": i32},
        _LSTM_CELL,
    ),
    "lstm_output_i16": inlined(
        {"cell": i32, "input_gate": i32, "output_gate": i32},
        {**_LSTM_CELL, **operand("state"), **OUTPUT},
    ),
    # Of sums modulo 2^32, the second with the bias; outputs are state and result.
    "svdf_state_i16": inlined(
        {"accumulator": i32}, {**INPUT, **operand("weight"), **OUTPUT}
    ),
    "svdf_i16": inlined(
        {"accumulator": i32},
        {**operand("state"), **operand("time_weight"), **OUTPUT},
    ),
    **{
        f"{name}{OF_WORDS}": _of_words(_RULES_OF_BYTES[name])
        for name in (
            *("conv2d", "depthwise_conv2d", "linear"),
            *("add", "sub", "mul", "clamp", "avg_pool2d", "mean", "sum"),
            *("product", "product_output", "div"),
            *("quantize", "quantize_with", "dequantize", "requantize"),
            *("bound", "compare"),
            *("sigmoid", "tanh", "leaky_relu"),
            *(*qnn.FUNCTIONS, "matmul"),
            *("resize_nearest_position", "resize_bilinear_position"),
            *("resize_bilinear", "softmax_term", "softmax_addend", "softmax_output"),
        )
    },
}
RULES: Mapping[str, RuleSignature] = {**_RULES_OF_BYTES, **RULES_OF_WORDS}

AUXILIARY = frozenset(
    {
        *(f"{rule}_product" for rule in (*_CONVOLUTIONS, "linear")),
        *CHOICES_OF_SUMS,
        *("avg_pool2d_addend", "sum_addend", "weight_addend"),
        *("accumulate", "accumulate_group", "accumulator_bits"),
        *("accumulate_i16", "accumulate_group_i16"),
    }
)
"""Rules that serve another rule of the same contract and are wanted only by some."""

OF_OPERANDS = frozenset({"accumulate", "accumulate_i16", "weight_addend"})
"""Rules of numbers that aren't elements of a result."""

FREELY_TYPED = frozenset({"term", "sum"})
"""Values whose type a contract chooses."""
