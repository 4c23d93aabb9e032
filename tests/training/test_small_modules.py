"""`qlower.torch` on models of a layer or two, against the interpreter and against sums
that are written out."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.model.signature import TensorSpec
from qlower.model.weights import weight_specs
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
Module: Any = import_module("qlower.torch").Module
arrays: Any = import_module("qlower.torch.arrays")
devices: Any = import_module("qlower.torch.device")
quantizing: Any = import_module("qlower.torch.quantizing")
straight: Any = import_module("qlower.torch.straight_through")

TYPES = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!w = !quant.uniform<i8:f32:0, {1.000000e-02,2.000000e-02}>
!y = !quant.uniform<i8:f32, 2.500000e-02:-7>
"""
LINEAR = """
  %w = qnn.constant dense<[[1, -2, 3, 90], [5, 6, -7, 8]]> : tensor<2x4xi8>
    -> tensor<2x4x!w>
  %b = arith.constant dense<[700, -300]> : tensor<2xi32>
"""


def model(arguments: str, body: str, returned: str) -> qlower.Model:
    types = returned.partition(" : ")[2]
    text = (
        f"{TYPES}func.func @main({arguments}) -> ({types}) {{{body}"
        f"  return {returned}\n}}"
    )
    return named(parse_module(text), None)


def pair(rows: int = 1) -> qlower.Model:
    """Two inputs of `rows` by 4, and two outputs."""
    x, y = f"tensor<{rows}x4x!x>", f"tensor<{rows}x2x!y>"
    add = f"  %s = qnn.add %a, %c : ({x}, {x}) -> {x}\n"
    types = f"({x}, tensor<2x4x!w>, tensor<2xi32>) -> {y}"
    linear = f"  %y = qnn.linear %s, %w, %b : {types}\n"
    return model(f"%a: {x}, %c: {x}", LINEAR + add + linear, f"%y, %s : {y}, {x}")


def drawn(*shape: int) -> Any:
    return torch.randint(-128, 128, shape, dtype=torch.int8)


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("rows", "is_set"), [(1, True), (3, True), (1, False), (3, False)]
)
def test_stored_and_real_outputs(rows: int, is_set: bool) -> None:
    """Those of the interpreter, in the shapes of the inputs; a set of examples of
    several rows has a dimension of its own."""
    whole = pair(rows)
    module = Module(whole, "exact", threads=2)
    shape = (5, rows, 4) if is_set else (rows, 4)
    one, two = drawn(*shape), drawn(*shape)
    examples = [(one, two)] if not is_set else list(zip(one, two, strict=True))
    found = [
        qlower.interpret(whole, a.numpy(), c.numpy(), contract="exact")
        for a, c in examples
    ]
    wanted = [
        np.stack(each) if is_set else each[0] for each in zip(*found, strict=True)
    ]
    stored = module.stored(one, two)
    layers = module.stored_layers(one, two)
    reals = module(one, two)
    assert isinstance(stored, tuple)
    assert isinstance(reals, tuple)
    for spec, a, b, c, name in zip(
        whole.outputs, wanted, stored, reals, ("y", "s"), strict=True
    ):
        np.testing.assert_array_equal(b.numpy(), a)
        np.testing.assert_array_equal(layers[name].numpy(), a)
        np.testing.assert_array_equal(
            c.detach().numpy(), spec.dequantize(a).astype(np.float32)
        )
    if rows == 1 and is_set:
        # A leading dimension of 1 may count the examples instead.
        flat = module.stored(one[:, 0], two[:, 0])
        np.testing.assert_array_equal(flat[0], wanted[0][:, 0])
        np.testing.assert_array_equal(flat[1], wanted[1][:, 0])


