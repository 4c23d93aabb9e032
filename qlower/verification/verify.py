"""What holds for all inputs of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath
from qlower.verification.equal import equal as decide_equal
from qlower.verification.fits import Fits, Order, fits
from qlower.verification.verdict import Equality


@overload
def verify(
    model: ModelOrPath,
    *,
    equal: tuple[str, str],
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> Equality: ...


@overload
def verify(
    model: ModelOrPath,
    *,
    accumulator_bits: int,
    contract: str | None = None,
    order: Order = "any",
    layer_contracts: Mapping[str, str] | None = None,
) -> Fits: ...


def verify(
    model: ModelOrPath,
    *,
    equal: tuple[str, str] | None = None,
    accumulator_bits: int = 32,
    contract: str | None = None,
    order: Order = "any",
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> Equality | Fits:
    """What holds for all inputs of a model's layers, or an input for which it doesn't.

    Whether the two contracts `equal` are the same in each layer; or whether no sum on
    the way to an accumulator leaves `accumulator_bits`, with products added in `any`
    order or in that of `memory`. `layer_contracts` is as in `lower`;
    `b_layer_contracts` are for the second contract only.
    """
    if equal is None:
        return fits(
            model,
            accumulator_bits,
            contract=contract,
            order=order,
            layer_contracts=layer_contracts,
        )
    return decide_equal(
        *equal,
        model,
        layer_contracts=layer_contracts,
        b_layer_contracts=b_layer_contracts,
        progress=progress,
    )
