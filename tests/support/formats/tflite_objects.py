"""TFLite files as LiteRT's own generated objects, to change any field of any table."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


def litert_schema() -> ModuleType:
    """LiteRT's accessors and objects, generated from its own schema."""
    return import_module("ai_edge_litert.schema_py_generated")


def unpack(data: bytes) -> Any:  # the package has no types
    """The file as a `ModelT`."""
    schema = litert_schema()
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def pack(model: Any) -> bytes:
    """The file of a `ModelT`; raises what `struct` raises for values beyond a field."""
    builder = import_module("flatbuffers").Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
