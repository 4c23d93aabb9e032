"""Improve a quantized model on unlabelled examples, method after method."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging import WARNING, LogRecord
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from qlower.diagnostics import LOGGER, QlowerError
from qlower.frontends.load import ModelOrPath, as_model
from qlower.improvement.equalizing import equalize
from qlower.improvement.figures import Examples, figures_of, measure
from qlower.improvement.float_weights import float_parameters
from qlower.improvement.rescaling import fit_gains, fit_ranges
from qlower.improvement.result import Attempt, Improvement
from qlower.improvement.rounding import correct_biases, learn_rounding
from qlower.improvement.sensitivity import choices, layer_effects
from qlower.improvement.work import Work
from qlower.validation.data import Data, open_source
from qlower.validation.preprocessing import PLAIN, Preprocessing
from qlower.validation.sources import Row

if TYPE_CHECKING:
    from qlower.model import Model

METHODS: Mapping[str, Callable[[Work], Work]] = {
    "equalize": equalize,
    "ranges": fit_ranges,
    "gains": fit_gains,
    "rounding": learn_rounding,
    "biases": correct_biases,
}
"""The methods in their order: those that round all weights anew come first."""

CHUNK = 32
LIMIT = 1024
"""The most examples that are taken, unless another number is asked for."""

LEAST = 8


def improve(
    model: ModelOrPath,
    data: Data,
    *,
    contract: str | None = None,
    float_model: str | Path | None = None,
    methods: Sequence[str] = tuple(METHODS),
    labels: str | Path | None = None,
    label_offset: int = 0,
    preprocessing: Preprocessing = PLAIN,
    layer_contracts: Mapping[str, str] | None = None,
    limit: int = LIMIT,
) -> Improvement:
    """Bring a quantized model's outputs closer to the real network's.

    Nothing is trained and no label is used: `labels` only show top-1 accuracy. The real
    network has the model's layers, and the weights of `float_model`, a `.tflite`,
    `.onnx` or `.pt2` file, or else the real values of the stored weights. Of four
    examples, two fit each of `methods`, one decides whether its result is kept, and one
    measures; every error is that of the contract's integers. Inputs and outputs keep
    their quantization. Needs the extra `torch`.

    Raises QlowerError for an unknown method, fewer than 8 examples, and a model with an
    operation that has no real function.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise QlowerError(
            f"there is no method {unknown[0]!r}", help=f"methods: {', '.join(METHODS)}"
        )
    loaded = as_model(model, [contract] if contract else [])
    path = None if labels is None else Path(labels)
    examples = _examples(
        loaded, data, preprocessing, path, label_offset=label_offset, limit=limit
    )
    fitting, deciding, measuring = _parts(examples)
    parameters = (
        {} if float_model is None else float_parameters(loaded, Path(float_model))
    )
    work = Work(loaded, {}, fitting.inputs, contract, layer_contracts or {})
    real = {name: spec.real for name, spec in work.weights.items()}
    work = Work(
        loaded, {**real, **parameters}, fitting.inputs, contract, work.layer_contracts
    )
    _ = work.found  # what there is to warn of
    with _one_thread(), _without_warnings():
        return _improved(work, deciding, measuring, methods)


def _improved(
    work: Work, deciding: Examples, measuring: Examples, methods: Sequence[str]
) -> Improvement:
    """The work after all methods that help, and tables of it as it was."""
    before, loaded = work, work.model
    steps = [Attempt("as it is", True, measure(work, measuring), 0.0)]
    for name in methods:
        started = time.perf_counter()
        LOGGER.info("%s", name)
        changed = METHODS[name](work)
        is_kept = _is_better(changed, work, deciding)
        figures = measure(changed, measuring)
        steps.append(Attempt(name, is_kept, figures, time.perf_counter() - started))
        work = changed if is_kept else work
    LOGGER.info("each layer alone")
    effects = layer_effects(before, measuring)
    return Improvement(
        model=work.model,
        source=loaded.path,
        examples=(len(work.inputs[0]), len(deciding), len(measuring)),
        steps=tuple(steps),
        after=measure(work, measuring),
        layers=tuple(effects),
        choices=tuple(choices(before, measuring, effects)),
        real_top1=_real_top1(before, measuring),
    )


@contextmanager
def _one_thread() -> Generator[None]:
    """PyTorch on one thread, the same bits everywhere: layers are small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _without_warnings() -> Generator[None]:
    """Each of many versions of a model would repeat those of the first."""

    def passes(record: LogRecord) -> bool:
        return record.levelno != WARNING

    LOGGER.addFilter(passes)
    try:
        yield
    finally:
        LOGGER.removeFilter(passes)


def _is_better(changed: Work, work: Work, deciding: Examples) -> bool:
    if changed.model is work.model:
        return False
    new, old = (one.on(deciding.inputs).error() for one in (changed, work))
    return new < old


def _real_top1(work: Work, examples: Examples) -> float | None:
    there = work.on(examples.inputs)
    real = there.reference
    return figures_of(there.network, real, real, examples.classes).top1


def _parts(examples: Examples) -> Iterator[Examples]:
    """Examples to fit to, to decide by, and to measure: two, one and one of four."""
    rows = np.arange(len(examples))
    for chosen in (rows % 4 < 2, rows % 4 == 2, rows % 4 == 3):
        yield examples.part(rows[chosen])


def _examples(
    model: Model,
    data: Data,
    preprocessing: Preprocessing,
    labels: Path | None,
    *,
    label_offset: int,
    limit: int,
) -> Examples:
    """All examples that can be used; QlowerError where they are too few."""
    source = open_source(data, model.inputs, preprocessing, labels, label_offset)
    rows = [
        row
        for chunk in source.chunks(CHUNK, limit)
        for row in source.rows(chunk)
        if isinstance(row, Row)
    ]
    if len(rows) < LEAST:
        raise QlowerError(
            f"{len(rows)} examples can be used; at least {LEAST} are needed"
        )
    arrays = zip(*(row.inputs for row in rows), strict=True)
    inputs = tuple(np.concatenate(one) for one in arrays)
    return Examples(inputs, [row.classes for row in rows])
