"""The function of qnn operations that the operators of a file become."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr

from qlower.diagnostics import QlowerError, warn
from qlower.dialects.qnn.attributes import OPEN_SIZES, REMARKS, STATE
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model.entry import main_function
from qlower.model.names import short_names

from ..entry import Entry, takes
from ..graph.values import hint
from ..import_options import ImportOptions, find_output, fit_shape
from ..site import Site
from .context import OperatorContext
from .evaluation import EVALUATORS
from .names import computed_tensors, unique_names
from .operators import IMPORTERS
from .operators.sparse import SPARSEST
from .options import default_options, options_of
from .schema import Model, Operator, Subgraph, Tensor
from .tensor_table import TensorTable
from .types import COMPLEX, OF_COMPLEX, outer_type, tensor_type
from .variables import needed_operators

UNROLLED_BUDGET = 1 << 20
"""The additional budget of loops, which use the same things again and again."""

WIDENED = 4
"""Numbers in a byte of weights, which a DEQUANTIZE makes real one by one."""

DEEPEST_SUBGRAPH = 8
"""Subgraphs inside of each other; the schema lets one run itself."""

COMPILED = {
    "CUSTOM 'edgetpu-custom-op'": (
        "Google's Edge TPU",
        "the file that edgetpu_compiler was given, often of this name without _edgetpu",
    ),
    "CUSTOM 'ethos-u'": ("Arm's Ethos-U", "the file that Vela was given"),
    "CUSTOM 'DISPATCH_OP'": (
        "an NPU",
        "the file that LiteRT's compiler for this NPU was given",
    ),
}
"""Custom operators that are compiled models: for which machine, and what to read in
their place."""

NOTHING_QUANTIZED = (
    "nothing in this model is quantized: contracts without rules for real numbers give"
    " the bits of LiteRT's reference kernels"
)


def build_module(model: Model, options: ImportOptions) -> ModuleOp:
    """The model as a module with one function, `main`."""
    return _GraphImporter(model, options).build()


def find_problems(model: Model, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps the model from being imported, in the file's order.

    What an operator would give that can't be imported is taken to be as the file says.
    """
    importer = _GraphImporter(model, options, problems := [])
    try:
        importer.build()
    except QlowerError as error:
        problems.append(error)
    return problems


