"""Reading the bytes of an ONNX file.

The package `onnx` parses the protocol buffer, and nothing else: its own checks trust
the file more than we do. What it gives is copied into plain values; whatever it raises
becomes a `QlowerError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.diagnostics import QlowerError, make_file_location, printable
from qlower.frontends.model_files import contents
from qlower.process.extras import install_line

from ..graph.schema import (
    NEWEST_OPSET,
    AttributeValue,
    Constant,
    Model,
    Node,
    Port,
)
from .tensors import BadTensor, read_constant

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

OLDEST_OPSET = 10
"""The version of ONNX's operators that first has QuantizeLinear."""

MAX_FILE_BYTES = (1 << 31) - 1
"""Protocol buffers end there."""

OPEN_SIZES = (0, -1)
"""Sizes by which files say that a dimension is open, if they don't leave it out."""

STANDARD_DOMAINS = ("", "ai.onnx")


def read_model(data: bytes, filename: str, folder: Path | None) -> Model:
    """Read the model in `data`, or raise a `QlowerError` located in `filename`.

    External data is looked for in `folder`.
    """
    return _Reader(filename, folder).model(data)


def text(value: str | bytes) -> str:
    """A name, with escapes for characters that can't be shown.

    What is not UTF-8 comes as bytes, whatever the schema says.
    """
    name = value if isinstance(value, str) else value.decode("utf-8", "replace")
    return printable(name)


class _Reader:
    def __init__(self, filename: str, folder: Path | None) -> None:
        self.filename = filename
        self.folder = folder
        try:
            import onnx
        except ImportError as error:
            raise QlowerError(
                f"reading ONNX files needs the package 'onnx': {error}",
                help=install_line("onnx"),
            ) from error
        self.onnx = onnx
        self.type_names = {
            number: name for name, number in onnx.TensorProto.DataType.items()
        }

    def error(self, message: str, line: int = 0) -> QlowerError:
        return QlowerError(message, make_file_location(self.filename, line, 0))

    def model(self, data: bytes) -> Model:
        if len(data) > MAX_FILE_BYTES:
            raise self.error(
                f"{len(data)} bytes are out of range [1, {MAX_FILE_BYTES}]"
            )
        try:
            parsed = self.onnx.ModelProto.FromString(data)
        except Exception as error:  # of the protobuf package, which has its own
            reason = " ".join(str(error).split())
            what = contents(data) or f": {reason}"
            raise self.error(f"not an ONNX file{what}") from error
        if not parsed.HasField("graph") or not parsed.opset_import:
            raise self.error("not an ONNX file: it has no graph or no opset_import")
        return self.checked_model(parsed, len(data))

    def checked_model(self, parsed: ModelProto, size: int) -> Model:
        graph = parsed.graph
        if len(graph.sparse_initializer):
            raise self.error("sparse initializers are not supported")
        constants = dict(self.initializers(graph))
        return Model(
            filename=self.filename,
            size=size,
            opset=self.opset(parsed),
            nodes=tuple(
                self.node(index, node) for index, node in enumerate(graph.node)
            ),
            constants=constants,
            inputs=tuple(
                self.port("input", value)
                for value in graph.input
                if text(value.name) not in constants
            ),
            outputs=tuple(self.port("output", value) for value in graph.output),
            producer=text(parsed.producer_name),
        )

    def opset(self, parsed: ModelProto) -> int:
        versions = {
            text(entry.domain): int(entry.version)
            for entry in parsed.opset_import
            if text(entry.domain) in STANDARD_DOMAINS
        }
        version = max(versions.values(), default=0)
        if not OLDEST_OPSET <= version <= NEWEST_OPSET:
            raise self.error(
                f"opset {version} is not supported; expected"
                f" {OLDEST_OPSET} to {NEWEST_OPSET}"
            )
        return version

    def initializers(self, graph: GraphProto) -> Iterator[tuple[str, Constant]]:
        seen: set[str] = set()
        for tensor in graph.initializer:
            name = text(tensor.name)
            if not name or name in seen:
                raise self.error(
                    f"damaged file: initializer {name!r} has no name of its own"
                )
            seen.add(name)
            yield name, self.constant(tensor, f"initializer {name!r}", 0)

    def constant(self, tensor: object, what: str, line: int) -> Constant:
        assert isinstance(tensor, self.onnx.TensorProto)
        type = self.type_names.get(tensor.data_type, f"type {tensor.data_type}")
        try:
            return read_constant(tensor, type, self.folder)
        except BadTensor as error:
            raise self.error(f"{what}: {error}", line) from error

    def node(self, index: int, node: NodeProto) -> Node:
        kind, domain = text(node.op_type), text(node.domain)
        attributes = {
            text(attribute.name): self.attribute(attribute, index, kind)
            for attribute in node.attribute
        }
        return Node(
            index,
            "" if domain in STANDARD_DOMAINS else domain,
            kind,
            text(node.name),
            [text(name) for name in node.input],
            [text(name) for name in node.output],
            attributes,
        )

    def attribute(
        self, attribute: AttributeProto, index: int, kind: str
    ) -> AttributeValue:
        """The value; its kind as a word where no importer reads such."""
        types = self.onnx.AttributeProto
        match attribute.type:
            case types.FLOAT:
                return float(attribute.f)
            case types.INT:
                return int(attribute.i)
            case types.STRING:
                return text(attribute.s)
            case types.FLOATS:
                return tuple(float(value) for value in attribute.floats)
            case types.INTS:
                return tuple(int(value) for value in attribute.ints)
            case types.STRINGS:
                return tuple(text(value) for value in attribute.strings)
            case types.TENSOR:
                what = f"{text(attribute.name)} of node {index} {kind}"
                return self.constant(attribute.t, what, index)
            case other:
                return f"attribute of kind {other}"

    def port(self, role: str, value: ValueInfoProto) -> Port:
        name = text(value.name)
        if not name:
            raise self.error(f"damaged file: an {role} without a name")
        if not value.type.HasField("tensor_type"):
            return Port(name, "a value that is no tensor", None)
        tensor = value.type.tensor_type
        type = self.type_names.get(tensor.elem_type, f"type {tensor.elem_type}")
        if not tensor.HasField("shape"):
            return Port(name, type, None)
        shape = tuple(
            int(dim.dim_value)
            if dim.HasField("dim_value") and dim.dim_value not in OPEN_SIZES
            else None
            for dim in tensor.shape.dim
        )
        return Port(name, type, shape)
