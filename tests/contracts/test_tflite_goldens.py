"""The contracts of the TFLite family against what the real systems answered (recorded).

48 convolutions and linear layers and the elementwise operations, with scales that make
exact ties; every executor must give the recorded bits.
"""

from __future__ import annotations

import pytest
from support.systems.recordings import (
    LAYER_COUNT,
    NEEDS_RECORDINGS,
    agreed_layer,
    check_recording,
    recorded_operation,
    recorded_operations,
)

pytestmark = NEEDS_RECORDINGS

LAYER_ENGINES = {
    "tflite": ("litert_ref",),
    "tflite-ruy": ("litert_opt", "litert_opt_haswell"),
    "tflite-xnnpack": ("litert_xnn", "litert_xnn_haswell"),
    "tflm": ("tflm",),
}
"""The engines of `layers.npz` that each contract answers for."""

OPERATION_ENGINES = {
    "litert/ref": "tflite",
    "litert/opt": "tflite-ruy",
    "litert/xnn": "tflite-xnnpack",
}
"""The contract of each engine of `ops.npz`."""


@pytest.mark.parts(16)
@pytest.mark.parametrize("index", range(LAYER_COUNT))
@pytest.mark.parametrize("contract", LAYER_ENGINES)
def test_layer(contract: str, index: int):
    layer = agreed_layer(index, LAYER_ENGINES[contract])
    check_recording(layer, contract)


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("engine", "operation", "index"),
    [
        (engine, operation, index)
        for engine in OPERATION_ENGINES
        for operation, index in recorded_operations(engine)
    ],
)
def test_operation(engine: str, operation: str, index: int):
    check_recording(recorded_operation(index), OPERATION_ENGINES[engine])
