"""Compiled objects in the cache, found again by what they were made of.

The name of an entry is a hash of all that decides its content before anything is read:
what is compiled, the target, the flavour, the versions and the text of the compiler,
the environment. The entry itself lists the files that the compilation read (contracts,
their bases, a model's external data), each with its hash. A compilation does the same
as long as each file that it comes to has the same content, so an entry is good if all
of its files still do. A file in the model's folder must have it in the folder of the
model that is compiled now, too.

Intermediate results for one layer each are kept, too, as parts: an entry each, by the
hash of all that it is made of. A model that differs in one layer finds those of all
others. One that differs in constants alone may not even need those (changed.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from itertools import accumulate
from pathlib import Path

from qlower.codegen.program.compiled import CompiledObject, Kernel
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import LOGGER
from qlower.files.contract_plugins import plugin_contracts
from qlower.kept.cache import (
    DIRECTORY,
    LIMIT,
    cache_folder,
    find_entry,
    keep_before_others,
    keep_entries,
    keep_entry,
)
from qlower.kept.installed import releases
from qlower.kept.journal import Journal
from qlower.kept.parts import digest_of, kept_in
from qlower.model.signature import Signature
from qlower.version import __version__

_PACKAGES = ("xdsl", "llvmlite", "numpy", "flatbuffers", "tflite", "onnx", "protobuf")
"""Packages that read models and make code, in addition to qlower itself."""

_BYTES_IN_MEMORY = 1 << 14
"""Bytes of the largest part that is written with all others, in the end; parts with
weights come to the size of the model."""

_NO_COMPILER = {"bench", "cli", "report"}
"""Rooms of qlower that have no say in what an object is."""


def cached(
    content: Sequence[bytes],
    target: Target,
    flavour: Flavour,
    journal: Journal,
    make: Callable[[], CompiledObject],
) -> CompiledObject:
    """The object made of `content` for `target`: from the cache, or by `make`.

    `content` and the files in the journal, in which `make` has to work, must decide
    what is made: `content` is the `fingerprint` of the module that is compiled, or the
    hash of a model file, with a name of the contract. Warnings of `make` are repeated.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = _place(folder, content, target, flavour)
    found = _find(path, target, flavour, journal)
    if found is None:
        with cached_parts():
            found = make()
        keep_entry(path, *_entry(found, journal))
    return found


def find_object(
    content: Sequence[bytes], target: Target, flavour: Flavour, journal: Journal
) -> CompiledObject | None:
    """The object that `cached` has, or None."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _place(folder, content, target, flavour)
    return _find(path, target, flavour, journal)


def _place(
    folder: Path, content: Sequence[bytes], target: Target, flavour: Flavour
) -> Path:
    """The file of an object."""
    identity = (target.identity.encode(), repr(flavour).encode())
    return folder / f"{_key('model', (*identity, *content))}.qo"


@contextmanager
def cached_parts() -> Generator[None]:
    """While the block runs, find parts of what is compiled in the cache; at its end,
    add the new ones."""
    folder = cache_folder()
    if folder is None:
        yield
        return
    parts = _Parts(folder)
    with kept_in(parts):
        yield
    keep_entries(parts.made)


class _Parts:
    """The parts in a folder. `made` are small ones that aren't written yet."""

    def __init__(self, folder: Path) -> None:
        self.made: dict[Path, tuple[bytes]] = {}
        self._folder = folder
        self._compiler = _key("part", ()).encode()

    def find(self, digest: bytes) -> bytes | None:
        path = self._place(digest)
        return self.made[path][0] if path in self.made else find_entry(path)

    def keep(self, digest: bytes, made: bytes) -> None:
        path = self._place(digest)
        if len(made) > _BYTES_IN_MEMORY:
            keep_before_others(path, made)
        else:
            self.made[path] = (made,)

    def _place(self, digest: bytes) -> Path:
        """The file of a part."""
        return self._folder / f"{digest_of((self._compiler, digest)).hex()}.part"


def _key(kind: str, content: Iterable[bytes]) -> str:
    """The hash of a kind of entry, its content, the compiler and the environment."""
    parts = (kind.encode(), own_code(), _environment(), *content)
    return digest_of(parts).hex()


@cache
def own_code() -> bytes:
    """A hash of the compiler: versions, and the text of qlower's own files."""
    digest = hashlib.sha256(f"{__version__} {sys.version}".encode())
    digest.update(repr(releases(_PACKAGES)).encode())
    root = str(Path(__file__).parents[1])
    for folder, rooms, names in os.walk(root, followlinks=True):
        rooms[:] = sorted(set(rooms) - _NO_COMPILER)
        for name in sorted(names):
            if name.endswith((".py", ".mlir", ".ll")):
                with open(f"{folder}/{name}", "rb", buffering=0) as file:  # the fastest
                    content = file.read()
                digest.update(f"{folder[len(root) :]}/{name} {len(content)} ".encode())
                digest.update(content)
    return digest.digest()


def _environment() -> bytes:
    """Variables that may change what is compiled, all of qlower's but the cache's; and
    where other packages have contracts, whose text counts when it is read."""
    chosen = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("QLOWER_") and name not in (DIRECTORY, LIMIT)
    }
    contracts = {name: str(file) for name, file in plugin_contracts().items()}
    return json.dumps([chosen, contracts], sort_keys=True).encode()


def _find(
    path: Path, target: Target, flavour: Flavour, journal: Journal
) -> CompiledObject | None:
    body = find_entry(path)
    if body is None:
        return None
    end = body.index(b"\n")
    entry = json.loads(body[:end])
    if not journal.has_read(*map(_hashes, entry["files"])):
        return None
    for warning in entry["warnings"]:
        LOGGER.warning("%s", warning)
    sizes: list[int] = entry["objects"]
    ends = [*accumulate(sizes, initial=end + 1)][1:]
    return CompiledObject(
        tuple(body[end - size : end] for size, end in zip(sizes, ends, strict=True)),
        Signature.from_json(entry["signature"]),
        entry["arena_bytes"],
        target,
        tuple(map(Kernel.from_json, entry["kernels"])),
        flavour,
    )


def _hashes(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: bytes.fromhex(text) for name, text in texts.items()}


def _entry(compiled: CompiledObject, journal: Journal) -> tuple[bytes, ...]:
    meta = {
        "files": [
            {name: digest.hex() for name, digest in hashes.items()}
            for hashes in (journal.hashes, journal.beside_model())
        ],
        "warnings": journal.warnings,
        "objects": [len(one) for one in compiled.objects],
        "signature": compiled.signature.to_json(),
        "arena_bytes": compiled.arena_bytes,
        "kernels": [asdict(kernel) for kernel in compiled.kernels],
    }
    return (json.dumps(meta).encode(), b"\n", *compiled.objects)
