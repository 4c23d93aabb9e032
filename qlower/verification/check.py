"""Checking a verdict's file again: all that it says is found anew, and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, cast

import numpy as np

from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError, printable
from qlower.explain.diff import Progress, no_progress
from qlower.files.json_text import parse_json
from qlower.frontends.load import ModelOrPath, as_model
from qlower.interp import Array
from qlower.model import Model
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import run_layer
from qlower.process.float_environment import default_floats
from qlower.tables.json_text import SCHEMA, json_text
from qlower.tables.table import counted
from qlower.verification.decide import same
from qlower.verification.equal import equal, typed_inputs
from qlower.verification.fit_table import ORDERS, Order
from qlower.verification.fits import fits
from qlower.verification.groups import groups
from qlower.verification.native.verdict import Level
from qlower.verification.native.verify import native
from qlower.verification.verdict import pack, unpack

Record: TypeAlias = Mapping[str, object]


class Verdict(Protocol):
    """The outcome for one record."""

    def to_dict(self) -> dict[str, object]: ...


Decide: TypeAlias = Callable[[Record, Model, Collection[str] | None, Progress], Verdict]
"""Decides again what a record is about: of all layers, or of those named only."""


@dataclass(frozen=True)
class Check:
    """The layers that were decided again, the inputs that were run, and the faults.

    The entries of `not_drawn` layers are the file's; only their counterexamples were
    run.
    """

    layers: int
    inputs: int
    faults: Sequence[str]
    not_drawn: int = 0

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "holds": not self.faults}

    def __str__(self) -> str:
        done = f"{counted(self.layers, 'layer')} decided again, "
        done += f"{counted(self.inputs, 'counterexample')} run"
        if not self.faults and self.not_drawn:
            return (
                f"{done}: all of that is as the verdict says. Nothing else in the file "
                f"about {counted(self.not_drawn, 'other layer')} was checked: --check "
                "without --sample does."
            )
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

    Everything is decided again, and each entry of the file compared with what is found;
    that runs the counterexamples, too. With `sample` only the given number of layers
    are decided again, drawn anew each time; of the others the counterexamples are run,
    and nothing else is checked but that they are the model's.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise QlowerError(f"{path} is no verdict of qlower verify: {error}") from error
    return check_text(text, str(path), model, sample, progress)


def check_text(
    text: str,
    file: str,
    model: ModelOrPath,
    sample: int | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Check the text of a file, as `check` does."""
    try:
        record = cast(Record, parse_json(text))
        if type(schema := record["schema"]) is not int or schema != SCHEMA:
            raise QlowerError(f"{file} has schema {schema!r}, {SCHEMA} is known")
        question = _text(record, "question")
        if question not in DECIDE:
            raise ValueError(f"question {question!r} isn't one of {list(DECIDE)}")
        names = [_text(record, key) for key in ("a", "b", "contract") if key in record]
        loaded = as_model(model, list(filter(None, names)))
        return _check(record, loaded, DECIDE[question], sample, progress)
    except _MALFORMED as error:
        why = printable(str(error))
        raise QlowerError(f"{file} is no verdict of qlower verify: {why}") from error


_MALFORMED = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError),
    RecursionError,
)


def _check(
    record: Record,
    model: Model,
    decide: Decide,
    sample: int | None,
    progress: Progress,
) -> Check:
    rows = cast(Sequence[Record], record["layers"])
    if not isinstance(rows, list):
        raise TypeError("layers is no list")
    names = list(dict.fromkeys(_text(row, "layer") for row in rows))
    chosen = None
    if sample is not None and sample < len(names) and decide is not _fits_again:
        chosen = np.random.default_rng().choice(names, sample, replace=False).tolist()
    found = decide(record, model, chosen, progress)
    again = cast(Record, json.loads(json_text(found.to_dict())))
    own = cast(list[Record], again["layers"])
    faults: list[str] = []
    if chosen is not None:
        others = [row for row in rows if row["layer"] not in chosen]
        faults += _counterexample_faults(record, model, others)
        again = _with_others(record, again, model, chosen)
        own = [row for row in own if row["layer"] in chosen]
    faults += _differences(record, again)
    inputs = sum(
        row.get(key) is not None for row in own for key in ("counterexample", "worst")
    )
    not_drawn = 0 if chosen is None else len(names) - len(chosen)
    shown = list(map(printable, faults))  # no line of a file's text is one of its own
    return Check(len(own), inputs, shown, not_drawn)


