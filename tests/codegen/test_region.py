"""Every scalar operation against Python, in full vectors and in what is left over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from support.lanes import a_part
from support.machines.native import (
    compile_text,
    levels,
    machine_levels,
    run_object,
)
from support.values.rounding import rounded

from qlower.codegen.targets.resolve import resolve_target
from qlower.codegen.values.region import BUILDERS
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode

LENGTH = 64 + 32 + 16 + 8 + 4 + 2 + 1
"""Full vectors and every smaller power of two, at any vector width."""

LEVELS = [
    *sorted(machine_levels().keys() - {"avxvnni", "avx512vnni"}),
    *("aarch64 baseline", "riscv64", "riscv32im", "cortex-m4", "wasm32 simd128"),
]
"""The levels with VNNI, and those of AArch64, differ in sums of products only."""


def signed(value: int, bits: int) -> int:
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def unsigned(value: int, bits: int) -> int:
    return value % (1 << bits)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.divsi": lambda a, b, w: truncated(a, b),
    "arith.remsi": lambda a, b, w: a - b * truncated(a, b),
    "arith.divui": lambda a, b, w: unsigned(a, w) // unsigned(b, w),
    "arith.remui": lambda a, b, w: unsigned(a, w) % unsigned(b, w),
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(unsigned(a, w), unsigned(b, w)),
    "arith.maxui": lambda a, b, w: max(unsigned(a, w), unsigned(b, w)),
}
SHIFTS: dict[str, Callable[[int, int, int], int]] = {
    "arith.shli": lambda a, n, w: a << n,
    "arith.shrsi": lambda a, n, w: a >> n,
    "arith.shrui": lambda a, n, w: unsigned(a, w) >> n,
    **{
        f"fixed.shift_right {mode}": (
            lambda a, n, w, mode=mode: rounded(Fraction(a, 1 << n), mode)
        )
        for mode in RoundingMode
    },
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, w: abs(a),
    "math.ctlz": lambda a, w: w - unsigned(a, w).bit_length(),
}
PREDICATES: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, w: a == b,
    "ne": lambda a, b, w: a != b,
    "slt": lambda a, b, w: a < b,
    "sle": lambda a, b, w: a <= b,
    "sgt": lambda a, b, w: a > b,
    "sge": lambda a, b, w: a >= b,
    "ult": lambda a, b, w: unsigned(a, w) < unsigned(b, w),
    "ule": lambda a, b, w: unsigned(a, w) <= unsigned(b, w),
    "ugt": lambda a, b, w: unsigned(a, w) > unsigned(b, w),
    "uge": lambda a, b, w: unsigned(a, w) >= unsigned(b, w),
}


def module(inputs: list[str], bodies: list[tuple[str, str]]) -> str:
    """One nest a body; a body computes %r, of the given type, from %a, %b ..."""
    identity = "affine_map<(d0) -> (d0)>"
    names = "abcd"[: len(inputs)]
    arguments = ", ".join(
        f"%x{n}: tensor<{LENGTH}x{t}>" for n, t in zip(names, inputs, strict=True)
    )
    tensors = ", ".join(f"tensor<{LENGTH}x{type}>" for type in inputs)
    block = ", ".join(f"%{n}: {t}" for n, t in zip(names, inputs, strict=True))
    results = [f"tensor<{LENGTH}x{type}>" for type, _ in bodies]
    lines = [f"func.func @main({arguments}) -> ({', '.join(results)}) {{"]
    for index, ((type, body), result) in enumerate(zip(bodies, results, strict=True)):
        lines += [
            f"%y{index} = kernel.nest map parallel [{LENGTH}]",
            f"maps [{', '.join([identity] * (len(inputs) + 1))}]",
            f"ins({', '.join(f'%x{n}' for n in names)} : {tensors})",
            f"epilogue {{ ^bb0({block}):",
            body,
            f"kernel.yield %r : {type} }} -> {result} in [#kernel.output<{index}>]",
        ]
    outputs = ", ".join(f"%y{i}" for i in range(len(bodies)))
    return "\n".join([*lines, f"return {outputs} : {', '.join(results)}", "}"])


def integers(bits: int, seed: int) -> Iterator[int]:
    """Extreme values and random ones of all magnitudes."""
    rng = np.random.default_rng(seed)
    half = 1 << (bits - 1)
    extremes = [0, 1, -1, half - 1, -half, half - 2, 1 - half, half >> 1, -(half >> 1)]
    yield from (extremes[i] for i in rng.permutation(len(extremes)))
    for _ in range(LENGTH - len(extremes)):
        magnitude = int(rng.integers(1, bits + 1))
        yield signed(int(rng.integers(0, 1 << 62)) * 3 >> (64 - magnitude), bits)


def check(level: str, text: str, inputs: list[np.ndarray], want: list[np.ndarray]):
    outputs = run_object(compile_text(text, levels()[level]), inputs)
    for position, (got, right) in enumerate(zip(outputs, want, strict=True)):
        np.testing.assert_array_equal(got, right, err_msg=f"result {position}")


@pytest.mark.parts(9)
@pytest.mark.parametrize("level", LEVELS)
def test_integer_operations(level: str):
    """Of all widths; of two of them at each of this machine's levels in turn."""
    parts = 2 if level in machine_levels() else 1
    for bits in a_part((8, 16, 32, 64), parts, LEVELS.index(level)):
        check_integers(level, bits)


