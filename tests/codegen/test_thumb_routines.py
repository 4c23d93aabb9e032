"""The routines of sums of rows by themselves, called as their description says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.codegen.llvm.routine import Routine, RowsRoutine, WindowStep
from qlower.codegen.targets.thumb_routines import (
    PAIRS_OF_ROWS,
    SINGLE_ROWS,
    small_window_routine,
    window_columns,
    window_factors,
    window_routine,
)
from qlower.emulation.emulator import BUFFERS, Emulator
from qlower.model.signature import Array

pytest.importorskip("unicorn", reason="unicorn is not installed")
llvm: Any = import_module("llvmlite.binding")

ROUTINES = {"pairs": PAIRS_OF_ROWS, "single": SINGLE_ROWS}
CODE = BUFFERS - (1 << 16)
KEPT = [f"R{number}" for number in range(4, 12)]


def emulator_with(routine: Routine) -> Emulator:
    """A Cortex-M4 with nothing but a routine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "thumbv7em-unknown-none-eabi"
    target = llvm.Target.from_triple(triple)
    module = llvm.parse_assembly(f'target triple = "{triple}"\n@x = global i32 0')
    machine = target.create_target_machine("cortex-m4", reloc="static")
    emulator = Emulator(machine.emit_object(module))
    code = np.array(routine.code, np.uint16).tobytes()
    emulator.map(CODE, len(code))
    emulator.write(CODE, code)
    emulator.symbols["rows"] = CODE
    return emulator


