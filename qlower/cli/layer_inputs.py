"""Inputs of commands that compute every layer in the interpreter."""

from __future__ import annotations

import argparse

from qlower.cli.inputs import given_arrays
from qlower.model import Model
from qlower.model.made_up_sizes import check_size
from qlower.model.signature import Array


def arrays_for_layers(model: Model, options: argparse.Namespace) -> dict[str, Array]:
    """As `given_arrays`; QlowerError for drawn inputs of a model that is too large."""
    if options.random is not None:
        check_size(model.module.walk())
    return given_arrays(model.inputs, options)