def _with_others(
    record: Record, again: Record, model: Model, chosen: Collection[str]
) -> Record:
    """The new results for the chosen layers, with the file's results for the others."""
    own = {_place(row): row for row in cast(list[Record], again["layers"])}
    stated = {_place(row): row for row in cast(list[Record], record["layers"])}
    found = (layer_name(op) for op in layers(model.module))
    places = own if "levels" in again else [(name, None) for name in found if name]
    rows = [
        own[place] if place[0] in chosen else stated.get(place, {"layer": place[0]})
        for place in places
    ]
    whole = cast(Mapping[str, Mapping[str, int]], again.get("whole", {}))
    is_all = not any(one["differing"] for one in whole.values())
    is_all &= all(row.get("verdict") == "equal" for row in rows)
    more: dict[str, object] = {"layers": rows}
    if "equal" in again:
        more["equal"] = is_all
    if "levels" in again:  # the hash of a level is that of all its code
        hashes = cast(Mapping[str, str], record["sha256"])
        of_code = {k: v for k, v in hashes.items() if k.startswith("code for ")}
        more["sha256"] = {**cast(Mapping[str, str], again["sha256"]), **of_code}
    return {**again, **more}


def _place(row: Record) -> tuple[object, object]:
    """The layer, and the level, that a row is about; and the quantity, of sums."""
    return row["layer"], row.get("level", row.get("what"))


def _equal_again(
    record: Record, model: Model, only: Collection[str] | None, progress: Progress
) -> Verdict:
    both, second = _contracts_of_layers(record)
    return equal(
        _text(record, "a"),
        _text(record, "b"),
        model,
        layer_contracts=both,
        b_layer_contracts=second,
        only=only,
        progress=progress,
    )


def _fits_again(
    record: Record, model: Model, only: Collection[str] | None, progress: Progress
) -> Verdict:
    """All sums, which takes no time."""
    bits, order = record["bits"], _text(record, "order")
    if not isinstance(bits, int) or not 2 <= bits <= 63 or order not in ORDERS:
        raise ValueError(f"bits {bits}, order {order!r}")
    return fits(
        model,
        bits,
        contract=_text(record, "contract") or None,
        order=cast(Order, order),
        layer_contracts=_texts(record["layer_contracts"]),
    )


def _groups_again(
    record: Record, model: Model, only: Collection[str] | None, progress: Progress
) -> Verdict:
    """All pairs of contracts."""
    contracts = list(_texts(dict.fromkeys(cast(list[str], record["contracts"]), "")))
    if not contracts:
        raise ValueError("it is about no contracts")
    return groups(model, contracts, only=only, progress=progress)


def _native_again(
    record: Record, model: Model, only: Collection[str] | None, progress: Progress
) -> Verdict:
    """Machine code is made and looked at anew, for the levels of the file."""
    targets = cast(Mapping[str, Mapping[str, str]], record["levels"])
    if not targets:
        raise ValueError("it is about no code: there are no levels")
    return native(
        model,
        {level: Level(**_texts(of)).resolved for level, of in targets.items()},
        contract=_text(record, "contract") or None,
        layer_contracts=_texts(record["layer_contracts"]),
        only=None
        if only is None
        else [n for title in only for n in title.split(" + ")],
        with_whole=True,
        progress=progress,
    )


DECIDE: dict[str, Decide] = {
    "equal": _equal_again,
    "fits": _fits_again,
    "groups": _groups_again,
    "native": _native_again,
}


