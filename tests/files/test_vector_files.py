"""Arrays for those who build hardware: whole files, letter by letter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qlower.files.vector_files import C_TYPES, c_arrays, readmemh, write_array_files

HEX = {
    "int8": ([[1, -1], [127, -128]], "// 2x2 int8\n01\nff\n7f\n80\n"),
    "uint8": ([[0, 255]], "// 1x2 uint8\n00\nff\n"),
    "int16": ([1, -2], "// 2 int16\n0001\nfffe\n"),
    "int32": ([1 << 30, -1], "// 2 int32\n40000000\nffffffff\n"),
    "int64": ([-2], "// 1 int64\nfffffffffffffffe\n"),
    "float32": ([1.0, -0.0], "// 2 float32\n3f800000\n80000000\n"),
    "float64": ([1.0], "// 1 float64\n3ff0000000000000\n"),
    "bool": ([True, False], "// 2 bool\n01\n00\n"),
}


@pytest.mark.parametrize("dtype", HEX)
def test_words_in_hexadecimal(dtype: str) -> None:
    values, text = HEX[dtype]
    array = np.array(values, dtype)
    assert readmemh(array) == text
    assert readmemh(np.asfortranarray(array)) == text


def test_a_scalar_has_no_extents() -> None:
    assert readmemh(np.array(3, np.int16)) == "//  int16\n0003\n"


HEADER = """\
#ifndef MY_NET_VECTORS_H
#define MY_NET_VECTORS_H

#include <stdint.h>

/* 17 */
static const int8_t my_net_line[17] = {
  0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15,
  -16,
};

/* 2x1 */
static const float my_net_real[2] = {
  0.100000001f, -2f,
};

/* one */
static const double my_net_wide[1] = {
  0.10000000000000001,
};

/* 0x2 */
static const int32_t my_net_none[1] = {
};

/* 16 */
static const int64_t my_net_row[16] = {
  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

/* 2 */
static const uint8_t my_net_bits[2] = {
  1, 0,
};

#endif /* MY_NET_VECTORS_H */
"""

ARRAYS = {
    "line": -np.arange(17, dtype=np.int8),
    "real": np.array([[0.1], [-2.0]], np.float32),
    "wide": np.array(0.1),
    "none": np.zeros((0, 2), np.int32),
    "row": np.ones(16, np.int64),
    "bits": np.array([True, False]),
}


def test_a_header_of_c() -> None:
    assert c_arrays(ARRAYS, "my-net") == HEADER


@pytest.mark.parametrize("dtype", C_TYPES)
def test_every_type_has_one_of_c(dtype: str) -> None:
    text = c_arrays({"x": np.ones(1, dtype)}, "m")
    assert f"static const {C_TYPES[dtype]} m_x[1] = {{\n" in text


@pytest.mark.parametrize("format", ["npy", "hex", "c"])
def test_only_the_wanted_files_are_written(format: str, tmp_path: Path) -> None:
    folder = tmp_path / "one" / "two"
    arrays = {"line": ARRAYS["line"], "real": ARRAYS["real"]}
    names = {
        "npy": ["line.npy", "real.npy"],
        "hex": ["line.hex", "real.hex"],
        "c": ["vectors.h"],
    }
    for _ in range(2):  # the folder may be there
        write_array_files(folder, arrays, [format], "my-net")
        assert sorted(path.name for path in folder.iterdir()) == names[format]
    if format == "npy":
        np.testing.assert_array_equal(np.load(folder / "real.npy"), arrays["real"])
    if format == "hex":
        assert (folder / "line.hex").read_text() == readmemh(arrays["line"])
    if format == "c":
        assert (folder / "vectors.h").read_text() == c_arrays(arrays, "my-net")
