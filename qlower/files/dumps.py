"""Dumps: what other tools write of a model's layers, as arrays by name.

x.npz, x.npy               numpy's, as of `--save-layers`
x.json                     Polygraphy's `--save-outputs`, or any arrays encoded so
x.tensorproto, x.pb        ONNX Runtime's dumps of nodes, ONNX test data
folder                     any of these; a file without names is called by its path
"""

from __future__ import annotations

import base64
import binascii
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array, read_arrays, read_npy
from qlower.files.json_text import parse_json
from qlower.files.tensor_proto import read_tensor_proto

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

SUFFIXES = (".npz", ".npy", ".json", ".tensorproto", ".pb")


def read_dump(path: Path) -> list[dict[str, Array]]:
    """The arrays of a file or folder by name, for each run that it has.

    Raises `QlowerError`, which names the file, for one that can't be read, holds
    pickled objects, or has no arrays.
    """
    if os.path.isdir(path):
        return [_read_folder(path)]
    if path.suffix not in SUFFIXES:
        raise QlowerError(
            f"{path}: unknown kind of dump {path.suffix or '(no suffix)'!r}",
            help=f"dumps are {', '.join(SUFFIXES)} files or folders of them",
        )
    if path.suffix in (".npz", ".npy"):
        runs = [read_arrays(path)]
    else:
        try:
            data = path.read_bytes()
            runs = (
                _read_json(data)
                if path.suffix == ".json"
                else [_read_proto(path, data)]
            )
        except OSError as error:
            raise QlowerError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            reason = str(error).split("\n")[0] or "it is nested too deeply"
            raise QlowerError(f"cannot read {path}: {reason}") from error
    if not any(runs):
        raise QlowerError(f"{path} has no arrays")
    return runs


def _read_folder(folder: Path) -> dict[str, Array]:
    found: dict[str, Array] = {}
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    if not files:
        raise QlowerError(
            f"{folder} has no dumps", help=f"they are {', '.join(SUFFIXES)} files"
        )
    for path in files:
        inner = path.relative_to(folder).with_suffix("").as_posix()
        (arrays, *more) = read_dump(path)
        if more:
            raise QlowerError(
                f"{path} has {len(more) + 1} runs, one of a folder has one"
            )
        for name, array in arrays.items():
            found[inner if name == path.stem else name] = array
    return found


def _read_proto(path: Path, data: bytes) -> dict[str, Array]:
    name, array = read_tensor_proto(data)
    return {name or path.stem: array}


def _read_json(data: bytes) -> list[dict[str, Array]]:
    content = cast("Json", parse_json(data))
    runs = list(_outputs(content))
    if not runs:
        raise ValueError("it has no outputs as Polygraphy writes them")
    return [
        {name: array for name, value in outputs.items() for array in _arrays(value)}
        for outputs in runs
    ]


def _outputs(content: Json) -> Iterator[Mapping[str, Json]]:
    """The outputs of each iteration, wherever they are."""
    if isinstance(content, list):
        for entry in content:
            yield from _outputs(entry)
    elif isinstance(content, dict):
        outputs = content.get("outputs")
        if isinstance(outputs, dict):
            yield outputs
        else:
            yield from _outputs(list(content.values()))


def _arrays(value: Json) -> Iterator[Array]:
    """The array that an output holds: `{"values": {"array": base64 of an .npy}}`."""
    while isinstance(value, dict):
        encoded = value.get("array")
        if isinstance(encoded, str):
            try:
                data = base64.b64decode(encoded, validate=True)
            except binascii.Error as error:
                raise ValueError(f"an array isn't base64: {error}") from error
            yield read_npy(io.BytesIO(data), len(data))
            return
        value = value.get("values")
