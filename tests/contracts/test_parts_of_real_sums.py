"""What rules of real sums are given of a layer, and where its sums start."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.dialects import qnn
from qlower.operators.orders import ORDERS
from qlower.text.parsing import parse_module

sums: Any = import_module("qlower.contracts.real_sums")

TYPES = {
    "conv": (
        *("tensor<1x5x4x2xf32>", "tensor<6x3x2x1xf32>", "tensor<6xf32>"),
        "tensor<1x2x3x6xf32>",
    ),
    "linear": (
        *("tensor<3x8xf32>", "tensor<5x8xf32>", "tensor<5xf32>", "tensor<3x5xf32>"),
    ),
    "square": (
        *("tensor<3x8xf32>", "tensor<8x5xf32>", "tensor<5xf32>", "tensor<3x5xf32>"),
    ),
    "matmul": (
        *("tensor<2x3x8xf32>", "tensor<2x8x5xf32>", "tensor<5xf32>"),
        "tensor<2x3x5xf32>",
    ),
}
WINDOW = "stride = [2, 1], pad = [1, 0, 0, 0], dilation = [1, 1], groups = 2"
NAMES = {"conv": "conv2d", "linear": "linear", "square": "matmul", "matmul": "matmul"}


def layer(
    kind: str, flags: str = "", *, bias: str | None = None, constant: bool = False
) -> Any:
    """A layer of a kind; its weights are an argument or a constant."""
    x, w, b, y = TYPES[kind]
    arguments, operands, types = [f"%x: {x}"], ["%x", "%w"], [x, w]
    made = f"  %w = arith.constant dense<1.0> : {w}\n" if constant else ""
    arguments += [] if constant else [f"%w: {w}"]
    if bias is not None:
        b = bias or b
        arguments, operands, types = (
            *([*arguments, f"%b: {b}"], [*operands, "%b"], [*types, b]),
        )
    given = ", ".join(filter(None, [WINDOW if kind == "conv" else "", flags]))
    text = (
        f"func.func @main({', '.join(arguments)}) -> {y} {{\n{made}"
        f"  %y = qnn.real_{NAMES[kind]} {', '.join(operands)} {{{given}}} : "
        f"({', '.join(types)}) -> {y}\n  return %y : {y}\n}}"
    )
    return next(op for op in parse_module(text).walk() if isinstance(op, qnn.RealOp))


SIZES = ("place_count", "group_count", "group_channels", "depth")


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("conv", (6, 2, 3, 6)),
        ("linear", (3, 1, 5, 8)),
        ("square", (3, 1, 5, 8)),
        ("matmul", (3, 1, 5, 8)),
    ],
)
def test_sizes(kind: str, sizes: tuple[int, ...]) -> None:
    found = vars(sums)["_sizes"](layer(kind))
    assert tuple(int(found[name]) for name in SIZES) == sizes
    assert all(found[name].dtype == np.int32 for name in SIZES)
    if kind == "conv":
        assert [int(found[f"kernel_{side}"]) for side in ("height", "width")] == [3, 2]
        assert [int(found[f"stride_{side}"]) for side in ("height", "width")] == [2, 1]
        assert int(found["pad_top"]) == 1
    else:
        assert "kernel_height" not in found


@pytest.mark.parametrize(
    ("kind", "constant", "flags", "set_flags"),
    [
        ("linear", False, "", set[str]()),
        ("linear", True, "", {"constant_weights"}),
        ("linear", True, "computed_weights", set[str]()),
        ("linear", False, "scaled", {"is_scaled"}),
        ("linear", True, "narrow_weights", {"constant_weights", "narrow_weights"}),
        ("square", True, "", {"constant_weights"}),
        ("square", False, "", set[str]()),
        ("matmul", True, "", set[str]()),
        ("conv", True, "", {"constant_weights"}),
    ],
)
def test_flags(kind: str, constant: bool, flags: str, set_flags: set[str]) -> None:
    """Weights are constant in one matrix, unless the model says that it computes
    them."""
    found = vars(sums)["_sizes"](layer(kind, flags, constant=constant))
    names = ("constant_weights", "is_scaled", "narrow_weights")
    assert {name for name in names if found[name]} == set_flags


def rule(*products: str, values: tuple[str, ...] = ()) -> Any:
    """A contract whose every rule is this one."""
    one = SimpleNamespace(products=products, values=values)
    return SimpleNamespace(rule=lambda _: one)


def test_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only one, or the one that is chosen by the sizes."""
    op = layer("linear")
    monkeypatch.setattr(sums, "chosen_product", lambda *given: given)
    monkeypatch.setattr(sums, "_sizes", lambda one: ("sizes", one))
    assert sums.order_of(rule("sequential"), op) == "sequential"
    for several in (rule("a", "b"), rule()):
        chosen = sums.order_of(several, op)
        assert chosen == (several, several.rule(""), ("sizes", op), op)
    for order, own in ORDERS.items():
        ordered = sums.ordered_products(order, op)
        assert ordered == op.products.in_order(own.loops)


@pytest.mark.parametrize(
    ("bias", "asks", "has", "starts"),
    [
        (None, True, False, False),
        (None, False, False, False),
        ("", True, True, False),
        ("", False, True, True),
        ("tensor<3x5xf32>", True, True, True),
        ("tensor<3x5xf32>", False, True, True),
    ],
)
def test_where_sums_start(
    bias: str | None, asks: bool, has: bool, starts: bool
) -> None:
    """From a bias that the rule doesn't ask for, or one of each element."""
    op = layer("linear", bias=bias)
    contract = rule(values=("sum", "real_bias") if asks else ("sum",))
    assert sums.has_bias(op) is has
    assert sums.starts_from_bias(contract, op) is starts


@pytest.mark.parametrize(
    ("activation", "low", "high"),
    [(None, -np.inf, np.inf), ("relu", 0, np.inf), ("relu6", 0, 6)],
)
def test_bounds(activation: str | None, low: float, high: float) -> None:
    op = layer("linear", f'activation = "{activation}"' if activation else "")
    found = sums.real_values(op)
    assert {name: value.dtype.name for name, value in found.items()} == dict.fromkeys(
        ("activation_min", "activation_max", "real_bias"), "float32"
    )
    assert (found["activation_min"], found["activation_max"]) == (low, high)
    assert found["real_bias"] == 0
    assert np.signbit(found["real_bias"])
