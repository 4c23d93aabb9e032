"""Verdicts about all inputs, against all inputs: every kind of verdict on small layers.

What is true is found without `verify`: the interpreter, or machine code, runs on every
input there is, and numpy adds up every sum.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from support.damage.forgeries import forged, forgeries
from support.values.every_input import KINDS, EveryInput, draw_layer

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.contracts import contract_names
from qlower.contracts.products import IN_TURN
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model import Model
from qlower.observe.layer_run import run_layer
from qlower.runtime.executors import Level
from qlower.sides.sides import Values
from qlower.tables.json_text import json_text
from qlower.verification import decide as deciding
from qlower.verification import equal as equality
from qlower.verification.check import Verdict, check
from qlower.verification.equal import equal
from qlower.verification.fit_table import Fit
from qlower.verification.fits import fits
from qlower.verification.groups import groups
from qlower.verification.native.verify import native

SOME = ("tflite", "tflm", "tflite-xnnpack", "pytorch-qnnpack", "pytorch-fbgemm-avx2")
"""Contracts that part in few sums, in many, and where pairs saturate."""

VERDICTS, SEED = "QLOWER_VERDICTS", "QLOWER_VERDICTS_SEED"
"""How many verdicts the long test compares, and of which layers: those from a seed
on."""

MANY = 20
"""Pairs of contracts on a layer in the long test."""

CONTRACTS = 24
"""Contracts that run on every input of a layer there."""

TOGETHER = 8
"""Contracts that are grouped: others' pairs would be most of the verdicts."""

SUMMING = (
    *("matmul", "pool", "padded pool", "reduction", "long reduction"),
    *("adaptive", "softmax", "normalization"),
)
"""Kinds of layers that add something up, but no products with weights."""

NAMES: Sequence[str] = ("x", "z")
"""A layer's inputs."""

Pair = tuple[str, str]


