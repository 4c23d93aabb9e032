"""One digest of a run, whatever machine runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from support.machines.native import levels, run_object

import qlower
from qlower.cli import main
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.random_inputs import random_inputs
from qlower.packages.self_test import digest, drawn_inputs
from qlower.sides.run_digest import RunDigest, arrays_digest, run_digest

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"


def of_run(model: Model, inputs: Sequence[Array], outputs: Sequence[Array]) -> str:
    named = (
        dict(zip((spec.name for spec in specs), arrays, strict=True))
        for specs, arrays in ((model.inputs, inputs), (model.outputs, outputs))
    )
    given, made = named
    return run_digest(model, "tflite", [given], [made]).total


@pytest.mark.parametrize(
    "source", ["small", pytest.param("digits", marks=pytest.mark.long)]
)
def test_every_machine_has_one_digest(source: str, tmp_path: Path) -> None:
    """This machine at each level; AArch64, RISC-V, Cortex-M, WebAssembly emulated."""
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    path = DIGITS if source == "digits" else path
    model = qlower.load(path)
    seeded, drawn = random_inputs(model.inputs, 5), drawn_inputs(model.inputs, 1)
    wanted = [
        qlower.interpret(model, *inputs, contract="tflite")
        for inputs in (seeded, drawn)
    ]
    expected = of_run(model, seeded, [wanted[0]]), digest([wanted[1]])
    compilation = Compilation(model, "tflite")
    found: dict[str, tuple[str, int]] = {}
    for name, target in levels().items():
        code = compilation.for_target(target).object
        outputs = run_object(code, seeded)
        found[name] = of_run(model, seeded, outputs), digest(run_object(code, drawn))
    asked = {"x86-64", "aarch64 baseline", "riscv64", "cortex-m4", "wasm32 simd128"}
    assert asked <= found.keys()
    assert found == dict.fromkeys(found, expected)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    command = ["run", str(path), "--random", "5", "--digest"]
    assert main(command) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    names = [line.split("  ")[1].strip() for line in lines]
    assert names == ["model", "contract tflite", "version", "inputs", "outputs"]
    assert main([*command, "--executor", "interp", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert first == f"digest sha256:{found['sha256']}, of"
    assert main([*command, "--contract", "tosa"]) == 0
    other = capsys.readouterr().out.splitlines()
    assert other[0] != first
    assert other[1].split() == lines[0].split(), "the model is the same"


def test_what_a_digest_is_of() -> None:
    one = RunDigest("m", {"a": "c"}, "x", "y")
    assert one.total == RunDigest("m", {"b": "c"}, "x", "y").total, "a contract's name"
    others = [
        RunDigest("n", {"a": "c"}, "x", "y"),
        RunDigest("m", {"a": "d"}, "x", "y"),
        RunDigest("m", {"a": "c"}, "z", "y"),
        RunDigest("m", {"a": "c"}, "x", "z"),
        RunDigest("m", {"a": "c"}, "x", "y", "2.0"),
    ]
    assert len({one.total, *(other.total for other in others)}) == 6


def test_arrays_are_numbers() -> None:
    """Not memory: byte order, strides and the bits of a NaN don't count; names, types
    and shapes do."""
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    same = [array.astype(">i4"), np.asfortranarray(array)]
    plain = arrays_digest([{"y": array}])
    assert {arrays_digest([{"y": one}]) for one in same} == {plain}
    others = [{"z": array}, {"y": array.astype(np.int64)}, {"y": array.reshape(3, 2)}]
    assert len({plain, *(arrays_digest([one]) for one in others)}) == 4
    nan = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    assert arrays_digest([{"y": nan}]) == arrays_digest([{"y": nan[::-1]}])
    zeros = np.zeros(1, np.float32)
    assert arrays_digest([{"y": zeros}]) != arrays_digest([{"y": -zeros}])
