"""Sets of CMSIS-NN's unit tests as models whose scales have the sets' multipliers.

Most are a `.tflite` file with one operator. Of several models each takes the output of
the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model import Model, build

from ..formats.tflite_builder import Option, TFLiteBuilder
from .cmsis_nn import Constants, float32, float32_scales

SAME, VALID = 0, 1
SIDES = ("BATCH", "HEIGHT", "WIDTH", "CHANNEL")


@dataclass(frozen=True)
class Layer:
    """A model, as a file or built, and its inputs; none where it takes an output."""

    source: bytes | Model
    inputs: Sequence[Array]


@dataclass
class _File:
    """A `.tflite` file with one operator, and bounds where the set states them."""

    constants: Constants
    builder: TFLiteBuilder = field(default_factory=TFLiteBuilder)
    inputs: list[int] = field(default_factory=list[int])
    codes: list[Array] = field(default_factory=list[Array])

    def input(
        self,
        shape: Sequence[int],
        scale: float = 1.0,
        name: str = "input",
        offset: str = "INPUT_OFFSET",
    ) -> int:
        codes = self.constants.array(name, f"{name}_tensor")
        if codes is not None:
            self.codes.append(codes.reshape(shape))
        dtype = "int8" if codes is None else str(codes.dtype)
        zero = -self.constants.number(offset, default=0)
        tensor = self.builder.tensor(name, shape, dtype, scale=scale, zero_point=zero)
        self.inputs.append(tensor)
        return tensor

    def integers(self, values: Sequence[int] | Array) -> int:
        data = np.asarray(values, np.int32)
        return self.builder.tensor("integers", data.shape, "int32", data=data)

    def weights(self, shape: Sequence[int], scales: Array, axis: int = 0) -> int:
        """Of 4 bits where two are in a byte."""
        codes = self.constants.given("weights", "input_weights")
        is_packed = codes.size != np.prod(shape)
        return self.builder.tensor(
            "w",
            shape,
            "int4" if is_packed else "int8",
            scale=scales.tolist(),
            zero_point=-self.constants.number("FILTER_OFFSET", default=0),
            axis=axis,
            data=codes.astype(np.uint8).tobytes() if is_packed else codes,
        )

    def bias(self) -> int:
        """Absent where it is NULL; zeros where its type decides the kernel anyway."""
        codes = self.constants.array("biases", "bias", "input_bias")
        if codes is None and "int32_t *const bias = NULL" in self.constants.text:
            codes = np.zeros(self.constants.number("OUT_CH"), np.int32)
        if codes is None:
            return -1
        return self.builder.tensor("b", codes.shape, str(codes.dtype), data=codes)

    def layers(
        self,
        operator: str,
        operands: Sequence[int],
        shape: Sequence[int],
        scale: float = 1.0,
        options: Mapping[str, Option] | None = None,
        zero: int | None = None,
    ) -> list[Layer]:
        constants = self.constants
        expected = constants.array("output_ref", "output")
        dtype = "int8" if expected is None else str(expected.dtype)
        if zero is None:
            zero = constants.number("OUTPUT_OFFSET", default=0)

        def tensor(
            name: str, shape: Sequence[int], data: list[int] | None = None
        ) -> int:
            return self.builder.tensor(
                name, shape, dtype, data=data, scale=scale, zero_point=zero
            )

        result = tensor("y", shape)
        self.builder.operator(operator, operands, [result], options)
        info = np.iinfo(dtype)
        for name, end, limit in (
            ("MAXIMUM", "ACTIVATION_MIN", info.min),
            ("MINIMUM", "ACTIVATION_MAX", info.max),
        ):
            bound = constants.number(f"OUT_{end}", end, default=int(limit))
            if bound != limit:
                free, result = result, tensor(name, shape)
                operands = [free, tensor(end, (1,), [bound])]
                self.builder.operator(name, operands, [result])
        return [Layer(self.builder.build(self.inputs, [result]), self.codes)]


def _image(constants: Constants, end: str = "INPUT") -> tuple[int, int, int, int]:
    batch = constants.number("INPUT_BATCHES", "BATCH_SIZE", "INPUT_N", default=1)
    channels = {"INPUT": ("IN_CH", "INPUT_C"), "OUTPUT": ("OUT_CH", "OUTPUT_C")}[end]
    return batch, *constants.pair(end), constants.number(*channels)


def _options(constants: Constants, dilation: Sequence[int]) -> dict[str, Option]:
    """Strides, and the mode that pads rows and columns as the set does and ends where
    it does."""
    modes, strides = {SAME, VALID}, constants.pair("STRIDE")
    for size, result, kernel, stride, apart, pad in zip(
        constants.pair("INPUT"),
        constants.pair("OUTPUT"),
        constants.pair("FILTER"),
        strides,
        dilation,
        constants.pair("PAD", "PADDING"),
        strict=True,
    ):
        reach = (kernel - 1) * apart + 1
        total = max((result - 1) * stride + reach - size, 0)
        if result != -(-size // stride) or pad != total // 2:
            modes -= {SAME}
        if result != (size - reach) // stride + 1 or pad:
            modes -= {VALID}
    assert modes, f"{constants.name} is padded as no mode is"
    return {"padding": min(modes), "stride_h": strides[0], "stride_w": strides[1]}


def _conv(operator: str, constants: Constants) -> list[Layer]:
    """CONV_2D, with groups where weights have fewer channels, or DEPTHWISE_CONV_2D."""
    file, image = _File(constants), _image(constants)
    result = _image(constants, "OUTPUT")
    rows, columns = constants.pair("DILATION")
    x_scale, scales, y_scale = float32_scales(constants.ratios(result[-1]))
    depth = constants.number("FILTER_CH", default=image[-1])
    shape, axis = (result[-1], *constants.pair("FILTER"), depth), 0
    options = _options(constants, (rows, columns))
    options |= {"dilation_h_factor": rows, "dilation_w_factor": columns}
    if operator == "DEPTHWISE_CONV_2D":
        shape, axis = (1, *shape[1:3], result[-1]), 3
        options["depth_multiplier"] = result[-1] // image[-1]
    weights = file.weights(shape, scales, axis)
    operands = [file.input(image, x_scale), weights, file.bias()]
    return file.layers(operator, operands, result, y_scale, options)


def _transpose_conv(constants: Constants) -> list[Layer]:
    file, image = _File(constants), _image(constants)
    result = _image(constants, "OUTPUT")
    x_scale, scales, y_scale = float32_scales(constants.ratios(result[-1]))
    shape = (result[-1], *constants.pair("FILTER"), image[-1])
    operands = [file.integers(result), file.weights(shape, scales)]
    operands += [file.input(image, x_scale), file.bias()]
    rows, columns = constants.pair("STRIDE")
    options: dict[str, Option] = {"stride_h": rows, "stride_w": columns}
    options["padding"] = VALID if constants.pair("PAD") == (0, 0) else SAME
    return file.layers("TRANSPOSE_CONV", operands, result, y_scale, options)


def _fully_connected(constants: Constants) -> list[Layer]:
    file, batch = _File(constants), constants.number("INPUT_BATCHES")
    units, codes = constants.number("OUTPUT_W", "OUT_CH"), constants.array("input")
    x_scale, scales, y_scale = float32_scales(constants.ratios(units))
    weights = constants.given("weights", "input_weights")
    depth = weights.size // units if codes is None else codes.size // batch
    operands = [
        file.input((batch, depth), x_scale),
        file.weights((units, depth), scales),
    ]
    shape = (batch, units)
    return file.layers("FULLY_CONNECTED", [*operands, file.bias()], shape, y_scale, {})


def _pool(operator: str, constants: Constants) -> list[Layer]:
    file, (rows, columns) = _File(constants), constants.pair("FILTER")
    options = _options(constants, (1, 1))
    options |= {"filter_height": rows, "filter_width": columns}
    operands = [file.input(_image(constants))]
    return file.layers(operator, operands, _image(constants, "OUTPUT"), 1.0, options)


def _softmax(constants: Constants) -> list[Layer]:
    """Differences of 8 bits become Q5.26, those of 16 steps of 10 / 65535."""
    file, shape = _File(constants), constants.sizes("NUM_ROWS", "ROW_SIZE")
    real = constants.number("INPUT_MULT", "MULT") * 2.0 ** (
        constants.number("INPUT_LEFT_SHIFT", "SHIFT") - 31
    )
    x, y = (constants.array(*names) for names in (["input"], ["output_ref"]))
    is_wide = x is not None and x.dtype == np.int16
    scale, zero = (2.0**-15, 0) if is_wide else (2.0**-8, -128)
    if not is_wide and y is not None and y.dtype == np.int16:
        scale, zero = 2.0**-16, -32768
    operands = [file.input(shape, real * 10 / 65535 if is_wide else real * 2.0**-26)]
    return file.layers("SOFTMAX", operands, shape, scale, {"beta": 1.0}, zero)


def _sum_or_product(operator: str, constants: Constants) -> list[Layer]:
    """A sum's operands of one scale count half of 2^LEFT_SHIFT."""
    file, shape = _File(constants), constants.sizes("DST_SIZE")
    lhs, (rhs,), y_scale = float32_scales(constants.ratios())
    options: dict[str, Option] = {}
    if operator == "ADD":
        options["pot_scale_int16"] = False
        lhs = rhs = constants.ratios()[0] * 2.0 ** (constants.number("LEFT_SHIFT") - 1)
        y_scale = 1.0
    operands = [
        file.input(shape, float(scale), f"input{n}", f"INPUT{n}_OFFSET")
        for n, scale in ((1, lhs), (2, rhs))
    ]
    return file.layers(operator, operands, shape, y_scale, options)