def check_integers(level: str, bits: int) -> None:
    dtype = np.dtype(f"i{bits // 8}")
    a = list(integers(bits, 1))
    b = [value or 7 for value in integers(bits, 2)]
    half = 1 << (bits - 1)
    b = [3 if x == -half and y == -1 else y for x, y in zip(a, b, strict=True)]
    n = [i % bits for i in range(LENGTH)]
    type = f"i{bits}"
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []

    def add(body: str, values: list[int]) -> None:
        bodies.append((type, body))
        want.append(np.array([signed(v, bits) for v in values], dtype))

    for name, meaning in INTEGER.items():
        values = [meaning(x, y, bits) for x, y in zip(a, b, strict=True)]
        add(f"%r = {name} %a, %b : {type}", values)
    for name, meaning in SHIFTS.items():
        op, _, mode = name.partition(" ")
        suffix = f" {{rounding = {mode}}}" if mode else ""
        values = [meaning(x, y, bits) for x, y in zip(a, n, strict=True)]
        add(f"%r = {op} %a, %c{suffix} : {type}", values)
        amounts = (0, 1, bits - 2, bits - 1)
        for amount in a_part(amounts, 4, LEVELS.index(level)):
            values = [meaning(x, amount, bits) for x in a]
            constant = f"%n = arith.constant {amount} : {type}\n"
            add(f"{constant}%r = {op} %a, %n{suffix} : {type}", values)
    for name, meaning in UNARY.items():
        add(f"%r = {name} %a : {type}", [meaning(x, bits) for x in a])
    for name, meaning in PREDICATES.items():
        values = [x if meaning(x, y, bits) else y for x, y in zip(a, b, strict=True)]
        add(
            f"%p = arith.cmpi {name}, %a, %b : {type}\n"
            f"%r = arith.select %p, %a, %b : {type}",
            values,
        )
    inputs = [np.array(values, dtype) for values in (a, b, n)]
    check(level, module([type] * 3, bodies), inputs, want)


