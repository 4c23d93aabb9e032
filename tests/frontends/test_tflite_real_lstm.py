"""LSTMs of float32 beside LiteRT's kernel, step by step."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import Option
from support.formats.tflite_real_lstm import RealLstm
from support.lanes import seeds
from support.systems.litert import run_litert_steps

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

RELU, RELU6, TANH = 1, 3, 4

NO_INPUT_GATE = (1, 5, 9, 12, 20)


def drawn(seed: int) -> RealLstm:
    """An LSTM with some of all that the kernel has."""
    random = np.random.default_rng(seed)

    def one_in(count: int) -> bool:
        return not random.integers(count)

    options: dict[str, Option] = {
        "fused_activation_function": int(random.choice([TANH, TANH, RELU, RELU6])),
        "cell_clip": float(random.choice([0, 0, 0.5, 10])),
        "proj_clip": float(random.choice([0, 0.3])),
        "time_major": one_in(4),
        "asymmetric_quantize_inputs": one_in(2),
    }
    is_hybrid = one_in(2)
    return RealLstm(
        seed=seed,
        batch=int(random.integers(1, 4)),
        steps=int(random.integers(1, 4)),
        inputs=int(random.choice([1, 2, 3, 4, 5, 7, 8, 13, 17, 33, 70])),
        units=int(random.integers(1, 20)),
        outputs=int(random.integers(1, 12)) if one_in(3) else None,
        spread=float(np.exp(random.uniform(-3, 1))),
        is_hybrid=is_hybrid,
        has_peephole=one_in(4),
        is_normalized=one_in(4),
        missing=NO_INPUT_GATE if one_in(4) else (),
        options=options,
    )


def calls(lstm: RealLstm) -> list[NDArray[np.float32]]:
    """Inputs for calls one after the other, of which one is 0."""
    random = np.random.default_rng(lstm.seed)
    draw = random.standard_normal
    spreads = (1, 1, 3, 0, 0.1, 1)
    return [(draw(lstm.shape) * spread).astype(np.float32) for spread in spreads]


def compare(folder: Path, lstm: RealLstm, *, natively: bool) -> int:
    """How many bits of outputs and cells all equal LiteRT's, in calls with a state."""
    data = lstm.build()
    (folder / "lstm.tflite").write_bytes(data)
    model = qlower.load(folder / "lstm.tflite")
    given = calls(lstm)
    wanted = run_litert_steps(data, [[x] for x in given], tensors=[lstm.cell])
    run = qlower.jit(model) if natively else None
    state, compared = model.new_state(), 0
    for x, expected in zip(given, wanted, strict=True):
        if run is None:
            found = qlower.interpret(model, x, at="qnn", state=state)
        else:
            found = run(x, state=state)
        for values, others in zip((found, state.arrays[1]), expected, strict=True):
            bits, other = (part.view(np.int32) for part in (values, others))
            np.testing.assert_array_equal(bits, other, str(lstm))
            compared += bits.size
    return compared


@pytest.mark.parts(6)
@needs_litert
@pytest.mark.parametrize("seed", seeds(range(12), 6))
def test_every_call_is_that_of_litert(seed: int, tmp_path: Path) -> None:
    compare(tmp_path, drawn(seed), natively=seed in (3, 8, 11))


@pytest.mark.parts(6)
@needs_litert
@pytest.mark.parametrize("inputs", [3, 4, 12, 16, 23, 29, 50])
def test_products_of_vectors_are_those_of_litert(inputs: int, tmp_path: Path) -> None:
    lstm = RealLstm(seed=inputs, inputs=inputs, units=1)
    compare(tmp_path, lstm, natively=False)


@pytest.mark.parts(3)
@needs_litert
@pytest.mark.parametrize(
    ("batch", "inputs", "units"),
    [(2, 13, 3), (3, 40, 1), (4, 12, 4), (5, 13, 23), (9, 3, 15), (4, 7, 17)],
)
def test_products_of_matrices_are_those_of_litert(
    batch: int, inputs: int, units: int, tmp_path: Path
) -> None:
    """All rows of a step at once."""
    lstm = RealLstm(
        seed=batch,
        batch=batch,
        inputs=inputs,
        units=units,
        options={"time_major": True},
    )
    compare(tmp_path, lstm, natively=batch == 5)


@needs_litert
def test_states_that_a_constant_begins(tmp_path: Path) -> None:
    compare(tmp_path, RealLstm(is_widened=True), natively=False)


@needs_litert
def test_states_that_are_given(tmp_path: Path) -> None:
    """What a call leaves there is gone: the next one is given other states."""
    lstm = RealLstm(is_given=True)
    random = np.random.default_rng(0)
    steps = [
        [
            random.standard_normal(shape).astype(np.float32)
            for shape in (lstm.shape, *[(1, lstm.units)] * 2)
        ]
        for _ in range(3)
    ]
    data = lstm.build()
    (tmp_path / "lstm.tflite").write_bytes(data)
    model = qlower.load(tmp_path / "lstm.tflite")
    assert not model.signature.states
    for given, (expected,) in zip(steps, run_litert_steps(data, steps), strict=True):
        found = qlower.interpret(model, *given, at="qnn")
        np.testing.assert_array_equal(found, expected)


@pytest.mark.long
@needs_litert
def test_many_calls_are_those_of_litert(tmp_path: Path) -> None:
    compared = 0
    for seed in range(100, 450):
        compared += compare(tmp_path, drawn(seed), natively=seed % 10 == 0)
    assert compared > 100_000


@pytest.mark.parametrize(
    ("lstm", "message"),
    [
        (
            RealLstm(batch=2, inputs=681, options={"time_major": True}),
            "681 columns of weights of float32 with 2 rows at once",
        ),
        (
            RealLstm(options={"fused_activation_function": 0}),
            "fused activation function NONE is not supported by an LSTM of float32",
        ),
        (
            RealLstm(options={"diagonal_recurrent_tensors": True}),
            "diagonal_recurrent_tensors is not supported",
        ),
        (RealLstm(outputs=3, missing=(16,)), "3 outputs of 4 units, and no projection"),
        (RealLstm(missing=(14,)), "operand 14 is missing"),
        (RealLstm(missing=(6,)), "operand 6 is missing"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_refusals(lstm: RealLstm, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        import_tflite(lstm.build(), name="lstm.tflite")
    assert message in caught.value.message


@pytest.mark.parametrize("shape", [(), (4,), (1, 3), (2, 4), (4, 1), (1, 1, 4)])
@pytest.mark.parametrize("number", [18, 19])
@pytest.mark.parametrize("form", [{}, {"is_hybrid": True}])
def test_states_of_another_shape(
    form: dict[str, Any], number: int, shape: tuple[int, ...]
) -> None:
    lstm = RealLstm(state_shapes={number: shape}, **form)
    with pytest.raises(QlowerError, match="shape"):
        import_tflite(lstm.build(), name="lstm.tflite")
