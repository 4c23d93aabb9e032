"""Operators of real numbers that ONNX Runtime fuses, or leaves, and what becomes of
them there and in qlower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qlower.frontends.graph.nodes import Graph, hoist_constants
from qlower.frontends.import_options import X86
from qlower.frontends.onnx.fusing import fuse
from qlower.frontends.onnx.reader import read_model

from .onnx_builder import OnnxBuilder
from .onnx_models import optimized_graph

SHAPE = (2, 3, 8)
BEFORE_AXES_ARE_OPERANDS, SINCE = 17, 18


class Reals(OnnxBuilder):
    """Operators of real numbers on rows of eight."""

    def __init__(self, opset: int = BEFORE_AXES_ARE_OPERANDS) -> None:
        super().__init__(opset)
        self.random = np.random.default_rng(1)

    def value(self, shape: Sequence[int] = SHAPE) -> str:
        return self.input(f"x{len(self.inputs)}", shape)

    def row(self, *shape: int, kind: str = "constant") -> str:
        if kind != "constant":
            given = self.input(f"x{len(self.inputs)}", shape or SHAPE[-1:])
            return given if kind == "input" else self("Exp", given)
        values = self.random.normal(size=shape or SHAPE[-1:])
        return self.constant(values.astype(np.float32))

    def __call__(self, kind: str, *operands: str | float, **attributes: Any) -> str:
        names = [
            operand if isinstance(operand, str) else self.constant(operand)
            for operand in operands
        ]
        return self.node(kind, names, **attributes)

    def mean(self, value: str, axis: int = -1, keepdims: int = 1) -> str:
        if self.opset < SINCE:
            return self("ReduceMean", value, axes=[axis], keepdims=keepdims)
        axes = self.constant(np.array([axis], np.int64))
        return self("ReduceMean", value, axes, keepdims=keepdims)


def gelu(
    build: Reals,
    given: str = "",
    *,
    divides: bool = True,
    half: str = "first",
    turned: bool = False,
    numbers: tuple[float, float, float] = (1.4142135, 1.0, 0.5),
    returned: bool = False,
) -> str:
    root, one, part = numbers
    x = given or build.value()

    def binary(kind: str, one: str | float, other: str | float) -> str:
        return build(kind, other, one) if turned else build(kind, one, other)

    scaled = build("Div", x, root) if divides else binary("Mul", x, 1 / root)
    factor = binary("Add", build("Erf", scaled), one)
    if returned:
        build.output(scaled)
    if half == "first":
        return binary("Mul", binary("Mul", x, part), factor)
    if half == "last":
        return binary("Mul", binary("Mul", x, factor), part)
    return binary("Mul", x, factor)


def quick_gelu(
    build: Reals, alpha: float | None, *, turned: bool = False, of_other: bool = False
) -> str:
    x = build.value()
    scaled = x
    if alpha is not None:
        scaled = build("Mul", alpha, x) if turned else build("Mul", x, alpha)
    operands = [build.value() if of_other else x, build("Sigmoid", scaled)]
    return build("Mul", *(operands[::-1] if turned else operands))


def normalized(
    build: Reals,
    given: str = "",
    *,
    axis: int = -1,
    keepdims: int = 1,
    power: float = 2.0,
    epsilon: float = 1e-6,
    turned: bool = False,
    factor: Sequence[int] = SHAPE[-1:],
    offset: Sequence[int] | None = SHAPE[-1:],
    centred: bool = True,
    distances: int = 1,
    seen: str = "",
    rows: str = "constant",
    swapped: str = "",
    epsilon_of: str = "",
    exponent: Sequence[int] = (),
) -> str:
    """A layer's rows by their deviation, or by the root of their mean square."""
    x = given or build.value()
    mean = above = below = x
    if centred:
        mean = build.mean(x, axis, keepdims)
        operands = (mean, x) if swapped == "Sub" else (x, mean)
        above = below = build("Sub", *operands)
        if distances == 2:
            below = build("Sub", x, mean)
    raised = below, build.constant(np.full(exponent, power, np.float32))
    square = build("Pow", *(raised[::-1] if swapped == "Pow" else raised))
    square = build.mean(square, axis, keepdims)
    small: str | float = epsilon
    if epsilon_of == "input":
        small = build.input("epsilon", ())
    elif epsilon_of == "row":
        small = build.constant(np.linspace(1, 2, 8, dtype=np.float32))
    moved = build("Add", *((small, square) if turned else (square, small)))
    parts = above, build("Sqrt", moved)
    whole = build("Div", *(parts[::-1] if swapped == "Div" else parts))
    values = {"mean": mean, "above": above, "below": below, "square": square}
    if seen:
        word, how = seen.split()
        build.output(values[word] if how == "returned" else build("Exp", values[word]))
    row = build.row(*factor, kind=rows)
    whole = build("Mul", *((row, whole) if turned else (whole, row)))
    if offset is None:
        return whole
    row = build.row(*offset, kind=rows)
    return build("Add", *((row, whole) if turned else (whole, row)))


