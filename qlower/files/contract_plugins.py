"""Contracts of other installed packages, which they name as entry points.

    [project.entry-points."qlower.contracts"]
    my-npu = "my_package.contracts"

says that the file `my-npu.mlir` in the package `my_package.contracts` is a contract.
Those of qlower keep their names.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from qlower.diagnostics import QlowerError, warn
from qlower.kept.installed import may_have_entry_points

GROUP = "qlower.contracts"


@cache
def plugin_contracts() -> dict[str, Path]:
    """The file of each contract that another package brings, by its name."""
    found: dict[str, Path] = {}
    if not may_have_entry_points(GROUP):
        return found
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found[point.name] = _file(point.name, point.value)
        except QlowerError as error:
            warn(error.message)
    return found


def _file(name: str, package: str) -> Path:
    """The contract's file in the package."""
    try:
        spec = find_spec(package)
    except ImportError:
        spec = None
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder, f"{name}.mlir")
        if path.is_file():
            return path
    raise QlowerError(
        f"contract {name} of another package isn't there: there is no {name}.mlir in "
        f"the package {package}"
    )
