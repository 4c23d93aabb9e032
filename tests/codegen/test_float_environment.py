"""A caller's rounding mode, flushing of subnormal numbers and traps change no bits."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from support.machines.aarch64 import aarch64_levels
from support.machines.float_environment import (
    ENVIRONMENTS,
    FLAGS,
    call_under,
    needs_x86,
)
from support.machines.native import compile_text, kernel_module, run_object

import qlower
from qlower.codegen.nests import blocks
from qlower.codegen.program import team
from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.machine_code import assembly_text
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target, host_target, resolve_target
from qlower.emulation.emulator import EmulatedExecutable, EmulationError
from qlower.interp import run_function
from qlower.model.signature import Array
from qlower.process.float_environment import default_floats
from qlower.runtime.executable import Executable
from qlower.runtime.executors import Level, Outputs

ROWS, SIZE = 8, 64


def text_of(scalar: str, body: str) -> str:
    """Two operands of `ROWS` x `SIZE` numbers, and what `body` yields of %a and %b."""
    type = f"tensor<{ROWS}x{SIZE}x{scalar}>"
    identity = "affine_map<(d0, d1) -> (d0, d1)>"
    return f"""
    func.func @main(%x: {type}, %y: {type}) -> {type} {{
      %z = kernel.nest map parallel [{ROWS}, {SIZE}]
        maps [{identity}, {identity}, {identity}]
        ins(%x, %y : {type}, {type}) epilogue {{
        ^bb0(%a: {scalar}, %b: {scalar}):
          {body}
          kernel.yield %r : {scalar}
        }} -> {type} in [#kernel.output<0>]
      return %z : {type}
    }}"""


FLOATS = text_of(
    "f32",
    """%third = arith.constant 3.3333e-01 : f32
          %p = arith.mulf %a, %third : f32
          %q = arith.divf %p, %b : f32
          %r = arith.addf %q, %b : f32""",
)
INTEGERS = text_of("i32", "%r = arith.addi %a, %b : i32")


def operands() -> list[Array]:
    """Numbers of all sizes: products that are subnormal, quotients by zero."""
    random = np.random.default_rng(3)
    x, y = (random.normal(size=(ROWS, SIZE)).astype(np.float32) for _ in range(2))
    x[:, :16] *= np.float32(1e-38)
    y[:, :8] = np.float32(1e-39)
    y[:, 8:16] = 1
    y[:, -4:] = 0
    return [x, y]


def expected() -> Array:
    (result,) = run_function(kernel_module(FLOATS), "main", operands())
    return result


NEON = resolve_target("armv7-linux-gnueabihf", "cortex-a7")
ONE_BY_ONE = text_of(
    "f32",
    """%s = arith.addf %a, %b : f32
          %d = arith.subf %s, %b : f32
          %p = arith.mulf %d, %a : f32
          %m = math.fma %p, %a, %b : f32
          %least = arith.minimumf %m, %a : f32
          %most = arith.maximumf %least, %p : f32
          %c = arith.cmpf ogt, %a, %b : f32
          %r = arith.select %c, %most, %s : f32""",
)


def test_neon_computes_no_floats() -> None:
    """It flushes subnormal numbers, whatever the environment says."""
    assembly = assembly_text(compile_text(ONE_BY_ONE, NEON).llvm_text, NEON)
    assert len(re.findall(r"\tv(?:add|sub|mul|fma)\.f32\ts", assembly)) >= 4
    assert not re.search(r"\tv(?!cvt|abs|neg)\w+\.f32\t[dq]", assembly)


@pytest.mark.long
def test_neon_has_subnormal_numbers() -> None:
    """Called with a register that flushes them and rounds toward zero."""
    (result,) = run_function(kernel_module(ONE_BY_ONE), "main", operands())
    (found,) = run_object(compile_text(ONE_BY_ONE, NEON), operands())
    assert found.tobytes() == result.tobytes()
    is_subnormal = (result != 0) & (np.abs(result) < np.finfo(np.float32).tiny)
    assert is_subnormal.any()


def in_caller_environment(target: Target) -> Target:
    return replace(target, float_control=None)


def compiled(target: Target, flavour: Flavour = PLAIN) -> CompiledObject:
    return compile_module(kernel_module(FLOATS), target, flavour)


@needs_x86
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments(name: str) -> None:
    word, inputs = ENVIRONMENTS[name], operands()
    found = np.zeros((ROWS, SIZE), np.float32)
    call = Executable(compiled(host_target())).bind(inputs, [found])
    assert call_under(word, call) == word
    np.testing.assert_array_equal(found.view(np.int32), expected().view(np.int32))
    if name == "traps":
        return
    call = Executable(compiled(in_caller_environment(host_target())))
    bound = call.bind(inputs, [found])
    assert call_under(word, bound) & ~FLAGS == word
    assert (found.view(np.int32) != expected().view(np.int32)).any()


@pytest.mark.parts(6)
@needs_x86
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers are started by, and inherit from, a thread with another environment."""
    monkeypatch.setattr(blocks, "LEAST_NANOSECONDS", 0.0)
    monkeypatch.setattr(team, "LEAST_SAVED_NANOSECONDS", float("-inf"))
    word, found = ENVIRONMENTS[name], np.zeros((ROWS, SIZE), np.float32)
    shared = compiled(host_target(), Flavour(threads=3))
    assert "call void @team_share" in shared.llvm_text
    call = Executable(shared).bind(operands(), [found])
    wanted = expected().view(np.int32)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            found[:] = 0
            assert pool.submit(call_under, word, call).result() == word
            np.testing.assert_array_equal(found.view(np.int32), wanted)


@pytest.mark.parametrize("word", [1 << 22, 2 << 22, 3 << 22, 1 << 24, 1 << 25])
def test_aarch64(word: int) -> None:
    """FPCR: rounding modes, flushing to zero, NaN without payload."""
    target = aarch64_levels()["baseline"]
    machine = EmulatedExecutable(compiled(target))
    machine.emulator.write_register("FPCR", word)
    (found,) = machine(operands())
    np.testing.assert_array_equal(found.view(np.int32), expected().view(np.int32))
    assert machine.emulator.read_register("FPCR") == word
    machine.emulator.symbols["nothing"] = 16
    with pytest.raises(EmulationError, match=r"FETCH_UNMAPPED.* at offset -0x"):
        machine.emulator.call("nothing")


@needs_x86
@pytest.mark.parametrize("name", ["down", "up", "flush_both_up"])
def test_python_rounds_to_nearest_within_a_block(name: str) -> None:
    def quotients() -> list[float]:
        one, three = np.array([1.0, -1.0, 3e-308]), np.full(3, 3.0)
        return (one / three).tolist()

    def computed() -> list[list[float]]:
        with default_floats():
            inside = quotients()
        return [inside, quotients()]

    found: list[list[float]] = []
    call_under(ENVIRONMENTS[name], lambda: found.extend(computed()))
    assert found[0] == [1 / 3, -1 / 3, 1e-308]
    assert found[1] != found[0]


@pytest.mark.parts(6)
@needs_x86
@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name != "traps"])
def test_compilation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read, compiled and interpreted in another environment is the same."""
    monkeypatch.setenv("QLOWER_CACHE_DIR", "")
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    (port,) = qlower.load(path).inputs
    x = np.arange(prod(port.shape)).astype(port.numpy_dtype).reshape(port.shape)
    levels: tuple[Level, ...] = ("qnn", "arith", "kernel")

    def compute() -> list[bytes | str]:
        arith = str(qlower.lower(path))
        code = qlower.compile(path).object.object_bytes
        results = [qlower.interpret(path, x, at=level) for level in levels]
        outputs = [output for result in results for output in as_tuple(result)]
        return [arith, code, *(output.tobytes() for output in outputs)]

    found: list[list[bytes | str]] = []
    word = ENVIRONMENTS[name]
    assert call_under(word, lambda: found.append(compute())) & ~FLAGS == word
    assert found == [compute()]


def as_tuple(outputs: Outputs) -> tuple[Array, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def test_integers_need_nothing() -> None:
    for target in (host_target(), *aarch64_levels().values()):
        text = compile_text(INTEGERS, target).llvm_text
        assert "csr(" not in text
        assert "fpcr(" not in text