def skipped(
    build: Reals,
    *biased: str,
    axis: int | None = None,
    epsilon: float | None = None,
    row: Sequence[int] = (),
) -> str:
    """A normalization of a sum, whose operands may have a bias, right or left."""
    operands: list[str] = []
    for number in range(2):
        operand = build("Exp", build.value())
        if number < len(biased) and biased[number]:
            pair = [operand, build.row()]
            operand = build("Add", *(pair if biased[number] == "right" else pair[::-1]))
        operands.append(operand)
    given = {"axis": axis, "epsilon": epsilon}
    attributes = {name: value for name, value in given.items() if value is not None}
    total = build("Add", *operands)
    rows = build.row(*row), build.row(*row)
    return build("LayerNormalization", total, *rows, **attributes)


def scaled_product(
    build: Reals, *kinds: str, turned: bool = False, factor: Any = 0.3
) -> str:
    """A product whose operands and result are multiplied or divided by a number."""
    one, other, result = (*kinds, "", "", "")[:3]

    def scaled(kind: str, value: str) -> str:
        if not kind:
            return value
        return build(kind, *((factor, value) if turned else (value, factor)))

    operands = (
        scaled(kind, build.value(shape))
        for kind, shape in ((one, (2, 3, 8)), (other, (2, 8, 5)))
    )
    return scaled(result, build("MatMul", *operands))


def number(build: Reals, value: float, shape: Sequence[int]) -> str:
    return build.constant(np.full(shape, value, np.float32))


def gelu_by(build: Reals, shape: Sequence[int]) -> str:
    """A Gelu whose half is a number of some shape."""
    x = build.value()
    factor = build("Add", build("Erf", build("Div", x, 1.4142135)), 1.0)
    return build("Mul", build("Mul", x, number(build, 0.5, shape)), factor)


def quick_gelu_by(build: Reals, shape: Sequence[int]) -> str:
    x = build.value()
    return build(
        "Mul", x, build("Sigmoid", build("Mul", x, number(build, 1.702, shape)))
    )


def product_by(build: Reals, shape: Sequence[int], *, is_matrix: bool) -> str:
    """A product of matrices, or of stacks of them, times a number of some shape."""
    sizes = (3, 8) if is_matrix else SHAPE
    product = build("MatMul", build.value(sizes), build.value((8, 5)))
    return build("Mul", product, number(build, 0.3, shape))


def neutral(
    build: Reals, kind: str, value: float, place: int, *, given: bool = False
) -> str:
    """An operator that changes nothing if the number is on the right."""
    x = build.value() if given else build("Exp", build.value())
    return build("Exp", build(kind, *((x, value) if place else (value, x))))


def squared(build: Reals, value: str) -> str:
    return build("Mul", value, value)


