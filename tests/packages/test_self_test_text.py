"""The lines of a device's self-test, by the types of its inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from qlower.codegen.program.interface import Interface
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.packages.self_test import self_test_text

inner: Any = vars(import_module("qlower.packages.self_test"))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("int8", "(int8_t)((int32_t)(word >> 24) - 128)"),
        ("int16", "(int16_t)((int32_t)(word >> 16) - 32768)"),
        ("uint8", "(uint8_t)(word >> 24)"),
        ("int32", "(int32_t)(word >> 24)"),
        ("bool", "(uint8_t)(word >> 31)"),
        ("float32", "(float)(word >> 24) / 256"),
    ],
)
def test_numbers_that_are_drawn(dtype: str, number: str) -> None:
    found = [*inner["_drawing"]("TOY_INPUT", "input", TensorSpec("x", (2,), dtype))]
    assert found == [
        "  for (i = 0; i < TOY_INPUT_COUNT; i++) {",
        "    word = word * 1664525u + 1013904223u;",
        f"    input[i] = {number};",
        "  }",
    ]


@pytest.mark.parametrize(
    ("dtype", "rest", "bytes_"),
    [
        *(("int8", "(uint8_t)output[i]", 1), ("bool", "(uint8_t)output[i]", 1)),
        *(("int16", "(uint16_t)output[i]", 2), ("uint32", "(uint32_t)output[i]", 4)),
        *(("float32", "both.bits", 4), ("float64", "both.bits", 8)),
    ],
)
def test_numbers_that_are_hashed(dtype: str, rest: str, bytes_: int) -> None:
    """Byte by byte; what is no number is 0."""
    found = [*inner["_hashing"]("TOY_OUTPUT", "output", TensorSpec("y", (2,), dtype))]
    real = {"float32": "float", "float64": "double"}.get(dtype)
    union = f"    union {{ {real} number; uint{8 * bytes_}_t bits; }} both;"
    number = "(output[i] <= 0) || (output[i] >= 0)"
    assert found == [
        "  for (i = 0; i < TOY_OUTPUT_COUNT; i++) {",
        *([union] if real else []),
        "    uint64_t rest;",
        "    int byte;",
        *([f"    both.number = ({number}) ? output[i] : 0;"] if real else []),
        f"    rest = {rest};",
        f"    for (byte = 0; byte < {bytes_}; byte++) {{",
        "      hash = (hash ^ (uint32_t)(rest & 255u)) * 16777619u;",
        "      rest >>= 8;",
        "    }",
        "  }",
    ]


SIGNATURE = Signature(
    (TensorSpec("x", (2,), "int8"), TensorSpec("z", (1,), "float32")),
    (TensorSpec("y", (3,), "int16"),),
)
INTERFACE = Interface(
    *("toy", SIGNATURE, 64, 64, "tflm", "0" * 64, "c99-none"), ("c99",)
)
STATE = StateSpec("count", (1,), "int8", initial=b"\1")


@pytest.mark.parametrize("has_state", [False, True])
def test_a_test(has_state: bool) -> None:
    """Inputs are drawn before the run, and outputs hashed after it; a state is new."""
    states = (STATE,) if has_state else ()
    interface = replace(INTERFACE, signature=replace(SIGNATURE, states=states))
    text = self_test_text(interface, 3, 0xAB)
    lines = text.splitlines()
    assert "#define TOY_SELFTEST_DIGEST UINT32_C(0x000000ab)" in lines
    assert "  uint32_t word = 3u, hash = UINT32_C(0x811c9dc5);" in lines
    begin = "toy_reset(state)" if has_state else "TOY_OK"
    assert f"  int32_t status = {begin};" in lines
    start = lines.index("static inline int32_t toy_selftest(")
    assert lines[start + 1 : start + 4] == [
        *("    int8_t *input_0,", "    float *input_1,", "    int16_t *output,"),
    ]
    assert ("    void *state," in lines) is has_state
    places = [
        text.index(part)
        for part in ("input_0[i] = ", "input_1[i] = ", "toy_run(", "output[i];")
    ]
    assert places == sorted(places)
    assert text.count("word = word * 1664525u") == 2
    assert text.count("rest >>= 8;") == 1
