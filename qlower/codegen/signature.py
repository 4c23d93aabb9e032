"""What a compiled model takes and gives: names, shapes, types, quantization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qlower.codegen.region import scalar_type, storage_bytes
from qlower.dialects.quant import QuantizedType


@dataclass(frozen=True)
class Quantization:
    """real = scale * (stored - zero_point); one of each, or one a slice of `axis`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None


@dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        return np.dtype(self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Signature:
    """The ports in the order of the function's arguments and results."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, list[dict[str, object]]]) -> Signature:
        return Signature(
            tuple(map(_port_from_json, data["inputs"])),
            tuple(map(_port_from_json, data["outputs"])),
        )


def signature_of(function: FuncOp) -> Signature:
    """The signature of a function at the arith or kernel level."""
    types = function.function_type
    return Signature(
        _ports("input", types.inputs.data, function.arg_attrs),
        _ports("output", types.outputs.data, function.res_attrs),
    )


def _ports(kind: str, types: tuple[Attribute, ...], attributes: object) -> tuple[Port, ...]:
    given = list(attributes) if attributes is not None else []  # pyright: ignore
    ports: list[Port] = []
    for index, type in enumerate(types):
        assert isinstance(type, TensorType)
        found = given[index] if index < len(given) else None
        data = found.data if isinstance(found, DictionaryAttr) else {}
        name, quantized = data.get("qnn.name"), data.get("qnn.type")
        ports.append(
            Port(
                name.data if isinstance(name, StringAttr) else f"{kind}{index}",
                type.get_shape(),
                _dtype(type.element_type, quantized),
                _quantization(quantized),
            )
        )
    return tuple(ports)


def _dtype(element: Attribute, quantized: Attribute | None) -> str:
    scalar = scalar_type(element)
    match scalar:
        case "float" | "double":
            return "float32" if scalar == "float" else "float64"
        case "i1":
            return "bool"
        case _:
            unsigned = isinstance(quantized, QuantizedType) and not quantized.signed
            return f"{'u' if unsigned else ''}int{8 * storage_bytes(scalar)}"


def _quantization(type: Attribute | None) -> Quantization | None:
    if not isinstance(type, QuantizedType):
        return None
    return Quantization(tuple(type.scales), tuple(type.zero_points), type.axis)


def _port_from_json(data: Mapping[str, object]) -> Port:
    from typing import Any, cast

    port = cast(Mapping[str, Any], data)
    found = port["quantization"]
    return Port(
        port["name"],
        tuple(port["shape"]),
        port["dtype"],
        found
        and Quantization(
            tuple(found["scales"]), tuple(found["zero_points"]), found["axis"]
        ),
    )
