"""What commands read besides models: dumps, labels, pictures, and what commands wrote.

Each kind is made of files that are well, of the small model; see `hostile_files`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from qlower.cli import main

from .array_damage import damaged_npy, damaged_npz, npy
from .damage import damaged
from .hostile_files import (
    FOLDER,
    MODEL,
    OPEN,
    READ_ARRAYS,
    STRING,
    UNSAID,
    Bytes,
    Kind,
)
from .json_damage import damaged_json

RESUME = ("validate", MODEL, "--data", "data.npz", "--contract", "tflite,exact")
READ_DUMP = (
    *4 * (("diff", "FILE", "tflite", MODEL, "--input", "x.npy"),),
    ("identify", "FILE", MODEL, "--input", "x.npy", "--contract", "tflite"),
    (*READ_ARRAYS[-1][:-1], "x.npy", "--against", "FILE"),
)
READ_LABELS = (("validate", MODEL, "--data", "data.npz", "--labels", "FILE"),)
PICTURE_MODEL = "picture.mlir"
READ_PICTURES = (
    ("validate", PICTURE_MODEL, "--data", "FILE"),
    ("validate", PICTURE_MODEL, "--data", "FILE", "--resize", "2", "--crop", "2"),
)

QUESTIONS = (
    ("--equal", "tflite", "exact"),
    ("--accumulator-bits", "16"),
    ("--native", "--cpu", "x86-64"),
    ("--groups",),
)
"""What `verify` is asked; the last takes long to be checked again."""


def kinds(folder: Path) -> dict[str, Kind]:
    """Every kind; `folder`, which is the working directory, was prepared."""
    found = {
        "dump": Kind(".json", lambda _: _dump(), READ_DUMP, damaged_json),
        "dump folder": Kind(FOLDER, lambda _: _dumps(), READ_DUMP, _in_folder),
        "checkpoint": _checkpoint(folder),
        "certificate": _certificates(folder),
        "sets": Kind(FOLDER, lambda _: _shards(), _data(), _in_folder),
        "labels json": Kind(".json", lambda _: _LABELS, READ_LABELS, damaged_json),
        "labels text": Kind(".csv", lambda _: _LINES, READ_LABELS, _lines),
        "labels npy": Kind(".npy", lambda _: _classes(), READ_LABELS, damaged_npy),
        "metric": Kind(".py", lambda _: _METRIC, (_metric(),), _lines),
        "vectors": _vectors(folder),
        "cache": _cache(folder),
        "library": _library(folder),
    }
    for name, (texts, command) in ARGUMENTS.items():
        found[name] = Kind(STRING, _one_of(texts), (command,), _argument)
    if find_spec("PIL") is not None:
        found["pictures"] = _pictures(folder)
        found["class names"] = _class_names()
    if find_spec("pyarrow") is not None:
        found["parquet"] = Kind(".parquet", lambda _: _table(folder), _data())
    if find_spec("onnx") is not None:
        found["tensor proto"] = Kind(".pb", lambda _: _proto(), READ_DUMP, _tensor)
    return found


def _one_of(texts: Sequence[str]) -> Bytes:
    return lambda choice: choice.choice(texts).encode()


def _data() -> Sequence[Sequence[str]]:
    return (("validate", MODEL, "--data", "FILE"),)


# Dumps


def _results() -> dict[str, Any]:
    return {
        "scores": np.array([[128, 3, 255]], np.uint8),
        "conv": np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2),
    }


def _dump() -> bytes:
    """Results as Polygraphy writes them."""
    outputs = {
        name: {"values": {"array": base64.b64encode(npy(array)).decode()}}
        for name, array in _results().items()
    }
    return json.dumps([["runner", [{"outputs": outputs, "runtime": 0.5}]]]).encode()


def _dumps() -> bytes:
    files = {f"{name}.npy": npy(array) for name, array in _results().items()}
    return _zipped({**files, "deep/a.json": _dump(), "notes.txt": b"x"})


def _proto() -> bytes:
    onnx: Any = import_module("onnx")
    scores = _results()["scores"]
    return onnx.numpy_helper.from_array(scores, "scores").SerializeToString()


def _tensor(data: bytes, choice: random.Random) -> bytes:
    """Another type, shape, name or place of the elements."""
    onnx: Any = import_module("onnx")
    tensor = onnx.TensorProto.FromString(data)
    number = choice.choice((0, 1, -1, 3, 1 << 31, 1 << 62, -(1 << 63)))
    match choice.randrange(7):
        case 0:
            tensor.data_type = choice.randrange(30)
        case 1:
            tensor.dims[choice.randrange(2)] = number
        case 2:
            tensor.dims.append(number)
        case 3:
            tensor.raw_data = tensor.raw_data * choice.choice((0, 2, 99))
        case 4:
            tensor.name = choice.choice(("", "conv", "\n", "x" * 9999))
        case 5:
            tensor.ClearField("raw_data")
            tensor.int64_data.extend([number] * choice.randrange(9))
            tensor.float_data.extend([0.5] * choice.randrange(4))
        case _:
            tensor.external_data.add(key="location", value="../x")
    return tensor.SerializeToString()


# Sets of examples


def _shards() -> bytes:
    image = np.zeros((4, 2, 2, 1), np.int8)
    return _zipped({"image.npy": npy(image), "label.npy": npy(image[:, 0, 0, 0])})


def _classes() -> bytes:
    return npy(np.arange(20) % 3)


_LABELS = json.dumps(
    [*(0, 1, [2], [0, 1], None, {"label": 1}, {"labels": [1, 2]}), *range(3)] * 2
).encode()
_LINES = b"".join(b"%d\n" % (number % 3) for number in range(20))
_METRIC = b"""\
def metric(outputs, classes):
    scores = outputs[0]
    return {"largest": float(scores.max()), "count": len(classes or ())}