@pytest.mark.parts(8)
@pytest.mark.parametrize("level", LEVELS)
def test_widths(level: str):
    a = list(integers(64, 3))
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []
    for bits in (8, 16, 32):
        narrow, dtype = f"i{bits}", np.dtype(f"i{bits // 8}")
        cut = [signed(x, bits) for x in a]
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        clamped = [min(max(x, low), high) for x in a]
        positive = [signed(min(max(x, 0), 2 * high + 1), bits) for x in a]
        trunc = f"%t = arith.trunci %a : i64 to {narrow}\n"
        for body, type, values in (
            (f"%r = arith.trunci %a : i64 to {narrow}", dtype, cut),
            (f"{trunc}%r = arith.extsi %t : {narrow} to i64", np.int64, cut),
            (
                f"{trunc}%r = arith.extui %t : {narrow} to i64",
                np.int64,
                [unsigned(x, bits) for x in cut],
            ),
            (f"%r = fixed.saturate %a : i64 to {narrow}", dtype, clamped),
            (f"%r = fixed.saturate %a {{unsigned}} : i64 to {narrow}", dtype, positive),
        ):
            bodies.append(("i64" if type is np.int64 else narrow, body))
            want.append(np.array(values, type))
    bodies.append(
        (
            "i64",
            "%i = kernel.index 0 : index\n%j = arith.index_cast %i : index to i64\n"
            "%r = arith.addi %a, %j : i64",
        )
    )
    want.append(np.array([signed(x + i, 64) for i, x in enumerate(a)], np.int64))
    check(level, module(["i64"], bodies), [np.array(a, np.int64)], want)


@pytest.mark.parts(6)
@pytest.mark.parametrize("level", LEVELS)
def test_products_that_round_without_overflow(level: str):
    """Extremes of the product of two i32, where the cheap rounding is taken."""
    a, b = list(integers(32, 4)), list(integers(32, 5))
    a[:2], b[:2] = [-(1 << 31)] * 2, [-(1 << 31), (1 << 31) - 1]
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []
    for amount in (1, 31, 62, 63):
        bodies.append(
            (
                "i64",
                "%x = arith.extsi %a : i32 to i64\n%y = arith.extsi %b : i32 to i64\n"
                f"%p = arith.muli %x, %y : i64\n%n = arith.constant {amount} : i64\n"
                "%r = fixed.shift_right %p, %n {rounding = half_up} : i64",
            )
        )
        values = [
            rounded(Fraction(x * y, 1 << amount), RoundingMode.HALF_UP)
            for x, y in zip(a, b, strict=True)
        ]
        want.append(np.array(values, np.int64))
    inputs = [np.array(values, np.int32) for values in (a, b)]
    check(level, module(["i32", "i32"], bodies), inputs, want)


