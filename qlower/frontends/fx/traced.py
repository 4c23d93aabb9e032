"""Modules of PyTorch that FX traced, as they are looked at, and one run of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Protocol

from qlower.files.arrays import Array


class TorchTensor(Protocol):
    """A tensor of PyTorch, as far as it is looked at."""

    is_quantized: bool

    @property
    def shape(self) -> Iterable[int]: ...
    def q_scale(self) -> float: ...
    def q_zero_point(self) -> int: ...
    def q_per_channel_scales(self) -> TorchTensor: ...
    def q_per_channel_zero_points(self) -> TorchTensor: ...
    def int_repr(self) -> TorchTensor: ...
    def detach(self) -> TorchTensor: ...
    def clone(self) -> TorchTensor: ...
    def numpy(self) -> Array: ...
    def item(self) -> float: ...
    def is_contiguous(self, *, memory_format: object = ...) -> bool: ...


class FxNode(Protocol):
    """A node of a graph of torch.fx."""

    op: str
    name: str
    target: object
    args: Sequence[object]
    kwargs: Mapping[str, object]
    meta: Mapping[str, object]

    @property
    def all_input_nodes(self) -> Sequence[FxNode]: ...


class FxGraph(Protocol):
    @property
    def nodes(self) -> Iterable[FxNode]: ...


class Recurrent(Protocol):
    """An LSTM or GRU whose weights are stored, by names such as `weight_ih_l0`."""

    batch_first: bool
    bidirectional: bool

    def get_weight(self) -> Mapping[str, TorchTensor]: ...
    def get_bias(self) -> Mapping[str, TorchTensor]: ...


class GraphModule(Protocol):
    """A module that FX traced and converted."""

    graph: FxGraph

    def get_submodule(self, target: str) -> object: ...


def dtype_of(tensor: object) -> str:
    """PyTorch's name of the type of a tensor's elements; '' for what is no tensor."""
    return str(getattr(tensor, "dtype", "")).removeprefix("torch.")


def array_of(tensor: TorchTensor) -> Array:
    return tensor.detach().numpy()


def run_nodes(
    module: GraphModule, examples: Sequence[TorchTensor]
) -> dict[str, object]:
    """The value of each node of the graph for these examples."""
    torch = import_module("torch")
    interpreter = import_module("torch.fx").Interpreter(module)
    values: dict[str, object] = {}
    run_node: Callable[[FxNode], object] = interpreter.run_node

    def record(node: FxNode) -> object:
        values[node.name] = run_node(node)
        return values[node.name]

    interpreter.run_node = record
    with torch.no_grad():
        interpreter.run(*examples)
    return values
