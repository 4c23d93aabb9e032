"""The contract's results for the layers that one function of machine code computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from qlower.contracts.accumulator_range import constant_integers
from qlower.contracts.contractions import SUMMED, product_of
from qlower.contracts.products import IN_TURN
from qlower.contracts.rules import RULES
from qlower.contracts.values import contract_of
from qlower.dialects import qnn
from qlower.dialects.operations import named_operands
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.interp import Array, InterpretationError
from qlower.model.layers import layer_name, layer_names, layers
from qlower.model.signature import TensorSpec
from qlower.observe.layer_run import LayerRun
from qlower.sides.sides import Computed
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.decide import AFFORDABLE
from qlower.verification.equal import draw_inputs, layer_inputs
from qlower.verification.fits import turning_inputs
from qlower.verification.native.found import without_reshapes
from qlower.verification.questions import POOLS
from qlower.verification.sum_rule import SumRule, Unfit, sum_rule

CODES = 256
"""The values of a byte."""

_TOGETHER = 1 << 18
"""The rough number of elements that rules are evaluated on in one step."""

_MAPPED = (qnn.BinaryOp, qnn.BoundedOp, qnn.TabulatedOp, qnn.RequantizeOp)
"""Layers whose one rule gives each element, of the operands' bytes there."""


@dataclass(frozen=True)
class Trial:
    """Bytes or words that layers read, by source, and what comes of them: bits all."""

    inputs: Sequence[Array]
    result: Array