def floats(bits: int, seed: int) -> np.ndarray:
    """Signed zeros, ties, subnormals, infinities, and random numbers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(f"f{bits // 8}")
    mantissa = 24 if bits == 32 else 53
    special = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997]
    special += [2.0**mantissa, -(2.0**mantissa), 2.0 ** (mantissa - 1) - 0.5, np.inf]
    special += [1 - 2.0**-mantissa, 0.5 - 2.0 ** (-mantissa - 1), 1e-40, -1e-40]
    special += [-(2.0 ** (mantissa - 1)) + 0.5, 127.5, -128.5, 2.0**31, -(2.0**31)]
    rest = rng.normal(size=LENGTH - len(special)) * 10.0 ** rng.integers(
        -3, 12, LENGTH - len(special)
    )
    return np.array([*special, *rest], dtype)


FLOAT_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": lambda x: np.where(
        np.abs(x - np.trunc(x)) >= 0.5, np.trunc(x) + np.copysign(1, x), np.trunc(x)
    ).astype(x.dtype),
    "math.absf": np.abs,
    "arith.negf": np.negative,
}
FLOAT_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.minimumf": np.minimum,
    "arith.maximumf": np.maximum,
    "math.copysign": np.copysign,
}


@pytest.mark.parts(18)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bits", [32, 64])
def test_float_operations(level: str, bits: int):
    a, b = floats(bits, 6), floats(bits, 7)[::-1].copy()
    type, integer = f"f{bits}", f"i{bits}"
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []

    def add(text: str, values: np.ndarray) -> None:
        """Compare bits, so that the sign of a zero counts; any NaN is one NaN."""
        nan = f"""
            %n = arith.cmpf une, %f, %f : {type}
            %z = arith.constant 77 : {integer}
            %s = arith.bitcast %f : {type} to {integer}
            %r = arith.select %n, %z, %s : {integer}"""
        bodies.append((integer, f"{text}\n{nan}"))
        bits_of = values.astype(a.dtype).view(f"i{bits // 8}")
        want.append(np.where(np.isnan(values), 77, bits_of).astype(bits_of.dtype))

    with np.errstate(all="ignore"):
        for name, unary in FLOAT_UNARY.items():
            add(f"%f = {name} %a : {type}", unary(a))
        if levels()[level].has_roots:
            add(f"%f = math.sqrt %a : {type}", np.sqrt(a))
        for name, binary in FLOAT_BINARY.items():
            add(f"%f = {name} %a, %b : {type}", binary(a, b))
        if bits == 64:
            add(
                "%h = arith.truncf %a : f64 to f32\n%f = arith.extf %h : f32 to f64",
                a.astype(np.float32).astype(np.float64),
            )
    for predicate, meaning in (
        ("olt", np.less),
        ("oge", np.greater_equal),
        ("une", np.not_equal),
        ("oeq", np.equal),
    ):
        add(
            f"%p = arith.cmpf {predicate}, %a, %b : {type}\n"
            f"%f = arith.select %p, %a, %b : {type}",
            np.where(meaning(a, b), a, b),
        )
    check(level, module([type, type], bodies), [a, b], want)


@pytest.mark.parts(54)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("to", [8, 32, 64])
def test_float_to_integer(level: str, bits: int, to: int):
    a = floats(bits, 8)
    a[5], a[6] = -np.inf, np.nextafter(np.array(-0.5, a.dtype), 0)
    a[7], a[-1] = np.nan, -np.nan
    dtype = np.dtype(f"i{to // 8}")
    limit = 1 << (to - 1)
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []
    for mode in RoundingMode:
        bodies.append(
            (
                f"i{to}",
                f"%r = fixed.convert %a {{rounding = {mode}}} : f{bits} to i{to}",
            )
        )
        values = [
            0
            if math.isnan(x)
            else (limit - 1 if x > 0 else -limit)
            if math.isinf(x)
            else min(max(rounded(Fraction(float(x)), mode), -limit), limit - 1)
            for x in a
        ]
        want.append(np.array(values, dtype))
    check(level, module([f"f{bits}"], bodies), [a], want)


@pytest.mark.parts(8)
@pytest.mark.parametrize("level", LEVELS)
def test_float_that_is_clamped_to_integer(level: str):
    """What is known of a number doesn't hold for NaN; three clamps in turn, and clamps
    between numbers where one isn't known."""
    a, b = floats(32, 8), floats(32, 9)
    a[5], a[6], a[7], b[0] = -np.inf, np.inf, np.nan, np.nan
    low, high, far = np.float32(-103.5), np.float32(99.5), np.float32(3e9)

    def steps(*lines: str) -> str:
        ends = zip(("low", "high", "far"), (low, high, far), strict=True)
        constants = [f"%{n} = arith.constant {end:e} : f32" for n, end in ends]
        return "\n".join((*constants, *lines))

    clamped = [
        "%0 = arith.maximumf %a, %low : f32",
        "%1 = arith.minimumf %high, %0 : f32",
    ]
    inner = np.minimum(np.maximum(a, low), high)
    outer = np.minimum(inner, -far)
    size = np.minimum(np.abs(a), high)
    with np.errstate(all="ignore"):
        chosen = np.where(a > b, a, b)
        chosen = np.where(chosen < high, chosen, high)
    cases = [
        ((*clamped, "%f = arith.addf %1, %high : f32"), inner + high),
        (
            (
                *clamped,
                "%2 = arith.negf %far : f32",
                "%f = arith.minimumf %1, %2 : f32",
            ),
            outer,
        ),
        (("%0 = math.absf %a : f32", "%f = arith.minimumf %0, %high : f32"), size),
        (
            (
                "%0 = arith.cmpf ogt, %a, %b : f32",
                "%1 = arith.select %0, %a, %b : f32",
                "%2 = arith.cmpf olt, %1, %high : f32",
                "%f = arith.select %2, %1, %high : f32",
            ),
            chosen,
        ),
    ]
    bodies: list[tuple[str, str]] = []
    want: list[np.ndarray] = []
    for mode in (RoundingMode.TOWARD_ZERO, RoundingMode.HALF_EVEN, RoundingMode.FLOOR):
        for lines, values in cases:
            last = f"%r = fixed.convert %f {{rounding = {mode}}} : f32 to i32"
            bodies.append(("i32", steps(*lines, last)))
            limit = 1 << 31
            found = [
                0
                if math.isnan(x)
                else min(max(rounded(Fraction(float(x)), mode), -limit), limit - 1)
                if math.isfinite(x)
                else (limit - 1 if x > 0 else -limit)
                for x in values
            ]
            want.append(np.array(found, np.int32))
    check(level, module(["f32", "f32"], bodies), [a, b], want)


