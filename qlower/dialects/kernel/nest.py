"""The loop nest and its regions.

The file is long because the nest is one op: its text, its reference and its checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineMap,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..integers import integers, segment_sizes, values_of
from ..operations import operations_in
from ..types import element_type
from .copy import CopyOp
from .maps import verify_maps
from .memory import BoxAttr, ScratchAttr, UnstoredAttr, verified_shape, verify_buffers
from .regions import verify_captured, verify_outside_reduction, verify_region
from .schedule import verify_schedule
from .text import (
    parse_integers,
    parse_operands,
    parse_result_types,
    parse_tail,
    print_operands,
    print_result_types,
    print_tail,
)

KEPT_CHANNELS = "kept_channels"


@irdl_op_definition
class NestOp(IRDLOperation):
    """One native loop nest; see the module's docstring for what it computes.

    ```mlir
    %y = kernel.nest contraction parallel [4, 8] reduction [16]
        maps [affine_map<(d0, d1, d2) -> (d0, d2)>,
              affine_map<(d0, d1, d2) -> (d1, d2)>,
              affine_map<(d0, d1, d2) -> (d0, d1)>]
        ins(%x, %w : tensor<4x16xi8>, tensor<8x16xi8>)
        init {
        ^bb0(%a: i8, %b: i8):
          %zero = arith.constant 0 : i32
          kernel.yield %zero : i32
        } body {
        ^bb0(%a: i8, %b: i8, %accumulator: i32):
          ...
          kernel.yield %sum : i32
        } epilogue {
        ^bb0(%a: i8, %b: i8, %accumulator: i32):
          %q = fixed.saturate %accumulator : i32 to i8
          kernel.yield %q : i8
        } -> tensor<4x8xi8>
    ```

    - `maps`: one per input, then one per result; linear in the loops.
    - The map of a result names each parallel loop exactly once (one of trip count 1 may
      be left out), otherwise has constants 0: every element is written exactly once.
    - An input whose map depends on a reduction loop is used in `body` only.
    - `tables`: whole tensors that the regions read by `tensor.extract`. They and
      nothing else are referenced from above.
    - `family`: the loop skeleton that runs the nest, for speed and not for meaning. The
      code generator recognises it (`codegen.nests.recognise`) and takes no other.
      `contraction`: one i32 accumulator plus the product of two i8 inputs, each widened
      and maybe less a zero point: an activation, and a constant weight, which alone is
      moved by the parallel loop that moves the results' last axis. An activation of i16
      has no zero point, nor its weight, and the accumulator may be wider.
      `depthwise`: the same, but that loop moves both, and the others the activation
      alone; up to 128 products.
      `window`: another reduction where all parallel loops move the first input that is
      no constant, whose indices combine loops (pools).
      `row`: the same with plain axes as indices (mean, sum, maximum, arg_max).
      `map`: no reduction. `loop`: anything else.
    - `attributes {kept_channels = array<i64: 0, 3>}`: of the last axis of what the
      model's layer gives, these elements alone are computed (pass drop-channels).
    - `scratch`: memory in the arena that the nest's code needs while it runs, after the
      result types and buffers: `scratch #kernel.scratch<64, 512>`. With 0 bytes the
      code has to do without.
    - `schedule`: how a contraction is cut, `schedule #kernel.tile<12, 2>` before the
      result types; for speed, too.
    """

    name = "kernel.nest"

    FAMILIES: ClassVar = (
        "contraction",
        "depthwise",
        "window",
        "row",
        "map",
        "loop",
    )

    inputs = var_operand_def(base(TensorType[Attribute]))
    tables = var_operand_def(base(TensorType[Attribute]))
    family = prop_def(StringAttr)
    parallel = prop_def(DenseArrayBase.constr(i64))
    reduction = prop_def(DenseArrayBase.constr(i64))
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    schedule = opt_prop_def(Attribute)
    buffers = opt_prop_def(ArrayAttr[Attribute])
    scratch = opt_prop_def(ScratchAttr)
    init = region_def()
    body = region_def()
    epilogue = region_def("single_block")
    res = var_result_def(base(TensorType[Attribute]))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        tables: Sequence[SSAValue],
        family: str,
        parallel: Sequence[int],
        reduction: Sequence[int],
        maps: Sequence[AffineMap],
        init: Region,
        body: Region,
        epilogue: Region,
        result_types: Sequence[Attribute],
    ):
        # The base class would first ask what each argument is, for most of the time.
        Operation.__init__(
            self,
            operands=[*inputs, *tables],
            result_types=result_types,
            properties={
                "family": StringAttr(family),
                "parallel": integers(parallel),
                "reduction": integers(reduction),
                "indexing_maps": ArrayAttr(AffineMapAttr(m) for m in maps),
                "operandSegmentSizes": segment_sizes(len(inputs), len(tables)),
            },
            regions=[init, body, epilogue],
        )

    def rebuilt(
        self,
        *,
        inputs: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        init: Region,
        body: Region,
        epilogue: Region,
        tables: Sequence[SSAValue] | None = None,
        result_types: Sequence[Attribute] | None = None,
    ) -> NestOp:
        """A nest with the same loops, family and location, not inserted anywhere
        yet."""
        new = NestOp(
            inputs,
            self.tables if tables is None else tables,
            self.family.data,
            self.parallel_bounds,
            self.reduction_bounds,
            maps,
            init,
            body,
            epilogue,
            self.res.types if result_types is None else result_types,
        )
        new.location = self.location
        new.attributes = dict(self.attributes)
        return new

    @property
    def kept_channels(self) -> tuple[int, ...] | None:
        """The channels of its layer that the nest computes, None if all."""
        kept = self.attributes.get(KEPT_CHANNELS)
        return values_of(kept) if isa(kept, DenseArrayBase[IntegerType]) else None

    @property
    def bounds(self) -> tuple[int, ...]:
        """Trip counts of all loops: the parallel ones, then the reduction ones."""
        return (*self.parallel_bounds, *self.reduction_bounds)

    @property
    def parallel_bounds(self) -> tuple[int, ...]:
        return values_of(self.parallel)

    @property
    def reduction_bounds(self) -> tuple[int, ...]:
        return values_of(self.reduction)

    @property
    def input_maps(self) -> tuple[AffineMap, ...]:
        maps = self.indexing_maps.data
        return tuple([map.data for map in maps[: len(maps) - len(self.results)]])

    @property
    def result_maps(self) -> tuple[AffineMap, ...]:
        maps = self.indexing_maps.data
        return tuple([map.data for map in maps[len(maps) - len(self.results) :]])

    @property
    def accumulator_types(self) -> tuple[Attribute, ...]:
        """Types of the accumulators; empty without reduction loops."""
        if not self.init.blocks:
            return ()
        terminator = self.init.block.last_op
        return () if terminator is None else tuple(terminator.operand_types)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.family.data} parallel ")
        printer.print_string(str(list(self.parallel_bounds)))
        if self.reduction_bounds:
            printer.print_string(f" reduction {list(self.reduction_bounds)}")
        printer.print_string(" maps ")
        printer.print_attribute(self.indexing_maps)
        print_operands(printer, (("ins", self.inputs), ("tables", self.tables)))
        for keyword, region in (
            ("init", self.init),
            ("body", self.body),
            ("epilogue", self.epilogue),
        ):
            if region.blocks:
                printer.print_string(f" {keyword} ")
                printer.print_region(region)
        if self.schedule is not None:
            printer.print_string(" schedule ")
            printer.print_attribute(self.schedule)
        print_result_types(printer, self)
        print_tail(self, printer, self.buffers, self.scratch)

    @classmethod
    def parse(cls, parser: Parser) -> NestOp:
        family = parser.parse_identifier(" of the nest's family")
        parser.parse_keyword("parallel")
        parallel = parse_integers(parser)
        reduction = (
            parse_integers(parser) if parser.parse_optional_keyword("reduction") else []
        )
        parser.parse_keyword("maps")
        maps = parser.parse_attribute()
        inputs = parse_operands(parser, "ins")
        tables = parse_operands(parser, "tables")
        init, body = (
            parser.parse_region() if parser.parse_optional_keyword(word) else Region()
            for word in ("init", "body")
        )
        parser.parse_keyword("epilogue")
        epilogue = parser.parse_region()
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            schedule = parser.parse_attribute()
        result_types = parse_result_types(parser)
        op = cls(
            inputs,
            tables,
            family,
            parallel,
            reduction,
            (),
            init,
            body,
            epilogue,
            result_types,
        )
        op.properties["indexing_maps"] = maps
        if schedule is not None:
            op.properties["schedule"] = schedule
        parse_tail(op, parser)
        return op

    def verify_(self) -> None:
        if self.family.data not in self.FAMILIES:
            raise VerifyException(
                f"family '{self.family.data}' is not one of {', '.join(self.FAMILIES)}"
            )
        if any(bound < 1 for bound in self.bounds):
            raise VerifyException(f"trip counts {list(self.bounds)} must be positive")
        if not self.res:
            raise VerifyException("a nest has at least one result")
        verify_schedule(self.family.data, self.schedule)
        verify_buffers(self, self.buffers)
        if self.buffers is not None and any(
            isinstance(buffer, UnstoredAttr) for buffer in self.buffers
        ):
            raise VerifyException("the result of a nest is always stored")
        if self.buffers is not None and BoxAttr() in self.buffers:
            users = [use.operation for result in self.res for use in result.uses]
            copies = [user for user in users if isinstance(user, CopyOp)]
            whole = [copy for copy in copies if copy.takes_whole_source]
            if not len(self.res) == len(users) == len(whole) == 1:
                raise VerifyException("no box: a lone copy must take the whole result")
        verify_maps(
            [verified_shape(value) for value in (*self.inputs, *self.res)],
            [attr.data for attr in self.indexing_maps],
            self.bounds,
            len(self.parallel_bounds),
            len(self.res),
        )
        self._verify_regions()

    def _verify_regions(self) -> None:
        scalars = tuple(element_type(value.type) for value in self.inputs)
        results = tuple(element_type(value.type) for value in self.res)
        accumulators = self.accumulator_types
        if self.reduction_bounds:
            for name, region in (("init", self.init), ("body", self.body)):
                if len(region.blocks) != 1:
                    raise VerifyException(f"a reduction needs one block in {name}")
            if not accumulators:
                raise VerifyException("init must yield at least one accumulator")
            verify_region("init", self.init, scalars, accumulators, YieldOp)
            taken = scalars + accumulators
            verify_region("body", self.body, taken, accumulators, YieldOp)
        elif self.init.blocks or self.body.blocks:
            raise VerifyException("init and body need reduction loops")
        taken = scalars + accumulators
        verify_region("epilogue", self.epilogue, taken, results, YieldOp)
        parallel = len(self.parallel_bounds)
        for name, region in (("init", self.init), ("epilogue", self.epilogue)):
            if region.blocks:
                verify_outside_reduction(name, region, self.input_maps, parallel)
                if any(
                    isinstance(op, IndexOp) and op.dim.value.data >= parallel
                    for op in operations_in(region)
                ):
                    raise VerifyException(f"{name} uses the index of a reduction loop")
        verify_captured(self, self.tables)


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends a region of a nest with the scalars that it gives."""

    name = "kernel.yield"
    traits = traits_def(IsTerminator(), HasParent(NestOp))


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The current index of loop `dim` of the enclosing nest.

    ```mlir
    %i = kernel.index 2 : index
    ```
    """

    name = "kernel.index"

    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(IndexType)
    traits = traits_def(Pure(), HasParent(NestOp))
    assembly_format = "$dim attr-dict `:` type($result)"

    def __init__(self, dim: int):
        super().__init__(
            properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()]
        )

    def verify_(self) -> None:
        nest = self.parent_op()
        assert isinstance(nest, NestOp)
        if not 0 <= self.dim.value.data < len(nest.bounds):
            raise VerifyException(
                f"loop {self.dim.value.data} of a nest with {len(nest.bounds)} loops"
            )
