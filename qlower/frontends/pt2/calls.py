"""The calls of ATen operators and of quantized_decomposed, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..graph.nodes import DEQUANTIZE, QUANTIZE
from ..graph.operands import STORED_TYPES
from ..graph.schema import AttributeValue
from .reader import TYPES
from .rows import (
    Read,
    always,
    each,
    if_real,
    integer,
    integers,
    node,
    one,
    real,
    window,
)
from .torchao import DYNAMIC_LINEAR, QUANTIZED_ROWS
from .translating import TORCH, CallSite, Translate

LAST = (1 << 63) - 1
"""What PyTorch calls the end of a slice."""


def _conversion(site: CallSite, *, kind: str, per_channel: bool) -> None:
    """quantize and dequantize: scale and zero point become constants."""
    type, dtype = TYPES.get(site.integer("dtype"), ("", None))
    if type not in STORED_TYPES or dtype is None:
        raise site.error(f"quantized values of type {type} are not supported")
    limits = np.iinfo(dtype)
    low, high = site.integer("quant_min"), site.integer("quant_max")
    site.check_range("quant_min", low, limits.min, limits.max)
    site.check_range("quant_max", high, limits.min, limits.max)
    if kind == QUANTIZE and (low, high) != (limits.min, limits.max):
        raise site.error(
            f"values in [{low}, {high}] are not supported; expected all of"
            f" [{limits.min}, {limits.max}] (reduce_range=False)"
        )
    attributes: dict[str, AttributeValue] = {}
    if per_channel:
        scales, given = site.given_array("scales"), site.given_array("zero_points")
        points = given.astype(np.int64)
        attributes["axis"] = site.integer("axis")
    else:
        scales = np.array(site.real("scale"))
        points = np.array(site.integer("zero_point"))
    if not ((points >= limits.min) & (points <= limits.max)).all():
        raise site.error(f"a zero point is out of range [{limits.min}, {limits.max}]")
    with np.errstate(over="ignore"):
        scale = site.constant(scales.astype(np.float32), "FLOAT")
    zero_point = site.constant(points.astype(dtype), type)
    site.add(kind, [site.tensor("input"), scale, zero_point], attributes)


def _convolution(rank: int) -> Translate:
    return node(
        "Conv",
        "input weight bias?",
        domain=TORCH,
        strides=each("stride", rank, 1),
        pads=each("padding", rank, 0, sides=2),
        dilations=each("dilation", rank, 1),
        group=integer("groups", 1),
    )


def _binary(site: CallSite, *, kind: str) -> None:
    """Sums may scale their second operand, and any may take a number for it."""
    if kind in ("Add", "Sub"):
        site.expect("alpha", 1)
    other = site.argument("other")
    if isinstance(other, int | float):
        right = site.constant(np.array(float(other), np.float32), "FLOAT")
    else:
        right = site.tensor("other")
    site.add(kind, [site.tensor("self"), right])


def _max_pool(rank: int) -> Translate:
    return node("MaxPool", more=window(rank), dilations=each("dilation", rank, 1))


def average_pool(
    rank: int, kind: str = "AveragePool", operands: str = "self", domain: str = TORCH
) -> Translate:
    return node(
        kind,
        operands,
        domain=domain,
        expects={"divisor_override": (None,)},
        more=window(rank),
        count_include_pad=integer("count_include_pad", 1),
    )


def _identity(site: CallSite) -> None:
    """Memory formats, copies, and dropout, which does nothing after training."""
    site.expect("train", False)
    given = "input" if "input" in site.call.arguments else "self"
    site.add("Identity", [site.tensor(given)])


def _split(**sizes: Read) -> Translate:
    """Split into parts of equal size, the last one smaller, or of the given sizes."""
    return node("Split", domain=TORCH, axis=integer("dim", 0), more=sizes)


def _reshape(name: str) -> Translate:
    return node("Reshape", constants=[integers(name)], allowzero=always(1))


def _permutation(site: CallSite) -> tuple[int, ...]:
    dims = site.integers("dims")
    return tuple(d + len(dims) if d < 0 else d for d in dims)


def _attention(site: CallSite) -> None:
    """`softmax(q k^T scale) v`"""
    site.expect("attn_mask", None)
    site.expect("dropout_p", 0.0)
    site.expect("is_causal", False)
    site.expect("enable_gqa", False)
    query, key, value = (site.tensor(name) for name in ("query", "key", "value"))
    scale = site.argument("scale")
    attributes = {} if scale is None else {"scale": site.real("scale")}
    name = site.call.results[0]
    turned, scores, scaled, shares = (
        f"{name}/{step}" for step in ("turned", "scores", "scaled", "shares")
    )
    last = {"dim0": -2, "dim1": -1}
    site.add("TransposeTwo", [key], last, domain=TORCH, results=[turned])
    site.add("MatMul", [query, turned], results=[scores])
    site.add(
        "AttentionScale", [scores, query], attributes, domain=TORCH, results=[scaled]
    )
    site.add("Softmax", [scaled], {"axis": -1}, results=[shares])
    site.add("MatMul", [shares, value])


def _subtracted_from(site: CallSite) -> None:
    site.expect("alpha", 1)
    number = site.constant(np.array(site.real("other"), np.float32), "FLOAT")
    site.add("Sub", [number, site.tensor("self")])


def _gelu(site: CallSite) -> None:
    site.expect("approximate", "none", "tanh", None)
    is_bent = site.argument("approximate") == "tanh"
    kind = "GeluByTanh" if is_bent else "Gelu"
    site.add(kind, [site.tensor("self")], domain=TORCH)


def _prelu(site: CallSite) -> None:
    """A PReLU with a slope for each channel, or one for all."""
    site.given_array("weight")
    site.add("PRelu", [site.tensor("self"), site.tensor("weight")], domain=TORCH)


def _upsampled(site: CallSite) -> None:
    """Each pixel a whole number of times."""
    site.expect("output_size", None)
    factors = site.argument("scale_factors")
    if not isinstance(factors, tuple) or any(
        not isinstance(factor, int | float) or factor != int(factor) or factor < 1
        for factor in factors
    ):
        raise site.error(f"scale_factors {factors} are not supported; expected whole")
    scales = np.array([1, 1, *factors], np.float32)
    attributes: dict[str, AttributeValue] = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    operands = [site.tensor("input"), "", site.constant(scales, "FLOAT")]
    site.add("Resize", operands, attributes)


def _pad(site: CallSite) -> None:
    """Zeros around: before and after the last dimension, then the one before it."""
    site.expect("mode", "constant", None)
    site.expect("value", None, 0, 0.0)
    given = site.integers("pad" if site.argument("pad") is not None else "padding")
    if not given or len(given) % 2:
        raise site.error(f"{len(given)} numbers of padding; expected two a dimension")
    dims = range(len(given) // 2)
    pads = [given[2 * (len(dims) - 1 - dim) + end] for end in (0, 1) for dim in dims]
    axes = [dim - len(dims) for dim in dims]
    constants = [
        site.constant(np.array(numbers, np.int64), "INT64") for numbers in (pads, axes)
    ]
    site.add("Pad", [site.tensor("self"), constants[0], "", constants[1]])


def _in_place(name: str, translate: Translate) -> dict[str, Translate]:
    """An operator and the one that changes its operand, with equal arguments."""
    operator, overload = name.split(".")
    return {
        f"aten.{operator}.{overload}": translate,
        f"aten.{operator}_.{overload}": translate,
    }


def _torch_unary(name: str, kind: str) -> dict[str, Translate]:
    return _in_place(name, node(kind, domain=TORCH))


DECOMPOSED = "quantized_decomposed"

NO_DTYPE = {"dtype": (None, 7)}
MEAN = {"axes": integers("dim", ()), "keepdims": integer("keepdim", 0)}
SOFTMAX = node("Softmax", axis=integer("dim"), expects=NO_DTYPE)
SQUEEZE = node("Squeeze", domain=TORCH, dims=integers("dim"))
ADAPTIVE = node("AdaptiveAveragePool", domain=TORCH, sizes=integers("output_size"))

TABLE: Mapping[str, Translate] = {
    **{
        f"{DECOMPOSED}.{verb}_{scope}.default": partial(
            _conversion, kind=kind, per_channel=scope == "per_channel"
        )
        for verb, kind in (("quantize", QUANTIZE), ("dequantize", DEQUANTIZE))
        for scope in ("per_tensor", "per_channel")
    },
    "aten.conv1d.default": _convolution(1),
    "aten.conv2d.default": _convolution(2),
    "aten.linear.default": node("Linear", "input weight bias?", domain=TORCH),
    **_in_place("relu.default", node("Relu")),
    **_in_place("relu6.default", node("Clip", min=always(0.0), max=always(6.0))),
    **_in_place(
        "hardtanh.default",
        node("Clip", min=if_real("min_val", -1.0), max=if_real("max_val", 1.0)),
    ),
    **_in_place("clamp.default", node("Clip", min=if_real("min"), max=if_real("max"))),
    **{
        target: translate
        for operator in ("add", "sub", "mul", "div")
        for overload in ("Tensor", "Scalar")
        for target, translate in _in_place(
            f"{operator}.{overload}", partial(_binary, kind=operator.capitalize())
        ).items()
    },
    "aten.max_pool1d.default": _max_pool(1),
    "aten.max_pool2d.default": _max_pool(2),
    "aten.avg_pool1d.default": average_pool(1),
    "aten.avg_pool2d.default": average_pool(2),
    "aten.adaptive_avg_pool1d.default": ADAPTIVE,
    "aten.adaptive_avg_pool2d.default": ADAPTIVE,
    "aten.mean.dim": node("Mean", domain=TORCH, more=MEAN, expects=NO_DTYPE),
    "aten.abs.default": node("Abs"),
    **_in_place(
        "leaky_relu.default", node("LeakyRelu", alpha=real("negative_slope", 0.01))
    ),
    "aten.prelu.default": _prelu,
    "aten.rsub.Scalar": _subtracted_from,
    "aten.upsample_nearest2d.vec": _upsampled,
    "aten.neg.default": node("Neg"),
    "aten.pow.Tensor_Scalar": node("Mul", "self self", expects={"exponent": (2, 2.0)}),
    "aten.constant_pad_nd.default": _pad,
    "aten.pad.default": _pad,
    "aten.embedding.default": node(
        "Gather", "weight indices", axis=always(0), expects={"sparse": (False,)}
    ),
    **_torch_unary("hardswish.default", "HardSwish"),
    **_torch_unary("hardsigmoid.default", "HardSigmoid"),
    **_torch_unary("sigmoid.default", "Sigmoid"),
    **_torch_unary("silu.default", "SiLU"),
    **_torch_unary("mish.default", "Mish"),
    **_torch_unary("selu.default", "Selu"),
    "aten.log_sigmoid.default": node("LogSigmoid", domain=TORCH),
    "aten.tanhshrink.default": node("TanhShrink", domain=TORCH),
    "aten.gelu.default": _gelu,
    **_in_place("celu.default", node("Celu", domain=TORCH, alpha=real("alpha", 1.0))),
    **_in_place(
        "elu.default",
        node(
            "Elu",
            domain=TORCH,
            expects={"scale": (None, 1, 1.0), "input_scale": (None, 1, 1.0)},
            alpha=real("alpha", 1.0),
        ),
    ),
    "aten.softplus.default": node(
        "Softplus",
        domain=TORCH,
        beta=real("beta", 1.0),
        threshold=real("threshold", 20.0),
    ),
    "aten.hardshrink.default": node(
        "HardShrink", domain=TORCH, lambd=real("lambd", 0.5)
    ),
    "aten.softshrink.default": node(
        "Shrink", bias=real("lambd", 0.5), lambd=real("lambd", 0.5)
    ),
    **_torch_unary("tanh.default", "Tanh"),
    **_torch_unary("sqrt.default", "Sqrt"),
    "aten.softmax.int": SOFTMAX,
    "aten._softmax.default": SOFTMAX,
    "aten.layer_norm.default": node(
        "LayerNorm",
        "input weight? bias?",
        domain=TORCH,
        sizes=integers("normalized_shape"),
        epsilon=real("eps", 1e-5),
    ),
    "aten.group_norm.default": node(
        "GroupNorm",
        "input weight? bias?",
        domain=TORCH,
        num_groups=integer("num_groups"),
        epsilon=real("eps", 1e-5),
    ),
    "aten.exp.default": node("Exp", domain=TORCH),
    "aten.matmul.default": node("MatMul", "self other"),
    "aten.mm.default": node("MatMul", "self mat2"),
    DYNAMIC_LINEAR: node("DynamicLinear", "input weight scale", domain=TORCH),
    QUANTIZED_ROWS: node("QuantizedRows", "input", domain=TORCH),
    "aten.bmm.default": node("MatMul", "self mat2"),
    "aten.scaled_dot_product_attention.default": _attention,
    **dict.fromkeys(
        (
            *("aten.alias.default", "aten.clone.default", "aten.contiguous.default"),
            *("aten.detach.default", "aten.dropout.default", "aten.dropout_.default"),
            *("aten.detach_.default", "aten.lift_fresh_copy.default"),
        ),
        _identity,
    ),
    "aten.to.dtype": node("Cast", expects={"dtype": (7,)}, to=always(1)),
    "aten.cat.default": node("Concat", "tensors*", axis=integer("dim", 0)),
    "aten.chunk.default": _split(chunks=integer("chunks")),
    "aten.split.Tensor": _split(size=integer("split_size")),
    "aten.split_with_sizes.default": _split(split=integers("split_sizes")),
    "aten.view.default": _reshape("size"),
    "aten.reshape.default": _reshape("shape"),
    "aten.flatten.using_ints": node(
        "Flatten",
        domain=TORCH,
        start_dim=integer("start_dim", 0),
        end_dim=integer("end_dim", -1),
    ),
    "aten.transpose.int": node(
        "TransposeTwo", domain=TORCH, dim0=integer("dim0"), dim1=integer("dim1")
    ),
    "aten.unflatten.int": node(
        "Unflatten", domain=TORCH, dim=integer("dim"), sizes=integers("sizes")
    ),
    "aten.permute.default": node("Transpose", perm=_permutation),
    "aten.select.int": node(
        "Gather", constants=[integer("index")], axis=integer("dim")
    ),
    "aten.slice.Tensor": node(
        "Slice",
        constants=[one("start", 0), one("end", LAST), one("dim", 0), one("step", 1)],
    ),
    "aten.squeeze.default": node("Squeeze", domain=TORCH),
    "aten.squeeze.dim": SQUEEZE,
    "aten.squeeze.dims": SQUEEZE,
    "aten.unsqueeze.default": node("Unsqueeze", constants=[one("dim")]),
}
"""What each target becomes; others stay, for the importer to refuse by name."""
