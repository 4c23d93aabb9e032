"""Rewrites of a model in QDQ form that ONNX Runtime and devices make before groups are
fused: by graphs of a few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.formats.small_graphs import graph, shown

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.qdq import find_group
from qlower.frontends.onnx.device import (
    activation_of,
    check_bias,
    check_stored,
    fold_bounds,
    move_codes,
)
from qlower.frontends.onnx.rewriting import (
    add_to_convolutions,
    propagate,
    quantize_parameters,
    remove_inverse_pairs,
    use_uint8,
)
from qlower.frontends.onnx.selectors import StaysReal

numbers: Any = np
F, U1, I1, I4 = numbers.float32, numbers.uint8, numbers.int8, numbers.int32
Q, DQ = "QuantizeLinear", "DequantizeLinear"
STEP = {"s": F(0.5), "z": U1(3)}


FORWARD: dict[str, tuple[str, str, list[str]]] = {
    "in between": (
        f"a = {DQ} x s z\nb = Reshape a\nc = Neg b",
        "c",
        [
            f"a = {DQ} x s z",
            "b = Reshape a",
            "c = Neg b/2",
            f"b/1 = {Q} b s z",
            f"b/2 = {DQ} b/1 s z",
        ],
    ),
    "at the end": (
        f"a = {DQ} x s z\nb = Reshape a",
        "b",
        [
            f"a = {DQ} x s z",
            "b/1 = Reshape a",
            f"b/2 = {Q} b/1 s z",
            f"b = {DQ} b/2 s z",
        ],
    ),
    "two on end": (
        f"a = {DQ} x s z\nb = Reshape a\nc = Squeeze b\nd = Neg c",
        "d",
        [
            f"a = {DQ} x s z",
            "b = Reshape a",
            "c = Squeeze b/2",
            "d = Neg c/4",
            f"b/1 = {Q} b s z",
            f"b/2 = {DQ} b/1 s z",
            f"c/3 = {Q} c s z",
            f"c/4 = {DQ} c/3 s z",
        ],
    ),
    "quantized already": (
        f"a = {DQ} x s z\nb = Reshape a\nc = {Q} b s z",
        "c",
        [f"a = {DQ} x s z", "b = Reshape a", f"c = {Q} b s z"],
    ),
    "used twice": (
        f"a = {DQ} x s z\nb = Reshape a\nc = Neg a\nd = Add b c",
        "d",
        [f"a = {DQ} x s z", "b = Reshape a", "c = Neg a", "d = Add b c"],
    ),
    "another operand": (
        f"a = {DQ} x s z\nb = Reshape y a\nc = Neg b",
        "c",
        [f"a = {DQ} x s z", "b = Reshape y a", "c = Neg b"],
    ),
    "returned": (
        f"a = {DQ} x s z\nb = Reshape a\nc = Neg b",
        "a c",
        [f"a = {DQ} x s z", "b = Reshape a", "c = Neg b"],
    ),
    "returned behind": (
        f"a = {DQ} x s z\nb = Reshape a\nc = Neg b",
        "b c",
        [f"a = {DQ} x s z", "b = Reshape a", "c = Neg b"],
    ),
    "computes": (
        f"a = {DQ} x s z\nb = Tile a\nc = Neg b",
        "c",
        [f"a = {DQ} x s z", "b = Tile a", "c = Neg b"],
    ),
    "channels": (
        f"a = {DQ} x t t\nb = Reshape a\nc = Neg b",
        "c",
        [f"a = {DQ} x t t", "b = Reshape a", "c = Neg b"],
    ),
    "before": (
        f"a = Neg x\nb = Slice a\nc = {Q} b s z",
        "c",
        [
            "a = Neg x",
            "b = Slice a/2",
            f"c = {Q} b s z",
            f"a/1 = {Q} a s z",
            f"a/2 = {DQ} a/1 s z",
        ],
    ),
    "before of an input": (
        f"b = Transpose x\nc = {Q} b s z",
        "c",
        [
            "b = Transpose x/2",
            f"c = {Q} b s z",
            f"x/1 = {Q} x s z",
            f"x/2 = {DQ} x/1 s z",
        ],
    ),
    "before of a constant": (
        f"b = Transpose t\nc = {Q} b s z",
        "c",
        ["b = Transpose t", f"c = {Q} b s z"],
    ),
    "before and used": (
        f"a = Neg x\nb = Slice a\nc = {Q} b s z\nd = Abs b",
        "c d",
        ["a = Neg x", "b = Slice a", f"c = {Q} b s z", "d = Abs b"],
    ),
    "before and used earlier": (
        f"a = Neg x\nb = Slice a\nc = {Q} b s z\nd = Abs a",
        "c d",
        ["a = Neg x", "b = Slice a", f"c = {Q} b s z", "d = Abs a"],
    ),
    "before and returned": (
        f"a = Neg x\nb = Slice a\nc = {Q} b s z",
        "a c",
        ["a = Neg x", "b = Slice a", f"c = {Q} b s z"],
    ),
}


@pytest.mark.parametrize("name", FORWARD)
def test_conversions_around_what_moves(name: str) -> None:
    lines, outputs, expected = FORWARD[name]
    built = graph(lines, outputs, **STEP, t=F([1, 2]))
    propagate(built)
    assert shown(built) == expected


LAYER = f"a = {DQ} x s z\ny = Conv a w b\nq = {Q} y s z"
WEIGHTS = {"w": F([[-1.0, 4.1]]), "b": F([1, -0.51])}


def stored(built: Any, operand: int) -> list[Any]:
    """What the dequantization of the layer's operand takes: constants."""
    (layer,) = built.of_kind("Conv")
    source = built.producer(layer.inputs[operand])
    assert source.kind == DQ
    assert source.attributes.get("axis", 0) == 0
    return [built.array(name) for name in source.inputs]


