"""xDSL's plug-in entry point: plain `xdsl-opt` finds our dialects and passes here."""

from xdsl.universe import Universe

from qlower.text.context import own_dialects
from qlower.transforms import get_all_passes

QLOWER_UNIVERSE = Universe(all_dialects=own_dialects(), all_passes=get_all_passes())
