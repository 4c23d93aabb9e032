"""The ONNX Runtime contracts against what it answered (recorded).

48 convolutions and linear layers as u8s8 and s8s8 and other operations, with scales
that make exact ties; every executor must give the recorded bits.
"""

from __future__ import annotations

import pytest
from support.circuits.recorded_uint8 import recorded_uint8_operation
from support.systems.recordings import (
    LAYER_COUNT,
    NEEDS_RECORDINGS,
    check_recording,
    recorded_layer,
    recorded_operations,
)

pytestmark = NEEDS_RECORDINGS

LAYER_ENGINES = {
    "ort_qlinear_u8s8": "onnxruntime",
    "ort_qlinear_s8s8": "onnxruntime",
    "ort_qlinear_u8s8_haswell": "onnxruntime-avx2",
    "ort_qlinear_s8s8_haswell": "onnxruntime-avx2",
}
"""The contract of each engine of `layers.npz`."""


@pytest.mark.parts(32)
@pytest.mark.parametrize("index", range(LAYER_COUNT))
@pytest.mark.parametrize("engine", LAYER_ENGINES)
def test_layer(engine: str, index: int):
    recording = recorded_layer(index, engine, unsigned="u8s8" in engine)
    check_recording(recording, LAYER_ENGINES[engine])


@pytest.mark.parametrize(("operation", "index"), list(recorded_operations("ort")))
def test_operation(operation: str, index: int):
    check_recording(recorded_uint8_operation(index), "onnxruntime")
