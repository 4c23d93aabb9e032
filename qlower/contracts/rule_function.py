"""A contract's rule as a function of arrays: from accumulators to stored integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from qlower.contracts import Contract, Rule, load_contract
from qlower.contracts.rule_signature import RuleSignature
from qlower.contracts.rules import OF_WORDS, RULES
from qlower.contracts.values import (
    Values,
    activation_values,
    operand_values,
    position_values,
)
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.files.arrays import unmasked
from qlower.interp.values import Array, dtype_of
from qlower.process.float_environment import default_floats

STORED = ("int8", "uint8", "int16")
"""Types of stored integers."""

ELEMENT = "element"
"""The position of an element in row-major order, which a rule may ask for."""

ALIASES = {"lhs": "input", "rhs": "weight"}
"""Operands of products have two names each."""


class Tensor(Protocol):
    """The part of PyTorch's tensors that is used."""

    @property
    def device(self) -> Any: ...
    def detach(self) -> Tensor: ...
    def cpu(self) -> Tensor: ...
    def numpy(self) -> Array: ...


Given = TypeVar("Given")

Number: TypeAlias = float | Sequence[float] | Array | Tensor
"""One value, or one for each channel."""


def rule(contract: str, op: str) -> RuleFunction:
    """Return an operation by a contract as a function of arrays.

    `contract` is a name, the path of an `.mlir` file or what `arithmetic` gives; `op` a
    rule: conv2d, depthwise_conv2d, linear, matmul, add, sub, mul, requantize, mean ...
    Raises `QlowerError` for a contract or rule that isn't there.

        store = qlower.rule("tflite", "conv2d")
        y = store(accumulators, input_scale=0.02, weight_scale=[0.01, 0.005],
                  output_scale=0.05, output_zero_point=-3)
    """
    loaded = load_contract(contract)
    function = RuleFunction(loaded, op)
    functions = [name for name in loaded.rules if _is_function(name)]
    if op not in functions:
        close = get_close_matches(op, functions, n=1)
        raise QlowerError(
            f"contract {contract} has no operation {op!r} of arrays",
            help=f"did you mean {close[0]}?" if close else f"it has {functions}",
        )
    return function


def _is_function(name: str) -> bool:
    """Whether a rule for bytes maps elements to elements."""
    signature = RULES.get(name)
    if signature is None or name.endswith(OF_WORDS) or signature.results is None:
        return False
    if signature.of_rows:
        return False
    return len(signature.results) == 1 and bool(signature.runtime)


@dataclass(frozen=True)
class RuleFunction:
    """An operation by a contract, as a function of the values that differ from element
    to element: of accumulators for convolutions and linear layers, of operands for
    others."""

    contract: Contract
    op: str

    @default_floats()
    def __call__(
        self,
        *arrays: Given,
        dtype: str = "int8",
        activation: str | None = None,
        bias: Number | None = None,
        **values: Number,
    ) -> Given:
        """Return the stored integers as int32, of the arrays' common shape.

        Arrays are NumPy's or PyTorch's, and so is the result. An accumulator is a sum
        of products (input less zero point times weight less zero point), wraps at 32
        bits, and has its channels last. `values` are scales and zero points (0 by
        default), one or one for each channel, and others that the rule asks for, named
        as in `contracts/rules.py`. `dtype` is the type of inputs and results: int8,
        uint8 or int16; weights are signed unless `weight_unsigned` is True.
        `activation` is relu, relu6 or relu_n1_to_1. A `bias`, of integers in steps of
        input scale times weight scale or of real numbers, is added as the contract
        does.

        Raises `QlowerError` for a value that is missing, unknown or out of its range.
        """
        call = _Call(self, dtype, activation)
        return cast(Given, call.result(arrays, bias, values))