class _GraphImporter(TensorTable):
    """The function under construction, and how it goes on."""

    def __init__(
        self,
        model: Model,
        options: ImportOptions,
        problems: list[QlowerError] | None = None,
    ) -> None:
        site = Site(model.filename, 0, "model")
        names = unique_names(model)
        super().__init__(cut_model(model, options.outputs, names), names, site)
        if any(operator.name == "WHILE" for operator in model.operators):
            self.budget.left += UNROLLED_BUDGET
        if any(operator.name == "DEQUANTIZE" for operator in model.operators):
            self.budget.left += WIDENED * model.size
        if any(operator.name == "DENSIFY" for operator in model.operators):
            self.budget.left += SPARSEST * model.size
        self.whole = model
        self.problems = problems
        self.unknown: set[int] = set()
        self.places: dict[tuple[int, int], int] = {}
        self.depth = 0
        named = {signature.subgraph for signature in model.signatures}
        self.left_out = model.others.keys() - named
        inputs = {names[i]: i for i in self.model.inputs if i in names}
        given = inputs | {
            name: index
            for name, index in model.arguments.items()
            if index in inputs.values() and name not in inputs
        }
        options.check_inputs(inputs, given)
        for name, shape in options.shapes.items():
            if self.shapes.setdefault(given[name], shape) != shape:
                other = list(self.shapes[given[name]])
                raise QlowerError(
                    f"input {name!r} has two names, by which it is given the shapes"
                    f" {other} and {list(shape)}"
                )

    def build(self) -> ModuleOp:
        model = self.model
        self.warn_of_ignored_axes()
        inputs = [self.tensor(index, self.site) for index in model.inputs]
        is_open = any(-1 in t.signature and t.index not in self.shapes for t in inputs)
        for tensor in inputs:
            with self.attempt([tensor.index]):
                self.add_input(tensor)
        for operator in model.operators:
            if not self.unknown.isdisjoint(operator.inputs) and is_known(operator):
                self.unknown.update(operator.outputs)
                continue
            with self.attempt(operator.outputs):
                self.import_operator(operator)
        if self.problems:
            raise self.problems.pop()
        outputs = [self.tensor(index, self.site) for index in model.outputs]
        returned = [
            (
                self.name(tensor),
                self.value(tensor, outer_type(tensor, self.site), self.site),
            )
            for tensor in outputs
        ]
        if self.left_out:
            listed = ", ".join(map(str, sorted(self.left_out)))
            warn(f"the model doesn't run subgraph {listed}", self.site.location)
        states = self.states
        names = [*map(self.name, inputs), *states.names]
        returned += zip(states.names, states.left, strict=True)
        module = self.builder.module(names, returned, self.site, "tflite")
        if states.names:
            main_function(module).attributes[STATE] = states.initial
        if not _is_quantized(module):
            remark = StringAttr(NOTHING_QUANTIZED)
            module.attributes[REMARKS] = ArrayAttr([remark])
        if is_open:
            module.attributes[OPEN_SIZES] = UnitAttr()
        return module

    def way_out(self, operator: Operator) -> str:
        """The advice for a model without an operator: cut it at what this one takes."""
        computed = computed_tensors(self.whole, self.names)
        short = dict(zip(computed, short_names([*computed.values()]), strict=True))
        taken = [
            short[index]
            for index in operator.inputs
            if index in short and self._can_be_output(self.whole.tensors[index])
        ]
        if not taken:
            return "nothing is before it to cut the model at: convert it without this"
        return f"--outputs {shlex.quote(','.join(taken))} cuts the model before it"

    def _can_be_output(self, tensor: Tensor) -> bool:
        """Whether there is a type for it, as for no handle of a variable."""
        try:
            outer_type(tensor, self.site)
        except QlowerError:
            return False
        return True

    def add_input(self, tensor: Tensor) -> None:
        self.check_given_shape(tensor)
        if self.constant(tensor, self.site) is not None:
            raise self.site.error(f"{tensor}: an input that is a constant")
        type = outer_type(tensor, self.site)
        argument = self.block.insert_arg(type, len(self.block.args))
        argument.location = self.named_location(tensor, self.site)
        if tensor.is_variable:
            # What a call leaves there is never seen: the next one is given another.
            self.states.write(self.name(tensor), hint(argument, self.name(tensor)))
        else:
            self.define(tensor, argument, self.site)

    def check_given_shape(self, tensor: Tensor) -> None:
        """Refuse another rank than the file's, or a size where the file has its own."""
        shape = self.shapes.get(tensor.index)
        file = self.whole.tensors[tensor.index]
        open_shape = file.signature or file.shape
        if shape is not None and shape != file.shape:
            declared = [None if size == -1 else size for size in open_shape]
            fit_shape(str(tensor), shape, declared, self.site.error)

    @contextmanager
    def attempt(self, tensors: Sequence[int]) -> Generator[None]:
        """Run a step that gives values to tensors. Where problems are collected, an
        error is collected too, and the tensors are taken to have values all the
        same."""
        try:
            yield
        except QlowerError as error:
            if self.problems is None:
                raise
            self.problems.append(error)
            for index in tensors:
                self.assume(index)

    def assume(self, index: int) -> None:
        """Take a tensor to be computed somehow, if its type can be said at all."""
        if index in self.computed or index in self.known:
            return
        try:
            tensor = self.tensor(index, self.site)
            type = tensor_type(tensor, self.site)
        except QlowerError:
            self.unknown.add(index)
        else:
            self.computed[index] = self.block.insert_arg(type, len(self.block.args))

    def import_operator(self, operator: Operator) -> None:
        name = operator.name
        entry, evaluator = entry_of(name), EVALUATORS.get(name)
        if entry is None:
            known = len(IMPORTERS.keys() | EVALUATORS.keys())
            what, before = COMPILED.get(name, (None, None))
            raise self.context(operator, None).error(
                f"this operator is not supported; {known} others are"
                if what is None
                else f"this is a program for {what}, and says nothing about arithmetic",
                help=before and f"read {before}",
            )
        context = self.context(operator, options := options_of(name))
        operands = len(operator.inputs)
        for number, index in enumerate((*operator.inputs, *operator.outputs)):
            if index == -1:
                continue
            tensor = self.tensor(index, context)
            if tensor.type == COMPLEX and name not in OF_COMPLEX:
                raise context.error(
                    f"{tensor}: type {COMPLEX} is not supported by {name}; expected"
                    f" one of {', '.join(OF_COMPLEX)}"
                )
            if number < operands and tensor.quantization is not None:
                self.budget.charge(len(tensor.quantization.scales))
        entry.check_counts(context)
        if options is not None and operator.options_kind not in (None, options):
            raise context.error(
                f"options of kind {operator.options_kind}, expected {options}"
            )
        if evaluator is not None and evaluator.applies(context):
            for number, array in enumerate(evaluator.results(context)):
                result = context.output(number)
                if result.is_variable and name == "DEQUANTIZE":
                    # LiteRT widens a constant in the first call only.
                    self.initial[result.index] = array.tobytes()
                else:
                    self.know(result, array.tobytes(), array.shape, context)
        else:
            entry.build(context)

    def context(self, operator: Operator, options_kind: str | None) -> OperatorContext:
        options = (
            operator.options
            if options_kind is None
            else {**default_options(options_kind), **operator.options}
        )
        return OperatorContext(self, self.model.filename, operator, options)

    def warn_of_ignored_axes(self) -> None:
        """Some converters number the scales of a bias by the dimension of the weights.

        No kernel reads them, but LiteRT refuses the file while TFLite Micro takes it.
        """
        slips = [
            tensor
            for tensor in self.model.tensors
            if tensor.type == "INT32"
            and tensor.shape
            and tensor.quantization is not None
            and not 0 <= tensor.quantization.axis < len(tensor.shape)
        ]
        if slips:
            count = (
                "1 INT32 tensor has"
                if len(slips) == 1
                else (f"{len(slips)} INT32 tensors have")
            )
            warn(
                f"{count} a quantized dimension outside of the shape, which is ignored;"
                f" the first is {slips[0]}",
                self.site.location,
            )

    def subgraph(self, number: int, site: Site) -> Subgraph:
        others = self.model.others
        if number not in others:
            numbers = ", ".join(map(str, sorted(others))) or "none"
            raise site.error(f"subgraph {number} is not another one of: {numbers}")
        self.left_out.discard(number)
        return others[number]

    def inline(self, number: int, arguments: Sequence[int], site: Site) -> list[int]:
        """Operators of a subgraph become the function's, with tensors of their own."""
        subgraph = self.subgraph(number, site)
        if len(subgraph.inputs) != len(arguments):
            raise site.error(
                f"subgraph {number} takes {len(subgraph.inputs)} tensors, not"
                f" {len(arguments)}"
            )
        if self.depth == DEEPEST_SUBGRAPH:
            raise site.error(f"subgraphs that run each other {self.depth} deep")
        places = dict(zip(subgraph.inputs, arguments, strict=True))

        def place(index: int) -> int:
            if index != -1 and index not in places:
                places[index] = self.add_tensor(number, subgraph, index, site)
            return places.get(index, index)

        self.depth += 1
        try:
            for operator in subgraph.operators:
                self.import_operator(
                    replace(
                        operator,
                        inputs=tuple(map(place, operator.inputs)),
                        outputs=tuple(map(place, operator.outputs)),
                        intermediates=tuple(map(place, operator.intermediates)),
                    )
                )
        finally:
            self.depth -= 1
        return [place(index) for index in subgraph.outputs]

    def add_tensor(
        self, number: int, subgraph: Subgraph, index: int, site: Site
    ) -> int:
        """A tensor of a subgraph among the function's; each constant is there once."""
        site.check_range("tensor index", index, 0, len(subgraph.tensors) - 1)
        if (number, index) in self.places:
            return self.places[number, index]
        tensor = self.added(subgraph.tensors[index])
        if self.constant(tensor, site) is not None or tensor.is_variable:
            self.places[number, index] = tensor.index
        return tensor.index


