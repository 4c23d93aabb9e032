"""The arithmetic of a layer as scalar functions of integers at the arith level.

Such a function is a straight line of operations in one block. Its first arguments
change with the model's input; those after them are constants of the layer that differ
from lane to lane, mostly multipliers and shifts that differ from channel to channel.
Attributes of arguments say which integers each of them is:

    func.func @conv1(
        %accumulator: i32 {qlower.low = array<i64: -900, -400>,
                           qlower.high = array<i64: 800, 512>},
        %multiplier: i32 {qlower.low = array<i64: 1340, 1275>,
                          qlower.high = array<i64: 1340, 1275>}) -> i32

An array has an entry for each lane, or one entry for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerType,
    ModuleOp,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from qlower.contracts.rules import RULES
from qlower.diagnostics import QlowerError
from qlower.dialects.types import element_type, integer_range
from qlower.emit.inline_rule import inline_rule
from qlower.emit.scalar_function import ScalarBody
from qlower.interp import Array
from qlower.interp.values import dtype_of
from qlower.model.nests import constant, dense, scalar_constant
from qlower.observe.layer_data import ROLES
from qlower.observe.layer_run import LayerRun
from qlower.text.hints import set_hint
from qlower.transforms.scalar_ranges import HIGH, LOW
from qlower.verification.functions import Lanes, RuleFunction
from qlower.verification.questions import Question, questions

LARGEST_TABLE = 1 << 8
"""Numbers of one argument for which a function with steps in floats is a table."""

CHANNEL, LANE = "channel", "lane"
"""The argument that chooses a lane: a channel, or an entry of the layer's list."""

OPERAND = "operand"
"""The argument for the value that rules call `input`."""


@dataclass(frozen=True)
class Argument:
    """An argument: `low` and `high` are its least and greatest integer, [lane] or [1].

    It is a `parameter` if it is known before the model runs: then they are equal.
    """

    name: str
    low: Array
    high: Array
    parameter: bool = False


@dataclass(frozen=True)
class ScalarFunction:
    """A rule of a layer as a function of integers: `function`, in a module of its own.

    `lanes` maps elements of the result to their constants; `rule` is the same function
    as the interpreter has it, of lanes and numbers of a domain. `order` has the lane of
    each entry of the arguments' bounds: of each channel, where nothing depends on other
    positions.
    """

    name: str
    contract: str
    rule_name: str
    function: func.FuncOp
    arguments: tuple[Argument, ...]
    question: Question
    order: Array
    is_table: bool = False

    @property
    def lanes(self) -> Lanes:
        """The lanes of the layer's elements."""
        return self.question.lanes

    @property
    def rule(self) -> RuleFunction:
        """The function by the interpreter."""
        return self.question.functions[0]

    @property
    def runtime(self) -> tuple[Argument, ...]:
        """The arguments that change with the model's input."""
        return tuple(one for one in self.arguments if not one.parameter)

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The arguments that are constants of a lane."""
        return tuple(one for one in self.arguments if one.parameter)

    @property
    def lane_count(self) -> int:
        """The number of lanes."""
        return len(self.order)

    @property
    def selector(self) -> str:
        """The name of the argument that chooses a lane."""
        return CHANNEL if is_by_channel(self.lanes) else LANE


def layer_functions(name: str, run: LayerRun) -> list[ScalarFunction]:
    """The functions of a layer's rules that are computed when the model runs.

    Raises `QlowerError` for a layer whose rules are no functions of a few integers.
    """
    if not run.evaluations:
        raise QlowerError(
            f"layer {name}: {run.op.name} has no arithmetic: "
            "it moves or compares elements"
        )
    asked = questions((run, run))
    if isinstance(asked, str):
        raise QlowerError(f"layer {name}: {asked}")
    found: list[ScalarFunction] = []
    for number, question in enumerate(asked):
        own = name if len(asked) == 1 else f"{name}_{number}"
        found.append(_function(own, run.contract.name, question))
    return found


def is_by_channel(lanes: Lanes) -> bool:
    """Whether an element's lane depends on its place along the last axis alone."""
    return lanes.of.size == (lanes.of.shape[-1] if lanes.of.shape else 1)


