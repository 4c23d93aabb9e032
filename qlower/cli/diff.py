"""`qlower diff`: where two systems part."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import given_model, layer_contracts, matched_layers, model_of
from qlower.cli.layer_gate import check_layers
from qlower.cli.layer_inputs import arrays_for_layers
from qlower.cli.output import show, terminal_width
from qlower.cli.progress import progress
from qlower.explain.diff import diff
from qlower.frontends.load import as_model
from qlower.frontends.model_files import SUFFIXES
from qlower.sides.make_side import SideLike, UnknownSide, short_titles
from qlower.sides.versions import version_of
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Compare the sides and print where they differ."""
    second: SideLike = options.b
    has_model = options.model is not None
    if not has_model:
        if not all(Path(side).suffix in SUFFIXES for side in (options.a, options.b)):
            raise UsageError("MODEL is required, unless A and B are models themselves")
        options.model = options.a
    model = as_model(given_model(options))
    if not has_model and Path(options.b).suffix == ".mlir":
        other = as_model(model_of(options.b, options))
        title = short_titles(options.a, options.b)[1] or options.b
        second = version_of(title, model, other, options.contract, "jit")
    inputs = arrays_for_layers(model, options).values()
    try:
        found = diff(
            options.a,
            second,
            model,
            *inputs,
            contract=options.contract,
            at=options.at,
            layer_contracts=layer_contracts(options.layer_contract),
            b_layer_contracts=layer_contracts(
                options.b_layer_contract, "--b-layer-contract"
            ),
            match=matched_layers(options.match),
            progress=progress,
        )
    except UnknownSide as error:
        raise UsageError(error.message, help=error.help) from error
    if options.json:
        show(json_text(found.to_dict()))
    else:
        show(found.render(terminal_width()))
    passes = check_layers(options, found)
    is_good = found.is_equal if passes is None else passes
    return 0 if is_good else ExitCode.FOUND
