"""The gather of `stablehlo`."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape

from ..types import element_type, shape_of
from .attributes import INDEX_VECTOR, GatherAttr
from .base import integers
from .movement import MovingOp


class GatherOp(MovingOp, name="stablehlo.gather"):
    """
    Boxes of the operand, each where a list of indices says, brought inside.

    ```mlir
    %y = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<
      offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
      index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    ```
    """

    operand = operand_def(TensorType[Attribute])
    start_indices = operand_def(TensorType[Attribute])
    dimension_numbers = prop_def(GatherAttr)
    slice_sizes = prop_def(DenseArrayBase.constr(i64))
    indices_are_sorted = opt_prop_def(BoolAttr)
    output = result_def(TensorType[Attribute])

    # It has upstream's generic form only.
    print = Operation.print

    @property
    def index_axis(self) -> int:
        """The dimension of `start_indices` along which a list lies."""
        (axis,) = self.dimension_numbers.dimensions(INDEX_VECTOR) or (0,)
        return axis

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of the dimension numbers."""
        return self.dimension_numbers.dimensions(name)

    @property
    def batch_axes(self) -> list[int]:
        """The dimensions of `start_indices` that are the result's, too."""
        rank = len(shape_of(self.start_indices))
        return [axis for axis in range(rank) if axis != self.index_axis]

    @property
    def window_axes(self) -> list[int]:
        """The operand's dimensions that are the result's, too."""
        dropped = {
            *self.numbers("collapsed_slice_dims"),
            *self.numbers("operand_batching_dims"),
        }
        rank = len(shape_of(self.operand))
        return [axis for axis in range(rank) if axis not in dropped]

    def result_shape(self) -> Shape:
        shape, indices = shape_of(self.operand), shape_of(self.start_indices)
        sizes = integers(self.slice_sizes)
        if len(sizes) != len(shape) or any(
            not 0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)
        ):
            raise VerifyException(f"{list(sizes)} is no box of {self.operand.type}")
        lists = {
            "offset_dims": len(indices) + len(shape),
            "collapsed_slice_dims": len(shape),
            "start_index_map": len(shape),
            "operand_batching_dims": len(shape),
            "start_indices_batching_dims": len(indices),
        }
        for name, end in lists.items():
            given = self.numbers(name)
            if len(set(given)) != len(given) or not set(given) <= set(range(end)):
                raise VerifyException(f"{name} {list(given)} are no dimensions")
        if not 0 <= self.index_axis <= len(indices):
            raise VerifyException(f"{INDEX_VECTOR} {self.index_axis} is no dimension")
        listed = (*indices, 1)[self.index_axis]
        if listed != len(self.numbers("start_index_map")):
            raise VerifyException(
                f"lists have {listed} indices, start_index_map "
                f"{len(self.numbers('start_index_map'))}"
            )
        dropped = {*range(len(shape))} - {*self.window_axes}
        if any(sizes[axis] > 1 for axis in dropped):
            raise VerifyException("a dimension of several elements is left out")
        batches = self.numbers("operand_batching_dims")
        if [shape[axis] for axis in batches] != [
            indices[axis] for axis in self.numbers("start_indices_batching_dims")
        ]:
            raise VerifyException("batching dimensions have different sizes")
        windows = self.window_axes
        offsets = self.numbers("offset_dims")
        rank = len(self.batch_axes) + len(windows)
        if len(offsets) != len(windows) or any(axis >= rank for axis in offsets):
            raise VerifyException(f"offset_dims {list(offsets)} don't fit the box")
        of_batches = iter([indices[axis] for axis in self.batch_axes])
        of_windows = iter([sizes[axis] for axis in windows])
        return tuple(
            next(of_windows if axis in offsets else of_batches) for axis in range(rank)
        )

    def check(self) -> None:
        element = element_type(self.operand.type)
        if element != element_type(self.output.type):
            raise VerifyException(
                f"elements of {element} become {element_type(self.output.type)}"
            )
        if getattr(element, "is_per_tensor", True) is False:
            raise VerifyException(f"{element} has more than one scale")
        index = element_type(self.start_indices.type)
        if index not in (i32, i64):
            raise VerifyException(f"indices of {index}, not of i32 or i64")
