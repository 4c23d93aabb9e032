"""Each operation of the C source, compiled and run on the edges of its types, beside
the interpreter."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from support.machines.c_programs import WARNINGS
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.func import FuncOp

from qlower.dialects.fixed import RoundingMode
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.packages.c_source.c_types import c_type
from qlower.packages.c_source.helpers import Helpers
from qlower.packages.c_source.scalars import EXPRESSIONS, Scalars
from qlower.text.parsing import parse_module

COMPILER = "gcc"
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
WIDE = INTEGERS[1:]
FLOATS = ("f32", "f64")
MODES = [mode.value for mode in RoundingMode]


@dataclass(frozen=True)
class Case:
    """A step `%r` of `%a`, `%b` ... of these types; `only` says which numbers the last
    of them may be, if not all."""

    step: str
    types: tuple[str, ...]
    result: str
    only: str = ""


def dtype(type: str) -> np.dtype:
    return np.dtype("bool" if type == "i1" else f"{type[0]}{int(type[1:]) // 8}")


def edges(type: str) -> Array:
    """Zeros, ones, ties, neighbours, ends, and what isn't finite."""
    if type == "i1":
        return np.array([False, True])
    if type[0] == "i":
        bits = int(type[1:])
        least, most = -(1 << bits - 1), (1 << bits - 1) - 1
        near = [-9, -8, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 100, 127]
        return np.array([least, least + 1, *near, most - 1, most], dtype(type))
    kind = np.finfo(dtype(type)).dtype.type
    limits = np.finfo(dtype(type))
    sizes = [
        *(0.0, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 126.5, 127.5, 128.5, 2.0**23 - 0.5),
        *(2.0**24, 2.0**31, 2.0**62, 2.0**63, np.inf, np.nan, limits.max),
        *(limits.tiny, limits.smallest_subnormal),
    ]
    sizes += [np.nextafter(kind(0.5), kind(end)) for end in (0, 1)]
    return np.array([*sizes, *np.negative(np.array(sizes))], dtype(type))


def integer_steps() -> Iterator[Case]:
    for type in INTEGERS:
        pair = (type, type)
        for op in (
            *("addi", "subi", "muli", "andi", "ori", "xori"),
            *("minsi", "maxsi", "minui", "maxui"),
        ):
            yield Case(f"%r = arith.{op} %a, %b : {type}", pair, type)
        for word in CMPI_COMPARISON_OPERATIONS:
            yield Case(f"%r = arith.cmpi {word}, %a, %b : {type}", pair, "i1")
        yield Case(f"%r = math.absi %a : {type}", (type,), type)
        yield Case(f"%r = arith.select %a, %b, %c : {type}", ("i1", *pair), type)
        for op in ("shli", "shrsi", "shrui"):
            yield Case(f"%r = arith.{op} %a, %b : {type}", pair, type, "amounts")
        for mode in MODES:
            step = f"%r = fixed.shift_right %a, %b {{rounding = {mode}}} : {type}"
            yield Case(step, pair, type, "amounts")
    for type in WIDE:
        for op in ("divsi", "divui", "remsi", "remui"):
            step = f"%r = arith.{op} %a, %b : {type}"
            yield Case(step, (type, type), type, "divisors")
        yield Case(f"%r = math.ctlz %a : {type}", (type,), type)
        for mode in MODES:
            step = (
                f"%n = arith.constant 3 : {type}\n"
                f"%r = fixed.shift_right %a, %n {{rounding = {mode}}} : {type}"
            )
            yield Case(step, (type,), type)
    for narrow, wide in itertools.combinations(INTEGERS, 2):
        for op in ("extsi", "extui"):
            yield Case(f"%r = arith.{op} %a : {narrow} to {wide}", (narrow,), wide)
        yield Case(f"%r = arith.trunci %a : {wide} to {narrow}", (wide,), narrow)
        for sign in ("", " {unsigned}"):
            step = f"%r = fixed.saturate %a{sign} : {wide} to {narrow}"
            yield Case(step, (wide,), narrow)
    for op, bound in (("minsi", 127), ("minsi", 100), ("maxsi", -128), ("maxsi", -9)):
        step = (
            f"%n = arith.constant {bound} : i32\n%m = arith.{op} %a, %n : i32\n"
            "%r = fixed.saturate %m : i32 to i8"
        )
        yield Case(step, ("i32",), "i8")
    step = "%i = arith.index_cast %a : i64 to index\n"
    for type in ("i32", "i64"):
        back = f"%r = arith.index_cast %i : index to {type}"
        yield Case(step + back, ("i64",), type)
    yield Case("%r = fixed.pair_dot %a, %b, %a, %c : i8 -> i16", ("i8",) * 3, "i16")


