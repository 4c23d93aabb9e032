"""A probe as a `.tflite` file. Needs the extra `tflite`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn import WindowOp
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import constant_of
from qlower.files.flat_tables import TableWriter
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import is_constant, value_names
from qlower.observe.layer_run import CONTRACTIONS

OPERATORS: Mapping[type[Operation], tuple[str, str, int]] = {
    qnn.Conv2DOp: ("CONV_2D", "Conv2DOptions", 3),
    qnn.DepthwiseConv2DOp: ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", 3),
    qnn.LinearOp: ("FULLY_CONNECTED", "FullyConnectedOptions", 4),
    qnn.AddOp: ("ADD", "AddOptions", 2),
    qnn.MulOp: ("MUL", "MulOptions", 2),
    qnn.AvgPool2DOp: ("AVERAGE_POOL_2D", "Pool2DOptions", 2),
}
"""The operator of each op, its options, and its first version with int8."""

SAME, VALID = 0, 1
"""The schema's numbers for windows that reach beyond the image, and that don't."""


def tflite_file(model: Model) -> bytes:
    """The file of a model of int8 activations and the ops of `OPERATORS`; windows are
    padded as SAME has it, or not at all."""
    return _Writer().model(model)


class _Writer(TableWriter):
    """A file under construction: where its tensors and buffers are."""

    def __init__(self) -> None:
        super().__init__(import_module("tflite"))
        self.tensors: dict[SSAValue, int] = {}
        self.tables: list[int] = []
        # By convention buffer 0 is the one of tensors without data.
        self.buffers = [self.table("Buffer")]

    def model(self, model: Model) -> bytes:
        block = main_function(model.module).body.block
        names = value_names(model.module)
        for argument in block.args:
            self._tensor(argument, names[argument])
        ops = [op for op in block.ops if type(op) in OPERATORS]
        operators = [self._operator(op, number, names) for number, op in enumerate(ops)]
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        results = [self.tensors[value] for value in terminator.operands]
        graph = self.table(
            "SubGraph",
            tensors=self.vector(self.tables),
            inputs=self.numbers([self.tensors[a] for a in block.args], np.int32),
            outputs=self.numbers(results, np.int32),
            operators=self.vector(operators),
            name=self.text("main"),
        )
        codes = [self._code(*OPERATORS[type(op)]) for op in ops]
        root = self.table(
            "Model",
            version=3,
            operator_codes=self.vector(codes),
            subgraphs=self.vector([graph]),
            description=self.text("probe"),
            buffers=self.vector(self.buffers),
        )
        return self.file(root, b"TFL3")

    def _code(self, name: str, _: str, version: int) -> int:
        code = self.constant("BuiltinOperator", name)
        return self.table(
            "OperatorCode",
            deprecated_builtin_code=code,
            builtin_code=code,
            version=version,
        )

    def _operator(
        self, op: Operation, number: int, names: Mapping[SSAValue, str]
    ) -> int:
        (result,) = op.results
        inputs = [
            self._constant(op, index, f"{names[result]}_{index}")
            if is_constant(operand.owner)
            else self.tensors[operand]
            for index, operand in enumerate(op.operands)
        ]
        kind = OPERATORS[type(op)][1]
        return self.table(
            "Operator",
            opcode_index=number,
            inputs=self.numbers(inputs, np.int32),
            outputs=self.numbers([self._tensor(result, names[result])], np.int32),
            builtin_options=self.table(kind, **_options(op)),
            builtin_options_type=self.constant("BuiltinOptions", kind),
        )

    def _tensor(self, value: SSAValue, name: str, data: Array | None = None) -> int:
        """Add a tensor of a value's own type."""
        element = element_type(value.type)
        assert isinstance(element, QuantizedType)
        axis = element.axis or 0
        found = self._add(
            *(name, shape_of(value), "INT8", element.scales, element.zero_points),
            *(axis, data),
        )
        self.tensors[value] = found
        return found

    def _constant(self, op: Operation, index: int, name: str) -> int:
        """Add weights, or a bias, whose scales are products."""
        operand = op.operands[index]
        data = constant_of(operand)
        if index == 1:
            return self._tensor(operand, name, data)
        assert isinstance(op, CONTRACTIONS)
        scales = np.array(quantized_element(op.weight.type).scales, np.float32)
        steps = scales * np.float32(quantized_element(op.input.type).scale)
        zeros = [0] * len(steps)
        return self._add(name, shape_of(operand), "INT32", steps, zeros, 0, data)

    def _add(
        self,
        name: str,
        shape: tuple[int, ...],
        type: str,
        scales: Array | tuple[float, ...],
        zero_points: list[int] | tuple[int, ...],
        axis: int,
        data: Array | None,
    ) -> int:
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            stored = self.numbers(np.frombuffer(data.tobytes(), np.uint8), np.uint8)
            self.buffers.append(self.table("Buffer", data=stored))
        quantization = self.table(
            "QuantizationParameters",
            scale=self.numbers(scales, np.float32),
            zero_point=self.numbers(zero_points, np.int64),
            quantized_dimension=axis,
        )
        self.tables.append(
            self.table(
                "Tensor",
                shape=self.numbers(shape, np.int32),
                type=self.constant("TensorType", type),
                buffer=buffer,
                name=self.text(name),
                quantization=quantization,
            )
        )
        return len(self.tables) - 1


def _options(op: Operation) -> dict[str, int]:
    """An operator's options; those that are 0 are left out."""
    if not isinstance(op, WindowOp):
        return {}
    found = {"padding": SAME if any(op.pad) else VALID}
    found |= dict(zip(("stride_h", "stride_w"), op.stride, strict=True))
    if isinstance(op, qnn.AvgPool2DOp):
        found |= dict(zip(("filter_height", "filter_width"), op.kernel, strict=True))
    else:
        found |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    if isinstance(op, qnn.DepthwiseConv2DOp):
        found["depth_multiplier"] = op.multiplier
    return found
