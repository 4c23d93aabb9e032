"""A model's kernels in order, and where each value lies: what every output of code
begins from."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.func import ReturnOp
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import (
    ArenaAttr,
    BoxAttr,
    CopyOp,
    NestOp,
    OutputAttr,
    ScanOp,
)


class Walk(ABC):
    """The operations of a kernel-level function, one after the other, once plan-memory
    has given its values their buffers."""

    language: str
    """The language of the code, for errors."""

    @abstractmethod
    def lie_with(self, value: SSAValue, other: SSAValue) -> None:
        """Let a value lie where another does, if that has a buffer."""

    @abstractmethod
    def put(self, value: SSAValue, buffer: OutputAttr | ArenaAttr) -> None:
        """Let a value lie in an output, or in the arena."""

    @abstractmethod
    def nest(self, op: NestOp) -> None:
        """Write a loop nest, whose results have their places."""

    @abstractmethod
    def copy(self, op: CopyOp) -> None:
        """Write a copy, whose result has its place."""

    @abstractmethod
    def scan(self, op: ScanOp) -> None:
        """Write a scan, whose results have their places."""

    @abstractmethod
    def finish(self, op: ReturnOp) -> None:
        """Write the end of the function."""

    def emit(self, op: Operation) -> None:
        """Write an operation; raises `QlowerError` for one that has no form."""
        match op:
            case ConstantOp():
                pass
            case (
                ExpandShapeOp(src=source, result=result)
                | CollapseShapeOp(src=source, result=result)
                | CopyOp(source=source, result=result, is_stored=False)
            ):
                self.lie_with(result, source)
            case NestOp() | CopyOp() | ScanOp():
                assert op.buffers is not None, "plan-memory has not run"
                for result, buffer in zip(op.results, op.buffers, strict=True):
                    self._place(result, buffer)
                match op:
                    case NestOp():
                        self.nest(op)
                    case CopyOp():
                        self.copy(op)
                    case ScanOp():
                        self.scan(op)
            case ReturnOp():
                self.finish(op)
            case _:
                raise QlowerError(
                    f"operation {op.name} has no form in {self.language}", op.location
                )

    def _place(self, value: SSAValue, buffer: Attribute) -> None:
        """Give a result its buffer; in a box, that of the copy which it is for."""
        if isinstance(buffer, BoxAttr):
            (use,) = value.uses
            copy = use.operation
            assert isinstance(copy, CopyOp)
            assert copy.buffers is not None
            self._place(copy.result, copy.buffers.data[0])
            self.lie_with(value, copy.result)
            return
        assert isinstance(buffer, OutputAttr | ArenaAttr)
        self.put(value, buffer)
