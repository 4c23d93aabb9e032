"""The output of torchao's `quantize_`, as the calls of whole layers.

A tensor of torchao is a constant of integers, and the program states step by step what
its layers do with it: weights become real, rows of activations are quantized by their
own range, products of integers are scaled. The first is computed here, as it depends on
constants alone; each of the other two becomes one call, whose meaning an operator or a
contract's rules state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..graph.schema import Array, Constant
from .program import Argument, Call, Program, Tensor
from .reader import TYPES
from .torchao_constants import FLOAT32, FOLDED, INT32

DYNAMIC_LINEAR = "torchao.dynamic_linear"
"""Rows by their own symmetric range times stored weights [O, K], with scales [O]."""

QUANTIZED_ROWS = "torchao.quantized_rows"
"""Rows quantized by their own range and made real again."""

MOST_FOLDED = 4
"""Numbers computed for each byte of the file: each weight is used up to three times."""

UINT8, INT8 = 1, 2
"""The schema's numbers of element types."""

SYMMETRIC_EPSILON = float(np.float32(2**-23))
"""The least scale of rows whose range is symmetric; others have none."""


def read_torchao(program: Program) -> Program:
    """The program with calls of whole layers, where it has torchao's."""
    if not any(call.target.startswith("torchao.") for call in program.calls) and (
        not any(call.target == "aten.t.default" for call in program.calls)
    ):
        return program
    return _Reader(program).read()


@dataclass(frozen=True)
class _Intermediate:
    """A value between quantizing rows of `input` and a real result.

    `stage` is "scale", "point" or "codes" of the rows of `depth` numbers, "sums" of
    products with the constant `weights` [K, O], or "scaled" ones; stored integers have
    `offset` added.
    """

    stage: str
    input: str
    depth: int
    is_symmetric: bool
    offset: int = 0
    weights: str = ""


class _Reader:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants = dict(program.constants)
        self.steps: dict[str, _Intermediate] = {}
        self.calls: list[Call] = []
        self.left = MOST_FOLDED * max(program.size, 1 << 14)

    def read(self) -> Program:
        pending: dict[str, Call] = {}
        for call in self.program.calls:
            if call.target == "aten._assert_tensor_metadata.default":
                continue
            if self.folded(call):
                continue
            step = self.step(call)
            if step is None:
                self.keep(self.layer(call) or call, pending)
                continue
            pending.update(dict.fromkeys(call.results, call))
        return replace(self.program, calls=tuple(self.calls), constants=self.constants)

    def keep(self, call: Call, pending: dict[str, Call]) -> None:
        """Keep a call, and before it those steps on its operands that belong to no
        layer, which are refused by their names."""
        for value in call.arguments.values():
            if isinstance(value, Tensor) and value.name in pending:
                step = pending[value.name]
                for result in step.results:
                    pending.pop(result, None)
                self.keep(step, pending)
        self.calls.append(call)

    # Constants

    def array(self, value: Argument) -> Array | None:
        if not isinstance(value, Tensor) or value.name not in self.constants:
            return None
        return self.constants[value.name].array

    def folded(self, call: Call) -> bool:
        """Whether a call is computed now, as what it takes are constants."""
        fold = FOLDED.get(call.target)
        tensors = [v for v in call.arguments.values() if isinstance(v, Tensor)]
        if fold is None or not tensors or len(call.results) != 1:
            return False
        arrays = [self.array(tensor) for tensor in tensors]
        known = [array for array in arrays if array is not None]
        self.left -= sum(array.size for array in known)
        if len(known) < len(arrays) or self.left < 0:
            return False
        try:
            found = fold(call.arguments, known)
        except (TypeError, ValueError):
            return False
        if found is None:
            return False
        names = {dtype: name for name, dtype in TYPES.values() if dtype is not None}
        short = found.dtype.str if found.dtype.itemsize > 1 else found.dtype.str[1:]
        constant = Constant(names[short], found.shape, found)
        self.constants[call.results[0]] = constant
        return True

    # Layers

    def of(self, call: Call, *names: str) -> _Intermediate | None:
        """The step that an argument is the result of."""
        for name in names:
            value = call.arguments.get(name)
            if isinstance(value, Tensor):
                return self.steps.get(value.name)
        return None

    def step(self, call: Call) -> _Intermediate | None:
        """The step to a layer's result that a call's result is, if it is one."""
        made = STEPS.get(call.target)
        found = None if made is None else made(self, call)
        if found is not None:
            self.steps[call.results[0]] = found
        return found

    def layer(self, call: Call) -> Call | None:
        """A call of a whole layer, where this one ends it."""
        step = self.of(call, "self", "input")
        if step is None:
            return None
        if call.target == "torchao.dequantize_affine.default" and self.is_of_rows(
            call, step
        ):
            taken: Mapping[str, Argument] = {"input": Tensor(step.input)}
            return replace(call, target=QUANTIZED_ROWS, arguments=taken)
        scales = self.array(call.arguments.get("other"))
        if call.target != "aten.mul.Tensor" or step.stage != "scaled" or scales is None:
            return None
        weights = self.constants[step.weights].array
        assert weights is not None
        if scales.shape != weights.shape[1:] or scales.dtype != np.float32:
            return None
        stored = np.ascontiguousarray(weights.T)
        name = f"{call.results[0]}/weights"
        self.constants[name] = Constant("INT8", stored.shape, stored)
        scale = call.arguments["other"]
        taken = {"input": Tensor(step.input), "weight": Tensor(name), "scale": scale}
        return replace(call, target=DYNAMIC_LINEAR, arguments=taken)

    def is_of_rows(self, call: Call, step: _Intermediate) -> bool:
        """Whether a conversion of rows takes the scale and zero point of their range,
        and all values that 8 bits have."""
        scale, point = self.of(call, "scale"), self.of(call, "zero_point")
        blocks = call.arguments.get("block_size")
        type = "input_dtype" if "input_dtype" in call.arguments else "output_dtype"
        return (
            scale == replace(step, stage="scale")
            and point == replace(step, stage="point")
            and isinstance(blocks, tuple)
            and blocks[-1:] == (step.depth,)
            and all(size == 1 for size in blocks[:-1])
            and _is_int8(call, type)
        )


