"""One look for pictures: of examples, in SVG that is the same whenever it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from qlower.diagnostics import QlowerError
from qlower.process.extras import install_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, RED, GREY = "#4c72b0", "#c44e52", "#c8c8c8"
"""Colors of the reference, of differences, and of the background."""


def new_figure(width: float, height: float) -> Figure:
    """A figure of that size in inches. QlowerError where matplotlib is missing."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        missing = "matplotlib is not installed"
        raise QlowerError(missing, help=install_line("plots")) from error

    # text stays text, and names in the file don't change from run to run
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "qlower"})
    mpl.rcParams.update({"axes.titlesize": "medium", "legend.fontsize": "small"})
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, with its axes open above and on the right."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    write = cast(Callable[..., None], figure.savefig)  # pyright: ignore[reportUnknownMemberType]
    write(path, metadata={"Date": None} if path.suffix == ".svg" else None)
