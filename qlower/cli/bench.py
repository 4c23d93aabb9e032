"""`qlower bench`: models compared with other runtimes, interleaved in one run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from qlower.bench.cmsis_nn.count import compare_layers, layers_table
from qlower.bench.comparison import (
    Machine,
    Options,
    Report,
    compare,
    installed_versions,
    layer_times,
    model_name,
)
from qlower.bench.emulated import count_kernels, count_table
from qlower.bench.peers import PEERS
from qlower.bench.report import as_data, as_html, as_markdown, as_text, comparison_table
from qlower.bench.roof import measured_roof
from qlower.cli.given import layer_contracts, model_of
from qlower.cli.output import terminal_width
from qlower.cli.progress import clear_status
from qlower.cli.tables.microcontrollers import ModelCount, model_table
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.files.digits import is_number
from qlower.files.replacing import write_text
from qlower.frontends.model_files import check_model_path
from qlower.packages.compiled import compile_levels
from qlower.tables.json_text import json_text

STANDARD_OUTPUT = "-"


def run(options: argparse.Namespace) -> int:
    """Measure, then print and write what was measured."""
    if options.outputs and options.against:
        raise QlowerError("--against and --outputs: peers run models as a whole")
    if options.signature and options.against:
        raise QlowerError(
            "--against cannot be combined with --signature: peers always run the first "
            "one"
        )
    if options.emulate:
        return _emulate(options)
    if options.cmsis_nn is not None:
        raise QlowerError("--cmsis-nn is for --emulate: its kernels aren't timed")
    if options.target != "host":
        raise QlowerError(
            f"--target {options.target} isn't timed here",
            help="--emulate counts its instructions",
        )
    chosen = Options(_peers(options.against), options.rounds)
    threads = _counts(options.threads)
    if options.rounds < 1:
        raise QlowerError(f"--rounds must be positive, not {options.rounds}")
    models = [check_model_path(model) for model in options.models]
    target = resolve_target(None, options.cpu, options.features).optimized(
        options.optimize
    )

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


def _emulate(options: argparse.Namespace) -> int:
    """Count instructions, print them and the memory of each model."""
    if options.against or options.layers or options.tune:
        raise QlowerError(
            "--emulate cannot be combined with --against, --layers or --tune"
        )
    if options.target == "host":
        raise QlowerError("--emulate needs a --target of another processor")
    named = options.target, options.cpu, options.features
    layers = layer_contracts(options.layer_contract)
    found: list[dict[str, object]] = []
    models: list[ModelCount] = []
    parts: list[str] = []
    for path in map(check_model_path, options.models):
        compilation = Compilation(
            model_of(str(path), options),
            options.contract,
            resolve_target(*named).optimized(options.optimize),
            layer_contracts=layers,
        )
        kernels = count_kernels(compilation.object)
        counts = count_table(kernels)
        package = compile_levels({compilation.target.cpu: compilation}, None)
        memory = package.memory(with_stack=compilation.target.is_bare_metal)
        name = model_name(path)
        if options.format != "csv":
            parts += [f"{name}, {compilation.target.cpu}, under emulation:", ""]
        parts += [
            counts.render(options.format),
            "",
            memory.table().render(options.format),
            "",
        ]
        record: dict[str, object] = {"model": name, "kernels": counts.records()}
        record["memory"] = memory.to_json()
        if options.cmsis_nn is not None:
            compared = compare_layers(compilation, kernels, Path(options.cmsis_nn))
            table = layers_table(compared)
            parts += [table.render(options.format), ""]
            record["cmsis_nn"] = table.records()
        found.append(record)
        sha256 = package.interface.model_sha256
        models.append(ModelCount(name, sha256, kernels, memory))
    clear_status()
    if len(models) > 1:
        cpu = resolve_target(*named).cpu
        parts = [model_table(models, cpu=cpu).render(options.format), "", *parts]
    if options.json != STANDARD_OUTPUT:
        print("\n".join(parts[:-1]))
    if options.json is not None:
        target = resolve_target(*named).identity
        data = json_text({"target": target, "models": found}) + "\n"
        write_text(options.json, lambda: data)
    return 0


def _written(report: Report, format: str) -> str:
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
    counts = [int(item) for item in text.split(",") if is_number(item)]
    if len(counts) != len(text.split(",")) or 0 in counts:
        raise QlowerError(f"--threads {text} is no list of positive numbers")
    return counts
