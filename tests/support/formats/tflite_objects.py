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


def with_constants_behind(data: bytes) -> bytes:
    """The file with its constants after the tables, as files above 2 GB have them."""
    model = unpack(data)
    moved = [buffer for buffer in model.buffers if buffer.data is not None]
    contents = [bytes(buffer.data) for buffer in moved]
    for buffer, content in zip(moved, contents, strict=True):
        buffer.data, buffer.offset, buffer.size = None, 2, len(content)
    end = len(pack(model))
    for buffer in moved:
        buffer.offset = end
        end += buffer.size
    return pack(model) + b"".join(contents)


def with_constants_inside(data: bytes) -> Any:
    """A `ModelT` whose constants all lie in its tables."""
    model = unpack(data)
    for buffer in model.buffers:
        if buffer.data is None and buffer.offset > 1:
            buffer.data = data[buffer.offset : buffer.offset + buffer.size]
            buffer.offset = buffer.size = 0
    return model
