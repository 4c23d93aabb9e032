"""Files of every kind that commands read, damaged, and the commands that read them."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from qlower.cli import main

from . import mutant_originals, onnx_mutants, pt2_mutants, tflite_mutants
from .damage import damaged
from .mutants import mutate
from .onnx_cases import CASES as ONNX_CASES
from .pt2_cases import REAL
from .small_model import SMALL_MODEL
from .tflite_cases import CASES as TFLITE_CASES
from .tosa import TOSA_LAYER, serialize
from .upstream import find_mlir_opt

MODEL = "small.mlir"
"""A model that is well, in the folder of the commands."""

READ_MODEL = (
    ("run", "FILE", "--random"),
    ("run", "FILE", "--random", "--executor", "interp"),
    ("import", "FILE", "-o", "out.mlir"),
    ("inspect", "FILE"),
    ("lint", "FILE"),
)
READ_ARRAYS = (
    ("run", MODEL, "--input", "FILE"),
    ("diff", "FILE", "tflite", MODEL, "--input", "x.npy"),
    ("identify", "FILE", MODEL, "--input", "x.npy"),
    ("validate", MODEL, "--data", "FILE"),
)
READ_CONTRACT = (
    ("run", MODEL, "--random", "--contract", "FILE"),
    ("contracts", "show", "FILE", "--plain"),
)
RESUME = ("validate", MODEL, "--data", "data.npz", "--contract", "tflite,exact")

Bytes = Callable[[random.Random], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file: a whole one, a damaged one, and what reads it."""

    suffix: str
    whole: Bytes
    commands: Sequence[Sequence[str]]
    change: Callable[[bytes, random.Random], bytes] = damaged

    def mutant(self, choice: random.Random) -> bytes:
        """A file with a few changes, or cut, or with an end of another."""
        data = self.whole(choice)
        match choice.randrange(10):
            case 0:
                return data[: choice.randrange(len(data) + 1)]
            case 1 | 2:
                return damaged(data, choice) if len(data) > 4 else data
            case _:
                return self.change(data, choice)


def _text(kind: str) -> Kind:
    def whole(choice: random.Random) -> bytes:
        text = mutant_originals.draw(kind, choice)
        return text.split(mutant_originals.SEPARATOR)[-1].encode()

    is_contract = kind == "contract"
    return Kind(".mlir", whole, READ_CONTRACT if is_contract else READ_MODEL, _mutated)


def _mutated(data: bytes, choice: random.Random) -> bytes:
    return mutate(data.decode(), choice).encode()


def _json(data: bytes, choice: random.Random) -> bytes:
    """JSON with one value replaced, or taken away."""
    text = data.decode()
    old = choice.choice([*re.finditer(r'"[^"]*"|-?\d+(\.\d+)?|\[[^\[\]]*\]', text)])
    return (text[: old.start()] + choice.choice(_VALUES) + text[old.end() :]).encode()


_VALUES = (
    *("null", "true", "-1", "1e400", "NaN", "0.5", str(1 << 70)),
    *('""', '"x"', "[]", "{}", "[[]]", '[1, "a"]', "[" * 2000, ""),
)
"""What a value of JSON becomes."""


@cache
def _npz() -> bytes:
    buffer = io.BytesIO()
    random = np.random.default_rng(0)
    np.savez(
        buffer,
        scores=random.integers(0, 256, (1, 3), np.uint8),
        conv=random.integers(-128, 128, (1, 2, 2, 2), np.int8),
        image=random.integers(-128, 128, (1, 2, 2, 1), np.int8),
    )
    return buffer.getvalue()


def _npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1))
    return buffer.getvalue()


def _dump() -> bytes:
    arrays = {"scores": {"array": [[1, 2, 3]], "dtype": "uint8"}, "conv": [1, 2]}
    return json.dumps([arrays]).encode()


@cache
def _bytecode() -> bytes:
    tool = find_mlir_opt()
    assert tool is not None
    command = [tool, "--emit-bytecode", "--allow-unregistered-dialect"]
    text = TOSA_LAYER.read_bytes()
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


_SUM = """\
module {
  func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi32> {
    %a = tosa.cast %x : (tensor<1x4xi8>) -> tensor<1x4xi32>
    %b = tosa.cast %y : (tensor<1x4xi8>) -> tensor<1x4xi32>
    %z = tosa.add %a, %b : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
    return %z : tensor<1x4xi32>
  }
}
"""
"""TOSA that has a file's form: its layers' names and open shapes have none."""


def _flatbuffer(folder: Path) -> bytes:
    (folder / "sum.mlir").write_text(_SUM)
    return serialize(folder / "sum.mlir", folder / "sum.tosa")


def prepare(folder: Path) -> None:
    """Write what the commands read besides the file."""
    (folder / MODEL).write_text(SMALL_MODEL)
    (folder / "x.npy").write_bytes(_npy())
    np.savez(folder / "data.npz", image=np.zeros((20, 2, 2, 1), np.int8))


def kinds(folder: Path) -> dict[str, Kind]:
    """Every kind; `folder` was prepared, and the tools that some need are there."""

    def drawn(cases: dict[str, Callable[[], bytes]]) -> Bytes:
        return lambda choice: cases[choice.choice(sorted(cases))]()

    onnx = {name: lambda c=case: c().build() for name, case in ONNX_CASES.items()}
    pt2 = {name: lambda c=case: c().build() for name, case in REAL.items()}
    found = {
        "tflite": Kind(
            ".tflite",
            drawn(dict(TFLITE_CASES)),
            READ_MODEL,
            lambda _, choice: tflite_mutants.mutant(choice.getrandbits(40)),
        ),
        "onnx": Kind(".onnx", drawn(onnx), READ_MODEL, onnx_mutants.mutant),
        "pt2": Kind(".pt2", drawn(pt2), READ_MODEL, pt2_mutants.mutant),
        **{kind: _text(kind) for kind in mutant_originals.KINDS},
        "npz": Kind(".npz", lambda _: _npz(), READ_ARRAYS),
        "npy": Kind(".npy", lambda _: _npy(), READ_ARRAYS),
        "json": Kind(".json", lambda _: _dump(), READ_ARRAYS[1:3], _json),
        "checkpoint": Kind(
            ".json",
            lambda _: (folder / "state.json").read_bytes(),
            ((*RESUME, "--resume", "FILE"),),
            _json,
        ),
    }
    if find_mlir_opt() is not None:
        found["mlirbc"] = Kind(".mlirbc", lambda _: _bytecode(), READ_MODEL)
    return found


def with_flatbuffer(found: dict[str, Kind], folder: Path) -> None:
    """Add TOSA's files, for which tosa-opt is asked."""
    whole = _flatbuffer(folder)
    found["tosa file"] = Kind(".tosa", lambda _: whole, READ_MODEL)


def write_checkpoint(folder: Path) -> None:
    """A checkpoint that is well, made where the prepared files are."""
    assert main([*RESUME, "--resume", str(folder / "state.json")]) == 0
