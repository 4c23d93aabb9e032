"""Reading the bytes of a TFLite file.

A file may be truncated, corrupted or hostile. The generated accessors stay inside the
bytes (they raise when an offset leaves them), but they do not notice vectors of four
billion elements or tables that overlap a million times. So every field is read through
a `Table`, which turns what the accessors raise into a `QlowerError` and charges
everything that is read against a budget proportional to the size of the file: time and
memory stay linear in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from qlower.files.arrays import Array
from qlower.frontends.model_files import contents

from .accessors import (
    builtin_code,
    enum_names,
    first_integers,
    load_tflite_package,
)
from .custom_options import MAPS, read_map
from .file_tables import File, Table
from .options import options_of, read_options
from .schema import (
    Blocks,
    Model,
    Operator,
    OptionValue,
    Quantization,
    Signature,
    SparseLevel,
    Sparsity,
    Subgraph,
    Tensor,
)

FILE_IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3

MAX_FILE_BYTES = (1 << 31) - 1
"""FlatBuffers offsets are signed 32-bit numbers."""

SPARSE_VECTORS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}
"""The tables of a sparse dimension's numbers, by the schema's `SparseIndexVector`."""

BLOCKWISE = 2
"""The schema's number of `BlockwiseQuantization` among a tensor's details."""

NEWER_TYPES = {19: "INT2", 20: "UINT4"}
"""Types of the schema that the package may be too old to know."""


def read_model(data: bytes, filename: str) -> Model:
    """Read the model in `data`, or raise a `QlowerError` located in `filename`."""
    return _Reader(File(data, filename, load_tflite_package())).model()


class _Reader:
    """A method for each table of the schema."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.type_names = NEWER_TYPES | enum_names(file.package.TensorType)
        self.options_names = {
            field: enum_names(kinds)
            for field, kinds in (
                ("builtin_options", file.package.BuiltinOptions),
                ("builtin_options_2", file.package.BuiltinOptions2),
            )
        }
        self.operator_names = enum_names(file.package.BuiltinOperator)

    def model(self) -> Model:
        data = self.file.data
        if data[4:8] != FILE_IDENTIFIER:
            identifier = FILE_IDENTIFIER.decode()
            what = contents(data) or f": bytes 4 to 7 aren't {identifier}"
            raise self.file.error(f"not a TFLite file{what}")
        if len(data) > MAX_FILE_BYTES:
            raise self.file.error(
                f"{len(data)} bytes are out of range [8, {MAX_FILE_BYTES}] of a"
                " FlatBuffers file"
            )
        root = self.file.root()
        version = root.number("version")
        if version != SCHEMA_VERSION:
            raise self.file.error(
                f"schema version {version} is not supported; expected {SCHEMA_VERSION}"
            )
        subgraphs = list(root.tables("subgraphs", "subgraph"))
        if not subgraphs:
            raise self.file.error("a model without subgraphs; expected at least 1")
        opcodes = [
            self.operator_name(code)
            for code in root.tables("operator_codes", "operator code")
        ]
        first, *others = [
            self.subgraph(number, subgraph, opcodes)
            for number, subgraph in enumerate(subgraphs)
        ]
        signatures = tuple(
            map(self.signature, root.tables("signature_defs", "signature"))
        )
        arguments = {
            name: index
            for signature in reversed(signatures)
            if signature.subgraph == 0
            for name, index in signature.arguments.items()
        }
        return Model(
            filename=self.file.name,
            size=len(data),
            tensors=first.tensors,
            operators=first.operators,
            buffers=tuple(map(self.buffer, root.tables("buffers", "buffer"))),
            inputs=first.inputs,
            outputs=first.outputs,
            others=dict(enumerate(others, 1)),
            arguments=arguments,
            signatures=signatures,
        )

    def signature(self, table: Table) -> Signature:
        return Signature(
            table.text("signature_key"),
            table.number("subgraph_index"),
            {
                argument.text("name"): argument.number("tensor_index")
                for argument in table.tables("inputs", f"input of {table.what}")
            },
        )

    def subgraph(self, number: int, table: Table, opcodes: list[str]) -> Subgraph:
        table = replace(table, what=f"subgraph {number}" if number else "model")
        return Subgraph(
            tensors=tuple(
                self.tensor(index, tensor)
                for index, tensor in enumerate(table.tables("tensors", "tensor"))
            ),
            operators=tuple(
                replace(self.operator(index, operator, opcodes), subgraph=number)
                for index, operator in enumerate(table.tables("operators", "operator"))
            ),
            inputs=table.integers("inputs"),
            outputs=table.integers("outputs"),
        )

    def operator_name(self, code: Table) -> str:
        """The operator's name for an entry of the operator code table."""
        value = self.file.get(code.what, lambda: builtin_code(code.raw))
        name = self.operator_names.get(value, f"operator code {value}")
        if name != "CUSTOM":
            return name
        custom = code.text("custom_code")
        return custom if custom in MAPS else f"CUSTOM {custom!r}"

    def operator(self, index: int, table: Table, opcodes: list[str]) -> Operator:
        opcode = table.number("opcode_index")
        if opcode >= len(opcodes):
            raise self.file.error(
                f"damaged file: {table.what}: operator code {opcode} is out of range"
                f" [0, {len(opcodes) - 1}]"
            )
        name = opcodes[opcode]
        # Operators that are newer than 127 kinds of options have theirs elsewhere.
        field, kind = "builtin_options", table.number("builtin_options_type")
        if kind == 0:
            field = "builtin_options_2"
            kind = table.number(f"{field}_type")
        options_kind = self.options_names[field].get(kind, f"options {kind}")
        table_of_options = table.table(field)
        has_options = kind != 0 and table_of_options is not None
        options: Mapping[str, OptionValue] = {}
        if has_options and table_of_options and options_of(name) == options_kind:
            options = read_options(table_of_options.typed(options_kind), options_kind)
        elif name in MAPS:
            data = table.vector("custom_options", 1)
            content = b"" if data is None else data.tobytes()
            what = f"custom_options of {table.what}"
            options = self.file.get(what, lambda: read_map(content))
        return Operator(
            index=index,
            name=name,
            inputs=table.integers("inputs"),
            outputs=table.integers("outputs"),
            options_kind=options_kind if has_options else None,
            options=options,
            intermediates=table.integers("intermediates"),
        )

    def tensor(self, index: int, table: Table) -> Tensor:
        type_code = table.number("type")
        quantization, sparsity = table.table("quantization"), table.table("sparsity")
        return Tensor(
            index=index,
            name=table.text("name"),
            shape=table.integers("shape"),
            signature=table.integers("shape_signature"),
            type=self.type_names.get(type_code, f"type {type_code}"),
            buffer=table.number("buffer"),
            quantization=quantization and self.quantization(quantization),
            is_variable=bool(table.number("is_variable")),
            sparsity=sparsity and self.sparsity(sparsity),
        )

    def quantization(self, table: Table) -> Quantization | None:
        """None when there is no scale: converters leave such tables on any tensor."""
        scales = table.reals("scale")
        zero_points = table.integers("zero_point", item_size=8)
        axis = table.number("quantized_dimension")
        details_type = table.number("details_type")
        if not scales and not details_type:
            return None
        details, blocks = table.table("details"), None
        if details is not None and details_type == BLOCKWISE:
            raw = details.raw
            found = self.file.get(details.what, lambda: first_integers(raw, 3))
            blocks = Blocks(scales=found[0], size=found[2])
        return Quantization(scales, zero_points, axis, details_type != 0, blocks)

    def sparsity(self, table: Table) -> Sparsity:
        return Sparsity(
            order=table.integers("traversal_order"),
            blocks=table.integers("block_map"),
            levels=tuple(
                map(self.sparse_level, table.tables("dim_metadata", "dimension"))
            ),
        )

    def sparse_level(self, table: Table) -> SparseLevel:
        size = table.number("dense_size")
        if table.number("format") == 0:
            return SparseLevel(size)
        return SparseLevel(
            size,
            segments=self.sparse_vector(table, "array_segments"),
            indices=self.sparse_vector(table, "array_indices"),
        )

    def sparse_vector(self, table: Table, field: str) -> Array:
        """The numbers of a vector that has one of three widths; none if it is left
        out."""
        kind = SPARSE_VECTORS.get(table.number(f"{field}_type"))
        vector = table.table(field)
        found = vector.typed(kind).vector("values", 4) if vector and kind else None
        return np.empty(0, np.int64) if found is None else found.astype(np.int64)

    def buffer(self, table: Table) -> bytes:
        """The bytes in the table, or behind all tables, where large ones are."""
        data = table.vector("data", 1)
        if data is not None:
            return data.tobytes()
        start = table.number("offset")
        # 0 and 1 are none: 1 is a placeholder that writers leave.
        return (
            self.file.behind(table.what, start, table.number("size"))
            if start > 1
            else b""
        )