CASES: Mapping[str, Callable[[Reals], str]] = {
    "gelu": gelu,
    "gelu, half last": lambda b: gelu(b, half="last"),
    "gelu without half": lambda b: gelu(b, half=""),
    "gelu by products": lambda b: gelu(b, divides=False),
    "gelu turned": lambda b: gelu(b, divides=False, turned=True),
    "gelu turned, half last": lambda b: gelu(b, half="last", turned=True),
    **{
        f"gelu of {numbers}, half {half}": lambda b, n=numbers, h=half: gelu(
            b, numbers=n, half=h
        )
        for numbers in ((1.5, 1.0, 0.5), (1.4142135, 1.1, 0.5), (1.4142135, 1.0, 0.4))
        for half in ("first", "last")
    },
    **{
        f"gelu of {noun}, half {half}": lambda b, k=kind, h=half: gelu(
            b, b(k, b.value(), 0.3), half=h
        )
        for noun, kind in (("a product", "Mul"), ("a sum", "Add"))
        for half in ("first", "last")
    },
    "gelu, half of it seen": lambda b: gelu(b, returned=True),
    "silu": lambda b: quick_gelu(b, None),
    "silu turned": lambda b: quick_gelu(b, None, turned=True),
    "quick gelu": lambda b: quick_gelu(b, 1.702),
    "quick gelu turned": lambda b: quick_gelu(b, 1.702, turned=True),
    "quick gelu of another": lambda b: quick_gelu(b, 1.702, of_other=True),
    "sigmoid by another": lambda b: quick_gelu(b, None, of_other=True),
    "norm": normalized,
    "norm turned": lambda b: normalized(b, turned=True),
    "norm of two distances": lambda b: normalized(b, distances=2),
    "norm along another axis": lambda b: normalized(b, axis=1, factor=(8,)),
    "norm along the last axis by its number": lambda b: normalized(b, axis=2),
    "norm of images along the second axis": lambda b: normalized(b, axis=1),
    "norm by a number": lambda b: normalized(b, factor=(1,), offset=(1,)),
    "norm by rows of two lengths": lambda b: normalized(b, offset=(1,)),
    "norm by inputs": lambda b: normalized(b, rows="input"),
    "root mean square by an input": lambda b: normalized(
        b, centred=False, offset=None, rows="input"
    ),
    "root mean square along the last axis by its number": lambda b: normalized(
        b, axis=2, centred=False, offset=None
    ),
    **{
        f"norm with the operands of {kind} swapped": lambda b, k=kind: normalized(
            b, swapped=k
        )
        for kind in ("Sub", "Pow", "Div")
    },
    "norm of two distances, one swapped": lambda b: normalized(
        b, distances=2, swapped="Sub"
    ),
    "root mean square with the operands of Div swapped": lambda b: normalized(
        b, centred=False, offset=None, swapped="Div"
    ),
    **{
        f"{name} with {epsilon} for epsilon{' turned' * turned}": (
            lambda b, c=centred, e=epsilon, t=turned: normalized(
                b, centred=c, offset=SHAPE[-1:] if c else None, epsilon_of=e, turned=t
            )
        )
        for name, centred in (("norm", True), ("root mean square", False))
        for epsilon in ("input", "row")
        for turned in (False, True)
    },
    "norm without an epsilon": lambda b: normalized(b, epsilon=0.0),
    "root mean square with a square of dimensions": lambda b: normalized(
        b, centred=False, offset=None, exponent=(1, 1)
    ),
    "norm of cubes": lambda b: normalized(b, power=3.0),
    "norm without an offset": lambda b: normalized(b, offset=None),
    "norm by a matrix": lambda b: normalized(b, factor=(3, 8)),
    "norm with a matrix": lambda b: normalized(b, offset=(3, 8)),
    **{
        f"norm whose {seen}": lambda b, s=seen: normalized(b, seen=s, distances=2)
        for seen in (*("mean returned", "mean taken", "above returned", "above taken"),)
    },
    "norm whose distance is taken": lambda b: normalized(b, seen="above taken"),
    "norm whose distance is returned": lambda b: normalized(b, seen="above returned"),
    "root mean square": lambda b: normalized(b, centred=False, offset=None),
    "root mean square whose square is taken": lambda b: normalized(
        b, centred=False, offset=None, seen="square taken"
    ),
    "root mean cube": lambda b: normalized(b, centred=False, offset=None, power=3.0),
    "root mean square turned": lambda b: normalized(
        b, centred=False, offset=None, turned=True
    ),
    "root mean square with an offset": lambda b: normalized(b, centred=False),
    "root mean square by a matrix": lambda b: normalized(
        b, centred=False, offset=None, factor=(3, 8)
    ),
    "sum": skipped,
    "sum with an epsilon": lambda b: skipped(b, epsilon=1e-3),
    "sum along the last axis": lambda b: skipped(b, axis=-1),
    "sum along the last axis by its number": lambda b: skipped(b, axis=2),
    "sum along the second axis": lambda b: skipped(b, axis=1),
    "sum along two axes": lambda b: skipped(b, axis=1, row=(3, 8)),
    "sum along two axes by numbers": lambda b: skipped(b, axis=1, row=(1, 1)),
    **{
        f"sum of biased {' and '.join(biased)}": lambda b, s=biased: skipped(b, *s)
        for biased in (
            ("right",),
            ("left",),
            ("", "right"),
            ("", "left"),
            ("right", "left"),
            ("right", "right"),
        )
    },
    **{
        f"product {'-'.join(kinds)}{' turned' * turned}": lambda b, k=kinds, t=turned: (
            scaled_product(b, *k, turned=t)
        )
        for kinds in (
            (),
            ("Mul",),
            ("", "Mul"),
            ("Div",),
            ("", "", "Mul"),
            ("", "", "Div"),
            ("Mul", "Div", "Mul"),
            ("Mul", "Mul"),
        )
        for turned in (False, True)
    },
    "product by several numbers": lambda b: b(
        "Div", b("Mul", scaled_product(b, "Mul", "Div"), 0.25), 3.0
    ),
    **{
        f"product of {noun} by a number of shape {shape}": (
            lambda b, s=shape, m=is_matrix: product_by(b, s, is_matrix=m)
        )
        for noun, is_matrix in (("matrices", True), ("stacks", False))
        for shape in ((1,), (1, 1), (1, 1, 1))
    },
    **{
        f"{name} by a number of shape {shape}": lambda b, f=function, s=shape: f(b, s)
        for name, function in (("gelu", gelu_by), ("quick gelu", quick_gelu_by))
        for shape in ((1,), (1, 1), (1, 1, 1))
    },
    **{
        f"{kind} of {number} at {place}{' of an input' * given}": (
            lambda b, k=kind, n=number, p=place, g=given: neutral(b, k, n, p, given=g)
        )
        for kind, number in (("Add", 0.0), ("Sub", 0.0), ("Mul", 1.0), ("Div", 1.0))
        for place in (0, 1)
        for given in (False, True)
    },
    "sum of 0 in more dimensions": lambda b: b(
        "Exp", b("Add", b("Exp", b.value((8,))), b.constant(np.zeros((1, 1), "f4")))
    ),
    "product of -0": lambda b: b("Exp", b("Add", b("Exp", b.value()), -0.0)),
    "reciprocal times": lambda b: b("Mul", b("Div", 1.0, b.value()), b.value()),
    "reciprocal times, turned": lambda b: b("Mul", b.value(), b("Div", 1.0, b.value())),
    "half over it times": lambda b: b("Mul", b("Div", 0.5, b.value()), b.value()),
    "reciprocal plus": lambda b: b("Add", b("Div", 1.0, b.value()), b.value()),
    "reciprocal squared": lambda b: squared(b, b("Div", 1.0, b.value())),
    "product by a row": lambda b: scaled_product(
        b, "Mul", factor=np.full(8, 0.3, np.float32)
    ),
}


