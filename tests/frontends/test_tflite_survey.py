"""How much of what ai-edge-quantizer makes is read, and gives LiteRT's bits.

Each test prints a table by recipe, and a line for each reason why models aren't read or
aren't equal: `pytest --long -s tests/frontends/test_tflite_survey.py`. Outputs are
compared with LiteRT's reference kernels, and of layers with weights in blocks with its
optimized ones. Counted apart are models that the quantizer left as they were, and those
whose results in LiteRT mean nothing (`flaw`).

All of it takes an hour of one processor, most of it to compile; QLOWER_SURVEY_EVERY=9
takes one in nine pairs of a model and a recipe. With ai-edge-quantizer 0.10 and LiteRT
2.3 all was run: every file whose result in LiteRT means something is read and equal,
signs of zeros included. The numbers of equal files, and of those whose results mean
nothing:

| family | networks | operators | no result |
|---|---|---|---|
| dynamic | 168 | 80 | 48 and 16: int2 convolutions, depthwise filters of one scale |
| weight only | 216 | 108 | |
| static | 178 | 390 | 2 and 4: SUM of INT16 |
| blocks | 26 | 18 | 28 and 24: int2 blocks, blocks of small layers |
| float16 | 36 | 18 | |
| mixed | 280 | 291 | 2 and 3: SUM of INT16, blocks of small layers |
| algorithms | 316 | 160 | 1 and 2: SUM of INT16 |
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest
from support.formats.tflite_network import Network
from support.formats.tflite_networks import NETWORKS, WORDS
from support.formats.tflite_singles import SINGLES
from support.systems.edge_quantizer import RECIPES, Rule, quantize
from support.systems.litert import run_litert
from support.systems.litert_by_operator import has_blocks, run_by_operator

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.operators.blockwise import LEAST_DEPTH, LEAST_UNITS
from qlower.frontends.tflite.reader import read_model
from qlower.frontends.tflite.schema import Model, Tensor
from qlower.interp.values import Array

pytest.importorskip("ai_edge_quantizer", reason="ai-edge-quantizer is not installed")

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

LEAST_SHARE = 0.98

EVERY = int(os.environ.get("QLOWER_SURVEY_EVERY", "1"))
"""One in this many pairs of a model and a recipe is looked at."""

NOT_MADE, UNCHANGED, REFUSED = "not made", "left as it was", "refused by LiteRT"
FLAW, EQUAL, DIFFER = "LiteRT: ", "equal", " differ"

STORED = ("INT8", "INT16", "INT4", "INT2", "FLOAT16")
"""Types that float models have nowhere."""

Maker = Callable[[Network], int | tuple[int, ...]]


def drawn(net: Network, seed: int) -> list[Array]:
    """Operands: numbers around 0, or numbers of words."""
    random = np.random.default_rng(seed)
    return [
        random.normal(0, 1, net.shape(x)).astype(np.float32)
        if net.dtype(x) == "float32"
        else random.integers(0, WORDS, net.shape(x)).astype(np.int32)
        for x in net.inputs
    ]


def is_small(tensor: Tensor) -> bool:
    """Whether a layer has no kernel for packed weights."""
    units, depth = tensor.shape
    return units < LEAST_UNITS or depth < LEAST_DEPTH


def flaw(model: Model) -> str | None:
    """Why LiteRT's result for a model means nothing."""
    for operator in model.operators:
        tensors = [model.tensors[index] for index in operator.inputs if index >= 0]
        types = [tensor.type for tensor in tensors]
        scales = [
            0 if t.quantization is None else len(t.quantization.scales) for t in tensors
        ]
        match operator.name, types, scales:
            case "CONV_2D", [_, "INT2", *_], _:
                return "reads bytes behind weights of 2 bits"
            case "DEPTHWISE_CONV_2D", ["FLOAT32", "INT8", *_], [_, 1, *_]:
                return "reads numbers behind the one scale of depthwise filters"
            case "FULLY_CONNECTED", [_, "INT2", *_], [_, 0, *_]:
                return "leaves out the products of 2 bits in blocks"
            case "FULLY_CONNECTED", [_, "INT4", *_], [_, 0, *_] if is_small(tensors[1]):
                return "leaves out the products of blocks in small layers"
            case "SUM", ["INT16", *_], _:
                return "writes a part of the sums of INT16"
            case _:
                pass
    return None


