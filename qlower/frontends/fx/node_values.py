"""Numbers, tensors, parts and scales that the nodes of a traced module give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from qlower.diagnostics import QlowerError

from ..pt2.program import Tensor
from .real_parts import is_plain, leaves
from .traced import FxNode, GraphModule, TorchTensor, dtype_of, run_nodes


class NodeValues:
    """The values of all nodes by their names, and the kinds of nodes that follow from
    them.

    `names` has the nodes that are parts of what others give, with the names of these
    parts; `constants` those whose real tensors depend on nothing but shapes. Both are
    filled in the order of the graph.
    """

    def __init__(
        self,
        module: GraphModule,
        examples: Sequence[TorchTensor],
        error: Callable[[str], QlowerError],
    ) -> None:
        self.module = module
        self.error = error
        self.values = run_nodes(module, examples)
        self.names: dict[str, str] = {}
        self.constants: set[str] = set()

    def name(self, node: str) -> str:
        """The name that the value of a node has in a program."""
        return self.names.get(node, node)

    def tensor(self, node: FxNode) -> TorchTensor:
        return cast(TorchTensor, self.values[node.name])

    def tensors(self, node: FxNode) -> Sequence[tuple[str, TorchTensor]]:
        """The tensors that the node gives, with their names."""
        return [
            (name, cast(TorchTensor, value))
            for name, value in leaves(self.name(node.name), self.values[node.name])
            if hasattr(value, "is_quantized")
        ]

    def parts(self, name: str) -> Sequence[object]:
        """The values that a node of several values gives."""
        value = self.values[name]
        if isinstance(value, tuple | list):
            return cast(Sequence[object], value)
        return [value]

    def part_names(self, name: str) -> tuple[str, ...]:
        """The names of the values that a node of several values gives."""
        whole = self.name(name)
        return tuple(f"{whole}.{at}" for at in range(len(self.parts(name))))

    def known(self, item: object) -> object:
        """An index as Python has it, of numbers that the graph computes."""
        if isinstance(item, slice):
            ends = cast("slice[object, object, object]", item)
            return slice(*map(self.known, (ends.start, ends.stop, ends.step)))
        return self.values.get(str(getattr(item, "name", "")), item)

    def step(self, argument: object) -> tuple[float, int] | None:
        """Scale and zero point of a quantized value."""
        if not isinstance(argument, Tensor):
            return None
        value = self.values.get(argument.name)
        if not getattr(value, "is_quantized", False):
            return None
        tensor = cast(TorchTensor, value)
        dtype = dtype_of(tensor)
        if dtype != "quint8":
            raise self.error(
                f"{argument.name}: quantized values of type {dtype} are not supported;"
                " expected quint8"
            )
        return float(tensor.q_scale()), int(tensor.q_zero_point())

    def submodule(self, node: FxNode) -> object:
        return self.module.get_submodule(cast(str, node.target))

    def is_computed(self, node: FxNode) -> bool:
        """Whether the node gives tensors of the model, and no number or parameter."""
        return node.op != "get_attr" and all(
            hasattr(value, "is_quantized") for value in self.parts(node.name)
        )

    def is_part(self, node: FxNode) -> bool:
        """Whether the node is several of the values that another one gives."""
        is_item = getattr(node.target, "__name__", "") == "getitem"
        return is_item and isinstance(self.values[node.name], tuple)

    def is_dynamic(self, node: FxNode) -> bool:
        """Whether the node is a module that quantizes its input as it runs."""
        if node.op != "call_module":
            return False
        return ".dynamic" in type(self.submodule(node)).__module__

    def is_constant(self, node: FxNode) -> bool:
        """Whether the node gives real tensors that depend on nothing but shapes."""
        return self.gives_reals(node) and all(
            source.name in self.constants or not self.tensors(source)
            for source in node.all_input_nodes
        )

    def is_real(self, node: FxNode) -> bool:
        """Whether the node takes and gives real tensors only, and has no stored
        weights."""
        if not self.gives_reals(node) or node.op == "get_attr":
            return False
        if node.op == "call_module" and not is_plain(self.submodule(node)):
            return False
        return all(
            self.gives_reals(source)
            for source in node.all_input_nodes
            if self.tensors(source)
        )

    def gives_reals(self, node: FxNode) -> bool:
        """Whether the node gives tensors, and no quantized one."""
        given = self.tensors(node)
        return bool(given) and not any(one.is_quantized for _, one in given)
