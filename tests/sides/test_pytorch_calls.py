"""The calls of PyTorch that a layer becomes, letter by letter, without PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.model.entry import main_function
from qlower.model.layers import layers
from qlower.sides.systems import torch as side
from qlower.text.parsing import parse_module


def text_of(value: object) -> str:
    """An argument as a call has it; an array with its type."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.tolist()}".replace(" ", "")
    if isinstance(value, list | tuple):
        inner = ", ".join(map(text_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return str(value)


class Term:
    """A name of PyTorch, or what a call of it gives: its text."""

    def __init__(self, text: str, shape: Sequence[int] = ()) -> None:
        self.text, self.shape = text, tuple(shape)

    def __getattr__(self, name: str) -> Term:
        return Term(f"{self.text}.{name}", self.shape)

    def __call__(self, *values: object, **named: object) -> Term:
        words = [text_of(value) for value in values]
        words += [f"{name}={text_of(value)}" for name, value in named.items()]
        return Term(f"{self.text}({', '.join(words)})")

    def __str__(self) -> str:
        return self.text

    def dim(self) -> int:
        return len(self.shape)


class Torch(Term):
    """PyTorch with an engine."""

    def __init__(self, engine: str = "x86") -> None:
        super().__init__("torch")
        quantized = SimpleNamespace(engine=engine)
        self.backends = SimpleNamespace(quantized=quantized)
        for name in ("ops.quantized", "nn.functional"):
            first, last = name.split(".")
            setattr(self, first, SimpleNamespace(**{last: Term(last)}))


TYPES = """
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<u8:f32, 0.25:128>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!v = !quant.uniform<i8<-127:127>:f32, 0.125>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
"""
OPERANDS = {
    "x": "tensor<1x2x3x2x!a>",
    "y": "tensor<1x2x3x2x!a>",
    "m": "tensor<2x2x!a>",
    "n": "tensor<2x2x!b>",
    "q": "tensor<1x8x8x1x!a>",
    "r": "tensor<2x2xf32>",
    "t": "tensor<2x2x2x!a>",
}
IMAGE = "tensor<1x2x3x2x!b>"
CONSTANTS = """
  %w = qnn.constant dense<[[[[1, 2]]], [[[3, -4]]]]>
    : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!w>
  %g = qnn.constant dense<[[[[1]]], [[[3]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %k = qnn.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8> -> tensor<2x2x!v>
  %d = qnn.constant dense<[[[[1, 2]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!d>
  %i = arith.constant dense<[8, -4]> : tensor<2xi32>
  %f = arith.constant dense<[0.5, -1.5]> : tensor<2xf32>
"""
PER_CHANNEL = (
    "torch._make_per_channel_quantized_tensor(torch.from_numpy(int8{}), "
    "torch.tensor((0.5, 0.25), dtype=torch.float64), torch.tensor((0, 0)), 0)"
)
WEIGHTS = PER_CHANNEL.format("[[[[1]],[[2]]],[[[3]],[[-4]]]]")
GROUPED = PER_CHANNEL.format("[[[[1]]],[[[3]]]]")
DEEP = PER_CHANNEL.format("[[[[1]]],[[[2]]]]")
MATRIX = (
    "torch._make_per_tensor_quantized_tensor"
    "(torch.from_numpy(int8[[1,2],[3,-4]]), 0.125, 0)"
)
WINDOW = "stride = [1, 2], pad = [3, 4, 5, 6], dilation = [7, 8]"
SAME = "stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]"


def contraction(name: str, operands: str, options: str, types: str) -> str:
    return f"qnn.{name} {operands} {{{options}}} : {types}"


CONV = "(tensor<1x2x3x2x!a>, tensor<2x1x1x2x!w>"
LINEAR = "(tensor<2x2x!a>, tensor<2x2x!v>"
TO = "0.25, 128"

CALLS: dict[str, tuple[str, str]] = {
    "conv2d": (
        contraction("conv2d", "%x, %w, %f", SAME, f"{CONV}, tensor<2xf32>) -> {IMAGE}"),
        f"quantized.conv2d(x, quantized.conv2d_prepack({WEIGHTS}, "
        f"torch.from_numpy(float32[0.5,-1.5]), [1, 1], [0, 0], [1, 1], 1), {TO})",
    ),
    # a bias of 8 and -4 in steps of 0.5 times 0.5 and 0.25
    "conv2d with integers": (
        contraction(
            *("conv2d", "%x, %w, %i", SAME + ', activation = "relu"'),
            f"{CONV}, tensor<2xi32>) -> {IMAGE}",
        ),
        f"quantized.conv2d_relu(x, quantized.conv2d_prepack({WEIGHTS}, "
        f"torch.from_numpy(float32[2.0,-0.5]), [1, 1], [0, 0], [1, 1], 1), {TO})",
    ),
    "conv2d with groups": (
        contraction(
            *("conv2d", "%x, %g", SAME + ', groups = 2, activation = "relu6"'),
            f"(tensor<1x2x3x2x!a>, tensor<2x1x1x1x!w>) -> {IMAGE}",
        ),
        f"quantized.relu6(quantized.conv2d(x, quantized.conv2d_prepack({GROUPED}, "
        f"None, [1, 1], [0, 0], [1, 1], 2), {TO}).contiguous(), False)",
    ),
    "conv2d with a window": (
        contraction("conv2d", "%x, %w", WINDOW, f"{CONV}) -> tensor<1x9x7x2x!b>"),
        f"quantized.conv2d(x, quantized.conv2d_prepack({WEIGHTS}, None, [1, 2], "
        f"[3, 5], [7, 8], 1), {TO})",
    ),
    "depthwise_conv2d": (
        contraction(
            *("depthwise_conv2d", "%q, %d", SAME),
            "(tensor<1x8x8x1x!a>, tensor<1x1x1x2x!d>) -> tensor<1x8x8x2x!b>",
        ),
        f"quantized.conv2d(q, quantized.conv2d_prepack({DEEP}, None, [1, 1], "
        f"[0, 0], [1, 1], 8), {TO})",
    ),
    "linear": (
        contraction("linear", "%m, %k", "", f"{LINEAR}) -> tensor<2x2x!b>"),
        f"quantized.linear(m, quantized.linear_prepack({MATRIX}, None), {TO})",
    ),
    "linear with a bound": (
        contraction(
            *("linear", "%m, %k", 'activation = "relu_n1_to_1"'),
            f"{LINEAR}) -> tensor<2x2x!b>",
        ),
        f"quantized.clamp(quantized.linear(m, quantized.linear_prepack({MATRIX}, None)"
        f", {TO}).contiguous(), -1.0, 1.0)",
    ),
    "linear with relu": (
        contraction(
            *("linear", "%m, %k", 'activation = "relu"'),
            f"{LINEAR}) -> tensor<2x2x!b>",
        ),
        f"quantized.linear_relu(m, quantized.linear_prepack({MATRIX}, None), {TO})",
    ),
    "add": (
        "qnn.add %m, %n : (tensor<2x2x!a>, tensor<2x2x!b>) -> tensor<2x2x!b>",
        f"quantized.add(m, n, {TO})",
    ),
    "add with relu": (
        'qnn.add %n, %m {activation = "relu"}'
        " : (tensor<2x2x!b>, tensor<2x2x!a>) -> tensor<2x2x!a>",
        "quantized.add_relu(n, m, 0.5, -3)",
    ),
    "mul": (
        "qnn.mul %m, %n : (tensor<2x2x!a>, tensor<2x2x!b>) -> tensor<2x2x!b>",
        f"quantized.mul(m, n, {TO})",
    ),
    "mul with relu": (
        'qnn.mul %n, %m {activation = "relu"}'
        " : (tensor<2x2x!b>, tensor<2x2x!a>) -> tensor<2x2x!b>",
        f"quantized.mul_relu(n, m, {TO})",
    ),
    **{
        f"concat of images by {axis}": (
            f"qnn.concat %x, %y {{axis = {axis}}}"
            f" : (tensor<1x2x3x2x!a>, tensor<1x2x3x2x!a>) -> tensor<{shape}x!b>",
            f"quantized.cat([x, y], {there}, {TO})",
        )
        for axis, there, shape in (
            *((0, 0, "2x2x3x2"), (1, 2, "1x4x3x2")),
            *((2, 3, "1x2x6x2"), (3, 1, "1x2x3x4")),
        )
    },
    "concat": (
        "qnn.concat %m, %n {axis = 1}"
        " : (tensor<2x2x!a>, tensor<2x2x!b>) -> tensor<2x4x!b>",
        f"quantized.cat([m, n], 1, {TO})",
    ),
    "avg_pool2d": (
        "qnn.avg_pool2d %q {kernel = [2, 3], stride = [4, 5], pad = [1, 1, 2, 2],"
        " count_include_pad = true} : (tensor<1x8x8x1x!a>) -> tensor<1x3x2x1x!b>",
        "functional.avg_pool2d(q, (2, 3), (4, 5), (1, 2), count_include_pad=True)",
    ),
    "avg_pool2d without its padding": (
        "qnn.avg_pool2d %q {kernel = [8, 8], stride = [1, 1], pad = [0, 0, 0, 0]}"
        " : (tensor<1x8x8x1x!a>) -> tensor<1x1x1x1x!b>",
        "functional.avg_pool2d(q, (8, 8), (1, 1), (0, 0), count_include_pad=False)",
    ),
    "max_pool2d": (
        "qnn.max_pool2d %q {kernel = [2, 3], stride = [4, 5], pad = [1, 1, 2, 2]}"
        " : (tensor<1x8x8x1x!a>) -> tensor<1x3x2x1x!a>",
        "functional.max_pool2d(q, (2, 3), (4, 5), (1, 2))",
    ),
    "adaptive_avg_pool2d": (
        "qnn.adaptive_avg_pool2d %q : (tensor<1x8x8x1x!a>) -> tensor<1x3x5x1x!b>",
        "functional.adaptive_avg_pool2d(q, (3, 5))",
    ),
    "mean": (
        "qnn.mean %x {axes = [1, 2]} : (tensor<1x2x3x2x!a>) -> tensor<1x2x!b>",
        "functional.adaptive_avg_pool2d(x, 1)",
    ),
    "quantize": (
        "qnn.quantize %r : (tensor<2x2xf32>) -> tensor<2x2x!b>",
        f"torch.quantize_per_tensor(r, {TO}, torch.quint8)",
    ),
    "dequantize": (
        "qnn.dequantize %m : (tensor<2x2x!a>) -> tensor<2x2xf32>",
        "m.dequantize()",
    ),
    **{
        name: (f"qnn.{name} %m{options} : (tensor<2x2x!a>) -> tensor<2x2x!b>", call)
        for name, options, call in (
            ("sigmoid", "", "torch.sigmoid(m)"),
            ("tanh", "", "torch.tanh(m)"),
            ("hard_swish", "", f"quantized.hardswish(m, {TO})"),
            ("elu", "", f"quantized.elu(m, {TO})"),
            ("relu", "", "torch.relu(m)"),
            ("relu6", "", "quantized.relu6(m.contiguous(), False)"),
            (
                *("leaky_relu", " {alpha = 0.25 : f32}"),
                f"quantized.leaky_relu(m, 0.25, False, {TO})",
            ),
            (
                *("clamp", " {min = -1.0, max = 1.25}"),
                "quantized.clamp(m.contiguous(), -1.0, 1.25)",
            ),
        )
    },
    "reshape of an image": (
        "qnn.reshape %x : (tensor<1x2x3x2x!a>) -> tensor<3x4x!a>",
        "x.permute(0, 2, 3, 1).reshape((3, 4))",
    ),
    "reshape": (
        "qnn.reshape %t : (tensor<2x2x2x!a>) -> tensor<2x4x!a>",
        "t.reshape((2, 4))",
    ),
}


def operation(text: str) -> tuple[Any, list[str]]:
    """A module of one operation, and its operands' names."""
    result = text.rpartition(" -> ")[2]
    arguments = ", ".join(f"%{name}: {type}" for name, type in OPERANDS.items())
    module = parse_module(
        f"{TYPES}func.func @main({arguments}) -> {result} {{{CONSTANTS}"
        f'  %z = {text} loc("z")\n  return %z : {result}\n}}'
    )
    (op,) = (op for op in layers(module) if op.name == text.split()[0])
    values: list[Any] = list(main_function(module).body.block.args)
    names = list(OPERANDS)
    return op, [names[values.index(v)] for v in op.operands if v in values]


def terms(names: Sequence[str]) -> list[Term]:
    found: list[Term] = []
    for name in names:
        shape = [
            int(n) for n in OPERANDS[name].split("<")[1].split("x")[:-1] if n[0] != "!"
        ]
        found.append(Term(name, shape))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_of_a_layer(name: str) -> None:
    text, call = CALLS[name]
    op, names = operation(text)
    assert side.evaluate(Torch(), op, terms(names)).text == call


def test_qnnpack_has_a_mean_of_its_own() -> None:
    op, names = operation(CALLS["mean"][0])
    found = side.evaluate(Torch("qnnpack"), op, terms(names))
    assert found.text == "x.mean((2, 3), keepdim=True)"


REFUSED = {
    "sum": "qnn.sum %x {axes = [1, 3]} : (tensor<1x2x3x2x!a>) -> tensor<1x3x!b>",
    "reshape": "qnn.reshape %m : (tensor<2x2x!a>) -> tensor<1x2x2x1x!a>",
}


@pytest.mark.parametrize("name", REFUSED)
def test_operations_that_pytorch_has_not(name: str) -> None:
    op, names = operation(REFUSED[name])
    values = dict(zip(op.operands, terms(names), strict=True))
    with pytest.raises(QlowerError) as caught:
        side.evaluate_all(Torch(), [op], values)
    assert caught.value.message == (
        f"PyTorch refuses qnn.{name}: it has no quantized operator like it"
    )


TWO = (
    TYPES
    + """
func.func @main(%x: tensor<2x2x!a>, %r: tensor<2x2xf32>) -> tensor<2x2x!a> {
  %c = arith.constant dense<1> : tensor<2xi32>
  %1 = qnn.relu %x : (tensor<2x2x!a>) -> tensor<2x2x!a> loc("first")
  %2 = qnn.quantize %r : (tensor<2x2xf32>) -> tensor<2x2x!b>
  %3 = qnn.add %1, %2 : (tensor<2x2x!a>, tensor<2x2x!b>) -> tensor<2x2x!a> loc("last")
  return %3 : tensor<2x2x!a>
}"""
)


def run(
    monkeypatch: pytest.MonkeyPatch, engine: str, evaluate: Any
) -> tuple[Torch, Mapping[str, Any]]:
    torch = Torch("own")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(side, "evaluate", evaluate)
    monkeypatch.setattr(side, "stored_of", lambda y: f"stored {y}")
    monkeypatch.setattr(side, "tensor_of", lambda torch, array, type: f"{array} {type}")
    prepared = side.prepare(named(parse_module(TWO), None), engine)
    assert torch.backends.quantized.engine == "own"
    return torch, prepared([1, 2])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("engine", "used"), [("", "own"), ("qnnpack", "qnnpack")])
def test_layers_run_in_turn_by_an_engine(
    engine: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of layers that have names; the engine is the one before in the end."""
    seen: list[tuple[str, str, list[str]]] = []

    def evaluate(torch: Torch, op: Any, xs: list[str]) -> str:
        seen.append((torch.backends.quantized.engine, op.name, xs))
        return f"y{len(seen)}"

    torch, found = run(monkeypatch, engine, evaluate)
    assert {name: found[name] for name in ("first", "last")} == {
        "first": "stored y1",
        "last": "stored y3",
    }
    x, r = "1 tensor<2x2x!quant.uniform<i8:f32, 5.000000e-01:-3>>", "2 tensor<2x2xf32>"
    assert seen == [
        (used, "qnn.relu", [x]),
        (used, "qnn.quantize", [r]),
        (used, "qnn.add", ["y1", "y2"]),
    ]
    assert torch.backends.quantized.engine == "own"


@pytest.mark.parametrize("error", [RuntimeError, TypeError, NotImplementedError])
def test_what_pytorch_refuses(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a line, of the operation; the engine is the one before."""
    engines: list[Torch] = []

    def evaluate(torch: Torch, op: Any, xs: list[str]) -> None:
        engines.append(torch)
        raise error("\n no such kernel\n more")

    with pytest.raises(QlowerError) as caught:
        run(monkeypatch, "fbgemm", evaluate)
    assert caught.value.message == "PyTorch refuses qnn.relu: no such kernel"
    assert caught.value.location is not None
    assert engines[0].backends.quantized.engine == "own"

    def fail(torch: Torch, op: Any, xs: list[str]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(monkeypatch, "fbgemm", fail)


def test_images_have_their_channels_first_in_pytorch() -> None:
    """And last again in what is stored; a tensor of numbers stays as it is."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    op, _ = operation(CALLS["add"][0])
    quantized = op.operands[0].type
    image = np.arange(12, dtype=np.int8).reshape(1, 2, 3, 2)
    import_module("warnings").simplefilter("ignore")  # they are deprecated
    x = side.tensor_of(torch, image, quantized)
    assert tuple(x.shape) == (1, 2, 2, 3)
    assert (x.q_scale(), x.q_zero_point(), x.dtype) == (0.5, -3, torch.qint8)
    assert x.int_repr().tolist() == image.transpose(0, 3, 1, 2).tolist()
    assert not x.is_contiguous()
    np.testing.assert_array_equal(side.stored_of(x), image, strict=True)
    assert side.stored_of(x).flags.c_contiguous
    matrix = side.tensor_of(torch, image.reshape(3, 4).T, quantized)
    np.testing.assert_array_equal(side.stored_of(matrix), image.reshape(3, 4).T)
    operand, _ = operation(CALLS["quantize"][0])
    real = side.tensor_of(torch, image.astype(np.float32), operand.operands[0].type)
    assert not real.is_quantized
    assert tuple(real.shape) == (1, 2, 3, 2)
    turned = side.stored_of(real)
    np.testing.assert_array_equal(turned, image.transpose(0, 2, 3, 1))
