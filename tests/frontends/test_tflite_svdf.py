"""SVDF of int8, step by step beside LiteRT's reference kernels and TFLite Micro."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_streams import drawn_frames, svdf
from support.systems.litert import run_litert_steps
from support.systems.tflm import run_tflm_steps

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

STEPS = 50

POWERS = {
    "input": 0.5,
    "weights": 0.25,
    "state": 1.0,
    "time_weights": 2.0**-6,
    "output": 2.0**15,
}
"""Each rescaling divides by a power of two, so that many sums are ties."""

FORMS: Mapping[str, bytes] = {
    "plain": svdf(0, scales={"output": 3.0}),
    "rows": svdf(1, batch=2, rank=1, units=3, has_bias=False, scales={"output": 3.0}),
    "one place": svdf(2, places=1, scales={"output": 1.0}),
    "saturated": svdf(3, scales={"state": 0.00001, "output": 0.02}),
    "ties": svdf(4, units=16, rank=1, places=3, scales=POWERS),
    "small state": svdf(
        5, units=8, scales={"state": 1.0, "time_weights": 0.01, "output": 5000.0}
    ),
}


def drawn(data: bytes) -> list[NDArray[np.int8]]:
    batch = qlower.Model(import_tflite(data, name="svdf.tflite")).inputs[0].shape[0]
    frames = np.stack(drawn_frames(STEPS * batch, 7))
    return list(frames.reshape(STEPS, batch, -1))


@pytest.mark.parts(6)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.parametrize("form", FORMS)
def test_every_step_is_that_of_litert(form: str) -> None:
    data = FORMS[form]
    steps = drawn(data)
    wanted = np.stack([y for (y,) in run_litert_steps(data, [[x] for x in steps])])
    inside = ~np.isin(wanted, (-128, 127))
    assert inside.mean() > (0.0 if form == "saturated" else 0.25)
    model = qlower.Model(import_tflite(data, name="svdf.tflite"))
    state, other = model.new_state(), model.new_state()
    run = qlower.jit(model)
    np.testing.assert_array_equal(run(np.stack(steps), state=state), wanted)
    meant = qlower.interpret(model, np.stack(steps), at="qnn", state=other)
    np.testing.assert_array_equal(meant, wanted)
    assert bytes(state.memory) == bytes(other.memory)


@pytest.mark.parts(3)
@pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="tflite-micro is not installed"
)
@pytest.mark.parametrize("form", ["plain", "ties", "one place"])
def test_every_step_is_that_of_tflite_micro(form: str) -> None:
    data = FORMS[form]
    steps = drawn(data)
    wanted = [y for (y,) in run_tflm_steps(data, [[x] for x in steps])]
    model = qlower.Model(import_tflite(data, name="svdf.tflite"))
    state = model.new_state()
    got = qlower.interpret(
        model, np.stack(steps), contract="tflm", at="qnn", state=state
    )
    np.testing.assert_array_equal(got, wanted)


def refused(**changed: str) -> bytes:
    """An SVDF some of whose tensors have other types."""
    builder = TFLiteBuilder()
    types = {"x": "int8", "w": "int8", "t": "int16", "state": "int16", **changed}
    shapes = {"x": (1, 8), "w": (4, 8), "t": (4, 3), "state": (1, 12)}
    x, w, t, state = (
        builder.tensor(
            name,
            shape,
            types[name],
            scale=0.5,
            is_variable=name == "state",
            data=np.ones(shape) if name in "wt" else None,
        )
        for name, shape in shapes.items()
    )
    y = builder.tensor("y", (1, 4), scale=0.5)
    options = {"rank": 1, "fused_activation_function": 1}
    builder.operator("SVDF", [x, w, t, -1, state], [y], options)
    return builder.build([x], [y])


@pytest.mark.parametrize("changed", [{"state": "int8"}, {"t": "int8"}])
def test_other_types_are_refused(changed: dict[str, str]) -> None:
    data = refused(**changed)
    with pytest.raises(QlowerError, match=r"operator 0 SVDF: an SVDF of .* is not"):
        import_tflite(data, name="svdf.tflite")