def test_weights_and_biases_are_quantized() -> None:
    built = graph(LAYER, "q", **STEP, **WEIGHTS)
    quantize_parameters(built)
    codes, scale, point = stored(built, 1)
    # from -1 to 4.1 in 255 steps: 0 is at -128 + 50
    assert scale == F(5.1) / F(255)
    assert (point, point.dtype, codes.dtype) == (-78, I1, I1)
    assert codes.tolist() == [[-128, 127]]
    codes, scale = stored(built, 2)
    assert scale == F(0.5) * (F(5.1) / F(255))
    assert (codes.tolist(), codes.dtype) == ([100, -51], I4)


@pytest.mark.parametrize(
    ("weights", "scale", "point", "codes"),
    [
        ([[0.0, 0.0]], 1, -128, [[-128, -128]]),
        ([[0.0, 255.0]], 1, -128, [[-128, 127]]),
        ([[2.0, 255.0]], 1, -128, [[-126, 127]]),
        ([[-255.0, -5.0]], 1, 127, [[-128, 122]]),
        ([[-128.0, 127.0]], 1, 0, [[-128, 127]]),
        ([[-127.5, 127.5]], 1, 0, [[-128, 127]]),
        ([[-1.5, 253.5, 2.5]], 1, -126, [[-128, 127, -124]]),
    ],
)
def test_the_range_of_weights(
    weights: Any, scale: float, point: int, codes: Any
) -> None:
    """It holds 0; ties are even."""
    built = graph(LAYER, "q", **STEP, w=F(weights), b=F([0]))
    quantize_parameters(built)
    found = stored(built, 1)
    assert [one.tolist() for one in found] == [codes, scale, point]


STAY: dict[str, tuple[str, dict[str, Any]]] = {
    "one operand": (LAYER.replace(" w b", ""), {}),
    "real input": (LAYER.replace("Conv a", "Conv x"), {}),
    "not quantized": (LAYER.replace(f"q = {Q} y s z", "q = Neg y"), {}),
    "two users": (f"{LAYER}\nn = Neg y", {}),
    "computed bias": (LAYER.replace("w b", "w x"), {}),
    "bias of rows": (LAYER, {"b": F([[1, 2]])}),
    "scales of channels": (LAYER, {"s": F([1, 2])}),
    "fewer biases": (
        LAYER.replace("y =", f"v = {DQ} i t\ny =").replace("w b", "v b"),
        {"i": I1([[1]]), "t": F([1, 2]), "b": F([1])},
    ),
}


@pytest.mark.parametrize("name", STAY)
def test_parameters_that_stay(name: str) -> None:
    lines, arrays = STAY[name]
    built = graph(lines, "q", **{**STEP, **WEIGHTS, **arrays})
    before = shown(built)
    quantize_parameters(built)
    assert shown(built) == before


