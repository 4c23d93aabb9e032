"""A loop over the steps of a sequence, or for as long as its values say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, UnitAttr, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..scopes import own_names
from ..types import AnyTensor, tensor_type
from .memory import (
    ARENA_ALIGNMENT,
    ARENA_BYTES,
    Buffer,
    ScratchAttr,
    byte_size,
    verified_shape,
    verify_buffers,
)
from .text import (
    parse_operands,
    parse_result_types,
    parse_tail,
    print_operands,
    print_result_types,
    print_tail,
)

POINTER_BYTES = 8
"""Room for a pointer, on any target."""


@dataclass(frozen=True)
class StepMemory:
    """Offsets, in bytes, in the memory that the steps of a scan need in addition to
    their operands and results.

    The function's arena comes first, then `seconds`, another buffer for each carried
    value, and `pointers` to the arguments and results of a step.
    """

    seconds: tuple[int, ...]
    pointers: int
    size: int


@irdl_op_definition
class ScanOp(IRDLOperation):
    """Runs a function once for each step of a sequence, one after the other, or `while`
    it asks for another step.

    With S steps, values `carried` from each step to the next, and sequences `over`
    whose first axis is the step,

        for t = 0 ... S - 1 (`reversed`: S - 1 ... 0):
            carried, parts = step(carried, over[t])
            result[t] = parts

    The results are what is carried after the last step, then the tensors of all parts,
    whose first axis is the step. The function sees no values but its arguments, its own
    constants included; it is at the level of the module, and goes through its passes.

    ```mlir
    %h, %y = kernel.scan 64 carried(%h0 : tensor<1x8xf32>)
        over(%x : tensor<64x1x4xf32>) {
      func.func private @step(%h: tensor<1x8xf32>, %x: tensor<1x4xf32>)
          -> (tensor<1x8xf32>, tensor<1x8xf32>) {
        ...
      }
    } -> tensor<1x8xf32>, tensor<64x1x8xf32>
    ```

    `while` takes the place of the number of steps, which a run decides then: the first
    carried value is an i1, true for another step, and nothing but what is carried goes
    in and out.

        while carried[0]:
            carried = step(carried)

    ```mlir
    %last, %y = kernel.scan while carried(%more, %x : tensor<1xi1>, tensor<8xf32>) {
      func.func private @step(%more: tensor<1xi1>, %x: tensor<8xf32>)
          -> (tensor<1xi1>, tensor<8xf32>) {
        ...
      }
    } -> tensor<1xi1>, tensor<8xf32>
    ```

    `buffers` and `scratch`, by plan-memory, are those of a nest; its scratch has what
    else the steps need (`memory`). A carried value has two buffers, so that no step
    writes where it reads: in turns, or, of a loop of unknown length, one for results.
    """

    name = "kernel.scan"

    STEP: ClassVar = "step"

    carried = var_operand_def(base(TensorType[Attribute]))
    over = var_operand_def(base(TensorType[Attribute]))
    steps = opt_prop_def(IntegerAttr.constr(i64))
    is_reversed = opt_prop_def(UnitAttr, prop_name="reversed")
    buffers = opt_prop_def(ArrayAttr[Attribute])
    scratch = opt_prop_def(ScratchAttr)
    body = region_def("single_block")
    res = var_result_def(base(TensorType[Attribute]))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), NoTerminator())

    def __init__(
        self,
        steps: int | None,
        carried: Sequence[SSAValue],
        over: Sequence[SSAValue],
        body: Region,
        result_types: Sequence[Attribute],
        *,
        is_reversed: bool = False,
    ):
        super().__init__(
            operands=[carried, over],
            result_types=[result_types],
            properties={
                "steps": None if steps is None else IntegerAttr(steps, i64),
                "reversed": UnitAttr() if is_reversed else None,
            },
            regions=[body],
        )

    @property
    def function(self) -> FuncOp:
        """The function of one step."""
        function = self.body.block.first_op
        assert isinstance(function, FuncOp)
        return function

    @property
    def parts(self) -> Sequence[SSAValue]:
        """The results that have a part of each step."""
        return self.res[len(self.carried) :]

    @property
    def is_open(self) -> bool:
        """Whether a run decides how many steps there are."""
        return self.steps is None

    @property
    def count(self) -> int:
        """The number of steps, taken to be 1 where a run decides it."""
        return 1 if self.steps is None else self.steps.value.data

    @property
    def memory(self) -> StepMemory:
        """The layout of the memory that a step needs, once the function has a plan."""
        arena = self.function.attributes.get(ARENA_BYTES)
        assert isinstance(arena, IntegerAttr), "plan-memory has not run"
        end = arena.value.data
        seconds: list[int] = []
        for value in self.carried:
            seconds.append(_aligned(end))
            end = seconds[-1] + byte_size(tensor_type(value))
        pointers = _aligned(end)
        count = len(self.operands) + len(self.res)
        return StepMemory(tuple(seconds), pointers, pointers + POINTER_BYTES * count)

    @property
    def first_scratch(self) -> int:
        """The offset of the first scratch memory in the arena."""
        assert self.scratch is not None, "plan-memory has not run"
        return self.scratch.offset.data

    def print(self, printer: Printer) -> None:
        printer.print_string(" while" if self.is_open else f" {self.count}")
        if self.is_reversed is not None:
            printer.print_string(" reversed")
        print_operands(printer, (("carried", self.carried), ("over", self.over)))
        printer.print_string(" ")
        printer.print_region(self.body)
        print_result_types(printer, self)
        print_tail(self, printer, self.buffers, self.scratch)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        is_open = parser.parse_optional_keyword("while") is not None
        steps = None if is_open else parser.parse_integer(allow_negative=False)
        is_reversed = parser.parse_optional_keyword("reversed") is not None
        carried = parse_operands(parser, "carried")
        over = parse_operands(parser, "over")
        with own_names(parser):
            body = parser.parse_region()
        types = parse_result_types(parser)
        op = cls(steps, carried, over, body, types, is_reversed=is_reversed)
        parse_tail(op, parser)
        return op

    def verify_(self) -> None:
        if self.count < 1:
            raise VerifyException(f"{self.count} steps, expected at least 1")
        if self.is_open:
            self._verify_open()
        ops = list(self.body.block.ops)
        if len(ops) != 1 or not isinstance(ops[0], FuncOp) or ops[0].is_declaration:
            raise VerifyException("the region must have one function and nothing else")
        if len(ops[0].body.blocks) != 1:
            raise VerifyException("the function of a step must have one block")
        for value in (*self.over, *self.parts):
            shape = verified_shape(value)
            if not shape or shape[0] != self.count:
                raise VerifyException(
                    f"{value.type} must have {self.count} steps as its first axis"
                )
        if not self.operands:
            raise VerifyException("nothing is carried, and there is no sequence")
        types = self.function.function_type
        carried = [value.type for value in self.carried]
        for what, found, expected in (
            (
                "takes",
                types.inputs.data,
                [*carried, *map(of_step, map(tensor_type, self.over))],
            ),
            (
                "gives",
                types.outputs.data,
                [*carried, *map(of_step, map(tensor_type, self.parts))],
            ),
        ):
            if list(found) != expected:
                raise VerifyException(
                    f"the function {what} ({', '.join(map(str, found))}), expected "
                    f"({', '.join(map(str, expected))})"
                )
        for value, result in zip(self.carried, self.res, strict=False):
            if value.type != result.type:
                raise VerifyException(
                    f"carried {value.type} differs from its result {result.type}"
                )
        verify_buffers(self, self.buffers)
        if self.buffers is not None and not all(
            isinstance(buffer, Buffer) for buffer in self.buffers
        ):
            raise VerifyException("a result of a scan lies in the arena or an output")

    def _verify_open(self) -> None:
        if self.over or self.parts or self.is_reversed is not None:
            raise VerifyException("a loop of unknown length has no sequences")
        first = tensor_type(self.carried[0]) if self.carried else None
        if first is None or first.element_type != i1 or prod(first.get_shape()) != 1:
            raise VerifyException("the first carried value must be one i1")


def _aligned(size: int) -> int:
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def of_step(sequence: AnyTensor) -> AnyTensor:
    """The type of one step of a sequence."""
    return TensorType(sequence.element_type, sequence.get_shape()[1:])