SHAPES = "or sets of them with at least one example and one more leading dimension"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([], "the model takes 2 inputs, but 0 are given"),
        ([(3, 4)], "the model takes 2 inputs, but 1 are given"),
        ([(3, 4)] * 3, "the model takes 2 inputs, but 3 are given"),
        ([(3, 4), (3, 5)], "shapes [3, 4], [3, 5], the model takes [3, 4], [3, 4], "),
        ([(3, 4), (2, 3, 4)], SHAPES),
        ([(0, 3, 4), (0, 3, 4)], SHAPES),
        ([(2, 3, 4), (1, 3, 4)], SHAPES),
        ([(2, 4), (2, 4)], SHAPES),
        ([(2, 4, 3), (2, 4, 3)], SHAPES),
        ([(2, 3, 4), (2, 4, 3)], SHAPES),
    ],
)
def test_inputs_of_other_shapes(shapes: Any, message: str) -> None:
    module = Module(pair(3), "exact", trainable=False)
    with pytest.raises(QlowerError) as caught:
        module.stored(*(drawn(*shape) for shape in shapes))
    assert message in str(caught.value)


def test_sets_that_may_not_be_counted_by_the_first_dimension() -> None:
    module = Module(pair(1), "exact", trainable=False)
    for shapes in ([(2, 4), (3, 4)], [(0, 4), (0, 4)], [(2, 4), (2, 5)]):
        with pytest.raises(QlowerError, match=SHAPES):
            module.stored(*(drawn(*shape) for shape in shapes))


def test_what_a_module_says_of_itself() -> None:
    assert repr(Module(pair(), "exact", threads=3)).startswith(
        "Module(\n  exact, threads=3\n"
    )
    own = pair()
    own.module.attributes["qnn.contract"] = StringAttr("exact")
    assert "the model's contract, threads=1" in repr(Module(own))
    module = Module(pair(), "exact")
    for write in (module.to_tflite, module.to_onnx):
        with pytest.raises(QlowerError, match="the model came from no file that could"):
            write("x")
    with pytest.raises(QlowerError, match="threads is 0; at least 1 is needed"):
        Module(pair(), "exact", threads=0)


@pytest.mark.parametrize("trainable", [True, False])
def test_other_weights_are_run_and_kept(trainable: bool) -> None:
    """By a copy and by a pickle, too; the same weights are compiled once."""
    module = Module(pair(), "exact", trainable=trainable)
    assert {p.requires_grad for p in module.parameters()} == {trainable}
    with torch.no_grad():
        module.layers["y"].weight += 0.04
    changed = module.to_model()
    weight, bias = weight_specs(changed.module)
    assert weight.stored.tolist() == [[5, 2, 7, 94], [7, 8, -5, 10]]
    assert bias.stored.tolist() == [700, -300]
    given = drawn(6, 4), drawn(6, 4)
    wanted = qlower.interpret(
        changed, *(x.numpy()[:, None] for x in given), contract="exact"
    )
    for one in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        for _ in range(2):
            for found, right in zip(one.stored(*given), wanted, strict=True):
                np.testing.assert_array_equal(found.numpy(), right[:, 0])


def test_threads_share_examples() -> None:
    one, many = (Module(pair(), "exact", threads=n) for n in (1, 3))
    for count in (1, 2, 3, 5):
        given = drawn(count, 4), drawn(count, 4)
        for a, b in zip(one.stored(*given), many.stored(*given), strict=True):
            assert torch.equal(a, b)
        a, b = one.stored_layers(*given), many.stored_layers(*given)
        assert a.keys() == b.keys() == {"y", "s"}
        assert all(torch.equal(a[name], b[name]) for name in a)
    # Rows that are no examples aren't shared.
    given = drawn(2, 4), drawn(2, 4)
    rows = (Module(pair(2), "exact", threads=n).stored(*given) for n in (1, 3))
    assert all(torch.equal(a, b) for a, b in zip(*rows, strict=True))


