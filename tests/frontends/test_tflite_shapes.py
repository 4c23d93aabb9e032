"""Shapes that a file leaves open are fixed when it is read, and what computes them runs
then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_models import split_v
from support.systems.litert import run_litert
from support.values.same_numbers import assert_same

import qlower
from qlower.diagnostics import QlowerError


def flattening(*, shape_left_at_1: bool = True) -> bytes:
    """RELU, then a reshape to [batch, product of the rest], as Keras writes it."""
    builder = TFLiteBuilder()

    def integers(name: str, *values: int) -> int:
        return builder.tensor(name, (len(values),), "int32", data=list(values))

    def computed(name: str, *shape: int) -> int:
        return builder.tensor(name, shape, "int32")

    x = builder.tensor("x", (1, 4, 3), scale=0.1, signature=(-1, 4, 3))
    y = builder.tensor("y", (1, 4, 3), scale=0.1, signature=(-1, 4, 3))
    builder.operator("RELU", [x], [y])
    shape, batch, rest = computed("shape", 3), computed("batch"), computed("rest", 2)
    builder.operator("SHAPE", [y], [shape], {"out_type": 2})
    zero, one = integers("zero", 0), integers("one", 1)
    builder.operator(
        "STRIDED_SLICE", [shape, zero, one, one], [batch], {"shrink_axis_mask": 1}
    )
    builder.operator("GATHER", [shape, integers("dims", 1, 2)], [rest], {"axis": 0})
    size = computed("size")
    builder.operator("REDUCE_PROD", [rest, zero], [size], {"keep_dims": False})
    packed = computed("packed", 2)
    builder.operator("PACK", [batch, size], [packed], {"axis": 0, "values_count": 2})
    static = (1, 1) if shape_left_at_1 else (1, 12)
    z = builder.tensor("z", static, scale=0.1, signature=(-1, -1))
    builder.operator("RESHAPE", [y, packed], [z], {})
    return builder.build([x], [z, packed])


def load(
    folder: Path, data: bytes, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> qlower.Model:
    path = folder / "model.tflite"
    path.write_bytes(data)
    return qlower.load(path, shapes=shapes)


@pytest.mark.parts(2)
@pytest.mark.parametrize("batch", [1, 5])
def test_a_batch_as_litert_has_it(batch: int, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    data = flattening()
    model = load(tmp_path, data, {"x": (batch, 4, 3)} if batch > 1 else None)
    assert [spec.shape for spec in model.outputs] == [(batch, 12), (2,)]
    x = np.random.default_rng(0).integers(-128, 128, (batch, 4, 3), np.int8)
    expected = run_litert(data, [x])
    for found in (qlower.jit(model)(x), qlower.interpret(model, x, at="qnn")):
        for ours, theirs in zip(found, expected, strict=True):
            assert np.array_equal(ours, theirs)


def arithmetic() -> bytes:
    """What is computed of a shape [batch, 4, 3], each result an output of the file."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4, 3), scale=0.1, signature=(-1, 4, 3))
    names = (f"t{number}" for number in count())
    outputs: list[int] = []

    def constant(*values: int) -> int:
        data = list(values)
        return builder.tensor(next(names), (len(values),), "int32", data=data)

    def scalar(value: int) -> int:
        return builder.tensor(next(names), (), "int32", data=[value])

    def computed(
        operator: str,
        inputs: Sequence[int],
        *shapes: Sequence[int],
        dtype: str = "int32",
        **options: int | Sequence[int],
    ) -> int:
        made = [builder.tensor(next(names), shape, dtype) for shape in shapes]
        builder.operator(operator, inputs, made, options)
        outputs.extend(made)
        return made[0]

    shape = computed("SHAPE", [x], (3,), out_type=2)
    rank = computed("RANK", [x], ())
    first = computed("UNPACK", [shape], (), (), (), axis=0, num=3)
    computed("CONCATENATION", [shape, constant(7)], (4,), axis=0)
    row = computed("RESHAPE", [shape, constant(1, 3)], (1, 3))
    computed("SQUEEZE", [row], (3,), squeeze_dims=[0])
    computed("EXPAND_DIMS", [first, constant(0)], (1,))
    computed("SLICE", [shape, constant(1), constant(2)], (2,))
    computed("TRANSPOSE", [row, constant(1, 0)], (3, 1))
    computed("FILL", [shape, scalar(5)], (1, 4, 3))
    computed("TILE", [row, constant(2, 1)], (2, 3))
    wide = computed("BROADCAST_ARGS", [shape, constant(1, 3)], (3,))
    computed("BROADCAST_TO", [constant(1, 2, 3), wide], (1, 4, 3))
    computed("RANGE", [scalar(0), rank, scalar(1)], (3,))
    computed("SUB", [shape, constant(5)], (3,), fused_activation_function=0)
    negative = computed("NEG", [shape], (3,))
    computed("ABS", [negative], (3,))
    computed("SIGN", [negative], (3,))
    computed("DIV", [negative, constant(3)], (3,), fused_activation_function=0)
    computed("FLOOR_DIV", [negative, constant(3)], (3,))
    computed("FLOOR_MOD", [negative, constant(3)], (3,))
    computed("REDUCE_MAX", [row, constant(1)], (1, 1), keep_dims=True)
    small = computed("LESS", [shape, constant(4)], (3,), dtype="bool")
    other = computed("LOGICAL_NOT", [small], (3,), dtype="bool")
    computed("LOGICAL_AND", [small, other], (3,), dtype="bool")
    computed("SELECT_V2", [small, shape, negative], (3,))
    for operator in ("ADD", "SUB", "MUL", "DIV"):
        computed(operator, [first, scalar(3)], (), fused_activation_function=0)
    for operator in ("FLOOR_DIV", "FLOOR_MOD"):
        computed(operator, [first, scalar(-3)], ())
    for operator in ("NEG", "ABS", "SIGN"):
        computed(operator, [first], ())
    is_less = computed("LESS", [first, scalar(4)], (), dtype="bool")
    computed("LOGICAL_OR", [is_less, is_less], (), dtype="bool")
    computed("SELECT_V2", [is_less, first, scalar(9)], ())
    computed("REDUCE_MAX", [shape, constant(0)], (), keep_dims=False)
    types = {"in_data_type": 2, "out_data_type": 4}
    computed("CAST", [shape], (3,), dtype="int64", **types)
    return builder.build([x], outputs)


