"""Compiled objects on disk, found again by what they were made of.

An entry is one file, named by a SHA-256 of everything that decides its content: what
was compiled, the target, and the versions of qlower and llvmlite. It has a checksum, so
one that was cut short or damaged is a miss. It appears by an atomic rename. A cache
that can not be written is no error: there is none then.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from qlower.codegen.llvm.binding import llvmlite_version
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.module import CompiledObject
from qlower.codegen.program.work import Kernel
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import LOGGER
from qlower.model.signature import Signature
from qlower.version import __version__

DIRECTORY = "QLOWER_CACHE_DIR"
"""Environment variable with the cache's directory; empty for no cache."""

_MAGIC = b"qlower object 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


def cache_directory() -> Path | None:
    """$QLOWER_CACHE_DIR, else `qlower` in the user's cache; None for no cache."""
    chosen = os.environ.get(DIRECTORY)
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "qlower"
    except RuntimeError:  # a user without a home
        return None


def cached(
    content: Iterable[bytes],
    target: Target,
    flavour: Flavour,
    make: Callable[[], CompiledObject],
) -> CompiledObject:
    """The object made of `content` for `target`: from the cache, or by `make`.

    `content` must decide what `make` makes, the target, the flavour and our versions
    aside: the `fingerprint` of the module that is compiled, or a model file and its
    contract.
    """
    directory = cache_directory()
    if directory is None:
        return make()
    path = directory / f"{_key(content, target, flavour)}.qo"
    found = _read(path, target, flavour)
    if found is None:
        found = make()
        _write(path, found)
    return found


def fingerprint(module: ModuleOp) -> bytes:
    """A hash of everything in the module, locations and constants included."""
    text = StringIO()
    _HashingPrinter(stream=text, print_debuginfo=True).print_op(module)
    return hashlib.sha256(text.getvalue().encode()).digest()


class _HashingPrinter(Printer):
    """Prints the hash of a constant's bytes in place of megabytes of digits."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", attribute)
            self.print_string(hashlib.sha256(dense.data.data).hexdigest())
            self.print_attribute(dense.type)
        else:
            super().print_attribute(attribute)


def _key(content: Iterable[bytes], target: Target, flavour: Flavour) -> str:
    versions = f"{__version__} {llvmlite_version()} {target.identity}"
    digest = hashlib.sha256()
    for part in (versions.encode(), repr(flavour).encode(), *content):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _read(path: Path, target: Target, flavour: Flavour) -> CompiledObject | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, body = data[: len(_MAGIC)], data[len(_MAGIC) + _DIGEST_BYTES :]
    checksum = data[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES]
    if head != _MAGIC or hashlib.sha256(body).digest() != checksum:
        LOGGER.debug("the cached object %s is damaged", path)
        return None
    meta, _, code = body.partition(b"\n")
    entry = json.loads(meta)
    signature = Signature.from_json(entry["signature"])
    kernels = tuple(Kernel(**kernel) for kernel in entry["kernels"])
    return CompiledObject(
        code, signature, entry["arena_bytes"], target, kernels, flavour
    )


def _write(path: Path, compiled: CompiledObject) -> None:
    entry = {
        "signature": compiled.signature.to_json(),
        "arena_bytes": compiled.arena_bytes,
        "kernels": [asdict(kernel) for kernel in compiled.kernels],
    }
    body = json.dumps(entry).encode() + b"\n" + compiled.object_bytes
    remember(path, _MAGIC + hashlib.sha256(body).digest() + body)


def remember(path: Path, content: bytes) -> None:
    """Write a file of the cache, at once; that it can't be written is no error."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        LOGGER.debug("%s is not cached: %s", path.name, error)
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
