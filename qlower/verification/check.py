"""Checking a verdict's file again: what it is about, what it shows, what it decided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from qlower.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.explain.observe import run_layer
from qlower.files.json_text import parse_json
from qlower.float_environment import default_floats
from qlower.frontends.load import ModelOrPath, as_model
from qlower.report.table import counted
from qlower.verification.equal import equal
from qlower.verification.fits import Order, fits
from qlower.verification.groups import groups
from qlower.verification.native.verdict import Level
from qlower.verification.native.verify import native
from qlower.verification.verdict import unpack

Record: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Check:
    """How many layers were decided again, how many inputs run, and what was wrong."""

    layers: int
    inputs: int
    faults: Sequence[str]

    def __str__(self) -> str:
        done = f"{counted(self.layers, 'layer')} decided again, "
        done += f"{counted(self.inputs, 'counterexample')} run"
        if not self.faults:
            return f"{done}: all as the verdict says."
        return "\n".join([*self.faults, f"{done}: the verdict doesn't hold."])


@default_floats()
def check(
    path: Path,
    model: ModelOrPath,
    *,
    sample: int | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Whether a verdict's file holds for a model.

    The hashes are compared, counterexamples run in the interpreter, and the layers
    decided again: all, or a `sample` of so many, drawn anew each time.
    """
    try:
        record = cast(Record, parse_json(path.read_text(encoding="utf-8")))
        loaded = as_model(model)
        if record["question"] == "fits":
            return _check_fits(record, loaded)
        if record["question"] == "groups":
            return _check_groups(record, loaded, sample, progress)
        if record["question"] == "native":
            return _check_native(record, loaded, sample, progress)
        return _check_equal(record, loaded, sample, progress)
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise QlowerError(f"{path} is no verdict of qlower verify: {error}") from error


def _check_equal(
    record: Record, model: ModelOrPath, sample: int | None, progress: Progress
) -> Check:
    a, b = str(record["a"]), str(record["b"])
    both, second = cast(Sequence[Mapping[str, str]], record["layer_contracts"])
    rows = {str(row["layer"]): row for row in cast(Sequence[Record], record["layers"])}
    names = _some(list(rows), sample)
    found = equal(
        a,
        b,
        model,
        layer_contracts=both,
        b_layer_contracts=second,
        only=names,
        native=False,
        progress=progress,
    )
    faults = list(_other_hashes(record, found.hashes))
    again = {row.layer: row.verdict for row in found.layers}
    for name in names:
        if again.get(name) != rows[name]["verdict"]:
            is_now = again.get(name, "not there")
            faults.append(f"{name}: {rows[name]['verdict']} in the file, now {is_now}")
    first = Compilation(model, a, layer_contracts=both).model
    sides = first, Compilation(first, b, layer_contracts=second).model
    examples = 0
    for name, row in rows.items():
        if row["counterexample"] is None:
            continue
        example = cast(Record, row["counterexample"])
        inputs = cast(Mapping[str, Record], example["inputs"])
        values = {source: unpack(packed) for source, packed in inputs.items()}
        index = tuple(cast(Sequence[int], example["index"]))
        results = [
            run_layer(side, contract, name, values).result[index].item()
            for side, contract in zip(sides, (a, b), strict=True)
        ]
        examples += 1
        if results != [example["a"], example["b"]]:
            faults.append(f"{name}: its input gives {results[0]} | {results[1]}")
    return Check(len(found.layers), examples, faults)


def _check_groups(
    record: Record, model: ModelOrPath, sample: int | None, progress: Progress
) -> Check:
    """All pairs of contracts are decided anew."""
    rows = {str(row["layer"]): row for row in cast(Sequence[Record], record["layers"])}
    names = _some(list(rows), sample)
    contracts = cast(Sequence[str], record["contracts"])
    found = groups(model, contracts, only=names, progress=progress)
    faults = list(_other_hashes(record, found.hashes))
    again = {row.layer: json.loads(json.dumps(asdict(row))) for row in found.layers}
    faults += [
        f"{name}: not the groups that the file says"
        for name in names
        if again.get(name) != rows[name]
    ]
    return Check(len(found.layers), 0, faults)


def _some(names: Sequence[str], sample: int | None) -> list[str]:
    """All names, or so many, drawn."""
    if sample is None or sample >= len(names):
        return list(names)
    return np.random.default_rng().choice(names, sample, replace=False).tolist()


def _check_native(
    record: Record, model: ModelOrPath, sample: int | None, progress: Progress
) -> Check:
    """Machine code is made and looked at anew, for the levels of the file."""
    rows = cast(Sequence[Record], record["layers"])
    names = _some(list(dict.fromkeys(str(row["layer"]) for row in rows)), sample)
    targets = cast(Mapping[str, Mapping[str, str]], record["levels"])
    levels = {level: Level(**target).resolved for level, target in targets.items()}
    found = native(
        model,
        levels,
        contract=str(record["contract"]) or None,
        layer_contracts=cast(Mapping[str, str], record["layer_contracts"]),
        only=[name for title in names for name in title.split(" + ")],
        progress=progress,
    )
    again = {(row.level, row.layer): row.to_dict() for row in found.layers}
    hashes = dict(found.hashes)
    if sample is not None:  # the hash of a level is that of all its code
        hashes |= cast(Mapping[str, str], record["sha256"])
    faults = list(_other_hashes(record, hashes))
    for row in rows:
        level, layer = str(row["level"]), str(row["layer"])
        if layer in names and again.get((level, layer)) != row:
            faults.append(f"{layer}: not what the file says, for {level}")
    return Check(len(found.layers), 0, faults)


def _check_fits(record: Record, model: ModelOrPath) -> Check:
    found = fits(
        model,
        int(cast(int, record["bits"])),
        contract=str(record["contract"]) or None,
        order=cast(Order, record["order"]),
        layer_contracts=cast(Mapping[str, str], record["layer_contracts"]),
    )
    again = [_without_input(row.to_dict()) for row in found.layers]
    before = [_without_input(row) for row in cast(Sequence[Record], record["layers"])]
    faults = list(_other_hashes(record, found.hashes))
    if again != before or list(found.others) != record["undecided"]:
        faults.append("the sums aren't those in the file")
    worst = sum(row.worst is not None for row in found.layers)
    return Check(len(again), worst, faults)


def _without_input(row: Record) -> Record:
    """What was decided of sums; the worst input was made and run again."""
    return {key: value for key, value in row.items() if key != "worst"}


def _other_hashes(record: Record, hashes: Mapping[str, str]) -> Iterator[str]:
    """What the verdict is about that is another now."""
    recorded = cast(Mapping[str, str], record["sha256"])
    for name in dict.fromkeys([*recorded, *hashes]):
        if recorded.get(name) != hashes.get(name):
            yield f"{name}: not what the verdict is about, by SHA-256"
