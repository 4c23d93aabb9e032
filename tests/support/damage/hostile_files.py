"""Files of every kind that commands read, damaged, and the commands that read them."""

from __future__ import annotations

import io
import random
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from struct import error
from tokenize import TokenError

import numpy as np

from ..formats.espdl_files import network
from ..formats.ncnn_files import every_layer
from ..formats.onnx_cases import CASES as ONNX_CASES
from ..formats.onnx_singles import SINGLES
from ..formats.pt2_cases import REAL
from ..formats.tflite_cases import CASES as TFLITE_CASES
from ..formats.tosa import TOSA_LAYER, serialize
from ..formats.tpu_files import network as tpu_network
from ..layers.small_model import SMALL_MODEL
from ..systems.upstream import find_mlir_opt
from . import mutant_originals, onnx_mutants, pt2_mutants, tflite_mutants
from .array_damage import damaged_npy, damaged_npz
from .damage import Damage, damaged
from .field_damage import onnx_mutant, tflite_mutant
from .mutants import mutate

MODEL = "small.mlir"
"""A model that is well, in the folder of the commands."""

OPEN = "open.mlir"
"""A model whose batch is left open."""

_READ = (
    ("run", "FILE", "--random"),
    ("run", "FILE", "--random", "--executor", "interp"),
    ("import", "FILE", "-o", "out.mlir"),
    ("inspect", "FILE"),
    ("lint", "FILE"),
)
READ_MODEL = (
    *4 * _READ,
    ("import", "--check", "FILE"),
    ("import", "--generic", "FILE"),
    ("inspect", "FILE", "--stats"),
    ("inspect", "FILE", "--at", "kernel"),
    ("inspect", "FILE", "--at", "arith", "--contract", "exact"),
    ("verify", "FILE", "--accumulator-bits", "16"),
    ("verify", "FILE", "--equal", "tflite", "exact"),
    ("trace", "FILE", "--random", "--at", "0"),
    ("diff", "tflite", "exact", "FILE", "--random"),
    ("diff", "FILE", MODEL, "--random"),
    ("run", "FILE", "--random", "--save-layers", "layers.npz"),
    ("compile", "FILE", "-o", "made", "--emit", "obj,header,c-example"),
    ("vectors", "FILE", "-o", "vectors", "--files", "hex,c"),
    ("report", "FILE", "-o", "out.html", "--no-native"),
    ("validate", "FILE", "--data", "data.npz"),
)
"""Mostly what every command does with a model; and what some do besides."""

READ_ARRAYS = (
    *4
    * (
        ("run", MODEL, "--input", "FILE"),
        ("validate", MODEL, "--data", "FILE"),
        ("lint", MODEL, "--input", "FILE"),
    ),
    ("diff", "FILE", "tflite", MODEL, "--input", "x.npy"),
    ("bisect", MODEL, "FILE"),
    ("trace", MODEL, "--input", "FILE", "--at", "conv[0,0,0,0]"),
    ("identify", "FILE", MODEL, "--input", "x.npy", "--contract", "tflite"),
    ("report", MODEL, "-o", "out.html", "--no-native", "--input", "FILE"),
)
READ_CONTRACT = (
    ("run", MODEL, "--random", "--contract", "FILE"),
    ("run", MODEL, "--random", "--layer-contract", "conv=FILE"),
    ("contracts", "show", "FILE", "--plain"),
    ("contracts", "show", "FILE"),
    ("inspect", MODEL, "--at", "arith", "--contract", "FILE"),
    ("verify", MODEL, "--accumulator-bits", "20", "--contract", "FILE"),
    ("lint", MODEL, "--contract", "FILE"),
)
READ_TEXT = (*READ_MODEL, *4 * (("qlower-opt", "FILE"),))

Bytes = Callable[[random.Random], bytes]

FOLDER, STRING = "", "."
"""Suffixes of kinds that are no file: a folder, whose bytes are those of an archive of
it, and text on the command line."""