"""


def _metric() -> Sequence[str]:
    return (*_data()[0][:2], "--data", "data.npz", "--metrics", "FILE:metric")


def _table(folder: Path) -> bytes:
    path = folder / "table.parquet"
    if not path.exists():
        arrow: Any = import_module("pyarrow")
        rows = [[n, 0, -n, 1] for n in range(20)]
        table = arrow.table({"image": rows, "label": [n % 3 for n in range(20)]})
        import_module("pyarrow.parquet").write_table(table, path)
    return path.read_bytes()


def _pictures(folder: Path) -> Kind:
    _write_picture_model(folder)
    image: Any = import_module("PIL.Image")
    files: dict[str, bytes] = {}
    for number, kind in enumerate(("png", "jpeg", "bmp", "gif")):
        buffer = io.BytesIO()
        pixels = np.full((3, 4, 3), 40 * number, np.uint8)
        image.fromarray(pixels).save(buffer, kind)
        files[f"class {number % 2}/{number}.{kind}"] = buffer.getvalue()
    whole = _zipped(files)
    return Kind(FOLDER, lambda _: whole, READ_PICTURES, _in_folder)


def _class_names() -> Kind:
    command = (*READ_PICTURES[0][:2], "--data", "pictures", "--class-names", "FILE")
    return Kind(".txt", lambda _: b"class 0\nclass 1\n", (command,), _lines)


def _write_picture_model(folder: Path) -> None:
    (folder / PICTURE_MODEL).write_text(_PICTURE)
    image: Any = import_module("PIL.Image")
    for name in ("class 0", "class 1"):
        (folder / "pictures" / name).mkdir(parents=True)
        pixels = np.full((2, 2, 3), 40, np.uint8)
        image.fromarray(pixels).save(folder / "pictures" / name / "x.png")


_PICTURE = """\
!q = !quant.uniform<i8:f32, 0.5:-128>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x2x3x!q> {qnn.name = "x"})
      -> (tensor<1x12x!q> {qnn.name = "y"}) {
    %y = qnn.reshape %x : (tensor<1x2x2x3x!q>) -> tensor<1x12x!q>
    return %y : tensor<1x12x!q>
  }
}
"""


# What commands wrote


def _checkpoint(folder: Path) -> Kind:
    state = folder / "state.json"
    assert main([*RESUME, "--resume", str(state)]) == 0
    whole = state.read_bytes()
    return Kind(
        ".json", lambda _: whole, ((*RESUME, "--resume", "FILE"),), damaged_json
    )


def _certificates(folder: Path) -> Kind:
    written: list[bytes] = []
    for question in QUESTIONS:
        path = folder / "verdict.json"
        main(["verify", MODEL, *question, "-o", str(path)])
        written.append(path.read_bytes())
    check = ("verify", MODEL, "--check", "FILE")
    return Kind(
        ".json",
        lambda choice: choice.choices(written, (16, 16, 2, 1))[0],
        (check, (*check, "--sample", "1")),
        damaged_json,
    )


def _vectors(folder: Path) -> Kind:
    """A folder of test vectors, in which other files than of layers are, too."""
    assert main(["vectors", MODEL, "-o", "well"]) == 0
    whole = _zipped(_files(folder / "well"))
    layer = Path("FILE", "02-scores")
    commands = (
        *READ_DUMP,
        ("validate", MODEL, "--data", f"{layer}/output.npy"),
        ("run", MODEL, "--input", "FILE/00-conv/input.npy"),
        ("diff", "FILE/00-conv/layer.json", "tflite", MODEL, "--input", "x.npy"),
        ("diff", f"{layer}/output.npy", "tflite", MODEL, "--input", "x.npy"),
    )
    return Kind(FOLDER, lambda _: whole, commands, _in_folder)


def _cache(folder: Path) -> Kind:
    """A whole cache: what it has that is damaged is made again."""
    read = ("QLOWER_CACHE_DIR=FILE", "run", MODEL, "--input", "x.npy")
    before = os.environ.get("QLOWER_CACHE_DIR")
    os.environ["QLOWER_CACHE_DIR"] = str(folder / "well-cache")
    try:
        assert main(read[1:]) == 0
    finally:
        if before is None:
            del os.environ["QLOWER_CACHE_DIR"]
        else:
            os.environ["QLOWER_CACHE_DIR"] = before
    whole = _zipped(_files(folder / "well-cache"))
    return Kind(FOLDER, lambda _: whole, (read,), _entries, is_healed=True)


def _entries(data: bytes, choice: random.Random) -> bytes:
    """Entries damaged, cut, empty, under others' names, or gone."""
    files = _unzipped(data)
    for _ in range(choice.choice((1, 2, len(files)))):
        # The object of the whole model hides all of its parts.
        names = [*files, *(3 * [name for name in files if name.endswith(".qo")])]
        name = choice.choice(names)
        old = files[name]
        match choice.randrange(6):
            case 0:
                files[name] = old[: choice.randrange(len(old) + 1)]
            case 1:
                files[name] = files[choice.choice([*files])]
            case 2:
                files[name] = old + b"x"
            case 3 if len(files) > 1:
                del files[name]
            case _:
                files[name] = damaged(old, choice) if len(old) > 4 else b"?"
    return _zipped(files)


