"""What the entry point `xdsl.universe` names."""

from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _count_rounding() -> type[ModulePass]:
    from qlower_plugin_example.count_rounding import CountRoundingPass

    return CountRoundingPass


UNIVERSE = Universe(all_passes={"count-rounding": _count_rounding})