def _matmul(constants: Constants) -> list[Layer]:
    file, sides = _File(constants), ("BATCH", "HEIGHT", "ROWS", "COLS")
    lhs, (rhs,), y_scale = float32_scales(constants.ratios())
    operands = [
        file.input(
            constants.sizes(*(f"{name}_{side}" for side in sides)),
            float(scale),
            f"{name.lower()}_input",
            f"{name}_OFFSET",
        )
        for name, scale in (("LHS", lhs), ("RHS", rhs))
    ]
    shape = constants.sizes(*(f"OUTPUT_{side}" for side in sides))
    options = {
        name: bool(constants.number(name.upper())) for name in ("adj_x", "adj_y")
    }
    return file.layers("BATCH_MATMUL", operands, shape, y_scale, options)


def _extreme(constants: Constants) -> list[Layer]:
    file = _File(constants)
    shapes = [constants.sizes(*(f"{side}_{n}" for side in SIDES)) for n in (1, 2)]
    names = ("input_tensor_1", "input_tensor_2")
    operands = [
        file.input(shape, 1.0, n) for shape, n in zip(shapes, names, strict=True)
    ]
    result = constants.sizes(*(f"OUTPUT_{side}" for side in SIDES))
    operator = "MAXIMUM" if "LAYER_TYPE maximum" in constants.text else "MINIMUM"
    return file.layers(operator, operands, result, zero=0)