def _library(folder: Path) -> Kind:
    """A shared library whose description of the model says something else."""
    assert main(["compile", MODEL, "-o", "lib", "--emit", "shared"]) == 0
    (path,) = (folder / "lib").glob("*.so")
    whole = path.read_bytes()
    start = whole.index(b'{"arena_alignment"')
    end = whole.index(b"\0", start)

    def other(_: bytes, choice: random.Random) -> bytes:
        new = damaged_json(whole[start:end], choice)[: end - start]
        text = whole[:start] + new.ljust(end - start) + whole[end:]
        return _zipped({path.name: text})

    return Kind(FOLDER, lambda _: b"", (("LOAD", "FILE"),), other)


# Text on the command line


ARGUMENTS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "--shape": (
        ("image=1x4x4x4", "image=2x4x4x4"),
        ("import", OPEN, "--shape", "FILE"),
    ),
    "--outputs": (("conv,scores", "flat"), ("import", MODEL, "--outputs", "FILE")),
    "--layer-contract": (
        ("conv=tflite", "lin*=exact", "0=./small.mlir", "[cs]*=tvm"),
        ("run", MODEL, "--input", "x.npy", "--layer-contract", "FILE"),
    ),
    "--contract": (
        ("tflite,exact", "pow2-shift", "tvm", "./small.mlir"),
        ("validate", MODEL, "--data", "data.npz", "--contract", "FILE"),
    ),
    "--layer": (("conv", "0", "[cs]*", "*"), ("inspect", MODEL, "--layer", "FILE")),
    "--at": (
        ("conv[0,1,0,1]", "scores[n=0,c=1]", "0[h=1,w=1,n=0,c=0]"),
        ("trace", MODEL, "--input", "x.npy", "--at", "FILE"),
    ),
    "--input": (("image=x.npy", "x.npy"), ("run", MODEL, "--input", "FILE")),
    "sides": (
        ("tflite:interp", "exact", "x.npy", MODEL, "jit", "x86-64-v3", "litert"),
        ("diff", "FILE", "tflite", MODEL, "--input", "x.npy"),
    ),
    "--features": (
        ("+avx2,-fma", "-sse3"),
        ("inspect", MODEL, "--at", "kernel", "--cpu", "x86-64-v3", "--features=FILE"),
    ),
    "--target": (
        ("aarch64-linux-gnu", "thumbv7em-none-eabi", "x86_64-linux-gnu"),
        ("inspect", MODEL, "--at", "kernel", "--target", "FILE"),
    ),
    "--name": (
        ("net", "a_1"),
        ("compile", MODEL, "-o", "made", "--emit", "header", "--name", "FILE"),
    ),
    "--min-top1": (
        ("0.5", "90%"),
        (*READ_LABELS[0][:-1], "labels.npy", "--min-top1", "FILE"),
    ),
    "--accumulator-bits": (
        ("16", "2"),
        ("verify", MODEL, "--accumulator-bits", "FILE"),
    ),
    "passes": (
        ("form-kernels,check-defined", "lower-qnn-to-linalg"),
        ("qlower-opt", MODEL, "-p", "FILE"),
    ),
    "megabytes": (
        ("1024", "1"),
        ("QLOWER_CACHE_MEGABYTES=FILE", "run", MODEL, "--input", "x.npy"),
    ),
}  # fmt: skip
"""Text that is given as an option, and the command that it is given to."""

