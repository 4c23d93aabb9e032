"""Bytes of the tables that layers have for each channel on Cortex-M4."""

from __future__ import annotations

import pytest
from support import models_directory

import qlower
from qlower.codegen.program.module import calls_of
from qlower.codegen.program.plan import plan
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation

MODELS = (
    *("ic_resnet8_int8", "kws_dscnn_int8", "vww_mobilenetv1_025_96_int8"),
    *("ad01_fc_autoencoder_int8", "vww_mcunet_80_int8", "person_detect_int8"),
    *("micro_kws_m_int8", "micro_speech_int8", "hello_world_int8"),
)

MOST = 12
"""Bytes of a channel's factor and offset of 64 bits; its bias counts as a weight."""

LARGER = {"vww_mcunet_80_int8": {"conv_point_linear_bn.1_te_transform": 28}}
"""Layers with further numbers, which correct the sums that one product isn't exact
for."""


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_tables_of_channels(name: str) -> None:
    path = models_directory() / name / "model.tflite"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    target = resolve_target("thumbv7em-none-eabi", "cortex-m4")
    kernels = Compilation(qlower.load(path), "tflm", target).kernels
    calls = calls_of(kernels, target)
    larger: dict[str, int] = {}
    for kernel, call in zip(plan(kernels, target).kernels, calls, strict=True):
        # weights come first, in a contraction then what sums start from; a border of
        # padding is one byte again and again
        packed = {"contraction": 2, "depthwise": 1}.get(kernel.family)
        tables = [] if packed is None else call.data[packed:]
        size = sum(len(one) for one in tables if len({*one}) > 1)
        if size > MOST * kernel.channels:
            larger[kernel.layer] = size // kernel.channels
    assert larger == LARGER.get(name, {})
