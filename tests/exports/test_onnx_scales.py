"""Scales and zero points in ONNX's graphs: which tensor each is of, and what is
exchanged, on graphs of a node or two."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.exports.changes import Changes, Rescaled
from qlower.exports.onnx import LAYOUTS, patch_onnx
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
own: Any = vars(import_module("qlower.exports.onnx"))

NODES = {
    # operator: inputs (s is a scale, z a zero point), and for each scale its tensors
    "QuantizeLinear": (["s0", "s1", "z1"], {"s1": {"s0", "y"}}),
    "DequantizeLinear": (["x", "s1"], {"s1": {"x", "y"}}),
    "QLinearConv": (
        ["x", "s1", "z1", "w", "s2", "z2", "s3", "z3", "b"],
        {"s1": {"x"}, "s2": {"w"}, "s3": {"y"}},
    ),
    "QLinearMatMul": (
        ["x", "s1", "z1", "w", "s2", "z2", "s3", "z3"],
        {"s1": {"x"}, "s2": {"w"}, "s3": {"y"}},
    ),
    "QLinearAdd": (
        ["x", "s1", "z1", "w", "s2", "z2", "s3"],
        {"s1": {"x"}, "s2": {"w"}, "s3": {"y"}},
    ),
    "QLinearConcat": (
        ["s1", "z1", "x", "s2", "z2", "w", "s3", "z3"],
        {"s1": {"y"}, "s2": {"x"}, "s3": {"w"}},
    ),
    "QLinearSigmoid": (["x", "s1", "", "s2", "z2"], {"s1": {"x"}, "s2": {"y"}}),
    "Conv": (["x", "s1", "z1"], {}),
}


@pytest.mark.parametrize("operator", NODES)
def test_scales_are_of_the_tensors_before_them(operator: str) -> None:
    inputs, wanted = NODES[operator]
    node = onnx.helper.make_node(operator, inputs, ["y"])
    graph = onnx.helper.make_graph([node], "g", [], [])
    arrays: dict[str, Array] = {
        name: np.array(1, np.float32 if name.startswith("s") else np.int8)
        for name in inputs
        if name[:1] in ("s", "z", "w")
    }
    found = {use.scale: use for use in own["_uses"](graph, arrays)}
    assert {name: set(use.names) for name, use in found.items()} == wanted
    for name, use in found.items():
        number = inputs.index(name) + 1
        assert use.zero == (inputs[number] if number < len(inputs) else "")


def rescaled(name: str, *old: float, new: float = 9.0, zero: int = 0) -> Rescaled:
    many = len(old)
    return Rescaled(name, tuple(old), (new,) * many, (zero,) * many, (5,) * many)


@pytest.mark.parametrize(
    ("scale", "zero", "one", "is_same"),
    [
        ([0.5], [0], rescaled("a", 0.5), True),
        ([0.5], None, rescaled("a", 0.5), True),
        ([0.5], [1], rescaled("a", 0.5), False),
        ([0.5], [0], rescaled("a", 0.5, 0.5), False),
        ([0.5, 0.5], [0, 0], rescaled("a", 0.5), False),
        ([0.5, 0.25], [0, 0], rescaled("a", 0.5, 0.25), True),
        ([1.0], [0], rescaled("a", 1 + 2.0**-23), True),
        ([1.0], [0], rescaled("a", 1 + 2.0**-21), False),
        ([0.0], [0], rescaled("a", 1e-30), False),
    ],
)
def test_a_scale_is_known_by_its_values(
    scale: list[float], zero: list[int] | None, one: Rescaled, is_same: bool
) -> None:
    arrays: dict[str, Array] = {"s": np.array(scale, np.float32)}
    if zero is not None:
        arrays["z"] = np.array(zero, np.int8)
    use = own["_Use"](frozenset(), "s", "z")
    assert own["_is_of"](use, arrays, one) is is_same


def test_layouts_of_weights() -> None:
    """Each order of dimensions, by an array that every other order changes."""
    for layout in LAYOUTS:
        shape = tuple(range(2, 2 + len(layout)))
        array = np.arange(int(np.prod(shape))).reshape(shape)
        stored = array.transpose(layout)
        assert own["_layout"](array, stored) == layout
        assert own["_layout"](array, stored + 1) is None
        assert own["_layout"](array, stored[None]) is None
    assert own["_layout"](np.zeros((2, 3, 4)), np.zeros((2, 3, 4))) is None


def graph(*nodes: tuple[str, list[str], str], **arrays: object) -> bytes:
    made = [onnx.helper.make_node(kind, given, [to]) for kind, given, to in nodes]
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(array), name)
        for name, array in arrays.items()
    ]
    whole = onnx.helper.make_graph(made, "g", [], [], tensors)
    return onnx.helper.make_model(whole).SerializeToString()


def values(data: bytes) -> dict[str, list[float]]:
    model = onnx.load_model_from_string(data)
    return {
        one.name: onnx.numpy_helper.to_array(one).reshape(-1).tolist()
        for one in model.graph.initializer
    }


HALF, ZERO = np.float32(0.5), np.int8(0)
TWO = (
    ("QuantizeLinear", ["x", "s1", "z1"], "a"),
    ("QuantizeLinear", ["v", "s2", "z2"], "b"),
)


def test_scales_are_found_by_name_or_where_it_is_unknown_by_value() -> None:
    data = graph(*TWO, s1=HALF, z1=ZERO, s2=HALF, z2=ZERO)
    found = values(patch_onnx(data, Changes([], [rescaled("b", 0.5)])))
    assert found == {"s1": [0.5], "z1": [0], "s2": [9], "z2": [5]}
    found = values(patch_onnx(data, Changes([], [rescaled("c", 0.5)])))
    assert found == {"s1": [9], "z1": [5], "s2": [9], "z2": [5]}
    with pytest.raises(QlowerError, match=r"^error: the file has no scale of b$"):
        patch_onnx(data, Changes([], [rescaled("b", 0.25)]))


def test_a_tensor_has_its_scale_where_it_is_made_and_where_it_is_read() -> None:
    """In initializers of their own; those of other tensors stay, though they are equal,
    and so do weights of real numbers."""
    made = ("QuantizeLinear", ["v", "s1", "z1"], "x")
    read = ("QLinearConv", ["x", "s2", "z2", "w", "s3", "z3", "s4", "z4"], "y")
    zeros = {f"z{n}": ZERO for n in range(1, 5)}
    scales = {f"s{n}": HALF for n in range(1, 5)}
    data = graph(made, read, **scales, **zeros, v=HALF)
    for name, changed in (("x", "12"), ("w", "3"), ("y", "4")):
        found = values(patch_onnx(data, Changes([], [rescaled(name, 0.5)])))
        assert found.pop("v") == [0.5]
        wanted = {f"s{n}": [9.0 if n in changed else 0.5] for n in "1234"}
        assert found == wanted | {f"z{n}": [5 if n in changed else 0] for n in "1234"}


def test_a_scale_that_tensors_share_may_not_part() -> None:
    nodes = (TWO[0], ("QuantizeLinear", ["v", "s1", "z1"], "b"))
    data = graph(*nodes, s1=HALF, z1=ZERO)
    same = [rescaled("a", 0.5), rescaled("b", 0.5)]
    assert values(patch_onnx(data, Changes([], same))) == {"s1": [9], "z1": [5]}
    other = [rescaled("a", 0.5), rescaled("b", 0.5, new=8.0)]
    message = "^error: tensors share 's1' in the file, but are to differ$"
    with pytest.raises(QlowerError, match=message):
        patch_onnx(data, Changes([], other))


def weights(stored: Array, name: str = "w") -> WeightSpec:
    of = "layer", "weight", stored, (1.0,), (0,), None, -128, 127
    return WeightSpec(*of, name, ("layer",))


def test_weights_are_written_in_the_order_of_the_file() -> None:
    array = np.arange(24, dtype=np.int8).reshape(2, 3, 4, 1)
    data = graph(w=array)
    spec = weights(array.transpose(0, 2, 3, 1))
    new = (spec.stored * 2).astype(np.int64)
    found = patch_onnx(data, Changes([(spec, new)], []))
    (tensor,) = onnx.load_model_from_string(found).graph.initializer
    written = onnx.numpy_helper.to_array(tensor)
    assert written.dtype == np.int8
    np.testing.assert_array_equal(written, array * 2)


def test_what_is_not_in_the_file_as_it_is_computed() -> None:
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    data = graph(w=array)
    for spec, message in (
        (weights(array, "v"), "the file doesn't hold layer.weight as an initializer"),
        (weights(array + 1), "the file doesn't hold layer.weight as it is computed"),
    ):
        with pytest.raises(QlowerError) as caught:
            patch_onnx(data, Changes([(spec, array)], []))
        assert caught.value.message == message
    model = onnx.load_model_from_string(data)
    (tensor,) = model.graph.initializer
    tensor.external_data.add(key="location", value="x")
    with pytest.raises(QlowerError, match="as an initializer"):
        patch_onnx(model.SerializeToString(), Changes([(weights(array), array)], []))


def test_another_form_of_the_file_is_refused() -> None:
    """Its other bytes would change, too."""
    data = graph(w=np.zeros(1, np.int8))
    with pytest.raises(QlowerError) as caught:
        patch_onnx(data + data[:2], Changes([], []))
    assert caught.value.message == (
        "the file isn't in protobuf's usual form, so writing it would change more than "
        "weights"
    )
    assert patch_onnx(data, Changes([], [])) == data
