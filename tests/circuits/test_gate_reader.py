"""A few gates by hand: read, listed and run by the reader; and what has no gates."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import qlower
from qlower.circuits.gates import evaluate_gates
from qlower.circuits.gates.functions import gate_interpreter
from qlower.circuits.gates.make import ModelGates, model_gates
from qlower.circuits.gates.wires import Gates
from qlower.circuits.make import Circuits
from qlower.circuits.rtl import verify
from qlower.diagnostics import QlowerError
from qlower.interp import InterpretationError
from qlower.text.parsing import parse_module

SIMULATED: Any = vars(verify)


def small() -> ModelGates:
    """x + 5 of two numbers."""
    gates = Gates()
    x = gates.inputs((2,), -128, 127)
    gates.layer = "l"
    return ModelGates("c", gates, (gates.add(x, gates.constants([5, 5])),))


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
    """The file's name, with the reader's arguments set."""
    np.savez(folder / "g.npz", **small().arrays())
    np.save(folder / "x.npy", np.array([1, -128], np.int8))
    file = str(folder / "g.npz")
    monkeypatch.setattr(sys, "argv", ["reader", file, *options])
    return file


def test_the_reader_prints_or_writes_the_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    x, out = str(tmp_path / "x.npy"), tmp_path / "out.npz"
    written(tmp_path, monkeypatch, x)
    evaluate_gates.main()
    assert capsys.readouterr().out == "output0 = [6, -123]\n"
    assert not out.exists()
    written(tmp_path, monkeypatch, x, "-o", str(out))
    evaluate_gates.main()
    with np.load(out) as file:
        assert {name: file[name].tolist() for name in file} == {"output0": [6, -123]}
    written(tmp_path, monkeypatch, x, "--output", str(out))
    evaluate_gates.main()


def test_the_reader_lists_the_gates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, monkeypatch, "--list")
    evaluate_gates.main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [
        *(["0", "input"], ["1", "input"], ["2", "constant"]),
        *(["3", "add"], ["4", "add"]),
    ]
    assert [line[2:4] for line in lines[3:]] == [["0", "2"], ["1", "2"]]
    assert [line[4] for line in lines] == [*("-8", "-8", "3", "-9", "-9")]


REFUSED = {
    "a list that isn't constant": (
        "%t: tensor<2xi32>",
        """%i = arith.constant 1 : index
        %r = tensor.extract %t[%i] : tensor<2xi32>""",
        "looks up what isn't a constant list",
    ),
    "a place of two dimensions": (
        "%a: i32",
        """%t = arith.constant dense<[[1, 2]]> : tensor<1x2xi32>
        %i = arith.index_cast %a : i32 to index
        %r = tensor.extract %t[%i, %i] : tensor<1x2xi32>""",
        "looks up what isn't a constant list",
    ),
    "zeros of a negative number": (
        "%a: i32",
        "%r = math.ctlz %a : i32",
        "counts the zeros of what may be negative",
    ),
    "bits of any number": (
        "%a: i32",
        "%r = arith.andi %a, %a : i32",
        "is not of a number and 2^n - 1",
    ),
    "bits of a number with holes": (
        "%a: i32",
        """%c = arith.constant 5 : i32
        %r = arith.andi %a, %c : i32""",
        "is not of a number and 2^n - 1",
    ),
    "no bits": (
        "%a: i32",
        """%c = arith.constant 0 : i32
        %r = arith.andi %a, %c : i32""",
        "is not of a number and 2^n - 1",
    ),
    "either of two numbers": (
        "%a: i32",
        "%r = arith.ori %a, %a : i32",
        "of numbers has no gates",
    ),
    "one of two numbers": (
        "%a: i32",
        "%r = arith.xori %a, %a : i32",
        "of numbers has no gates",
    ),
    "an order without a sign": (
        "%a: i32",
        """%c = arith.cmpi ult, %a, %a : i32
        %r = arith.extui %c : i1 to i32""",
        "compares what may be negative without a sign, or booleans",
    ),
    "an amount that may be negative": (
        "%a: i32",
        "%r = arith.shli %a, %a : i32",
        "shifts by -128 to 127, not by 0 to 62",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_gates_is_said(name: str) -> None:
    argument, body, message = REFUSED[name]
    module = parse_module(
        f"func.func @f({argument}) -> i32 {{\n{body}\nfunc.return %r : i32 }}"
    )
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    gates = Gates()
    shape = (2,) if "tensor" in argument else ()
    with pytest.raises(InterpretationError) as caught:
        gate_interpreter(module, gates).call_op(
            function, (gates.inputs(shape, -128, 127),)
        )
    assert message in caught.value.message


REAL = """\
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4x!quant.uniform<i8:f32, 0.5>> {
  %y = qnn.quantize %x : (tensor<1x4xf32>) -> tensor<1x4x!quant.uniform<i8:f32, 0.5>>
  return %y : tensor<1x4x!quant.uniform<i8:f32, 0.5>>
}"""
KEPT = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x!x>, %s: tensor<1x4x!x>)
    -> (tensor<1x4x!x>, tensor<1x4x!x>)
    attributes {qnn.state = [dense<3> : tensor<1x4xi8>]} {
  %r = qnn.relu %s : (tensor<1x4x!x>) -> tensor<1x4x!x>
  return %x, %r : tensor<1x4x!x>, tensor<1x4x!x>
}"""


@pytest.mark.parametrize(("text", "kept"), [(REAL, "float32"), (KEPT, "int8")])
def test_inputs_that_are_no_integers_or_are_kept(text: str, kept: str) -> None:
    model = qlower.Model(parse_module(text, "m.mlir"))
    with pytest.raises(QlowerError) as caught:
        model_gates(model, "tflm")
    assert caught.value.message == (
        f"input x holds {kept}, or the model keeps a state: gates are of integers that "
        "are inputs"
    )


def test_steps_with_names_are_shown() -> None:
    """Constants and steps without one aren't."""
    (function,) = parse_module("""func.func @f(%a: i8, %b: i8) -> i8 {
      %two = arith.constant 2 : i8
      %0 = arith.addi %a, %two : i8
      %twice = arith.muli %0, %two : i8
      %last = arith.subi %twice, %b : i8
      return %last : i8
    }""").body.block.ops
    found = SIMULATED["_steps"](function, {"a": 3, "b": 1})
    assert [tuple(vars(one).values()) for one in found] == [
        *(("twice", "arith.muli", 10), ("last", "arith.subi", 9)),
    ]


def test_bits_that_are_saved() -> None:
    """Of no circuits nothing is said."""
    assert Circuits("exact", [], [("a", "why")]).table.notes == ["a: why"]
    circuits: Any = [SimpleNamespace(bits=(8, 2)), SimpleNamespace(bits=(4, 1))]
    first, second = Circuits("exact", circuits, [("a", "why")]).table.notes
    assert (first[-33:], second) == (
        "and in the circuit; 75 % are saved."[-33:],
        "a: why",
    )
    share: Any = vars(import_module("qlower.circuits.make"))["_share"]
    assert [share(8, 2), share(0, 0), share(3, 3)] == ["75 %", "", "0 %"]
