"""Models as integer gates: the numbers that the interpreter has, in proved bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from xdsl.dialects.func import FuncOp

import qlower
from qlower.circuits.gates import evaluate_gates
from qlower.circuits.gates.functions import gate_interpreter
from qlower.circuits.gates.make import ModelGates, model_gates
from qlower.circuits.gates.wires import Gates
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode
from qlower.interp import InterpretationError, evaluate_function
from qlower.text.parsing import parse_module

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"

TABLE = "arith.constant dense<[7, -3, 5, 0]> : tensor<4xi32>"

STEPS = {
    **{
        f"{op} {width}": f"%r = arith.{op} %a, %b : i{width}"
        for op in ("addi", "subi", "muli", "maxsi", "minsi")
        for width in (8, 32)
    },
    **{
        f"{mode.value} by {by}": f"%c = arith.constant {by} : i32\n"
        f"%r = fixed.shift_right %a, %c {{rounding = {mode.value}}} : i32"
        for mode in RoundingMode
        for by in (0, 1, 5)
    },
    **{
        f"{mode.value} by any": "%m = arith.constant 15 : i32\n"
        f"%n = arith.andi %b, %m : i32\n"
        f"%r = fixed.shift_right %a, %n {{rounding = {mode.value}}} : i32"
        for mode in RoundingMode
    },
    **{
        f"cmpi {word}": f"%c = arith.cmpi {word}, %a, %b : i32\n"
        "%r = arith.select %c, %a, %b : i32"
        for word in ("eq", "ne", "slt", "sle", "sgt", "sge")
    },
    **{
        f"booleans {op}": "%zero = arith.constant 0 : i32\n"
        "%c = arith.cmpi slt, %a, %zero : i32\n%d = arith.cmpi slt, %b, %zero : i32\n"
        f"%e = arith.{op} %c, %d : i1\n%r = arith.ext{sign} %e : i1 to i32"
        for op, sign in (("andi", "ui"), ("ori", "si"), ("xori", "ui"))
    },
    **{
        f"{op} by {by}": f"%c = arith.constant {by} : i32\n%r = arith.{op} %a, %c : i32"
        for op, by in (("divsi", 49), ("divsi", 1), ("remsi", 10), ("shli", 7))
    },
    "shift left by any": "%m = arith.constant 31 : i32\n%n = arith.andi %b, %m : i32\n"
    "%r = arith.shli %a, %n : i32",
    "shift right by any": "%m = arith.constant 31 : i32\n"
    "%n = arith.andi %b, %m : i32\n%r = arith.shrsi %a, %n : i32",
    "saturate": "%c = fixed.saturate %a : i32 to i8\n%r = arith.extsi %c : i8 to i32",
    "truncate": "%c = arith.trunci %a : i32 to i8\n%r = arith.extui %c : i8 to i32",
    "truncate to a bit": "%c = arith.trunci %a : i32 to i1\n"
    "%r = arith.extui %c : i1 to i32",
    "extend a bit": "%c = arith.trunci %a : i32 to i1\n%r = arith.extsi %c : i1 to i32",
    "absolute": "%r = math.absi %a : i32",
    "leading zeros": "%c = arith.constant 1 : i32\n%d = arith.maxsi %a, %c : i32\n"
    "%r = math.ctlz %d : i32",
    "table": "%c = arith.constant 3 : i32\n%d = arith.andi %a, %c : i32\n"
    f"%t = {TABLE}\n%i = arith.index_cast %d : i32 to index\n"
    "%r = tensor.extract %t[%i] : tensor<4xi32>",
}


@pytest.mark.parametrize("name", STEPS)
def test_an_operation(name: str) -> None:
    type = "i8" if name.endswith(" 8") else "i32"
    module = parse_module(
        f"func.func @f(%a: {type}, %b: {type}) -> {type} {{\n{STEPS[name]}\n"
        f"func.return %r : {type} }}",
        "step.mlir",
    )
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    draw = np.random.default_rng(3)
    reach = 1 << (7 if type == "i8" else 12)
    edges = [-reach, reach - 1, -1, 0, 1, 15, 16, 17, -16, -15]
    pairs = np.array(np.meshgrid(edges, edges)).reshape(2, -1)
    drawn = draw.integers(-reach, reach, (2, 400))
    a, b = np.concatenate([pairs, drawn], 1).astype(f"i{int(type[1:]) // 8}")
    gates = Gates()
    given = tuple(gates.inputs(a.shape, -reach, reach - 1) for _ in range(2))
    outputs = gate_interpreter(module, gates).call_op(function, given)
    found = ModelGates("", gates, outputs)
    (wanted,) = evaluate_function(function, [a, b])
    np.testing.assert_array_equal(evaluated(found, [a, b])[0], wanted)


def evaluated(found: ModelGates, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs by the reader, each wire held against its bits."""
    file = found.arrays()
    wires = evaluate_gates.evaluate(file, inputs)
    evaluate_gates.check_bits(file, wires)
    return [wires[one] for one in found.outputs]