def test_arithmetic_on_shapes_as_litert_has_it(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    data = arithmetic()
    model = load(tmp_path, data, {"x": (5, 4, 3)})
    x = np.zeros((5, 4, 3), np.int8)
    expected = run_litert(data, [x])
    for ours, theirs in zip(qlower.interpret(model, x), expected, strict=True):
        assert_same(ours, theirs)
        assert ours.shape == theirs.shape


def test_a_whole_network_takes_a_batch(tmp_path: Path) -> None:
    """No shape of the file but the input's is taken as it is."""
    pytest.importorskip("ai_edge_litert")
    builder = TFLiteBuilder()
    random = np.random.default_rng(3)
    x = builder.tensor("x", (1, 6, 6, 2), scale=0.1, signature=(-1, 6, 6, 2))
    w = builder.tensor(
        "w", (4, 3, 3, 2), scale=0.02, data=random.integers(-127, 128, (4, 3, 3, 2))
    )
    b = builder.tensor("b", (4,), "int32", data=[100, -100, 5, 0])
    y = builder.tensor("y", (1, 1, 1, 1), scale=0.2)
    window = {"stride_h": 1, "stride_w": 1, "padding": 0}
    dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    builder.operator("CONV_2D", [x, w, b], [y], window | dilation)
    pooled = builder.tensor("pooled", (1, 1, 1, 1), scale=0.2)
    pool = {"stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    builder.operator("MAX_POOL_2D", [y], [pooled], {**pool, "padding": 1})
    mean = builder.tensor("mean", (1, 1), scale=0.1)
    axes = builder.tensor("axes", (2,), "int32", data=[1, 2])
    builder.operator("MEAN", [pooled, axes], [mean], {"keep_dims": False})
    twice = builder.tensor("twice", (1, 1), scale=0.2)
    builder.operator("ADD", [mean, mean], [twice], {"fused_activation_function": 0})
    data = builder.build([x], [twice])
    model = load(tmp_path, data, {"x": (3, 6, 6, 2)})
    images = random.integers(-128, 128, (3, 6, 6, 2), np.int8)
    assert np.array_equal(qlower.jit(model)(images), run_litert(data, [images])[0])


def test_sizes_that_are_computed_in_float32(tmp_path: Path) -> None:
    """Half of an image's, rounded up, as `ceil(height / 2)` writes it."""
    pytest.importorskip("ai_edge_litert")
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 5, 7, 2), scale=0.1, signature=(1, -1, -1, 2))
    shape = builder.tensor("shape", (4,), "int32")
    sizes, half = (builder.tensor(name, (2,), "int32") for name in ("sizes", "half"))
    real, divided, whole = (
        builder.tensor(name, (2,), "float32") for name in ("real", "divided", "whole")
    )
    ends = [builder.tensor(f"at{n}", (1,), "int32", data=[n]) for n in (1, 3, 1)]
    two = builder.tensor("two", (1,), "float32", data=np.array([2], np.float32))
    y = builder.tensor("y", (1, 3, 4, 2), scale=0.1, signature=(1, -1, -1, 2))
    builder.operator("SHAPE", [x], [shape], {"out_type": 2})
    builder.operator("STRIDED_SLICE", [shape, *ends], [sizes])
    builder.operator("CAST", [sizes], [real])
    builder.operator("DIV", [real, two], [divided])
    builder.operator("CEIL", [divided], [whole])
    builder.operator("CAST", [whole], [half])
    builder.operator("RESIZE_BILINEAR", [x, half], [y], {"half_pixel_centers": True})
    data = builder.build([x], [y])
    model = load(tmp_path, data, {"x": (1, 9, 4, 2)})
    image = np.random.default_rng(0).integers(-128, 128, (1, 9, 4, 2), np.int8)
    (wanted,) = run_litert(data, [image], kernels="opt")
    assert np.array_equal(qlower.jit(model)(image), wanted)


