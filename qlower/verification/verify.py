"""What holds for all inputs of a model."""

from __future__ import annotations

from collections.abc import Mapping

from qlower.explain.diff import Progress, no_progress
from qlower.frontends.load import ModelOrPath
from qlower.verification.equal import equal as decide_equal
from qlower.verification.verdict import Equality


def verify(
    model: ModelOrPath,
    *,
    equal: tuple[str, str],
    layer_contracts: Mapping[str, str] | None = None,
    b_layer_contracts: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> Equality:
    """Whether the two contracts `equal` are the same in each layer, for all inputs.

    `layer_contracts` is as in `lower`, for both; `b_layer_contracts` for the second
    only.
    """
    return decide_equal(
        *equal,
        model,
        layer_contracts=layer_contracts,
        b_layer_contracts=b_layer_contracts,
        progress=progress,
    )