def _counterexample_faults(
    record: Record, model: Model, rows: Sequence[Record]
) -> Iterator[str]:
    """Recorded counterexamples that show no difference, for layers that aren't decided
    again."""
    for row in rows:
        has_example = row.get("counterexample") is not None
        if "counterexample" in row and has_example != (row["verdict"] == "differs"):
            yield f"{row['layer']}: {row['verdict']}, counterexample: {has_example}"
    rows = [row for row in rows if row.get("counterexample") is not None]
    if not rows:
        return
    both, second = _contracts_of_layers(record)
    contracts = _text(record, "a"), _text(record, "b")
    first = Compilation(model, contracts[0], layer_contracts=both).model
    sides = first, Compilation(first, contracts[1], layer_contracts=second).model
    for row in rows:
        name, example = _text(row, "layer"), cast(Record, row["counterexample"])
        packed = cast(Mapping[str, Record], example["inputs"])
        specs = typed_inputs(first, name)
        if packed.keys() != specs.keys():
            raise ValueError(f"{name} reads {list(specs)}, not {list(packed)}")
        values: dict[str, Array] = {}
        for source, (spec, stored) in specs.items():
            given = unpack(packed[source], spec.shape, spec.numpy_dtype)
            if not _is_same(packed[source], pack(given)):
                yield f"{name}: {source} isn't written as an array"
            values[source] = given
            if stored is not None:
                low, high = stored.storage_min, stored.storage_max
                if not ((low <= given) & (given <= high)).all():
                    yield f"{name}: {source} isn't in [{low}, {high}]"
        results = [
            run_layer(side, contract, name, values).result
            for side, contract in zip(sides, contracts, strict=True)
        ]
        index, shape = tuple(cast(Sequence[int], example["index"])), results[0].shape
        if [*map(type, index)] != [int] * len(shape) or not all(
            0 <= at < size for at, size in zip(index, shape, strict=True)
        ):
            yield f"{name}: there is no element {list(index)}"
            continue
        a, b = (result[index] for result in results)
        pair = json.loads(json_text({"a": a.item(), "b": b.item()}))
        if not all(_is_same(example[side], pair[side]) for side in "ab") or same(a, b):
            yield f"{name}: its input gives {a} | {b}"


def _differences(record: Record, again: Record) -> Iterator[str]:
    """Differences between a record and today's results, by entries and layers."""
    for key in _changed(record, again):
        before, now = record.get(key), again.get(key)
        if key == "sha256":
            for name in _changed(cast(Record, before), cast(Record, now)):
                yield f"{name}: not what the verdict is about, by SHA-256"
        elif key == "layers":
            yield from _other_rows(cast(list[Record], before), cast(list[Record], now))
        else:
            yield f"{key}: {_short(before)} in the file, now {_short(now)}"


def _changed(before: Record, now: Record) -> list[str]:
    """The entries that are otherwise, or that only one of two records has."""
    return [
        key
        for key in dict.fromkeys([*now, *before])
        if key not in before or key not in now or not _is_same(before[key], now[key])
    ]


def _other_rows(before: list[Record], now: list[Record]) -> Iterator[str]:
    """Layers whose results differ from the record's, or that only one of them has."""
    was, is_now = ([_place(row) for row in rows] for rows in (before, now))
    if was != is_now:
        missing = [place[0] for place in is_now if place not in was]
        yield f"layers: not those of the model; the file lacks {missing or 'none'}"
        return
    for old, new in zip(before, now, strict=True):
        for key in _changed(old, new):
            a, b = _short(old.get(key)), _short(new.get(key))
            yield f"{old['layer']}: {key} {a} in the file, now {b}"


_PACKED = {"dtype", "shape", "zlib"}


def _is_same(before: object, now: object) -> bool:
    """Whether data is the same, but for how arrays are compressed."""
    if isinstance(now, dict):
        if not isinstance(before, dict):
            return False
        old, new = cast(Record, before), cast(Record, now)
        if set(new) == set(old) == _PACKED:
            return _is_same_array(old, new)
        return not _changed(old, new)
    if isinstance(now, list):
        return (
            isinstance(before, list)
            and len(cast(list[object], before)) == len(cast(list[object], now))
            and all(map(_is_same, cast(list[object], before), cast(list[object], now)))
        )
    return json.dumps(before) == json.dumps(now)  # 0.0 is neither 0 nor -0.0


def _is_same_array(before: Record, now: Record) -> bool:
    if not all(_is_same(before[key], now[key]) for key in ("dtype", "shape")):
        return False
    shape = tuple(cast(Sequence[int], now["shape"]))
    dtype = np.dtype(str(now["dtype"]))
    arrays = (unpack(one, shape, dtype) for one in (before, now))
    return len({array.tobytes() for array in arrays}) == 1


def _short(value: object) -> str:
    """Data in an error."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _text(record: Record, key: str) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value


def _texts(record: object) -> dict[str, str]:
    """Names and texts."""
    items = dict(cast(Mapping[object, object], record))
    if not all(isinstance(one, str) for pair in items.items() for one in pair):
        raise TypeError("names and contracts, or parts of targets, are texts")
    return cast(dict[str, str], items)


def _contracts_of_layers(record: Record) -> tuple[dict[str, str], dict[str, str]]:
    both, second = cast(Sequence[object], record["layer_contracts"])
    return _texts(both), _texts(second)
