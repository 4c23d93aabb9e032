"""Inputs of commands that compute every layer in the interpreter."""

from __future__ import annotations

import argparse

from qlower.cli.inputs import check_inputs, given_arrays
from qlower.model import Model
from qlower.model.made_up_sizes import inputs_for_layers
from qlower.model.signature import Array


def arrays_for_layers(model: Model, options: argparse.Namespace) -> dict[str, Array]:
    """As `given_arrays`; QlowerError for drawn inputs of a model that is too large."""
    if options.random is None:
        return given_arrays(model.inputs, options)
    check_inputs(options)
    drawn = inputs_for_layers(model, options.random)
    return dict(zip((spec.name for spec in model.inputs), drawn, strict=True))