def test_the_reader_has_the_bits_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["compile", str(DIGITS), "-o", str(tmp_path), "--emit", "gates"]
    assert main([*line, "--contract", "tflm"]) == 0
    printed = capsys.readouterr().out
    assert "95,187 wires" in printed
    assert "\nconv1 " in printed
    image = DIGITS.parent / "images" / "7.npy"
    out = tmp_path / "out.npz"
    reader = tmp_path / "evaluate_gates.py"
    command = [sys.executable, reader, tmp_path / "digits.npz", image, "-o", out]
    subprocess.run(command, check=True, capture_output=True)
    wanted = qlower.interpret(DIGITS, np.load(image), contract="tflm")
    with np.load(out) as file:
        np.testing.assert_array_equal(file["output0"], wanted)
    assert len(reader.read_text().splitlines()) <= 100
    assert "qlower." not in reader.read_text()


@pytest.mark.long
def test_one_wire_less_than_its_bits_is_seen() -> None:
    found = model_gates(DIGITS, "tflm")
    file = found.arrays()
    image = np.load(DIGITS.parent / "images" / "7.npy")
    wires = evaluate_gates.evaluate(file, [image])
    file["bits"] = np.sign(file["bits"])
    with pytest.raises(AssertionError, match="too narrow"):
        evaluate_gates.check_bits(file, wires)


@pytest.mark.parametrize("by", [0, -49])
def test_a_divisor_that_is_not_positive_is_refused(by: int) -> None:
    module = parse_module(
        f"func.func @f(%a: i32) -> i32 {{ %c = arith.constant {by} : i32\n"
        "%r = arith.divsi %a, %c : i32\nfunc.return %r : i32 }"
    )
    (function,) = module.body.ops
    gates = Gates()
    with pytest.raises(InterpretationError, match="than one positive constant"):
        gate_interpreter(module, gates).call_op(
            function, (gates.inputs((2,), -128, 127),)
        )


@pytest.mark.parametrize("op", ["addi", "subi", "muli"])
def test_sums_of_booleans_are_refused(op: str) -> None:
    module = parse_module(
        f"func.func @f(%a: i1) -> i1 {{ %r = arith.{op} %a, %a : i1\n"
        "func.return %r : i1 }"
    )
    (function,) = module.body.ops
    gates = Gates()
    with pytest.raises(InterpretationError, match="of booleans has no gates"):
        gate_interpreter(module, gates).call_op(function, (gates.inputs((2,), 0, 1),))


def test_what_is_not_of_integers_is_refused_by_name() -> None:
    with pytest.raises(
        QlowerError, match=r"layer conv1 .*'arith.constant' holds floats"
    ):
        model_gates(DIGITS, "exact")


@pytest.mark.long
@pytest.mark.parametrize("name", ["kws_dscnn_int8", "ic_resnet8_int8"])
def test_whole_models(name: str) -> None:
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    found, run = model_gates(path, "tflm"), qlower.jit(path, contract="tflm")
    for x in np.load(path.with_name("inputs.npz"))["x"][:5, None]:
        np.testing.assert_array_equal(evaluated(found, [x])[0], run(x))
