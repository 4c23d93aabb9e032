"""Writing small ONNX files node by node. Needs the package `onnx`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from qlower.interp.values import Array

MICROSOFT = "com.microsoft"


class OnnxBuilder:
    """A graph under construction; values are known by their names."""

    def __init__(self, opset: int = 17) -> None:
        self.helper: Any = import_module("onnx.helper")
        self.numpy: Any = import_module("onnx.numpy_helper")
        self.opset = opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: str = "f4") -> str:
        self.inputs.append(self._port(name, dtype, shape))
        return name

    def output(
        self, name: str, dtype: str = "f4", shape: Sequence[int] | None = None
    ) -> None:
        self.outputs.append(self._port(name, dtype, shape))

    def _port(self, name: str, dtype: str, shape: Sequence[int | str] | None) -> Any:
        type = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.helper.make_tensor_value_info(name, type, shape)

    def constant(self, values: Array | float, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        array = np.asarray(values)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        self.constants.append(self.numpy.from_array(array, name))
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str | Sequence[str] = "",
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; gives the name of its first result."""
        names = [output] if isinstance(output, str) else list(output)
        names[0] = names[0] or f"v{len(self.nodes)}"
        self.nodes.append(
            self.helper.make_node(
                operator,
                inputs,
                names,
                name=f"n{len(self.nodes)}",
                domain=domain,
                **attributes,
            )
        )
        return names[0]

    def parameters(
        self, scale: Array | float, zero: int | Array, type: str
    ) -> list[str]:
        """Scale and zero point as constants."""
        scales = np.asarray(scale, np.float32)
        zeros = np.broadcast_to(np.asarray(zero), scales.shape).astype(type)
        return [self.constant(scales), self.constant(zeros)]

    def quantize(
        self, value: str, scale: float, zero: int, type: str = "u1", output: str = ""
    ) -> str:
        parameters = self.parameters(scale, zero, type)
        return self.node("QuantizeLinear", [value, *parameters], output)

    def dequantize(
        self,
        value: str,
        scale: Array | float,
        zero: int,
        type: str = "u1",
        output: str = "",
        **attributes: Any,
    ) -> str:
        parameters = self.parameters(scale, zero, type)
        return self.node("DequantizeLinear", [value, *parameters], output, **attributes)

    def pair(self, value: str, scale: float, zero: int, type: str = "u1") -> str:
        """Quantized and dequantized again."""
        return self.dequantize(
            self.quantize(value, scale, zero, type), scale, zero, type
        )

    def build(self) -> bytes:
        graph = self.helper.make_graph(
            self.nodes, "graph", self.inputs, self.outputs, self.constants
        )
        others = {node.domain for node in self.nodes} - {""} | {MICROSOFT}
        opsets = [
            self.helper.make_opsetid("", self.opset),
            *(self.helper.make_opsetid(domain, 1) for domain in sorted(others)),
        ]
        model = self.helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return model.SerializeToString()

    def save(self, path: Path) -> Path:
        path.write_bytes(self.build())
        return path
