"""Layers of a model whose sums can leave their width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from qlower.compilation.compilation import Compilation
from qlower.compilation.passes import apply_passes
from qlower.compilation.to_kernel import channels_dropped
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import module_contract
from qlower.frontends.load import ModelOrPath
from qlower.inspection.findings import PAIRS, Finding, Lint
from qlower.inspection.lint import lint as findings_of
from qlower.inspection.lint import not_looked_at, saturates_elsewhere
from qlower.model.input_sets import input_set
from qlower.model.layers import hide_layers, layers
from qlower.model.signature import Array, TensorSpec
from qlower.transforms.drop_channels import Dropped
from qlower.transforms.tidying import DcePass

Inputs: TypeAlias = Mapping[str, Array]


def lint(
    model: ModelOrPath,
    contract: str | None = None,
    *,
    accumulator_bits: int | None = None,
    pairs: bool = False,
    inputs: Inputs | Callable[[Sequence[TensorSpec]], Inputs] | None = None,
    layer_contracts: Mapping[str, str] | None = None,
) -> Lint:
    """Return the layers whose sums can leave `accumulator_bits` for some input, or
    whose pairs of products saturate at 16 bits. By default the width is that of the
    contract's register, if it states one, or else 32.

    Pairs count under contracts of systems that multiply so, or under all with `pairs`.
    With `inputs`, arrays by name (one or a set) or a function that gives them for the
    model's inputs, it is also counted how often that happens. `layer_contracts` is as
    in `lower`. Raises `QlowerError` for a width that isn't in [2, 63].
    """
    if accumulator_bits is not None and not 2 <= accumulator_bits <= 63:
        raise QlowerError(
            f"--accumulator-bits must be in [2, 63], not {accumulator_bits}"
        )
    compilation = Compilation(
        model, contract, with_layers=True, layer_contracts=layer_contracts or {}
    )
    loaded = compilation.model
    own = module_contract(loaded.module)
    values: Sequence[Mapping[str, Array]] = ()
    if inputs is not None:
        # what layers take is what the model itself computes
        is_own = own is None or contract is None
        running = compilation if is_own else replace(compilation, contract=None)
        given = inputs(loaded.inputs) if callable(inputs) else inputs
        values = _values(running, given)
    used = contract or own
    found = findings_of(
        loaded, contract, bits=accumulator_bits, pairs=True, values=values
    )
    elsewhere: list[Finding] = []
    is_safe = used is not None and not saturates_elsewhere(loaded, used)
    if is_safe and not pairs:
        plain = findings_of(loaded, contract, bits=accumulator_bits)
        kept = {row.layer for row in plain if row.what == PAIRS}
        is_own = [row.what != PAIRS or row.layer in kept for row in found]
        elsewhere = [row for row, own in zip(found, is_own, strict=True) if not own]
        found = [row for row, own in zip(found, is_own, strict=True) if own]
    try:
        dropped = _dropped(compilation) if used else []
    except QlowerError:
        dropped = []  # compiling says what a contract refuses
    is_empty = not any(isinstance(op, QnnOp) for op in layers(loaded.module))
    return Lint(found, elsewhere, not_looked_at(loaded, contract), is_empty, dropped)


def _dropped(compilation: Compilation) -> list[Dropped]:
    """The products that the model does without, of one that returns every layer: a
    layer whose value is asked for needs all of its channels."""
    hidden = hide_layers(compilation.arith, len(compilation.model.outputs))
    return channels_dropped(apply_passes(hidden, [DcePass()]))


def _values(
    compilation: Compilation, inputs: Mapping[str, Array]
) -> list[Mapping[str, Array]]:
    """The values of inputs and layers, for each of the inputs."""
    function = compilation.function()
    runs = input_set(compilation.model.inputs, inputs).runs
    return [{**run, **function.run([], run)[1]} for run in runs]