@pytest.mark.parts(6)
@pytest.mark.parametrize("level", LEVELS)
def test_integer_to_float(level: str):
    a = np.array(list(integers(64, 9)), np.int64)
    bodies = [
        ("f32", "%r = arith.sitofp %a : i64 to f32"),
        ("f64", "%r = arith.sitofp %a : i64 to f64"),
        ("f32", "%r = arith.uitofp %a : i64 to f32"),
        ("f64", "%r = arith.uitofp %a : i64 to f64"),
        ("f32", "%t = arith.trunci %a : i64 to i32\n%r = arith.sitofp %t : i32 to f32"),
    ]
    want = [
        a.astype(np.float32),
        a.astype(np.float64),
        a.view(np.uint64).astype(np.float32),
        a.view(np.uint64).astype(np.float64),
        a.astype(np.int32).astype(np.float32),
    ]
    check(level, module(["i64"], bodies), [a], want)


def rounded_to_single(exact: Fraction) -> np.float32:
    """The nearest binary32 number, ties to even."""
    near = np.float32(float(exact))
    steps = [np.nextafter(near, np.float32(s * np.inf)) for s in (-1, 1)]
    return min(
        (near, *steps),
        key=lambda c: (abs(Fraction(float(c)) - exact), c.view(np.int32) & 1),
    )


@pytest.mark.parts(6)
@pytest.mark.parametrize("level", LEVELS)
def test_fused_multiply_add(level: str):
    """One rounding; half of the sums lie next to a tie between two results."""
    rng = np.random.default_rng(10)
    a, b = (rng.normal(size=LENGTH).astype(np.float32) for _ in range(2))
    c = rng.normal(size=LENGTH).astype(np.float32)
    a[::2] = (1 + rng.integers(1, 1 << 12, LENGTH)[::2] * 2.0**-12).astype(np.float32)
    b[::2] = np.float32(2.0**-24)
    c[::2] = (1 + rng.integers(0, 1 << 23, LENGTH)[::2] * 2.0**-23).astype(np.float32)
    want = np.array(
        [
            rounded_to_single(
                Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            )
            for x, y, z in zip(a, b, c, strict=True)
        ],
        np.float32,
    )
    text = module(["f32"] * 3, [("f32", "%r = math.fma %a, %b, %c : f32")])
    check(level, text, [a, b, c], [want])