def float_steps() -> Iterator[Case]:
    for type in FLOATS:
        pair = (type, type)
        for op in ("addf", "subf", "mulf", "divf", "minimumf", "maximumf"):
            yield Case(f"%r = arith.{op} %a, %b : {type}", pair, type)
        for word in CMPF_COMPARISON_OPERATIONS:
            yield Case(f"%r = arith.cmpf {word}, %a, %b : {type}", pair, "i1")
        yield Case(f"%r = arith.negf %a : {type}", (type,), type)
        for op in ("floor", "ceil", "trunc", "round", "roundeven", "absf"):
            yield Case(f"%r = math.{op} %a : {type}", (type,), type)
        yield Case(f"%r = math.sqrt %a : {type}", (type,), type)
        yield Case(f"%r = math.copysign %a, %b : {type}", pair, type)
        for integer in INTEGERS:
            for op in ("sitofp", "uitofp"):
                step = f"%r = arith.{op} %a : {integer} to {type}"
                yield Case(step, (integer,), type)
        for mode, integer in itertools.product(MODES, WIDE):
            step = f"%r = fixed.convert %a {{rounding = {mode}}} : {type} to {integer}"
            yield Case(step, (type,), integer)
        for number in ("-0.0", "1.5", "-2.5"):
            step = f"%n = arith.constant {number} : {type}\n"
            step += f"%r = math.copysign %a, %n : {type}"
            yield Case(step, (type,), type)
    for bits, type in ((32, "f32"), (64, "f64")):
        ends = (1 << bits - 1) - 1 ^ (1 << {32: 23, 64: 52}[bits]) - 1
        for number in (ends, ends | 1 << bits - 1):
            step = f"%n = arith.constant {number:#x} : {type}\n"
            step += f"%r = arith.minimumf %a, %n : {type}"
            yield Case(step, (type,), type)
    yield Case("%r = math.fma %a, %b, %c : f32", ("f32",) * 3, "f32")
    yield Case("%r = arith.extf %a : f32 to f64", ("f32",), "f64")
    yield Case("%r = arith.truncf %a : f64 to f32", ("f64",), "f32")
    for one, other in (("i32", "f32"), ("i64", "f64"), ("f32", "i32"), ("f64", "i64")):
        yield Case(f"%r = arith.bitcast %a : {one} to {other}", (one,), other)
    yield Case("%r = arith.bitcast %a : i32 to i32", ("i32",), "i32")


CASES = [*integer_steps(), *float_steps()]


def function_of(case: Case) -> FuncOp:
    arguments = ", ".join(f"%{n}: {t}" for n, t in zip("abc", case.types, strict=False))
    module = parse_module(
        f"func.func @f({arguments}) -> {case.result} {{\n{case.step}\n"
        f"func.return %r : {case.result} }}",
        "step.mlir",
    )
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    function.detach()
    return function


def inputs(case: Case) -> list[Array]:
    """Every combination of edges for which the step is defined."""
    given = [edges(type) for type in case.types]
    if case.only == "amounts":
        bits = int(case.types[-1][1:])
        given[-1] = np.unique([0, bits // 3, bits - 1]).astype(given[-1].dtype)
    grid = [array.reshape(-1) for array in np.meshgrid(*given)]
    if case.only == "divisors":
        a, b = grid
        lasting = (b != 0) & ~((b == -1) & (a == a.min()))
        grid = [a[lasting], b[lasting]]
    return grid


def text_of(cases: Sequence[Case]) -> str:
    """A C file with a loop over numbers for each case."""
    helpers = Helpers()
    loops: list[str] = []
    for number, case in enumerate(cases):
        function = function_of(case)
        names = [f"{name}[i]" for name in "abc"[: len(case.types)]]
        sizes = [
            float("inf") if t[0] == "f" else 2.0 ** (int(t[1:]) - 1) for t in case.types
        ]
        scalars = Scalars(helpers, {}, str)
        lines, (result,) = scalars.region(function.body, names, sizes)
        ports = ", ".join(
            f"const {c_type(type)} *{name}"
            for name, type in zip("abc", function.function_type.inputs, strict=False)
        )
        (type,) = function.function_type.outputs
        loops += [
            f"void case_{number}(int32_t count, {c_type(type)} *r, {ports});",
            f"void case_{number}(int32_t count, {c_type(type)} *r, {ports}) {{",
            "  for (int32_t i = 0; i < count; i++) {",
            *(f"    {line}" for line in lines),
            f"    r[i] = {result};",
            "  }",
            "}",
        ]
    head = [f"#include <{name}.h>" for name in ("stdbool", "stdint")]
    return "\n".join([*head, *helpers.texts.values(), *loops])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} isn't installed")
    folder = tmp_path_factory.mktemp("operations")
    (folder / "steps.c").write_text(text_of(CASES))
    command = [COMPILER, "-O1", *WARNINGS, "-Wno-unused-parameter"]
    command += ["-shared", "-fPIC", "steps.c", "-o", "steps.so"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "steps.so"))


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("types", sorted({case.types for case in CASES}), ids="-".join)
def test_results(types: tuple[str, ...], library: ctypes.CDLL) -> None:
    for number, case in enumerate(CASES):
        if case.types != types:
            continue
        given = [np.ascontiguousarray(array) for array in inputs(case)]
        with np.errstate(all="ignore"):
            (wanted,) = evaluate_function(function_of(case), given)
        found = np.zeros(given[0].shape, dtype(case.result))
        arguments = [ctypes.c_int32(found.size), *map(pointer, [found, *given])]
        getattr(library, f"case_{number}")(*arguments)
        np.testing.assert_array_equal(found, wanted, err_msg=case.step)
        if found.dtype.kind == "f":
            real = ~np.isnan(found)
            signs = np.signbit(found[real]), np.signbit(wanted[real])
            np.testing.assert_array_equal(*signs, err_msg=case.step)


def test_every_operation_is_here() -> None:
    written = {
        word
        for case in CASES
        for word in case.step.split()
        if "." in word and word[0].isalpha()
    }
    assert written == EXPRESSIONS.keys() - {"kernel.index", "tensor.extract"}
