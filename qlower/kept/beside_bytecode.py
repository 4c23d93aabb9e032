"""The functions of a contract that comes with qlower, kept as they were parsed.

Parsing the few that a model needs took a twentieth of a small model's compilation. They
are kept with the bytecode files, and made anew when the contract's text, xDSL or the
code that reads contracts has changed.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qlower.kept.installed import releases

_READERS = ("contracts", "dialects", "text")
"""Rooms of qlower that decide what a contract's text is."""

_DIGEST_BYTES = 32

Attributes: TypeAlias = dict[str, Attribute]
_Head: TypeAlias = tuple[Attributes, Attributes, Attribute]
_Values: TypeAlias = list[tuple[Attribute, str | None]]
_Op: TypeAlias = tuple[type[Operation], list[int], _Values, _Head]


class KeptFunctions:
    """Functions by their names, and the module's own attributes, of one contract."""

    def __init__(self, text: str, filename: str) -> None:
        self._identity = sha256(_readers() + filename.encode() + text.encode()).digest()
        self._filename = filename
        self._new = False

    def module(self, names: Iterable[str]) -> ModuleOp | None:
        """The module with these functions in turn; None if one isn't kept."""
        try:
            head, *functions = (self._known[name] for name in ("", *names))
        except KeyError:
            return None
        properties, attributes, location = pickle.loads(head)
        return ModuleOp.create(
            properties=properties,
            attributes=attributes,
            location=location,
            regions=[Region(Block(map(_function, functions)))],
        )

    def keep(self, module: ModuleOp) -> None:
        """Keep what isn't kept yet, when the process ends."""
        found = {"": pickle.dumps(_head(module))}
        for op in module.body.block.ops:
            assert isinstance(op, FuncOp)
            found[op.sym_name.data] = _packed(op)
        if not self._new and not sys.dont_write_bytecode:
            atexit.register(self.write)
            self._new = True
        self._known.update(found)

    def write(self) -> None:
        """Write all that is kept; failing to is no error."""
        body = pickle.dumps(self._known)
        with suppress(NotImplementedError, OSError):
            whole = Path(f"{self._file}.{os.getpid()}")
            whole.write_bytes(self._identity + sha256(body).digest() + body)
            whole.replace(self._file)  # at once, as another process may read it

    @property
    def _file(self) -> Path:
        return Path(f"{cache_from_source(self._filename)}.functions")

    @cached_property
    def _known(self) -> dict[str, bytes]:
        with suppress(OSError, NotImplementedError):
            content = self._file.read_bytes()
            identity, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            checksum, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if identity == self._identity and checksum == sha256(body).digest():
                return pickle.loads(body)
        return {}


@cache
def _readers() -> bytes:
    """A key of the files that decide how a text is read, by size and time, as Python
    notices changes."""
    root = Path(__file__).parents[1]
    files = (
        f"{folder}/{name}"
        for room in _READERS
        for folder, _, names in os.walk(root / room)
        for name in names
        if name.endswith(".py")
    )
    states = [(file, os.stat(file)) for file in sorted(files)]
    known = [(file, state.st_size, state.st_mtime_ns) for file, state in states]
    return repr((sys.version, releases(("xdsl",)), known)).encode()


def _head(op: Operation) -> _Head:
    return op.properties, op.attributes, op.location


def _packed(function: FuncOp) -> bytes:
    """A function of one block, whose operations have no regions."""
    block = function.body.block
    numbers: dict[SSAValue, int] = {}

    def described(values: Iterable[SSAValue]) -> _Values:
        for value in values:
            numbers[value] = len(numbers)
        # who sets a name takes a number off its end
        return [
            (value.type, value.name_hint and f"{value.name_hint}_0") for value in values
        ]

    arguments = described(block.args)
    ops: list[_Op] = []
    for op in block.ops:
        operands = [numbers[operand] for operand in op.operands]
        ops.append((type(op), operands, described(op.results), _head(op)))
    return pickle.dumps((_head(function), arguments, ops))


def _function(packed: bytes) -> FuncOp:
    unpack: Callable[[bytes], tuple[_Head, _Values, list[_Op]]] = pickle.loads
    (properties, attributes, location), arguments, ops = unpack(packed)
    block = Block(arg_types=[type for type, _ in arguments])
    values: list[SSAValue] = []

    def name(created: Iterable[SSAValue], described: _Values) -> None:
        for value, (_, hint) in zip(created, described, strict=True):
            value.name_hint = hint
            values.append(value)

    name(block.args, arguments)
    for kind, operands, results, (own_properties, own_attributes, place) in ops:
        op = kind.create(
            operands=[values[operand] for operand in operands],
            result_types=[type for type, _ in results],
            properties=own_properties,
            attributes=own_attributes,
            location=place,
        )
        name(op.results, results)
        block.add_op(op)
    return FuncOp.create(
        properties=properties,
        attributes=attributes,
        location=location,
        regions=[Region(block)],
    )
