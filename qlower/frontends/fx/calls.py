"""The calls of a quantized engine as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..graph.nodes import DEQUANTIZE, MICROSOFT, QUANTIZE
from ..pt2.calls import TABLE as ATEN
from ..pt2.calls import average_pool
from ..pt2.recurrence import RANGED_CALLS
from ..pt2.rows import Read, integer, integers, node, rows
from ..pt2.translating import TORCH, CallSite, Translate

WEIGHTED = "self# weight weight_scale weight_zero_point bias? #"
"""The operands of a layer with weights."""


def _layer(
    kind: str, more: Mapping[str, Read] = {}, operands: str = WEIGHTED, **own: Read
) -> Translate:
    return node(f"Quantized{kind}", operands, domain=TORCH, more={**more, **own})


def _relu(site: CallSite) -> str | None:
    return "relu" if site.integer("relu") else None


SLIDING: Mapping[str, Read] = {
    "strides": integers("stride"),
    "pads": lambda site: site.integers("padding") * 2,
    "dilations": integers("dilation"),
    "group": integer("groups"),
}
"""The arguments that say how the filters of a layer slide."""


def _pair(name: str) -> Read:
    """A number for rows and columns; one is that of both."""
    return lambda site: given * 2 if len(given := site.integers(name)) == 1 else given


def _concat(site: CallSite) -> None:
    operands = site.step()
    scales, zeros = site.argument("tensors.scale"), site.argument("tensors.zero_point")
    if not isinstance(scales, Sequence) or not isinstance(zeros, Sequence):
        raise site.error("parts of a value that are joined are not supported")
    for value, scale, zero in zip(site.tensors("tensors"), scales, zeros, strict=True):
        operands += [
            value,
            site.constant(np.array(scale, np.float32), "FLOAT"),
            site.constant(np.array(zero, np.uint8), "UINT8"),
        ]
    attributes = {"axis": site.integer("dim", 0)}
    site.add("QLinearConcat", operands, attributes, domain=MICROSOFT)


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


def _pixel_shuffle(site: CallSite) -> None:
    """Channels [c, r, r] become the pixels of blocks of r by r."""
    shape, sizes = site.integers("shape"), site.integers("sizes")
    *outer, channels, height, width = shape
    times, rank, name = site.integer("upscale_factor"), len(outer), site.call.results[0]
    parts = [*outer, channels // times**2, times, times, height, width]
    order = [*range(rank + 1), *(rank + place for place in (3, 1, 4, 2))]
    split, turned = f"{name}/split", f"{name}/turned"
    wanted = [site.constant(np.array(one, np.int64), "INT64") for one in (parts, sizes)]
    site.add("Reshape", [site.tensor("self"), wanted[0]], results=[split])
    site.add("Transpose", [split], {"perm": tuple(order)}, results=[turned])
    site.add("Reshape", [turned, wanted[1]])


def _largest(site: CallSite) -> None:
    """Windows of one size, which meet and cover the image."""
    shape, sizes = site.integers("shape")[2:], site.integers("sizes")[2:]
    if any(extent % size for extent, size in zip(shape, sizes, strict=True)):
        raise site.error(
            f"{list(sizes)} of {list(shape)} is not supported; expected whole parts"
        )
    kernel = tuple(n // m for n, m in zip(shape, sizes, strict=True))
    attributes = {"kernel_shape": kernel, "strides": kernel}
    site.add("MaxPool", [site.tensor("self")], attributes)


def real_mean(site: CallSite) -> None:
    """All engines but qnnpack dequantize, and quantize the mean."""
    name = site.call.results[0]
    real, mean = f"{name}/real", f"{name}/mean"
    attributes = {
        "axes": site.integers("dim", ()),
        "keepdims": site.integer("keepdim", 0),
    }
    site.add(DEQUANTIZE, site.operands("self#"), results=[real])
    site.add("Mean", [real], attributes, domain=TORCH, results=[mean])
    site.add(QUANTIZE, [mean, *site.step()])


def _softmax(site: CallSite) -> None:
    """The softmax of dequantized values, quantized again."""
    name = site.call.results[0]
    real, shares = f"{name}/real", f"{name}/shares"
    site.add(DEQUANTIZE, site.operands("self#"), results=[real])
    site.add("Softmax", [real], {"axis": site.integer("dim")}, results=[shares])
    site.add(QUANTIZE, [shares, *site.step()])


CONV = _layer("Conv", SLIDING, activation=_relu)
TRANSPOSED = _layer("Transposed", SLIDING, output_padding=integers("output_padding"))

TABLE: Mapping[str, Translate] = {
    **ATEN,
    **rows("""
