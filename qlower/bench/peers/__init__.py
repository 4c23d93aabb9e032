"""Other runtimes to compare with: one file each, with a function `prepare`.

None of them is needed; one that isn't installed or can't run a model raises
`Unavailable` with what to say about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from qlower.model.signature import Array

Call: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Prepared:
    """A model that is ready to run: `call` runs it on inputs which lie ready.

    `outputs` runs it and gives what it computes of qlower's inputs; None where the peer
    has inputs of its own.
    """

    call: Call
    outputs: Callable[[], Sequence[Array]] | None = None


Prepare: TypeAlias = Callable[[Path, Sequence[Array], int], Prepared]
"""From a model's file, inputs as qlower takes them and a number of threads."""


class Unavailable(Exception):
    """A peer can't be measured; the message says why."""


@dataclass(frozen=True)
class Peer:
    """The package that a peer needs, the files it reads, and the contract that has the
    arithmetic of what it does with them, where there is one."""

    package: str
    suffixes: Sequence[str]
    contract: str | None = None


PEERS = {
    "litert": Peer("ai-edge-litert", (".tflite",), "tflite-xnnpack"),
    "mnn": Peer("mnn", (".mnn",)),
    "ncnn": Peer("ncnn", (".param",)),
    "onnxruntime": Peer("onnxruntime", (".onnx",)),
    "openvino": Peer("openvino", (".tflite", ".onnx")),
    "torch": Peer("torch", (".pt2",)),
}
"""Peers by name."""


def prepare_peer(
    name: str, model: Path, file: Path | None, inputs: Sequence[Array], threads: int
) -> Prepared:
    """A model on a peer.

    `file` is the peer's form of the model; by default it is looked for next to `model`,
    with the same stem. Raises Unavailable.
    """
    suffixes = PEERS[name].suffixes
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
    return version(PEERS[name].package)


def import_peer(name: str, module: str) -> ModuleType:
    """A module of a peer's package; Unavailable if it isn't installed."""
    try:
        return import_module(module)
    except ImportError as error:
        package = PEERS[name].package
        raise Unavailable(f"not installed (pip install {package})") from error
