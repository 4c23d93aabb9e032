"""Decide statements about a model for all inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, overload

from qlower.codegen.targets.resolve import levels_of, resolve_levels
from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath, as_model
from qlower.model.selection import select_layers
from qlower.verification.equal import equal as decide_equal
from qlower.verification.fit_table import Fits, Order
from qlower.verification.fits import fits
from qlower.verification.group_table import Groups
from qlower.verification.groups import groups as find_groups
from qlower.verification.native.verdict import Native
from qlower.verification.native.verify import native as verify_native
from qlower.verification.smt.claims import Claims
from qlower.verification.smt.equality import add_equality
from qlower.verification.smt.sums import add_sums
from qlower.verification.verdict import Equality


@overload
def verify(
    model: ModelOrPath,
    *,
    equal: tuple[str, str],
    layer: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    claims: Claims | None = None,
    progress: Progress = no_progress,
) -> Equality: ...


@overload
def verify(
    model: ModelOrPath,
    *,
    accumulator_bits: int,
    layer: str | None = None,
    contract: str | None = None,
    order: Order = "any",
    layer_contracts: Mapping[str, str] | None = None,
    claims: Claims | None = None,
) -> Fits: ...


@overload
def verify(
    model: ModelOrPath,
    *,
    groups: Literal[True],
    progress: Progress = no_progress,
) -> Groups: ...


@overload
def verify(
    model: ModelOrPath,
    *,
    native: Literal[True],
    layer: str | None = None,
    contract: str | None = None,
    target: str | None = None,
    cpu: str | Sequence[str] | None = None,
    features: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> Native: ...


def verify(
    model: ModelOrPath,
    *,
    equal: tuple[str, str] | None = None,
    accumulator_bits: int = 32,
    native: bool = False,
    groups: bool = False,
    layer: str | None = None,
    contract: str | None = None,
    order: Order = "any",
    target: str | None = None,
    cpu: str | Sequence[str] | None = None,
    features: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    claims: Claims | None = None,
    progress: Progress = no_progress,
) -> Equality | Fits | Groups | Native:
    """Decide a statement about all inputs of a model's layers, or refute it by one.

    The statement is one of these: the two contracts `equal` are equal in each layer;
    with `native`, machine code equals the contract, for all levels of this machine, or
    those of `target`, `cpu` and `features`, as in `compile`; which `groups` of all
    contracts are equal; no sum on the way to an accumulator leaves `accumulator_bits`,
    with products added in `any` order or in that of `memory`. All but `groups` check
    only some layers if `layer` is given: a number, a name or a glob.
    `layer_contracts` is as in `lower`; `b_layer_contracts` are for the second contract
    only. Decisions about contracts or sums are entered in `claims`, for SMT solvers.
    """
    if groups:
        return find_groups(model, progress=progress)
    loaded = as_model(model, equal or ([contract] if contract else ()))
    only = None if layer is None else select_layers(loaded.module, layer)
    if native:
        named = cpu or features
        return verify_native(
            loaded,
            resolve_levels(target, cpu, features) if named else levels_of(target),
            only=only,
            contract=contract,
            layer_contracts=layer_contracts,
            progress=progress,
        )
    if equal is None:
        return fits(
            loaded,
            accumulator_bits,
            only=only,
            contract=contract,
            order=order,
            layer_contracts=layer_contracts,
            decided=None if claims is None else partial(add_sums, claims),
        )
    return decide_equal(
        *equal,
        loaded,
        only=only,
        layer_contracts=layer_contracts,
        b_layer_contracts=b_layer_contracts,
        decided=None if claims is None else partial(add_equality, claims, equal),
        progress=progress,
    )