def words_of_weights(weights: Array) -> Array:
    """[column, channel, step, 2] as words of two channels' bytes, step by step."""
    columns, channels, steps, _ = weights.shape
    pairs = weights.reshape(columns, channels // 2, 2, steps, 2)
    return np.ascontiguousarray(pairs.transpose(0, 3, 1, 4, 2))


def called(
    routine: RowsRoutine, x: Array, weights: Array, starts: Array, gap: int
) -> tuple[Array, Sequence[int]]:
    """The sums, [row, column, channel], and the registers that it must keep."""
    rows, steps, _ = x.shape
    emulator = emulator_with(routine)
    size = 4 * starts.size
    read = [np.ascontiguousarray(x.transpose(1, 0, 2)), words_of_weights(weights)]
    pages = emulator.map_buffers(
        [size + (rows - 1) * gap, *(one.nbytes for one in read), size]
    )
    at: list[int] = [pages[0][0]]
    # Each ends where a page that can't be touched begins.
    for (start, length), array in zip(pages[1:], [*read, starts], strict=True):
        at.append(start + length - array.nbytes)
        emulator.write(at[-1], array.tobytes())
    for number, name in enumerate(KEPT):
        emulator.write_register(name, 1000 + number)
    end, left_out = at[1] + x.nbytes, routine.left_out(2 * steps)
    room = [0] * (routine.stack_bytes // 4 - 4)
    emulator.call("rows", *at, end, left_out, len(weights), gap, *room)
    sums = [
        np.frombuffer(emulator.read(at[0] + row * gap, size), np.int32)
        for row in range(rows)
    ]
    kept = [emulator.read_register(name) - 1000 for name in KEPT]
    return np.stack(sums).reshape(rows, *starts.shape), kept


@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.parametrize(
    ("activations", "columns"), [(4, 1), (8, 3), (28, 2), (32, 1), (36, 3), (100, 2)]
)
def test_sums_of_rows(name: str, activations: int, columns: int) -> None:
    """Where a loop of 16 steps begins at any of them that a row can, and goes round."""
    routine, steps = ROUTINES[name], activations // 2
    random = np.random.default_rng(activations)
    x = random.integers(-(1 << 9), 1 << 9, (routine.rows, steps, 2)).astype(np.int16)
    shape = (columns, routine.columns, steps, 2)
    weights = random.integers(-128, 128, shape).astype(np.int8)
    starts = random.integers(-9999, 9999, shape[:2]).astype(np.int32)
    gap = 4 * starts.size + 12
    sums, kept = called(routine, x, weights, starts, gap)
    products = np.einsum("rsi,ncsi->rnc", x.astype(np.int32), weights.astype(np.int32))
    np.testing.assert_array_equal(sums, products + starts)
    assert kept == [*range(len(KEPT))]


def steps_of_line(
    taps: int, columns: int, stride: int, before: int, unit: int
) -> list[WindowStep]:
    """A line of neighbouring windows, whose first `before` activations are padding."""
    steps: list[WindowStep] = []
    for position in range(taps + (columns - 1) * stride):
        pairs = [(column, position - column * stride) for column in range(columns)]
        uses = [(column, tap) for column, tap in pairs if 0 <= tap < taps]
        place = None if position < before else (position - before) * unit
        steps.append(WindowStep(place, uses))
    return [step for step in steps if step.uses]


WINDOWS = [
    # lines, taps, columns, stride, padding before, bytes of a line's weights
    (3, 3, 5, 1, 1, 3),
    (1, 1, 8, 2, 0, 1),
    (2, 2, 7, 1, 0, 4),
    (3, 5, 4, 2, 2, 8),
    (2, 4, 7, 1, 1, 4),
    (1, 8, 5, 1, 0, 8),
    (2, 6, 3, 3, 0, 6),
    (2, 7, 2, 1, 3, 7),
]


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("case", WINDOWS)
def test_sums_of_windows(
    case: tuple[int, int, int, int, int, int], signed: bool, is_small: bool
) -> None:
    """Of each channel by itself; the smaller routine takes lines from the last on."""
    lines, taps, columns, stride, before, line_bytes = case
    columns = min(columns, window_columns(taps) - is_small)
    channels, border = 3, -5 if signed else 200
    unit = 1 if is_small else channels
    steps = steps_of_line(taps, columns, stride, before, unit)
    options: dict[str, Any] = {"signed": signed, "line_bytes": line_bytes}
    if is_small:
        routine = small_window_routine(steps, lines, columns, border, **options)
    else:
        routine = window_routine([steps] * lines, columns, border, **options)
    width = taps + (columns - 1) * stride
    random = np.random.default_rng(taps)
    type = np.int8 if signed else np.uint8
    ends = np.iinfo(type)
    shape = lines, width - before, channels
    x = random.integers(ends.min, ends.max + 1, shape, type)
    w = random.integers(-128, 128, (channels, lines, line_bytes)).astype(np.int8)
    starts = random.integers(-9999, 9999, channels).astype(np.int32)
    order = w[:, ::-1] if is_small else w
    packed = b"".join(
        start.tobytes() + line.tobytes()
        for start, line in zip(starts, order, strict=True)
    )
    emulator = emulator_with(routine)
    size = 4 * channels * columns
    # words are read where weights lie, up to three bytes beyond the last
    pages = emulator.map_buffers([size, len(packed) + 3, *[x[0].nbytes] * lines])
    at = [start + length for start, length in pages]
    at = [pages[0][0], at[1] - len(packed) - 3, *(end - x[0].nbytes for end in at[2:])]
    emulator.write(at[1], packed)
    for address, line in zip(at[2:], x, strict=True):
        emulator.write(address, line.tobytes())
    for number, register in enumerate(KEPT):
        emulator.write_register(register, 1000 + number)
    given = [channels, channels, *at[2:]] if is_small else [channels, *at[2:]]
    room = [0] * ((routine.stack_bytes + 3) // 4)
    emulator.call("rows", *at[:2], *given, *room)
    found = np.frombuffer(emulator.read(at[0], size), np.int32)
    padded = np.full((lines, width, channels), border, np.int32)
    padded[:, before:] = x
    wanted = [
        [
            starts[channel]
            + sum(
                padded[line, column * stride + tap, channel]
                * int(w[channel, line, tap])
                for line in range(lines)
                for tap in range(taps)
            )
            for column in range(columns)
        ]
        for channel in range(channels)
    ]
    assert found.reshape(channels, columns).tolist() == wanted
    kept = [emulator.read_register(register) - 1000 for register in KEPT]
    assert kept == [*range(len(KEPT))]


@pytest.mark.parametrize(
    ("taps", "factors"),
    [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (6, 4), (7, 4), (8, 4)],
)
def test_registers_of_a_line(taps: int, factors: int) -> None:
    assert window_factors(taps) == factors
    assert window_columns(taps) == 9 - factors
