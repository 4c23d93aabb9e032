"""`qlower bench`: models beside other runtimes, interleaved in one run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.cli.options import (
    add_command,
    add_contract,
    add_import_options,
    add_machine,
    add_timing,
    add_tune,
    layer_contracts,
    model_of,
)
from qlower.cli.output import terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status
from qlower.diagnostics import QlowerError
from qlower.files.replacing import write_text

if TYPE_CHECKING:
    from qlower.bench.comparison import Report

EXAMPLE = """  qlower bench model.tflite --against litert --threads 1,2
  qlower bench model.tflite --against litert,onnxruntime=model_qdq.onnx --json out.json
  qlower bench model.onnx --against onnxruntime
  qlower bench model.tflite --layers"""

STANDARD_OUTPUT = "-"


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "compare the speed of models with other runtimes"
    parser = add_command(commands, common, "bench", summary, EXAMPLE)
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a .tflite, .onnx or .mlir file"
    )
    add_import_options(parser)
    parser.add_argument(
        "--against",
        default="",
        metavar="PEER[=FILE],...",
        help="litert (XNNPACK), onnxruntime, openvino or torch, with the peer's form "
        "of the model (default: the file of its format beside MODEL, with the same "
        "stem)",
    )
    parser.add_argument(
        "--threads",
        default="1",
        metavar="N,...",
        help="numbers of threads (default: 1)",
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also the time of every layer, and the least that it can take: its "
        "products at the measured peak of the dot product, or the bytes of its tensors "
        "at the measured bandwidth of the cache that they fit in",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=101,
        metavar="N",
        help="runs of each contestant (default: 101)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write everything as JSON (- prints it)"
    )
    parser.add_argument(
        "--format",
        choices=("plain", "markdown", "csv", "html"),
        default="plain",
        help="how the table is written; csv has no layers",
    )
    add_contract(parser)
    add_tune(parser)
    add_machine(parser)
    add_timing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure, then print and write what was measured."""

    from qlower.bench.comparison import (
        Machine,
        Options,
        Report,
        compare,
        installed_versions,
        layer_times,
        model_name,
    )
    from qlower.bench.report import as_data
    from qlower.bench.roof import measured_roof
    from qlower.codegen.program.flavour import Flavour
    from qlower.codegen.targets.resolve import resolve_target
    from qlower.compilation.compilation import Compilation
    from qlower.frontends.model_files import check_model_path
    from qlower.tables.json_text import json_text

    if options.outputs and options.against:
        raise QlowerError("--against and --outputs: peers run models as a whole")
    if options.signature and options.against:
        raise QlowerError(
            "--against cannot be combined with --signature: peers always run the first "
            "one"
        )
    chosen = Options(_peers(options.against), options.rounds)
    threads = _counts(options.threads)
    if options.rounds < 1:
        raise QlowerError(f"--rounds must be positive, not {options.rounds}")
    models = [check_model_path(model) for model in options.models]
    target = resolve_target(None, options.cpu, options.features)

    def compilation(model: Path, flavour: Flavour) -> Compilation:
        return Compilation(
            model_of(str(model), options),
            options.contract,
            target,
            flavour,
            options.tune,
            layer_contracts=layer_contracts(options.layer_contract),
        )

    comparisons = [
        compare(model, compilation(model, Flavour(count)), chosen)
        for model in models
        for count in threads
    ]
    machine = Machine(
        target.cpu,
        os.cpu_count() or 1,
        os.getloadavg()[0],
        measured_roof(target) if options.layers else None,
        installed_versions(sorted({p for c in comparisons for p in c.ratios})),
    )
    report = Report(machine, comparisons)
    if options.layers:
        profiled = Flavour(is_profiled=True)
        report.layers |= {
            model_name(m): layer_times(compilation(m, profiled), options.rounds)
            for m in models
        }
    clear_status()
    if options.json != STANDARD_OUTPUT:
        print(_written(report, options.format))
    if options.json is not None:
        data = json_text(as_data(report)) + "\n"
        write_text(options.json, lambda: data)
    return 0


def _written(report: Report, format: str) -> str:
    from qlower.bench.report import as_html, as_markdown, as_text, comparison_table

    match format:
        case "markdown":
            return as_markdown(report)
        case "html":
            return as_html(report)
        case "csv":
            return comparison_table(report).render("csv")
        case _:
            return as_text(report, terminal_width())


def _peers(text: str) -> dict[str, Path | None]:
    from qlower.bench.peers import PEERS

    found: dict[str, Path | None] = {}
    for item in text.split(",") if text else ():
        name, _, file = item.partition("=")
        if name not in PEERS:
            known = ", ".join(PEERS)
            raise QlowerError(f"there is no peer {name!r}, known are {known}")
        if file and not os.path.isfile(file):
            raise QlowerError(f"there is no file {file} for {name}")
        found[name] = Path(file) if file else None
    return found


def _counts(text: str) -> list[int]:
    counts = [int(item) for item in text.split(",") if item.isdecimal()]
    if len(counts) != len(text.split(",")) or 0 in counts:
        raise QlowerError(f"--threads {text} is no list of positive numbers")
    return counts