def cut_model(model: Model, outputs: Sequence[str], names: dict[int, str]) -> Model:
    """The model up to these tensors, without what they don't depend on."""
    if not outputs:
        return model
    computed = computed_tensors(model, names)
    known = [*computed.values()]
    returned = tuple([*computed][find_output(name, known)] for name in outputs)
    kept = sorted(needed_operators(model, returned))
    operators = tuple(model.operators[place] for place in kept)
    read = {index for operator in operators for index in operator.inputs}
    return replace(
        model,
        operators=operators,
        inputs=tuple(i for i in model.inputs if i in read.union(returned)),
        outputs=returned,
    )


def _is_quantized(module: ModuleOp) -> bool:
    """Whether any value of the function has a scale."""
    block = main_function(module).body.block
    values = (value for op in block.ops for value in op.results)
    return any(
        isinstance(element_type(value.type), QuantizedType)
        for value in (*block.args, *values)
    )


def entry_of(name: str) -> Entry[OperatorContext] | None:
    """The entry that imports an operator; it refuses one that is only evaluated."""
    evaluator = EVALUATORS.get(name)
    if name in IMPORTERS or evaluator is None:
        return IMPORTERS.get(name)
    return takes(evaluator.signature, _refuse)


def _refuse(op: OperatorContext) -> None:
    raise op.error("this operator is supported for constant operands only")


def is_known(operator: Operator) -> bool:
    """Whether the operator is supported, for some operands at least."""
    return operator.name in IMPORTERS or operator.name in EVALUATORS
