"""LSTMs of int8 and int16 beside LiteRT and TFLite Micro, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_lstm import PEEPHOLE, PROJECTION, Lstm
from support.lanes import seeds
from support.systems.litert import run_litert_steps
from support.systems.tflm import run_tflm_steps

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

needs_tflm = pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="tflite-micro is not installed"
)

COUPLED = (1, 5, 9, 12, 20)
"""The operands of an input gate."""

ANY_CLIP = (0.0, 10.0, 0.3, 1e-9)


def drawn(seed: int) -> Lstm:
    """An LSTM whose gates reach from the middle of their range far beyond it."""
    random = np.random.default_rng(seed)
    return Lstm(
        seed=seed,
        batch=int(random.integers(1, 4)),
        inputs=int(random.integers(1, 40)),
        units=int(random.integers(1, 20)),
        steps=int(random.integers(1, 5)),
        input_scale=float(np.exp(random.uniform(-7, 0))),
        weight_scale=float(np.exp(random.uniform(-8, -2))),
        state_scale=float(random.choice([1 / 128, 0.0078, 0.003, 0.02])),
        hidden_scale=float(random.choice([0.0, 0.01])),
        result_scale=float(random.choice([0.0, 0.005])),
        state_zero_point=int(random.integers(-128, 128)),
        cell_scale=float(2.0 ** random.integers(-18, -6)),
        cell_clip=float(random.choice(ANY_CLIP)),
        bias_range=int(random.choice([0, 1000, 1 << 20, (1 << 31) - 1])),
        options={"time_major": seed % 4 == 2},
    )


def drawn_variant(seed: int) -> Lstm:
    """One with some of peepholes, a projection, normalized gates and a coupled gate.
    In every third one all scales are powers of two, so that many sums are ties."""
    lstm = drawn(seed)
    if seed % 3 == 0:
        lstm = replace(
            lstm,
            is_exact=True,
            input_scale=2.0**-7,
            weight_scale=2.0**-8,
            state_scale=2.0**-7,
            hidden_scale=None,
            result_scale=None,
        )
    random = np.random.default_rng(seed)
    kind = random.integers(1, 16)
    outputs = int(random.integers(1, lstm.units + 1)) if kind & 1 else None
    is_coupled = bool(kind & 8)
    return replace(
        lstm,
        outputs=outputs,
        has_peephole=bool(kind & 2),
        is_normalized=bool(kind & 4),
        missing=COUPLED if is_coupled else (),
        gate_scale=float(2.0 ** random.integers(-13, -8) * random.choice([1, 1.3])),
        hidden_zero_point=int(random.choice([-128, -3, 0, 55])),
        cell_scale=2.0**-12 if is_coupled else lstm.cell_scale,
        bias_range=int(random.choice([0, 1000, 1 << 20])),
        options={**lstm.options, "proj_clip": float(random.choice([0, 0, 0.3]))},
    )


def drawn_wide(seed: int) -> Lstm:
    """The same of int16, whose states TFLite Micro reads by the scale they have."""
    lstm = drawn(seed)
    random = np.random.default_rng(seed)
    return replace(
        lstm,
        is_wide=True,
        input_scale=float(2.0 ** random.uniform(-14, -9)),
        state_scale=float(random.choice([2.0**-15, 2.0**-14, 0.00004])),
        result_scale=None,
        state_zero_point=0,
        bias_range=lstm.bias_range // 100,
    )


def calls(lstm: Lstm, count: int) -> list[NDArray[np.signedinteger]]:
    """Inputs for calls one after the other: random ones, and both ends."""
    random = np.random.default_rng(lstm.seed)
    shape = lstm.shape(lstm.inputs)
    dtype = np.int16 if lstm.is_wide else np.int8
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [np.full(shape, end, dtype) for end in (low, high)]
    rest = [random.integers(low, high + 1, shape).astype(dtype) for _ in range(count)]
    return [*rest, *ends, random.choice([low, high], shape).astype(dtype)]


def compare(
    path: Path, lstm: Lstm, count: int, *, natively: bool, contract: str = "tflite"
) -> int:
    """How many outputs all equal the system's, in calls with a state."""
    data = lstm.build()
    path.write_bytes(data)
    model, given = qlower.load(path), calls(lstm, count)
    run_steps = run_litert_steps if contract == "tflite" else run_tflm_steps
    wanted = run_steps(data, [[x] for x in given])
    run = qlower.jit(model, contract=contract) if natively else None
    state, other = model.new_state(), model.new_state()
    compared = 0
    for x, (expected,) in zip(given, wanted, strict=True):
        found = qlower.interpret(model, x, at="qnn", state=state, contract=contract)
        np.testing.assert_array_equal(found, expected, str(lstm))
        if run is not None:
            np.testing.assert_array_equal(run(x, state=other), expected, str(lstm))
        compared += expected.size
    return compared


@pytest.mark.parts(12)
@needs_litert
@pytest.mark.parametrize("seed", seeds(range(6), 3))
def test_every_call_is_that_of_litert(seed: int, tmp_path: Path) -> None:
    compare(tmp_path / "lstm.tflite", drawn(seed), 4, natively=seed == 0)


@pytest.mark.parts(3)
@needs_litert
@pytest.mark.parametrize("seed", seeds(range(300, 312), 3))
def test_every_call_of_a_variant_is_that_of_litert(seed: int, tmp_path: Path) -> None:
    compare(tmp_path / "lstm.tflite", drawn_variant(seed), 4, natively=seed < 302)


@pytest.mark.parts(3)
@needs_tflm
@pytest.mark.parametrize("seed", seeds(range(100, 106), 3))
def test_every_call_is_that_of_tflm(seed: int, tmp_path: Path) -> None:
    path, natively = tmp_path / "lstm.tflite", seed == 100
    compare(path, drawn(seed), 4, natively=natively, contract="tflm")


