"""The nodes of ESP-DL in ONNX's QLinear forms.

Tensors have exponents where ONNX's operators have scales: a scale is 2^exponent, and
zero points are 0. Images have their channels last, and weights lie as the kernels of a
device read them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from qlower.diagnostics import QlowerError, make_file_location

from ..graph.nodes import DEQUANTIZE, MICROSOFT, QUANTIZE
from ..graph.schema import AttributeValue, Constant, Model, Node, Port
from .reader import DOMAIN, Content, Tensor

OPSET = 18
"""The opset of ONNX after which esp-ppq writes nodes."""

VECTOR = 16
"""Bytes of weights that alternate between filters: 16 filters of int8, 8 of int16."""

KINDS = {"S8": "INT8", "S16": "INT16"}
"""The elements of a node, by its quant_type."""

DTYPES = {"INT8": np.int8, "INT16": np.int16}
PLAIN, PLAIN_DEPTHWISE = "NHWC", "HWCN"
"""Layouts for devices with a vector unit, and for those without."""

MOVING = (
    *("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"),
)
"""Operators that change no element."""

OF_TWO = ("Add", "Conv", "Gemm", "MatMul", "Mul")


def model_of(content: Content, filename: str) -> tuple[Model, str]:
    """The graph, and the contract of the device that its weights lie for; raises a
    `QlowerError` for a node that can't be said in ONNX's forms."""
    return _Translation(content, filename).model()


class _Translation:
    def __init__(self, content: Content, filename: str) -> None:
        self.content = content
        self.filename = filename
        self.tensors = content.tensors
        self.devices: set[str] = set()
        self.constants: dict[str, Constant] = {}
        for name, tensor in self.tensors.items():
            if tensor.array is not None and not tensor.layout:
                stored = tensor.array
                self.constants[name] = Constant(tensor.type, stored.shape, stored)

    def model(self) -> tuple[Model, str]:
        nodes = [made for node in self.content.nodes for made in self.translated(node)]
        inputs, outputs = (
            tuple(Port(n, self.tensors[n].type, self.tensors[n].shape) for n in names)
            for names in (self.content.inputs, self.content.outputs)
        )
        read = OPSET, tuple(nodes), self.constants, inputs, outputs
        model = Model(self.filename, self.content.size, *read)
        return model, min(self.devices, default="esp-dl-p4")

    def error(self, node: Node, message: str) -> QlowerError:
        subject = f"node {node.index} {node.kind} {node.name!r}"
        place = make_file_location(self.filename, node.index, 0)
        return QlowerError(f"{subject}: {message}", place)

    def translated(self, node: Node) -> Sequence[Node]:
        """The nodes of ONNX that one of ESP-DL is; itself if it isn't known."""
        kind = node.attributes.get("quant_type", "S8")
        if kind not in KINDS:
            raise self.error(
                node, f"quant_type {kind!r} is not supported; expected S8 or S16"
            )
        least = 2 if node.kind in OF_TWO else 1
        if len(node.inputs) < least or not node.outputs:
            raise self.error(node, f"{len(node.inputs)} operands, expected {least}")
        if node.kind == "Relu" and (kind == "S16" or "lut" not in node.attributes):
            # Of int16 the device computes it even if the file has a table.
            self.check_same(node)
            inputs = self.stored(node, node.inputs[0])
            inputs += self.step(node, node.outputs[0])
            return [node.like("Relu", inputs, node.outputs, domain=DOMAIN)]
        if "lut" in node.attributes:
            if kind == "S16" and node.kind != "LUT":
                raise self.error(node, "a table of int16 beside the operator itself")
            return [self.looked_up(node)]
        if node.kind in MOVING:
            self.check_same(node)
            return [node.like(node.kind, node.inputs, node.outputs, node.attributes)]
        translate = TRANSLATIONS.get(node.kind)
        return [node] if translate is None else translate(self, node)

    def check_same(self, node: Node) -> None:
        """Refuse other exponents of the result than of the first operand."""
        given, made = node.inputs[0], node.outputs[0]
        if self.scale_of(node, given) != self.scale_of(node, made):
            raise self.error(node, "its input and result have different exponents")

    def looked_up(self, node: Node) -> Node:
        """A table of the results for each code from -128 on."""
        table = str(node.attributes["lut"])
        inputs = [*self.stored(node, node.inputs[0]), table]
        inputs += self.step(node, node.outputs[0])
        return node.like("LUT", inputs, node.outputs, domain=DOMAIN)

    def tensor(self, node: Node, name: str) -> Tensor:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise self.error(node, f"{name!r} is described nowhere")
        return tensor

    def scale_of(self, node: Node, name: str) -> tuple[int, ...]:
        """The exponents of a value of int8 or int16; none of another."""
        tensor = self.tensor(node, name)
        return tensor.exponents if tensor.type in DTYPES else ()

    def step(self, node: Node, name: str) -> list[str]:
        """The operands for the scale of a value and its zero point."""
        exponents = self.scale_of(node, name)
        if not exponents:
            raise self.error(node, f"{name!r} is not of int8 or int16 with an exponent")
        same = exponents[:1] if len(set(exponents)) == 1 else exponents
        # No name in a file has a control character: those are escaped.
        scale = f"\nscale 2^{','.join(map(str, same))}"
        steps = np.ldexp(np.float32(1), np.array(same))
        self.constants[scale] = Constant("FLOAT", steps.shape, steps)
        kind = self.tensors[name].type
        zero = f"\nzero {kind} {len(same)}"
        zeros = np.zeros(len(same), DTYPES[kind])
        self.constants[zero] = Constant(kind, zeros.shape, zeros)
        return [scale, zero]

    def stored(self, node: Node, name: str) -> list[str]:
        return [name, *self.step(node, name)]

    def filters(self, node: Node, groups: object) -> list[str]:
        """The operands for weights, in ONNX's order [O, C / groups, KH, KW]."""
        name = node.inputs[1]
        operands = self.stored(node, name)
        tensor = self.tensors[name]
        shape = () if tensor.array is None else tensor.array.shape
        if len(shape) == 2:
            shape = (1, 1, *shape)
        if tensor.array is None or len(shape) != 4 or not tensor.array.size:
            raise self.error(node, f"weights {name!r} of shape {list(tensor.shape)}")
        is_depthwise = groups != 1
        height, width, *two = shape
        depth, count = reversed(two) if is_depthwise else two
        flat = tensor.array.reshape(-1)
        plain = PLAIN_DEPTHWISE if is_depthwise else PLAIN
        if tensor.type != self.tensors[node.inputs[0]].type:
            raise self.error(node, f"weights {name!r} of {tensor.type}")
        group = VECTOR // tensor.array.itemsize
        packed = f"(N/{group})HWC{group}", f"(N/{group})HWC{group}_UNALIGNED"
        if tensor.layout not in (*packed, plain):
            raise self.error(
                node,
                f"weights {name!r} in the layout {tensor.layout!r}; expected"
                f" {', '.join((*packed, plain))}",
            )
        window = height, width, depth
        if tensor.layout in packed:
            whole = count // group * group
            first, last = np.split(flat, [whole * math.prod(window)])
            first = first.reshape(-1, *window, group).transpose(0, 4, 1, 2, 3)
            last = last.reshape(-1, *window)
            if is_depthwise:
                rest = depth, height, width, count - whole
                last = last.reshape(rest).transpose(3, 1, 2, 0)
            found = np.concatenate([first.reshape(-1, *window), last])
        elif is_depthwise:
            found = flat.reshape(*window, count).transpose(3, 0, 1, 2)
        else:
            found = flat.reshape(count, *window)
        self.devices.add(_device(tensor))
        array = np.ascontiguousarray(found.transpose(0, 3, 1, 2))
        self.constants[name] = Constant(tensor.type, array.shape, array)
        return operands

    def bias(self, node: Node) -> list[str]:
        """The bias, in steps of the sums."""
        if len(node.inputs) < 3 or not node.inputs[2]:
            return [""]
        given, weights, bias = (
            np.array(self.tensor(node, name).exponents) for name in node.inputs[:3]
        )
        size = self.tensors[node.inputs[2]].shape
        if len(size) != 1 or not all(one.size in (1, *size) for one in (weights, bias)):
            raise self.error(node, f"a bias {node.inputs[2]!r} of shape {list(size)}")
        if np.any(given + weights != bias):
            raise self.error(
                node, f"the bias {node.inputs[2]!r} isn't in steps of the sums"
            )
        return [node.inputs[2]]


