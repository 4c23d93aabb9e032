"""Other runtimes to compare with: one file each, with a function `prepare`.

None of them is needed; one that isn't installed or can't run a model raises
`Unavailable` with what to say about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from qlower.model.signature import Array

Call: TypeAlias = Callable[[], object]

Prepare: TypeAlias = Callable[[Path, Sequence[Array], int], Call]
"""A model's file, inputs as qlower takes them and a number of threads, to a call that
runs the model on inputs which lie ready."""


class Unavailable(Exception):
    """A peer can't be measured; the message says why."""


PEERS = {
    "litert": ("ai-edge-litert", (".tflite",)),
    "onnxruntime": ("onnxruntime", (".onnx",)),
    "openvino": ("openvino", (".tflite", ".onnx")),
    "torch": ("torch", (".pt2",)),
}
"""Peers by name: the package they need, and the files they read."""


def prepare_peer(
    name: str, model: Path, file: Path | None, inputs: Sequence[Array], threads: int
) -> Call:
    """What runs a model on a peer.

    `file` is the peer's form of the model; by default it is looked for beside `model`,
    with the same stem. Raises Unavailable.
    """
    _, suffixes = PEERS[name]
    candidates = [file] if file else [model.with_suffix(end) for end in suffixes]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        names = " or ".join(str(path) for path in candidates)
        raise Unavailable(f"no model file for this peer ({names})")
    prepare: Prepare = import_module(f"{__name__}.{name}").prepare
    try:
        return prepare(found, inputs, threads)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise Unavailable(f"can't run {found}: {reason}") from error


def peer_version(name: str) -> str:
    """The version of a peer that is installed."""
    return version(PEERS[name][0])


def import_peer(name: str, module: str) -> ModuleType:
    """A module of a peer's package; Unavailable if it isn't installed."""
    try:
        return import_module(module)
    except ImportError as error:
        package, _ = PEERS[name]
        raise Unavailable(f"not installed (pip install {package})") from error
