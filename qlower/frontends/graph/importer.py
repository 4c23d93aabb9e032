"""The function of qnn operations that the nodes of a graph become."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects.builtin import (
    ArrayAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
)

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import OPEN_SIZES, REMARKS

from ..budget import Budget
from ..entry import Entry
from ..format import Format, Source
from ..import_options import ImportOptions, find_output, fit_shape
from ..site import Site
from .blocks import Blocks
from .context import OTHER_STORED_TYPES, NodeContext
from .folding import fold, is_folded
from .narrow import CODED, CODES, KNOWING, NARROW, narrow_types
from .nodes import Graph, Node, hoist_constants
from .operands import BYTES, PLAIN_TYPES, STORED_TYPES, Storage
from .orders import identity
from .quantizations import find_quantization
from .real_constants import dequantized
from .schema import MAX_ELEMENTS, MAX_RANK, Model, Port
from .values import Element, FunctionBuilder, Origin, Value

OF_OPEN_SHAPE = ("Compress", "NonMaxSuppression", "NonZero", "Unique")
"""Operators whose result is as large as the values that they take make it."""

OPERATION_COST = 8
"""Units of work that an operation takes of the file's budget."""


@dataclass(frozen=True)
class Reading:
    """A framework's way to run a graph, by a contract.

    `remarks` lists for users what stays real, and why, once the graph is imported.
    With `has_blocks` real images lie in memory as ONNX Runtime optimizes that
    (`blocks`).
    """

    contract: str
    remarks: Callable[[], Sequence[str]]
    has_blocks: bool = False


@dataclass(frozen=True)
class Framework:
    """A framework whose graphs are imported.

    `read` rewrites the graph to the one that the framework runs. Models that aren't
    quantized are refused with the help of `unquantized`, values that the model computes
    where only constants are read with that of `computed`. Operators on integers have
    the quantized values of `storages`.
    """

    importers: Mapping[tuple[str, str], Entry[NodeContext]]
    read: Callable[[Graph, ImportOptions], Reading]
    unquantized: str
    computed: str
    storages: Mapping[str, Storage] = field(default_factory=lambda: BYTES)


def build_module(
    model: Model, options: ImportOptions, framework: Framework
) -> ModuleOp:
    """The model as a module with one function, `main`."""
    return _GraphImporter(model, options, framework).build()


def find_problems(
    model: Model, options: ImportOptions, framework: Framework
) -> list[QlowerError]:
    """Everything that keeps the model from being imported.

    Of what depends on an operator that isn't supported, its kind is looked at only.
    """
    problems: list[QlowerError] = []
    try:
        _GraphImporter(model, options, framework).build(problems)
    except QlowerError as error:
        problems.append(error)
    return problems


def graph_format(
    read: Callable[[Source, str, ImportOptions], Model], framework: Framework
) -> Format[Model]:
    """The format whose files are graphs of a framework."""
    return Format(
        read,
        partial(build_module, framework=framework),
        partial(find_problems, framework=framework),
    )