def verdicts(make: Maker, recipe: Sequence[Rule]) -> Iterator[str]:
    """One of the words above, the message by which the model is refused, or by how much
    it differs; before it what holds if a kernel ends the process."""
    net = Network()
    outputs = make(net)
    data = net.build(*((outputs,) if isinstance(outputs, int) else outputs))
    feeds = [drawn(net, seed) for seed in range(2)]
    named = [{f"input_{n}": x for n, x in enumerate(feed)} for feed in feeds]
    try:
        data = quantize(data, recipe, named)
    except (ValueError, RuntimeError):
        yield NOT_MADE
        return
    model = read_model(data, "model.tflite")
    if not any(tensor.type in STORED for tensor in model.tensors):
        yield UNCHANGED
        return
    feeds = [_stored(feed, model, seed) for seed, feed in enumerate(feeds)]
    yield REFUSED
    try:
        run = run_by_operator if has_blocks(data) else run_litert
        wanted = [run(data, feed) for feed in feeds]
    except (ValueError, RuntimeError):
        return
    if (why := flaw(model)) is not None:
        yield f"{FLAW}{why}"
        return
    yield "the process ends"
    try:
        function = qlower.jit(qlower.Model(import_tflite(data, name="model.tflite")))
    except QlowerError as error:
        yield error.message.splitlines()[0]
        return
    differing = total = 0
    for feed, arrays in zip(feeds, wanted, strict=True):
        found = function(*feed)
        found = found if isinstance(found, tuple) else (found,)
        for ours, theirs in zip(found, arrays, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            total += ours.size
            differing += int(np.sum(~_same(ours, theirs)))
    yield f"{differing} of {total}{DIFFER}" if differing else EQUAL


def _stored(feed: Sequence[Array], model: Model, seed: int) -> list[Array]:
    """Any codes for operands that are real no more."""
    random = np.random.default_rng(seed)
    found: list[Array] = []
    for index, array in zip(model.inputs, feed, strict=True):
        type = model.tensors[index].type.lower()
        if type != array.dtype.name:
            limits = np.iinfo(type)
            ends = limits.min, limits.max
            array = random.integers(*ends, array.shape, endpoint=True).astype(type)
        found.append(array)
    return found


def _same(one: Array, other: Array) -> Array:
    are_nan = (one != one) & (other != other)
    return ((one == other) & (np.signbit(one) == np.signbit(other))) | are_nan


def verdict(make: Maker, recipe: Sequence[Rule]) -> str:
    """The last verdict, of a process of its own: some of LiteRT's kernels end it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def tell() -> None:
        with contextlib.redirect_stdout(None):  # the quantizer prints
            for one in verdicts(make, recipe):
                there.send(one)

    process = context.Process(target=tell)
    process.start()
    there.close()
    last = "an error of the test"
    with contextlib.suppress(EOFError):
        while True:
            last = here.recv()
    process.join()
    return last


def survey(family: str, makers: Mapping[str, Maker]) -> float:
    """The share that is equal of what LiteRT runs; prints the table."""
    counted: Counter[str] = Counter()
    reasons: dict[str, list[str]] = defaultdict(list)
    print(f"\n{family:32} made runs read equal | no result, left as it was")
    for at, (name, recipe) in enumerate(RECIPES[family].items()):
        counts: Counter[str] = Counter()
        for number, (model, make) in enumerate(makers.items(), at):
            if number % EVERY:
                continue
            answer = verdict(make, recipe)
            if answer in (NOT_MADE, UNCHANGED, REFUSED, EQUAL):
                counts[answer] += 1
                continue
            kind = FLAW if answer.startswith(FLAW) else answer[-len(DIFFER) :]
            counts[kind if kind in (FLAW, DIFFER) else "not read"] += 1
            reasons[answer].append(f"{model} {name}")
        read = counts[EQUAL] + counts[DIFFER]
        run = read + counts["not read"]
        numbers = run + counts[REFUSED] + counts[FLAW], run, read, counts[EQUAL]
        line = " ".join(f"{number:4}" for number in numbers)
        print(f"  {name:30} {line}  | {counts[FLAW]:4} {counts[UNCHANGED]:4}")
        counted += Counter(run=run, equal=counts[EQUAL])
    for reason, models in sorted(reasons.items(), key=lambda one: -len(one[1])):
        print(f"{len(models):4}  {reason} ({', '.join(models[:3])})")
    print(f"{family}: {counted['equal']} of {counted['run']} are equal")
    return counted["equal"] / counted["run"] if counted["run"] else 1


@pytest.mark.parametrize("family", RECIPES)
def test_networks(family: str) -> None:
    assert survey(family, NETWORKS) >= LEAST_SHARE


@pytest.mark.parametrize("family", RECIPES)
def test_single_operators(family: str) -> None:
    assert survey(family, SINGLES) >= LEAST_SHARE
