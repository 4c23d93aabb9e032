"""What commands take that run a set of examples: where these come from, how inputs are
made of them, and who shares the work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlower.diagnostics import QlowerError

if TYPE_CHECKING:
    from qlower.validation.preprocessing import Preprocessing


def add_data(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that names the set."""
    parser.add_argument("--data", required=True, metavar="SOURCE", help=what)


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which answers are right."""
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="the right classes, one an example: integers in .npy, .npz, .txt or .csv; "
        "or .json, where an example may have several, or none",
    )
    parser.add_argument(
        "--label-offset",
        type=int,
        default=0,
        metavar="N",
        help="added to each label, such as 1 where output 0 is the background",
    )
    parser.add_argument(
        "--class-names",
        metavar="FILE",
        help="the classes' names in order, one a line, for picture folders that are "
        "called so (default: the folders in alphabetical order)",
    )


def add_preprocessing(parser: argparse.ArgumentParser) -> None:
    """Add the options that make inputs of pictures and real numbers."""
    parser.add_argument(
        "--resize",
        type=_sizes,
        default=(),
        metavar="N|HxW",
        help="resize pictures: the shorter side to N, or to height x width",
    )
    parser.add_argument(
        "--crop", type=_sizes, default=(), metavar="N|HxW", help="crop the centre"
    )
    parser.add_argument(
        "--channels",
        choices=("rgb", "bgr", "grey"),
        default="rgb",
        help="the order of a picture's channels (default: rgb)",
    )
    parser.add_argument(
        "--mean",
        type=_numbers,
        default=(0.0,),
        metavar="X[,Y,Z]",
        help="subtracted from numbers in [0, 255] (default: 0)",
    )
    parser.add_argument(
        "--deviation",
        type=_numbers,
        default=(1.0,),
        metavar="X[,Y,Z]",
        help="then divided by (default: 1)",
    )
    parser.add_argument(
        "--stored-pixels",
        action="store_true",
        help="pixels are the stored values; of an int8 input, less 128",
    )


def add_work(parser: argparse.ArgumentParser, workers: str, figures: str) -> None:
    """Add the options on how many examples are run, by which workers, and where the
    figures are kept meanwhile."""
    parser.add_argument(
        "--limit", type=int, metavar="N", help="the first N examples only"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help=f"{workers} (default: one a core)"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="share the examples among the workers of a Dask cluster, which find the "
        "data under the same path",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help=f"keep the {figures} in this file, and continue from them",
    )


def check_work(options: argparse.Namespace) -> None:
    """Refuse fewer than one worker."""
    if options.jobs is not None and options.jobs < 1:
        raise QlowerError(f"--jobs {options.jobs}: at least 1")


def preprocessing_of(options: argparse.Namespace) -> Preprocessing:
    """What is done to inputs."""
    from qlower.validation.preprocessing import Preprocessing

    return Preprocessing(
        options.resize,
        options.crop,
        options.channels,
        options.mean,
        options.deviation,
        options.stored_pixels,
    )


def lines_of(path: str | None) -> list[str] | None:
    """The lines of a file, if there is one."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QlowerError(f"cannot read {path}: {error}") from error


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x"))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))


@contextmanager
def cluster(address: str | None) -> Generator[Any]:
    """A client of the cluster, if there is one."""
    if address is None:
        yield None
        return
    from qlower.process.extras import install_line

    try:
        from distributed import Client
    except ImportError as error:
        raise QlowerError("dask is not installed", help=install_line("dask")) from error
    try:
        client: Any = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise QlowerError(f"no scheduler at {address}: {error}") from error
    try:
        yield client
    finally:
        client.close()


@contextmanager
def bar(total: int | None, unit: str) -> Generator[Callable[[int], None] | None]:
    """A progress bar with rate and time left, on a terminal, if `tqdm` is installed."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=total, unit=unit, leave=False, file=sys.stderr) as bar:

        def advance(rows: int) -> None:
            bar.update(rows - bar.n)

        yield advance
