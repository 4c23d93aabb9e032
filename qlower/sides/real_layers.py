"""Layers of a validation's contracts, held against those of a float model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.sides.live import has_real_numbers, real_side
from qlower.validation.result import Validation
from qlower.validation.sources import Row
from qlower.validation.validate import CHUNK, Job
from qlower.validation.work import count_layers


def is_real_reference(against: str | None) -> bool:
    """Whether what outputs are held against is the file of a float model."""
    return against is not None and has_real_numbers(Path(against))


def count_real_layers(
    job: Job, path: Path, found: Validation, match: Mapping[str, str] | None = None
) -> list[str]:
    """Count each layer against the real numbers of the float model's: the tensor that
    `match` gives for the layer, or of its name, or of its shape and values; `found`
    gets the figures.

    Returns notes on which layers were matched. Raises `QlowerError` if none was, and
    for a system that isn't installed.
    """
    notes: dict[str, None] = {}
    for name, compilation in job.compilations.items():
        exposed = replace(compilation, with_layers=True)
        function, live = (
            exposed.function(),
            real_side(path, exposed.model, match, rounds=False),
        )
        specs = [spec.name for spec in function.inputs]
        rows = (
            row
            for chunk in job.source.chunks(CHUNK, job.limit)
            for row in job.source.rows(chunk)
            if isinstance(row, Row)
        )
        for number, row in enumerate(rows):
            _, own = function.run(row.inputs, {})
            given = dict(zip(specs, row.inputs, strict=True))
            real = live.values(number, given)
            both = {layer: own[layer] for layer in own if layer in real}
            count_layers(found.counts[name], exposed.variant, both, real)
        notes |= dict.fromkeys(live.notes)
        if not found.counts[name].layers:
            raise QlowerError(
                f"{path} has no layer like the model's", help="--match LAYER=TENSOR"
            )
    return list(notes)
