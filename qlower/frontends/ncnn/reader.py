"""The graph of a `.param` file with the weights of the `.bin` file beside it.

The `.bin` file has no index: what it holds follows from the layers, in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from qlower.diagnostics import QlowerError, make_file_location

from ..graph.schema import AttributeValue, Constant, Model, Node, Port
from .text import Layer, Parameter, read_layers

DOMAIN = "ncnn"

SAME_UPPER, SAME_LOWER = -233, -234
"""Values of pads that sizes decide."""

_WINDOW = {
    **{0: "num_output", 1: "kernel_w", 11: "kernel_h", 2: "dilation_w"},
    **{12: "dilation_h", 3: "stride_w", 13: "stride_h", 4: "pad_left"},
    **{15: "pad_right", 14: "pad_top", 16: "pad_bottom", 18: "pad_value"},
    **{5: "bias_term", 6: "weight_data_size", 8: "int8_scale_term"},
    **{9: "activation_type", 10: "activation_params", 19: "dynamic_weight"},
}
NAMES: Mapping[str, Mapping[int, str]] = {
    "BinaryOp": {0: "op_type", 1: "with_scalar", 2: "b"},
    "Clip": {0: "min", 1: "max"},
    "Concat": {0: "axis"},
    "Convolution": _WINDOW,
    "ConvolutionDepthWise": {**_WINDOW, 7: "group"},
    "Dropout": {0: "scale"},
    "Eltwise": {0: "op_type", 1: "coeffs"},
    "Flatten": {},
    "InnerProduct": {
        **{0: "num_output", 1: "bias_term", 2: "weight_data_size"},
        **{8: "int8_scale_term", 9: "activation_type", 10: "activation_params"},
    },
    "Input": {0: "w", 1: "h", 2: "c"},
    "Noop": {},
    "Padding": {
        **{0: "top", 1: "bottom", 2: "left", 3: "right", 4: "type", 5: "value"},
        **{6: "per_channel_pad_data_size", 7: "front", 8: "behind"},
    },
    "Pooling": {
        **{0: "pooling_type", 1: "kernel_w", 11: "kernel_h", 2: "stride_w"},
        **{12: "stride_h", 3: "pad_left", 14: "pad_right", 13: "pad_top"},
        **{15: "pad_bottom", 4: "global_pooling", 5: "pad_mode"},
        **{6: "avgpool_count_include_pad", 7: "adaptive_pooling"},
        **{8: "out_w", 18: "out_h"},
    },
    "Quantize": {0: "scale_data_size"},
    "ReLU": {0: "slope"},
    "Reshape": {0: "w", 1: "h", 2: "c"},
    "Split": {},
}
"""ncnn's names of the parameters of each layer that is read."""

WITHOUT_WEIGHTS = (
    *("Crop", "HardSigmoid", "HardSwish", "Interp", "Mish", "Permute", "Sigmoid"),
    *("Slice", "Softmax", "Swish", "TanH"),
)
"""Other layers, which aren't read; the weights behind them can be found."""

HINTS = (30, 31)
"""Parameters of any layer that change no result: shapes of blobs, and features that are
turned off."""

SIDES = ("pad_top", "pad_left", "pad_bottom", "pad_right")

TYPES = {
    0x000D4B38: ("INT8", np.int8),
    0x01306B47: ("FLOAT16", np.float16),
    0x0002C056: ("FLOAT", np.float32),
    0: ("FLOAT", np.float32),
}
"""The types of weights by the four bytes before them."""

NUMBERS = np.dtype("<f4")