class References:
    """Some layers of a model by a contract, in the interpreter."""

    def __init__(self, side: Computed) -> None:
        self.side = side
        self.operations: dict[str, Operation] = {
            name: op
            for op in layers(side.model.module)
            if (name := layer_name(op)) is not None
        }
        self.sum_rule = cache(self._sum_rule)
        self.table = cache(self._table)
        self.trials = cache(self._trials)
        self.sums = cache(self._sums)

    def reads(self, name: str) -> dict[str, TensorSpec]:
        """The names that a layer reads, inputs and other layers, in its order."""
        return layer_inputs(self.side.model, name)

    def _sum_rule(self, name: str) -> SumRule:
        """The rule of a layer that sums. Raises Unfit."""
        values = {
            source: np.zeros(spec.shape, spec.numpy_dtype)
            for source, spec in self.reads(name).items()
        }
        return sum_rule(self.side.layer(name, values), of_registers=True)

    def _sums(
        self, name: str, sources: frozenset[str], seed: int
    ) -> tuple[Mapping[str, Array], Array]:
        """Results of layers, drawn by a seed, and what a layer adds up that reads them,
        or what others move there. Raises Unfit."""
        values: dict[str, Array] = {}
        given: Mapping[str, Array] = {}
        if seed:
            given = (list(self._turning(name)) or [given])[-seed]

        def value(source: str, reader: str) -> Array:
            if source in sources:
                drawn = given.get(source)
                if drawn is None:
                    drawn = draw_inputs(self.side.model, reader, seed)[source]
                return values.setdefault(source, drawn)
            if source not in self.operations:
                raise Unfit("it doesn't read what the layer does")
            return run(source).result

        def run(layer: str) -> LayerRun:
            given = {source: value(source, layer) for source in self.reads(layer)}
            return self.side.layer(layer, given)

        try:
            rules = run(name).evaluations
        except InterpretationError as error:
            raise Unfit(f"some sum has no result: {error.message}") from error
        held = rules[-1].values.get("accumulator") if rules else None
        if held is None:
            raise Unfit("its sum isn't one of stored integers")
        return values, held

    def _turning(self, name: str) -> Iterator[Mapping[str, Array]]:
        """Inputs of a layer that fill a register which cuts sums, if it has one, or the
        registers in which products of words are added up."""
        side, op = self.side, self.operations[name]
        if not isinstance(op, SUMMED):
            return
        default = side.contract or module_contract(side.model.module)
        if product_of(contract_of(op, default, side.load), op) == IN_TURN:
            yield from turning_inputs(side.model, default, op)
        elif (
            self.words(name) is not None
            and not isinstance(op, qnn.MatMulOp)
            and constant_integers(op.weight) is not None
        ):
            yield from turning_inputs(side.model, default, op, at_end=True)

    def rows(self, names: tuple[str, ...]) -> LayerRun:
        """A run of a layer whose rows are functions of one byte's row. Raises Unfit."""
        name, *others = names
        op = self.operations[name]
        if others or not isinstance(op, qnn.SoftmaxOp | qnn.LogSoftmaxOp):
            raise Unfit("several functions compute the layer")
        ((source, spec),) = self.reads(name).items()
        if spec.numpy_dtype.itemsize != 1:
            raise Unfit("it reads rows of more than 8 bits an element")
        run = self.side.layer(name, {source: np.zeros(spec.shape, spec.numpy_dtype)})
        if _varies(run) or run.result.itemsize != 1:
            raise Unfit("its quotients aren't bytes, or differ from element to element")
        return run

    def words(self, name: str) -> Integers | None:
        """The words that a layer reads, None of one that reads others."""
        element = element_type(self.operations[name].operands[0].type)
        if not isinstance(element, QuantizedType) or element.storage_width != 16:
            return None
        return np.arange(element.storage_min, element.storage_max + 1)

    def is_exact(self, name: str) -> bool:
        """Whether a layer's accumulators are all that its function sums: those of pools
        may be more by a number."""
        return not isinstance(self.operations[name], POOLS)

    def others(self, names: tuple[str, ...]) -> list[str]:
        """The names that these layers read and none of them defines, each once."""
        found = (source for name in names for source in self.reads(name))
        return list(dict.fromkeys(one for one in found if one not in names))

    def source(self, value: SSAValue) -> str:
        """The input or the layer whose result a value of the kernel level is."""
        value = without_reshapes(value)
        if isinstance(value, BlockArgument):
            return self.side.model.signature.inputs[value.index].name
        assert isinstance(value.owner, Operation)
        return layer_names(value.owner)[-1]

    def _table(self, names: tuple[str, ...]) -> Integers:
        """The result of the layers after the first as a function of the first one's,
        indexed by its bits and, if they read another layer, by the bits of that one:
        [code] or [code, code]. Raises Unfit."""
        first, *rest = names
        others = [source for source in self.others(tuple(rest)) if source != first]
        trials, varies = self._run(tuple(rest), [first, *others])
        if varies:
            raise Unfit("a rule after the sum differs from element to element")
        codes = 1 << 8 * trials[0].inputs[0].itemsize
        size = codes ** (1 + len(others))
        bits = np.concatenate([trial.result.reshape(-1) for trial in trials])
        return bits[:size].astype(np.int64).reshape([codes] * (1 + len(others)))

    def _trials(self, names: tuple[str, ...]) -> Sequence[Trial]:
        """The layers on all that their results are functions of. Raises Unfit."""
        return self._run(names, self.others(names))[0]

    def _run(
        self, names: tuple[str, ...], sources: Sequence[str]
    ) -> tuple[Sequence[Trial], bool]:
        """Trials with every byte, every pair, or every word, and whether rules differ
        from element to element: then there are as many for each."""
        specs = {
            source: spec for name in names for source, spec in self.reads(name).items()
        }
        shapes = {specs[source].shape for source in sources}
        types = {specs[source].numpy_dtype for source in sources}
        if any(type.kind == "f" or type.itemsize > 2 for type in types):
            raise Unfit("it reads real numbers, or others of more than 16 bits")
        bits = {8 * type.itemsize for type in types}
        if len(shapes) != 1 or len(bits) != 1 or len(sources) * max(bits) > 16:
            raise Unfit("it reads more than two bytes for an element")
        (shape,), (width,) = shapes, bits
        codes, stored = 1 << width, f"u{width // 8}"
        size, elements = codes ** len(sources), int(np.prod(shape))

        def inputs(numbers: Integers, step: int) -> list[Array]:
            """The bytes of some trials, [trial, ...], one after another by `step`."""
            code = np.arange(elements) + numbers[:, np.newaxis] * step
            return [
                (code % size // codes**place % codes).astype(stored).reshape(-1, *shape)
                for place in reversed(range(len(sources)))
            ]

        def values(given: Sequence[Array]) -> dict[str, Array]:
            return {
                source: bits.view(specs[source].numpy_dtype)
                for source, bits in zip(sources, given, strict=True)
            }

        first = [bits[0] for bits in inputs(np.zeros(1, np.int64), 1)]
        runs = list(self._layers(names, values(first)))
        varies = any(map(_varies, runs))
        if varies and elements * size > AFFORDABLE:
            raise Unfit("a rule differs from element to element")
        step = 1 if varies else elements
        trials: list[Trial] = []
        numbers, most = -(-size // step), _TOGETHER // elements + 1
        for start in range(0, numbers, most):
            given = inputs(np.arange(start, min(start + most, numbers)), step)
            found = self._of_many(runs, names, values(given))
            for number, bits in enumerate(zip(*given, strict=True)):
                if found is None:
                    *_, run = self._layers(names, values(bits))
                    result = run.result
                else:
                    result = found[number]
                trials.append(Trial(bits, result.view(f"u{result.itemsize}")))
        return trials, varies

    def _of_many(
        self, runs: Sequence[LayerRun], names: Sequence[str], values: dict[str, Array]
    ) -> Array | None:
        """The result of the last layer for many values, [trial, ...], by the rules that
        one run saw; None for layers that do more than map elements."""
        result: Array | None = None
        for run, name in zip(runs, names, strict=True):
            shape = run.result.shape
            if not isinstance(run.op, _MAPPED) or len(run.evaluations) != 1:
                return None
            (evaluation,) = run.evaluations
            given = dict(evaluation.values)
            for operand, value in named_operands(self.operations[name]):
                stored = values.get(self._read_name(value))
                if (
                    stored is None
                    or stored.dtype.kind == "f"
                    or stored.shape[1:] != shape
                ):
                    return None
                given[operand] = stored.astype(np.int32)
            try:
                (found,) = evaluation.rule.evaluate(given)
            except InterpretationError as error:
                raise Unfit(f"some byte has no result: {error.message}") from error
            many = len(next(iter(values.values()))), *shape
            result = np.broadcast_to(found.astype(run.result.dtype), many)
            values[name] = result
        return result

    def _read_name(self, value: SSAValue) -> str:
        """The input or the layer that a value of the qnn level is; "" of a constant."""
        if isinstance(value, BlockArgument):
            return self.side.model.signature.inputs[value.index].name
        return (isinstance(value.owner, Operation) and layer_name(value.owner)) or ""

    def _layers(
        self, names: tuple[str, ...], values: dict[str, Array]
    ) -> Iterator[LayerRun]:
        for name in names:
            try:
                run = self.side.layer(name, values)
            except InterpretationError as error:
                raise Unfit(f"some byte has no result: {error.message}") from error
            values[name] = run.result
            yield run


def _varies(run: LayerRun) -> bool:
    """Whether a rule has other constants for other elements, or asks where they are."""
    return any(
        name == "element"
        or (name in RULES[one.rule.name].constants and one.values[name].size > 1)
        for one in run.evaluations
        for name in one.rule.values
    )