def _pad(constants: Constants) -> list[Layer]:
    file = _File(constants)
    shape = constants.sizes(*(f"INPUT_{side}" for side in "NHWC"))
    pads = np.array(
        [constants.sizes(f"PRE_PAD_{side}", f"POST_PAD_{side}") for side in "NHWC"]
    )
    value = file.builder.tensor("v", (1,), scale=1.0, data=constants.sizes("PAD_VALUE"))
    operands = [file.input(shape), file.integers(pads), value]
    return file.layers("PADV2", operands, (pads.sum(axis=1) + shape).tolist())


def _transpose(constants: Constants) -> list[Layer]:
    file, rank = _File(constants), constants.number("PERM_SIZE")
    shape, perm = (constants.words(name)[:rank] for name in ("IN_DIM", "PERM"))
    operands = [file.input(shape), file.integers(perm)]
    return file.layers("TRANSPOSE", operands, [shape[place] for place in perm])


def _typed(bits: int, scale: float, shape: Sequence[int], zero: int = 0):
    element = QuantizedType.per_tensor(bits, True, scale, zero)
    return TensorType[Attribute](element, shape)


def _svdf(constants: Constants) -> list[Layer]:
    """All calls in one model, each with the state that the one before left."""
    state, units = constants.given("state"), constants.given("biases").size
    batch, filters, places, size = constants.sizes(
        "INPUT_BATCHES", "FEATURE_BATCHES", "TIME_BATCHES", "INPUT_SIZE"
    )
    first = constants.ratio("MULTIPLIER_IN", "SHIFT_1")
    second = constants.ratio("MULTIPLIER_OUT", "SHIFT_2")
    calls = constants.given("input_sequence").reshape(-1, batch, size)
    bits, shape = 8 * state.itemsize, (batch, filters, places)
    kept = _typed(bits, 1.0, shape)
    x = _typed(8, 1.0, (batch, size), -constants.number("INPUT_OFFSET"))
    y = _typed(8, 1.0, (batch, units), constants.number("OUTPUT_OFFSET"))

    def weights(name: str, *type: int, scale: float) -> SSAValue:
        values = constants.given(f"weights_{name}").reshape(type[1:])
        return build.constant(values, _typed(type[0], scale, type[1:]))

    def body(at: SSAValue, *inputs: SSAValue) -> list[SSAValue]:
        features = weights("feature", 8, filters, size, scale=first)
        times = weights("time", bits, filters, places, scale=second)
        bias, result = build.constant(constants.given("biases")), at
        for value in inputs:
            call = qnn.SvdfOp(value, at, features, times, bias, y, kept)
            result, at = call.result, call.next_state
        return [result]

    model = build.make_model([kept, *[x] * len(calls)], body)
    return [Layer(model, [state.reshape(-1)[: np.prod(shape)].reshape(shape), *calls])]