@pytest.mark.parts(20)
@needs_tflm
@pytest.mark.parametrize("seed", range(206, 210))
def test_every_wide_call_is_that_of_tflm(seed: int, tmp_path: Path) -> None:
    path, natively = tmp_path / "lstm.tflite", seed == 206
    compare(path, drawn_wide(seed), 4, natively=natively, contract="tflm")


@pytest.mark.long
@needs_tflm
@pytest.mark.parametrize("draw", [drawn, drawn_wide])
def test_many_calls_are_those_of_tflm(
    draw: Callable[[int], Lstm], tmp_path: Path
) -> None:
    path = tmp_path / "lstm.tflite"
    for seed in range(106, 206):
        natively = seed % 50 == 0
        compare(path, draw(seed), 10, natively=natively, contract="tflm")


@pytest.mark.long
@needs_litert
def test_many_calls_are_those_of_litert(tmp_path: Path) -> None:
    """Many rows at once take as long as one; a few models go on for 100 calls."""
    path, compared = tmp_path / "lstm.tflite", 0
    for seed in range(6, 106):
        lstm = replace(drawn(seed), batch=64)
        compared += compare(path, lstm, 9, natively=seed % 50 == 0)
    for seed in range(106, 109):
        compared += compare(path, drawn(seed), 100, natively=seed == 106)
    assert compared > 1_000_000


@pytest.mark.parts(12)
@needs_litert
@pytest.mark.parametrize("gate", range(4))
@pytest.mark.parametrize("cell_scale", [2.0**-17, 2.0**-15, 2.0**-10])
def test_every_gate_is_that_of_litert(
    gate: int, cell_scale: float, tmp_path: Path
) -> None:
    """A gate has all its sums: a unit for each multiple of 256, to which an input is
    added; the others are as far as they can be. The cell shows what the 8 bits of the
    state hide; of each input there are two calls, as the first cell is 0."""
    units, codes = 256, np.arange(-128, 128, dtype=np.int8)
    none = np.zeros((units, units), np.int8)
    multiples = 256 * np.arange(-128, 128, dtype=np.int32)
    most = np.full(units, 1 << 15, np.int32)
    swept = np.ones((units, 1), np.int8)
    lstm = Lstm(
        batch=codes.size,
        steps=1,
        inputs=1,
        units=units,
        input_scale=2.0**-5,
        weight_scale=2.0**-7,
        cell_scale=cell_scale,
        constants={
            **{number: none for number in range(5, 9)},
            **{1 + i: swept if i == gate else none[:, :1] for i in range(4)},
            **{12 + i: multiples if i == gate else most for i in range(4)},
        },
    )
    data = lstm.build()
    path = tmp_path / "lstm.tflite"
    path.write_bytes(data)
    model, x = qlower.load(path), codes.reshape(-1, 1, 1)
    wanted = run_litert_steps(data, [[x]] * 2, tensors=[lstm.cell])
    state = model.new_state()
    for outputs, cell in wanted:
        found = qlower.interpret(model, x, at="qnn", state=state)
        np.testing.assert_array_equal(found, outputs)
        np.testing.assert_array_equal(state.arrays[1], cell)


@pytest.mark.parametrize(
    ("lstm", "message"),
    [
        (
            Lstm(is_wide=True, has_peephole=True),
            "an LSTM of INT16 with peepholes, a projection, normalized gates or without"
            " an input gate is not supported; expected INT8",
        ),
        (
            Lstm(has_peephole=True, outputs=5),
            "peephole weights of 4 units with 5 outputs are not supported",
        ),
        (
            Lstm(missing=COUPLED, cell_scale=2.0**-16),
            "a cell in steps of 1.52587890625e-05 without an input gate",
        ),
        (
            Lstm(outputs=3, is_normalized=True, missing=(PROJECTION,)),
            "3 outputs of 4 units, and no projection",
        ),
        (Lstm(has_peephole=True, missing=(PEEPHOLE + 1,)), "operand 10 is missing"),
        (Lstm(missing=(2,)), "operand 2 is missing"),
        (Lstm(missing=(13,)), "operand 13 is missing"),
        (
            Lstm(options={"diagonal_recurrent_tensors": True}),
            "diagonal_recurrent_tensors True is not supported",
        ),
        (
            Lstm(options={"fused_activation_function": 1}),
            "fused_activation_function 1 is not supported; expected 4",
        ),
        (Lstm(intermediates=4), "4 intermediate tensors, expected 5"),
        (
            Lstm(intermediates=12),
            "12 intermediate tensors, whose sums of gates have 8 bits, is not",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_refusals(lstm: Lstm, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        import_tflite(lstm.build(), name="lstm.tflite")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("cell_scale", "message"),
    [(0.001, "must be a power of two"), (2.0**-31, "must be between 2^-30 and 2")],
)
def test_scales_of_the_cell(cell_scale: float, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lstm.tflite"
    path.write_bytes(Lstm(cell_scale=cell_scale).build())
    with pytest.raises(QlowerError, match=re.escape(message)):
        qlower.jit(qlower.load(path))


@pytest.mark.parametrize("shape", [(), (4,), (1, 3), (2, 4), (4, 1), (1, 1, 4)])
@pytest.mark.parametrize("number", [18, 19])
@pytest.mark.parametrize("form", [{}, {"has_peephole": True}])
def test_states_of_another_shape(
    form: dict[str, Any], number: int, shape: tuple[int, ...]
) -> None:
    lstm = Lstm(state_shapes={number: shape}, **form)
    with pytest.raises(QlowerError, match=r"shape|rank"):
        import_tflite(lstm.build(), name="lstm.tflite")
