"""`qlower validate`: what contracts make of a set of examples."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from qlower.cli.colour import complain
from qlower.cli.examples import (
    add_data,
    add_labels,
    add_preprocessing,
    add_work,
    bar,
    check_work,
    cluster,
    lines_of,
    preprocessing_of,
)
from qlower.cli.exit_codes import ExitCode
from qlower.cli.options import (
    add_command,
    add_import_options,
    add_match,
    add_timing,
    layer_contracts,
    matched_layers,
    model_of,
)
from qlower.cli.output import (
    add_format,
    add_junit,
    add_plot,
    check_plot,
    print_table,
    write_junit,
    write_plot,
)
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text

if TYPE_CHECKING:
    from qlower.cli.tables.junit import Case
    from qlower.validation.validate import Job
    from qlower.validation.work import Metric

EXAMPLE = """  qlower validate model.tflite --data inputs.npz --labels labels.npy
  qlower validate model.tflite --data pictures/ --resize 256 --crop 224 \\
      --mean 127.5 --deviation 127.5 --contract tflite,pytorch-qnnpack
  qlower validate model.tflite --data x.npy --contract pow2-shift --against tflite
  qlower validate model.tflite --data set/ --scheduler tcp://10.0.0.1:8786

Exits with 1 where no example could be used, or a bound (--min-top1, --max-loss,
--min-agreement, --fail-below) is missed by some contract."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "measure accuracy and agreement on a set of examples"
    parser = add_command(commands, common, "validate", summary, EXAMPLE)
    parser.add_argument("model", metavar="MODEL", help="a model's file")
    add_import_options(parser)
    add_data(
        parser,
        "an .npy, .npz or .parquet file, or a folder of these or of pictures; "
        "stored values, or real numbers that are then quantized; the first dimension "
        "counts examples",
    )
    parser.add_argument(
        "--contract",
        default="",
        metavar="A,B,...",
        help="one contract or more; all get the same rows, read once "
        "(default: the model's own)",
    )
    parser.add_argument(
        "--layer-contract",
        action="append",
        default=[],
        metavar="LAYER=NAME",
        help="another contract for some layers, as for `qlower run`",
    )
    parser.add_argument(
        "--against",
        metavar="REFERENCE",
        help="the reference for outputs: a contract; litert or onnxruntime, on the "
        "model's own file; or a .tflite, .onnx or .pt2 file, such as the float model",
    )
    add_labels(parser)
    add_preprocessing(parser)
    parser.add_argument(
        "--metrics",
        metavar="FILE.py:NAME",
        help="your own function, called with an example's outputs (real numbers) and "
        "its set of classes; returns named numbers, whose means are shown",
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="show which layer loses the signal; --against is a contract, or the file "
        "of a float model, whose tensors are matched by name, or else by shape and "
        "values",
    )
    add_match(parser)
    parser.add_argument(
        "--classes", action="store_true", help="show the accuracy of each class"
    )
    add_work(parser, "threads that share the examples", "counts")
    add_plot(parser, "the figures")
    for bound, what in BOUNDS.items():
        parser.add_argument(bound, type=share, metavar="SHARE", help=what)
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="DB",
        help="the least signal to noise against --against, in dB: of the output, and "
        "with --layers of each layer",
    )
    add_format(parser)
    add_junit(parser)
    add_timing(parser)
    parser.set_defaults(run=run)


BOUNDS = {
    "--min-top1": "the least top-1 accuracy, such as 0.9 or 90%%",
    "--max-loss": "how far the top-1 accuracy may be below that of --against, such as "
    "0.005 or 0.5%%",
    "--min-agreement": "the least share of examples whose largest output is that of "
    "--against",
}
"""Options for what every contract has to reach."""


def share(text: str) -> float:
    """A share of 1, or in percent."""
    number = text.removesuffix("%")
    try:
        found = float(number) / (100 if number != text else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: 0.9, or 90%")
    return found


def run(options: argparse.Namespace) -> int:
    """Check everything, say what a row holds, count, and print."""
    from qlower.sides.real_layers import count_real_layers, is_real_reference
    from qlower.validation.gates import Gates
    from qlower.validation.validate import prepare
    from qlower.validation.validate import run as run_job

    if options.signature is not None and options.against == "litert":
        raise QlowerError(
            "--against litert cannot be combined with --signature: LiteRT always runs "
            "the first one"
        )
    names = lines_of(options.class_names)
    is_real = options.layers and is_real_reference(options.against)
    if options.match and not is_real:
        raise QlowerError("--match needs --layers, and --against a float model")
    job = prepare(
        model_of(options.model, options),
        options.data,
        contracts=[name for name in options.contract.split(",") if name],
        against=options.against,
        labels=None if options.labels is None else Path(options.labels),
        label_offset=options.label_offset,
        class_names=names,
        preprocessing=preprocessing_of(options),
        metric=None if options.metrics is None else load_metric(options.metrics),
        with_layers=options.layers and not is_real,
        layer_contracts=layer_contracts(options.layer_contract),
        limit=options.limit,
    )
    gates = Gates(
        options.min_top1,
        options.max_loss,
        options.min_agreement,
        options.fail_below,
    )
    gates.check(has_reference=options.against is not None)
    check_plot(options)
    check_work(options)
    clear_status()
    count = (
        "an unknown number of" if job.source.size is None else f"{job.source.size:,}"
    )
    complain(f"note: {count} examples in {options.data}: {job.summary}")
    with cluster(options.scheduler) as client, bar(_rows(job), "row") as advance:
        found = run_job(
            job,
            jobs=options.jobs,
            client=client,
            resume=None if options.resume is None else Path(options.resume),
            on_progress=advance,
        )
    if is_real:
        for note in count_real_layers(
            job, Path(options.against), found, matched_layers(options.match)
        ):
            complain(f"note: {note}")
    missed = gates.missed(found)
    sentences = [one for own in missed.values() for one in own]
    write_junit(options, lambda: [_case(*own) for own in missed.items()])
    if options.format == "json":
        print(json_text({**found.to_dict(), "missed": sentences}))
    else:
        print_table(found.table, options)
        if options.classes:
            print()
            print_table(found.class_table(), options)
        if options.layers:
            print()
            print_table(found.layer_table(), options)
    write_plot(options, found)
    for sentence in sentences:
        complain(f"error: {sentence}")
    is_useless = found.examples > 0 and found.failed == found.examples
    return ExitCode.WRONG_INPUT if is_useless or sentences else ExitCode.DONE


def _case(contract: str, missed: Sequence[str]) -> Case:
    """A contract passes where it reaches what is asked for."""
    from qlower.cli.tables.junit import Case

    return Case(contract, "; ".join(missed))


def load_metric(place: str) -> Metric:
    """The function NAME of FILE.py:NAME."""
    import importlib.util

    file, _, name = place.rpartition(":")
    path = Path(file)
    if path.suffix != ".py" or not name.isidentifier():
        raise QlowerError(f"--metrics {place!r} is not FILE.py:NAME")
    if not os.path.isfile(path):
        raise QlowerError(f"cannot read {path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise QlowerError(f"cannot read {path}: {what}") from error
    function: object = getattr(module, name, None)
    if not callable(function):
        raise QlowerError(f"{path} has no function {name!r}")
    return cast("Metric", function)


def _rows(job: Job) -> int | None:
    """How many rows are read; None of a stream."""
    total = job.source.size
    if total is not None and job.limit is not None:
        total = min(total, job.limit)
    return total
