"""A converted FX module as a program of calls.

The module runs once on examples: that gives the shape, scale and zero point of every
value, and the sizes that it computes from shapes. Weights are taken out of their packed
form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from qlower.diagnostics import QlowerError, make_file_location

from ..graph.schema import Port
from ..pt2.program import Argument, Call, Program, Tensor
from ..pt2.translating import RANGED_RECURRENT
from .faults import (
    CLAMPS,
    POOLS,
    Image,
    TransposedLayer,
    fault_of_transposed,
    remark_on,
    remark_on_steps,
    remark_on_tanh,
)
from .indexing import steps_of
from .node_values import NodeValues
from .real_parts import applied, calls_of, remark_on_order
from .tables import (
    FUNCTIONS,
    LISTED,
    MODULES,
    RANGED_LINEAR,
    RENAMED,
    RESCALING,
    SHAPED,
    STORED,
    TARGETS,
    WEIGHTED,
)
from .traced import (
    FxNode,
    GraphModule,
    Recurrent,
    TorchTensor,
    array_of,
    dtype_of,
)
from .weights import Weights

NAME = "FX module"
"""The name that locations and messages have in place of a file's."""

INPUTS = {"float32": "FLOAT", "int32": "INT32", "int64": "INT64"}
"""Types of inputs, and their names in a program."""

CONSTANTS = {**INPUTS, "bool": "BOOL"}

OTHER_WAY = (
    "PT2E (torchao.quantization.pt2e) leaves such layers in float32, and from_torch"
    " reads the exported program"
)
"""Advice on what has no kernel here on stored integers."""

SLIDING = ("stride", "padding", "dilation", "groups", "output_padding")
"""Attributes of a convolution."""

SIZE = 1 << 30
"""A module in memory may have any number of operations."""


def read_module(
    module: GraphModule, examples: Sequence[TorchTensor], engine: str
) -> tuple[Program, Sequence[str]]:
    """Return the calls of the module, with the shapes that the examples have, and
    remarks on the operators whose results differ from the engine's.

    Raises QlowerError for what isn't a module that FX converted.
    """
    reader = _Reader(module, examples, engine)
    return reader.program(), reader.remarks