def _function(name: str, contract: str, question: Question) -> ScalarFunction:
    rule, lanes = question.functions[0], question.lanes
    order = np.arange(len(lanes.places))
    if is_by_channel(lanes):
        order = lanes.of.reshape(-1)
    ends = [rule.given(question.domain.lanes, end) for end in _ends(question)]
    signature = RULES[rule.rule.name]
    given = [key for key in ends[0] if key in rule.rule.values]
    runtime: list[Argument] = []
    for key in given:
        type = signature.runtime[key]
        if not isinstance(type, IntegerType):
            raise QlowerError(
                f"rule {rule.rule.name} of contract {contract} takes {key} as {type}, "
                "a circuit has integers only"
            )
        low, high = (np.asarray(end[key]).astype(np.int64).reshape(-1) for end in ends)
        if (high < low).any():  # sums wrap
            low, high = (np.array([end]) for end in integer_range(type.bitwidth))
        if len(low) > 1:
            low, high = low[order], high[order]
        runtime.append(Argument(port_name(key), *_joined(low, high)))
    constants = {
        key: value[order] if value.ndim else value
        for key, value in rule.constants.items()
        if key not in ends[0]
    }
    body = LaneBody(constants)
    values = {
        key: body.argument(signature.runtime[key], one.name)
        for key, one in zip(given, runtime, strict=True)
    }
    results = inline_rule(rule.rule, values, constants, body)
    real = first_real(body)
    if real is not None:
        return _table(name, contract, question, order, runtime, real)
    arguments = (*runtime, *body.parameters())
    function = body.function(identifier(name), results)
    annotate(function, arguments)
    return ScalarFunction(
        name, contract, rule.rule.name, function, arguments, question, order
    )


def _ends(question: Question) -> tuple[Array, Array]:
    return question.domain.low, question.domain.high


def _joined(low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of lanes, as one where they are the same everywhere."""
    if len(low) and (low == low[0]).all() and (high == high[0]).all():
        return low[:1], high[:1]
    return low, high


def port_name(value: str) -> str:
    """The port for a value that rules are given, whose name may be a word of
    SystemVerilog."""
    return {"input": OPERAND, "real": "real_number", "cell": "cell_state"}.get(
        value, value
    )


def identifier(name: str) -> str:
    """A name as Verilog, C and MLIR take it."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_")
    return text if text[:1].isalpha() else f"f_{text}"


class LaneBody(ScalarBody):
    """The body of a function of scalars; constants that differ from lane to lane become
    arguments."""

    def __init__(self, constants: Mapping[str, Array]) -> None:
        super().__init__()
        self._names = {id(value): name for name, value in constants.items()}
        self._known: dict[tuple[bytes, Attribute], BlockArgument] = {}
        self._parameters: list[tuple[BlockArgument, Array]] = []

    def _outside(self, op: Operation) -> None:
        self._block.add_op(op)

    def constant(
        self, values: Array, type: Attribute, loops: Sequence[int] | None = None
    ) -> SSAValue:
        """A number, or an argument where it differs from lane to lane."""
        array = np.asarray(values, dtype_of(type)).reshape(-1)
        if array.tobytes() == array[:1].tobytes() * array.size:
            return self.add(scalar_constant(array[0], type)).result
        key = array.tobytes(), type
        if key not in self._known:
            found = self._known[key] = self.argument(type, self._names.get(id(values)))
            self._parameters.append((found, array))
        return self._known[key]

    @property
    def arguments(self) -> Sequence[BlockArgument]:
        """The arguments so far."""
        return self._block.args

    @property
    def ops(self) -> Sequence[Operation]:
        """The operations so far."""
        return tuple(self._block.ops)

    def parameters(self) -> list[Argument]:
        """The arguments that differ from lane to lane, named by what they are for."""
        self.name_arguments([argument for argument, _ in self._parameters])
        found: list[Argument] = []
        for argument, array in self._parameters:
            numbers = array.astype(np.int64)
            if argument.type == i1:
                numbers = -numbers
            name = argument.name_hint or ""
            found.append(Argument(name, numbers, numbers, True))
        return found

    def name_arguments(self, arguments: Sequence[SSAValue]) -> None:
        """Give arguments without a name, or with that of another one, one that says
        what the first step does with it."""
        taken = {one.name_hint for one in self._block.args if one not in arguments}
        for argument in arguments:
            role = argument.name_hint or _role(argument)
            names = (role, *(f"{role}_n{n}" for n in range(1, len(arguments) + 1)))
            argument.name_hint = next(one for one in names if one not in taken)
            taken.add(argument.name_hint)

    def function(self, name: str, results: Sequence[SSAValue]) -> func.FuncOp:
        """The function that returns `results`, in a module of its own."""
        function = super().function(name, results)
        ModuleOp([function])
        return function


