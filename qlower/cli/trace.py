"""`qlower trace`: how one element of a model came about."""

from __future__ import annotations

import argparse

from qlower.cli.options import (
    add_command,
    add_contract,
    add_inputs,
    add_model,
    given_model,
    layer_contracts,
)
from qlower.cli.output import add_json, show, terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status
from qlower.tables.json_text import json_text

EXAMPLE = """  qlower trace model.tflite --input image.npy --at conv1[0,3,4,7]
  qlower trace model.mlir --random --at 2[0,5] --contract tvm --products"""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "show every rounding on the way to one element"
    parser = add_command(commands, common, "trace", summary, EXAMPLE)
    add_model(parser)
    parser.add_argument(
        "--at",
        required=True,
        metavar="LAYER[n,h,w,c]",
        help="an element of a layer's result, the layer by number, name or glob; axes "
        "may be named in any order: conv1[n=0,c=7,h=3,w=4]",
    )
    add_inputs(parser)
    add_contract(parser)
    parser.add_argument(
        "--products",
        action="store_true",
        help="also show the products that are summed",
    )
    parser.add_argument(
        "--all-steps",
        action="store_true",
        help="also show steps that change nothing, and what is computed when a model "
        "is compiled",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Trace on the first input of a set."""
    from qlower.cli.inputs import given_arrays
    from qlower.explain.trace import trace
    from qlower.frontends.load import as_model
    from qlower.model.input_sets import input_set

    model = as_model(given_model(options))
    runs = input_set(model.inputs, given_arrays(model.inputs, options)).runs
    inputs = runs[0]
    found = trace(
        model,
        *(inputs[spec.name] for spec in model.inputs),
        at=options.at,
        contract=options.contract,
        layer_contracts=layer_contracts(options.layer_contract),
        products=options.products,
        all_steps=options.all_steps,
    )
    clear_status()
    if options.json:
        print(json_text(found.to_dict()))
    else:
        if len(runs) > 1:
            show(f"input 0 of {len(runs)}")
        show(found.render(terminal_width()))
    return 0
