"""The nodes of a graph that the calls of an exported program become.

An operator that ONNX has becomes ONNX's, whose importers all graphs share; one with
shapes, parameters or float32 arithmetic of its own keeps its name, in the domain
`TORCH`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from qlower.tables.table import counted

from ..accessor import Attributes
from ..graph.schema import (
    NEWEST_OPSET,
    Array,
    AttributeValue,
    Constant,
    Model,
    Node,
    Port,
)
from .program import Argument, Call, Program, Tensor

T = TypeVar("T", Tensor, int, float)

TORCH = "torch"
"""The domain of operators that ONNX doesn't have, or has otherwise."""


class CallSite(Attributes):
    """One call with typed access to its arguments, and the graph under construction.

    Every accessor raises a `QlowerError` that names call, argument and value.
    """

    def __init__(self, translator: Translator, call: Call) -> None:
        name = f" {call.results[0]!r}" if call.results else ""
        subject = f"node {call.index} {call.target}{name}"
        super().__init__(translator.program.filename, call.index, subject)
        self.translator = translator
        self.call = call

    # Arguments

    noun = "argument"
    largest = 1 << 63

    @property
    def attributes(self) -> Mapping[str, object]:
        return self.call.arguments

    def argument(self, name: str) -> Argument:
        return self.call.arguments.get(name)

    def tensor(self, name: str) -> str:
        """The name of a value."""
        value = self.argument(name)
        if not isinstance(value, Tensor):
            raise self.bad(name, "a tensor")
        return self.translator.current(value.name)

    def tensors(self, name: str) -> list[str]:
        """The names of values in a list."""
        found = self._items(name, Tensor, "a list of tensors", "a list of tensors")
        return [self.translator.current(item.name) for item in found]

    def operands(self, names: str) -> list[str]:
        """The values of arguments: one that ends with `?` may be left out, with `*` it
        is a list, with `#` the scale and zero point follow, and `#` are the result's.
        """
        found: list[str] = []
        for word in names.split():
            name = word.rstrip("?*#")
            if word.endswith("*"):
                found += self.tensors(name)
            elif name:
                is_left_out = word.endswith("?") and self.argument(name) is None
                found.append("" if is_left_out else self.tensor(name))
            if word.endswith("#"):
                found += self.step(f"{name}." if name else "")
        return found

    def step(self, prefix: str = "") -> list[str]:
        """Scale and zero point of an operand, or of the result, as constants."""
        scale = np.array(self.real(f"{prefix}scale"), np.float32)
        zero_point = np.array(self.integer(f"{prefix}zero_point"), np.uint8)
        return [self.constant(scale, "FLOAT"), self.constant(zero_point, "UINT8")]

    def real(self, name: str, default: float | None = None) -> float:
        return float(self._number(name, self.call.arguments.get(name, default)))

    def scalar(self, name: str, default: float | None = None) -> float:
        """A number, which is an integer if the program has it so; the default also
        where the program has None."""
        value = self.call.arguments.get(name, default)
        return self._number(name, default if value is None else value)

    def _number(self, name: str, value: Argument | None) -> float:
        if not isinstance(value, int | float):
            raise self.bad(name, "a number")
        return value

    def reals(self, name: str) -> tuple[float, ...]:
        return tuple(self._items(name, float, "a list of numbers", "a list of numbers"))

    def integers(
        self, name: str, default: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        value = self.call.arguments.get(name)
        if value is None and default is not None:
            return tuple(default)
        if isinstance(value, int):
            return (value,)
        known = "a list of integers that are known"
        return tuple(self._items(name, int, "a list of integers", known))

    def _items(self, name: str, kind: type[T], listed: str, known: str) -> list[T]:
        """The items of a list, all of one kind; the words are for errors."""
        value = self.argument(name)
        if not isinstance(value, tuple):
            raise self.bad(name, listed)
        found = [item for item in value if isinstance(item, kind)]
        if len(found) < len(value):
            raise self.bad(name, known)
        return found

    # The graph

    def add(
        self,
        kind: str,
        inputs: Sequence[str],
        attributes: Mapping[str, AttributeValue] | None = None,
        *,
        domain: str = "",
        results: Sequence[str] | None = None,
    ) -> None:
        """Add a node; its results are those of the call unless others are named."""
        call = self.call
        self.translator.nodes.append(
            Node(
                call.index,
                domain,
                kind,
                call.results[0] if call.results else "",
                list(inputs),
                list(call.results if results is None else results),
                attributes or {},
                call.target,
            )
        )

    def constant(self, array: Array, type: str) -> str:
        """A new constant, by its name."""
        name = f"constant/{len(self.translator.constants)}"
        self.translator.constants[name] = Constant(type, array.shape, array)
        return name

    def define(self, array: Array, type: str) -> None:
        """Make a constant the result of the call."""
        constants, name = self.translator.constants, self.call.results[0]
        constants[name] = Constant(type, array.shape, array)

    def given_array(self, name: str) -> Array:
        """The elements of an argument that is a constant."""
        tensor = self.tensor(name)
        constant = self.translator.constants.get(tensor)
        if constant is None or constant.array is None:
            raise self.error(f"{name} {tensor!r} must be a constant")
        return constant.array


Translate = Callable[[CallSite], None]

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        *("alias", "chunk", "contiguous", "detach", "dropout", "expand", "flatten"),
        *("permute", "reshape", "select", "slice", "split", "split_with_sizes"),
        *("squeeze", "t", "transpose", "unbind", "unflatten", "unsqueeze", "view"),
    )
)
"""Operators whose results may lie in the memory of their first operand."""

