"""A device that runs a model with any weights: these are inputs of its code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.elementwise import BinaryOp
from qlower.dialects.qnn.pooling import ReductionOp
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, shape_of
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import is_constant, layer_name, layers, value_names
from qlower.model.printing import exact_module
from qlower.model.scales import (
    connected_values,
    result_types,
    weight_types,
    with_scales,
)
from qlower.model.signature import Array
from qlower.model.weights import (
    WeightSpec,
    open_weights,
    weight_specs,
    weight_values,
    with_weights,
)
from qlower.runtime.executors import Executor, Results
from qlower.text.parsing import parse_module
from qlower.torch.surrogates import SURROGATES

_SCALED = (qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp, qnn.MatMulOp, BinaryOp)
"""Operations whose results may have any scale."""


class Device:
    """A model and a contract, compiled once for all values of weights and biases.

    If it `is_frozen`, it is compiled for the values that it has, and again for others:
    such code is faster, and contracts that have to know the weights accept it.
    Immutable, so copies are the same object; a pickle has the model as text. Raises
    `QlowerError` for a model with an operation that has no surrogate.
    """

    def __init__(
        self,
        model: Model,
        contract: str | None,
        layer_contracts: Mapping[str, str],
        threads: int,
        *,
        is_frozen: bool = False,
    ) -> None:
        if threads < 1:
            raise QlowerError(f"threads is {threads}; at least 1 is needed")
        self.model = model
        self.contract = contract
        self.layer_contracts = dict(layer_contracts)
        self.threads = threads
        self.operations = tuple(layers(model.module))
        for op in self.operations:
            check_supported(op)
        self.weights = weight_specs(model.module)
        self.weight_values = weight_values(model.module)
        self.names = value_names(model.module)
        self.counts_examples = counts_examples(model, self.operations)
        self.is_frozen = is_frozen
        if is_frozen:
            self._frozen = b"", self._compilation(model).function()
        else:
            packed = {spec.name for spec in self.weights if spec.can_be_packed}
            compilation = self._compilation(open_weights(model))
            self._open = compilation.packing_function(packed)

    def _compilation(self, model: Model) -> Compilation:
        return Compilation(
            model,
            self.contract,
            with_layers=True,
            layer_contracts=self.layer_contracts,
        )

    def _code(self, weights: Sequence[Array]) -> tuple[Executor, Sequence[Array]]:
        """The code, and its arguments other than the inputs."""
        if not self.is_frozen:
            return self._open, weights
        key, function = self._frozen
        present = b"".join(array.tobytes() for array in weights)
        if key != present:
            names = [spec.name for spec in self.weights]
            stored = dict(zip(names, weights, strict=True))
            changed = with_weights(self.model, stored)
            function = self._compilation(changed).function()
            self._frozen = present, function
        return function, ()

    @cached_property
    def free_scales(self) -> dict[str, tuple[float, ...]]:
        """Scales that may be trained: of results between layers, by the first value
        that shares them, and of weights, by `weight_key`.

        Those of inputs, of outputs, and of results that only an activation has (a
        softmax's are the contract's own) aren't among them.
        """
        types = result_types(self.model.module)
        found: dict[str, tuple[float, ...]] = {}
        found |= {key: (types[key].scale,) for key in self.result_keys.values()}
        for spec in self.weights:
            if spec.role == "weight" and spec.scales:
                found[self.weight_key(spec)] = spec.scales
        return {key.replace(".", "_"): scales for key, scales in found.items()}

    @cached_property
    def result_keys(self) -> dict[SSAValue, str]:
        """The name of each result's scale that may be trained."""
        ports = (*self.model.inputs, *self.model.outputs)
        fixed = {spec.name for spec in ports} | {self.names[v] for v in self.results}
        producers = {
            self.names[value]
            for op in self.operations
            if isinstance(op, _SCALED) and op.rules
            for value in op.results
        }
        groups = [
            group
            for group in connected_values(self.model.module)
            if not fixed.intersection(group) and producers.issuperset(group[:1])
        ]
        keys = {name: group[0] for group in groups for name in group}
        return {v: keys[name] for v, name in self.names.items() if name in keys}

    def weight_key(self, spec: WeightSpec) -> str:
        """The name of a weight's scales."""
        return f"{spec.layer}:{spec.role}".replace(".", "_")

    def rescaled(self, scales: Mapping[str, Sequence[float]]) -> Device:
        """The device of the same model with other scales, by `free_scales`."""
        low = min(min(one) for one in scales.values())
        if not low > 0:
            raise QlowerError(f"a scale is {low:g}; scales have to be positive")
        results = {
            name: type.rescaled(scales[name.replace(".", "_")])
            for name, type in result_types(self.model.module).items()
            if name in self.result_keys.values()
        }
        types = weight_types(self.model.module)
        weights = {
            spec.name: types[spec.name].rescaled(scales[self.weight_key(spec)])
            for spec in self.weights
            if self.weight_key(spec) in scales
        }
        model = replace(with_scales(self.model, results, weights), path=self.model.path)
        given = model, self.contract, self.layer_contracts, self.threads
        return Device(*given, is_frozen=self.is_frozen)

    def __deepcopy__(self, memo: object) -> Device:
        return self

    def __reduce__(self) -> tuple[Callable[..., Device], tuple[object, ...]]:
        text = exact_module(self.model.module)
        given = (self.contract, self.layer_contracts, self.threads, self.is_frozen)
        return _from_text, (text, self.model.path, *given)

    @property
    def results(self) -> tuple[SSAValue, ...]:
        """The values that the model returns."""
        last = main_function(self.model.module).body.block.last_op
        assert last is not None
        return tuple(last.operands)

    def run(self, inputs: Sequence[Array], weights: Sequence[Array]) -> Results:
        """The outputs, and every layer's result by name, as stored values.

        Inputs are one example each, or sets where `counts_examples`, which threads
        share; `weights` are in the order of the attribute.
        """
        function, given = self._code(weights)
        sizes = {len(array) for array in inputs} if self.counts_examples else {1}
        parts = min(self.threads, *sizes)
        if parts == 1:
            return function.run([*inputs, *given], {})
        split = [np.array_split(array, parts) for array in inputs]

        def run_part(index: int) -> Results:
            return function.run([*(one[index] for one in split), *given], {})

        with ThreadPoolExecutor(parts) as pool:
            found = list(pool.map(run_part, range(parts)))
        outputs = zip(*(outputs for outputs, _ in found), strict=True)
        joined = {
            name: np.concatenate([results[name] for _, results in found])
            for name in found[0][1]
        }
        return tuple(map(np.concatenate, outputs)), joined


