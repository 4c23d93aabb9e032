"""ResNet8, improved on a tiny folder in CIFAR-10's format."""

from __future__ import annotations

import pickle
import runpy
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support import models_directory

import qlower
from qlower.diagnostics import QlowerError

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples/cifar/improve_resnet8.py"
MODEL = models_directory() / "ic_resnet8_int8" / "model.tflite"


class OldPickler(pickle._Pickler):  # pyright: ignore[reportPrivateUsage]
    """Writes strings and bytes as Python 2 did, which wrote the real files."""

    write: Any
    memoize: Any

    def save_string(self, value: bytes | str) -> None:
        data = value.encode() if isinstance(value, str) else value
        self.write(b"T" + struct.pack("<i", len(data)) + data)
        self.memoize(value)

    dispatch: ClassVar[dict[Any, Any]] = {
        **pickle._Pickler.dispatch,  # pyright: ignore[reportPrivateUsage]
        bytes: save_string,
        str: save_string,
    }


def write(path: Path, content: object) -> None:
    with path.open("wb") as file:
        OldPickler(file, 2).dump(content)
    found = path.read_bytes().replace(b"numpy._core.", b"numpy.core.")
    path.write_bytes(found)


def write_folder(folder: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ("data_batch_1", "test_batch"):
        data = random.integers(0, 256, (16, 3072), np.uint8)
        labels = random.integers(0, 10, 16).tolist()
        write(folder / name, {b"data": data, b"labels": labels})
    return folder


@pytest.mark.long
def test_a_better_file_is_written(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    if not MODEL.exists():
        pytest.skip(f"there is no {MODEL.parent.name} in QLOWER_MODELS")
    better = tmp_path / "better.tflite"
    line = [sys.executable, SCRIPT, "--cifar", write_folder(tmp_path), "--model", MODEL]
    line += ["--contract", "pow2-shift", "-o", better]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("to")) == (0, 4), done.stderr
    assert qlower.load(better).inputs == qlower.load(MODEL).inputs


class Command:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return subprocess.run, ("true",)


def test_what_is_no_batch_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    read_batch = runpy.run_path(str(SCRIPT))["read_batch"]
    path = tmp_path / "data_batch_1"
    with pytest.raises(QlowerError, match=r"data_batch_1.* cifar-10-batches-py"):
        read_batch(path)
    for content, reason in (
        ({b"data": Command(), b"labels": [0]}, r"asks for commands\.run"),
        ({b"data": np.zeros((1, 3072), "int8"), b"labels": [0]}, "not of bytes"),
        ({b"data": np.zeros((1, 30), "uint8"), b"labels": [0]}, "reshape"),
        ([], "list"),
    ):
        write(path, content)
        with pytest.raises(QlowerError, match=reason):
            read_batch(path)


def test_images_have_channels_last(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    data = np.arange(2 * 3072).astype(np.uint8).reshape(2, 3072)
    write(tmp_path / "test_batch", {b"data": data, b"labels": [3, 9]})
    images, labels = runpy.run_path(str(SCRIPT))["read_batch"](tmp_path / "test_batch")
    assert labels == [3, 9]
    assert images[1, 4, 5].tolist() == data[1, 4 * 32 + 5 :: 1024].tolist()
