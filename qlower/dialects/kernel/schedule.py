"""Schedules: how the code of a contraction is cut, for speed and not for meaning.

A nest without one is scheduled by the code generator's own estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_MOST_VECTORS = 8


@irdl_attr_definition
class TileAttr(ParametrizedAttribute):
    """`rows` pixels times `vectors` of output channels are summed in vector registers.

    `#kernel.tile<12, 2>`. There are 1 to 8 vectors; a nest with fewer pixels or
    channels has tiles as large as it can.
    """

    name = "kernel.tile"
    rows: IntAttr = param_def(converter=IntAttr.get)
    vectors: IntAttr = param_def(converter=IntAttr.get)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            rows = parser.parse_integer()
            parser.parse_punctuation(",")
            return IntAttr(rows), IntAttr(parser.parse_integer())

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.rows.data}, {self.vectors.data}>")


@irdl_attr_definition
class TileRegistersAttr(ParametrizedAttribute):
    """Matrices are multiplied in the target's tile registers, which it must have:
    `#kernel.tile_registers`."""

    name = "kernel.tile_registers"


Schedule: TypeAlias = TileAttr | TileRegistersAttr


def verify_schedule(family: str, schedule: Attribute | None) -> None:
    """Only a contraction has a schedule, and no tile is empty or too wide."""
    if schedule is None:
        return
    if not isinstance(schedule, Schedule):
        raise VerifyException(
            f"schedule {schedule} is neither #kernel.tile nor #kernel.tile_registers"
        )
    if family != "contraction":
        raise VerifyException(f"a nest of family {family} has no schedule")
    if isinstance(schedule, TileAttr) and (
        schedule.rows.data < 1 or not 1 <= schedule.vectors.data <= _MOST_VECTORS
    ):
        raise VerifyException(
            f"{schedule} must have at least a row, and 1 to {_MOST_VECTORS} vectors"
        )