X, XX = "tensor<1x4x!x>", "tensor<1x1x4x!x>"
COUNTS: dict[str, tuple[bool, str, str, str]] = {
    "relu": (True, f"%a: {X}", f"%y = qnn.relu %a : ({X}) -> {X}", X),
    "transpose within": (
        *(True, f"%a: {XX}"),
        f"%y = qnn.transpose %a {{perm = [0, 2, 1]}} : ({XX}) -> tensor<1x4x1x!x>",
        "tensor<1x4x1x!x>",
    ),
    "transpose of examples": (
        *(False, f"%a: {XX}"),
        f"%y = qnn.transpose %a {{perm = [1, 0, 2]}} : ({XX}) -> {XX}",
        XX,
    ),
    "concat within": (
        *(True, f"%a: {X}"),
        f"%y = qnn.concat %a, %a {{axis = 1}} : ({X}, {X}) -> tensor<1x8x!x>",
        "tensor<1x8x!x>",
    ),
    "split of examples": (
        *(False, "%a: tensor<1x1x!x>"),
        "%y = qnn.split %a {axis = 0} : (tensor<1x1x!x>) -> tensor<1x1x!x>",
        "tensor<1x1x!x>",
    ),
    "sum within": (
        *(True, f"%a: {XX}"),
        f"%y = qnn.mean %a {{axes = [1, 2]}} : ({XX}) -> tensor<1x!x>",
        "tensor<1x!x>",
    ),
    "sum of examples": (
        *(False, f"%a: {XX}"),
        f"%y = qnn.mean %a {{axes = [0, 1]}} : ({XX}) -> tensor<4x!x>",
        "tensor<4x!x>",
    ),
    "add": (
        *(True, f"%a: {X}, %c: {X}"),
        f"%y = qnn.add %a, %c : ({X}, {X}) -> {X}",
        X,
    ),
    "add of ranks": (
        *(False, f"%a: {X}, %c: {XX}"),
        f"%y = qnn.add %a, %c : ({X}, {XX}) -> {XX}",
        XX,
    ),
    "of one and of several rows": (
        *(False, f"%a: {X}"),
        f"%y = qnn.reshape %a : ({X}) -> tensor<2x2x!x>",
        "tensor<2x2x!x>",
    ),
    "several rows": (
        *(False, "%a: tensor<2x4x!x>"),
        "%y = qnn.relu %a : (tensor<2x4x!x>) -> tensor<2x4x!x>",
        "tensor<2x4x!x>",
    ),
    "matmul": (
        *(False, "%a: tensor<1x1x!x>, %c: tensor<1x1x!x>"),
        "%y = qnn.matmul %a, %c : (tensor<1x1x!x>, tensor<1x1x!x>) -> tensor<1x1x!y>",
        "tensor<1x1x!y>",
    ),
    "matmul of sets": (
        *(True, f"%a: {XX}, %c: tensor<1x4x1x!x>"),
        f"%y = qnn.matmul %a, %c : ({XX}, tensor<1x4x1x!x>) -> tensor<1x1x1x!y>",
        "tensor<1x1x1x!y>",
    ),
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", COUNTS)
def test_whether_a_leading_one_counts_examples(name: str) -> None:
    """Where it does, examples that run together have the bits of each alone."""
    counts, arguments, line, result = COUNTS[name]
    whole = model(arguments, f"\n  {line}\n", f"%y : {result}")
    module = Module(whole, "exact", trainable=False)
    sets = [drawn(5, *spec.shape[int(counts) :]) for spec in whole.inputs]
    assert devices.Device(whole, "exact", {}, 1).counts_examples == counts
    found = module.stored(*sets)
    for index in range(5):
        alone = [x[index : index + 1] if counts else x[index] for x in sets]
        right = module.stored(*alone)
        assert torch.equal(found[index], right[0] if counts else right)


def test_rounding_against_the_definition() -> None:
    """For numbers from far below the range to far above, halves and NaN among them:
    the stored one, its real value, and gradients by the real number and the scale."""
    scale, zero_point, low, high = 0.5, 3, -4, 5
    real = np.arange(-8, 8, 0.125, np.float32)
    found = straight.store(torch.tensor(real), scale, zero_point, low, high).numpy()
    steps = real.astype(float) / scale
    whole = np.array([round(step) for step in steps]) + zero_point
    np.testing.assert_array_equal(found, np.clip(whole, low, high))
    special = torch.tensor([np.nan, np.inf, -np.inf])
    stored = straight.store(special, scale, zero_point, low, high)
    assert stored.tolist() == [zero_point, high, low]

    # The device may have other integers than the nearest ones.
    for moved in (-1, 0, 1):
        stored = np.clip(whole + moved, low, high)
        x = torch.tensor(real, requires_grad=True)
        step = torch.tensor(scale, requires_grad=True)
        y = straight.applied(
            *(straight.Rounded, x, torch.tensor(stored.astype(np.int8))),
            *(step, zero_point, low, high),
        )
        np.testing.assert_array_equal(y.detach().numpy(), (stored - zero_point) * scale)
        slopes = np.arange(1, len(real) + 1, dtype=np.float32) / 64
        y.backward(torch.tensor(slopes))
        passes = [
            low <= nearest <= high or low < code < high
            for nearest, code in zip(whole, stored, strict=True)
        ]
        np.testing.assert_array_equal(x.grad.numpy(), slopes * passes)
        by_scale = slopes * (stored - zero_point - steps * passes)
        assert step.grad.item() == pytest.approx(by_scale.sum(), rel=1e-5)
        assert step.grad.shape == ()


BYTES = TensorSpec("x", (3,), "uint8", (0.5,), (7,))
REAL = TensorSpec("r", (3,), "float32")
WHOLE = TensorSpec("n", (3,), "int32")


def test_inputs_are_stored_or_real() -> None:
    for given, stored, real in [
        ([-4.0, 0.25, 200.0], [0, 7, 255], [-3.5, 0.0, 124.0]),
        ([-3.75, 0.75, 0.5], [0, 9, 8], [-3.5, 1.0, 0.5]),
    ]:
        for type in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            found, values = quantizing.quantized_input(
                BYTES, torch.tensor(given, dtype=type)
            )
            assert (found.tolist(), values.tolist()) == (stored, real)
            assert found.dtype == torch.uint8
            assert values.dtype == (type if type.itemsize >= 4 else torch.float32)
    own = torch.tensor([0, 7, 255], dtype=torch.uint8)
    found, values = quantizing.quantized_input(BYTES, own)
    assert found is own
    assert values.tolist() == [-3.5, 0.0, 124.0]
    found, values = quantizing.quantized_input(REAL, torch.ones(3).half())
    assert (found.dtype, values.dtype) == (torch.float32, torch.float32)
    assert quantizing.real_input(REAL, torch.ones(3).double()).dtype == torch.float64


@pytest.mark.parametrize(
    ("spec", "type", "message"),
    [
        (
            BYTES,
            torch.int8,
            "input 'x' has type torch.int8; real values or stored ones ",
        ),
        (BYTES, torch.bool, "of torch.uint8 are expected"),
        (
            REAL,
            torch.int8,
            "input 'r' has type torch.int8, the model takes torch.float",
        ),
        (WHOLE, torch.float32, "type torch.float32, the model takes torch.int32"),
        (WHOLE, torch.int32, "type torch.int32, the model takes torch.int32"),
    ],
)
def test_inputs_of_other_types(spec: TensorSpec, type: Any, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        quantizing.quantized_input(spec, torch.zeros(3, dtype=type))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("largest", "type"),
    [(0, "float32"), (2**23 - 1, "float32"), (2**23, "float64"), (-(2**31), "float64")],
)
def test_parameters_have_digits_enough(largest: int, type: str) -> None:
    """Each stored bias comes back from its real value."""
    whole = pair()
    _, bias = weight_specs(whole.module)
    changed = [largest, 1]
    spec = replace(bias, stored=np.array(changed, np.int32))
    parameter = quantizing.initial_parameter(spec)
    assert parameter.dtype == getattr(torch, type)
    assert quantizing.stored_parameter(spec, parameter).tolist() == changed


def one() -> qlower.Model:
    """One input and one output."""
    x, y = "tensor<1x4x!x>", "tensor<1x2x!y>"
    types = f"({x}, tensor<2x4x!w>, tensor<2xi32>) -> {y}"
    linear = f"  %y = qnn.linear %a, %w, %b : {types}\n"
    return model(f"%a: {x}", LINEAR + linear, f"%y : {y}")


def test_a_function_of_arrays() -> None:
    """Its numbers and gradients are the module's, for some parameters or none; it takes
    what numpy makes of lists, and leaves the arrays alone."""
    module = Module(one(), "exact")
    run = arrays.numpy_function(module)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    real = torch.tensor(x, requires_grad=True)
    slopes = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    own = dict(module.named_parameters())
    y = module(real)
    y.backward(torch.tensor(slopes))
    values = {name: one.detach().numpy().copy() for name, one in own.items()}
    for names in ([], ["layers.y.weight"], [*own]):
        output, pullback = run({name: values[name] for name in names}, x.astype(float))
        np.testing.assert_array_equal(output, y.detach().numpy())
        for _ in range(2):
            by_name, by_input = pullback(slopes)
            assert [*by_name] == names
            np.testing.assert_array_equal(by_input, real.grad.numpy())
            for name in names:
                np.testing.assert_array_equal(by_name[name], own[name].grad.numpy())
    with pytest.raises(QlowerError) as caught:
        run({"zzz": x, "nosuch": x}, x)
    assert "the module has no parameter 'nosuch'" in str(caught.value)
    assert caught.value.help == "it has layers.y.weight, layers.y.bias"


OTHERS: list[tuple[Callable[[], qlower.Model], str]] = [
    (pair, "the model has 2 inputs and 2 outputs; one of each is needed"),
    (
        lambda: model(*COUNTS["add"][1:2], f"\n{COUNTS['add'][2]}\n", f"%y : {X}"),
        "the model has 2 inputs and 1 outputs",
    ),
    (
        lambda: model(f"%a: {X}", f"\n{COUNTS['relu'][2]}\n", f"%y, %y : {X}, {X}"),
        "the model has 1 inputs and 2 outputs",
    ),
]


@pytest.mark.parametrize("number", range(3))
def test_a_function_of_arrays_has_one_input_and_output(number: int) -> None:
    make, message = OTHERS[number]
    with pytest.raises(QlowerError, match=message):
        arrays.numpy_function(Module(make(), "exact"))


def test_scales_that_are_trained() -> None:
    """Another scale changes the stored values; it has to be positive."""
    module = Module(pair(), "exact", train_scales=True)
    assert {name: s.tolist() for name, s in module.scales.items()} == {
        "y:weight": pytest.approx([0.01, 0.02])
    }
    kept = module.to_model()
    with torch.no_grad():
        module.scales["y:weight"] *= 2
    changed = module.to_model()
    weight, _ = weight_specs(changed.module)
    assert weight.scales == pytest.approx((0.02, 0.04))
    assert weight.stored.tolist() == [[0, -1, 2, 45], [2, 3, -4, 4]]
    assert weight_specs(kept.module)[0].scales == pytest.approx((0.01, 0.02))
    for low, told in ((0.0, "0"), (-1.5, "-1.5")):
        with torch.no_grad():
            module.scales["y:weight"][1] = low
        message = f"a scale is {told}; scales have to be positive"
        with pytest.raises(QlowerError, match=message):
            module.stored(drawn(1, 4), drawn(1, 4))


@pytest.mark.parametrize("type", ["float32", "float64"])
def test_constants_that_are_not_trained(type: str) -> None:
    """One that is added is no parameter; it has the type of the inputs."""
    c = "qnn.constant dense<[[1, -20, 30, 127]]> : tensor<1x4xi8>"
    body = f"\n  %c = {c} -> {X}\n  %y = qnn.add %a, %c : ({X}, {X}) -> {X}\n"
    whole = model(f"%a: {X}", body, f"%y : {X}")
    module = Module(whole, "exact")
    assert [name for name, _ in module.named_parameters()] == []
    real = torch.tensor([[0.1, -1.0, 0.05, 0.25]], dtype=getattr(torch, type))
    real.requires_grad_()
    constant = (torch.tensor([[1, -20, 30, 127]]) - 3) * 0.05
    found = module.surrogate(real)
    assert found.dtype == real.dtype
    assert torch.allclose(found, (real + constant).to(real.dtype), atol=1e-6)
    (slope,) = torch.autograd.grad(module(real).sum(), real)
    assert slope.tolist() == [[1, 1, 1, 0]]  # 6.2 + 0.25 is beyond the range
    stored = quantizing.quantized_input(whole.inputs[0], real)[0].numpy()
    wanted = qlower.interpret(whole, stored, contract="exact")
    np.testing.assert_array_equal(module.stored(real).numpy(), wanted)