def _role(value: SSAValue) -> str:
    """The role of a constant in the first operation that uses it."""
    for use in value.uses:
        roles = ROLES.get(type(use.operation), ())
        if use.index < len(roles):
            return roles[use.index]
        if isinstance(use.operation, arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp):
            return _role(use.operation.result)
    return "constant"


def first_real(body: LaneBody) -> Operation | None:
    """The first step in floats, if there is one."""
    for op in body.ops:
        for value in (*op.operands, *op.results):
            if not isinstance(element_type(value.type), IntegerType | IndexType):
                return op
    return None


def _table(
    name: str,
    contract: str,
    question: Question,
    order: Array,
    runtime: Sequence[Argument],
    real: Operation,
) -> ScalarFunction:
    """A function of one byte as its table, whatever its steps are."""
    rule, domain = question.functions[0], question.domain
    (result,) = rule.rule.function.function_type.outputs
    low, high = int(domain.low.min()), int(domain.high.max())
    if (
        len(runtime) != 1
        or high - low >= LARGEST_TABLE
        or not isinstance(result, IntegerType)
    ):
        raise QlowerError(
            f"rule {rule.rule.name} of contract {contract} has a step in floats, "
            f"{real.name}, which no circuit of integers has",
        )
    numbers = np.arange(low, high + 1, dtype=np.int64)
    lanes = len(order)
    entries = np.concatenate(
        [rule(np.full(len(numbers), lane), numbers) for lane in order]
    )
    body = LaneBody({})
    index = body.argument(i32, runtime[0].name)
    arguments = list(runtime)
    position = body.add(arith.SubiOp(index, body.constant(np.array(low), i32))).result
    if lanes > 1:
        selector = CHANNEL if is_by_channel(question.lanes) else LANE
        lane = body.argument(i32, selector)
        size = body.constant(np.array(len(numbers)), i32)
        first = body.add(arith.MuliOp(lane, size)).result
        position = body.add(arith.AddiOp(first, position)).result
        own = np.arange(lanes)
        arguments.append(Argument(selector, own, own, True))
    place = body.add(arith.IndexCastOp(position, IndexType())).result
    table = body.emitter.constant(entries.astype(np.int32), i32)
    entry = body.add(tensor.ExtractOp(table, [place], i32)).result
    function = body.function(identifier(name), [entry])
    annotate(function, arguments)
    given = tuple(arguments)
    return ScalarFunction(
        name, contract, rule.rule.name, function, given, question, order, True
    )


def with_constants(function: ScalarFunction) -> ScalarFunction:
    """The function with its constants looked up by channel: an argument for all."""
    parameters = function.parameters
    if function.is_table or not parameters:
        return function
    count = len(function.runtime)
    copy = function.function.clone()
    ModuleOp([copy])
    block = copy.body.block
    selector = block.insert_arg(i32, count)
    set_hint(selector, function.selector)
    place = arith.IndexCastOp(selector, IndexType())
    steps: list[Operation] = [place]
    for argument, one in zip(block.args[count + 1 :], parameters, strict=True):
        table = constant(dense(one.low, argument.type))
        entry = tensor.ExtractOp(table.result, [place.result], argument.type)
        argument.replace_all_uses_with(entry.result)
        steps += [table, entry]
    first = block.first_op
    assert first is not None, "a function returns"
    block.insert_ops_before(steps, first)
    for argument in tuple(block.args[count + 1 :]):
        block.erase_arg(argument)
    own = np.arange(function.lane_count)
    arguments = (*function.runtime, Argument(function.selector, own, own, True))
    copy.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], list(copy.function_type.outputs)
    )
    annotate(copy, arguments)
    return replace(function, function=copy, arguments=arguments)


def annotate(function: func.FuncOp, arguments: Sequence[Argument]) -> None:
    """Write the arguments' integers at the function."""
    function.arg_attrs = ArrayAttr(
        DictionaryAttr(
            {
                LOW: DenseArrayBase.from_list(i64, one.low.tolist()),
                HIGH: DenseArrayBase.from_list(i64, one.high.tolist()),
            }
        )
        for one in arguments
    )