Node = tuple[str, Sequence[str], Sequence[str], Mapping[str, Any]]
"""The operator, operands, results and attributes."""


def results(
    nodes: Sequence[Node], constants: Mapping[str, Any], outputs: Sequence[str]
) -> Mapping[str, object]:
    """How each output is computed: operators and their numbers around the operands,
    which are such again, inputs by their names, or the elements of constants."""
    makers = {name: node for node in nodes for name in node[2]}

    def value(name: str) -> object:
        if name in constants:
            return constants[name].tolist()
        if name not in makers:
            return name
        operator, operands, _, attributes = makers[name]
        numbers = {
            name: np.float32(number)
            for name, number in attributes.items()
            if name in ("alpha", "epsilon")
        }
        return operator, numbers, *map(value, operands)

    return {name: value(name) for name in outputs}


def fused(path: Path) -> Mapping[str, object]:
    model = read_model(path.read_bytes(), str(path), None)
    graph = Graph(model, [port.name for port in model.outputs])
    hoist_constants(graph, list(graph.nodes))
    fuse(graph, X86)
    nodes = [(n.operator, n.inputs, n.outputs, n.attributes) for n in graph.nodes]
    constants = {name: graph.array(name) for name in graph.constants}
    return results(nodes, constants, graph.outputs)


def fused_by_onnx_runtime(path: Path, folder: Path) -> Mapping[str, object]:
    graph = optimized_graph(path, folder, {}).graph
    to_array = OnnxBuilder().numpy.to_array
    nodes = [
        (
            f"{node.domain}.{node.op_type}".lstrip("."),
            list(node.input),
            list(node.output),
            {one.name: one.f for one in node.attribute},
        )
        for node in graph.node
    ]
    constants = {one.name: to_array(one) for one in graph.initializer}
    return results(nodes, constants, [one.name for one in graph.output])
