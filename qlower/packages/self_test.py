"""A test that a device runs when it starts: an input by formula, the outputs' digest.

Nothing is stored but the digest and the first word of the input, a sequence of
pseudo-random numbers (word = word * 1664525 + 1013904223, modulo 2^32: Numerical
Recipes, 7.1). Outputs are hashed by FNV-1a in 32 bits, byte by byte from each number's
lowest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from qlower.codegen.program.interface import Interface
from qlower.model.signature import Array, TensorSpec
from qlower.packages.header import C_TYPES, parameters

SEEDS = range(1, 9)
"""The first words to choose from."""

_BASIS, _PRIME = 0x811C9DC5, 0x01000193

_SIGNED = {"int8": 8, "int16": 16}
"""Inputs that are drawn with a sign, by their bits; others are bytes, floats their
256th part."""


def drawn_inputs(specs: Sequence[TensorSpec], seed: int) -> list[Array]:
    """The arrays that the device's test runs on, from the word `seed` on."""
    word = seed
    arrays: list[Array] = []
    for spec in specs:
        bits = _bits(spec)
        values: list[float] = []
        for _ in range(prod(spec.shape)):
            word = (word * 1664525 + 1013904223) % (1 << 32)
            value = word >> (32 - bits)
            values.append(value - (1 << bits >> 1 if spec.dtype in _SIGNED else 0))
        numbers = np.array(values)
        if spec.numpy_dtype.kind == "f":
            numbers = numbers / 256
        arrays.append(numbers.astype(spec.dtype).reshape(spec.shape))
    return arrays


def _bits(spec: TensorSpec) -> int:
    """The number of a word's bits that are an input's number."""
    return 1 if spec.dtype == "bool" else _SIGNED.get(spec.dtype, 8)


def room(outputs: Sequence[Array]) -> float:
    """The distance of stored integers from the ends of their types, summed: a wrong
    weight moves none that is saturated. Real numbers count as 0."""
    total = 0.0
    for array in outputs:
        if array.dtype.kind in "iu":
            ends, numbers = np.iinfo(array.dtype), array.astype(np.float64)
            total += float(np.minimum(numbers - ends.min, ends.max - numbers).sum())
    return total


def digest(outputs: Sequence[Array]) -> int:
    """The hash of the outputs' numbers; NaN counts as zero."""
    value = _BASIS
    for array in outputs:
        numbers = array.astype(array.dtype.newbyteorder("<"))
        if numbers.dtype.kind == "f":
            numbers[np.isnan(numbers)] = 0
        for byte in numbers.tobytes():
            value = ((value ^ byte) * _PRIME) % (1 << 32)
    return value


def self_test_text(interface: Interface, seed: int, expected: int) -> str:
    """`<name>_selftest.h`, for inputs from the word `seed` on, whose outputs have the
    digest `expected`."""
    name, upper = interface.name, interface.name.upper()
    count = len(interface.signature.inputs)
    taken = [text.removeprefix("const ") for text in parameters(interface)]
    reset = f"{name}_reset(state)" if interface.state_bytes else f"{upper}_OK"
    return "\n".join(
        (
            f"/* A test of {name} for a device that starts, which needs no data. */",
            f"#ifndef {upper}_SELFTEST_H",
            f"#define {upper}_SELFTEST_H",
            "",
            f'#include "{name}.h"',
            "",
            f"#define {upper}_SELFTEST_DIGEST UINT32_C({expected:#010x})",
            f"#define {upper}_ERROR_SELFTEST 7 /* the outputs aren't those expected */",
            "",
            "/* Runs the model on pseudo-random inputs and compares a hash of the",
            " * outputs. The buffers are those of a run, and are overwritten. */",
            f"static inline int32_t {name}_selftest(",
            *(f"    {parameter}," for parameter in taken),
            "    void *arena, size_t arena_bytes) {",
            f"  uint32_t word = {seed}u, hash = UINT32_C({_BASIS:#x});",
            "  size_t i;",
            f"  int32_t status = {reset};",
            f"  if (status != {upper}_OK) return status;",
            *(
                line
                for port, spec in interface.ports[:count]
                for line in _drawing(f"{upper}_{port.upper()}", port, spec)
            ),
            f"  status = {name}_run({', '.join(interface.pointers)}, arena,",
            "      arena_bytes);",
            f"  if (status != {upper}_OK) return status;",
            *(
                line
                for port, spec in interface.ports[count:]
                for line in _hashing(f"{upper}_{port.upper()}", port, spec)
            ),
            f"  return hash == {upper}_SELFTEST_DIGEST ? {upper}_OK",
            f"                                         : {upper}_ERROR_SELFTEST;",
            "}",
            "",
            f"#endif /* {upper}_SELFTEST_H */",
            "",
        )
    )


def _drawing(macro: str, port: str, spec: TensorSpec) -> Iterator[str]:
    bits, type = _bits(spec), C_TYPES[spec.dtype]
    value = f"word >> {32 - bits}"
    if spec.dtype in _SIGNED:
        value = f"(int32_t)({value}) - {1 << bits >> 1}"
    yield f"  for (i = 0; i < {macro}_COUNT; i++) {{"
    yield "    word = word * 1664525u + 1013904223u;"
    quotient = " / 256" if spec.numpy_dtype.kind == "f" else ""
    yield f"    {port}[i] = ({type})({value}){quotient};"
    yield "  }"


def _hashing(macro: str, port: str, spec: TensorSpec) -> Iterator[str]:
    bits = 8 * spec.numpy_dtype.itemsize
    word = f"(uint{bits}_t){port}[i]"
    yield f"  for (i = 0; i < {macro}_COUNT; i++) {{"
    if spec.numpy_dtype.kind == "f":
        yield f"    union {{ {C_TYPES[spec.dtype]} number; uint{bits}_t bits; }} both;"
        word = "both.bits"
    yield "    uint64_t rest;"
    yield "    int byte;"
    if spec.numpy_dtype.kind == "f":
        is_number = f"({port}[i] <= 0) || ({port}[i] >= 0)"
        yield f"    both.number = ({is_number}) ? {port}[i] : 0;"
    yield f"    rest = {word};"
    yield f"    for (byte = 0; byte < {bits // 8}; byte++) {{"
    yield f"      hash = (hash ^ (uint32_t)(rest & 255u)) * {_PRIME}u;"
    yield "      rest >>= 8;"
    yield "    }"
    yield "  }"
