"""The C library's functions as contracts' text, beside the C library itself."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    AnyFloat,
    ModuleOp,
    TensorType,
    UnknownLoc,
    f32,
    f64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import qlower
from qlower.emit.inline_rule import call_function
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Nest

FUNCTIONS = {
    **dict.fromkeys(("expf", "logf", "sinf", "cosf", "tanhf"), 1),
    **dict.fromkeys(("log1pf", "asinhf", "acoshf", "atanhf", "erff"), 1),
    **dict.fromkeys(("sinhf", "coshf", "tanf", "asinf", "acosf", "atanf"), 1),
    **dict.fromkeys(("powf", "atan2f", "fmodf"), 2),
}
"""How many numbers each takes."""

SIZE = 3000

SPECIAL = (
    *(0.0, 0.5, 1.0, 2.0, 3.0, np.inf, np.nan, 1e-45, 1.1754944e-38, 3.4028235e38),
    *(
        0.35,
        0.4375,
        0.5198604,
        0.6875,
        0.84375,
        1.1875,
        2.4375,
        22.0,
        89.0,
        104.0,
        120.0,
    ),
)
"""Numbers at which functions change from one formula to the next; with either sign."""

VERSION = platform.libc_ver()

pytestmark = pytest.mark.skipif(
    VERSION[0] != "glibc" or tuple(map(int, VERSION[1].split("."))) > (2, 40),
    reason="the C library here is not glibc up to 2.40",
)


def arguments(count: int, seed: int) -> list[Array]:
    """Numbers of any size, numbers near 1, and special ones, in any combination: of
    two special ones in each."""
    random = np.random.default_rng(seed)
    drawn: list[Array] = []
    for _ in range(count):
        any_bits = random.integers(0, 1 << 32, SIZE, dtype=np.uint64)
        any_size = any_bits.astype(np.uint32).view(np.float32)
        near = random.normal(0, 4, SIZE).astype(np.float32)
        special = random.choice(np.array(SPECIAL, np.float32), SIZE)
        special *= random.choice(np.array([-1, 1], np.float32), SIZE)
        kind = random.integers(0, 3, SIZE)
        drawn.append(np.choose(kind, [any_size, near, special]).astype(np.float32))
    signed = np.array([*SPECIAL, *(-number for number in SPECIAL)], np.float32)
    for array, every in zip(drawn, np.meshgrid(*[signed] * count), strict=True):
        array[: every.size] = every.reshape(-1)
    return drawn


def model_of(function: str, count: int, element: AnyFloat = f32) -> qlower.Model:
    """A model that applies a function to each element of its inputs."""
    type = TensorType(element, [SIZE])
    block = Block(arg_types=[type] * count)
    nest = Nest(Emitter(block.add_op, UnknownLoc()), (SIZE,))
    elements = [nest.input(argument, (0,)) for argument in block.args]
    (result,) = nest.build([call_function(nest, "_glibc", function, *elements)])
    block.add_op(ReturnOp(result))
    main = FuncOp("main", ([type] * count, [type]), Region(block))
    return qlower.Model(ModuleOp([main]))


@pytest.mark.parts(18)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_the_library_s(function: str) -> None:
    count = FUNCTIONS[function]
    numbers = arguments(count, seed=len(function))
    called = getattr(ctypes.CDLL("libm.so.6"), function)
    called.restype, called.argtypes = ctypes.c_float, [ctypes.c_float] * count
    pairs = zip(*(column.tolist() for column in numbers), strict=True)
    expected = np.array([called(*pair) for pair in pairs], np.float32)
    model = model_of(function, count)
    for found in (qlower.jit(model)(*numbers), qlower.interpret(model, *numbers)):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, expected)
        is_zero = expected == 0
        signs = np.signbit(found[is_zero]), np.signbit(expected[is_zero])
        np.testing.assert_array_equal(*signs)


CALLS = """
import ctypes, struct, sys
call = ctypes.CDLL("libm.so.6").exp
call.restype, call.argtypes = ctypes.c_double, [ctypes.c_double]
data = sys.stdin.buffer.read()
numbers = struct.unpack(f"{len(data) // 8}d", data)
sys.stdout.buffer.write(struct.pack(f"{len(numbers)}d", *map(call, numbers)))
"""


def test_exponential_of_float64() -> None:
    """Of numbers between -700 and 700, as the library has it without FMA."""
    random = np.random.default_rng(3)
    numbers = np.ldexp(random.uniform(-1, 1, SIZE), random.integers(-60, 10, SIZE))
    numbers = np.clip(numbers, -700, 700)
    numbers[:5] = 0, -0.0, 700, -700, np.nan
    command = [sys.executable, "-S", "-c", CALLS]
    without = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable"}
    called = subprocess.run(
        command, env=without, input=numbers.tobytes(), capture_output=True, check=True
    )
    expected = np.frombuffer(called.stdout)
    model = model_of("wide_exp", 1, f64)
    for found in (qlower.jit(model)(numbers), qlower.interpret(model, numbers)):
        np.testing.assert_array_equal(found, expected)