def test_dimensions_that_a_segment_product_merges(tmp_path: Path) -> None:
    """The converter writes `einsum` of open dimensions so."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4, 3), scale=0.1, signature=(-1, 4, 3))
    shape = builder.tensor("shape", (3,), "int32")
    builder.operator("SHAPE", [x], [shape], {"out_type": 2})
    segments = builder.tensor("segments", (3,), "int32", data=[0, 1, 1])
    number = builder.tensor("number", (), "int32", data=[2])
    merged = builder.tensor("merged", (2,), "int32")
    builder.operator("UNSORTED_SEGMENT_PROD", [shape, segments, number], [merged])
    y = builder.tensor("y", (1, 12), scale=0.1, signature=(-1, 12))
    builder.operator("RESHAPE", [x, merged], [y], {})
    model = load(tmp_path, builder.build([x], [y]), {"x": (5, 4, 3)})
    assert [spec.shape for spec in model.outputs] == [(5, 12)]


def test_fixed_sizes_stay(tmp_path: Path) -> None:
    with pytest.raises(
        QlowerError, match=r"shape \[5, 4, 4\] doesn't fit the file's \[\?, 4, 3\]"
    ):
        load(tmp_path, flattening(), {"x": (5, 4, 4)})
    with pytest.raises(QlowerError, match=r"shape \[5\] doesn't fit"):
        load(tmp_path, flattening(), {"x": (5,)})


@pytest.mark.parametrize(
    ("indices", "message"),
    [((3,), "index 3 is out of range [0, 2]"), ((-1,), "index -1 is out of range")],
)
def test_what_cannot_be_evaluated(indices: tuple[int, ...], message: str) -> None:
    from qlower.frontends.tflite import import_tflite

    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4, 3), scale=0.1)
    shape, part = (builder.tensor(name, (3,), "int32") for name in ("s", "p"))
    builder.operator("SHAPE", [x], [shape], {"out_type": 2})
    wanted = builder.tensor("i", (1,), "int32", data=list(indices))
    builder.operator("GATHER", [shape, wanted], [part], {"axis": 0})
    with pytest.raises(QlowerError) as caught:
        import_tflite(builder.build([x], [part]), name="m.tflite")
    assert message in caught.value.message


def test_small_files_do_not_make_large_constants() -> None:
    from qlower.frontends.tflite import import_tflite

    builder = TFLiteBuilder()
    x = builder.tensor("x", (1,), scale=0.1)
    dims = builder.tensor("d", (2,), "int32", data=[1 << 15, 1 << 15])
    one = builder.tensor("one", (), "int32", data=[1])
    filled = builder.tensor("f", (1 << 15, 1 << 15), "int32")
    builder.operator("FILL", [dims, one], [filled])
    with pytest.raises(QlowerError, match="number of elements 1073741824 is out of"):
        import_tflite(builder.build([x], [filled]), name="m.tflite")


def test_a_part_of_no_elements_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(split_v(2, -1, 4))
    model = qlower.load(path, outputs=["y0", "y2"])
    x = np.arange(12, dtype=np.int8).reshape(2, 6)
    left, right = qlower.interpret(model, x, at="qnn")
    assert_same(left, x[:, :2])
    assert_same(right, x[:, 2:])


def test_a_slice_of_no_elements_is_joined(tmp_path: Path) -> None:
    """As a loop does that puts its first result into a list."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), scale=0.1)
    none = builder.tensor("none", (1, 1), scale=0.1, signature=(1, -1))
    y = builder.tensor("y", (1, 4), scale=0.1)
    begin, size = (
        builder.tensor(name, (2,), "int32", data=data)
        for name, data in (("begin", [0, 4]), ("size", [1, 0]))
    )
    builder.operator("SLICE", [x, begin, size], [none])
    builder.operator("CONCATENATION", [none, x], [y], {"axis": 1})
    path = tmp_path / "model.tflite"
    path.write_bytes(builder.build([x], [y]))
    given = np.arange(4, dtype=np.int8).reshape(1, 4)
    found = qlower.interpret(qlower.load(path), given, at="qnn")
    assert_same(found, given)


def test_inputs_have_the_names_of_signatures(tmp_path: Path) -> None:
    """Converters call their tensors otherwise; those names hold as well, and first."""
    builder = TFLiteBuilder()
    x, y = (
        builder.tensor(name, (1, 4), scale=0.1, signature=(-1, 4))
        for name in ("serving_default_x:0", "y")
    )
    builder.operator("RELU", [x], [y])
    data = builder.build([x], [y], arguments={"x": x, "y": y, "lost": 9})
    for name in ("x", "serving_default_x:0"):
        model = load(tmp_path, data, {name: (3, 4)})
        assert model.inputs[0].shape == model.outputs[0].shape == (3, 4)
    for name in ("y", "lost", "z"):
        with pytest.raises(QlowerError, match=f"the model has no input {name!r}"):
            load(tmp_path, data, {name: (3, 4)})
