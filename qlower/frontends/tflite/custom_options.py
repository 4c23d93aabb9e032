"""The options of custom operators that LiteRT has itself: FlexBuffers maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Protocol, cast

from .schema import OptionValue

DETECTION = "TFLite_Detection_PostProcess"

MAPS = frozenset({DETECTION})
"""Custom operators that are read, whose options are a map from names to numbers."""

LARGEST_OPTIONS = 1 << 12
"""Bytes of one operator's options; the numbers of a map take a few hundred."""


class _Ref(Protocol):
    """A value of any type (`flatbuffers.flexbuffers.Ref`)."""

    IsBool: bool
    IsInt: bool
    IsFloat: bool
    AsBool: bool
    AsInt: int
    AsFloat: float
    AsKey: str
    AsMap: _Map


class _Map(Protocol):
    Keys: Iterable[_Ref]
    Values: Iterable[_Ref]


class _FlexBuffers(Protocol):
    def GetRoot(self, buf: bytes) -> _Ref: ...


def read_map(data: bytes) -> Mapping[str, OptionValue]:
    """The numbers and booleans of a map by name; raises a `ValueError` for bytes that
    aren't one."""
    if len(data) > LARGEST_OPTIONS:
        most = LARGEST_OPTIONS
        raise ValueError(f"{len(data)} bytes of options; expected up to {most}")
    package = cast(_FlexBuffers, import_module("flatbuffers.flexbuffers"))
    try:
        entries = package.GetRoot(data).AsMap
        pairs = zip(entries.Keys, entries.Values, strict=True)
        found = ((key.AsKey, _number(value)) for key, value in pairs)
        return {name: number for name, number in found if number is not None}
    except LookupError as error:
        raise ValueError("options that aren't a FlexBuffers map") from error


def _number(value: _Ref) -> OptionValue | None:
    if value.IsBool:
        return value.AsBool
    if value.IsInt:
        return value.AsInt
    return value.AsFloat if value.IsFloat else None
