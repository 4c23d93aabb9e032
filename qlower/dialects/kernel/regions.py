"""Checks of a nest's regions: their arguments, the values they yield, and those they
refer to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from ..operations import operations_in


def verify_region(
    name: str,
    region: Region,
    arguments: Sequence[Attribute],
    yields: Sequence[Attribute],
    end: type[Operation],
) -> None:
    """Refuse a region with other arguments, or another end, than one of type `end` with
    the types in `yields`."""
    if region.block.arg_types != tuple(arguments):
        raise VerifyException(
            f"{name} takes ({_join(region.block.arg_types)}), expected "
            f"({_join(arguments)})"
        )
    terminator = region.block.last_op
    if not isinstance(terminator, end):
        raise VerifyException(f"{name} must end with {end.name}")
    if tuple(terminator.operand_types) != tuple(yields):
        raise VerifyException(
            f"{name} yields ({_join(terminator.operand_types)}), expected "
            f"({_join(yields)})"
        )


def verify_outside_reduction(
    name: str, region: Region, maps: Sequence[AffineMap], parallel: int
) -> None:
    """Refuse a region that uses an input whose map depends on a loop behind the first
    `parallel` ones."""
    arguments = region.block.args[: len(maps)]
    for index, (argument, map) in enumerate(zip(arguments, maps, strict=True)):
        if argument.uses and any(d >= parallel for d in map.used_dims()):
            raise VerifyException(
                f"{name} uses input #{index}, which depends on a reduction loop"
            )


def verify_captured(op: Operation, tables: Collection[SSAValue]) -> None:
    """Refuse regions that use values from above, `tables` excepted."""
    for region in op.regions:
        for inner in operations_in(region):
            for value in inner.operands:
                owner = value.owner
                block = owner.parent if isinstance(owner, Operation) else owner
                if block is inner.parent or op.is_ancestor(owner):
                    continue
                if value not in tables:
                    raise VerifyException(
                        "regions may use values from above as tables only, found a "
                        f"value of type {value.type}"
                    )


def _join(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type) for type in types)