def test_biases_of_stored_weights() -> None:
    """Each in steps of its channel; activations may lie before the quantization."""
    lines = LAYER.replace("y =", f"v = {DQ} i t\ny =").replace("w b", "v b")
    lines = lines.replace(f"{Q} y", f"{Q} r").replace("q =", "r = Relu y\nq =")
    built = graph(lines, "q", **STEP, **WEIGHTS, i=I1([[1], [2]]), t=F([0.5, 2]))
    quantize_parameters(built)
    codes, scale = stored(built, 2)
    assert (codes.tolist(), scale.tolist()) == ([4, -1], [0.25, 1])


@pytest.mark.parametrize(
    ("lines", "arrays", "point"),
    [
        (f"a = {Q} x s i\nb = {DQ} a s i\nc = Neg b", {"i": I1(-5)}, 123),
        (f"a = {Q} x s i\nb = {DQ} a s i\nc = Neg b", {"i": I1(127)}, 255),
        (f"a = {Q} x s z\nb = {DQ} a s z\nc = Neg b", {}, None),
        (f"a = {Q} x s i\nb = {DQ} a s j\nc = Neg b", {"i": I1(1), "j": I1(2)}, None),
        (f"a = {Q} x s i\nb = {DQ} a s i\nc = Abs a", {"i": I1(1)}, None),
    ],
)
def test_pairs_of_int8_become_uint8(
    lines: str, arrays: dict[str, Any], point: int | None
) -> None:
    built = graph(lines, "c", **STEP, **arrays)
    before = shown(built)
    use_uint8(built)
    if point is None:
        assert shown(built) == before
        return
    first, second, _ = built.nodes
    assert first.inputs[2] == second.inputs[2]
    found = built.array(first.inputs[2])
    assert found is not None
    assert (found, found.dtype) == (point, U1)


SUMS: dict[str, tuple[str, str, list[str] | None]] = {
    "first": (
        "c = Conv x w b\ns = Add c y",
        "s",
        ["s = FusedConv x w b y"],
    ),
    "second": (
        "c = Conv x w b\ns = Add y c",
        "s",
        ["s = FusedConv x w b y"],
    ),
    "of two": (
        "c = Conv x w b\nd = Conv x v b\ns = Add c d",
        "s",
        ["d = Conv x v b", "s = FusedConv x w b d"],
    ),
    "twice": ("c = Conv x w b\ns = Add c c", "s", None),
    "without bias": ("c = Conv x w\ns = Add c y", "s", None),
    "used again": ("c = Conv x w b\ns = Add c y\nn = Neg c", "s", None),
    "returned": ("c = Conv x w b\ns = Add c y", "s c", None),
    "of no convolution": ("c = Gemm x w b\ns = Add c y", "s", None),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_start_from_what_is_added(name: str) -> None:
    lines, outputs, expected = SUMS[name]
    built = graph(lines, outputs)
    before = shown(built)
    add_to_convolutions(built)
    assert shown(built) == (expected or before)
    for node in built.of_kind("FusedConv"):
        assert (node.domain, node.index) == ("com.microsoft", len(before) - 1)


@pytest.mark.parametrize(
    ("lines", "outputs", "expected"),
    [
        (f"a = {DQ} x s z\nb = {Q} a s z\nc = Neg b", "c", ["c = Neg x"]),
        (f"a = {DQ} x s z\nb = {Q} a s z", "b", None),
        (f"a = {DQ} x s z\nb = {Q} a t z\nc = Neg b", "c", None),
        (f"a = {DQ} x s z\nb = {Q} a s z\nc = Neg b\nd = Neg a", "c d", None),
        (f"a = {DQ} x s\nb = {Q} a s\nc = Neg b", "c", None),
    ],
)
def test_conversions_that_undo_each_other(
    lines: str, outputs: str, expected: list[str] | None
) -> None:
    built = graph(lines, outputs, **STEP, t=F(0.25))
    before = shown(built)
    remove_inverse_pairs(built)
    assert shown(built) == (expected or before)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            f"a = {DQ} x s z\nb = Reshape a",
            [f"a = {DQ} x s z", "b/1 = Reshape x", f"b = {DQ} b/1 s z"],
        ),
        (
            f"a = {DQ} x s z\nb, c = Split a",
            [
                f"a = {DQ} x s z",
                "b/1, c/2 = Split x",
                f"b = {DQ} b/1 s z",
                f"c = {DQ} c/2 s z",
            ],
        ),
        (f"a = {DQ} x s z\nb = Resize a", None),
        (f"a = {DQ} x s z\nb, c = MaxPool a", None),
        (f"a = {DQ} x s z\nb = Neg a", None),
        (f"a = {DQ} x t z\nb = Reshape a", None),
        ("a = Neg x\nb = Reshape a", None),
    ],
)
def test_devices_move_codes(lines: str, expected: list[str] | None) -> None:
    built = graph(lines, "b", **STEP, t=F([1, 2]))
    before = shown(built)
    move_codes(built)
    assert shown(built) == (expected or before)


