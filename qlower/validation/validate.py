"""`qlower.validate`: what contracts make of a set of examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlower.codegen.targets.resolve import (
    Target,
    host_target,
    resolve_target,
    saturates_pairs,
)
from qlower.compilation.compilation import Compilation
from qlower.contracts import is_contract
from qlower.diagnostics import QlowerError, warn
from qlower.dialects.qnn.attributes import module_contract
from qlower.frontends.load import ModelOrPath, as_model
from qlower.model import Model
from qlower.model.signature import Signature, TensorSpec
from qlower.validation.counts import Partial, output_step
from qlower.validation.data import open_source
from qlower.validation.key import Key, metric_key, model_key, reference_key
from qlower.validation.labels import check_labels
from qlower.validation.preprocessing import PLAIN, Preprocessing
from qlower.validation.references import SYSTEMS, LiveReference
from qlower.validation.result import Validation
from qlower.validation.schedule import (
    Finished,
    cluster_machines,
    on_cluster,
    on_executor,
    on_threads,
)
from qlower.validation.sources import Chunk, Source
from qlower.validation.state import Progress
from qlower.validation.work import Metric, Reference, Shipped, Task

if TYPE_CHECKING:
    from qlower.validation.data import Data

CHUNK = 32
"""Rows that are read, run and counted at a time."""


@dataclass(frozen=True)
class Job:
    """A validation that is ready to run: all that can be refused has been.

    `key` identifies what decides its figures, for resuming.
    """

    source: Source
    against: str | Reference | None
    metric: Metric | None
    compilations: Mapping[str, Compilation]
    limit: int | None
    key: Callable[[], Key]
    summary: str
    output: TensorSpec

    def task(self, target: Target) -> Task:
        """The task of a worker with this target."""
        functions: dict[str, Shipped] = {}
        for name, compilation in self.compilations.items():
            compiled = compilation.for_target(target)
            functions[name] = Shipped(compiled.object.without_text(), compiled.variant)
        return Task(self.source, functions, self.against, self.metric)


def prepare(
    model: ModelOrPath,
    data: Data,
    *,
    contracts: Sequence[str] = (),
    against: str | None = None,
    labels: Path | None = None,
    label_offset: int = 0,
    class_names: Sequence[str] | None = None,
    preprocessing: Preprocessing = PLAIN,
    metric: Metric | None = None,
    with_layers: bool = False,
    layer_contracts: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Job:
    """Everything that `validate` does before the first example is run."""
    names = list(contracts)
    if len(names) > 1 and str(model).endswith(".onnx"):
        model = as_model(model, names)  # layers are those of one reading
    base = Compilation(model, names[0] if names else None)
    loaded = base.model
    if not names:
        names = [module_contract(loaded.module) or "tflite"]
    if len(set(names)) != len(names):
        raise QlowerError(f"a contract is given twice: {', '.join(names)}")
    reference: str | Reference | None = None
    if against is not None:
        reference = _reference(against, loaded)
    if names == [reference]:
        raise QlowerError(
            f"{reference} is held against itself: nothing would be compared",
            help="--contract A,B takes others",
        )
    if isinstance(reference, str) and reference not in names:
        names.append(reference)
    if with_layers and not isinstance(reference, str):
        raise QlowerError(
            "layers are held against those of another contract",
            help="--against takes the name of one; the command `qlower validate "
            "--layers`, and `qlower.diff`, compare layers with those of a float model",
        )
    source = open_source(
        data, loaded.inputs, preprocessing, labels, label_offset, class_names
    )
    elements = 1
    for size in loaded.outputs[0].shape:
        elements *= size
    if source.labels is not None:
        check_labels(source.labels, labels or Path("labels"), elements)
    if isinstance(reference, LiveReference):
        _check_output(reference, elements)
        is_stated = reference.system == "onnxruntime" and reference.system in names
        if is_stated and saturates_pairs():
            warn(
                "this processor has no VNNI: ONNX Runtime saturates pairs of products "
                "of uint8 and int8 on it, as the contract onnxruntime-avx2 states, not "
                "onnxruntime"
            )
    compilations = {
        name: Compilation(
            model,
            name,
            with_layers=with_layers,
            layer_contracts=layer_contracts or {},
        )
        for name in names
    }
    if limit is not None and limit < 1:
        raise QlowerError(f"a limit of {limit} rows: at least 1")

    def key() -> Key:
        live = isinstance(reference, LiveReference) and reference_key(reference.path)
        return {
            **model_key(loaded, [*names, *(layer_contracts or {}).values()]),
            "which layers have which contract": repr(layer_contracts or {}),
            "what outputs are held against": str(against),
            **(live or {}),
            "whether the reference is counted": "True",
            "the data": source.identity,
            "preprocessing": str(preprocessing),
            **({} if metric is None else metric_key(metric)),
            "whether layers are compared": str(with_layers),
            "the limit of rows": str(limit),
        }

    output = loaded.outputs[0]
    summary = source.describe()
    if loaded.signature.states:
        summary += "; each is a first call, with a new state"
    return Job(source, reference, metric, compilations, limit, key, summary, output)


def run(
    job: Job,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    client: Any = None,
    resume: Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Validation:
    """Run a prepared validation."""
    if resume is not None and not job.source.identity:
        raise QlowerError("a stream can't be resumed: its rows have no numbers")
    progress = Progress({} if resume is None else job.key(), resume)
    progress.load()
    if on_progress is not None:
        on_progress(progress.total.rows)
    chunks = (
        chunk
        for chunk in job.source.chunks(CHUNK, job.limit)
        if chunk.start not in progress.done
    )
    try:
        for finished, partial in _finished(job, chunks, jobs, executor, client):
            progress.take(finished, partial)
            if on_progress is not None:
                on_progress(progress.total.rows)
    finally:
        progress.save()
    return _result(job, progress.total)


def validate(
    model: ModelOrPath,
    data: Data,
    *,
    contracts: Sequence[str] | str = (),
    against: str | None = None,
    labels: str | Path | None = None,
    label_offset: int = 0,
    class_names: Sequence[str] | None = None,
    preprocessing: Preprocessing = PLAIN,
    metric: Metric | None = None,
    with_layers: bool = False,
    layer_contracts: Mapping[str, str] | None = None,
    limit: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    client: Any = None,
    resume: str | Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Validation:
    """Run a set of examples under one or more contracts, and count what comes of it.

    `data` is a path (`.npy`, `.npz`, Parquet, a folder of these or of pictures), an
    array, a mapping of arrays by input name, a `dask.array`, or any iterable of
    examples or (example, class) pairs. Floats are quantized by the model's own
    parameters; `preprocessing` says what else is done. `labels` names a file with the
    right classes, `label_offset` is added to each; `class_names` gives the
    order of folders of pictures.

    `against` names what outputs are held against: a contract, `litert` or
    `onnxruntime` on the model's own file, or a `.tflite`, `.onnx` or `.pt2` file, such
    as the float model. `with_layers` holds each layer against that of another contract.

    The work is done by `jobs` threads (all cores), an `executor` of
    `concurrent.futures`, or the workers of a Dask `client`: the figures are the same to
    the last digit. With `resume`, what is done is kept in a file, and not done again.
    """
    names = [contracts] if isinstance(contracts, str) else contracts
    job = prepare(
        model,
        data,
        contracts=names,
        against=against,
        labels=None if labels is None else Path(labels),
        label_offset=label_offset,
        class_names=class_names,
        preprocessing=preprocessing,
        metric=metric,
        with_layers=with_layers,
        layer_contracts=layer_contracts,
        limit=limit,
    )
    return run(
        job,
        jobs=jobs,
        executor=executor,
        client=client,
        resume=None if resume is None else Path(resume),
        on_progress=on_progress,
    )


def _finished(
    job: Job,
    chunks: Iterable[Chunk],
    jobs: int | None,
    executor: Executor | None,
    client: Any,
) -> Iterator[Finished]:
    if client is None:
        task = job.task(host_target())
        if executor is not None:
            return on_executor(task, chunks, executor)
        return on_threads(task, chunks, jobs)
    machines = cluster_machines(client)
    tasks = {found: job.task(resolve_target(None, *found)) for found in machines}
    return on_cluster(client, tasks, job.task(resolve_target(None, "x86-64")), chunks)


def _result(job: Job, total: Partial) -> Validation:
    against = job.against
    name = against if isinstance(against, str | None) else against.name
    counts = {
        found: total.counts[found]
        for found in job.compilations
        if found in total.counts
    }
    live = total.counts.get(name) if name is not None else None
    failures = tuple(total.failures)
    return Validation(
        *(total.rows, total.failed, total.not_finite, failures, name, counts),
        step=output_step(job.output),
        reference=None if name in counts else live,
        is_real=not job.output.scales and job.output.numpy_dtype.kind == "f",
    )


def _reference(against: str, model: Model) -> str | Reference:
    path = model.path
    if against in SYSTEMS:
        wanted = ".tflite" if against == "litert" else ".onnx"
        if path is None or path.suffix != wanted:
            raise QlowerError(
                f"{against} runs {wanted} files, the model is "
                f"{'none' if path is None else path}"
            )
        model.check_runs_elsewhere()
        return LiveReference(path, model.inputs, model.signature)
    if against.endswith((".tflite", ".onnx", ".pt2")):
        file = Path(against)
        if not os.path.isfile(file):
            raise QlowerError(f"cannot read {file}: there is no such file")
        reference = LiveReference(file, model.inputs)
        if file.suffix == ".onnx" and reference.is_of_unknown_integers:
            return replace(reference, signature=_signature(file))
        return reference
    if not is_contract(against):
        raise QlowerError(
            f"there is nothing called {against!r} to hold outputs against",
            help=f"a contract, {', '.join(SYSTEMS)}, or a .tflite, .onnx or .pt2 file",
        )
    return against


def _signature(file: Path) -> Signature:
    """The meaning of the integers of an ONNX file."""
    try:
        return as_model(file).signature
    except QlowerError as error:
        raise QlowerError(
            f"{file} takes or gives stored integers, and what they stand for can't be "
            f"read: {error.message}"
        ) from error


def _check_output(reference: LiveReference, elements: int) -> None:
    found = 1
    for size in reference.output.shape:
        found *= size
    if found != elements:
        raise QlowerError(
            f"{reference.name} gives {found} numbers, the model gives {elements}"
        )