def _device(weights: Tensor) -> str:
    """The contract of the device whose layout weights have: those with a scale for each
    channel are for the ESP32-P4."""
    if weights.layout in (PLAIN, PLAIN_DEPTHWISE):
        return "esp-dl-esp32"
    return "esp-dl-p4" if len(weights.exponents) > 1 else "esp-dl-s3"


def _attributes(node: Node) -> dict[str, AttributeValue]:
    """The attributes that ONNX's operator has, too; images have their channels last."""
    own = ("quant_type", "activation", "input1_layout")
    found = {name: one for name, one in node.attributes.items() if name not in own}
    activation = node.attributes.get("activation", "Linear")
    if activation != "Linear":
        found["activation"] = str(activation).lower()
    return found


LAST: dict[str, AttributeValue] = {"channels_last": 1}


def _conv(read: _Translation, node: Node) -> Sequence[Node]:
    inputs = read.stored(node, node.inputs[0])
    inputs += read.filters(node, node.attributes.get("group", 1))
    inputs += read.step(node, node.outputs[0]) + read.bias(node)
    made = _attributes(node) | LAST
    return [node.like("QLinearConv", inputs, node.outputs, made, domain=MICROSOFT)]


def _matrix(read: _Translation, node: Node) -> list[str]:
    """The operands for constant weights [K, O]."""
    operands = read.filters(node, 1)
    weights = read.constants[operands[0]].array
    assert weights is not None, "just read"
    matrix = weights.reshape(len(weights), -1).T
    kind = read.tensors[operands[0]].type
    read.constants[operands[0]] = Constant(kind, matrix.shape, matrix)
    return operands


