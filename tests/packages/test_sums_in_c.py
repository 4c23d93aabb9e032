"""The innermost loops of C sources beside numpy: in plain C, and with the intrinsics of
Arm's processors, for which functions stand in."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.machines.c_programs import WARNINGS

from qlower.packages.c_source.helpers import Helpers

inner: Any = import_module("qlower.packages.c_source.inner")

COMPILER = "gcc"

ACLE = """\
#include <stdint.h>
typedef uint32_t int8x4_t, uint8x4_t, int16x2_t;
static inline int32_t half_of(uint32_t x, int which) {
  return (int16_t)(x >> (16 * which));
}
static inline uint32_t pair(int32_t low, int32_t high) {
  return ((uint32_t)low & 0xffffu) | ((uint32_t)high << 16);
}
static inline uint32_t __sxtb16(uint32_t x) {
  return pair((int8_t)x, (int8_t)(x >> 16));
}
static inline uint32_t __uxtb16(uint32_t x) {
  return x & 0x00ff00ffu;
}
static inline int32_t __smlad(uint32_t a, uint32_t b, int32_t sum) {
  const uint32_t low = (uint32_t)(half_of(a, 0) * half_of(b, 0));
  const uint32_t high = (uint32_t)(half_of(a, 1) * half_of(b, 1));
  return (int32_t)((uint32_t)sum + low + high);
}
"""
TYPES = ("int8_t", "uint8_t")
DTYPES: dict[str, Any] = {"int8_t": np.int8, "uint8_t": np.uint8}

Steps = Sequence[tuple[int | None, Sequence[tuple[int, int]]]]

WINDOWS: dict[str, tuple[str, tuple[int, int, int], Steps, int]] = {
    "two pixels": (
        "int8_t",
        (2, 3, 2),
        [
            *((0, [(0, 0)]), (3, [(0, 1), (1, 0)])),
            *((6, [(1, 1), (0, 2)]), (9, [(1, 2)])),
        ],
        -5,
    ),
    "beside the image": (
        "uint8_t",
        (1, 2, 3),
        [(None, [(0, 0), (2, 1)]), (0, [(0, 1), (1, 0)]), (4, [(2, 0), (1, 1)])],
        200,
    ),
}


def text_of() -> str:
    """A file with all of the loops, and a function that calls each."""
    helpers = Helpers()
    callers: list[str] = []

    def call(label: str, name: str, ports: str) -> None:
        names = ", ".join(port.split()[-1].strip("*") for port in ports.split(", "))
        callers.append(f"void {label}({ports});\nvoid {label}({ports}) {{")
        callers.append(f"  {name}({names});\n}}")

    for type, rows in itertools.product(TYPES, (1, 2)):
        call(
            f"dot_{type}_{rows}",
            inner.dot(helpers, type, rows),
            f"const {type} *x, int32_t x_row, const int8_t *w, int32_t w_row, "
            "int32_t taps, int32_t x_tap, int32_t w_tap, int32_t n, int32_t *sums",
        )
        call(
            f"widen_{type}_{rows}",
            inner.widen(helpers, signed=type == "int8_t", rows=rows),
            f"const {type} *x, {'int32_t row, ' * (rows > 1)}int32_t n, int16_t *y",
        )
    for rows in (1, 2):
        call(
            f"sums_{rows}",
            inner.sums_of_rows(helpers, rows),
            "const int16_t *x, const int8_t *w, const int32_t *start, int32_t words, "
            f"int32_t groups, {'int32_t distance, ' * (rows > 1)}int32_t *sums",
        )
    for number, (type, sizes, steps, border) in enumerate(WINDOWS.values()):
        call(
            f"windows_{number}",
            inner.windows(helpers, type, sizes, steps, border),
            f"const {type} *const *lines, const int8_t *w, const int32_t *start, "
            "int32_t channels, int32_t *sums",
        )
    head = ["#include <stdbool.h>", "#include <stdint.h>"]
    # another machine's assembly has a form in C beside it
    texts = [text.replace("defined(__GNUC__)", "0") for text in helpers.texts.values()]
    return "\n".join([*head, *texts, *callers, ""])


@pytest.fixture(scope="module", params=["plain", "intrinsics"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} isn't installed")
    folder = tmp_path_factory.mktemp("sums")
    (folder / "sums.c").write_text(text_of())
    (folder / "arm_acle.h").write_text(ACLE)
    command = [COMPILER, "-O1", *WARNINGS, "-shared", "-fPIC", "sums.c", "-o", "s.so"]
    if request.param == "intrinsics":
        command += ["-DQLOWER_ACLE", "-D__ARM_FEATURE_DSP=1", "-I.", "-w"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "s.so"))


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def drawn(seed: int, type: Any, *shape: int) -> Any:
    limits = np.iinfo(type)
    random = np.random.default_rng(seed)
    return random.integers(limits.min, limits.max + 1, shape).astype(type)


@pytest.mark.parts(4)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 13])
def test_four_sums_over_runs(
    type: str, rows: int, n: int, library: ctypes.CDLL
) -> None:
    """Of two rows by two, or of one by four, which lie apart."""
    columns = 4 // rows
    x, w = drawn(n, DTYPES[type], 200), drawn(n + 1, np.int8, 200)
    x_row, w_row, taps, x_tap, w_tap = 50, 41, 3, 16, 13
    sums = np.array([5, -7, (1 << 31) - 1, -(1 << 31)], np.int32)
    expected = sums.astype(np.int64)
    for number, (r, c) in enumerate(itertools.product(range(rows), range(columns))):
        for tap in range(taps):
            one, other = tap * x_tap + r * x_row, tap * w_tap + c * w_row
            run = x[one : one + n].astype(np.int64)
            expected[number] += int(run @ w[other : other + n].astype(np.int64))
    sizes = *(x_row,), pointer(w), *(w_row, taps, x_tap, w_tap, n)
    getattr(library, f"dot_{type}_{rows}")(pointer(x), *sizes, pointer(sums))
    np.testing.assert_array_equal(sums, expected.astype(np.int32))


def widened(x: Any, n: int) -> Any:
    """Words of four: of each row the first and the third, then the others."""
    words = -(-n // 4)
    padded = np.zeros((len(x), 4 * words), np.int16)
    padded[:, :n] = x[:, :n]
    return padded.reshape(len(x), words, 2, 2).transpose(1, 3, 0, 2)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 11])
def test_rows_are_widened(type: str, rows: int, n: int, library: ctypes.CDLL) -> None:
    x = drawn(n, DTYPES[type], rows, 14)
    expected = widened(x, n).reshape(-1)
    found = np.full(expected.size + 1, 99, np.int16)
    row = [14] if rows == 2 else []
    getattr(library, f"widen_{type}_{rows}")(pointer(x), *row, n, pointer(found))
    np.testing.assert_array_equal(found, [*expected, 99])


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("words", [0, 1, 2, 3, 5])
def test_sums_of_widened_rows(rows: int, words: int, library: ctypes.CDLL) -> None:
    """Of a half of each word two activations are multiplied, by weights whose pairs of
    channels lie together."""
    columns, groups, distance = 4 // rows, 3, 20
    x = drawn(words, np.int8, rows, 4 * words)
    y = np.ascontiguousarray(widened(x, 4 * words))
    w = drawn(words + 1, np.int8, groups, words, 2, 2 * columns)
    start = drawn(7, np.int32, groups * columns)
    found = np.zeros(2 * distance, np.int32)
    expected = found.astype(np.int64)
    for group, row, column in itertools.product(
        range(groups), range(rows), range(columns)
    ):
        total = int(start[group * columns + column])
        for word, half, tap in itertools.product(range(words), range(2), range(2)):
            byte = column // 2 * 4 + column % 2 + 2 * tap
            given = int(x[row, 4 * word + half + 2 * tap])
            total += given * int(w[group, word, half, byte])
        expected[row * distance + group * columns + column] = total
    more = [distance] if rows == 2 else []
    given = pointer(y), pointer(w), pointer(start), words, groups, *more
    getattr(library, f"sums_{rows}")(*given, pointer(found))
    np.testing.assert_array_equal(found, expected.astype(np.int32))


@pytest.mark.parametrize("number", range(len(WINDOWS)))
def test_windows_of_neighbouring_pixels(number: int, library: ctypes.CDLL) -> None:
    """Channel after channel, of lines that lie anywhere."""
    type, (lines, taps, columns), steps, border = [*WINDOWS.values()][number]
    channels = 5
    x = drawn(1, DTYPES[type], lines, 9 + channels)
    w = drawn(2, np.int8, channels, lines, taps)
    start = drawn(3, np.int32, channels)
    found = np.zeros(channels * columns + 1, np.int32)
    expected = found.astype(np.int64)
    for c, column in itertools.product(range(channels), range(columns)):
        total = int(start[c])
        for line, (offset, uses) in itertools.product(range(lines), steps):
            value = border if offset is None else int(x[line, c + offset])
            total += sum(
                value * int(w[c, line, tap]) for to, tap in uses if to == column
            )
        expected[c * columns + column] = total
    places = (ctypes.c_void_p * lines)(*(row.ctypes.data for row in x))
    given = places, pointer(w), pointer(start), channels, pointer(found)
    getattr(library, f"windows_{number}")(*given)
    np.testing.assert_array_equal(found, expected.astype(np.int32))


def test_a_loop_has_one_text_by_its_name() -> None:
    """Others have other names; what is asked for twice is there once."""
    helpers = Helpers()
    names = [inner.dot(helpers, type, rows) for type in TYPES for rows in (1, 2)]
    names += [
        inner.widen(helpers, signed=signed, rows=rows)
        for signed in (True, False)
        for rows in (1, 2)
    ]
    names += [inner.sums_of_rows(helpers, rows) for rows in (1, 2)]
    assert names == [
        *("dot_1x4_s8", "dot_2x2_s8", "dot_1x4_u8", "dot_2x2_u8"),
        *("widen_1_s8", "widen_2_s8", "widen_1_u8", "widen_2_u8"),
        *("sums_1x4", "sums_2x2"),
    ]
    names += [inner.windows(helpers, *given) for given in WINDOWS.values()]
    assert len({*names}) == len(names) == len(helpers.texts) - 1
    (type, sizes, steps, border) = WINDOWS["two pixels"]
    same = inner.windows(helpers, type, sizes, steps, border + 1)
    assert same == names[-2]  # it has no border
    other = inner.windows(helpers, "uint8_t", sizes, steps, border)
    assert other not in names
    for name in names:
        text = helpers.texts[name]
        assert text.startswith("/* ")
        assert all(len(line) <= 100 for line in text.splitlines())