quantized.quantize_per_tensor = QuantizeLinear self #
quantized.dequantize = DequantizeLinear self#
fx.ranged_linear = torch.RangedLinear input weight weight_scale bias?; relu: int relu
quantized.add = com.microsoft.QLinearAdd self# other# #
quantized.add_relu = com.microsoft.QLinearAdd self# other# #; activation: always relu
quantized.mul = com.microsoft.QLinearMul self# other# #
quantized.mul_relu = com.microsoft.QLinearMul self# other# #; activation: always relu
quantized.mean = torch.Mean self# #; axes: ints dim (), keepdims: int keepdim 0
quantized.layer_norm = torch.QuantizedNorm self# weight? bias? #;
    sizes: ints normalized_shape, epsilon: real eps
quantized.group_norm = torch.QuantizedNorm self# weight? bias? #;
    groups: int num_groups, epsilon: real eps
quantized.instance_norm = torch.QuantizedNorm self# weight? bias? #;
    groups: always 0, epsilon: real eps
quantized.batch_norm2d, quantized.batch_norm3d = torch.QuantizedBatchNorm self# weight?
    bias? running_mean running_var #; epsilon: real eps
quantized.batch_norm2d_relu, quantized.batch_norm3d_relu = torch.QuantizedBatchNorm
    self# weight? bias? running_mean running_var #; epsilon: real eps, relu: always 1
quantized.prelu = torch.QuantizedPRelu self# weight# #
quantized.relu = torch.QuantizedBounds self# #; min: always 0.0
quantized.relu6 = torch.QuantizedBounds self# #; min: always 0.0, max: always 6.0
quantized.clamp = torch.QuantizedBounds self# #; min: real? min, max: real? max
quantized.hardtanh = torch.QuantizedBounds self# #;
    min: real min_val -1.0, max: real max_val 1.0
quantized.elu = torch.QuantizedElu self# #; alpha: real? alpha
quantized.hardsigmoid = torch.QuantizedHardSigmoid self# #; alpha: real? alpha
quantized.hardswish = torch.QuantizedHardSwish self# #; alpha: real? alpha
quantized.leaky_relu = torch.QuantizedLeakyRelu self# #; alpha: real? alpha
quantized.sigmoid = torch.QuantizedSigmoid self# #; alpha: real? alpha
quantized.tanh = torch.QuantizedTanh self# #; alpha: real? alpha
"""),
    "quantized.conv1d": CONV,
    "quantized.conv2d": CONV,
    "quantized.conv_transpose1d": TRANSPOSED,
    "quantized.conv_transpose2d": TRANSPOSED,
    "quantized.linear": _layer("Linear", activation=_relu),
    **RANGED_CALLS,
    "aten.adaptive_max_pool2d.default": _largest,
    "fx.interpolate": _interpolate,
    "fx.pixel_shuffle": _pixel_shuffle,
    "quantized.softmax": _softmax,
    "quantized.cat": _concat,
    "quantized.avg_pool2d": average_pool(
        2, "QuantizedAveragePool", "self# #", is_qnnpack=integer("is_qnnpack", 0)
    ),
    "quantized.adaptive_avg_pool2d": _layer(
        "AdaptivePool", operands="self# #", sizes=_pair("output_size")
    ),
}
"""The node for each target; operators that only move values are ATen's."""