def read_model(data: bytes, weights: bytes, filename: str, beside: str) -> Model:
    """The graph of these bytes of two files, named `filename` and `beside`; raises a
    `QlowerError` with a place in one of them."""
    layers = read_layers(data, filename)
    file = _Weights(weights, filename, beside)
    ports = [_port(layer, filename) for layer in layers if layer.kind == "Input"]
    others = [layer for layer in layers if layer.kind != "Input"]
    names = Counter(layer.name for layer in others)
    nodes: list[Node] = []
    constants: dict[str, Constant] = {}
    for layer in others:
        attributes = _attributes(layer, filename)
        inputs = list(layer.inputs)
        name = layer.name if names[layer.name] == 1 else f"{layer.name} {layer.line}"
        for what, constant in file.of_layer(layer, attributes):
            # No blob's name has a space.
            inputs.append("" if constant is None else f"{name} {what}")
            if constant is not None:
                constants[inputs[-1]] = constant
        operator = DOMAIN, layer.kind, layer.name
        outputs = list(layer.outputs)
        node = Node(layer.line, *operator, inputs, outputs, attributes, layer.kind)
        nodes.append(node)
    file.check_end()
    taken = {name for layer in layers for name in layer.inputs}
    given = [name for layer in others for name in layer.outputs]
    outputs = tuple(Port(name, "", None) for name in given if name not in taken)
    size = len(data) + len(weights)
    read = tuple(nodes), constants, tuple(ports), outputs, "ncnn", True
    return Model(filename, size, 0, *read)


def _error(layer: Layer, filename: str, message: str) -> QlowerError:
    place = make_file_location(filename, layer.line, 1)
    return QlowerError(f"{layer.kind} {layer.name!r}: {message}", place)


def _attributes(layer: Layer, filename: str) -> dict[str, AttributeValue]:
    """Parameters by ncnn's names, and a window's by ONNX's; of a layer that isn't read
    none."""
    names = NAMES.get(layer.kind)
    if names is None:
        return {}
    found: dict[str, AttributeValue] = {}
    for number, value in layer.parameters.items():
        if number in HINTS:
            continue
        if number not in names:
            raise _error(layer, filename, f"parameter {number} is not supported")
        found[names[number]] = _value(value)
    return found | (_window(found) if "kernel_w" in names.values() else {})


def _value(value: Parameter) -> AttributeValue:
    """A parameter as it is written; a list with a real number has only such."""
    if isinstance(value, tuple):
        return tuple(float(one) for one in value)
    return value


