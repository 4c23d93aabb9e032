"""The routines of sums of rows by themselves, called as their description says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.codegen.llvm.routine import RowsRoutine
from qlower.codegen.targets.thumb_routines import PAIRS_OF_ROWS, SINGLE_ROWS
from qlower.emulation.emulator import BUFFERS, Emulator
from qlower.model.signature import Array

pytest.importorskip("unicorn", reason="unicorn is not installed")
llvm: Any = import_module("llvmlite.binding")

ROUTINES = {"pairs": PAIRS_OF_ROWS, "single": SINGLE_ROWS}
CODE = BUFFERS - (1 << 16)
KEPT = [f"R{number}" for number in range(4, 12)]


def emulator_with(routine: RowsRoutine) -> Emulator:
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
