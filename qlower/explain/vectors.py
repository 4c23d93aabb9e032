"""Test vectors for who builds a device: for each layer inputs, weights, accumulators
and results, chosen so that roundings and saturations show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.accumulator_range import product_bounds
from qlower.contracts.contractions import Contraction
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.explain.reach import inputs_for
from qlower.explain.targets import Aim, Coverage, candidates, choose, count
from qlower.frontends.load import ModelOrPath
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import signature_of
from qlower.model.layers import layer_name, layers
from qlower.model.made_up_sizes import check_size
from qlower.model.random_inputs import random_input
from qlower.model.selection import select_layers
from qlower.model.signature import TensorSpec
from qlower.observe.layer_data import LayerData, layer_data
from qlower.observe.layer_run import CONTRACTIONS, LayerRun, run_layer
from qlower.operators.windows import window_extent
from qlower.process.float_environment import default_floats
from qlower.semantics.rules import centred
from qlower.tables.table import Column, Table, Tabled

Integers = NDArray[np.int64]

RANDOM_RUNS = 4
"""Inputs that are drawn for a layer that is neither a contraction nor elementwise."""

MOST_RUNS = 512
"""Runs of a small elementwise layer in which all codes are to occur."""

ELEMENTWISE = (
    qnn.BinaryOp,
    qnn.RequantizeOp,
    qnn.ReluOp,
    qnn.Relu6Op,
    qnn.ClampOp,
    qnn.SigmoidOp,
    qnn.TanhOp,
    qnn.HardSwishOp,
    qnn.EluOp,
    qnn.LeakyReluOp,
    qnn.DequantizeOp,
)
"""Layers each of whose results comes of one element of each operand."""


@dataclass(frozen=True)
class LayerVectors:
    """One layer: `arrays` has `input`, `weight`, `bias`, `accumulator` and `output`, as
    far as it has them; inputs, accumulators and outputs have a leading dimension for
    the vectors. `data` has sizes, scales and the numbers that the layer multiplies and
    shifts by. `coverage` is that of a contraction; `has_all_codes` says that every
    code, or pair of codes of two operands, is an input of some element."""

    number: int
    name: str
    kind: str
    arrays: Mapping[str, Array]
    data: LayerData
    coverage: Coverage | None = None
    has_all_codes: bool = False

    @property
    def looked_at(self) -> str:
        """The candidates that the vectors were chosen from."""
        if self.coverage is None:
            return "all codes" if self.has_all_codes else "drawn"
        return "all sums" if self.coverage.is_exhaustive else "some sums"

    @property
    def count(self) -> int:
        """The number of runs of the layer."""
        return len(self.arrays["output"])


@dataclass(frozen=True, repr=False)
class Vectors(Tabled[LayerVectors]):
    """The vectors of a model's layers, by one contract."""

    contract: str
    layers: Sequence[LayerVectors] = field(default_factory=list[LayerVectors])

    @property
    def table(self) -> Table[LayerVectors]:
        """A line for each layer: what its vectors show."""

        def shown(row: LayerVectors) -> int | None:
            return None if row.coverage is None else row.coverage.total[0]

        def possible(row: LayerVectors) -> int | None:
            return None if row.coverage is None else row.coverage.total[1]

        columns: list[Column[LayerVectors]] = [
            Column("#", "number", lambda row: row.number),
            Column("layer", "layer", lambda row: row.name, least=12),
            Column("op", "op", lambda row: row.kind, right=False),
            Column("runs", "runs", lambda row: row.count, sums=True),
            Column("shown", "shown", shown, sums=True),
            Column("possible", "possible", possible, sums=True),
            Column("looked at", "from", lambda row: row.looked_at, right=False),
            Column(
                "not shown",
                "missing",
                lambda row: row.coverage and row.coverage.missing,
                least=16,
                rank=1,
            ),
        ]
        notes = [
            "shown, possible: ties, their nearest neighbours and saturations, of each "
            "rounding, sign and channel."
        ]
        title = f"test vectors by {self.contract}"
        return Table(title, self.layers, columns, "all", notes=notes, whole="--json")

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is covered, without the vectors."""
        return {"contract": self.contract, "layers": self.table.records()}


@default_floats()
def vectors(
    model: ModelOrPath, contract: str | None = None, *, layer: str = "*", seed: int = 0
) -> Vectors:
    """Test vectors for the layers of a model that `layer` means.

    Inputs of contractions are chosen so that every rounding of every channel sees a
    tie, its nearest neighbours, both signs and both saturations, where some input
    reaches them; other layers get drawn ones.
    """
    return Vectors(*_made(Compilation(model, contract).model, contract, layer, seed))


def _made(
    model: Model, contract: str | None, layer: str, seed: int
) -> tuple[str, list[LayerVectors]]:
    wanted = set(select_layers(model.module, layer))
    random = np.random.default_rng(seed)
    found: list[LayerVectors] = []
    used = ""
    for number, op in enumerate(layers(model.module)):
        name = layer_name(op) or ""
        if name in wanted and isinstance(op, qnn.QnnOp):
            one = _Layer(model, contract, number, name, op, random)
            found.append(one.vectors())
            used = used or one.run.contract.name
    if not found:
        raise QlowerError(
            "no layer that is asked for follows a contract: there are no vectors of it"
        )
    return used, found


class _Layer:
    """A layer whose vectors are made."""

    def __init__(
        self,
        model: Model,
        contract: str | None,
        number: int,
        name: str,
        op: Operation,
        random: np.random.Generator,
    ) -> None:
        self.model, self.contract = model, contract
        self.number, self.name, self.op, self.random = number, name, op, random
        self.module, self.sources, _ = model.index.detach([name])
        self.specs = signature_of(self.module).inputs
        drawn = [random_input(spec, random) for spec in self.specs]
        check_size([op], RANDOM_RUNS)
        self.run = self._run_on(drawn)

    def vectors(self) -> LayerVectors:
        """The layer's vectors: chosen for a contraction, else drawn."""
        if self.run.evaluations and self._has_weights:
            images, targets, is_exhaustive = self._chosen()
            runs = [self._run_on([image]) for image in images]
            sums = np.stack([self._accumulators(run) for run in runs])
            coverage = count(targets, sums, is_exhaustive)
            return self._collect(runs, {"accumulator": sums}, coverage)
        inputs = self._all_codes()
        drawn = [[self._drawn(s, n) for s in self.specs] for n in range(RANDOM_RUNS)]
        runs = [self._run_on(given) for given in inputs or drawn]
        more: dict[str, Array] = {}
        if runs[0].evaluations and "accumulator" in runs[0].evaluations[-1].values:
            more["accumulator"] = np.stack([self._accumulators(run) for run in runs])
        return self._collect(runs, more, None, bool(inputs))

    @property
    def _has_weights(self) -> bool:
        """Whether it is a contraction whose weights are constants, and whose result
        follows from its sums."""
        op = self.op
        if not isinstance(op, CONTRACTIONS) or isinstance(op, qnn.FusedAddOp):
            return False
        return product_bounds(op) is not None

    def _all_codes(self) -> list[list[Array]]:
        """Inputs in which every code, or pair of codes, is at some element; none for
        layers that aren't elementwise."""
        sizes = {math.prod(spec.shape) for spec in self.specs}
        is_narrow = all(spec.numpy_dtype.itemsize == 1 for spec in self.specs)
        if not (isinstance(self.op, ELEMENTWISE) and is_narrow and len(sizes) == 1):
            return []
        (size,), codes = sizes, 256 ** len(self.specs)
        count = -(-codes // size)
        if count > MOST_RUNS:
            return []
        numbers = np.arange(count * size, dtype=np.int64) % codes
        parts: list[Integers] = [numbers % 256, numbers // 256]
        stacks: list[Array] = [
            part.astype(np.uint8).view(spec.numpy_dtype).reshape(count, *spec.shape)
            for part, spec in zip(parts, self.specs, strict=False)
        ]
        return [list(given) for given in zip(*stacks, strict=True)]

    def _drawn(self, spec: TensorSpec, number: int) -> Array:
        """Random stored values; first the least, then the greatest ones."""
        if number > 1 or spec.numpy_dtype.kind not in "iu":
            return random_input(spec, self.random)
        limits = np.iinfo(spec.dtype)
        end = (limits.min, limits.max)[number]
        return np.full(spec.shape, end, spec.numpy_dtype)

    def _run_on(self, inputs: Sequence[Array]) -> LayerRun:
        values = dict(zip(self.sources, inputs, strict=True))
        return run_layer(self.model, self.contract, self.name, values, load_contract)

    def _accumulators(self, run: LayerRun) -> Array:
        return np.broadcast_to(
            run.evaluations[-1].values["accumulator"], run.result.shape
        )

    def _collect(
        self,
        runs: Sequence[LayerRun],
        more: Mapping[str, Array],
        coverage: Coverage | None,
        has_all_codes: bool = False,
    ) -> LayerVectors:
        first = runs[0]
        arrays: dict[str, Array] = {}
        if isinstance(self.op, CONTRACTIONS):
            all_given = [run.arguments for run in runs]
            operands = [np.stack(given) for given in zip(*all_given, strict=True)]
            if self._has_weights:
                operands[1:] = first.arguments[1:]
            names = ["input", "weight", *(["bias"] if self.op.bias else [])]
            arrays |= zip([*names, "addend"], operands, strict=False)
        else:
            for index, _ in enumerate(self.sources):
                suffix = str(index) if len(self.sources) > 1 else ""
                stack = np.stack([run.arguments[index] for run in runs])
                arrays[f"input{suffix}"] = stack
        arrays |= {**more, "output": np.stack([run.result for run in runs])}
        kind = self.op.name.removeprefix("qnn.")
        alone = Model(self.module)
        data = layer_data(alone, self.contract, self.number, self.name, first)
        return LayerVectors(
            self.number, self.name, kind, arrays, data, coverage, has_all_codes
        )

    def _chosen(self) -> tuple[list[Array], list[Aim], bool]:
        """Images whose accumulators show what there is to show."""
        op, run = self.op, self.run
        assert isinstance(op, CONTRACTIONS)
        bounds = product_bounds(op)
        assert bounds is not None
        rule, values = run.evaluations[-1].rule, run.evaluations[-1].values
        bias = run.start.astype(np.int64)
        channels = shape_of(op.results[0])[-1]
        low, high = (np.broadcast_to(b + bias, channels) for b in bounds)
        sums, is_exhaustive = candidates(low, high, self._edges(values, channels))
        plain = {n: v for n, v in values.items() if v.ndim <= 1 and n != "element"}
        plain = {"element": np.zeros((), np.int32), **plain}
        targets = choose(rule, plain, sums)
        wanted = np.stack([target.sums - bias for target in targets])
        exists = np.stack([target.exists for target in targets])
        return self._images(wanted, exists), targets, is_exhaustive

    def _edges(self, values: Mapping[str, Array], channels: int) -> NDArray[np.float64]:
        """The real accumulators at which results change, according to the scales."""
        element = quantized_element(self.op.results[0].type)
        codes = np.arange(element.storage_min, element.storage_max) + 0.5
        weight = quantized_element(self.op.operands[1].type)
        step = (
            np.array(weight.scales) * quantized_element(self.op.operands[0].type).scale
        )
        edges = (codes[:, None] - element.zero_point) * element.scale / step
        return np.broadcast_to(edges, (len(codes), channels))

    def _images(self, wanted: Integers, exists: NDArray[np.bool_]) -> list[Array]:
        """Inputs with a wanted sum in each window; windows don't overlap.

        `wanted` is by target, choice and channel: the first choice that has inputs."""
        op = self.op
        assert isinstance(op, CONTRACTIONS)
        spec, element = self.specs[0], quantized_element(op.input.type)
        zero = element.zero_point
        low, high = element.storage_min - zero, element.storage_max - zero
        weight = centred(self.run.arguments[1], op.weight)
        windows = list(_windows(op))
        if not windows:
            return [self._drawn(spec, number) for number in range(RANDOM_RUNS)]
        images: list[Array] = []
        place = 0
        for channel in range(wanted.shape[2]):
            if isinstance(op, qnn.DepthwiseConv2DOp):
                place = 0  # other channels are other inputs
            sums = wanted[exists[:, channel], :, channel]
            taps = _taps_of(op, weight, channel)
            inputs, met = inputs_for(taps, sums.reshape(-1), low, high)
            first = np.argmax(met.reshape(sums.shape), axis=1)
            rows = np.arange(len(sums)) * sums.shape[1] + first
            for taps in np.unique(inputs[rows], axis=0):
                number, window = divmod(place, len(windows))
                if number == len(images):
                    images.append(np.full(spec.shape, zero, spec.numpy_dtype))
                _write(op, images[number], windows[window], channel, taps + zero)
                place += 1
        # an arithmetic that only drops bits has no ties, and may never saturate
        return images or [self._drawn(spec, number) for number in range(RANDOM_RUNS)]


def _windows(op: Contraction) -> Iterator[tuple[int, ...]]:
    """The starts of windows that lie in the image and don't overlap; the rows of a
    linear layer."""
    shape = shape_of(op.input)
    if isinstance(op, qnn.LinearOp):
        yield from np.ndindex(*shape[:-1])
        return
    _, height, width, _ = shape_of(op.result)
    kernel, starts = shape_of(op.weight)[1:3], list[list[int]]()
    for axis, places in enumerate((height, width)):
        extent = window_extent(kernel[axis], op.dilation[axis])
        free, found = 0, list[int]()
        for place in range(places):
            start = place * op.stride[axis] - op.pad[2 * axis]
            if free <= start <= shape[1 + axis] - extent:
                found.append(start)
                free = start + extent
        starts.append(found)
    yield from itertools.product(range(shape[0]), *starts)


def _taps_of(op: Contraction, weight: Array, channel: int) -> Integers:
    """The weights of an output channel, in a row."""
    if isinstance(op, qnn.DepthwiseConv2DOp):
        return weight[0, :, :, channel].reshape(-1).astype(np.int64)
    return weight[channel].reshape(-1).astype(np.int64)


def _write(
    op: Contraction, image: Array, window: Sequence[int], channel: int, taps: Integers
) -> None:
    """Put the inputs of an output channel's window into the image."""
    if isinstance(op, qnn.LinearOp):
        image[tuple(window)] = taps
        return
    number, *start = window
    kernel = shape_of(op.weight)[1:3]
    rows, columns = (
        slice(first, first + (size - 1) * step + 1, step)
        for first, size, step in zip(start, kernel, op.dilation, strict=True)
    )
    if isinstance(op, qnn.DepthwiseConv2DOp):
        image[number, rows, columns, channel // op.multiplier] = taps.reshape(kernel)
        return
    depth = shape_of(op.weight)[3]
    first = channel // (shape_of(op.result)[-1] // op.groups) * depth
    box = image[number, rows, columns, first : first + depth]
    box[...] = taps.reshape(*kernel, depth)