@dataclass
class Comparison:
    """The verdicts on a layer that were compared, by what was said, and wrong ones."""

    layer: EveryInput
    model: Model
    draw: np.random.Generator
    said: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])

    def results(self, contracts: tuple[str, ...], at: Level) -> dict[str, Array]:
        """What those of the contracts that have its rules give for every input."""
        found: dict[str, Array] = {}
        for name in contracts:
            try:
                result = qlower.interpret(
                    self.model, *self.layer.inputs, contract=name, at=at
                )
            except QlowerError:
                continue
            assert isinstance(result, np.ndarray)
            found[name] = result
        return found

    def say(self, question: str, verdict: str, is_wrong: bool, why: str = "") -> None:
        self.said[f"{question}: {verdict}"] += 1
        if is_wrong:
            self.wrong.append(f"{question} {verdict} {why}\n{self.layer.text}")

    def equal(self, pair: Pair, results: dict[str, Array]) -> None:
        """Decided by proof where `SMALL` is 0."""
        (row,) = equal(*pair, self.model, native=False).layers
        a, b = (results[name] for name in pair)
        is_same = np.array_equal(a, b)
        example = row.counterexample
        # sums of rounded addends depend on their order: all sums aren't all results
        is_shown = not is_same or example is not None
        lies = {"equal": not is_same, "differs": not is_shown}.get(row.verdict, False)
        if example is not None:
            given = example.inputs.values()
            again = tuple(
                np.asarray(qlower.interpret(self.model, *given, contract=name))[
                    example.index
                ].item()
                for name in pair
            )
            lies |= again != example.results or again[0] == again[1]
        self.say("equal", row.verdict, lies, f"{pair}, {row.how}")

    def groups(self, results: dict[str, Array]) -> None:
        """All pairs in one go."""
        names = list(results)
        (row,) = groups(self.model, names).layers
        for a, b in combinations(names, 2):
            verdict = row.verdict(a, b) or "refused"
            is_same = np.array_equal(results[a], results[b])
            lies = verdict == "refused" or (verdict == "equal" and not is_same)
            if verdict == "differs" and is_same:
                (pair,) = equal(a, b, self.model, native=False).layers
                lies = pair.counterexample is None  # run in the comparison of two
            self.say("groups", verdict, lies, f"{a}, {b}")

    def widths(self, contract: str) -> None:
        """The sums of products, in all orders, and the bias that it has in them."""
        products, (given,) = self.layer.products, self.layer.inputs
        assert products is not None
        # of unsigned codes that are all 0 no pair saturates, away from the padding
        zero = np.full_like(given, np.iinfo(given.dtype).min)
        run = run_layer(self.model, contract, "y", {"x": zero})
        held = run.evaluations[-1].values["accumulator"]
        addends = products.addends(zero).sum(axis=-1)
        inside = held.shape[-2] // 2 if held.ndim == 4 else 0
        start = held.reshape(addends.shape) - addends
        start = start.astype(held.dtype).astype(np.int64)[0, inside]
        if run.product == IN_TURN:  # a register that cuts what it holds
            if products.bias is None:
                return
            start = products.bias
        addends = products.addends(given)
        bits = int(self.draw.integers(12, 36))
        for order in ("any", "memory"):
            found = fits(self.model, bits, contract=contract, order=order)
            (row,) = (row for row in found.layers if row.what == "accumulator")
            low, high = _least_and_most(addends, start, order)
            self._width(row, low, high, f"{contract}, {order}, {bits} bits")
            if row.worst is not None:
                (worst,) = row.worst.inputs.values()
                own = products.addends(worst).sum(axis=-1) + start
                is_other = (
                    own.reshape(run.result.shape)[row.worst.index] != row.worst.sum
                )
                self.say("fits", "worst input", bool(is_other), contract)
            pairs = [row for row in found.layers if row.what == "pairs"]
            if pairs and order == "any" and "pixel" not in run.product:
                sums_of_two = products.pairs(given)
                ends = int(sums_of_two.min()), int(sums_of_two.max())
                self._width(pairs[0], *ends, f"{contract}, {run.product}")

    def sums(self, contract: str) -> None:
        """The sums of a layer without weights, in which all terms can be at an end."""
        given = dict(zip(NAMES, self.layer.inputs, strict=False))
        held = self._sums(contract, given)
        bits = int(self.draw.integers(4, 36))
        for order in ("any", "memory"):
            found = fits(self.model, bits, contract=contract, order=order)
            if found.others:
                (other,) = found.others
                is_real = held.dtype.kind == "f"
                lies = other.is_real != is_real or found.layers
                self.say("fits", "real", bool(lies), f"{contract}, {other.why}")
                continue
            (row,) = found.layers
            ends = self.layer.ends or (int(held.min()), int(held.max()))
            low, high = min(ends[0], 0), max(ends[1], 0)
            self._width(row, low, high, f"{contract}, {order}, {bits} bits")
            if row.worst is not None:
                own, expected = self._sums(contract, row.worst.inputs), row.worst.sum
                is_other = expected not in (low, high)
                # where one wraps, so does the other
                is_other |= own[row.worst.index] != np.array(expected).astype(own.dtype)
                self.say("fits", "worst input", bool(is_other), contract)

    def _sums(self, contract: str, given: Values) -> Array:
        """The sums that a layer's rule is given, which wrap, of each result."""
        run = run_layer(self.model, contract, "y", given)
        values = run.evaluations[-1].values
        held = values["accumulator" if "accumulator" in values else "sum"]
        return np.broadcast_to(held, run.result.shape)

    def check(self, pair: Pair, path: Path) -> None:
        """A verdict's file, and the same with one entry that says something else."""
        a, b = pair
        asked: list[Verdict] = [
            equal(a, b, self.model),
            fits(self.model, int(self.draw.integers(8, 36)), contract=a),
            groups(self.model, pair),
            native(self.model, {"host": host_target()}, contract=a),
        ]
        for found in asked:
            record = json.loads(json_text(found.to_dict()))
            path.write_text(json.dumps(record))
            faults = check(path, self.model).faults
            self.say("check", "holds", bool(faults), f"{pair} {faults}")
            # another order's sums may have the same ends, and where there are no sums
            # any width holds them: then that is no lie
            true = {("order",), *([] if record["layers"] else [("bits",)])}
            leaves = [
                leaf
                for leaf in forgeries(record)
                # without a processor's features there may be the same code
                if leaf[0] not in true and leaf[0][-1] != "features"
            ]
            leaf = leaves[int(self.draw.integers(len(leaves)))]
            path.write_text(json.dumps(forged(record, leaf)))
            try:
                is_refused = bool(check(path, self.model).faults)
            except QlowerError:
                is_refused = True
            self.say("check", "refuses", not is_refused, f"{pair} {leaf}")

    def _width(self, row: Fit, low: int, high: int, what: str) -> None:
        needed = max(high, ~low).bit_length() + 1
        lies = row.needed != needed or row.fits != (needed <= row.bits)
        why = f"{what}: {row.needed} bits, but {needed} for [{low}, {high}]"
        self.say("fits", "fits" if row.fits else "leaves", lies, why)

    def native(self, contract: str, expected: Array) -> None:
        """The model's whole code for this machine."""
        found = native(self.model, {"host": host_target()}, contract=contract)
        code = qlower.jit(self.model, contract=contract)
        result = np.asarray(code(*self.layer.inputs))
        is_same = np.array_equal(result.view(expected.dtype), expected)
        if not found.layers:
            self.say("native", "moved", not found.moved or not is_same, contract)
            return
        row = found.layers[0]
        lies = row.verdict == "equal" and not is_same
        lies |= row.verdict == "differs" and is_same and self.layer.ends is None
        self.say("native", row.verdict, lies or not is_same, f"{contract}, {row.how}")


