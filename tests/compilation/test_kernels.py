"""Kernels of a module by hand: passes to them, each alone, and the first that is
wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation import bisection
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import (
    channels_dropped,
    epilogue_proofs,
    kernel_passes,
    lower_to_kernel,
    proofs_and_dropped,
)
from qlower.dialects.kernel import CopyOp, NestOp, ScratchAttr
from qlower.runtime.alone import alone, with_code
from qlower.text.parsing import parse_module

KERNELS = """
#same = affine_map<(n, i) -> (n, i)>
func.func @main(%x: tensor<1x4xi8>) -> (tensor<1x2xi32>, tensor<1x4xi8>) {
  %w = arith.constant dense<[[3, -7, 1, 0], [10, 20, 0, 1]]> : tensor<2x4xi8>
  %a = kernel.nest map parallel [1, 4] maps [#same, #same]
    ins(%x : tensor<1x4xi8>) epilogue {
  ^bb0(%byte: i8):
    %one = arith.constant 1 : i8
    %next = arith.addi %byte, %one : i8
    kernel.yield %next : i8
  } -> tensor<1x4xi8> loc("first")
  %b = kernel.copy %a[0, 0] [1, 2] [1, 1] into fill(5 : i8)[0, 1] [1, 1]
    : tensor<1x4xi8> into tensor<1x4xi8> loc("pad")
  %y = kernel.nest contraction parallel [1, 2] reduction [4]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>,
          affine_map<(n, o, i) -> (n, o)>]
    ins(%b, %w : tensor<1x4xi8>, tensor<2x4xi8>) init {
  ^bb0(%in: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%in: i8, %f: i8, %sum: i32):
    %wide = arith.extsi %in : i8 to i32
    %weight = arith.extsi %f : i8 to i32
    %product = arith.muli %wide, %weight : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%in: i8, %f: i8, %acc: i32):
    kernel.yield %acc : i32
  } SCHEDULE -> tensor<1x2xi32> loc("second")
  func.return %y, %b : tensor<1x2xi32>, tensor<1x4xi8>
}
"""


def kernels(schedule: str = "schedule #kernel.tile<1, 1>") -> ModuleOp:
    return parse_module(KERNELS.replace("SCHEDULE", schedule))


def search(module: ModuleOp, monkeypatch: pytest.MonkeyPatch, wrong: Any) -> Any:
    """A search among kernels, whose code is wrong where `wrong` says so."""
    made = object.__new__(vars(bisection)["_Search"])
    vars(made)["compilation"] = SimpleNamespace(kernels=module, target=host_target())
    vars(made)["_interpreted"] = lambda given: {"values of": given}

    def is_right(op: Any, compilation: Any, values: Any) -> bool:
        assert compilation is vars(made)["compilation"]
        assert values == {"values of": module}
        return not wrong(op)

    monkeypatch.setattr(bisection, "_is_kernel_right", is_right)
    return made


def test_the_first_kernel_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    module = kernels()
    first, second = (op for op in module.walk() if isinstance(op, NestOp))
    others = ["#one", second.schedule, "#two"]
    monkeypatch.setattr(bisection, "possible_schedules", lambda op, target: others)

    def found(wrong: Any) -> tuple[str, str]:
        return search(module, monkeypatch, wrong).wrong_kernel()

    nowhere = "none alone", "where tensors lie, or how kernels are called"
    assert found(lambda op: False) == nowhere
    assert found(lambda op: op is first) == ("0, first", "its code")
    assert found(lambda op: True) == ("0, first", "its code")
    assert found(lambda op: isinstance(op, CopyOp)) == ("1, pad", "its code")
    name = "2, second"
    before = second.schedule
    every = found(lambda op: op is second)
    assert every == (name, "its code, in all schedules")
    assert second.schedule is before

    def is_right(op: Any, schedule: Any, values: Any) -> bool:
        assert op is second
        assert schedule != before
        return schedule == "#two"

    made = search(module, monkeypatch, lambda op: op is second)
    vars(made)["_is_right_with"] = is_right
    assert made.wrong_kernel() == (
        name,
        f"its schedule {before}: with #two it is right",
    )


def test_a_schedule_that_is_tried_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = kernels()
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp) and op.schedule)
    other = kernels("schedule #kernel.tile_registers")
    (tiles,) = (op for op in other.walk() if isinstance(op, NestOp) and op.schedule)
    before, seen = nest.schedule, list[object]()

    def wrong(op: Any) -> bool:
        seen.append(op.schedule)
        return len(seen) > 1

    made = search(module, monkeypatch, wrong)
    values = {"values of": module}
    assert made._is_right_with(nest, tiles.schedule, values)
    assert not made._is_right_with(nest, tiles.schedule, values)
    assert seen == [tiles.schedule] * 2
    assert nest.schedule is before


@pytest.mark.parametrize(
    ("second", "is_right"), [([3, 4], True), ([3, 5], False), ([5, 4], False)]
)
def test_all_results_of_a_kernel_are_compared(
    second: list[int], is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the interpreter's, for its values of the inputs, by the ports' types."""
    given: list[list[Any]] = []

    def run(arrays: list[Any]) -> list[Any]:
        given.append(arrays)
        return [np.array([1, 2], np.int8), np.array(second, np.int8)]

    spec = SimpleNamespace(numpy_dtype=np.dtype(np.uint8))
    code = SimpleNamespace(signature=SimpleNamespace(inputs=[spec]))
    taken = SimpleNamespace(module="alone", arguments=["x"])
    monkeypatch.setattr(bisection, "alone", lambda op: taken)
    monkeypatch.setattr(bisection, "compile_module", lambda *given: given)

    class Runs:
        signature = code.signature

        def __init__(self, compiled: Any) -> None:
            assert compiled == ("alone", "here")

        def __call__(self, arrays: list[Any]) -> list[Any]:
            return run(arrays)

    monkeypatch.setattr(bisection, "Executable", Runs)
    values = {
        "x": np.array([[-1, 2], [3, 4]], np.int8).T,
        "y": np.array([1, 2], np.int8),
        "z": np.array([3, 4], np.int8),
    }
    op = SimpleNamespace(results=["y", "z"])
    is_kernel_right = vars(bisection)["_is_kernel_right"]
    assert is_kernel_right(op, SimpleNamespace(target="here"), values) is is_right
    ((array,),) = given
    assert (array.dtype, array.tolist()) == (np.uint8, [[255, 3], [2, 4]])


