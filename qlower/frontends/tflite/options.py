"""The options of operators: what the schema has for them, with its defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from inspect import getmembers, isfunction
from types import SimpleNamespace

from .accessors import enum_names, load_tflite_package
from .file_tables import File, Table
from .schema import OptionValue

OTHER_KINDS: Mapping[str, str] = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
}
"""Tables of options that aren't named after their operators."""

NO_FIELDS = b"\4\0\0\0\4\0\0\0"
"""A table of FlatBuffers at byte 4, behind the places of its fields, which are none."""


def options_of(name: str) -> str | None:
    """The table of options that an operator has, if any."""
    if name.startswith("REDUCE_"):
        return "ReducerOptions"
    kind = OTHER_KINDS.get(name, f"{name.replace('_', '')}Options")
    return _kinds().get(kind.lower())


@cache
def default_options(kind: str) -> Mapping[str, OptionValue]:
    """The options of an operator whose file leaves out the table altogether."""
    file = File(NO_FIELDS, kind, load_tflite_package())
    place = Table(file, kind, SimpleNamespace(Pos=4))
    return read_options(place.typed(kind), kind)


def read_options(table: Table, kind: str) -> dict[str, OptionValue]:
    """Every field of a table of options that is a number, a name or a list of these."""
    found: dict[str, OptionValue] = {}
    for field, is_list in _fields(table.file.package, kind):
        value = table.integers(field) if is_list else table.plain(field)
        if value is not None:
            found[field] = value
    return found


@cache
def _kinds() -> Mapping[str, str]:
    package = load_tflite_package()
    return {
        name.lower(): name
        for kinds in (package.BuiltinOptions2, package.BuiltinOptions)
        for name in enum_names(kinds).values()
    }


@cache
def _fields(package: object, kind: str) -> list[tuple[str, bool]]:
    """The fields of a generated class, and which of them are lists of numbers."""
    names = {name for name, _ in getmembers(getattr(package, kind), isfunction)}
    ends = ("AsNumpy", "Length", "IsNone")
    fields = {name for name in names if not name.endswith(ends)} - {"Init"}
    return [
        (re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(), f"{name}AsNumpy" in names)
        for name in sorted(fields)
        if f"{name}AsNumpy" in names or f"{name}Length" not in names
    ]