_LETTERS = "=,.:[]{}()*?-+x/\\%$~'\"# 019\n\t\u202e\x1b\u00e9"


_WORDS = ("9" * 30, "9" * 4400, "1e9", "-1", "nan", "x" * 300, "..")


def _argument(data: bytes, choice: random.Random) -> bytes:
    """Letters dropped, doubled, exchanged or put in; a number that is another."""
    text = data.decode()
    for _ in range(choice.choice((1, 1, 2, 3))):
        place = choice.randrange(len(text) + 1)
        new = choice.choice(
            (*_LETTERS, "9" * 30, "9" * 4400, "1e9", "-1", "nan", "x" * 300, "..")
        )
        match choice.randrange(4):
            case 0:
                text = text[:place] + text[place + 1 :]
            case 1:
                text = text[:place] + text[place:] * 2
            case _:
                text = text[:place] + new + text[place + choice.randrange(2) :]
    return text[:5000].encode()


def _lines(data: bytes, choice: random.Random) -> bytes:
    """Lines dropped, doubled, exchanged, or with letters that don't belong there."""
    lines = data.split(b"\n")
    for _ in range(choice.choice((1, 1, 2, 3))):
        place = choice.randrange(len(lines))
        match choice.randrange(5):
            case 0 if len(lines) > 1:
                del lines[place]
            case 1:
                lines.insert(place, choice.choice(lines))
            case 2:
                choice.shuffle(lines)
            case _:
                lines[place] = choice.choice(_OTHER_LINES) + lines[place]
    return b"\n".join(lines)


_OTHER_LINES = (
    *(b"", b"-", b"9" * 30, b"9" * 5000, b"0.5", b"nan", b" ", b"\t", b'"', b","),
    *(b"1,2", b"\xff\xfe", b"\0", "\u0661".encode(), "\u00b2".encode(), b"x" * 100_000),
)  # fmt: skip


# Folders


def _in_folder(data: bytes, choice: random.Random) -> bytes:
    """One file or two damaged as their kind is, renamed, doubled or gone."""
    files = _unzipped(data)
    for _ in range(choice.choice((1, 1, 2))):
        name = choice.choice([*files])
        match choice.randrange(8):
            case 0 if len(files) > 1:
                del files[name]
            case 1:
                suffix = choice.choice((".npy", ".npz", ".json", ".pb", ".png", ""))
                files[os.path.splitext(name)[0] + suffix] = files.pop(name)
            case 2:
                files[f"again/{name}"] = files[name]
            case 3:
                files[name] = files[name][: choice.randrange(len(files[name]) + 1)]
            case _:
                files[name] = _damaged_file(name, files[name], choice)
    return _zipped(files)


def _damaged_file(name: str, data: bytes, choice: random.Random) -> bytes:
    suffix = os.path.splitext(name)[1]
    if len(data) < 5:
        return b"?"
    try:
        return _CHANGES.get(suffix, damaged)(data, choice)
    except (*UNSAID, zipfile.BadZipFile):
        return damaged(data, choice)


_CHANGES: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    ".npy": damaged_npy,
    ".npz": damaged_npz,
    ".json": damaged_json,
}


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
