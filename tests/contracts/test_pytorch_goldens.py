"""The PyTorch contracts against what its engines answered (recorded).

48 convolutions and linear layers with real biases and operations of ATen, with scales
that make exact ties; every executor must give the recorded bits.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.circuits.recorded_uint8 import recorded_uint8_operation
from support.systems.recordings import (
    LAYER_COUNT,
    NEEDS_RECORDINGS,
    agreed_layer,
    check_recording,
    recorded_operations,
)

pytestmark = NEEDS_RECORDINGS

LAYER_ENGINES = {
    "pytorch-fbgemm": ("torch_fbgemm",),
    "pytorch-fbgemm-avx2": (
        "torch_fbgemm_envAVX2",
        "torch_fbgemm_haswell",
        # Without VNNI the engine x86 takes FBGEMM throughout.
        "torch_x86_haswell",
    ),
    "pytorch-x86": ("torch_x86",),
    "pytorch-onednn": ("torch_onednn",),
    "pytorch-onednn-avx2": ("torch_onednn_envAVX2", "torch_onednn_haswell"),
    "pytorch-qnnpack": ("torch_qnnpack", "torch_qnnpack_haswell"),
}
"""The engines of `layers.npz` that each contract answers for."""

OPERATION_ENGINES = {
    "torch/fbgemm": "pytorch-fbgemm",
    "torch/onednn": "pytorch-onednn",
    "torch/x86": "pytorch-x86",
    "torch/qnnpack": "pytorch-qnnpack",
    "torch": "pytorch-x86",
}
"""The contract of each engine of `ops.npz`."""


@pytest.mark.parts(40)
@pytest.mark.parametrize("index", range(LAYER_COUNT))
@pytest.mark.parametrize("contract", LAYER_ENGINES)
def test_layer(contract: str, index: int):
    layer = agreed_layer(index, LAYER_ENGINES[contract], unsigned=True, real_bias=True)
    check_recording(layer, contract)


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("engine", "operation", "index"),
    [
        (engine, operation, index)
        for engine in OPERATION_ENGINES
        for operation, index in recorded_operations(engine)
    ],
)
def test_operation(engine: str, operation: str, index: int):
    recording = recorded_uint8_operation(index)
    contract = OPERATION_ENGINES[engine]
    # QNNPACK's pools are the same in any layout, but it only has them for uint8.
    is_qnnpack = engine == "torch/qnnpack" and recording.expected.dtype == np.uint8
    if operation.endswith("nchw") and not is_qnnpack:
        contract = "pytorch-nchw"
    check_recording(recording, contract)
