"""What the calls of a quantized engine become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..graph.nodes import DEQUANTIZE, MICROSOFT, QUANTIZE
from ..graph.schema import AttributeValue
from ..pt2.calls import TABLE as ATEN
from ..pt2.translating import TORCH, CallSite, Translate


def _step(site: CallSite, prefix: str = "") -> list[str]:
    """Scale and zero point of an operand, or of the result, as constants."""
    scale = np.array(site.real(f"{prefix}scale"), np.float32)
    zero_point = np.array(site.integer(f"{prefix}zero_point"), np.uint8)
    return [site.constant(scale, "FLOAT"), site.constant(zero_point, "UINT8")]


def _operand(site: CallSite, name: str) -> list[str]:
    return [site.tensor(name), *_step(site, f"{name}.")]


def _quantize(site: CallSite) -> None:
    site.add(QUANTIZE, [site.tensor("self"), *_step(site)])


def _dequantize(site: CallSite) -> None:
    site.add(DEQUANTIZE, _operand(site, "self"))


def _layer(site: CallSite, *, kind: str, rank: int) -> None:
    attributes: dict[str, AttributeValue] = {}
    if rank:
        padding = site.integers("padding")
        attributes = {
            "strides": site.integers("stride"),
            "pads": (*padding, *padding),
            "dilations": site.integers("dilation"),
            "group": site.integer("groups"),
        }
    if site.integer("relu"):
        attributes["activation"] = "relu"
    site.add(f"Quantized{kind}", _weighted(site), attributes, domain=TORCH)


def _weighted(site: CallSite) -> list[str]:
    """The operands of a layer with weights."""
    return [
        *_operand(site, "self"),
        *(site.tensor(f"weight{end}") for end in ("", "_scale", "_zero_point")),
        site.optional_tensor("bias"),
        *_step(site),
    ]


def _transposed(site: CallSite) -> None:
    more = site.integers("output_padding")
    attributes: dict[str, AttributeValue] = {
        "strides": site.integers("stride"),
        "pads": site.integers("padding"),
        "dilations": site.integers("dilation"),
        "group": site.integer("groups"),
        "more": more,
    }
    site.add("QuantizedTransposed", _weighted(site), attributes, domain=TORCH)


def _binary(site: CallSite, *, kind: str, relu: bool) -> None:
    attributes = {"activation": "relu"} if relu else {}
    operands = [*_operand(site, "self"), *_operand(site, "other"), *_step(site)]
    site.add(kind, operands, attributes, domain=MICROSOFT)


def _concat(site: CallSite) -> None:
    operands = _step(site)
    scales, zeros = site.argument("tensors.scale"), site.argument("tensors.zero_point")
    assert isinstance(scales, Sequence)
    assert isinstance(zeros, Sequence)
    for value, scale, zero in zip(site.tensors("tensors"), scales, zeros, strict=True):
        operands += [
            value,
            site.constant(np.array(scale, np.float32), "FLOAT"),
            site.constant(np.array(zero, np.uint8), "UINT8"),
        ]
    attributes = {"axis": site.integer("dim", 0)}
    site.add("QLinearConcat", operands, attributes, domain=MICROSOFT)


def _unary(
    site: CallSite, *, kind: str, attributes: Mapping[str, AttributeValue] = {}
) -> None:
    given = dict(attributes)
    if "alpha" in site.call.arguments:
        given["alpha"] = site.real("alpha")
    operands = [*_operand(site, "self"), *_step(site)]
    site.add(f"Quantized{kind}", operands, given, domain=TORCH)


def _hardtanh(site: CallSite) -> None:
    limits = {"min": site.real("min_val", -1.0), "max": site.real("max_val", 1.0)}
    _unary(site, kind="Bounds", attributes=limits)


def _pool(site: CallSite) -> None:
    site.expect("divisor_override", None)
    kernel = _pair(site.integers("kernel_size"))
    stride = _pair(site.integers("stride", kernel) or kernel)
    padding = _pair(site.integers("padding", (0, 0)))
    attributes = {
        "kernel_shape": kernel,
        "strides": stride,
        "pads": (*padding, *padding),
        "ceil_mode": site.integer("ceil_mode", 0),
        "count_include_pad": site.integer("count_include_pad", 1),
    }
    operands = [*_operand(site, "self"), *_step(site)]
    site.add("QLinearAveragePool", operands, attributes, domain=MICROSOFT)


def _pair(values: tuple[int, ...]) -> tuple[int, ...]:
    return values * 2 if len(values) == 1 else values


def _adaptive_pool(site: CallSite) -> None:
    attributes = {"sizes": _pair(site.integers("output_size"))}
    operands = [*_operand(site, "self"), *_step(site)]
    site.add("QuantizedAdaptivePool", operands, attributes, domain=TORCH)


def _interpolate(site: CallSite) -> None:
    """Each element as often as the result is larger."""
    site.expect("mode", "nearest")
    old, new = site.integers("shape"), site.integers("sizes")
    if any(size % extent for size, extent in zip(new, old, strict=True)):
        raise site.error(
            f"{list(new)} of {list(old)} is not supported; expected whole multiples"
        )
    factors = np.array(new, np.float32) / np.array(old, np.float32)
    site.add(
        "Resize",
        [site.tensor("self"), "", site.constant(factors, "FLOAT")],
        {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
    )


def _mean(site: CallSite) -> None:
    attributes = {
        "axes": site.integers("dim", ()),
        "keepdims": site.integer("keepdim", 0),
    }
    operands = [*_operand(site, "self"), *_step(site)]
    site.add("Mean", operands, attributes, domain=TORCH)


def real_mean(site: CallSite) -> None:
    """All engines but qnnpack dequantize, and quantize the mean."""
    name = site.call.results[0]
    real, mean = f"{name}/real", f"{name}/mean"
    attributes = {
        "axes": site.integers("dim", ()),
        "keepdims": site.integer("keepdim", 0),
    }
    site.add(DEQUANTIZE, _operand(site, "self"), results=[real])
    site.add("Mean", [real], attributes, domain=TORCH, results=[mean])
    site.add(QUANTIZE, [mean, *_step(site)])


TABLE: Mapping[str, Translate] = {
    **ATEN,
    "quantized.quantize_per_tensor": _quantize,
    "quantized.dequantize": _dequantize,
    "quantized.conv1d": partial(_layer, kind="Conv", rank=1),
    "quantized.conv2d": partial(_layer, kind="Conv", rank=2),
    "quantized.conv_transpose1d": _transposed,
    "quantized.conv_transpose2d": _transposed,
    "quantized.linear": partial(_layer, kind="Linear", rank=0),
    **{
        f"quantized.{name}{end}": partial(_binary, kind=kind, relu=bool(end))
        for name, kind in (("add", "QLinearAdd"), ("mul", "QLinearMul"))
        for end in ("", "_relu")
    },
    "fx.interpolate": _interpolate,
    "quantized.cat": _concat,
    "quantized.avg_pool2d": _pool,
    "quantized.adaptive_avg_pool2d": _adaptive_pool,
    "quantized.mean": _mean,
    "quantized.relu": partial(_unary, kind="Bounds", attributes={"min": 0.0}),
    "quantized.relu6": partial(
        _unary, kind="Bounds", attributes={"min": 0.0, "max": 6.0}
    ),
    "quantized.hardtanh": _hardtanh,
    **{
        f"quantized.{name}": partial(_unary, kind=kind)
        for name, kind in (
            ("elu", "Elu"),
            ("hardsigmoid", "HardSigmoid"),
            ("hardswish", "HardSwish"),
            ("leaky_relu", "LeakyRelu"),
            ("sigmoid", "Sigmoid"),
            ("tanh", "Tanh"),
        )
    },
}
"""What each target becomes; operators that only move values are ATen's."""
