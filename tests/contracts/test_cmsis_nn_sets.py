"""CMSIS-NN's own unit tests, run by the contract `tflm`.

The variable QLOWER_MAKERS names a folder with a checkout CMSIS-NN; 99f736a6 has 491
sets; 265 end in f16 or f32. Of the other 226 tests of float kernels read `FLOATS`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.machines.native import levels, run_object
from support.systems.cmsis_nn import Constants, read_sets
from support.systems.cmsis_nn_models import Layer, make_layers

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model import Model

VARIABLE = "QLOWER_MAKERS"
NAMED = read_sets(Path(os.environ[VARIABLE])) if VARIABLE in os.environ else []
SETS = [one for one in NAMED if not one.kernel.endswith(("f16", "f32"))]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not SETS, reason=f"{VARIABLE} has no checkout CMSIS-NN"),
]

REFUSED = {
    # an output offset that no code of a zero point is
    "fully_connected_int4_6": "zero point 128 is out of range",
    "softmax_s8_s16": "zero point -32768 is not supported",
    # states of 8 bits
    **dict.fromkeys(("svdf_int8", "svdf_int8_2"), "storage i8 is not supported yet"),
    # the cell's table would be that of another scale
    **dict.fromkeys(
        (
            *("lstm_1_s16", "lstm_2_s16", "lstm_one_time_step_s16"),
            "lstm_stateful_batch_major_multibatch_s16",
        ),
        "the scale of the cell must be a power of two",
    ),
}
"""Sets that no model with this contract means, and the reason that is given."""

FLOATS = {
    f"{kernel}_{kind}_{case}"
    for kind in ("f16", "f32")
    for kernel, cases in {
        "add": ["spill"],
        "mul": ["spill"],
        "avgpooling": ["1", "2", "global"],
        "maxpooling": ["1", "2", "3"],
    }.items()
    for case in cases
}
"""Sets whose arrays are float numbers, though their names end in something else."""


def test_which_sets_there_are() -> None:
    """Each of the 226 is run, refused by name, or of float numbers."""
    names = {one.name for one in SETS}
    assert {one.name for one in NAMED} - names == FLOATS
    assert names >= REFUSED.keys()
    assert (len(NAMED), len(names), len(REFUSED)) == (226, 210, 8)
    for one in NAMED:
        types = {array.dtype for array in one.arrays.values()}
        assert (not types) == (one.name in FLOATS), one.name


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_set(one: Constants, tmp_path: Path) -> None:
    """In the interpreter, on this machine, and on an emulated Cortex-M4."""
    if one.name in REFUSED:
        with pytest.raises(QlowerError, match=REFUSED[one.name]):
            run(make_layers(one), tmp_path, "interpreter")
        return
    layers = make_layers(one)
    for executor in ("interpreter", "host", "cortex-m4"):
        found = run(layers, tmp_path, executor)
        np.testing.assert_array_equal(found.ravel(), one.expected, executor)


def run(layers: list[Layer], folder: Path, executor: str) -> Array:
    """The last model's first output."""
    outputs: list[Array] = []
    for layer in layers:
        model = layer.source
        if not isinstance(model, Model):
            path = folder / "set.tflite"
            path.write_bytes(model)
            model = qlower.load(path)
        shape = model.inputs[0].shape
        inputs = list(layer.inputs) or [outputs[0].reshape(shape)]
        if executor == "interpreter":
            result = qlower.interpret(model, *inputs, contract="tflm")
            outputs = [result] if isinstance(result, np.ndarray) else list(result)
        else:
            target = levels()[executor]
            outputs = run_object(
                Compilation(model, "tflm").for_target(target).object, inputs
            )
    return outputs[0]