class _GraphImporter:
    """The function under construction: the values so far, by their names."""

    def __init__(
        self, model: Model, options: ImportOptions, framework: Framework
    ) -> None:
        self.model = model
        self.options = options
        self.framework = framework
        self.qdq = options.qdq
        self.computed = framework.computed
        self.storages = framework.storages
        self.blocks = Blocks(is_optimized=False)
        self.site = Site(model.filename, 0, "model")
        self.charge = Budget(model.size, self.site).charge
        self.check_names()
        options.check_inputs(port.name for port in model.inputs)
        self.graph = Graph(model, self.outputs())
        self.builder = FunctionBuilder(lambda: self.charge(OPERATION_COST))
        self.values: dict[str, Value] = {}
        self.skipped: set[Node] = set()
        self.is_quantized = any(
            "quant" in n.kind.lower() or "QL" in n.kind for n in model.nodes
        ) or any(one.type in STORED_TYPES for one in model.constants.values())
        self.narrow: Mapping[str, str] = {}
        self.remarks: list[str] = []
        self.lost: set[str] = set()
        """Values that are known to be no part of the module."""

    def build(self, problems: list[QlowerError] | None = None) -> ModuleOp:
        """The module; with a list for problems, the first one is raised at the end."""
        model, graph = self.model, self.graph
        if self.options.outputs:
            graph.needed()
        hoist_constants(graph, list(graph.nodes))
        reading = self.framework.read(graph, self.options)
        self.blocks = Blocks(reading.has_blocks)
        graph.needed()
        self.narrow = narrow_types(graph)
        names = [self.argument(port) for port in model.inputs if self.is_kept(port)]
        for node in graph.ordered():
            if node in self.skipped:
                continue
            if problems is None:
                self.import_node(node)
            else:
                self.check_node(node, problems)
        if problems:
            raise problems.pop()
        outputs = [(name, self.returned(name).ssa) for name in graph.outputs]
        module = self.builder.module(names, outputs, self.site, reading.contract)
        module.attributes[REMARKS] = ArrayAttr(
            StringAttr(remark) for remark in (*reading.remarks(), *self.remarks)
        )
        if any(self.is_open(port) for port in model.inputs):
            module.attributes[OPEN_SIZES] = UnitAttr()
        return module

    def check_names(self) -> None:
        """Every value has one producer."""
        known = {*self.model.constants, *(port.name for port in self.model.inputs)}
        if len(known) != len(self.model.constants) + len(self.model.inputs):
            raise self.site.error("damaged file: two inputs have the same name")
        for node in self.model.nodes:
            for name in node.outputs:
                if name in known:
                    raise self.site.error(
                        f"damaged file: {name!r} has a value before"
                        f" {self.model.noun} {node.index} {node.kind} computes it"
                    )
                if name:
                    known.add(name)

    def outputs(self) -> list[str]:
        """The names of what is returned."""
        if not self.options.outputs:
            return [port.name for port in self.model.outputs]
        computed = [name for node in self.model.nodes for name in node.outputs if name]
        return [computed[find_output(name, computed)] for name in self.options.outputs]

    def is_kept(self, port: Port) -> bool:
        """Whether an input is taken: all are, unless the model is cut."""
        graph = self.graph
        used = graph.users(port.name) or graph.is_returned(port.name)
        return bool(used) or not self.options.outputs

    def is_open(self, port: Port) -> bool:
        """Whether an input that is taken has a size that neither the file nor the
        user gives."""
        is_given = port.name in self.options.shapes or not self.is_kept(port)
        return not is_given and None in (port.shape or ())

    def argument(self, port: Port) -> str:
        name = port.name
        given = self.options.shapes.get(port.name)
        if port.shape is None and given is None:
            raise self.site.error(
                f"input {name!r} has no shape",
                help=f"--shape {shlex.quote(name)}=SIZExSIZE... gives it one",
            )
        shape = self.input_shape(port, given)
        element: Element
        if port.type in self.storages:
            storage = self.storages[port.type]
            element = find_quantization(self.graph, port.name, *storage)
        elif port.type in OTHER_STORED_TYPES:
            element = OTHER_STORED_TYPES[port.type]
        elif port.type in CODED:
            element = CODES
        elif port.type in PLAIN_TYPES or port.type in NARROW:
            element = PLAIN_TYPES.get(port.type, f32)
        else:
            raise self.site.error(
                f"input {name!r} of type {port.type} is not supported; expected one of"
                f" {', '.join((*BYTES, *OTHER_STORED_TYPES, *PLAIN_TYPES, *NARROW))}"
            )
        place = Origin(name, self.site.location, self.site.error)
        value = self.builder.argument(TensorType(element, shape), place)
        is_real = port.type == "FLOAT"
        if port.type in NARROW:
            type, emit = NARROW[port.type], self.builder.emitter(place, "numbers")
            read = type.decoded if port.type in CODED else type.rounded
            value, is_real = replace(value, ssa=read(emit, value.ssa)), True
        self.values[port.name] = replace(value, is_real=is_real)
        return name

    def input_shape(self, port: Port, given: tuple[int, ...] | None) -> tuple[int, ...]:
        """The file's shape, with what it leaves open from the options, or 1."""
        known = given or () if port.shape is None else port.shape
        wanted = fit_shape(f"input {port.name!r}", given, known, self.site.error)
        self.site.check_range(f"rank of input {port.name!r}", len(wanted), 0, MAX_RANK)
        for size in wanted:
            self.site.check_range(
                f"dimension of input {port.name!r}", size, 1, MAX_ELEMENTS
            )
        return wanted

    def check_node(self, node: Node, problems: list[QlowerError]) -> None:
        """Import a node, and take down why that can't be."""
        try:
            if self.lost.isdisjoint(node.inputs):
                self.import_node(node)
                return
            if not is_folded(node):
                self.importer_of(node)
        except QlowerError as error:
            problems.append(error)
        self.lost.update(node.outputs)

    def importer_of(self, node: Node) -> Entry[NodeContext]:
        """The entry of the table of operators, or an error that says why none is."""
        found = self.framework.importers.get((node.domain, node.kind))
        if found is not None:
            return found
        others = len(self.framework.importers)
        message = f"this operator is not supported; {others} others are"
        if not node.domain and node.kind in OF_OPEN_SHAPE:
            message = (
                "the shape of its result depends on values that only a run knows, which"
                " is not supported"
            )
        way_out: str | None = self.framework.unquantized
        if self.is_quantized:
            way_out = self.way_out(node)
        raise NodeContext(self, node).error(message, help=way_out)

    def import_node(self, node: Node) -> None:
        context = NodeContext(self, node)
        if not self.is_narrow(context) and fold(context):
            return
        found = self.importer_of(node)
        found.check_counts(context)
        found.build(context)
        self.blocks.follow(context)

    def is_narrow(self, context: NodeContext) -> bool:
        """Whether a node takes numbers of fewer bits than float32, which few do."""
        node = context.node
        name = next((name for name in node.inputs if name in self.narrow), None)
        if name is not None and (node.domain or node.kind not in KNOWING):
            raise context.error(
                f"operand {name!r} of type {self.narrow[name]} is not supported for"
                f" this operator, only for {', '.join(KNOWING)}"
            )
        return name is not None

    def way_out(self, node: Node) -> str | None:
        """The advice for a model without a node: cut it at what this one takes."""
        graph = self.graph
        taken: list[str] = []
        for name in node.inputs:
            producer = graph.producer(name)
            if producer is not None and graph.is_dequantize(producer):
                name = producer.inputs[0]
            if name and graph.producer(name) is not None:
                taken.append(name)
        if not taken:
            return None
        names = shlex.quote(",".join(dict.fromkeys(taken)))
        return f"--outputs {names} cuts the model before it"

    def returned(self, name: str) -> Value:
        """An output as the file has it: in the order of its dimensions, and real
        numbers as float32."""
        value = self.value(name, self.site)
        place = Origin(name, self.site.location, self.site.error)
        value = self.builder.in_order(value, identity(len(value.order)), place)
        if self.narrow.get(name) in CODED:
            emit = self.builder.emitter(place)
            return replace(value, ssa=NARROW[self.narrow[name]].coded(emit, value.ssa))
        return self.builder.dequantized(value, place) if value.is_real else value

    # What `Importer` promises to the importers of nodes

    def value(self, name: str, site: Site) -> Value:
        if name not in self.values:
            producer = self.graph.producer(name)
            if producer is not None and self.graph.is_dequantize(producer):
                self.values[name] = self.dequantized_constant(producer)
                return self.values[name]
            if name in self.graph.constants:
                raise site.error(f"{name!r} is a constant, which is not supported here")
            raise site.error(f"{name!r} is used before it is computed")
        return self.values[name]

    def dequantized_constant(self, producer: Node) -> Value:
        """Real numbers of a constant that more than one scale describes."""
        context = NodeContext(self, producer)
        array = dequantized(context)
        ssa = self.builder.constant(array, f32, context.place())
        return Value(ssa, identity(array.ndim), is_real=True)

    def define(self, name: str, value: Value, site: Site) -> None:
        if name in self.values:
            raise site.error(f"{name!r} is computed a second time")
        self.values[name] = value

    def skip(self, node: Node) -> None:
        self.skipped.add(node)
