"""OpenVINO, ncnn and MNN: what each takes, and steps of its contract that show in its
results where they are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from qlower.interp.values import Array
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.layers.random_modules import RandomLayer
from support.systems.mnn_layers import run_mnn
from support.systems.ncnn_layers import run_ncnn
from support.systems.openvino_qdq import (
    is_known_in_qdq,
    run_openvino_qdq,
    run_openvino_qdq_sequence,
)
from support.systems.phone_systems import (
    SEQUENCE_SIZE,
    One,
    has_one_group,
    has_pairs_that_can_be_said,
    has_single_outputs,
    is_computed_by_openvino,
    is_computed_in_a_sequence,
    run_on_avx2,
    run_openvino,
    run_openvino_avx2,
    run_openvino_sequence,
)
from support.values.near_ties import Change

CHANNELS = 1024 if is_asked_for(LARGE_VARIABLE) else 48


@dataclass(frozen=True)
class System:
    """A system: the package that it needs, and how a layer runs there.

    Its `contract` has the system's name if that isn't stated. `signed` activations may
    be, `zero_points` they may have; `changes` make mutants by the rule in which they
    show, of the contract `changed` where that isn't the system's own. A fused
    activation is ReLU, or one of `activations`. Models are in QDQ form if it has that.
    A chosen layer has at most `channels`. The system computes so on processors of this
    `level` of `machine_levels`, and not on those of a level `below` which it lies.
    """

    package: str
    run: Callable[[RandomLayer], Array]
    changes: Mapping[str, Sequence[Change]]
    signs: Sequence[bool] = (False, True)
    zero_points: bool = True
    kinds: Sequence[str] = ("conv2d", "depthwise_conv2d", "linear", "quantize")
    takes: Callable[[One], bool] = has_one_group
    activations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changed: str | None = None
    channels: int = CHANNELS
    contract: str | None = None
    in_sequence: bool = False
    in_qdq: bool = False
    level: str = "avx512vnni"
    below: str | None = None


STORED_TWICE = ("fma(%real, %used, %shift)", "%real * %used + %shift")
ROUNDED_ONCE = (
    "%sum * @weight_step + %real_bias",
    "fma(%sum, @weight_step, %real_bias)",
)
LINEAR_CHANGES = (
    # one rounding fewer, two more, a bias added first
    ("else %sum * %used", "else %sum * @weight_step * %scale"),
    ("@store_shifted(%product + %shift)", "@store_shifted(fma(%sum, %used, %shift))"),
    (
        "@store_shifted(%product + %shift)",
        "@store_shifted(%product + %real_bias * %scale + (@shift(@output_low, "
        "@output_high) - f32(@in_shift)))",
    ),
)
ADD_CHANGES = (
    # one rounding more, or other factors between the two scales
    (
        "fma(%real, @scale(%low, %high) * %unit, %shift)",
        "%real * (@scale(%low, %high) * %unit) + %shift",
    ),
    (
        "%ratio = @step_of(%s, %z, %unsigned) / @addend_step",
        "%ratio = %s / %addend_scale",
    ),
    (
        "@shift(%low, %high) * %unit + %first",
        "fma(@shift(%low, %high), %unit, %first)",
    ),
    STORED_TWICE,
)
OPENVINO_CHANGES: Mapping[str, Sequence[Change]] = (
    {"linear": LINEAR_CHANGES}
    | dict.fromkeys(
        ("conv2d", "depthwise_conv2d"),
        (
            # one rounding fewer, a zero point for the shift, a combined scale
            ROUNDED_ONCE,
            (
                "@unless_negligible(@shift(%low, %high) - f32(@in_shift),",
                "@unless_negligible(-%low * %scale - f32(@in_shift),",
            ),
            STORED_TWICE,
            ("%used = 1.0 / (1.0 / %scale) if", "%used = %scale if"),
        ),
    )
    | dict.fromkeys(("conv2d_add", "depthwise_conv2d_add"), ADD_CHANGES)
)
STEP_BY_RANGE = (
    # the step of the range where the model states one
    "%result = %s if %in_qdq else @step(",
    "%result = %s if false else @step(",
)
IN_QDQ = System(
    "openvino",
    run_openvino_qdq,
    {
        rule: (STEP_BY_RANGE, *changes[:1])
        for rule, changes in OPENVINO_CHANGES.items()
        if rule != "linear"
    },
    signs=(False,),
    kinds=("conv2d", "depthwise_conv2d", "conv2d_add"),
    takes=is_known_in_qdq,
    activations=dict.fromkeys(("conv2d", "depthwise_conv2d"), ("relu", "relu6")),
    contract="openvino",
    in_qdq=True,
)
IN_QDQ_ON_AVX2 = replace(
    IN_QDQ,
    run=partial(run_on_avx2, run_openvino_qdq),
    changes={**IN_QDQ.changes, "linear": (STEP_BY_RANGE, *LINEAR_CHANGES)},
    kinds=("conv2d", "depthwise_conv2d", "linear", "conv2d_add"),
    takes=lambda one: is_known_in_qdq(one) and has_pairs_that_can_be_said(one),
    changed="openvino",
    contract="openvino-avx2",
)
OF_EITHER_SIGN = replace(
    IN_QDQ,
    changes={"linear": (STEP_BY_RANGE, *LINEAR_CHANGES)},
    signs=(False, True),
    kinds=("linear", "quantize", "avg_pool2d", "mean"),
)
IN_SEQUENCE = {
    "linear": (
        # one rounding fewer, or as in a layer alone
        ROUNDED_ONCE,
        ("%in_turn if @is_in_sequence else %alone", "@fused(%sum)"),
        ("%in_turn if @is_in_sequence else %alone", "@in_steps(%sum, %shifts)"),
    )
}
SYSTEMS = {
    "openvino-avx2-qdq": IN_QDQ_ON_AVX2,
    "openvino-qdq": IN_QDQ,
    "openvino-qdq-signed": OF_EITHER_SIGN,
    "openvino-qdq-sequence": replace(
        OF_EITHER_SIGN,
        run=run_openvino_qdq_sequence,
        channels=min(CHANNELS, SEQUENCE_SIZE),
        changes=IN_SEQUENCE,
        kinds=(),
        in_sequence=True,
    ),
    "openvino": System(
        "openvino",
        run_openvino,
        kinds=(
            *("conv2d", "depthwise_conv2d", "linear", "quantize"),
            *("avg_pool2d", "mean", "conv2d_add", "depthwise_conv2d_add"),
        ),
        takes=is_computed_by_openvino,
        activations=dict.fromkeys(("conv2d", "depthwise_conv2d"), ("relu", "relu6")),
        changes=OPENVINO_CHANGES,
    ),
    "openvino-avx2": System(
        "openvino",
        run_openvino_avx2,
        # layers with one product for each output, so that no pair saturates
        OPENVINO_CHANGES,
        changed="openvino",
        kinds=("conv2d", "depthwise_conv2d", "linear"),
        takes=has_pairs_that_can_be_said,
    ),
    "openvino-sequence": System(
        "openvino",
        run_openvino_sequence,
        IN_SEQUENCE,
        kinds=("linear",),
        takes=is_computed_in_a_sequence,
        channels=min(CHANNELS, SEQUENCE_SIZE),
        contract="openvino",
        in_sequence=True,
    ),
    "ncnn": System(
        "ncnn",
        run_ncnn,
        {
            "conv2d": (
                (
                    "@store(@real_fused(%accumulator, @step)",
                    "@store(@real_in_two_steps(%accumulator, @step)",
                ),
                ("else @round_by_adding_half(%steps)", "else half_even(%steps)"),
                (
                    "@step_of(1.0 / %input_scale, 1.0 / %weight_scale)",
                    "%input_scale * %weight_scale",
                ),
            ),
            "depthwise_conv2d": (
                (
                    "@real_fused(%accumulator, @step) if %fuses",
                    "@real_fused(%accumulator, @step) if not %fuses",
                ),
            ),
            "linear": (
                (
                    "@store(@real_in_two_steps(%accumulator, @step)",
                    "@store(@real_fused(%accumulator, @step)",
                ),
            ),
        },
        signs=(True,),
        zero_points=False,
        kinds=("conv2d", "depthwise_conv2d", "linear"),
        takes=has_single_outputs,
    ),
    "ncnn-avx2": System(
        "ncnn",
        run_ncnn,
        {
            "depthwise_conv2d": (
                ("arith.constant false", "arith.constant true"),
                ("arith.constant false", "%kernel_height == 3"),
            ),
        },
        signs=(True,),
        zero_points=False,
        kinds=("conv2d", "depthwise_conv2d", "linear"),
        takes=has_single_outputs,
        level="x86-64-v3",
        below="x86-64-v4",
    ),
    "mnn": System(
        "_tools",
        run_mnn,
        {
            **dict.fromkeys(
                ("conv2d", "linear"),
                (
                    (
                        "%sum * %weight_scale * @ratio + @float_bias",
                        "fma(%sum * %weight_scale, @ratio, @float_bias)",
                    ),
                    (
                        "f32(@shift)\n  %result = @plus_zero_point("
                        "(%real_bias - %shifted * %input_scale)",
                        "%input_scale\n  %result = @plus_zero_point("
                        "(%real_bias - %shifted * f32(@shift))",
                    ),
                ),
            ),
            "depthwise_conv2d": (
                (
                    "%multiplier = %weight_scale * @ratio",
                    "%multiplier = %weight_scale * %input_scale / %output_scale",
                ),
            ),
        },
        signs=(True,),
        kinds=(
            *("conv2d", "depthwise_conv2d", "linear"),
            *("add", "sub", "mul", "avg_pool2d"),
        ),
        takes=has_single_outputs,
    ),
}
