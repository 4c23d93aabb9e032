"""Small `.tflite` files for tests, written with the `tflite` package.

    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 8, 8, 3), scale=0.1, zero_point=3)
    w = builder.tensor("w", (4, 3, 3, 3), scale=[0.1, 0.2, 0.3, 0.4], data=weights)
    y = builder.tensor("y", (1, 8, 8, 4), scale=0.2)
    builder.operator("CONV_2D", [x, w], [y], {"stride_h": 1, "stride_w": 1})
    data = builder.build([x], [y])

Nothing is checked, so that wrong files can be written as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from qlower.files.flat_tables import TableWriter
from qlower.frontends.tflite.reader import BLOCKWISE, NEWER_TYPES
from qlower.frontends.tflite.schema import Blocks, SparseLevel, Sparsity

NEWER = {name: code for code, name in NEWER_TYPES.items()}

OPTIONS_KINDS = {
    "ADD": "AddOptions",
    "ARG_MAX": "ArgMaxOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "CALL_ONCE": "CallOnceOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "ARG_MIN": "ArgMinOptions",
    "BUCKETIZE": "BucketizeOptions",
    "CONV_3D": "Conv3DOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "CUMSUM": "CumsumOptions",
    "DIV": "DivOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "FAKE_QUANT": "FakeQuantOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "GATHER": "GatherOptions",
    "GELU": "GeluOptions",
    "IF": "IfOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalizationOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "MUL": "MulOptions",
    "ONE_HOT": "OneHotOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "SUM": "ReducerOptions",
    "SHAPE": "ShapeOptions",
    "PACK": "PackOptions",
    "REVERSE_SEQUENCE": "ReverseSequenceOptions",
    "RESHAPE": "ReshapeOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "SOFTMAX": "SoftmaxOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "SPLIT": "SplitOptions",
    "STABLEHLO_COMPOSITE": "StableHLOCompositeOptions",
    "SPLIT_V": "SplitVOptions",
    "SQUEEZE": "SqueezeOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "SUB": "SubOptions",
    "SVDF": "SVDFOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "UNPACK": "UnpackOptions",
    "VAR_HANDLE": "VarHandleOptions",
    "WHILE": "WhileOptions",
}
"""The options table of each operator that has one."""

VERSIONS = {
    "AVERAGE_POOL_2D": 2,
    "ADD": 2,
    "ARG_MAX": 2,
    "BATCH_MATMUL": 2,
    "BROADCAST_TO": 2,
    "CONCATENATION": 2,
    "CONV_2D": 5,
    "DEPTHWISE_CONV_2D": 6,
    "DEQUANTIZE": 2,
    "FULLY_CONNECTED": 5,
    "LEAKY_RELU": 2,
    "LOGISTIC": 2,
    "MAX_POOL_2D": 2,
    "MEAN": 2,
    "MUL": 2,
    "PACK": 2,
    "PAD": 2,
    "PADV2": 2,
    "QUANTIZE": 2,
    "RELU": 2,
    "RELU6": 2,
    "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 3,
    "SLICE": 2,
    "SOFTMAX": 2,
    "SPLIT": 2,
    "SPLIT_V": 2,
    "STRIDED_SLICE": 2,
    "SUB": 2,
    "TANH": 2,
    "TRANSPOSE": 2,
    "TRANSPOSE_CONV": 3,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 3,
    "UNPACK": 2,
}
"""The first version of each operator with 8-bit kernels, where that is not 1."""

CUSTOM_NAMES = frozenset({"TFLite_Detection_PostProcess"})
"""Custom operators whose options are a FlexBuffers map."""

Option = bool | int | float | str | bytes | Sequence[int] | NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str | bytes
    shape: tuple[int, ...]
    type: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    buffer: int
    is_variable: bool
    sparsity: Sparsity | None
    signature: tuple[int, ...]
    blocks: Blocks | None


@dataclass(frozen=True, slots=True)
class _Buffer:
    data: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class _Operator:
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_kind: str | None
    options: Mapping[str, Option]
    intermediates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Graph:
    tensors: Sequence[_Tensor]
    operators: Sequence[_Operator]
    inputs: Sequence[int]
    outputs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Signature:
    """A subgraph's name, and the names of its inputs and outputs there."""

    name: str
    subgraph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class TFLiteBuilder:
    """Collects tensors and operators; `build` writes the file."""

    def __init__(self) -> None:
        self._tensors: list[_Tensor] = []
        self._operators: list[_Operator] = []
        # By convention buffer 0 is the one of tensors without data.
        self._buffers = [_Buffer(b"", 0)]

    def subgraph(self) -> TFLiteBuilder:
        """The builder of another subgraph of the same file, for `others` of `build`."""
        other = TFLiteBuilder()
        other._buffers = self._buffers
        return other

    def tensor(
        self,
        name: str | bytes,
        shape: Sequence[int],
        dtype: str = "int8",
        *,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        data: NDArray[np.generic] | Sequence[int] | bytes | None = None,
        buffer: int | None = None,
        external_offset: int = 0,
        is_variable: bool = False,
        sparsity: Sparsity | None = None,
        signature: Sequence[int] = (),
        blocks: Blocks | None = None,
    ) -> int:
        """Add a tensor and return its index.

        `dtype` is the schema's type name in any case. Several scales are along `axis`.
        `data` makes it a constant: an array or list of elements, or raw bytes.
        """
        scales = () if scale is None else tuple(np.atleast_1d(scale).tolist())
        points = tuple(np.atleast_1d(zero_point).tolist())
        if len(points) == 1:
            points *= len(scales)
        if buffer is None and (data is not None or external_offset):
            buffer = len(self._buffers)
            self._buffers.append(_Buffer(_to_bytes(data, dtype), external_offset))
        self._tensors.append(
            _Tensor(
                name=name,
                shape=tuple(shape),
                type=dtype.upper(),
                scales=scales,
                zero_points=points,
                axis=axis,
                buffer=buffer or 0,
                is_variable=is_variable,
                sparsity=sparsity,
                signature=tuple(signature),
                blocks=blocks,
            )
        )
        return len(self._tensors) - 1

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Option] | None = None,
        *,
        options_kind: str | None = None,
        intermediates: Sequence[int] = (),
    ) -> None:
        """Add an operator by its schema name; options by their schema names.

        Enumerations are plain numbers: padding 0 is SAME and 1 VALID; fused activation
        functions are 0 NONE, 1 RELU, 2 RELU_N1_TO_1, 3 RELU6.
        """
        kind = options_kind or OPTIONS_KINDS.get(name)
        self._operators.append(
            _Operator(
                name,
                tuple(inputs),
                tuple(outputs),
                kind,
                options or {},
                tuple(intermediates),
            )
        )

    def build(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        others: Sequence[_Graph] = (),
        arguments: Mapping[str, int] | None = None,
        signatures: Sequence[Signature] = (),
    ) -> bytes:
        """The file, with tensor indices as the model's inputs and outputs; with
        `arguments` a signature has these names for inputs."""
        graphs = [self.graph(inputs, outputs), *others]
        if arguments:
            signatures = [*signatures, Signature("", 0, arguments, {})]
        return _Writer().model(graphs, self._buffers, signatures)

    def graph(self, inputs: Sequence[int], outputs: Sequence[int]) -> _Graph:
        """What was collected, as a subgraph with these inputs and outputs."""
        return _Graph(self._tensors, self._operators, inputs, outputs)


