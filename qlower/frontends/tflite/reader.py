"""Reading the bytes of a TFLite file.

A file may be truncated, corrupted or hostile. The generated accessors stay inside the
bytes (they raise when an offset leaves them), but they do not notice vectors of four
billion elements or tables that overlap a million times. So every accessor is called
through one `_Reader`, which turns what they raise into a `QlowerError` and charges
everything that is read against a budget proportional to the size of the file: time and
memory stay linear in it.

The file is long because the reader is one class: a method for each table of the schema.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.arrays import Array
from qlower.frontends.model_files import contents

from .accessors import (
    BufferTable,
    DimensionTable,
    ModelTable,
    OperatorTable,
    OptionsTable,
    QuantizationTable,
    RawTable,
    SignatureTable,
    SparseVectorTable,
    SparsityTable,
    SubGraphTable,
    TensorTable,
    TFLitePackage,
    builtin_code,
    enum_names,
    load_tflite_package,
)
from .schema import (
    OPTION_FIELDS,
    REAL_VECTOR_FIELDS,
    TEXT_FIELDS,
    VECTOR_FIELDS,
    Buffer,
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

MAX_TABLES = 1 << 16
"""Tensors, operators, operator codes or buffers in one file."""

SHARING_ALLOWANCE = 4
"""How often, on average, a byte of the file may be read through different tables."""

SMALLEST_BUDGET = 4096

SPARSE_VECTORS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}
"""The tables of a sparse dimension's numbers, by the schema's `SparseIndexVector`."""

NEWER_TYPES = {19: "INT2", 20: "UINT4"}
"""Types of the schema that the package may be too old to know."""

ACCESSOR_ERRORS = (struct.error, TypeError, ValueError, OverflowError)
"""Out-of-range unpacking, numbers and views: all that the accessors raise."""

T = TypeVar("T")
Scalar = TypeVar("Scalar", bound=np.generic)

_NEEDED = re.compile(r"requires a buffer of at least (\d+) bytes")
"""What Python says of an access behind the end of a file."""


def read_model(data: bytes, filename: str) -> Model:
    """Read the model in `data`, or raise a `QlowerError` located in `filename`."""
    return _Reader(data, filename, load_tflite_package()).model()


class _Reader:
    def __init__(self, data: bytes, filename: str, package: TFLitePackage) -> None:
        self.data = data
        self.filename = filename
        self.package = package
        self.budget = max(SHARING_ALLOWANCE * len(data), SMALLEST_BUDGET)
        self.type_names = NEWER_TYPES | enum_names(package.TensorType)
        self.options_names = enum_names(package.BuiltinOptions)
        self.operator_names = enum_names(package.BuiltinOperator)

    # Guards

    def error(self, message: str) -> QlowerError:
        return QlowerError(message, make_file_location(self.filename, 0, 0))

    def get(self, what: str, accessor: Callable[[], T]) -> T:
        """Call one accessor."""
        try:
            return accessor()
        except ACCESSOR_ERRORS as error:
            if needed := _NEEDED.search(str(error)):
                raise self.error(
                    f"damaged file: {what}: the file ends after {len(self.data):,} of"
                    f" at least {int(needed[1]):,} bytes"
                ) from error
            raise self.error(f"damaged file: {what}: {error}") from error

    def charge(self, what: str, size: int) -> None:
        if size > self.budget:
            raise self.error(
                f"damaged file: {what}: {size} bytes in a file of {len(self.data)}"
            )
        self.budget -= size

    def vector(
        self,
        what: str,
        length: Callable[[], int],
        view: Callable[[], NDArray[Scalar]],
        item_size: int,
    ) -> NDArray[Scalar] | None:
        """A view of a vector of numbers, or None when it is empty."""
        count = self.get(what, length)
        self.charge(what, count * item_size)
        return self.get(what, view) if count else None

    def integers(
        self,
        what: str,
        length: Callable[[], int],
        view: Callable[[], NDArray[np.int32]],
    ) -> tuple[int, ...]:
        values = self.vector(what, length, view, 4)
        return () if values is None else tuple(cast(list[int], values.tolist()))

    def tables(
        self, what: str, length: Callable[[], int], table: Callable[[int], T | None]
    ) -> Iterator[tuple[str, T]]:
        """The elements of a vector of tables, each with its description."""
        count = self.get(f"{what} table", length)
        if count > MAX_TABLES:
            raise self.error(
                f"damaged file: {count} {what}s are out of range [0, {MAX_TABLES}]"
            )
        self.charge(f"{what} table", 4 * count)
        for index in range(count):
            description = f"{what} {index}"
            element = self.get(description, lambda index=index: table(index))
            if element is None:
                raise self.error(f"damaged file: {description} is missing")
            yield description, element

    def text(self, what: str, accessor: Callable[[], bytes | None]) -> str:
        """A name: printable characters only, whatever the bytes are."""
        raw = self.get(what, accessor) or b""
        self.charge(what, len(raw))
        decoded = raw.decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "\ufffd" for c in decoded)

    # Tables

    def model(self) -> Model:
        data = self.data
        if data[4:8] != FILE_IDENTIFIER:
            identifier = FILE_IDENTIFIER.decode()
            what = contents(data) or f": bytes 4 to 7 aren't {identifier}"
            raise self.error(f"not a TFLite file{what}")
        if len(data) > MAX_FILE_BYTES:
            raise self.error(
                f"{len(data)} bytes are out of range [8, {MAX_FILE_BYTES}] of a"
                " FlatBuffers file"
            )
        model = self.get("model", lambda: self.package.Model.GetRootAs(data))
        version = self.get("schema version", model.Version)
        if version != SCHEMA_VERSION:
            raise self.error(
                f"schema version {version} is not supported; expected {SCHEMA_VERSION}"
            )
        subgraphs = list(
            self.tables("subgraph", model.SubgraphsLength, model.Subgraphs)
        )
        if not subgraphs:
            raise self.error("a model without subgraphs; expected at least 1")
        opcodes = self.operator_codes(model)
        first, *others = [
            self.subgraph(number, subgraph, opcodes)
            for number, (_, subgraph) in enumerate(subgraphs)
        ]
        signatures = tuple(
            self.signature(what, signature)
            for what, signature in self.tables(
                "signature", model.SignatureDefsLength, model.SignatureDefs
            )
        )
        arguments = {
            name: index
            for signature in reversed(signatures)
            if signature.subgraph == 0
            for name, index in signature.arguments.items()
        }
        return Model(
            filename=self.filename,
            size=len(data),
            tensors=first.tensors,
            operators=first.operators,
            buffers=tuple(
                self.buffer(what, buffer)
                for what, buffer in self.tables(
                    "buffer", model.BuffersLength, model.Buffers
                )
            ),
            inputs=first.inputs,
            outputs=first.outputs,
            others=dict(enumerate(others, 1)),
            arguments=arguments,
            signatures=signatures,
        )

    def signature(self, what: str, signature: SignatureTable) -> Signature:
        return Signature(
            self.text(what, signature.SignatureKey),
            self.get(what, signature.SubgraphIndex),
            {
                self.text(label, argument.Name): self.get(label, argument.TensorIndex)
                for label, argument in self.tables(
                    f"input of {what}", signature.InputsLength, signature.Inputs
                )
            },
        )

    def subgraph(
        self, number: int, subgraph: SubGraphTable, opcodes: list[str]
    ) -> Subgraph:
        whose = f"subgraph {number}" if number else "model"
        return Subgraph(
            tensors=tuple(
                self.tensor(index, what, tensor)
                for index, (what, tensor) in enumerate(
                    self.tables("tensor", subgraph.TensorsLength, subgraph.Tensors)
                )
            ),
            operators=self.operators(number, subgraph, opcodes),
            inputs=self.integers(
                f"{whose} inputs",
                subgraph.InputsLength,
                subgraph.InputsAsNumpy,
            ),
            outputs=self.integers(
                f"{whose} outputs",
                subgraph.OutputsLength,
                subgraph.OutputsAsNumpy,
            ),
        )

    def operator_codes(self, model: ModelTable) -> list[str]:
        """The operator's name for each entry of the operator code table."""
        names: list[str] = []
        for what, code in self.tables(
            "operator code", model.OperatorCodesLength, model.OperatorCodes
        ):
            value = self.get(what, lambda code=code: builtin_code(code))
            name = self.operator_names.get(value, f"operator code {value}")
            if name == "CUSTOM":
                name = f"CUSTOM {self.text(what, code.CustomCode)!r}"
            names.append(name)
        return names

    def operators(
        self, number: int, subgraph: SubGraphTable, opcodes: list[str]
    ) -> tuple[Operator, ...]:
        return tuple(
            replace(self.operator(index, what, operator, opcodes), subgraph=number)
            for index, (what, operator) in enumerate(
                self.tables("operator", subgraph.OperatorsLength, subgraph.Operators)
            )
        )

    def operator(
        self, index: int, what: str, operator: OperatorTable, opcodes: list[str]
    ) -> Operator:
        opcode = self.get(what, operator.OpcodeIndex)
        if opcode >= len(opcodes):
            raise self.error(
                f"damaged file: {what}: operator code {opcode} is out of range"
                f" [0, {len(opcodes) - 1}]"
            )
        kind = self.get(what, operator.BuiltinOptionsType)
        table = self.get(what, operator.BuiltinOptions)
        has_options = kind != 0 and table is not None
        options_kind = self.options_names.get(kind, f"options {kind}")
        return Operator(
            index=index,
            name=opcodes[opcode],
            inputs=self.integers(
                f"inputs of {what}", operator.InputsLength, operator.InputsAsNumpy
            ),
            outputs=self.integers(
                f"outputs of {what}", operator.OutputsLength, operator.OutputsAsNumpy
            ),
            options_kind=options_kind if has_options else None,
            options=self.options(what, options_kind, table) if has_options else {},
            intermediates=self.integers(
                f"intermediates of {what}",
                operator.IntermediatesLength,
                operator.IntermediatesAsNumpy,
            ),
        )

    def options(
        self, what: str, kind: str, table: RawTable | None
    ) -> dict[str, OptionValue]:
        """The fields of an options table; none for a kind that no importer reads."""
        fields = OPTION_FIELDS.get(kind, ())
        if not fields or table is None:
            return {}
        options = cast(OptionsTable, getattr(self.package, kind)())
        self.get(f"options of {what}", lambda: options.Init(self.data, table.Pos))
        values: dict[str, OptionValue] = {}
        for name in fields:
            label = f"{name} of {what}"
            accessor = "".join(word.capitalize() for word in name.split("_"))
            if name in VECTOR_FIELDS:
                values[name] = self.integers(
                    label,
                    getattr(options, f"{accessor}Length"),
                    getattr(options, f"{accessor}AsNumpy"),
                )
            elif name in REAL_VECTOR_FIELDS:
                length = getattr(options, f"{accessor}Length")
                view = getattr(options, f"{accessor}AsNumpy")
                values[name] = _to_tuple(self.vector(label, length, view, 4), float)
            elif name in TEXT_FIELDS:
                values[name] = self.text(label, getattr(options, accessor))
            else:
                values[name] = self.get(label, getattr(options, accessor))
        return values

    def tensor(self, index: int, what: str, tensor: TensorTable) -> Tensor:
        type_code = self.get(what, tensor.Type)
        quantization = self.get(what, tensor.Quantization)
        sparsity = self.get(what, tensor.Sparsity)
        return Tensor(
            index=index,
            name=self.text(f"name of {what}", tensor.Name),
            shape=self.integers(
                f"shape of {what}", tensor.ShapeLength, tensor.ShapeAsNumpy
            ),
            signature=self.integers(
                f"shape signature of {what}",
                tensor.ShapeSignatureLength,
                tensor.ShapeSignatureAsNumpy,
            ),
            type=self.type_names.get(type_code, f"type {type_code}"),
            buffer=self.get(what, tensor.Buffer),
            quantization=None
            if quantization is None
            else self.quantization(f"quantization of {what}", quantization),
            is_variable=self.get(what, tensor.IsVariable),
            sparsity=None
            if sparsity is None
            else self.sparsity(f"sparsity of {what}", sparsity),
        )

    def quantization(self, what: str, table: QuantizationTable) -> Quantization | None:
        """None when there is no scale: converters leave such tables on any tensor."""
        scales = self.vector(what, table.ScaleLength, table.ScaleAsNumpy, 4)
        zero_points = self.vector(
            what, table.ZeroPointLength, table.ZeroPointAsNumpy, 8
        )
        axis = self.get(what, table.QuantizedDimension)
        has_details = self.get(what, table.DetailsType) != 0
        if scales is None and not has_details:
            return None
        return Quantization(
            scales=_to_tuple(scales, float),
            zero_points=_to_tuple(zero_points, int),
            axis=axis,
            has_details=has_details,
        )

    def sparsity(self, what: str, table: SparsityTable) -> Sparsity:
        return Sparsity(
            order=self.integers(
                what, table.TraversalOrderLength, table.TraversalOrderAsNumpy
            ),
            blocks=self.integers(what, table.BlockMapLength, table.BlockMapAsNumpy),
            levels=tuple(
                self.sparse_level(f"{level} of {what}", dimension)
                for level, dimension in self.tables(
                    "dimension", table.DimMetadataLength, table.DimMetadata
                )
            ),
        )

    def sparse_level(self, what: str, table: DimensionTable) -> SparseLevel:
        size = self.get(what, table.DenseSize)
        if self.get(what, table.Format) == 0:
            return SparseLevel(size)
        return SparseLevel(
            size,
            segments=self.sparse_vector(
                what, table.ArraySegmentsType, table.ArraySegments
            ),
            indices=self.sparse_vector(
                what, table.ArrayIndicesType, table.ArrayIndices
            ),
        )

    def sparse_vector(
        self,
        what: str,
        kind: Callable[[], int],
        vector: Callable[[], RawTable | None],
    ) -> Array:
        """The numbers of a vector that has one of three widths; none if it is left
        out."""
        name = SPARSE_VECTORS.get(self.get(what, kind))
        table = self.get(what, vector)
        if name is None or table is None:
            return np.empty(0, np.int64)
        values = cast(SparseVectorTable, getattr(self.package, name)())
        self.get(what, lambda: values.Init(self.data, table.Pos))
        found = self.vector(what, values.ValuesLength, values.ValuesAsNumpy, 4)
        return np.empty(0, np.int64) if found is None else found.astype(np.int64)

    def buffer(self, what: str, buffer: BufferTable) -> Buffer:
        data = self.vector(what, buffer.DataLength, buffer.DataAsNumpy, 1)
        return Buffer(
            data=b"" if data is None else data.tobytes(),
            # An offset of 0 or 1 is none: 1 is a placeholder that writers leave.
            is_external=data is None and self.get(what, buffer.Offset) > 1,
        )


def _to_tuple(
    values: NDArray[np.float32] | NDArray[np.int64] | None, kind: type[T]
) -> tuple[T, ...]:
    """The elements as Python numbers of `kind`."""
    return () if values is None else tuple(cast(list[T], values.tolist()))