def _matmul(read: _Translation, node: Node) -> Sequence[Node]:
    given, factor = node.inputs[:2]
    is_constant = read.tensor(node, factor).array is not None
    inputs = read.stored(node, given)
    inputs += _matrix(read, node) if is_constant else read.stored(node, factor)
    inputs += read.step(node, node.outputs[0])
    made = _attributes(node)
    if not is_constant and "activation" in made:
        raise read.error(node, "an activation of a product of two computed values")
    return [node.like("QLinearMatMul", inputs, node.outputs, made)]


def _gemm(read: _Translation, node: Node) -> Sequence[Node]:
    inputs = read.stored(node, node.inputs[0]) + _matrix(read, node)
    inputs += read.bias(node) + read.step(node, node.outputs[0])
    made = _attributes(node) | {"transB": 0}
    return [node.like("QGemm", inputs, node.outputs, made, domain=MICROSOFT)]


def _binary(kind: str) -> Callable[[_Translation, Node], Sequence[Node]]:
    def translate(read: _Translation, node: Node) -> Sequence[Node]:
        inputs = [part for name in node.inputs for part in read.stored(node, name)]
        inputs += read.step(node, node.outputs[0])
        made = _attributes(node)
        return [node.like(kind, inputs, node.outputs, made, domain=MICROSOFT)]

    return translate


def _pool(kind: str) -> Callable[[_Translation, Node], Sequence[Node]]:
    def translate(read: _Translation, node: Node) -> Sequence[Node]:
        inputs = read.stored(node, node.inputs[0]) + read.step(node, node.outputs[0])
        made = _attributes(node) | LAST
        return [node.like(kind, inputs, node.outputs, made, domain=MICROSOFT)]

    return translate


def _max_pool(read: _Translation, node: Node) -> Sequence[Node]:
    read.check_same(node)
    made = _attributes(node)
    inputs, outputs = node.inputs[:1], node.outputs
    return [node.like("NhwcMaxPool", inputs, outputs, made, domain=MICROSOFT)]


def _concat(read: _Translation, node: Node) -> Sequence[Node]:
    inputs = read.step(node, node.outputs[0])
    inputs += [part for name in node.inputs for part in read.stored(node, name)]
    made = _attributes(node)
    return [node.like("QLinearConcat", inputs, node.outputs, made, domain=MICROSOFT)]


def _requantize(read: _Translation, node: Node) -> Sequence[Node]:
    """By the exponents; the operands repeat the result's."""
    real = f"\nreal {node.outputs[0]}"
    inputs = read.stored(node, node.inputs[0])
    return [
        node.like(DEQUANTIZE, inputs, [real]),
        node.like(QUANTIZE, [real, *read.step(node, node.outputs[0])], node.outputs),
    ]


def _border(kind: str) -> Callable[[_Translation, Node], Sequence[Node]]:
    """A quantization or the inverse, by the exponent of what is stored."""

    def translate(read: _Translation, node: Node) -> Sequence[Node]:
        stored = node.outputs[0] if kind == QUANTIZE else node.inputs[0]
        inputs = [node.inputs[0], *read.step(node, stored)]
        return [node.like(kind, inputs, node.outputs)]

    return translate


TRANSLATIONS: Mapping[str, Callable[[_Translation, Node], Sequence[Node]]] = {
    "Add": _binary("QLinearAdd"),
    "AveragePool": _pool("QLinearAveragePool"),
    "Concat": _concat,
    "Conv": _conv,
    "DequantizeLinear": _border(DEQUANTIZE),
    "Gemm": _gemm,
    "MatMul": _matmul,
    "GlobalAveragePool": _pool("QLinearGlobalAveragePool"),
    "MaxPool": _max_pool,
    "Mul": _binary("QLinearMul"),
    "QuantizeLinear": _border(QUANTIZE),
    "RequantizeLinear": _requantize,
}