UNSAID = (
    *(TypeError, ValueError, OverflowError, IndexError, AttributeError, error),
    *(EOFError, SyntaxError, TokenError),  # by NumPy, of what was damaged before
)
"""Raised by what writes a file that can't say something."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: a whole one, a damaged one, and what reads it.

    A command may begin with `NAME=VALUE`, which is a variable of the environment. Where
    `is_healed`, damage is no reason to fail: the command prints what it printed before.
    """

    suffix: str
    whole: Bytes
    commands: Sequence[Sequence[str]]
    change: Damage = damaged
    is_healed: bool = False

    def mutant(self, choice: random.Random) -> bytes:
        """A file with a few changes, or cut, or with an end of another."""
        data = self.whole(choice)
        if self.suffix == FOLDER:
            return self.change(data, choice)
        match choice.randrange(10):
            case 0:
                return data[: choice.randrange(len(data) + 1)]
            case 1 | 2:
                return damaged(data, choice) if len(data) > 4 else data
            case _:
                try:
                    return self.change(data, choice)
                except UNSAID:
                    return damaged(data, choice)  # it can't say that

    def put(self, path: Path, data: bytes) -> str:
        """Write a file or folder; returns what stands for it in a command."""
        if self.suffix == STRING:
            return data.decode(errors="replace").replace("\0", "")
        if self.suffix != FOLDER:
            path.write_bytes(data)
        else:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                archive.extractall(path)
        return str(path)


class _Ncnn(Kind):
    """A `.param` file and the `.bin` file beside it, with `BETWEEN` between them."""

    BETWEEN = b"\n#\n"

    def put(self, path: Path, data: bytes) -> str:
        layers, _, weights = data.partition(self.BETWEEN)
        path.write_bytes(layers)
        path.with_suffix(".bin").write_bytes(weights)
        return str(path)


def _ncnn(choice: random.Random) -> bytes:
    file = every_layer(choice.randrange(4))
    return file.text.encode() + _Ncnn.BETWEEN + file.weights


def _changed_ncnn(data: bytes, choice: random.Random) -> bytes:
    """Change words of the text, or bytes of the weights."""
    layers, between, weights = data.partition(_Ncnn.BETWEEN)
    if choice.random() < 0.2:
        return layers + between + damaged(weights, choice)
    words = layers.split(b" ")
    for _ in range(choice.randrange(1, 4)):
        at = choice.randrange(len(words))
        name, equals, _ = words[at].partition(b"=")
        number = choice.choice(
            (b"0", b"-1", b"-233", b"3", b"1.5", b"999999999", b"64")
        )
        words[at] = name + equals + number if equals else choice.choice(words)
    return b" ".join(words) + between + weights


class _Tpu(_Ncnn):
    """A text of TPU-MLIR and the `.npz` file that it names."""

    def put(self, path: Path, data: bytes) -> str:
        text, _, weights = data.partition(self.BETWEEN)
        beside = path.with_suffix(".npz")
        path.write_bytes(text.replace(b"model_w.npz", beside.name.encode()))
        beside.write_bytes(weights)
        return str(path)


@cache
def _tpu(seed: int) -> bytes:
    file, _ = tpu_network(seed)
    buffer = io.BytesIO()
    np.savez(buffer, **file.weights)
    return file.text("y").encode() + _Tpu.BETWEEN + buffer.getvalue()


def _changed_tpu(data: bytes, choice: random.Random) -> bytes:
    text, between, weights = data.partition(_Tpu.BETWEEN)
    if choice.random() < 0.1:
        return text + between + damaged_npz(weights, choice)
    return _mutated(text, choice) + between + weights


def _text(kind: str) -> Kind:
    def whole(choice: random.Random) -> bytes:
        text = mutant_originals.draw(kind, choice)
        return text.split(mutant_originals.SEPARATOR)[-1].encode()

    is_contract = kind == "contract"
    return Kind(".mlir", whole, READ_CONTRACT if is_contract else READ_TEXT, _mutated)


def _mutated(data: bytes, choice: random.Random) -> bytes:
    text = mutate(data.decode(), choice)
    if choice.random() < 0.1:
        place = choice.randrange(len(text) + 1)
        text = text[:place] + choice.choice(_INSERTED) + text[place:]
    return text.encode()


_INSERTED = (
    *("(" * 50_000, "[" * 3000, "{" * 3000, "<" * 3000, "tensor<" * 3000),
    *("9" * 5000, "-", '"', "\0", "\\", "#a = #a\n", "!t = tuple<!t, !t>\n"),
    *('loc(fused["a", "b"])', "dense<0x>", "affine_map<() -> (d0)>", "\u202e"),
    *("%x = ", "^bb0:\n", "}", "module {", "// -----\n", "0x", "1e999999", "@"),
)
"""Text that no token of the original is exchanged for."""


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


