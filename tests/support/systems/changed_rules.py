"""OpenVINO, ncnn and MNN: what each takes, and steps of its contract that show in its
results where they are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    A chosen layer has at most `channels`.
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


FMA = "%steps = math.fma %real, %used, %shift : f32"
STORED_TWICE = (
    FMA,
    "%product = arith.mulf %real, %used : f32\n"
    "  %steps = arith.addf %product, %shift : f32",
)
LINEAR_CHANGES = (
    # one rounding fewer, two more, a bias added first
    (
        "%at_once = arith.mulf %sum, %multiplier : f32",
        "%real_scale = arith.mulf %sum, @weight_step : f32\n"
        "  %at_once = arith.mulf %real_scale, %scale : f32",
    ),
    (
        "%steps = arith.addf %product, %offset : f32",
        "%steps = math.fma %sum, %multiplier, %offset : f32",
    ),
    (
        "%steps = arith.addf %product, %offset : f32",
        "%biased = arith.addf %product, %bias_steps : f32\n"
        "  %steps = arith.addf %biased, %shift : f32",
    ),
)
ADD_CHANGES = (
    # one rounding more, or other factors between the two scales
    (
        "%moved = math.fma %real, %scale, %shift : f32",
        "%product = arith.mulf %real, %scale : f32\n"
        "  %moved = arith.addf %product, %shift : f32",
    ),
    (
        "%ratio = arith.divf %step, @addend_step : f32",
        "%ratio = arith.divf %summand_scale, %addend_scale : f32",
    ),
    (
        "%shift = arith.addf %scaled_zero, %first : f32",
        "%shift = math.fma %zero, %unit, %first : f32",
    ),
    STORED_TWICE,
)
OPENVINO_CHANGES: Mapping[str, Sequence[Change]] = (
    {"linear": LINEAR_CHANGES}
    | dict.fromkeys(
        ("conv2d", "depthwise_conv2d"),
        (
            # one rounding fewer, a zero point for the shift, a combined scale
            (
                "%scaled = arith.mulf %sum, @weight_step : f32\n"
                "  %result = arith.addf %scaled, %real_bias : f32",
                "%result = math.fma %sum, @weight_step, %real_bias : f32",
            ),
            (
                "%moved = arith.subf %ranged, @offset_of_codes : f32",
                "%negated = arith.negf %low : f32\n"
                "  %other = arith.mulf %negated, %scale : f32\n"
                "  %moved = arith.subf %other, @offset_of_codes : f32",
            ),
            STORED_TWICE,
            (
                "%used = arith.select %is_alone, %inverted, %scale : f32",
                "%used = arith.addf %scale, 0.0 : f32",
            ),
        ),
    )
    | dict.fromkeys(("conv2d_add", "depthwise_conv2d_add"), ADD_CHANGES)
)
STEP_BY_RANGE = (
    # the step of the range where the model states one
    "%result = arith.select %in_qdq, %stated, %step : f32",
    "%result = arith.addf %step, 0.0 : f32",
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
OF_EITHER_SIGN = replace(
    IN_QDQ,
    changes={"linear": (STEP_BY_RANGE, *LINEAR_CHANGES)},
    signs=(False, True),
    kinds=("linear", "quantize", "avg_pool2d", "mean"),
)
IN_SEQUENCE = {
    "linear": (
        # one rounding fewer, or as in a layer alone
        (
            "%scaled = arith.mulf %sum, @weight_step : f32\n"
            "  %result = arith.addf %scaled, %real_bias : f32",
            "%result = math.fma %sum, @weight_step, %real_bias : f32",
        ),
        (
            "arith.select @is_in_sequence, %in_turn, %alone : i32",
            "arith.select @is_in_sequence, %with_relu, %alone : i32",
        ),
        (
            "arith.select @is_in_sequence, %in_turn, %alone : i32",
            "arith.select @is_in_sequence, %plain, %alone : i32",
        ),
    )
}
SYSTEMS = {
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
                    "%real = func.call @real_fused(%accumulator",
                    "%real = func.call @real_in_two_steps(%accumulator",
                ),
                (
                    "%rounded = arith.select %exactly, %exact, "
                    "@round_by_adding_half(%steps) : i32",
                    "%even = fixed.convert %steps {rounding = half_even} : f32 to i32\n"
                    "  %rounded = arith.select %exactly, %exact, %even : i32",
                ),
                (
                    "%result = func.call @step_of(@inverse(%input_scale), "
                    "@inverse(%weight_scale)) : (f32, f32) -> f32",
                    "%result = arith.mulf %input_scale, %weight_scale : f32",
                ),
            ),
            "depthwise_conv2d": (
                (
                    "%real = arith.select %fuses, %fused, %plain",
                    "%real = arith.select %fuses, %plain, %fused",
                ),
            ),
            "linear": (
                (
                    "%real = func.call @real_in_two_steps(%accumulator",
                    "%real = func.call @real_fused(%accumulator",
                ),
            ),
        },
        signs=(True,),
        zero_points=False,
        kinds=("conv2d", "depthwise_conv2d", "linear"),
        takes=has_single_outputs,
    ),
    "mnn": System(
        "_tools",
        run_mnn,
        {
            **dict.fromkeys(
                ("conv2d", "linear"),
                (
                    (
                        "%steps = arith.mulf %scaled, @ratio : f32\n"
                        "  %biased = arith.addf %steps, @float_bias : f32",
                        "%biased = math.fma %scaled, @ratio, @float_bias : f32",
                    ),
                    (
                        "%shifted = arith.mulf %sum, %moved : f32\n"
                        "  %real = arith.mulf %shifted, %input_scale : f32",
                        "%shifted = arith.mulf %sum, %input_scale : f32\n"
                        "  %real = arith.mulf %shifted, %moved : f32",
                    ),
                ),
            ),
            "depthwise_conv2d": (
                (
                    "%multiplier = arith.mulf %weight_scale, @ratio : f32",
                    "%product = arith.mulf %weight_scale, %input_scale : f32\n"
                    "  %multiplier = arith.divf %product, %output_scale : f32",
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
