"""The kernel level: one op is one native loop nest.

A function at the kernel level is a straight line of

- `arith.constant` (dense): read-only data of the program,
- `tensor.expand_shape`, `tensor.collapse_shape`: the same bytes seen as another shape,
  no code,
- `kernel.nest`: a loop nest with the arithmetic of the arith level, unchanged,
- `kernel.copy`: data movement (slice, concatenation, padding),
- `func.return`.

All shapes are static and every tensor is stored densely in row-major order, iN in the
next larger power of two of bytes (i1 in one byte), index in eight bytes.

**Nest.** The loops are the `parallel` ones followed by the `reduction` ones, counted
from zero to their trip count; dimension d of all maps and of `kernel.index d` is the
d-th loop in that order. For every point of the parallel loops

```
    scalars      = input[map(point)]                      for each input
    accumulators = init(scalars)
    for every point of the reduction loops, in row-major order:
        accumulators = body(scalars, accumulators)
    result[map(point)] = epilogue(scalars, accumulators)  for each result
```

Without reduction loops there are no accumulators: `init` and `body` are absent (regions
without a block) and `epilogue` gets the scalars only. The accumulators are scalars of
any number and types, independent of the results.

**Copy.** A strided box of the source is written into a strided box of the same sizes of
the result; the elements of the result outside the box are those of the destination
operand, or all one fill value, or unspecified.

**Buffers.** `buffers`, written by the pass plan-memory, tells where each result lives:
`#kernel.arena<n>`: n bytes after the start of the arena, `#kernel.output<k>`: the
caller's buffer of the function's k-th result. Values that share a buffer are never live
at the same time, except where an op may work in place:
- the result of a copy has either the buffer of its destination (only the box is
  written) or one that overlaps no live buffer (all of the result is written);
- a result of a nest without reduction loops may have the buffer of an input that is
  only read by the result's map and has elements of the same size, so that each element
  is read before it is overwritten.
Offsets in the arena are multiples of 64; nothing is known of the alignment of outputs.

A returned value that does not live in its output (an argument, a constant, a value that
is returned twice) is copied there at the return. Outputs overlap neither inputs nor
each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

AnyTensor: TypeAlias = TensorType[Attribute]


@irdl_attr_definition
class ArenaAttr(ParametrizedAttribute):
    """A buffer `offset` bytes after the start of the arena: `#kernel.arena<64>`."""

    name = "kernel.arena"
    offset: IntAttr = param_def(converter=IntAttr.get)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_natural(parser)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.offset.data}>")


@irdl_attr_definition
class OutputAttr(ParametrizedAttribute):
    """The caller's buffer of the function's result `index`: `#kernel.output<0>`."""

    name = "kernel.output"
    index: IntAttr = param_def(converter=IntAttr.get)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_natural(parser)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.index.data}>")


def _parse_natural(parser: AttrParser) -> Sequence[Attribute]:
    with parser.in_angle_brackets():
        return (IntAttr(parser.parse_integer(allow_negative=False)),)


Buffer: TypeAlias = ArenaAttr | OutputAttr


def tensor_type(value: SSAValue) -> AnyTensor:
    """The type of a value that is known to be a tensor, for the type checker."""
    return cast(AnyTensor, value.type)


def byte_size(tensor: AnyTensor) -> int:
    """Bytes that a tensor of static shape occupies in memory."""
    return math.prod(tensor.get_shape()) * element_byte_size(tensor.element_type)


def element_byte_size(element: Attribute) -> int:
    """Bytes of one integer, index or float element of a tensor in memory."""
    match element:
        case IndexType():
            return 8
        case IntegerType():
            return 1 << max(0, (element.width.data - 1).bit_length() - 3)
        case FixedBitwidthType():
            return element.bitwidth // 8
        case _:
            raise ValueError(f"tensors of {element} have no layout in memory")


def linear_form(expression: AffineExpr, dims: int) -> tuple[tuple[int, ...], int]:
    """The coefficient of each of `dims` dimensions, and the constant term.

    Raises ValueError when the expression is not linear in the dimensions.
    """
    match expression:
        case AffineConstantExpr(value):
            return (0,) * dims, value
        case AffineDimExpr(position):
            return tuple(int(d == position) for d in range(dims)), 0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            a, a0 = linear_form(lhs, dims)
            b, b0 = linear_form(rhs, dims)
            return tuple(x + y for x, y in zip(a, b, strict=True)), a0 + b0
        case AffineBinaryOpExpr(
            AffineBinaryOpKind.Mul, lhs, AffineConstantExpr(factor)
        ):
            a, a0 = linear_form(lhs, dims)
            return tuple(x * factor for x in a), a0 * factor
        case _:
            raise ValueError(f"{expression} is not linear in its dimensions")


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
    - `family`: the loop skeleton that suits the nest, for speed and not for meaning.
      `contraction`: one accumulator plus the product of two inputs, activation and
      weight (the constant one, else the second), each possibly widened and less a zero
      point, where some parallel loop moves the weight only.
      `window`: a reduction where all parallel loops move the activation, whose indices
      combine loops (depthwise convolution, pools).
      `row`: the same with plain axes as indices (mean, sum, maximum, arg_max).
      `map`: no reduction. `loop`: anything else.
    """

    name = "kernel.nest"

    FAMILIES: ClassVar = ("contraction", "window", "row", "map", "loop")

    inputs = var_operand_def(base(TensorType[Attribute]))
    tables = var_operand_def(base(TensorType[Attribute]))
    family = prop_def(StringAttr)
    parallel = prop_def(DenseArrayBase.constr(i64))
    reduction = prop_def(DenseArrayBase.constr(i64))
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    buffers = opt_prop_def(ArrayAttr[Attribute])
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
        super().__init__(
            operands=[inputs, tables],
            result_types=[result_types],
            properties={
                "family": StringAttr(family),
                "parallel": DenseArrayBase.from_list(i64, parallel),
                "reduction": DenseArrayBase.from_list(i64, reduction),
                "indexing_maps": ArrayAttr(AffineMapAttr(m) for m in maps),
            },
            regions=[init, body, epilogue],
        )

    @property
    def bounds(self) -> tuple[int, ...]:
        """Trip counts of all loops: the parallel ones, then the reduction ones."""
        return (*self.parallel_bounds, *self.reduction_bounds)

    @property
    def parallel_bounds(self) -> tuple[int, ...]:
        return self.parallel.get_values()

    @property
    def reduction_bounds(self) -> tuple[int, ...]:
        return self.reduction.get_values()

    @property
    def input_maps(self) -> tuple[AffineMap, ...]:
        return tuple(m.data for m in self.indexing_maps)[: len(self.inputs)]

    @property
    def result_maps(self) -> tuple[AffineMap, ...]:
        return tuple(m.data for m in self.indexing_maps)[len(self.inputs) :]

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
        for keyword, values in (("ins", self.inputs), ("tables", self.tables)):
            if values:
                printer.print_string(f" {keyword}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(values.types, printer.print_attribute)
                printer.print_string(")")
        for keyword, region in (
            ("init", self.init),
            ("body", self.body),
            ("epilogue", self.epilogue),
        ):
            if region.blocks:
                printer.print_string(f" {keyword} ")
                printer.print_region(region)
        printer.print_string(" -> ")
        printer.print_list(self.res.types, printer.print_attribute)
        _print_tail(self, printer, self.buffers)

    @classmethod
    def parse(cls, parser: Parser) -> NestOp:
        family = parser.parse_identifier(" of the nest's family")
        parser.parse_keyword("parallel")
        parallel = _parse_integers(parser)
        reduction = (
            _parse_integers(parser)
            if parser.parse_optional_keyword("reduction")
            else []
        )
        parser.parse_keyword("maps")
        maps = parser.parse_attribute()
        inputs = _parse_operands(parser, "ins")
        tables = _parse_operands(parser, "tables")
        init, body = (
            parser.parse_region() if parser.parse_optional_keyword(word) else Region()
            for word in ("init", "body")
        )
        parser.parse_keyword("epilogue")
        epilogue = parser.parse_region()
        parser.parse_punctuation("->")
        result_types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
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
        _parse_tail(op, parser)
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
        _verify_buffers(self, self.buffers)
        self._verify_maps()
        self._verify_regions()

    def _verify_maps(self) -> None:
        shaped = (*self.inputs, *self.res)
        if len(self.indexing_maps) != len(shaped):
            raise VerifyException(
                f"{len(self.indexing_maps)} maps for {len(shaped)} inputs and results"
            )
        for index, (value, attr) in enumerate(
            zip(shaped, self.indexing_maps, strict=True)
        ):
            shape = _shape(value)
            map = attr.data
            if map.num_dims != len(self.bounds) or map.num_symbols:
                raise VerifyException(
                    f"map #{index} is over {map.num_dims} dimensions and "
                    f"{map.num_symbols} symbols, the nest has {len(self.bounds)} loops"
                )
            if len(map.results) != len(shape):
                raise VerifyException(
                    f"map #{index} gives {len(map.results)} indices for a tensor of "
                    f"rank {len(shape)}"
                )
            for axis, (expression, size) in enumerate(
                zip(map.results, shape, strict=True)
            ):
                low, high = self._range(expression, index)
                if low < 0 or high >= size:
                    raise VerifyException(
                        f"map #{index} reaches indices {low} to {high} of axis {axis}, "
                        f"legal are 0 to {size - 1}"
                    )
        for index, (value, map) in enumerate(
            zip(self.res, self.result_maps, strict=True)
        ):
            self._verify_written_once(index, _shape(value), map)

    def _range(self, expression: AffineExpr, index: int) -> tuple[int, int]:
        """The least and the greatest value of an index over the whole nest."""
        try:
            coefficients, constant = linear_form(expression, len(self.bounds))
        except ValueError as error:
            raise VerifyException(f"map #{index}: {error}") from error
        ends = [
            coefficient * (bound - 1)
            for coefficient, bound in zip(coefficients, self.bounds, strict=True)
        ]
        return (
            constant + sum(end for end in ends if end < 0),
            constant + sum(end for end in ends if end > 0),
        )

    def _verify_written_once(
        self, index: int, shape: Sequence[int], map: AffineMap
    ) -> None:
        named = {e.position for e in map.results if isinstance(e, AffineDimExpr)}
        needed = {d for d, bound in enumerate(self.parallel_bounds) if bound > 1}
        sizes = [
            self.bounds[e.position] if isinstance(e, AffineDimExpr) else 1
            for e in map.results
        ]
        loops = sum(isinstance(e, AffineDimExpr) for e in map.results)
        if (
            not needed <= named <= set(range(len(self.parallel_bounds)))
            or loops != len(named)
            or sizes != list(shape)
        ):
            raise VerifyException(
                f"the map of result #{index}, {map}, must name each parallel loop "
                f"once and cover the shape {list(shape)}"
            )

    def _verify_regions(self) -> None:
        scalars = tuple(_element_type(value) for value in self.inputs)
        results = tuple(_element_type(value) for value in self.res)
        accumulators = self.accumulator_types
        if self.reduction_bounds:
            for name, region in (("init", self.init), ("body", self.body)):
                if len(region.blocks) != 1:
                    raise VerifyException(f"a reduction needs one block in {name}")
            if not accumulators:
                raise VerifyException("init must yield at least one accumulator")
            _verify_region("init", self.init, scalars, accumulators)
            _verify_region("body", self.body, scalars + accumulators, accumulators)
        elif self.init.blocks or self.body.blocks:
            raise VerifyException("init and body need reduction loops")
        _verify_region("epilogue", self.epilogue, scalars + accumulators, results)
        for name, region in (("init", self.init), ("epilogue", self.epilogue)):
            if region.blocks:
                self._verify_outside_reduction(name, region)
        for value in self._captured():
            if value not in self.tables:
                raise VerifyException(
                    "regions may use values from above as tables only, found a "
                    f"value of type {value.type}"
                )

    def _verify_outside_reduction(self, name: str, region: Region) -> None:
        parallel = len(self.parallel_bounds)
        for index, (argument, map) in enumerate(
            zip(region.block.args[: len(self.inputs)], self.input_maps, strict=True)
        ):
            if argument.uses and any(d >= parallel for d in map.used_dims()):
                raise VerifyException(
                    f"{name} uses input #{index}, which depends on a reduction loop"
                )
        for op in region.walk():
            if isinstance(op, IndexOp) and op.dim.value.data >= parallel:
                raise VerifyException(f"{name} uses the index of a reduction loop")

    def _captured(self) -> Iterator[SSAValue]:
        """The operands in the regions that are defined outside of the nest."""
        for region in self.regions:
            for op in region.walk():
                for operand in op.operands:
                    if not self.is_ancestor(operand.owner):
                        yield operand


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


@irdl_op_definition
class CopyOp(IRDLOperation):
    """Copies a strided box of the source into a strided box of the result.

    With i over the box, `0 <= i < sizes`:

        result[offsets + i * strides] = source[source_offsets + i * source_strides]

    The other elements of the result are those of the destination, or `fill`, or
    unspecified:

    ```mlir
    // extract_slice: the box is the whole result
    %s = kernel.copy %x[0, 4] [2, 8] [1, 2] into empty[0, 0] [1, 1]
        : tensor<2x32xi8> into tensor<2x8xi8>
    // insert_slice, concatenation: a chain of copies that plan-memory keeps in place
    %c = kernel.copy %x[0, 0] [2, 8] [1, 1] into %d[0, 8] [1, 1]
        : tensor<2x8xi8> into tensor<2x16xi8>
    // pad
    %p = kernel.copy %x[0, 0] [2, 8] [1, 1] into fill(-128 : i8)[1, 1] [1, 1]
        : tensor<2x8xi8> into tensor<4x10xi8>
    ```

    In brackets: offsets, sizes, strides of the source, then offsets and strides of the
    destination. All ranks are equal.
    """

    name = "kernel.copy"

    source = operand_def(base(TensorType[Attribute]))
    destination = opt_operand_def(base(TensorType[Attribute]))
    fill = opt_prop_def(IntegerAttr.constr() | base(FloatAttr))
    source_offsets = prop_def(DenseArrayBase.constr(i64))
    source_strides = prop_def(DenseArrayBase.constr(i64))
    sizes = prop_def(DenseArrayBase.constr(i64))
    offsets = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    buffers = opt_prop_def(ArrayAttr[Attribute])
    result = result_def(base(TensorType[Attribute]))

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue | IntegerAttr | FloatAttr | None,
        source_offsets: Sequence[int],
        sizes: Sequence[int],
        source_strides: Sequence[int],
        offsets: Sequence[int],
        strides: Sequence[int],
        result_type: Attribute,
    ):
        """`destination` is a tensor, a fill value or, for unspecified, None."""
        into = destination if isinstance(destination, SSAValue) else None
        super().__init__(
            operands=[source, into],
            result_types=[result_type],
            properties={
                "fill": None if isinstance(destination, SSAValue) else destination,
                "source_offsets": DenseArrayBase.from_list(i64, source_offsets),
                "source_strides": DenseArrayBase.from_list(i64, source_strides),
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "offsets": DenseArrayBase.from_list(i64, offsets),
                "strides": DenseArrayBase.from_list(i64, strides),
            },
        )

    @property
    def covers_result(self) -> bool:
        """Whether the box is the whole result."""
        return self.sizes.get_values() == _shape(self.result)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        for values in (self.source_offsets, self.sizes, self.source_strides):
            printer.print_string(f"{list(values.get_values())} ")
        printer.print_string("into ")
        if self.destination is not None:
            printer.print_ssa_value(self.destination)
        elif self.fill is not None:
            printer.print_string("fill(")
            printer.print_attribute(self.fill)
            printer.print_string(")")
        else:
            printer.print_string("empty")
        printer.print_string(f"{list(self.offsets.get_values())} ")
        printer.print_string(f"{list(self.strides.get_values())} : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)
        _print_tail(self, printer, self.buffers)

    @classmethod
    def parse(cls, parser: Parser) -> CopyOp:
        source = parser.parse_unresolved_operand()
        source_offsets, sizes, source_strides = (
            _parse_integers(parser) for _ in range(3)
        )
        parser.parse_keyword("into")
        fill = None
        destination = parser.parse_optional_unresolved_operand()
        if destination is None and parser.parse_optional_keyword("fill"):
            with parser.in_parens():
                fill = parser.parse_attribute()
        elif destination is None:
            parser.parse_keyword("empty")
        offsets, strides = _parse_integers(parser), _parse_integers(parser)
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("into")
        result_type = parser.parse_type()
        op = cls(
            parser.resolve_operand(source, source_type),
            None
            if destination is None
            else parser.resolve_operand(destination, result_type),
            source_offsets,
            sizes,
            source_strides,
            offsets,
            strides,
            result_type,
        )
        if fill is not None:
            op.properties["fill"] = fill
        _parse_tail(op, parser)
        return op

    def verify_(self) -> None:
        if self.destination is not None and self.fill is not None:
            raise VerifyException("a copy has a destination or a fill value, not both")
        if self.destination is not None and self.destination.type != self.result.type:
            raise VerifyException(
                f"destination type {self.destination.type} differs from the result's "
                f"{self.result.type}"
            )
        element_type = _element_type(self.result)
        if _element_type(self.source) != element_type:
            raise VerifyException(
                f"source and result have element types {_element_type(self.source)} "
                f"and {element_type}"
            )
        if self.fill is not None and self.fill.type != element_type:
            raise VerifyException(
                f"fill value of type {self.fill.type} for elements of {element_type}"
            )
        _verify_buffers(self, self.buffers)
        for name, shape, offsets, strides in (
            ("source", _shape(self.source), self.source_offsets, self.source_strides),
            ("result", _shape(self.result), self.offsets, self.strides),
        ):
            self._verify_box(name, shape, offsets.get_values(), strides.get_values())

    def _verify_box(
        self,
        name: str,
        shape: Sequence[int],
        offsets: Sequence[int],
        strides: Sequence[int],
    ) -> None:
        sizes = self.sizes.get_values()
        if not len(shape) == len(offsets) == len(strides) == len(sizes):
            raise VerifyException(f"the box has not the {name}'s rank {len(shape)}")
        for axis, (extent, offset, stride, size) in enumerate(
            zip(shape, offsets, strides, sizes, strict=True)
        ):
            last = offset + (size - 1) * stride
            if offset < 0 or stride < 1 or size < 1 or last >= extent:
                raise VerifyException(
                    f"offset {offset}, size {size}, stride {stride} leave axis {axis} "
                    f"of the {name}, which has {extent} elements"
                )


def _shape(value: SSAValue) -> tuple[int, ...]:
    shape = tensor_type(value).get_shape()
    if any(size < 1 for size in shape):
        raise VerifyException(f"{value.type} must be static and without empty axes")
    return shape


def _element_type(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _verify_region(
    name: str,
    region: Region,
    arguments: Sequence[Attribute],
    yields: Sequence[Attribute],
) -> None:
    if region.block.arg_types != tuple(arguments):
        raise VerifyException(
            f"{name} takes ({_join(region.block.arg_types)}), expected "
            f"({_join(arguments)})"
        )
    terminator = region.block.last_op
    if not isinstance(terminator, YieldOp):
        raise VerifyException(f"{name} must end with kernel.yield")
    if tuple(terminator.operand_types) != tuple(yields):
        raise VerifyException(
            f"{name} yields ({_join(terminator.operand_types)}), expected "
            f"({_join(yields)})"
        )


def _join(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type) for type in types)


def _verify_buffers(op: NestOp | CopyOp, buffers: ArrayAttr[Attribute] | None) -> None:
    if buffers is None:
        return
    if len(buffers) != len(op.results):
        raise VerifyException(f"{len(buffers)} buffers for {len(op.results)} results")
    for buffer in buffers:
        if not isinstance(buffer, Buffer):
            raise VerifyException(
                f"buffer {buffer} is neither #kernel.arena nor #kernel.output"
            )


def _parse_integers(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )


def _parse_operands(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    position = parser.pos
    with parser.in_parens():
        values = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
    return parser.resolve_operands(values, types, position)


def _print_tail(
    op: NestOp | CopyOp, printer: Printer, buffers: ArrayAttr[Attribute] | None
) -> None:
    if buffers is not None:
        printer.print_string(" in ")
        printer.print_attribute(buffers)
    printer.print_op_attributes(op.attributes, print_keyword=True)


def _parse_tail(op: NestOp | CopyOp, parser: Parser) -> None:
    if parser.parse_optional_keyword("in"):
        op.properties["buffers"] = parser.parse_attribute()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    if attributes is not None:
        op.attributes = dict(attributes.data)


KERNEL = Dialect("kernel", [NestOp, YieldOp, IndexOp, CopyOp], [ArenaAttr, OutputAttr])
