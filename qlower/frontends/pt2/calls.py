"""The calls of ATen operators and of quantized_decomposed, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..graph.nodes import DEQUANTIZE, QUANTIZE
from ..graph.operands import STORED_TYPES
from ..graph.schema import AttributeValue
from .choosing import CHOICES
from .imaging import IMAGES
from .moving import MOVES
from .reader import TYPES
from .rows import (
    always,
    convolution,
    each,
    if_real,
    integer,
    integers,
    node,
    norm,
    real,
    window,
)
from .torchao import DYNAMIC_LINEAR, QUANTIZED_ROWS
from .translating import TORCH, CallSite, Translate


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


def _attention(site: CallSite) -> None:
    """`softmax(q k^T scale) v`"""
    site.expect("dropout_p", 0.0)
    site.expect("enable_gqa", False)
    is_causal = bool(site.integer("is_causal", 0))
    mask = [] if site.argument("attn_mask") is None else [site.tensor("attn_mask")]
    query, key, value = (site.tensor(name) for name in ("query", "key", "value"))
    scale = site.argument("scale")
    attributes = {} if scale is None else {"scale": site.real("scale")}
    name = site.call.results[0]
    turned, scores, scaled, masked, shares = (
        f"{name}/{step}" for step in ("turned", "scores", "scaled", "masked", "shares")
    )
    last = {"dim0": -2, "dim1": -1}
    site.add("TransposeTwo", [key], last, domain=TORCH, results=[turned])
    site.add("MatMul", [query, turned], results=[scores])
    site.add(
        "AttentionScale", [scores, query], attributes, domain=TORCH, results=[scaled]
    )
    if mask or is_causal:
        causal = {"causal": int(is_causal)}
        site.add("Masked", [scaled, *mask], causal, domain=TORCH, results=[masked])
        scaled = masked
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


def _power(site: CallSite) -> None:
    """Products, or a root."""
    site.expect("exponent", 2, 2.0, 3, 3.0, 0.5)
    value, name = site.tensor("self"), site.call.results[0]
    match site.scalar("exponent"):
        case 2:
            site.add("Mul", [value, value])
        case 3:
            site.add("Mul", [value, value], results=[f"{name}/square"])
            site.add("Mul", [f"{name}/square", value])
        case _:
            site.add("Sqrt", [value], domain=TORCH)


def _gated(site: CallSite) -> None:
    """`F(a sigmoid(b))` of two halves."""
    name = site.call.results[0]
    parts, gate = [f"{name}/{half}" for half in ("a", "b")], f"{name}/gate"
    halves: dict[str, AttributeValue] = {"chunks": 2, "axis": site.integer("dim", -1)}
    site.add("Split", [site.tensor("self")], halves, domain=TORCH, results=parts)
    site.add("Sigmoid", parts[1:], domain=TORCH, results=[gate])
    site.add("Mul", [parts[0], gate])


def _softsign(site: CallSite) -> None:
    """F(x / F(|x| + 1))"""
    value, name = site.tensor("self"), site.call.results[0]
    size, more = f"{name}/size", f"{name}/more"
    site.add("Abs", [value], results=[size])
    one = site.constant(np.array(1.0, np.float32), "FLOAT")
    site.add("Add", [size, one], results=[more])
    site.add("Div", [value, more])


def _prelu(site: CallSite) -> None:
    """A PReLU with a slope for each channel, or one for all."""
    site.given_array("weight")
    site.add("PRelu", [site.tensor("self"), site.tensor("weight")], domain=TORCH)


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
ADAPTIVE = node("AdaptiveAveragePool", domain=TORCH, sizes=integers("output_size"))

TABLE: Mapping[str, Translate] = {
    **MOVES,
    **CHOICES,
    **IMAGES,
    **{
        f"{DECOMPOSED}.{verb}_{scope}.default": partial(
            _conversion, kind=kind, per_channel=scope == "per_channel"
        )
        for verb, kind in (("quantize", QUANTIZE), ("dequantize", DEQUANTIZE))
        for scope in ("per_tensor", "per_channel")
    },
    "aten.conv1d.default": convolution("Conv", 1),
    "aten.conv2d.default": convolution("Conv", 2),
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
    **dict.fromkeys(
        ("aten.mean.default", "aten.mean.dim"),
        node("Mean", domain=TORCH, more=MEAN, expects=NO_DTYPE),
    ),
    "aten.abs.default": node("Abs"),
    **_in_place(
        "leaky_relu.default", node("LeakyRelu", alpha=real("negative_slope", 0.01))
    ),
    "aten.prelu.default": _prelu,
    "aten.rsub.Scalar": _subtracted_from,
    "aten.neg.default": node("Neg"),
    "aten.pow.Tensor_Scalar": _power,
    "aten.square.default": node("Mul", "self self"),
    "aten.rsqrt.default": node("InverseRoot", domain=TORCH),
    "aten.reciprocal.default": node("Inverse", domain=TORCH),
    "aten.clamp_min.default": node("Clip", min=if_real("min")),
    "aten.clamp_max.default": node("Clip", max=if_real("max")),
    "aten.glu.default": _gated,
    "aten.softsign.default": _softsign,
    "aten.log_softmax.int": node("LogSoftmax", axis=integer("dim"), expects=NO_DTYPE),
    "aten.conv3d.default": convolution("Conv", 3),
    "aten.max_pool3d.default": _max_pool(3),
    "aten.avg_pool3d.default": average_pool(3, domain=""),
    "aten.adaptive_avg_pool3d.default": ADAPTIVE,
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
    "aten.layer_norm.default": norm("LayerNorm", sizes=integers("normalized_shape")),
    "aten.group_norm.default": norm("GroupNorm", num_groups=integer("num_groups")),
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
}
"""The node for each target; others stay, for the importer to refuse by name."""
