"""Arenas of real models beside those of TensorFlow Lite for Microcontrollers."""

from __future__ import annotations

import re

import pytest
from support import models_directory

import qlower
from qlower.codegen.program.module import arena_bytes
from qlower.compilation.to_arith import lower_to_arith
from qlower.model.entry import main_function
from qlower.text.context import make_context
from qlower.transforms.form_kernels import FormKernelsPass
from qlower.transforms.fuse_layers import FuseLayersPass
from qlower.transforms.plan_memory import PlanMemoryPass

pytestmark = pytest.mark.usefixtures("verify_each")

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.tflite"))

WITH_STORED_PADDING = {"ic_resnet8_int8", "micro_speech_int8"}
"""Their largest tensors are read by convolutions that pad them in memory."""


@pytest.mark.parts(12)
@pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}")
@pytest.mark.parametrize("name", NAMES)
def test_arena_is_no_larger(name: str, capfd: pytest.CaptureFixture[str]):
    """Than what TFLM allocates for the tensors of a call, or else for all it needs.

    TFLM's has inputs and outputs too, which the caller has here.
    """
    pytest.importorskip("tflite_micro")
    from support.systems.tflm import print_allocations

    path = MODELS / name / "model.tflite"
    if name.endswith("uint8"):
        pytest.skip("TFLM doesn't take models of unsigned bytes")
    print_allocations(path.read_bytes())
    found = re.findall(r"Arena allocation (\w+) (\d+) bytes", capfd.readouterr().err)
    sizes = {part: int(size) for part, size in found}
    kernel = lower_to_arith(qlower.load(path).module, "tflite")
    for each in (FormKernelsPass(), FuseLayersPass(), PlanMemoryPass()):
        each.apply(make_context(), kernel)
    ours = arena_bytes(main_function(kernel))
    assert ours <= sizes["total" if name in WITH_STORED_PADDING else "head"]
