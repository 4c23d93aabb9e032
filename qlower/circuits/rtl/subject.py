"""The function that a module is compared with: a layer's, or a contract's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from qlower.circuits.functions import LANE
from qlower.circuits.make import functions_of_layer
from qlower.circuits.ports import open_function
from qlower.circuits.rtl.verify import Subject
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.frontends.load import ModelOrPath
from qlower.model.selection import select_layers
from qlower.process.float_environment import default_floats


@default_floats()
def layer_subject(model: ModelOrPath, contract: str | None, layer: str) -> Subject:
    """The function of one layer of a model, for every channel.

    Raises `QlowerError` for a name of several layers, and for a layer that is none or
    several functions of integers.
    """
    loaded = Compilation(model, contract).model
    names = select_layers(loaded.module, layer)
    if len(names) != 1:
        raise QlowerError(f"--layer {layer} means {len(names)} layers, say one")
    (name,) = names
    functions = functions_of_layer(loaded, contract, name)
    if len(functions) != 1:
        raise QlowerError(f"layer {name} has {len(functions)} functions")
    (one,) = functions
    return Subject(
        f"layer {name} by {one.contract}",
        one.function,
        one.arguments,
        one.selector,
        one.lane_count,
    )


def rule_subject(
    contract: str,
    rule: str,
    values: Mapping[str, int],
    *,
    unsigned: bool = False,
    accumulator_bits: int = 32,
) -> Subject:
    """A rule of a contract; `values` are numbers for some of its ports.

    Raises `QlowerError` for a rule with a step in floats, and for values that it
    doesn't have.
    """
    opened = open_function(
        load_contract(contract), rule, unsigned=unsigned, bits=accumulator_bits
    )
    arguments = {one.name: one for one in opened.arguments}
    for name, value in values.items():
        if name not in arguments:
            raise QlowerError(
                f"rule {rule} of contract {contract} has no value {name!r}",
                help=f"its values are {', '.join(arguments)}",
            )
        low, high = int(arguments[name].low.item()), int(arguments[name].high.item())
        if not low <= value <= high:
            raise QlowerError(f"{name} must be in [{low}, {high}], not {value}")
        number = np.array([value])
        arguments[name] = replace(
            arguments[name], low=number, high=number, parameter=True
        )
    title = f"rule {rule} of contract {contract}"
    return Subject(title, opened.function, tuple(arguments.values()), LANE, 1)