def _to_bytes(
    data: NDArray[np.generic] | Sequence[int] | bytes | None, dtype: str
) -> bytes:
    if data is None:
        return b""
    if isinstance(data, bytes):
        return data
    return np.asarray(data, dtype.lower()).tobytes()


class _IntegerTables(Protocol):
    """Tables of integers, as `flatbuffers.Builder` writes them."""

    def StartObject(self, numfields: int) -> None: ...
    def PrependInt32Slot(self, o: int, x: int, d: int) -> None: ...
    def EndObject(self) -> int: ...


class _Writer(TableWriter):
    """The tables of a `.tflite` file."""

    def __init__(self) -> None:
        super().__init__(import_module("tflite"))

    def model(
        self,
        graphs: Sequence[_Graph],
        buffers: Sequence[_Buffer],
        signatures: Sequence[Signature],
    ) -> bytes:
        operators = [operator for graph in graphs for operator in graph.operators]
        names = list(dict.fromkeys(operator.name for operator in operators))
        root = self.table(
            "Model",
            version=3,
            operator_codes=self.vector([self.operator_code(name) for name in names]),
            subgraphs=self.vector([self.graph(graph, names) for graph in graphs]),
            description=self.text("test model"),
            buffers=self.vector([self.buffer(buffer) for buffer in buffers]),
            signature_defs=self.vector(list(map(self.signature, signatures))),
        )
        return self.file(root, b"TFL3")

    def signature(self, signature: Signature) -> int:
        inputs, outputs = (
            [
                self.table("TensorMap", name=self.text(name), tensor_index=index)
                for name, index in names.items()
            ]
            for names in (signature.inputs, signature.outputs)
        )
        return self.table(
            "SignatureDef",
            inputs=self.vector(inputs),
            outputs=self.vector(outputs),
            signature_key=self.text(signature.name),
            subgraph_index=signature.subgraph,
        )

    def graph(self, graph: _Graph, names: Sequence[str]) -> int:
        return self.table(
            "SubGraph",
            tensors=self.vector([self.tensor(tensor) for tensor in graph.tensors]),
            inputs=self.numbers(graph.inputs, np.int32),
            outputs=self.numbers(graph.outputs, np.int32),
            operators=self.vector(
                [self.operator(operator, names) for operator in graph.operators]
            ),
            name=self.text("main"),
        )

    def tensor(self, tensor: _Tensor) -> int:
        fields: dict[str, bool | int | float] = {
            "shape": self.numbers(tensor.shape, np.int32),
            "type": NEWER.get(tensor.type) or self.constant("TensorType", tensor.type),
            "buffer": tensor.buffer,
            "name": self.text(tensor.name),
            "is_variable": tensor.is_variable,
        }
        if tensor.scales:
            fields["quantization"] = self.table(
                "QuantizationParameters",
                scale=self.numbers(tensor.scales, np.float32),
                zero_point=self.numbers(tensor.zero_points, np.int64),
                quantized_dimension=tensor.axis,
            )
        if tensor.blocks is not None:
            fields["quantization"] = self.table(
                "QuantizationParameters",
                details_type=BLOCKWISE,
                details=self.blocks(tensor.blocks),
            )
        if tensor.signature:
            fields["shape_signature"] = self.numbers(tensor.signature, np.int32)
        if tensor.sparsity is not None:
            fields["sparsity"] = self.sparsity(tensor.sparsity)
        return self.table("Tensor", **fields)

    def blocks(self, blocks: Blocks) -> int:
        """The package has no functions for this table."""
        builder = cast(_IntegerTables, self.builder)
        builder.StartObject(3)
        builder.PrependInt32Slot(0, blocks.scales, 0)
        builder.PrependInt32Slot(2, blocks.size, 0)
        return builder.EndObject()

    def sparsity(self, sparsity: Sparsity) -> int:
        return self.table(
            "SparsityParameters",
            traversal_order=self.numbers(sparsity.order, np.int32),
            block_map=self.numbers(sparsity.blocks, np.int32),
            dim_metadata=self.vector([self.level(level) for level in sparsity.levels]),
        )

    def level(self, level: SparseLevel) -> int:
        fields: dict[str, bool | int | float] = {"dense_size": level.size}
        for name, numbers in (
            ("array_segments", level.segments),
            ("array_indices", level.indices),
        ):
            if numbers is not None:
                kind = f"{numbers.dtype.name.capitalize()}Vector"
                values = self.numbers(numbers, numbers.dtype.type)
                fields[name] = self.table(kind, values=values)
                fields[f"{name}_type"] = self.constant("SparseIndexVector", kind)
                fields["format"] = 1
        return self.table("DimensionMetadata", **fields)

    def operator(self, operator: _Operator, names: Sequence[str]) -> int:
        fields: dict[str, bool | int | float] = {
            "opcode_index": names.index(operator.name),
            "inputs": self.numbers(operator.inputs, np.int32),
            "outputs": self.numbers(operator.outputs, np.int32),
        }
        if operator.intermediates:
            fields["intermediates"] = self.numbers(operator.intermediates, np.int32)
        kind = operator.options_kind
        if operator.name in CUSTOM_NAMES:
            flexible = import_module("flatbuffers.flexbuffers")
            data: bytes = bytes(flexible.Dumps(dict(operator.options)))
            fields["custom_options"] = self.option(data)
        elif kind is not None:
            options = {
                name: self.option(value) for name, value in operator.options.items()
            }
            enum, field = "BuiltinOptions", "builtin_options"
            if kind == "StableHLOCompositeOptions":
                enum, field = "BuiltinOptions2", "builtin_options_2"
            fields[field] = self.table(kind, **options)
            fields[f"{field}_type"] = self.constant(enum, kind)
        return self.table("Operator", **fields)

    def option(self, value: Option) -> bool | int | float:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes):
            return self.numbers(np.frombuffer(value, np.uint8), np.uint8)
        if isinstance(value, np.ndarray):
            return self.numbers(value, np.float32)
        return self.numbers(value, np.int32)

    def operator_code(self, name: str) -> int:
        is_named = name in CUSTOM_NAMES
        code = self.constant("BuiltinOperator", "CUSTOM" if is_named else name)
        fields: dict[str, bool | int | float] = {
            "deprecated_builtin_code": min(code, 127),
            "builtin_code": code,
            "version": VERSIONS.get(name, 1),
        }
        if is_named or name == "CUSTOM":
            fields["custom_code"] = self.text(name if is_named else "MyOperator")
        return self.table("OperatorCode", **fields)

    def buffer(self, buffer: _Buffer) -> int:
        if buffer.offset:
            return self.table("Buffer", offset=buffer.offset, size=16)
        if not buffer.data:
            return self.table("Buffer")
        data = np.frombuffer(buffer.data, np.uint8)
        return self.table("Buffer", data=self.numbers(data, np.uint8))