RANGES = tuple(
    f"quantized_decomposed.choose_qparams{suffix}"
    for suffix in (
        *(".tensor", "_symmetric.tensor", "_per_token_asymmetric.default"),
        "_per_token.default",
    )
)
"""What PT2E quantizes dynamically with."""

RECURRENT: Mapping[str, str] = {
    "aten.lstm.input": "LSTM",
    "aten.gru.input": "GRU",
    "aten.rnn_tanh.input": "TanhRNN",
    "aten.rnn_relu.input": "ReluRNN",
}
"""Recurrent layers with real weights, and the nodes that they become."""

RANGED_RECURRENT = {"LSTM": "fx.ranged_lstm", "GRU": "fx.ranged_gru"}
"""Calls of recurrent modules that quantize their inputs and states as they run."""

SEVERAL = (
    *RANGES,
    *("aten.chunk.default", "aten.split.Tensor", "aten.split_with_sizes.default"),
    *("aten.max.dim", "aten.min.dim", "aten.unbind.int"),
    *(*RECURRENT, *RANGED_RECURRENT.values()),
)
"""Operators that have several results."""

MOST_PARTS = 1 << 16


class Translator:
    """The nodes and constants so far."""

    def __init__(self, program: Program, table: Mapping[str, Translate]) -> None:
        self.program = program
        self.table = table
        self.nodes: list[Node] = []
        self.constants = dict(program.constants)
        self._changed: dict[str, str] = {}
        self._sharing: dict[str, set[str]] = {}

    def current(self, name: str) -> str:
        """The current value of a name: the last result of operators that change it in
        place, such as relu_."""
        while name in self._changed:
            name = self._changed[name]
        return name

    def model(self) -> Model:
        """The whole program as a graph."""
        last_uses = self._last_uses()
        for place, call in enumerate(self.program.calls):
            site = CallSite(self, call)
            translate = self.table.get(call.target)
            if translate is not None:
                most = MOST_PARTS if call.target in SEVERAL else 1
                if not 1 <= len(call.results) <= most:
                    given = counted(len(call.results), "result")
                    raise site.error(f"{given} of one call can't be read here")
                translate(site)
            else:
                operands = [self.current(tensor.name) for tensor in _tensors(call)]
                site.add(call.target, operands, domain=TORCH)
            self._track(site, place, last_uses)
        return Model(
            filename=self.program.filename,
            size=self.program.size,
            opset=NEWEST_OPSET,
            nodes=tuple(self.nodes),
            constants=self.constants,
            inputs=self.program.inputs,
            outputs=tuple(
                Port(self.current(name), "", None) for name in self.program.outputs
            ),
        )

    def _last_uses(self) -> dict[str, int]:
        """The last place where each name is read."""
        found: dict[str, int] = {}
        for place, call in enumerate(self.program.calls):
            found.update(dict.fromkeys((t.name for t in _tensors(call)), place))
        end = len(self.program.calls)
        return found | dict.fromkeys(self.program.outputs, end)

    def _track(self, site: CallSite, place: int, last_uses: Mapping[str, int]) -> None:
        """Record which names share memory, and which one stands for another."""
        call = site.call
        operator = call.target.rpartition(".")[0]
        operand = next(_tensors(call), None)
        is_changing = operator.endswith("_")
        if operand is None or not (is_changing or operator in VIEWS):
            return
        sharing = self._sharing.setdefault(operand.name, {operand.name})
        if is_changing:
            for other in sharing - {operand.name}:
                if self.current(other) != self.current(operand.name) and (
                    last_uses.get(other, 0) > place
                ):
                    raise site.error(
                        f"it changes {operand.name!r} in place, and {other!r} with it,"
                        " which is read later: not supported"
                    )
        for result in call.results:
            if is_changing and result != self.current(operand.name):
                self._changed[self.current(operand.name)] = result
            sharing.add(result)
            self._sharing[result] = sharing


def _tensors(call: Call) -> Iterator[Tensor]:
    """The values that a call takes, in order."""
    for value in call.arguments.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Tensor):
                yield item