@pytest.mark.parametrize("level", LEVELS)
def test_lookup(level: str):
    rng = np.random.default_rng(11)
    table = rng.integers(-128, 128, (4, 64)).astype(np.int8)
    x = rng.integers(-128, 128, LENGTH).astype(np.int8)
    text = f"""
    func.func @main(%x: tensor<{LENGTH}xi8>, %t: tensor<4x64xi8>)
        -> tensor<{LENGTH}xi8> {{
      %y = kernel.nest map parallel [{LENGTH}]
          maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
          ins(%x : tensor<{LENGTH}xi8>) tables(%t : tensor<4x64xi8>)
          epilogue {{
          ^bb0(%a: i8):
            %u = arith.extui %a : i8 to i32
            %c6 = arith.constant 6 : i32
            %c63 = arith.constant 63 : i32
            %h = arith.shrui %u, %c6 : i32
            %l = arith.andi %u, %c63 : i32
            %i = arith.index_cast %h : i32 to index
            %j = arith.index_cast %l : i32 to index
            %r = tensor.extract %t[%i, %j] : tensor<4x64xi8>
            kernel.yield %r : i8
          }} -> tensor<{LENGTH}xi8> in [#kernel.output<0>]
      return %y : tensor<{LENGTH}xi8>
    }}"""
    check(level, text, [x, table], [table.reshape(256)[x.view(np.uint8)]])


@pytest.mark.parts(2)
@pytest.mark.parametrize("level", LEVELS)
def test_lookup_of_bytes(level: str):
    """Where a table has 256 bytes some levels look up a register at once."""
    rng = np.random.default_rng(12)
    table = rng.integers(-128, 128, 256).astype(np.int8)
    for length in (1, 7, LENGTH):
        x = rng.integers(-128, 128, length).astype(np.int8)
        text = f"""
    func.func @main(%x: tensor<{length}xi8>, %t: tensor<256xi8>)
        -> tensor<{length}xi8> {{
      %y = kernel.nest map parallel [{length}]
          maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
          ins(%x : tensor<{length}xi8>) tables(%t : tensor<256xi8>)
          epilogue {{
          ^bb0(%a: i8):
            %u = arith.extui %a : i8 to i32
            %i = arith.index_cast %u : i32 to index
            %r = tensor.extract %t[%i] : tensor<256xi8>
            kernel.yield %r : i8
          }} -> tensor<{length}xi8> in [#kernel.output<0>]
      return %y : tensor<{length}xi8>
    }}"""
        check(level, text, [x, table], [table[x.view(np.uint8)]])


@pytest.mark.parametrize("level", LEVELS)
def test_saturating_pairs(level: str):
    """fixed.pair_dot of extremes and of random bytes."""
    random = np.random.default_rng(5)
    bytes_ = random.integers(-128, 128, (4, LENGTH)).astype(np.int8)
    bytes_[:, ::3] = random.choice([-1, -128, 127], bytes_[:, ::3].shape)
    a0, b0, a1, b1 = bytes_
    exact = sum(a.view(np.uint8) * b.astype(np.int64) for a, b in ((a0, b0), (a1, b1)))
    want = np.clip(exact, -32768, 32767).astype(np.int16)
    assert {-32768, 32767} < set(want.tolist())
    body = "%r = fixed.pair_dot %a, %b, %c, %d : i8 -> i16"
    check(level, module(["i8"] * 4, [("i16", body)]), [a0, b0, a1, b1], [want])


def test_every_builder_is_tested():
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    assert not {name for name in BUILDERS if name not in text}


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m7"])
@pytest.mark.parametrize("features", ["", "+soft-float"])
def test_roots_call_no_library(cpu: str, features: str):
    """Firmware has no libm, whose `sqrtf` and `sqrt` LLVM would call."""
    target = resolve_target("thumbv7em-none-eabi", cpu, features)
    for kind in ("f32", "f64"):
        text = module([kind], [(kind, f"%r = math.sqrt %a : {kind}")])
        with pytest.raises(QlowerError, match="sqrt needs an instruction"):
            compile_text(text, target)


def test_operations_without_code_are_named():
    text = module(["f32"], [("f32", "%r = math.atan %a : f32")])
    with pytest.raises(QlowerError, match=r"no native code for operation math\.atan"):
        compile_text(text, resolve_target("x86_64-linux-gnu", "x86-64-v3"))
