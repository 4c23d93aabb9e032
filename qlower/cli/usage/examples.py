"""The options of commands that run a set of examples."""

from __future__ import annotations

import argparse

from qlower.cli.parser import add_number


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
    add_number(
        parser,
        "--label-offset",
        "N",
        "added to each label, such as 1 where output 0 is the background",
        default=0,
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
    for flag, default, help in (
        ("--mean", 0.0, "subtracted from numbers in [0, 255] (default: 0)"),
        ("--deviation", 1.0, "then divided by (default: 1)"),
    ):
        parser.add_argument(
            flag, type=_numbers, default=(default,), metavar="X[,Y,Z]", help=help
        )
    parser.add_argument(
        "--stored-pixels",
        action="store_true",
        help="pixels are the stored values; of an int8 input, less 128",
    )


def add_work(parser: argparse.ArgumentParser, workers: str, figures: str) -> None:
    """Add the options on how many examples are run, by which workers, and where the
    figures are kept meanwhile."""
    add_number(parser, "--limit", "N", "the first N examples only")
    add_number(parser, "--jobs", "N", f"{workers} (default: one a core)")
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


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x"))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))