def _window(given: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """The attributes of a window: what isn't given for the height is as for the width,
    on the right as on the left, below as above, above as on the left."""
    left = given.get("pad_left", 0)
    top = given.get("pad_top", left)
    pads = (top, left, given.get("pad_bottom", top), given.get("pad_right", left))
    found: dict[str, AttributeValue] = {"group": given.get("group", 1)}
    for side in (SAME_UPPER, SAME_LOWER):
        if pads == (side,) * 4:
            found["auto_pad"] = "SAME_UPPER" if side == SAME_UPPER else "SAME_LOWER"
            pads = (0,) * 4
    pairs: list[tuple[str, tuple[object, ...]]] = [("pads", pads)]
    for name, which in (("strides", "stride"), ("dilations", "dilation")):
        width = given.get(f"{which}_w", 1)
        pairs.append((name, (given.get(f"{which}_h", width), width)))
    if "kernel_w" in given:
        width = given["kernel_w"]
        pairs.append(("kernel_shape", (given.get("kernel_h", width), width)))
    for name, values in pairs:
        integers = tuple(value for value in values if isinstance(value, int))
        # Real numbers are refused where the attribute is read.
        found[name] = integers if len(integers) == len(values) else "no integers"
    return found


def _port(layer: Layer, filename: str) -> Port:
    """The model's input that a layer is, with a dimension of images before ncnn's."""
    given = _attributes(layer, filename)
    names = [name for name in ("c", "h", "w") if given.get(name)]
    if layer.inputs or len(layer.outputs) != 1:
        raise _error(layer, filename, "expected no blob that it takes and one it gives")
    sizes = tuple(size for name in names if isinstance(size := given[name], int))
    if len(sizes) < len(names) or names != ["c", "h", "w"][3 - len(names) :]:
        raise _error(
            layer, filename, f"sizes {given}; expected w, w and h, or all of w, h and c"
        )
    return Port(layer.outputs[0], "FLOAT", (1, *sizes) if sizes else None)


class _Weights:
    """The `.bin` file, from whose front each layer takes its weights."""

    def __init__(self, data: bytes, filename: str, beside: str) -> None:
        self.data = data
        self.filename = filename
        self.beside = beside
        self.at = 0
        self.unknown: Layer | None = None
        """The first layer whose number of weights is unknown."""

    def of_layer(
        self, layer: Layer, attributes: Mapping[str, AttributeValue]
    ) -> Iterator[tuple[str, Constant | None]]:
        """The operands that are weights, by name; None for one that is left out."""
        if layer.kind not in NAMES and layer.kind not in WITHOUT_WEIGHTS:
            self.unknown = self.unknown or layer
        size = partial(self.size, layer, attributes)
        if layer.kind == "Quantize":
            yield "scale", self.numbers(layer, size("scale_data_size", 1))
        is_dense = layer.kind == "InnerProduct"
        if not is_dense and not layer.kind.startswith("Convolution"):
            return
        yield "weights", self.tagged(layer, size("weight_data_size"))
        has_bias = attributes.get("bias_term", 0) != 0
        yield "bias", self.numbers(layer, size("num_output")) if has_bias else None
        term = attributes.get("int8_scale_term", 0)
        if term == 0:
            return
        is_depthwise = layer.kind == "ConvolutionDepthWise"
        is_one = is_depthwise and term in (2, 102)
        count = 1 if is_one else size("group" if is_depthwise else "num_output")
        yield "scales", self.numbers(layer, count)
        yield "input scale", self.numbers(layer, 1)
        if isinstance(term, int) and term > 100 and not is_dense:
            yield "output scale", self.numbers(layer, 1)

    def tagged(self, layer: Layer, count: int) -> Constant:
        """`count` weights behind the four bytes of their type."""
        (tag,) = np.frombuffer(self.take(layer, 4), "<u4")
        if int(tag) not in TYPES:
            raise _error(
                layer,
                self.filename,
                f"its weights at byte {self.at - 4} of {self.beside} begin with"
                f" 0x{int(tag):08X}; expected 0x000D4B38, which stands for int8",
            )
        type, dtype = TYPES[int(tag)]
        stored = np.dtype(dtype).newbyteorder("<")
        data = self.take(layer, -(-count * stored.itemsize // 4) * 4)
        return Constant(type, (count,), np.frombuffer(data, stored, count))

    def numbers(self, layer: Layer, count: int) -> Constant:
        """The next `count` float32 numbers."""
        array = np.frombuffer(self.take(layer, 4 * count), NUMBERS)
        return Constant("FLOAT", array.shape, array.astype(np.float32))

    def size(
        self,
        layer: Layer,
        attributes: Mapping[str, AttributeValue],
        name: str,
        default: int | None = None,
    ) -> int:
        """A number of weights that an attribute says."""
        value = attributes.get(name, default)
        most = len(self.data)
        if not isinstance(value, int) or not 1 <= value <= most:
            raise _error(
                layer,
                self.filename,
                f"{name} {value} is out of range [1, {most}], as {self.beside} has"
                f" {most} bytes",
            )
        return value

    def take(self, layer: Layer, count: int) -> bytes:
        """The next bytes of the file."""
        if self.unknown is not None:
            raise _error(
                self.unknown,
                self.filename,
                "this layer is not supported; it may have"
                " weights before those of others",
            )
        if count > len(self.data) - self.at:
            raise _error(
                layer,
                self.filename,
                f"{self.beside} ends at byte {len(self.data)}; {count} bytes from"
                f" byte {self.at} on are weights",
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def check_end(self) -> None:
        """Refuse bytes after the last layer's weights."""
        left = len(self.data) - self.at
        if left and self.unknown is None:
            raise QlowerError(
                f"{left} of {len(self.data)} bytes are left after the last layer's"
                f" weights",
                make_file_location(self.beside, 0, 0),
            )
