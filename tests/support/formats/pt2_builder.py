"""Writing small `.pt2` files call by call, without PyTorch."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np

from qlower.interp.values import Array

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

TYPES = {"u1": 1, "i1": 2, "i4": 4, "i8": 5, "f4": 7}
"""The schema's numbers of element types, by NumPy's names."""


class Name(str):
    """A value of the graph, among arguments."""


Argument = Name | str | int | float | Sequence[float] | Sequence[Name] | None


class Pt2Builder:
    """A program under construction; values are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.metas: dict[str, Json] = {}
        self.specs: list[Json] = []
        self.outputs: list[Json] = []
        self.weights: dict[str, Json] = {}
        self.files: dict[str, bytes] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def input(self, name: str, shape: Sequence[int], dtype: str = "f4") -> Name:
        self.metas[name] = _meta(shape, dtype)
        self.shapes[name] = tuple(shape)
        self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        return Name(name)

    def constant(self, values: Array, name: str = "") -> Name:
        name = name or f"p{len(self.weights)}"
        file = f"weight_{len(self.weights)}"
        self.files[f"data/weights/{file}"] = np.ascontiguousarray(values).tobytes()
        self.weights[name] = {
            "path_name": file,
            "is_param": True,
            "use_pickle": False,
            "tensor_meta": _meta(values.shape, values.dtype.str[1:]),
        }
        self.specs.append(
            {"parameter": {"arg": {"name": name}, "parameter_name": name}}
        )
        return Name(name)

    def call(self, target: str, results: int = 1, /, **arguments: Argument) -> Name:
        """Add a call, such as aten.relu.default; gives the name of its first result."""
        first = f"v{len(self.nodes)}"
        names = [first, *(f"{first}_{at}" for at in range(1, results))]
        made: list[Json] = [{"name": name} for name in names]
        self.nodes.append(
            {
                "target": f"torch.ops.{target}",
                "inputs": [
                    {"name": name, "arg": _argument(value), "kind": 1}
                    for name, value in arguments.items()
                ],
                "outputs": [
                    {"as_tensors": made} if results > 1 else {"as_tensor": made[0]}
                ],
                "metadata": {},
            }
        )
        return Name(first)

    def quantize(
        self, value: Name, scale: float, zero_point: int, dtype: str = "u1"
    ) -> Name:
        return self._convert("quantize", value, scale, zero_point, dtype)

    def dequantize(
        self, value: Name, scale: float, zero_point: int, dtype: str = "u1"
    ) -> Name:
        return self._convert("dequantize", value, scale, zero_point, dtype)

    def _convert(
        self, verb: str, value: Name, scale: float, zero_point: int, dtype: str
    ) -> Name:
        limits = np.iinfo(dtype)
        return self.call(
            f"quantized_decomposed.{verb}_per_tensor.default",
            input=value,
            scale=scale,
            zero_point=zero_point,
            quant_min=int(limits.min),
            quant_max=int(limits.max),
            dtype=TYPES[dtype],
        )

    def pair(
        self, value: Name, scale: float, zero_point: int, dtype: str = "u1"
    ) -> Name:
        """Quantized and dequantized again."""
        stored = self.quantize(value, scale, zero_point, dtype)
        return self.dequantize(stored, scale, zero_point, dtype)

    def weight(self, values: Array, scales: Array) -> Name:
        """int8 weights, dequantized by their first dimension."""
        return self.call(
            "quantized_decomposed.dequantize_per_channel.default",
            input=self.constant(values.astype(np.int8)),
            scales=self.constant(scales.astype(np.float32)),
            zero_points=self.constant(np.zeros(len(scales), np.int64)),
            axis=0,
            quant_min=-128,
            quant_max=127,
            dtype=TYPES["i1"],
        )

    def output(self, name: Name) -> None:
        self.outputs.append(
            {"user_output": {"arg": {"as_tensor": {"name": str(name)}}}}
        )

    def entries(self) -> dict[str, bytes]:
        """What the archive holds, by the paths in its folder."""
        model: Json = {
            "graph_module": {
                "graph": {
                    "inputs": [],
                    "outputs": [],
                    "nodes": self.nodes,
                    "tensor_values": self.metas,
                },
                "signature": {
                    "input_specs": self.specs,
                    "output_specs": self.outputs,
                },
            },
            "schema_version": {"major": 8, "minor": 20},
        }
        config: Json = {"config": self.weights}
        return {
            "archive_format": b"pt2",
            "byteorder": b"little",
            "models/model.json": json.dumps(model).encode(),
            "data/weights/model_weights_config.json": json.dumps(config).encode(),
            **self.files,
        }

    def build(self) -> bytes:
        return archive(self.entries())

    def save(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path


def archive(
    entries: Mapping[str, bytes],
    folder: str = "model/",
    compression: int = zipfile.ZIP_STORED,
) -> bytes:
    """A zip of these entries in one folder."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w", compression) as file:
        for name, data in entries.items():
            file.writestr(zipfile.ZipInfo(folder + name), data, compression)
    return written.getvalue()


def _meta(shape: Sequence[int], dtype: str) -> dict[str, Json]:
    strides = np.empty(tuple(shape), np.int8).strides
    return {
        "dtype": TYPES[dtype],
        "sizes": [{"as_int": int(size)} for size in shape],
        "strides": [{"as_int": int(stride)} for stride in strides],
        "storage_offset": {"as_int": 0},
    }


def _argument(value: Argument) -> dict[str, Json]:
    if value is None:
        return {"as_none": True}
    if isinstance(value, Name):
        return {"as_tensor": {"name": str(value)}}
    if isinstance(value, str):
        return {"as_string": value}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    items = list(value)
    if items and isinstance(items[0], Name):
        return {"as_tensors": [{"name": str(item)} for item in items]}
    if items and isinstance(items[0], float):
        return {"as_floats": [float(item) for item in items]}
    return {"as_ints": [int(item) for item in items]}
