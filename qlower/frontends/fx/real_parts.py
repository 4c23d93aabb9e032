"""Parts of a module that stay real, as the calls of ATen that PyTorch makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from ..graph.nodes import DTYPES_BY_NAME
from ..pt2.program import Argument, Call, Tensor, Unread
from ..pt2.reader import TYPES
from .faults import remark_on_steps
from .traced import FxNode, TorchTensor

DTYPES = {
    DTYPES_BY_NAME[name]: number
    for number, (name, _) in TYPES.items()
    if name in DTYPES_BY_NAME
}
"""The numbers of element types in the schema of exported programs."""

ROUNDED = frozenset(
    (
        *("bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        *("conv_transpose3d", "einsum", "exp", "gelu", "group_norm", "instance_norm"),
        *("gru", "layer_norm", "linear", "log_softmax", "lstm", "matmul", "rnn_relu"),
        *("rnn_tanh", "softmax", "tanh"),
        "scaled_dot_product_attention",
    )
)
"""Operators with steps of PyTorch's libraries, which are their own."""

Keep = Callable[[str, TorchTensor], None]


class Parameter(Protocol):
    """An argument in an operator's schema."""

    name: str


class Schema(Protocol):
    arguments: Sequence[Parameter]


class Operator(Protocol):
    """An operator of ATen, with its types."""

    _schema: Schema


def is_plain(module: object) -> bool:
    """Return whether a module has no stored weights, and one result if traced."""
    kind = type(module)
    return ".quantized" not in kind.__module__ and kind.__name__ != "AdaptiveMaxPool2d"


def applied(
    node: FxNode,
    module: object | None,
    value_of: Callable[[FxNode], tuple[str, object]],
    names: Sequence[str],
) -> Callable[..., object]:
    """Return a node as a function of those of its operands that are tensors.

    `value_of` gives the name and the value of another node, and `names` are those of
    the tensors.
    """

    def function(*tensors: object) -> object:
        taken = dict(zip(names, tensors, strict=True))

        def value(source: FxNode) -> object:
            return _replaced(*value_of(source), taken)

        args, kwargs = import_module("torch.fx.node").map_arg(
            (tuple(node.args), dict(node.kwargs)), value
        )
        if node.op == "call_method":
            whole, *args = args
            return getattr(whole, str(node.target))(*args, **kwargs)
        called = cast(Callable[..., object], module or node.target)
        return called(*args, **kwargs)

    return function


def _replaced(name: str, value: object, by: Mapping[str, object]) -> object:
    """A value with other tensors in place of those that have names."""
    if isinstance(value, tuple | list):
        items = enumerate(cast(Sequence[object], value))
        return tuple(_replaced(f"{name}.{at}", item, by) for at, item in items)
    return by.get(name, value)


def calls_of(
    index: int,
    name: str,
    function: Callable[..., object],
    operands: Mapping[str, TorchTensor],
    keep: Keep,
) -> Iterator[Call]:
    """Yield the calls of ATen that a function of real tensors makes.

    `operands` are the tensors by their names, and `keep` takes the constants that the
    function has. Results are named `name`, and those in a tuple `name.0` and so on.
    """
    make = import_module("torch.fx.experimental.proxy_tensor").make_fx
    copies = [tensor.detach().clone() for tensor in operands.values()]
    with import_module("torch").no_grad():
        traced = make(function, pre_dispatch=True)(*copies)
    names = iter(operands)
    found: dict[str, str] = {}

    def argument(value: object) -> Argument:
        if isinstance(value, tuple | list):
            items = cast(Sequence[object], value)
            return cast(Argument, tuple(map(argument, items)))
        if value is None or isinstance(value, bool | int | float | str):
            return value
        known = found.get(str(getattr(value, "name", "")))
        if known is not None:
            return Tensor(known)
        dtype = str(value).removeprefix("torch.")
        return DTYPES[dtype] if dtype in DTYPES else Unread(dtype)

    for node in cast(Sequence[FxNode], traced.graph.nodes):
        target, own = str(node.target), f"{name}/{node.name}"
        if node.op == "placeholder":
            found[node.name] = next(names)
        elif node.op == "get_attr":
            found[node.name] = own
            keep(own, getattr(traced, target))
        elif node.op == "output":
            for result, value in leaves(name, node.args[0]):
                given = {"self": argument(value)}
                yield Call(index, "aten.alias.default", given, (result,))
        elif getattr(node.target, "__name__", "") == "getitem":
            whole, place = cast(tuple[FxNode, int], tuple(node.args))
            found[node.name] = f"{found[whole.name]}.{place}"
        else:
            found[node.name] = own
            results = tuple(result for result, _ in leaves(own, node.meta["val"]))
            yield Call(index, target, _bound(node, argument), results)


def remark_on_order(call: Call, name: str) -> str | None:
    """Return the remark on a call in node `name` whose sums or functions aren't those
    of PyTorch's libraries."""
    operator = call.target.split(".")[1]
    if operator not in ROUNDED:
        return None
    return remark_on_steps(f"node {call.index} {operator} {name!r}")


def _bound(node: FxNode, argument: Callable[[object], Argument]) -> dict[str, Argument]:
    """The arguments by the names in the operator's schema."""
    schema = cast(Operator, node.target)._schema  # pyright: ignore[reportPrivateUsage]
    given = zip((one.name for one in schema.arguments), node.args, strict=False)
    named: Mapping[str, object] = {**dict(given), **node.kwargs}
    return {key: argument(value) for key, value in named.items()}


def leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the values in nested tuples, named by their places; None is left out."""
    if isinstance(value, tuple | list):
        for place, item in enumerate(cast(Sequence[object], value)):
            yield from leaves(f"{name}.{place}", item)
    elif value is not None:
        yield name, value