def _is_int8(call: Call, name: str) -> bool:
    arguments = call.arguments
    limits = arguments.get("quant_min"), arguments.get("quant_max")
    return arguments.get(name) == INT8 and limits in ((-128, 127), (None, None))


def _ranges(reader: _Reader, call: Call) -> _Intermediate | None:
    """The scale and the zero point of each row."""
    arguments = call.arguments
    kind, blocks = arguments.get("mapping_type"), arguments.get("block_size")
    value = arguments.get("input")
    if (
        kind not in ("SYMMETRIC", "ASYMMETRIC")
        or not isinstance(blocks, tuple)
        or not isinstance(value, Tensor)
        or any(size != 1 for size in blocks[:-1])
        or not isinstance(blocks[-1], int)
        or not _is_int8(call, "target_dtype")
        or arguments.get("scale_dtype") not in (FLOAT32, None)
    ):
        return None
    is_symmetric = kind == "SYMMETRIC"
    expected = SYMMETRIC_EPSILON if is_symmetric else None
    if arguments.get("eps") != expected:
        return None
    made = _Intermediate("scale", value.name, blocks[-1], is_symmetric)
    if len(call.results) == 2:
        reader.steps[call.results[1]] = replace(made, stage="point")
    return made


def _codes(reader: _Reader, call: Call) -> _Intermediate | None:
    scale = reader.of(call, "scale")
    value = call.arguments.get("input")
    if scale is None or not isinstance(value, Tensor) or value.name != scale.input:
        return None
    codes = replace(scale, stage="codes")
    return codes if reader.is_of_rows(call, codes) else None


def _rows(reader: _Reader, call: Call) -> _Intermediate | None:
    """A matrix of the same rows."""
    step = reader.of(call, "self")
    shape = call.arguments.get("shape", call.arguments.get("size"))
    if step is None or not isinstance(shape, tuple):
        return None
    width = step.depth if step.stage == "codes" else 1
    is_same = step.stage in ("codes", "scale", "point") and shape == (-1, width)
    return step if is_same else None


def _typed(reader: _Reader, call: Call) -> _Intermediate | None:
    """Another type that holds the same numbers."""
    step = reader.of(call, "self")
    if step is None:
        return None
    types = {"scale": (FLOAT32,), "sums": (INT32, FLOAT32), "scaled": (FLOAT32,)}
    of_codes = (INT32, {0: INT8, 128: UINT8}.get(step.offset))
    held = types.get(step.stage, of_codes if step.stage == "codes" else ())
    return step if call.arguments.get("dtype") in held else None


def _sum(reader: _Reader, call: Call) -> _Intermediate | None:
    """The number that is added to codes to make them unsigned, or subtracted from the
    sums."""
    step, other = reader.of(call, "self"), call.arguments.get("other")
    if step is None:
        return None
    if call.target == "aten.add.Tensor" and step.stage == "codes":
        if not isinstance(other, int):
            return None
        return replace(step, offset=step.offset + other)
    taken = reader.array(other)
    if call.target == "aten.add.Tensor" or step.stage != "sums" or taken is None:
        return None
    weights = reader.constants[step.weights].array
    assert weights is not None
    totals = step.offset * weights.sum(axis=0, dtype=np.int64)
    if taken.size != totals.size or not (taken.reshape(-1) == totals).all():
        return None
    return replace(step, offset=0)


def _products(reader: _Reader, call: Call) -> _Intermediate | None:
    codes, other = reader.of(call, "self"), call.arguments.get("mat2")
    weights = reader.array(other)
    if codes is None or codes.stage != "codes" or not codes.is_symmetric:
        return None
    if weights is None or weights.dtype != np.int8 or not isinstance(other, Tensor):
        return None
    return replace(codes, stage="sums", weights=other.name)


def _scaled(reader: _Reader, call: Call) -> _Intermediate | None:
    """Sums times the scales of their rows."""
    sums, scale = reader.of(call, "self"), reader.of(call, "other")
    if sums is None or scale is None or (sums.stage, sums.offset) != ("sums", 0):
        return None
    if (scale.stage, scale.input) != ("scale", sums.input):
        return None
    return replace(sums, stage="scaled")


STEPS: Mapping[str, Callable[[_Reader, Call], _Intermediate | None]] = {
    "torchao.choose_qparams_affine.default": _ranges,
    "torchao.quantize_affine.default": _codes,
    "aten.reshape.default": _rows,
    "aten.view.default": _rows,
    "aten.to.dtype": _typed,
    "aten.add.Tensor": _sum,
    "aten.sub.Tensor": _sum,
    "aten.sub_.Tensor": _sum,
    "aten._int_mm.default": _products,
    "aten.mul.Tensor": _scaled,
}
