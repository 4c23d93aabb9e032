"""What LiteRT reads in a `.tflite` file: its own lists of operators and tensors.

LiteRT reads without checking and may crash on damaged files: then only in a process of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from qlower.frontends.tflite import schema

from .litert import KERNELS


class _OperatorDetail(TypedDict):
    op_name: str
    inputs: NDArray[np.int32]
    outputs: NDArray[np.int32]


class _Quantization(TypedDict):
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int32]
    quantized_dimension: int


class _TensorDetail(TypedDict):
    name: str
    index: int
    shape: NDArray[np.int32]
    dtype: type[np.generic]
    quantization_parameters: _Quantization


class _Interpreter(Protocol):
    def _get_ops_details(self) -> list[_OperatorDetail]: ...
    def get_tensor_details(self) -> list[_TensorDetail]: ...
    def get_input_details(self) -> list[_TensorDetail]: ...
    def get_output_details(self) -> list[_TensorDetail]: ...


NUMPY_NAMES = {
    "FLOAT32": "float32",
    "FLOAT16": "float16",
    "FLOAT64": "float64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
}
"""What LiteRT calls the schema's element types that arrays have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file in the terms that both readers have.

    An operator is name, operands, results; a tensor is shape, type, scales, zero points
    and the dimension of several scales.
    """

    operators: Sequence[tuple[str, tuple[int, ...], tuple[int, ...]]]
    tensors: Sequence[
        tuple[tuple[int, ...], str, tuple[float, ...], tuple[int, ...], int]
    ]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def litert_reading(data: bytes, *, kernels: str = "ref") -> Reading:
    """What LiteRT reads; raises what it raises for a file that it refuses."""
    module = import_module("ai_edge_litert.interpreter")
    make_interpreter = cast(Callable[..., _Interpreter], module.Interpreter)
    interpreter = make_interpreter(
        model_content=data,
        experimental_op_resolver_type=getattr(module.OpResolverType, KERNELS[kernels]),
    )
    operators = interpreter._get_ops_details()  # pyright: ignore[reportPrivateUsage]
    return Reading(
        [
            (
                detail["op_name"],
                _integers(detail["inputs"]),
                _integers(detail["outputs"]),
            )
            for detail in operators
        ],
        [_tensor(detail) for detail in interpreter.get_tensor_details()],
        tuple(detail["index"] for detail in interpreter.get_input_details()),
        tuple(detail["index"] for detail in interpreter.get_output_details()),
    )


def our_reading(model: schema.Model) -> Reading:
    """What qlower reads, in the same terms."""
    return Reading(
        [(op.name, op.inputs, op.outputs) for op in model.operators],
        [_our_tensor(tensor) for tensor in model.tensors],
        model.inputs,
        model.outputs,
    )


def _tensor(
    detail: _TensorDetail,
) -> tuple[tuple[int, ...], str, tuple[float, ...], tuple[int, ...], int]:
    quantization = detail["quantization_parameters"]
    scales = tuple(cast(list[float], quantization["scales"].tolist()))
    return (
        _integers(detail["shape"]),
        np.dtype(detail["dtype"]).name,
        scales,
        _integers(quantization["zero_points"]),
        quantization["quantized_dimension"] if len(scales) > 1 else 0,
    )


def _our_tensor(
    tensor: schema.Tensor,
) -> tuple[tuple[int, ...], str, tuple[float, ...], tuple[int, ...], int]:
    quantization = tensor.quantization or schema.Quantization((), (), 0, False)
    return (
        tensor.shape,
        NUMPY_NAMES.get(tensor.type, tensor.type),
        quantization.scales,
        quantization.zero_points,
        quantization.axis if len(quantization.scales) > 1 else 0,
    )


def _integers(values: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(cast(list[int], values.tolist()))