@cache
def _bytecode(text: str) -> bytes | None:
    """MLIR's bytecode of text; None for what mlir-opt doesn't read."""
    tool = find_mlir_opt()
    assert tool is not None
    command = [tool, "--emit-bytecode", "--allow-unregistered-dialect"]
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    return done.stdout if done.returncode == 0 else None


def _any_bytecode(choice: random.Random) -> bytes:
    """That of a module, or half of the time of a mutant of one, if that is read."""
    for _ in range(20):
        kind = choice.choice(("tosa", "tosa", "linalg", "stablehlo"))
        text = mutant_originals.draw(kind, choice)
        data = _bytecode(mutate(text, choice) if choice.random() < 0.5 else text)
        if data is not None:
            return data
    found = _bytecode(TOSA_LAYER.read_text())
    assert found is not None
    return found


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


def _flatbuffer(folder: Path) -> Bytes:
    """The file of a sum; half of the time of a mutant of it, if it has a file."""
    text, binary = folder / "sum.mlir", folder / "sum.tosa"
    text.write_text(_SUM)
    whole = serialize(text, binary)

    def drawn(choice: random.Random) -> bytes:
        if choice.random() < 0.5:
            return whole
        text.write_text(mutate(_SUM, choice))
        try:
            return serialize(text, binary)
        except (subprocess.CalledProcessError, FileNotFoundError):
            return whole

    return drawn


def prepare(folder: Path) -> None:
    """Write what the commands read besides the file."""
    (folder / MODEL).write_text(SMALL_MODEL)
    (folder / OPEN).write_bytes(TOSA_LAYER.read_bytes())
    (folder / "x.npy").write_bytes(_npy())
    np.save(folder / "labels.npy", np.arange(20) % 3)
    image = np.arange(80, dtype=np.int8).reshape(20, 2, 2, 1)
    np.savez(folder / "data.npz", image=image)


def _either(one: Damage, other: Damage) -> Damage:
    return lambda data, choice: (one, other)[choice.randrange(2)](data, choice)


def kinds(folder: Path) -> dict[str, Kind]:
    """Every kind; `folder` was prepared, and the tools that some need are there."""

    def drawn(cases: dict[str, Callable[[], bytes]]) -> Bytes:
        return lambda choice: cases[choice.choice(sorted(cases))]()

    onnx = {name: lambda c=case: c().build() for name, case in ONNX_CASES.items()}
    onnx |= {
        f"{number} {type}": lambda one=one, type=type: one.build(type).build()
        for number, one in enumerate(SINGLES)
        for type in ("i1", "u1")
    }
    pt2 = {name: lambda c=case: c().build() for name, case in REAL.items()}
    found = {
        "tflite": Kind(
            ".tflite",
            drawn(dict(TFLITE_CASES)),
            READ_MODEL,
            _either(
                lambda _, choice: tflite_mutants.mutant(choice.getrandbits(40)),
                tflite_mutant,
            ),
        ),
        "onnx": Kind(
            ".onnx", drawn(onnx), READ_MODEL, _either(onnx_mutants.mutant, onnx_mutant)
        ),
        "pt2": Kind(".pt2", drawn(pt2), READ_MODEL, pt2_mutants.mutant),
        "ncnn": _Ncnn(".param", _ncnn, READ_MODEL, _changed_ncnn),
        "espdl": Kind(
            ".espdl", lambda choice: network(choice.randrange(4)).build(), READ_MODEL
        ),
        "tpu": _Tpu(
            ".mlir", lambda choice: _tpu(choice.randrange(4)), READ_MODEL, _changed_tpu
        ),
        **{kind: _text(kind) for kind in mutant_originals.KINDS},
        "npz": Kind(".npz", lambda _: _npz(), READ_ARRAYS, damaged_npz),
        "npy": Kind(".npy", lambda _: _npy(), READ_ARRAYS, damaged_npy),
    }
    if find_mlir_opt() is not None:
        found["mlirbc"] = Kind(".mlirbc", _any_bytecode, READ_MODEL)
    return found


def with_flatbuffer(found: dict[str, Kind], folder: Path) -> None:
    """Add TOSA's files, for which tosa-opt is asked."""
    found["tosa file"] = Kind(".tosa", _flatbuffer(folder), READ_MODEL)
