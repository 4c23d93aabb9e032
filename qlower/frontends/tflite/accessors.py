"""The package `tflite`, which the FlatBuffers compiler generated from the schema.

It is imported on first use, because reading `.mlir` files does not need it.
"""

from __future__ import annotations

import struct
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from operator import attrgetter
from types import ModuleType
from typing import Protocol, cast

from qlower.diagnostics import QlowerError
from qlower.process.extras import install_line

PACKAGE = "tflite"


class Fields(Protocol):
    """Any table's fields, by their places in its vtable (`flatbuffers.table.Table`)."""

    Bytes: bytes
    Pos: int

    def Offset(self, vtableOffset: int) -> int: ...


class UntypedTable(Protocol):
    """A table of one of several kinds: a position in the file's bytes."""

    Pos: int


class ModelTable(Protocol):
    @classmethod
    def GetRootAs(cls, buf: bytes, offset: int = 0) -> ModelTable: ...


class TFLitePackage(Protocol):
    """The names of the `tflite` package that are fixed; options are found by name."""

    Model: type[ModelTable]
    BuiltinOperator: type
    BuiltinOptions: type
    BuiltinOptions2: type
    TensorType: type


BUILTIN_CODE_PLACE = 10
"""The place in the vtable of `OperatorCode.builtin_code`, its table's fourth field."""


def builtin_code(code: object) -> int:
    """An operator's number in the schema: the larger of its old and its new field.

    The old field has one byte and stops at 127; either field may be left out (0). This
    is TFLite's `GetBuiltinCode` (schema_utils.cc). The package's `BuiltinCode()` can't
    be used: it gives the old field wherever the new one is below 127, in files that set
    the new one alone as well.
    """
    fields = cast(Fields, attrgetter("_tab")(code))
    offset = fields.Offset(BUILTIN_CODE_PLACE)
    new = 0
    if offset:
        (new,) = struct.unpack_from("<i", fields.Bytes, fields.Pos + offset)
    return max(attrgetter("DeprecatedBuiltinCode")(code)(), new)


def first_integers(table: object, count: int) -> list[int]:
    """The first fields of a table of 32-bit integers, 0 where one is left out. The
    package has no class for `BlockwiseQuantization`."""
    fields, found = cast(Fields, table), list[int]()
    for number in range(count):
        offset = fields.Offset(4 + 2 * number)
        at = fields.Pos + offset
        found += struct.unpack_from("<i", fields.Bytes, at) if offset else (0,)
    return found


def load_tflite_package() -> TFLitePackage:
    """The package `tflite`, or a `QlowerError` that says how to install it."""
    try:
        if PACKAGE not in sys.modules and (spec := find_spec(PACKAGE)):
            package = module_from_spec(spec)
            package.__class__ = _Unexecuted
            sys.modules[PACKAGE] = package
        import_module(PACKAGE)
    except ImportError as error:
        raise QlowerError(
            f"reading TFLite files needs the package 'tflite': {error}",
            help=install_line("tflite"),
        ) from error
    return cast(TFLitePackage, _Files())


class _Files:
    """The package's classes, each imported by itself when it is asked for."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(f"{PACKAGE}.{name}"), name)


class _Unexecuted(ModuleType):
    """The package before anything but its files is used.

    Its `__init__` imports all 180 of them, although a model needs 20: each is imported
    when a name in it is used first. A file has the name of its class, and the name
    means the class in the package.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        setattr(self, "__class__", ModuleType)  # noqa: B010
        assert self.__spec__ is not None
        assert self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def enum_names(enum: type) -> dict[int, str]:
    """Value to name of a generated enumeration class."""
    members = cast(dict[str, object], dict(vars(enum)))
    return {
        value: name
        for name, value in members.items()
        if isinstance(value, int) and not name.startswith("_")
    }
