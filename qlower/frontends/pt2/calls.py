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
from .recurrence import CALLS as RECURRENT
from .rows import Read, convolution, each, integer, node, rows, window
from .translating import RANGES, TORCH, CallSite, Translate


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


def _range(site: CallSite) -> None:
    """A scale and a zero point by the range of a tensor."""
    raise site.error(
        "PT2E's dynamic quantization, whose scales follow from each input, is not"
        " supported",
        help="linear layers that torchao's quantize_ quantizes dynamically"
        " (Int8DynamicActivationInt8WeightConfig) are read, and with qlower.from_eager"
        " those of torch.ao.quantization.quantize_dynamic",
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
    rank: int,
    kind: str = "AveragePool",
    operands: str = "self",
    domain: str = TORCH,
    **more: Read,
) -> Translate:
    return node(
        kind,
        operands,
        domain=domain,
        expects={"divisor_override": (None,)},
        more={**window(rank), **more},
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


def _einsum(site: CallSite) -> None:
    site.add("Einsum", site.tensors("tensors"), {"equation": site.text("equation")})


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


DECOMPOSED = "quantized_decomposed"

TABLE: Mapping[str, Translate] = {
    **MOVES,
    **CHOICES,
    **IMAGES,
    **RECURRENT,
    **rows("""
aten.linear.default = torch.Linear input weight bias?
aten.relu.default, aten.relu_.default = Relu
aten.relu6.default, aten.relu6_.default = Clip; min: always 0.0, max: always 6.0
aten.hardtanh.default, aten.hardtanh_.default = Clip;
    min: real? min_val -1.0, max: real? max_val 1.0
aten.clamp.default, aten.clamp_.default = Clip; min: real? min, max: real? max
aten.adaptive_avg_pool1d.default, aten.adaptive_avg_pool2d.default,
    aten.adaptive_avg_pool3d.default = torch.AdaptiveAveragePool;
    sizes: ints output_size
aten.mean.default, aten.mean.dim = torch.Mean;
    axes: ints dim (), keepdims: int keepdim 0; expects dtype None 7
aten.abs.default = Abs
aten.leaky_relu.default, aten.leaky_relu_.default = LeakyRelu;
    alpha: real negative_slope 0.01
aten.neg.default = Neg
aten.square.default = Mul self self
aten.rsqrt.default = torch.InverseRoot
aten.reciprocal.default = torch.Inverse
aten.clamp_min.default = Clip; min: real? min
aten.clamp_max.default = Clip; max: real? max
aten.log_softmax.int = LogSoftmax; axis: int dim; expects dtype None 7
aten.embedding.default = Gather weight indices; axis: always 0; expects sparse False
aten.hardswish.default, aten.hardswish_.default = torch.HardSwish
aten.hardsigmoid.default, aten.hardsigmoid_.default = torch.HardSigmoid
aten.sigmoid.default, aten.sigmoid_.default = torch.Sigmoid
aten.silu.default, aten.silu_.default = torch.SiLU
aten.mish.default, aten.mish_.default = torch.Mish
aten.selu.default, aten.selu_.default = torch.Selu
aten.log_sigmoid.default = torch.LogSigmoid
aten.tanhshrink.default = torch.TanhShrink
aten.celu.default, aten.celu_.default = torch.Celu; alpha: real alpha 1.0
aten.elu.default, aten.elu_.default = torch.Elu; alpha: real alpha 1.0;
    expects scale None 1 1.0, input_scale None 1 1.0
aten.softplus.default = torch.Softplus;
    beta: real beta 1.0, threshold: real threshold 20.0
aten.hardshrink.default = torch.HardShrink; lambd: real lambd 0.5
aten.softshrink.default = Shrink; bias: real lambd 0.5, lambd: real lambd 0.5
aten.tanh.default, aten.tanh_.default = torch.Tanh
aten.sqrt.default, aten.sqrt_.default = torch.Sqrt
aten.softmax.int, aten._softmax.default = Softmax; axis: int dim; expects dtype None 7
aten.layer_norm.default = torch.LayerNorm input weight? bias?;
    sizes: ints normalized_shape, epsilon: real eps 1e-05
aten.group_norm.default = torch.GroupNorm input weight? bias?;
    num_groups: int num_groups, epsilon: real eps 1e-05
aten.exp.default = torch.Exp
aten.matmul.default = MatMul self other
aten.mm.default, aten.bmm.default = MatMul self mat2
torchao.dynamic_linear = torch.DynamicLinear input weight scale
torchao.quantized_rows = torch.QuantizedRows input
"""),
    **{
        f"{DECOMPOSED}.{verb}_{scope}.default": partial(
            _conversion, kind=kind, per_channel=scope == "per_channel"
        )
        for verb, kind in (("quantize", QUANTIZE), ("dequantize", DEQUANTIZE))
        for scope in ("per_tensor", "per_channel")
    },
    "aten.conv1d.default": convolution("Conv", 1),
    "aten.conv2d.default": convolution("Conv", 2),
    **{
        f"aten.{name}{end}.{overload}": partial(_binary, kind=name.capitalize())
        for name in ("add", "sub", "mul", "div")
        for end in ("", "_")  # which changes its operand
        for overload in ("Tensor", "Scalar")
    },
    "aten.max_pool1d.default": _max_pool(1),
    "aten.max_pool2d.default": _max_pool(2),
    "aten.avg_pool1d.default": average_pool(1),
    "aten.avg_pool2d.default": average_pool(2),
    "aten.prelu.default": _prelu,
    "aten.rsub.Scalar": _subtracted_from,
    "aten.pow.Tensor_Scalar": _power,
    "aten.glu.default": _gated,
    "aten.softsign.default": _softsign,
    "aten.conv3d.default": convolution("Conv", 3),
    "aten.max_pool3d.default": _max_pool(3),
    "aten.avg_pool3d.default": average_pool(3, domain=""),
    "aten.gelu.default": _gelu,
    **dict.fromkeys(RANGES, _range),
    "aten.einsum.default": _einsum,
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