def test_the_kernel_of_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = search(kernels(), monkeypatch, None)
    expected = {
        "first": "0, first",
        "second": "2, second",
        "pad": "1, pad",
        "none + second": "2, second",
        "second + first": "0, first",
        "firs": "not known",
        "none": "not known",
    }
    assert {layer: made._kernel_of(layer) for layer in expected} == expected


def test_each_kernel_alone() -> None:
    """With its constants; what other kernels make is given."""
    module = kernels()
    a, b, c = with_code(module)
    assert isinstance(b, CopyOp)
    for op, types, names in (
        (a, ["tensor<1x4xi8>"], ["kernel.nest"]),
        (b, ["tensor<1x4xi8>"], ["kernel.copy"]),
        (c, ["tensor<1x4xi8>"], ["arith.constant", "kernel.nest"]),
    ):
        found = alone(op)
        found.module.verify()
        (main,) = found.module.ops
        block = main.regions[0].block
        assert [op.name for op in block.ops] == [*names, "func.return"]
        assert [str(value.type) for value in block.args] == types
        assert list(found.arguments) == [op.operands[0]]
        *_, copy, last = block.ops
        assert list(last.operands) == list(copy.results)
        assert str(copy.properties["buffers"]) == "[#kernel.output<0>]"
        assert str(main.attributes["kernel.arena_bytes"]) == "0 : i64"
        assert all(value.name_hint is None for value in copy.results)
    assert isinstance(a, NestOp)
    a.scratch = ScratchAttr(64, 512)
    (main,) = alone(a).module.ops
    (copy, _) = main.regions[0].block.ops
    assert isinstance(copy, NestOp)
    assert copy.scratch == ScratchAttr(0, 512)
    assert str(main.attributes["kernel.arena_bytes"]) == "512 : i64"
    assert a.scratch == ScratchAttr(64, 512)


IDLE = """
!t = !quant.uniform<i8:f32, 5.0e-01:-3>
!w = !quant.uniform<i8:f32, 2.5e-01>
func.func @main(%x: tensor<4x8x!t>) -> tensor<4x2x!t> {
  %v = qnn.constant dense<[[3,1,2,3,4,5,6,7], [0,0,0,0,0,0,0,0], [3,1,2,3,4,5,6,7]]>
    : tensor<3x8xi8> -> tensor<3x8x!w>
  %w = qnn.constant dense<[[5, 6, 7], [1, 2, 0]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  %h = qnn.linear %x, %v : (tensor<4x8x!t>, tensor<3x8x!w>) -> tensor<4x3x!t>
  %y = qnn.linear %h, %w : (tensor<4x3x!t>, tensor<2x3x!w>) -> tensor<4x2x!t>
  return %y : tensor<4x2x!t>
}"""


def test_proofs_and_what_is_dropped() -> None:
    """Asked for alone or together; the module stays."""
    arith = lower_to_arith(parse_module(IDLE), "tflite")
    before = str(arith)
    target = resolve_target("x86_64-linux-gnu", "cascadelake")
    proofs, dropped = proofs_and_dropped(arith, target)
    assert epilogue_proofs(arith, target) == proofs
    assert channels_dropped(arith) == dropped
    assert [(one.channels, one.form is not None) for one in proofs] == [
        (1, True),
        (1, True),
    ]
    assert [(one.channels, one.kept, one.constant) for one in dropped] == [
        (3, 2, 1),
        (2, 2, 0),
    ]
    assert [(one.products, one.needed) for one in dropped] == [(96, 64), (24, 16)]
    assert [(one.weights, one.weights_needed) for one in dropped] == [(24, 16), (6, 4)]
    # where nothing is cheap, nothing is to be proved
    slow = resolve_target("riscv32-unknown-elf", None)
    assert proofs_and_dropped(arith, slow) == ([], dropped)
    assert epilogue_proofs(arith, slow) == []
    assert str(arith) == before


def test_the_passes_to_kernels() -> None:
    target = resolve_target("x86_64-linux-gnu", "cascadelake")
    assert [str(one.spec()) for one in kernel_passes(target)] == [
        'set-target{triple="x86_64-linux-gnu" cpu="cascadelake"}',
        *("form-kernels", "check-defined", "drop-channels", "tabulate-words"),
        *("fuse-layers{real=true}", "prove-epilogues", "fuse-layers"),
        *("tabulate-functions", "match-signs", "split-layers"),
        *("plan-memory", "schedule-contractions"),
    ]
    small = kernel_passes(resolve_target("thumbv7em-none-eabi", "cortex-m4"))
    assert str(small[-2].spec()) == "plan-memory{alignment=8}"
    arith = lower_to_arith(parse_module(IDLE), "tflite")
    made = lower_to_kernel(arith, target)
    assert any(isinstance(op, NestOp) for op in made.walk())
    assert not any(isinstance(op, NestOp) for op in arith.walk())