@dataclass(frozen=True)
class _Call:
    """One call of a rule, for a type of stored integers."""

    function: RuleFunction
    dtype: str
    activation: str | None

    def result(
        self, arrays: Sequence[object], bias: Number | None, given: Mapping[str, Number]
    ) -> object:
        self._check(len(arrays), given)
        runtime = dict(self._runtime(arrays))
        shape = np.broadcast_shapes(*(array.shape for array in runtime.values()))
        values = self._values({n: _array(v) for n, v in given.items()}, shape)
        if bias is not None:
            self._add_bias(runtime, values, _array(bias))
        known = {**values, **runtime}
        missing = [name for name in self.rule.values if name not in known]
        if missing:
            raise QlowerError(
                f"{self.name} asks for {', '.join(missing)}, which "
                f"{'is' if len(missing) == 1 else 'are'} not given"
            )
        (found,) = self.rule.evaluate_each(known, shape)
        return _like(arrays[0], found.copy())

    @property
    def contract(self) -> Contract:
        loaded = self.function.contract
        return loaded.of_words if self.dtype == "int16" else loaded

    @property
    def rule(self) -> Rule:
        return self.contract.rule(self.function.op)

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.function.op} of contract {self.function.contract.name}"

    @property
    def signature(self) -> RuleSignature:
        op = self.function.op
        return RULES[f"{op}{OF_WORDS}" if self.dtype == "int16" else op]

    @property
    def runtime(self) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(name for name in self.signature.runtime if name != ELEMENT)

    def _check(self, count: int, given: Mapping[str, Number]) -> None:
        if self.dtype not in STORED:
            raise QlowerError(f"dtype {self.dtype!r} is not one of {', '.join(STORED)}")
        if self.activation not in qnn.ACTIVATION_BOUNDS:
            known = ", ".join(filter(None, qnn.ACTIVATION_BOUNDS))
            raise QlowerError(f"activation {self.activation!r} is not one of {known}")
        names = self._arrays_taken(count)
        if count != len(names):
            raise QlowerError(
                f"{self.name} takes {', '.join(self.runtime)}: {count} arrays are given"
            )
        unknown = [name for name in given if name not in self.signature.constants]
        if unknown:
            close = get_close_matches(unknown[0], self.signature.constants, n=1)
            raise QlowerError(
                f"{self.name} has no value {unknown[0]!r}",
                help=f"did you mean {close[0]}?" if close else None,
            )

    def _arrays_taken(self, count: int) -> tuple[str, ...]:
        """The arrays that a call has: those that the rule wants, or all that it may."""
        wanted = tuple(name for name in self.runtime if name in self.rule.values)
        return wanted if count == len(wanted) else self.runtime

    def _runtime(self, arrays: Sequence[object]) -> Iterator[tuple[str, Array]]:
        for name, given in zip(self._arrays_taken(len(arrays)), arrays, strict=True):
            array, type = _array(given), self.signature.runtime[name]
            wanted = dtype_of(type)
            if (array.dtype.kind == "f") != (wanted.kind == "f"):
                needed = "real numbers" if wanted.kind == "f" else "integers"
                raise QlowerError(f"{name} has type {array.dtype}, {needed} are needed")
            if name in ("lhs", "rhs", "input") and wanted.kind == "i":
                limits = np.iinfo(self.dtype)
                out = (array < limits.min) | (array > limits.max)
                if out.any():
                    raise QlowerError(f"{name} {array[out][0]} is not {self.dtype}")
            yield name, array.astype(wanted)

    def _values(self, given: Mapping[str, Array], shape: tuple[int, ...]) -> Values:
        """All constants that are known, as a model's operation would give them."""
        weight_scale = given.get("weight_scale", given.get("rhs_scale", np.ones(())))
        weight_zero = given.get("weight_zero_point", np.zeros(()))
        values: Values = {
            **position_values(shape),
            ELEMENT: np.arange(np.prod(shape), dtype=np.int32).reshape(shape),
            "double_round": np.array(False),
            "half_scales": np.array(False),
            "lhs_is_scalar": np.array(False),
            "per_channel": np.array(weight_scale.size > 1),
            "weights_symmetric": np.array(not weight_zero.any()),
            "one_weight_scale": np.array(len(np.unique(weight_scale)) == 1),
            "first_weight_scale": weight_scale.ravel()[0],
            "one_bias": np.array(False),
            "in_sequence": np.array(False),
            "in_qdq": np.array(False),
            "input_rank": np.array(2, np.int32),
            "transposed": np.array(False),
            "groups": np.array(1, np.int32),
            "bias": np.zeros((), np.int32),
            "bias_bits": np.zeros((), np.int32),
            "real_bias": np.zeros((), np.float32),
        }
        for scale in self.signature.constants:
            if not scale.endswith("_scale") or scale not in given:
                continue
            prefix = scale.removesuffix("_scale")
            type = self._type(prefix, given)
            if prefix == "output":
                values |= activation_values(self.contract, type, self.activation)
            else:
                values |= operand_values(prefix, type)
            if prefix in ALIASES:
                values |= operand_values(ALIASES[prefix], type)
        for name, array in given.items():
            if not name.endswith(("_scale", "_zero_point")):
                values[name] = array.astype(dtype_of(self.signature.constants[name]))
        return values

    def _type(self, prefix: str, given: Mapping[str, Array]) -> Attribute:
        """The type of an operand or of the result."""
        scales = given[f"{prefix}_scale"].astype(np.float64)
        zeros = given.get(f"{prefix}_zero_point", np.zeros((), np.int32))
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise QlowerError(f"{prefix}_scale must be positive and finite: {scales}")
        signed = self.dtype != "uint8" or prefix in ("weight", "rhs")
        if f"{prefix}_unsigned" in given:
            signed = not given[f"{prefix}_unsigned"]
        width = 8 if prefix == "weight" else 8 * np.dtype(self.dtype).itemsize
        if scales.ndim == 0 and zeros.ndim == 0:
            args = (width, signed, float(scales), int(zeros))
            return TensorType(QuantizedType.per_tensor(*args), [1])
        scales, zeros = np.broadcast_arrays(scales.reshape(-1), zeros.reshape(-1))
        element = QuantizedType.per_axis(
            width, signed, 0, scales.tolist(), [int(zero) for zero in zeros]
        )
        return TensorType(element, [scales.size])

    def _add_bias(self, runtime: dict[str, Array], values: Values, bias: Array) -> None:
        """Give the rule the bias in its form, or else add it to the accumulator."""
        if "accumulator" not in runtime or "bias" not in self.signature.constants:
            raise QlowerError(f"{self.name} takes no bias")
        is_real = bias.dtype.kind == "f"
        bias = bias.astype(np.float32 if is_real else np.int32)
        wanted = self.rule.values
        if "real_bias" in wanted:
            values["real_bias"] = bias if is_real else self._as("bias", bias, values)
        if "bias" in wanted or "real_bias" not in wanted:
            integers = self._as("real_bias", bias, values) if is_real else bias
            if "bias" in wanted:
                values["bias"] = integers
            else:
                total = runtime["accumulator"].astype(np.int64) + integers
                runtime["accumulator"] = total.astype(runtime["accumulator"].dtype)

    def _as(self, form: str, bias: Array, values: Values) -> Array:
        """The bias in the other form than it is given in."""
        name = "dequantize_bias" if form == "bias" else "quantize_bias"
        (other,) = self.contract.rule(name).evaluate({**values, form: bias})
        return other


def _array(given: object) -> Array:
    """A number, list or tensor as an array."""
    if hasattr(given, "detach"):
        return cast(Tensor, given).detach().cpu().numpy()
    return unmasked(given)


def _like(given: object, found: Array) -> object:
    """The result as the arrays are: a tensor on the device of theirs, or an array."""
    if not hasattr(given, "detach"):
        return found
    torch = import_module("torch")
    return torch.from_numpy(found).to(cast(Tensor, given).device)
