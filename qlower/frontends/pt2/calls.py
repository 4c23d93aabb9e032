"""What the calls of ATen operators and of quantized_decomposed become."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..graph.context import STORED_TYPES
from ..graph.nodes import DEQUANTIZE, QUANTIZE
from ..graph.schema import AttributeValue
from .reader import TYPES
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


def _convolution(site: CallSite, *, rank: int) -> None:
    padding = site.integers("padding", [0] * rank)
    padding *= rank if len(padding) == 1 else 1
    site.add(
        "Conv",
        [site.tensor("input"), site.tensor("weight"), site.optional_tensor("bias")],
        {
            "strides": _each(site, "stride", rank, 1),
            "pads": (*padding, *padding),
            "dilations": _each(site, "dilation", rank, 1),
            "group": site.integer("groups", 1),
        },
        domain=TORCH,
    )


def _each(site: CallSite, name: str, rank: int, default: int) -> tuple[int, ...]:
    """A number for each dimension; one given number is that of all."""
    given = site.integers(name, [default] * rank)
    return given * rank if len(given) == 1 else given


def _linear(site: CallSite) -> None:
    operands = [site.tensor("input"), site.tensor("weight")]
    site.add("Linear", [*operands, site.optional_tensor("bias")], domain=TORCH)


def _unary(site: CallSite, *, kind: str, domain: str = "") -> None:
    site.add(kind, [site.tensor("self")], domain=domain)


def _bounded(
    site: CallSite,
    *,
    names: tuple[str, str] | None = None,
    default: tuple[float, float] | None = None,
) -> None:
    limits: dict[str, AttributeValue] = {}
    if default is not None:
        limits = {"min": default[0], "max": default[1]}
    for key, name in zip(("min", "max"), names or (), strict=False):
        if site.argument(name) is not None:
            limits[key] = site.real(name)
    site.add("Clip", [site.tensor("self")], limits)


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


def _pool(site: CallSite, *, kind: str, rank: int = 2) -> None:
    kernel = _each(site, "kernel_size", rank, 1)
    stride = site.integers("stride", ()) or kernel
    padding = _each(site, "padding", rank, 0)
    attributes = {
        "kernel_shape": kernel,
        "strides": stride * rank if len(stride) == 1 else stride,
        "pads": (*padding, *padding),
        "ceil_mode": site.integer("ceil_mode", 0),
    }
    domain = ""
    if kind == "AveragePool":
        domain = TORCH
        site.expect("divisor_override", None)
        attributes["count_include_pad"] = site.integer("count_include_pad", 1)
    else:
        attributes["dilations"] = _each(site, "dilation", rank, 1)
    site.add(kind, [site.tensor("self")], attributes, domain=domain)


def _adaptive_pool(site: CallSite) -> None:
    sizes = site.integers("output_size")
    site.add(
        "AdaptiveAveragePool", [site.tensor("self")], {"sizes": sizes}, domain=TORCH
    )


def _mean(site: CallSite) -> None:
    site.expect("dtype", None, 7)
    attributes = {
        "axes": site.integers("dim", ()),
        "keepdims": site.integer("keepdim", 0),
    }
    site.add("Mean", [site.tensor("self")], attributes, domain=TORCH)


def _identity(site: CallSite) -> None:
    """Memory formats, copies, and dropout, which does nothing after training."""
    site.expect("train", False)
    given = "input" if "input" in site.call.arguments else "self"
    site.add("Identity", [site.tensor(given)])


def _concat(site: CallSite) -> None:
    site.add("Concat", site.tensors("tensors"), {"axis": site.integer("dim", 0)})


def _split(site: CallSite, *, name: str) -> None:
    """Into parts of equal size, the last one smaller, or of the given sizes."""
    attributes: dict[str, AttributeValue] = {"axis": site.integer("dim", 0)}
    value = site.tensor("self")
    if name == "split_sizes":
        attributes["split"] = site.integers(name)
    elif name == "split_size":
        attributes["size"] = site.integer(name)
    else:
        attributes["chunks"] = site.integer(name)
    site.add("Split", [value], attributes, domain=TORCH)


def _reshape(site: CallSite, *, name: str) -> None:
    shape = site.constant(np.array(site.integers(name), np.int64), "INT64")
    site.add("Reshape", [site.tensor("self"), shape], {"allowzero": 1})


def _shaped(site: CallSite, *, kind: str, integers: Mapping[str, int | None]) -> None:
    """An operator that changes the shape, by these integers and their defaults."""
    attributes = {
        name: site.integer(name, default) for name, default in integers.items()
    }
    site.add(kind, [site.tensor("self")], attributes, domain=TORCH)


def _unflatten(site: CallSite) -> None:
    attributes = {"dim": site.integer("dim"), "sizes": site.integers("sizes")}
    site.add("Unflatten", [site.tensor("self")], attributes, domain=TORCH)


def _permute(site: CallSite) -> None:
    dims = site.integers("dims")
    perm = tuple(d + len(dims) if d < 0 else d for d in dims)
    site.add("Transpose", [site.tensor("self")], {"perm": perm})


def _select(site: CallSite) -> None:
    index = site.constant(np.array(site.integer("index"), np.int64), "INT64")
    site.add("Gather", [site.tensor("self"), index], {"axis": site.integer("dim")})


def _slice(site: CallSite) -> None:
    start = site.argument("start")
    end = site.argument("end")
    given = (
        0 if start is None else site.integer("start"),
        LAST if end is None else site.integer("end"),
        site.integer("dim", 0),
        site.integer("step", 1),
    )
    constants = [site.constant(np.array([n], np.int64), "INT64") for n in given]
    site.add("Slice", [site.tensor("self"), *constants])


def _squeeze(site: CallSite) -> None:
    """A dimension of another size than 1 stays."""
    dims = site.integers("dim", ())
    has_dims = "dim" in site.call.arguments
    attributes = {"dims": dims} if has_dims else {}
    site.add("Squeeze", [site.tensor("self")], attributes, domain=TORCH)


def _unsqueeze(site: CallSite) -> None:
    axes = site.constant(np.array([site.integer("dim")], np.int64), "INT64")
    site.add("Unsqueeze", [site.tensor("self"), axes])


def _layer_norm(site: CallSite) -> None:
    operands = [
        site.tensor("input"),
        site.optional_tensor("weight"),
        site.optional_tensor("bias"),
    ]
    attributes = {
        "sizes": site.integers("normalized_shape"),
        "epsilon": site.real("eps", 1e-5),
    }
    site.add("LayerNorm", operands, attributes, domain=TORCH)


def _softmax(site: CallSite) -> None:
    site.expect("dtype", None, 7)
    attributes = {"axis": site.integer("dim")}
    site.add("Softmax", [site.tensor("self")], attributes)


def _matmul(site: CallSite, *, other: str) -> None:
    site.add("MatMul", [site.tensor("self"), site.tensor(other)])


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


def _in_place(name: str, translate: Translate) -> dict[str, Translate]:
    """An operator and the one that changes its operand, with equal arguments."""
    operator, overload = name.split(".")
    return {
        f"aten.{operator}.{overload}": translate,
        f"aten.{operator}_.{overload}": translate,
    }


def _torch_unary(name: str, kind: str) -> dict[str, Translate]:
    return _in_place(name, partial(_unary, kind=kind, domain=TORCH))


DECOMPOSED = "quantized_decomposed"

TABLE: Mapping[str, Translate] = {
    **{
        f"{DECOMPOSED}.{verb}_{scope}.default": partial(
            _conversion, kind=kind, per_channel=scope == "per_channel"
        )
        for verb, kind in (("quantize", QUANTIZE), ("dequantize", DEQUANTIZE))
        for scope in ("per_tensor", "per_channel")
    },
    "aten.conv1d.default": partial(_convolution, rank=1),
    "aten.conv2d.default": partial(_convolution, rank=2),
    "aten.linear.default": _linear,
    **_in_place("relu.default", partial(_unary, kind="Relu")),
    **_in_place("relu6.default", partial(_bounded, default=(0.0, 6.0))),
    **_in_place(
        "hardtanh.default",
        partial(_bounded, names=("min_val", "max_val"), default=(-1.0, 1.0)),
    ),
    **_in_place("clamp.default", partial(_bounded, names=("min", "max"))),
    **{
        target: translate
        for operator in ("add", "sub", "mul", "div")
        for overload in ("Tensor", "Scalar")
        for target, translate in _in_place(
            f"{operator}.{overload}", partial(_binary, kind=operator.capitalize())
        ).items()
    },
    "aten.max_pool1d.default": partial(_pool, kind="MaxPool", rank=1),
    "aten.max_pool2d.default": partial(_pool, kind="MaxPool"),
    "aten.avg_pool1d.default": partial(_pool, kind="AveragePool", rank=1),
    "aten.avg_pool2d.default": partial(_pool, kind="AveragePool"),
    "aten.adaptive_avg_pool1d.default": _adaptive_pool,
    "aten.adaptive_avg_pool2d.default": _adaptive_pool,
    "aten.mean.dim": _mean,
    **_torch_unary("hardswish.default", "HardSwish"),
    **_torch_unary("hardsigmoid.default", "HardSigmoid"),
    **_torch_unary("sigmoid.default", "Sigmoid"),
    **_torch_unary("silu.default", "SiLU"),
    **_torch_unary("tanh.default", "Tanh"),
    **_torch_unary("sqrt.default", "Sqrt"),
    "aten.softmax.int": _softmax,
    "aten._softmax.default": _softmax,
    "aten.layer_norm.default": _layer_norm,
    "aten.matmul.default": partial(_matmul, other="other"),
    "aten.bmm.default": partial(_matmul, other="mat2"),
    "aten.scaled_dot_product_attention.default": _attention,
    **dict.fromkeys(
        (
            *("aten.alias.default", "aten.clone.default", "aten.contiguous.default"),
            *("aten.detach.default", "aten.dropout.default", "aten.dropout_.default"),
            *("aten.detach_.default", "aten.lift_fresh_copy.default"),
        ),
        _identity,
    ),
    "aten.cat.default": _concat,
    "aten.chunk.default": partial(_split, name="chunks"),
    "aten.split.Tensor": partial(_split, name="split_size"),
    "aten.split_with_sizes.default": partial(_split, name="split_sizes"),
    "aten.view.default": partial(_reshape, name="size"),
    "aten.reshape.default": partial(_reshape, name="shape"),
    "aten.flatten.using_ints": partial(
        _shaped, kind="Flatten", integers={"start_dim": 0, "end_dim": -1}
    ),
    "aten.transpose.int": partial(
        _shaped, kind="TransposeTwo", integers={"dim0": None, "dim1": None}
    ),
    "aten.unflatten.int": _unflatten,
    "aten.permute.default": _permute,
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.squeeze.default": _squeeze,
    "aten.squeeze.dim": _squeeze,
    "aten.squeeze.dims": _squeeze,
    "aten.unsqueeze.default": _unsqueeze,
}
"""What each target becomes; others stay, for the importer to refuse by name."""
