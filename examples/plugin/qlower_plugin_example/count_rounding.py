"""Pass count-rounding: how many roundings a module has, as its attribute."""

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from qlower.dialects.fixed import ConvertOp, ShiftRightOp
from qlower.tally import count


class CountRoundingPass(ModulePass):
    """Count the shifts and conversions that round."""

    name = "count-rounding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        number = sum(isinstance(o, ShiftRightOp | ConvertOp) for o in op.walk())
        count("roundings found", number)
        op.attributes["example.roundings"] = IntegerAttr(number, i64)