def _from_text(
    text: str,
    path: Path | None,
    contract: str | None,
    layer_contracts: Mapping[str, str],
    threads: int,
    is_frozen: bool,
) -> Device:
    model = Model(parse_module(text), path)
    return Device(model, contract, layer_contracts, threads, is_frozen=is_frozen)


def check_supported(op: Operation) -> None:
    """Refuse an operation without a surrogate, or whose result has no real value."""
    if type(op) not in SURROGATES:
        raise QlowerError(f"{op.name} has no gradient here", op.location)
    for value in op.results:
        element = element_type(value.type)
        if isinstance(element, QuantizedType) and element.is_per_tensor:
            continue
        if not isinstance(element, Float32Type):
            raise QlowerError(
                f"the result of {op.name} has elements {element}; for gradients they "
                "must be f32, or quantized per tensor",
                op.location,
            )
    for value in op.operands:
        if is_constant(value.owner) and not isinstance(
            value.owner, qnn.ConstantOp | arith.ConstantOp
        ):
            raise QlowerError(
                f"{layer_name(op)} reads a constant of {value.type}", op.location
            )


def counts_examples(model: Model, operations: Sequence[Operation]) -> bool:
    """Whether every value has a leading dimension of 1, which no operation mixes with
    others: it may count examples."""
    values = [*main_function(model.module).body.block.args]
    values += [result for op in operations for result in op.results]
    return all(shape_of(value)[:1] == (1,) for value in values) and not any(
        _mixes_examples(op) for op in operations
    )


def _mixes_examples(op: Operation) -> bool:
    match op:
        case qnn.TransposeOp():
            return op.perm[0] != 0
        case qnn.ConcatOp() | qnn.SplitOp():
            return op.axis == 0
        case ReductionOp():
            return 0 in op.axes
        case BinaryOp() | qnn.MatMulOp():
            ranks = {
                len(shape_of(value))
                for value in op.operands
                if not is_constant(value.owner)
            }
            most = len(shape_of(op.results[0]))
            return ranks != {most} or (isinstance(op, qnn.MatMulOp) and most == 2)
        case qnn.LinearOp():
            return len(shape_of(op.input)) < 2
        case qnn.SoftmaxOp() | qnn.LogSoftmaxOp() | qnn.L2NormalizeOp():
            return len(shape_of(op.input)) < 2
        case _:
            return False