def _lstm(constants: Constants) -> list[Layer]:
    """Scales of the state's weights make the nearest multipliers: the sets have those
    of products in float32."""
    codes = constants.given("input_tensor")
    gates = ("INPUT", "FORGET", "CELL", "OUTPUT")
    batch, steps, size, units, zero = constants.sizes(
        *("BATCH_SIZE", "TIME_STEPS", "INPUT_SIZE", "HIDDEN_SIZE", "OUTPUT_ZERO_POINT")
    )
    assert batch == 1 or "TIME_MAJOR true" not in constants.text
    step, bits = 2.0**-30, 8 * codes.itemsize
    cell = step / constants.ratio("INPUT_TO_CELL_MULTIPLIER", "INPUT_TO_CELL_SHIFT")
    state = step / constants.ratio("OUTPUT_MULTIPLIER", "OUTPUT_SHIFT")
    x = _typed(bits, 1.0, (batch, steps, size), -constants.number("INPUT_ZERO_POINT"))
    y = _typed(bits, state, (batch, steps, units), zero)
    h, c = _typed(bits, state, (batch, units), zero), _typed(16, cell, (batch, units))

    def stacked(name: str) -> Array:
        parts = [constants.given(f"{gate.lower()}_gate_{name}") for gate in gates]
        return np.concatenate(parts)

    def weights(name: str, scale: float) -> SSAValue:
        pairs = [
            (f"{gate}_GATE_{name}_MULTIPLIER", f"{gate}_GATE_{name}_SHIFT")
            for gate in gates
        ]
        ratios = np.repeat([constants.ratio(*pair) for pair in pairs], units)
        scales = float32(ratios / 4096 / scale).tolist()
        values = stacked(f"{name.lower()}_weights").reshape(4 * units, -1)
        return build.constant(values, build.quantized_per_axis(values.shape, 0, scales))

    def body(value: SSAValue) -> list[SSAValue]:
        call = qnn.LstmOp(
            value,
            build.constant(np.full((batch, units), zero, codes.dtype), h),
            build.constant(np.zeros((batch, units), np.int16), c),
            *(weights("INPUT", 1.0), weights("HIDDEN", state)),
            *(build.constant(stacked("bias")), y, h, c),
            cell_clip=constants.number("CELL_CLIP") * cell,
        )
        return [call.result]

    return [Layer(build.make_model([x], body), [codes.reshape(batch, steps, size)])]


def _network(constants: Constants) -> list[Layer]:
    return [layer for part in constants.layers() for layer in make_layers(part)]


def make_layers(constants: Constants) -> list[Layer]:
    """The set's models; raises StopIteration where its kernel is none of these."""
    return next(make for name, make in MAKERS if re.match(name, constants.kernel))(
        constants
    )


MAKERS: Sequence[tuple[str, Callable[[Constants], list[Layer]]]] = (
    ("reverse_transpose_conv|transpose_conv", _transpose_conv),
    ("(grouped_)?conv|$", partial(_conv, "CONV_2D")),
    ("depthwise_conv", partial(_conv, "DEPTHWISE_CONV_2D")),
    ("fully_connected", _fully_connected),
    ("avgpool|average_pool", partial(_pool, "AVERAGE_POOL_2D")),
    ("max_pool", partial(_pool, "MAX_POOL_2D")),
    ("softmax", _softmax),
    ("elementwise_add", partial(_sum_or_product, "ADD")),
    ("elementwise_mul", partial(_sum_or_product, "MUL")),
    ("batch_matmul", _matmul),
    ("maximum_minimum", _extreme),
    ("pad", _pad),
    ("transpose", _transpose),
    ("svdf", _svdf),
    ("lstm", _lstm),
    ("ds_cnn", _network),
)
"""How a kernel's name begins, and what makes models of its sets."""