def _least_and_most(addends: Array, start: Array, order: str) -> tuple[int, int]:
    """The ends of all sums on the way to the accumulators."""
    starts = np.broadcast_to(start, addends.shape[2])[:, np.newaxis]
    starts = np.broadcast_to(starts, (*addends.shape[:3], 1))
    terms = np.concatenate([starts, addends], axis=-1)
    places = range(terms.shape[-1])
    orders = [places] if order == "memory" else permutations(places)
    found = [np.cumsum(terms[..., list(one)], axis=-1) for one in orders]
    low, high = min(int(x.min()) for x in found), max(int(x.max()) for x in found)
    return (low, high) if order == "memory" else (min(low, 0), max(high, 0))


def compare(
    layer: EveryInput,
    seed: int,
    contracts: tuple[str, ...],
    pairs: int,
    path: Path,
    at: Level = "arith",
) -> Comparison:
    """Every kind of verdict on a layer, `pairs` of `equal`: those that differ in few
    places first, and some that are the same; some contracts are grouped. With `MANY`
    pairs verdicts' files are checked, too."""
    path.write_text(layer.text)
    work = Comparison(layer, qlower.load(path), np.random.default_rng(seed))
    results = work.results(contracts, at)
    if len(results) < 2:
        return work
    counts = {
        (a, b): int(np.count_nonzero(results[a] != results[b]))
        for a, b in combinations(results, 2)
    }
    order = sorted(counts, key=lambda one: (counts[one], work.draw.random()))
    same = [pair for pair in order if not counts[pair]]
    apart = [pair for pair in order if counts[pair]]
    work.draw.shuffle(same)
    for pair in (*same[: pairs // 2], *apart[: pairs - pairs // 2]):
        work.equal(pair, results)
    names = list(results)
    work.draw.shuffle(names)
    work.groups({name: results[name] for name in names[:TOGETHER]})
    for contract in names[: max(pairs // 4, 1)]:
        if layer.products is not None:
            work.widths(contract)
        elif layer.kind in SUMMING:
            work.sums(contract)
    for contract in names[: max(pairs // 8, 1)]:
        work.native(contract, results[contract])
    if pairs >= MANY:
        work.check((names[0], names[1]), path.with_suffix(".json"))
    return work


@pytest.mark.parts(14)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.long] if "long" in kind else [])
        for kind in KINDS
    ],
)
def test_verdicts_on_every_input(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer of each kind by few contracts; every other one is proved about, rather
    than looked at number by number."""
    seed = KINDS.index(kind)
    monkeypatch.setattr(deciding, "SMALL", (0, 1 << 18)[seed % 2])
    found = compare(draw_layer(seed, kind), seed, SOME, 2, tmp_path / "layer.mlir")
    assert found.said.total() > 2
    assert not found.wrong, "\n".join(found.wrong)


@pytest.mark.long
def test_ten_thousand_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of all kinds in turn, but for few that take long; most run as rules, which
    takes an eighth of the time of loop nests."""
    monkeypatch.setattr(equality, "FEWEST_DRAWN", 1)  # what isn't decided counts less
    monkeypatch.setattr(equality, "MOST_DRAWN", 2)
    said: Counter[str] = Counter()
    seed = int(os.environ.get(SEED, "1000"))
    while said.total() < int(os.environ.get(VERDICTS, "10000")):
        kind, draw = KINDS[seed % len(KINDS)], np.random.default_rng(seed)
        seed += 1
        if kind == "long reduction" and draw.random() < 0.9:
            continue
        layer = draw_layer(seed, kind)
        monkeypatch.setattr(deciding, "SMALL", int(draw.choice([0, 1 << 18])))
        if layer.products is not None:  # of others hardly any would be decided
            affordable = int(draw.choice([0, 1 << 26]))
            monkeypatch.setattr(deciding, "AFFORDABLE", affordable)
        names = tuple(draw.permutation(contract_names())[:CONTRACTS].tolist())
        at: Level = "arith" if draw.random() < 0.2 else "qnn"
        found = compare(layer, seed, names, MANY, tmp_path / "layer.mlir", at)
        assert not found.wrong, f"seed {seed}\n" + "\n".join(found.wrong)
        said += found.said
        if seed % 10 == 0:
            print(seed, said.total(), dict(sorted(said.items())), flush=True)
