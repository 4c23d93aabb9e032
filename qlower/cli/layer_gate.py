"""A bound for the signal to noise of layers, and verdicts on them for other tools."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qlower.cli.colour import complain
from qlower.cli.output import write_junit
from qlower.cli.tables.junit import Case

if TYPE_CHECKING:
    from qlower.explain.diff_result import Diff, LayerDifference


def check_layers(options: argparse.Namespace, found: Diff) -> bool | None:
    """Write JUnit's file if it is asked for, and print the layers below the bound;
    returns whether there is none, or None without a bound."""
    bad = None if options.fail_below is None else found.below(options.fail_below)
    write_junit(options, lambda: [_case(layer, bad) for layer in found.layers])
    for layer in bad or ():
        least = f"at least {options.fail_below:g} are asked for"
        complain(f"error: {layer.name} has {_decibels(layer)} dB, {least}")
    return None if bad is None else not bad


def _decibels(layer: LayerDifference) -> str:
    found = layer.carried and layer.carried.decibels
    return "unknown" if found is None else f"{found:.1f}"


def _case(layer: LayerDifference, bad: Sequence[LayerDifference] | None) -> Case:
    """A layer passes where none of its elements differs, or those that are bad are
    known and it is none of them."""
    if bad is not None and layer not in bad:
        return Case(layer.name)

    told = [
        f"{found.differing:,} of {found.elements:,} elements differ, {how}"
        for how, found in (("alone", layer.alone), ("carried", layer.carried))
        if found is not None and found.differing
    ]
    return Case(layer.name, "; ".join(told))