def test_bounds_that_are_codes() -> None:
    lines = f"a = {DQ} l s z\nb = {DQ} x s z\ny = Clip v a b"
    built = graph(lines, "y", **STEP, l=U1(1))
    fold_bounds(built)
    (node,) = built.of_kind("Clip")
    found = built.array(node.inputs[1])
    assert found is not None
    assert (found, found.dtype) == (-1, F)
    assert node.inputs[2] == "b"


def clipped(kind: str, bounds: str, weights: str = "w") -> Any:
    lines = (
        f"a = {DQ} x s z\nv = {DQ} {weights} s i\ny = {kind} a v\nb = {bounds}\n"
        f"q = {Q} b s z"
    )
    limits = {"zero": F(0), "six": F(6), "one": F(1), "minus": F(-1), "all": F(126)}
    built = graph(lines, "q", **STEP, w=I1([[1]]), i=I1(0), **limits)
    (operator,) = built.of_kind(kind)
    group = find_group(built, operator)
    return built, group, group.activation


@pytest.mark.parametrize(
    ("kind", "bounds", "weights", "found"),
    [
        ("Conv", "Relu y", "w", "relu"),
        ("Gemm", "Clip y zero six", "w", "relu6"),
        ("MatMul", "Clip y minus one", "w", "relu_n1_to_1"),
        ("Add", "Clip y zero", "w", "relu"),
        ("Mul", "Clip y zero all", "w", "relu"),
        ("MatMul", "Relu y", "k", "!nothing clips the result of MatMul, as its Relu"),
        ("Div", "Relu y", "w", "!nothing clips the result of Div, as its Relu"),
        ("Conv", "Clip y one six", "w", "!its Clip to [1, 6] is no known activation"),
        (
            "Conv",
            "Clip y k",
            "w",
            "!bounds or quantization of its Clip are not constant",
        ),
    ],
)
def test_activations_of_devices(
    kind: str, bounds: str, weights: str, found: str
) -> None:
    given = clipped(kind, bounds, weights)
    if not found.startswith("!"):
        assert activation_of(*given) == found
        return
    with pytest.raises(StaysReal) as caught:
        activation_of(*given)
    assert str(caught.value) == found[1:]


@pytest.mark.parametrize(
    ("kind", "scale", "accepts"),
    [
        ("Conv", 0.125, True),
        ("Conv", 0.125 * (1 + 5e-7), True),
        ("Conv", 0.125 * (1 + 3e-6), False),
        ("Gemm", 0.126, False),
        ("ConvTranspose", 0.126, True),
    ],
)
def test_biases_of_devices(kind: str, scale: float, accepts: bool) -> None:
    lines = f"a = {DQ} x s z\nv = {DQ} w t i\nc = {DQ} b r\ny = {kind} a v c"
    arrays = {"w": I1([[1]]), "t": F(0.25), "i": I1(0), "b": I4([1]), "r": F(scale)}
    built = graph(lines, "y", **STEP, **arrays)
    (operator,) = built.of_kind(kind)
    group = find_group(built, operator)
    if accepts:
        check_bias(built, group)
    else:
        with pytest.raises(StaysReal, match="is not that of the input times"):
            check_bias(built, group)


def test_what_devices_compute_on_real_numbers() -> None:
    built = graph(f"a = {DQ} x s z\nb = Reshape a\nc = {Q} b s z\nd = Neg c", **STEP)
    check_stored(built, {})
    built = graph(f"a = {DQ} x s z\nb = Reshape a\nc = Sin b", **STEP)
    sine = built.of_kind("Sin")[0]
    for reasons, why in (({}, "its operands are real"), ({sine: "so"}, "so")):
        with pytest.raises(QlowerError) as caught:
            check_stored(built, reasons)
        assert caught.value.message == (
            f"node 2 Sin '': it runs on real numbers ({why}), which devices of integers"
            " don't have"
        )
        assert caught.value.help == (
            "--qdq integer reads the model as ONNX Runtime runs it"
        )
