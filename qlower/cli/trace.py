"""`qlower trace`: how one element of a model came about."""

from __future__ import annotations

import argparse

from qlower.cli.given import given_model, layer_contracts, name_values
from qlower.cli.layer_inputs import arrays_for_layers
from qlower.cli.output import show, terminal_width
from qlower.explain.trace import trace
from qlower.frontends.load import as_model
from qlower.model.input_sets import input_set
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Trace on the first input of a set."""
    model = as_model(given_model(options))
    runs = input_set(model.inputs, arrays_for_layers(model, options)).runs
    inputs = runs[0]
    found = trace(
        model,
        *(inputs[spec.name] for spec in model.inputs),
        at=options.at,
        contract=options.contract,
        layer_contracts=layer_contracts(options.layer_contract),
        products=options.products,
        all_steps=options.all_steps,
        given=dict(name_values("--given", options.given or ())),
    )
    if options.json:
        show(json_text(found.to_dict()))
    else:
        if len(runs) > 1:
            show(f"input 0 of {len(runs)}")
        show(found.render(terminal_width()))
    return 0
