"""A converted FX module as a program of calls.

The module runs once on examples: that gives the shape, scale and zero point of every
value, and the sizes that it computes from shapes. Weights are taken out of their packed
form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.arrays import Array

from ..graph.schema import Constant, Port
from ..pt2.program import Argument, Call, Program, Tensor
from .faults import (
    CLAMPS,
    POOLS,
    Image,
    TransposedLayer,
    fault_of_transposed,
    remark_on,
)
from .indexing import steps_of
from .tables import (
    FUNCTIONS,
    LISTED,
    MODULES,
    RANGED_LINEAR,
    RENAMED,
    RESCALING,
    STORED,
    TARGETS,
    WEIGHTED,
)
from .traced import (
    Embedding,
    FxNode,
    GraphModule,
    TorchTensor,
    array_of,
    run_nodes,
)

NAME = "FX module"
"""What stands for a file in locations and messages."""


INPUTS = {"float32": "FLOAT", "int32": "INT32", "int64": "INT64"}
"""Types of inputs, and their names in a program."""

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
        self.module = module
        self.engine = engine
        self.remarks: list[str] = []
        self.values = run_nodes(module, examples)
        self.calls: list[Call] = []
        self.constants: dict[str, Constant] = {}
        self.index = 0

    def error(self, message: str) -> QlowerError:
        return QlowerError(message, make_file_location(NAME, self.index, 0))

    def program(self) -> Program:
        inputs: list[Port] = []
        outputs: list[str] = []
        for index, node in enumerate(self.module.graph.nodes):
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
            elif self.is_dynamic(node) or self.is_computed(node):
                self.calls.append(self.call(node))
        return Program(
            NAME,
            SIZE,
            tuple(self.calls),
            self.constants,
            tuple(inputs),
            tuple(outputs),
        )

    def port(self, node: FxNode) -> Port:
        given = self.tensor(node)
        dtype = str(getattr(given, "dtype", "")).removeprefix("torch.")
        if dtype not in INPUTS:
            raise self.error(
                f"input {node.name!r}: type {dtype} is not supported; expected one of"
                f" {', '.join(INPUTS)}"
            )
        return Port(node.name, INPUTS[dtype], tuple(map(int, given.shape)))

    def tensor(self, node: FxNode) -> TorchTensor:
        return cast(TorchTensor, self.values[node.name])

    def is_computed(self, node: FxNode) -> bool:
        """Whether the node gives tensors of the model, and no number or parameter."""
        return node.op != "get_attr" and all(
            hasattr(value, "is_quantized") for value in self.parts(node)
        )

    def is_dynamic(self, node: FxNode) -> bool:
        """Whether the node is a module that quantizes its input as it runs."""
        if node.op != "call_module":
            return False
        module = self.module.get_submodule(cast(str, node.target))
        return ".dynamic" in type(module).__module__

    def parts(self, node: FxNode) -> Sequence[object]:
        """The values that a node of several values gives."""
        value = self.values[node.name]
        if isinstance(value, tuple | list):
            return cast(Sequence[object], value)
        return [value]

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
                f"node {self.index} {name}: this operator is not supported"
            )
        given = list(node.args)
        if len(names) > 1 and names[1] in LISTED and len(given) > 2:
            given = [given[0], tuple(given[1:])]
        arguments = {
            key: self.argument(value)
            for key, value in (*zip(names, given, strict=False), *node.kwargs.items())
        }
        if "self" not in arguments and "input" in arguments:
            arguments["self"] = arguments.pop("input")
        if name in RESCALING:
            self.check_codes(name, node)
            return self.made("alias", {"self": arguments["self"]}, node)
        return self.made(name, arguments, node)

    def indexed(self, node: FxNode) -> Call:
        """One of several values, or parts of one, a step for each dimension."""
        source, index = cast(tuple[FxNode, object], tuple(node.args))
        if isinstance(self.values[source.name], tuple | list):
            value = Tensor(f"{source.name}.{index}")
            return self.made("alias", {"self": value}, node)
        several = isinstance(index, tuple)
        items = cast(Sequence[object], index) if several else (index,)
        known = [self.known(item) for item in items]
        steps = steps_of(tuple(self.tensor(source).shape), known)
        if steps is None:
            raise self.error(f"node {self.index} getitem: an index is not supported")
        name = source.name
        for number, (target, arguments) in enumerate(steps):
            result = f"{node.name}/{number}"
            operands = {"self": Tensor(name), **arguments}
            self.calls.append(Call(self.index, target, operands, (result,)))
            name = result
        return self.made("alias", {"self": Tensor(name)}, node)

    def known(self, item: object) -> object:
        """An index as Python has it, of numbers that the graph computes."""
        if isinstance(item, slice):
            ends = cast("slice[object, object, object]", item)
            return slice(*map(self.known, (ends.start, ends.stop, ends.step)))
        return self.values.get(str(getattr(item, "name", "")), item)

    def check_codes(self, name: str, node: FxNode) -> None:
        """Refuse a sum or product with a number that changes what is stored: most
        change scale and zero point alone."""
        given, result = (
            self.step(Tensor(one.name)) for one in (cast(FxNode, node.args[0]), node)
        )
        number = self.known(node.args[1])
        if given is None or result is None or not isinstance(number, int | float):
            raise self.error(f"node {self.index} {name}: its operand isn't quantized")
        kept = 0 if name == "add_scalar" else 1
        if given[kept] != result[kept] or (name == "mul_scalar" and number <= 0):
            raise self.error(
                f"node {self.index} {name}: {number} changes what is stored, which is"
                " not supported"
            )

    def call_module(self, node: FxNode) -> Call:
        module = self.module.get_submodule(cast(str, node.target))
        kind = type(module).__name__
        arguments: dict[str, Argument] = {"self": self.argument(node.args[0])}
        if self.is_dynamic(node):
            return self.dynamic(node, module, kind)
        if kind in WEIGHTED and hasattr(module, "_packed_params"):
            name, relu = WEIGHTED[kind]
            arguments["relu"] = relu
            arguments |= self.weights(node, module, is_linear=name == "linear")
            if name.startswith("conv_transpose"):
                self.check_transposed(node, name, module)
            return self.made(name, arguments, node)
        if kind == "Embedding":
            array = array_of(cast(Embedding, module).weight)
            return self.made(
                "embedding",
                {
                    "weight": self.constant(node, "weight", array, "FLOAT"),
                    "indices": arguments["self"],
                },
                node,
            )
        if kind not in MODULES:
            raise self.error(f"node {self.index} {kind}: this module is not supported")
        name, keys = MODULES[kind]
        for key in keys:
            arguments[key] = self.argument(getattr(module, key))
        return self.made(name, arguments, node)

    def dynamic(self, node: FxNode, module: object, kind: str) -> Call:
        """A module that quantizes its input by its range when it runs."""
        if kind not in ("Linear", "LinearReLU"):
            raise self.error(
                f"node {self.index} {kind}: a module that quantizes its input as it"
                " runs is not supported; expected Linear or LinearReLU"
            )
        arguments = self.weights(node, module, is_linear=True)
        zeros = arguments.pop("weight_zero_point")
        assert isinstance(zeros, Tensor)
        array = self.constants[zeros.name].array
        if array is not None and array.any():
            raise self.error(f"{node.name}: weights have a zero point, expected 0")
        arguments |= {"input": self.argument(node.args[0]), "relu": "ReLU" in kind}
        return Call(self.index, RANGED_LINEAR, arguments, (node.name,))

    def argument(self, value: object) -> Argument:
        """A value of the graph, a number that it computes, or what is written there."""
        if isinstance(value, tuple | list):
            items = tuple(self.argument(item) for item in cast(Sequence[object], value))
            return cast(Argument, items)
        name = getattr(value, "name", None)
        if isinstance(name, str) and name in self.values:
            known = self.values[name]
            if isinstance(known, bool | int | float):
                return known
            return Tensor(name)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return str(value)

    def made(self, name: str, arguments: dict[str, Argument], node: FxNode) -> Call:
        """The call, with the scales of what it takes and gives."""
        value = self.values[node.name]
        arguments = {RENAMED.get(key, key): held for key, held in arguments.items()}
        taken = [
            self.values.get(item.name)
            for held in arguments.values()
            for item in (held if isinstance(held, tuple) else (held,))
            if isinstance(item, Tensor)
        ]
        is_stored = any(getattr(one, "is_quantized", False) for one in (value, *taken))
        results = (node.name,)
        if isinstance(value, tuple | list):
            results = tuple(f"{node.name}.{at}" for at in range(len(self.parts(node))))
        if name in ("interpolate", "pixel_shuffle"):
            arguments["sizes"] = tuple(self.tensor(node).shape)
            of = cast(Tensor, arguments["self"]).name
            arguments["shape"] = tuple(cast(TorchTensor, self.values[of]).shape)
        target = TARGETS.get(name, f"aten.{name}.default")
        if name == "softmax":
            self.remarks.append(
                f"node {self.index} {name} {node.name!r} runs on float32, which PyTorch"
                " adds in an order of its own: last bits may differ"
            )
        if is_stored and name in (*CLAMPS, *POOLS):
            self.remark(name, node, taken[0])
        if is_stored and (name in STORED or "weight" in arguments):
            target = f"quantized.{name}"
            for key, held in list(arguments.items()):
                several = isinstance(held, tuple)
                steps = [self.step(item) for item in (held if several else (held,))]
                found = [step for step in steps if step is not None]
                if found and len(found) == len(steps):
                    scales, zeros = zip(*found, strict=True)
                    arguments[f"{key}.scale"] = scales if several else scales[0]
                    arguments[f"{key}.zero_point"] = zeros if several else zeros[0]
            step = self.step(Tensor(node.name))
            if step is not None:
                arguments["scale"], arguments["zero_point"] = step
        return Call(self.index, target, arguments, results)

    def check_transposed(self, node: FxNode, name: str, module: object) -> None:
        source = cast(FxNode, node.args[0])
        taken, given = self.values[source.name], self.values[node.name]
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

    def step(self, argument: object) -> tuple[float, int] | None:
        """Scale and zero point of a quantized value."""
        if not isinstance(argument, Tensor):
            return None
        value = self.values.get(argument.name)
        if not getattr(value, "is_quantized", False):
            return None
        tensor = cast(TorchTensor, value)
        dtype = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
        if dtype != "quint8":
            raise self.error(
                f"{argument.name}: quantized values of type {dtype} are not supported;"
                " expected quint8"
            )
        return float(tensor.q_scale()), int(tensor.q_zero_point())

    def weights(
        self, node: FxNode, module: object, *, is_linear: bool
    ) -> dict[str, Argument]:
        """The weights of a quantized module and what it does with them."""
        method = cast(Mapping[str, Callable[[], object]], _methods(module))
        weight = cast(TorchTensor, method["weight"]())
        bias = cast("TorchTensor | None", method["bias"]())
        if str(getattr(weight, "dtype", "")) != "torch.qint8":
            raise self.error(f"{node.name}: weights of 8 bits are supported only")
        try:
            scales = array_of(weight.q_per_channel_scales()).astype(np.float32)
            zeros = array_of(weight.q_per_channel_zero_points()).astype(np.int8)
        except RuntimeError:
            scales = np.array(weight.q_scale(), np.float32)
            zeros = np.array(weight.q_zero_point(), np.int8)
        found: dict[str, Argument] = {
            "weight": self.constant(
                node, "weight", array_of(weight.int_repr()), "INT8"
            ),
            "weight_scale": self.constant(node, "weight_scale", scales, "FLOAT"),
            "weight_zero_point": self.constant(node, "weight_zero", zeros, "INT8"),
        }
        if bias is not None:
            array = array_of(bias).astype(np.float32)
            found["bias"] = self.constant(node, "bias", array, "FLOAT")
        if not is_linear:
            for key in ("stride", "padding", "dilation", "groups", "output_padding"):
                found[key] = self.argument(getattr(module, key))
        return found

    def constant(self, node: FxNode, what: str, array: Array, type: str) -> Tensor:
        name = f"{node.name}/{what}"
        self.constants[name] = Constant(type, array.shape, array)
        return Tensor(name)


def _methods(module: object) -> dict[str, object]:
    return {name: getattr(module, name) for name in ("weight", "bias")}