class _Reader:
    def __init__(
        self, module: GraphModule, examples: Sequence[TorchTensor], engine: str
    ) -> None:
        self.engine = engine
        self.remarks: list[str] = []
        self.nodes = NodeValues(module, examples, self.error)
        self.calls: list[Call] = []
        self.weights = Weights(self.error)
        self.index = 0

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        return QlowerError(message, make_file_location(NAME, self.index, 0), help=help)

    def program(self) -> Program:
        inputs: list[Port] = []
        outputs: list[str] = []
        for index, node in enumerate(self.nodes.module.graph.nodes):
            self.index = index
            if node.op == "placeholder":
                inputs.append(self.port(node))
            elif node.op == "output":
                (returned,) = node.args
                several = isinstance(returned, tuple | list)
                for value in cast(
                    Sequence[FxNode], returned if several else [returned]
                ):
                    outputs.append(value.name)
            elif self.nodes.is_part(node):
                whole = cast(FxNode, node.args[0]).name
                part = f"{self.nodes.name(whole)}.{node.args[1]}"
                self.nodes.names[node.name] = part
            elif self.nodes.is_constant(node):
                self.nodes.constants.add(node.name)
            elif self.nodes.is_real(node):
                self.calls.extend(self.real_part(node))
            elif self.nodes.is_dynamic(node) or self.nodes.is_computed(node):
                self.calls.append(self.call(node))
        return Program(
            NAME,
            SIZE,
            tuple(self.calls),
            self.weights.constants,
            tuple(inputs),
            tuple(outputs),
        )

    def port(self, node: FxNode) -> Port:
        given = self.nodes.tensor(node)
        dtype = dtype_of(given)
        if dtype not in INPUTS:
            raise self.error(
                f"input {node.name!r}: type {dtype} is not supported; expected one of"
                f" {', '.join(INPUTS)}"
            )
        return Port(node.name, INPUTS[dtype], tuple(map(int, given.shape)))

    def real_part(self, node: FxNode) -> Iterator[Call]:
        """Yield the calls of ATen of a node on real tensors."""
        operands = dict(
            pair
            for source in node.all_input_nodes
            for pair in self.nodes.tensors(source)
        )
        function = applied(
            node,
            self.nodes.submodule(node) if node.op == "call_module" else None,
            lambda source: (
                self.nodes.name(source.name),
                self.nodes.values[source.name],
            ),
            tuple(operands),
        )
        for source in node.all_input_nodes:
            self.argument(source)
        for call in calls_of(
            self.index, self.nodes.name(node.name), function, operands, self.keep
        ):
            remark = remark_on_order(call, node.name)
            if remark is not None and remark not in self.remarks:
                self.remarks.append(remark)
            yield call

    def keep(self, name: str, tensor: TorchTensor) -> None:
        """Keep a real tensor as a constant."""
        dtype = dtype_of(tensor)
        if dtype not in CONSTANTS:
            raise self.error(
                f"{name}: constants of type {dtype} are not supported; expected one of"
                f" {', '.join(CONSTANTS)}"
            )
        self.weights.add(name, array_of(tensor), CONSTANTS[dtype])

    def call(self, node: FxNode) -> Call:
        if node.op == "call_module":
            return self.call_module(node)
        name = (
            node.target
            if isinstance(node.target, str)
            else str(getattr(node.target, "__name__", node.target)).split(".")[0]
        )
        assert isinstance(name, str)
        if name == "getitem":
            return self.indexed(node)
        names = FUNCTIONS.get(name)
        if names is None:
            raise self.error(
                f"node {self.index} {name} {node.name!r}: this operator is not"
                " supported on quantized tensors",
                help=OTHER_WAY,
            )
        given = list(node.args)
        if name in ("add", "mul") and isinstance(given[0], int | float):
            given[:2] = reversed(given[:2])
        if len(names) > 1 and names[1] in LISTED and len(given) > 2:
            given = [given[0], tuple(given[1:])]
        arguments = {
            key: self.argument(value)
            for key, value in (*zip(names, given, strict=False), *node.kwargs.items())
        }
        if "self" not in arguments and "input" in arguments:
            arguments["self"] = arguments.pop("input")
        is_scaled = name in ("add", "mul") and isinstance(given[1], int | float)
        if name in RESCALING or (is_scaled and self.nodes.step(Tensor(node.name))):
            self.check_codes(name, given, node)
            return self.made("alias", {"self": arguments["self"]}, node)
        return self.made(name, arguments, node)

    def indexed(self, node: FxNode) -> Call:
        """One of several values, or parts of one, a step for each dimension."""
        source, index = cast(tuple[FxNode, object], tuple(node.args))
        if isinstance(self.nodes.values[source.name], tuple | list):
            value = Tensor(f"{self.nodes.name(source.name)}.{index}")
            return self.made("alias", {"self": value}, node)
        several = isinstance(index, tuple)
        items = cast(Sequence[object], index) if several else (index,)
        known = [self.nodes.known(item) for item in items]
        steps = steps_of(tuple(self.nodes.tensor(source).shape), known)
        if steps is None:
            raise self.error(f"node {self.index} getitem: an index is not supported")
        name = source.name
        for number, (target, arguments) in enumerate(steps):
            result = f"{node.name}/{number}"
            operands = {"self": Tensor(name), **arguments}
            self.calls.append(Call(self.index, target, operands, (result,)))
            name = result
        return self.made("alias", {"self": Tensor(name)}, node)

    def check_codes(self, name: str, operands: Sequence[object], node: FxNode) -> None:
        """Refuse a sum or product with a number that changes what is stored: most
        change scale and zero point alone."""
        given, result = (
            self.nodes.step(Tensor(one.name))
            for one in (cast(FxNode, operands[0]), node)
        )
        number = self.nodes.known(operands[1])
        if given is None or result is None or not isinstance(number, int | float):
            raise self.error(f"node {self.index} {name}: its operand isn't quantized")
        kept = 0 if name.startswith("add") else 1
        if given[kept] != result[kept] or (kept == 1 and number <= 0):
            raise self.error(
                f"node {self.index} {name}: {number} changes what is stored, which is"
                " not supported"
            )

    def call_module(self, node: FxNode) -> Call:
        module = self.nodes.submodule(node)
        kind = type(module).__name__
        arguments: dict[str, Argument] = {"self": self.argument(node.args[0])}
        if self.nodes.is_dynamic(node):
            return self.dynamic(node, module, kind)
        if kind in WEIGHTED and hasattr(module, "_packed_params"):
            name, relu = WEIGHTED[kind]
            arguments["relu"] = relu
            arguments |= self.weights.of_layer(node.name, module)
            if name != "linear":
                for key in SLIDING:
                    arguments[key] = self.argument(getattr(module, key))
            if name.startswith("conv_transpose"):
                self.check_transposed(node, name, module)
            return self.made(name, arguments, node)
        if kind not in MODULES:
            raise self.error(
                f"node {self.index} {kind} {node.target!r}: this module is not"
                " supported on quantized tensors",
                help=OTHER_WAY,
            )
        name, keys = MODULES[kind]
        for key in keys:
            held = getattr(module, key)
            if hasattr(held, "is_quantized"):
                arguments |= self.weights.of_parameter(node.name, key, held)
            else:
                arguments[key] = self.argument(held)
        return self.made(name, arguments, node)

    def dynamic(self, node: FxNode, module: object, kind: str) -> Call:
        """A module that quantizes its input by its range when it runs."""
        arguments: dict[str, Argument] = {"input": self.argument(node.args[0])}
        if kind in RANGED_RECURRENT:
            return self.recurrent(node, cast(Recurrent, module), kind)
        if kind not in ("Linear", "LinearReLU"):
            expected = (*RANGED_RECURRENT, "Linear", "LinearReLU")
            raise self.error(
                f"node {self.index} {kind}: a module that quantizes its input as it"
                f" runs is not supported; expected one of {', '.join(expected)}"
            )
        arguments |= self.weights.of_symmetric_layer(node.name, module)
        arguments["relu"] = "ReLU" in kind
        return Call(self.index, RANGED_LINEAR, arguments, (node.name,))

    def recurrent(self, node: FxNode, module: Recurrent, kind: str) -> Call:
        """An LSTM or GRU, whose results are named by their places in its tuple."""
        given, initial, *_ = (*node.args, node.kwargs.get("hx"))
        arguments = self.weights.of_recurrent(node.name, module)
        arguments["input"] = self.argument(given)
        if initial is not None:
            arguments["hx"] = self.argument(initial)
        self.remarks.append(remark_on_tanh(f"node {self.index} {kind} {node.name!r}"))
        if not hasattr(self.nodes.values[cast(FxNode, given).name], "is_quantized"):
            raise self.error(
                f"node {self.index} {kind}: a packed sequence is not supported;"
                " expected a tensor"
            )
        last = ("1",) if kind == "GRU" else ("1.0", "1.1")
        results = tuple(f"{node.name}.{at}" for at in ("0", *last))
        return Call(self.index, RANGED_RECURRENT[kind], arguments, results)

    def argument(self, value: object) -> Argument:
        """A value of the graph, a number that it computes, or what is written there."""
        if isinstance(value, tuple | list):
            items = tuple(self.argument(item) for item in cast(Sequence[object], value))
            return cast(Argument, items)
        name = getattr(value, "name", None)
        if isinstance(name, str) and name in self.nodes.values:
            known = self.nodes.values[name]
            if isinstance(known, bool | int | float):
                return known
            if isinstance(known, tuple):
                return tuple(map(Tensor, self.nodes.part_names(name)))
            if name in self.nodes.constants and name not in self.weights.constants:
                self.keep(name, cast(TorchTensor, known))
            return Tensor(name)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return str(value)

    def made(self, name: str, arguments: dict[str, Argument], node: FxNode) -> Call:
        """The call, with the scales of what it takes and gives."""
        value = self.nodes.values[node.name]
        arguments = {RENAMED.get(key, key): held for key, held in arguments.items()}
        taken = [
            self.nodes.values.get(item.name)
            for held in arguments.values()
            for item in (held if isinstance(held, tuple) else (held,))
            if isinstance(item, Tensor)
        ]
        is_stored = any(getattr(one, "is_quantized", False) for one in (value, *taken))
        results = (node.name,)
        if isinstance(value, tuple | list):
            results = self.nodes.part_names(node.name)
        if name in SHAPED:
            arguments["sizes"] = tuple(self.nodes.tensor(node).shape)
            of = cast(Tensor, arguments["self"]).name
            arguments["shape"] = tuple(cast(TorchTensor, self.nodes.values[of]).shape)
        target = TARGETS.get(name, f"aten.{name}.default")
        if name == "softmax":
            self.remarks.append(
                remark_on_steps(f"node {self.index} {name} {node.name!r}")
            )
        if is_stored and name == "avg_pool2d":
            arguments["is_qnnpack"] = int(self.engine == "qnnpack")
        if is_stored and name in (*CLAMPS, *POOLS):
            self.remark(name, node, taken[0])
        if is_stored and (name in STORED or "weight" in arguments):
            target = f"quantized.{name}"
            for key, held in list(arguments.items()):
                several = isinstance(held, tuple)
                steps = [
                    self.nodes.step(item) for item in (held if several else (held,))
                ]
                found = [step for step in steps if step is not None]
                if found and len(found) == len(steps):
                    scales, zeros = zip(*found, strict=True)
                    arguments[f"{key}.scale"] = scales if several else scales[0]
                    arguments[f"{key}.zero_point"] = zeros if several else zeros[0]
            step = self.nodes.step(Tensor(node.name))
            if step is not None:
                arguments["scale"], arguments["zero_point"] = step
        return Call(self.index, target, arguments, results)

    def check_transposed(self, node: FxNode, name: str, module: object) -> None:
        source = cast(FxNode, node.args[0])
        taken, given = self.nodes.values[source.name], self.nodes.values[node.name]
        fault = fault_of_transposed(
            name, cast(TransposedLayer, module), taken, given, self.engine
        )
        if fault is not None:
            raise self.error(f"node {self.index} {name} {node.name!r}: {fault}")

    def remark(self, name: str, node: FxNode, operand: object) -> None:
        """Remark on an operator whose results differ from PyTorch's."""
        found = remark_on(name, cast(Image, operand), self.engine)
        if found is not None:
            self.remarks.append(f"node {self.index} {name} {node.name!r}: {found}")
