"""`qlower contracts compare`: how often contracts differ on the layers of models."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from qlower.cli.given import model_of
from qlower.cli.inputs import Given, assign_inputs
from qlower.cli.output import terminal_width
from qlower.cli.progress import clear_status
from qlower.contract_pages.contract_differences import Subject, compare, random_inputs
from qlower.contract_pages.differences_page import differences_page, pairs_table
from qlower.contracts import contract_names
from qlower.diagnostics import QlowerError
from qlower.files.arrays import read_arrays
from qlower.files.replacing import write_text
from qlower.frontends.load import as_model


def run(options: argparse.Namespace) -> int:
    """The rate at which contracts differ on the layers of the models."""
    if options.examples is not None and options.examples < 1:
        raise QlowerError(f"--examples must be at least 1, not {options.examples}")
    subjects = [subject_of(argument, options) for argument in options.models]
    contracts: list[str] = options.contract or contract_names()
    found = compare(subjects, contracts, options.examples, by_layer=options.layers)
    clear_status()
    if options.format == "markdown":
        text = differences_page(found)
    else:
        width = terminal_width() if options.output == "-" else None
        text = pairs_table(found).render(options.format, width) + "\n"
    write_text(options.output, lambda: text)
    return 0


def subject_of(argument: str, options: argparse.Namespace) -> Subject:
    """The model, and its inputs' arrays of the file, or random ones."""
    path, separator, file = argument.rpartition("=")
    if not separator or os.path.exists(argument):
        path, file = argument, ""
    model = as_model(model_of(path, options))
    name = Path(path).stem
    if name == "model":  # a folder a model
        name = Path(path).absolute().parent.name
    if not file:
        return Subject(name, model, random_inputs(model.inputs))
    given = Given(None, Path(file), read_arrays(Path(file)))
    return Subject(name, model, assign_inputs(model.inputs, [given]))
