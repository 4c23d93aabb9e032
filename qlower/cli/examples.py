"""Options for sets of examples: their source, how inputs are made of them, and the
workers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qlower.cli.given import model_of
from qlower.cli.output import check_plot
from qlower.diagnostics import QlowerError
from qlower.process.extras import install_line
from qlower.tables.table import counted
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.validate import Job, prepare
from qlower.validation.work import Metric


def prepare_job(
    options: argparse.Namespace,
    contracts: Sequence[str],
    *,
    metric: Metric | None = None,
    with_layers: bool = False,
    layer_contracts: Mapping[str, str] | None = None,
) -> Job:
    """The work on the examples that the options describe. Refuses fewer than one
    worker, and a picture's file in another format."""
    check_plot(options)
    if options.jobs is not None and options.jobs < 1:
        raise QlowerError(f"--jobs {options.jobs}: at least 1")
    return prepare(
        model_of(options.model, options),
        options.data,
        contracts=contracts,
        against=options.against,
        labels=None if options.labels is None else Path(options.labels),
        label_offset=options.label_offset,
        class_names=_lines_of(options.class_names),
        preprocessing=Preprocessing(
            options.resize,
            options.crop,
            options.channels,
            options.mean,
            options.deviation,
            options.stored_pixels,
        ),
        metric=metric,
        with_layers=with_layers,
        layer_contracts=layer_contracts,
        limit=options.limit,
    )


def described(job: Job, data: str) -> str:
    """The count of the examples in `data`, and how inputs are made of them."""
    size = job.source.size
    many = "an unknown number of examples" if size is None else counted(size, "example")
    return f"{many} in {data}: {job.summary}"


def _lines_of(path: str | None) -> list[str] | None:
    """The lines of a file, if there is one."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QlowerError(f"cannot read {path}: {error}") from error


@contextmanager
def cluster(address: str | None) -> Generator[Any]:
    """A client of the cluster, if there is one."""
    if address is None:
        yield None
        return
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
