"""Calls on constants that are computed when a program of torchao's is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..graph.schema import Array
from .program import Argument
from .reader import TYPES

INT32, FLOAT32 = 4, 7
"""The schema's numbers of element types."""

Fold = Callable[[Mapping[str, Argument], Sequence[Array]], Array | None]


def _cast(arguments: Mapping[str, Argument], arrays: Sequence[Array]) -> Array | None:
    type = arguments.get("dtype")
    _, dtype = TYPES.get(type, ("", None)) if isinstance(type, int) else ("", None)
    return None if dtype is None else arrays[0].astype(dtype)


def _total(arguments: Mapping[str, Argument], arrays: Sequence[Array]) -> Array | None:
    axes = arguments.get("dim")
    if arguments.get("dtype") != INT32 or not isinstance(axes, tuple):
        return None
    kept = bool(arguments.get("keepdim", False))
    numbers = [axis for axis in axes if isinstance(axis, int)]
    return arrays[0].sum(axis=tuple(numbers), keepdims=kept, dtype=np.int32)


def _product(
    arguments: Mapping[str, Argument], arrays: Sequence[Array]
) -> Array | None:
    """Sums of weights times a whole number."""
    other = arguments.get("other")
    if not isinstance(other, int) or len(arrays) > 1 or arrays[0].dtype != np.int32:
        return None
    return np.multiply(arrays[0], np.int32(other), dtype=np.int32)


def _flat(arguments: Mapping[str, Argument], arrays: Sequence[Array]) -> Array | None:
    ends = arguments.get("start_dim", 0), arguments.get("end_dim", -1)
    return arrays[0].reshape(-1) if ends == (0, -1) else None


def _dequantized(
    arguments: Mapping[str, Argument], arrays: Sequence[Array]
) -> Array | None:
    """`F(F(q - z) s)`, each block by its own (quant_primitives.py,
    _dequantize_affine_no_dtype_check)."""
    codes, scales, *points = arrays
    blocks = arguments.get("block_size")
    if not isinstance(blocks, tuple) or len(blocks) != codes.ndim:
        return None
    if arguments.get("output_dtype", FLOAT32) != FLOAT32 or codes.dtype != np.int8:
        return None
    sizes = [size for size in blocks if isinstance(size, int) and size > 0]
    counts = [size // block for size, block in zip(codes.shape, sizes, strict=True)]
    if any(
        n * block != s for n, block, s in zip(counts, sizes, codes.shape, strict=True)
    ):
        return None
    along = [part for pair in zip(counts, sizes, strict=True) for part in pair]
    each = [part for count in counts for part in (count, 1)]
    centred = codes.reshape(along).astype(np.float32)
    if points:
        centred = centred - points[0].reshape(each).astype(np.float32)
    return (centred * scales.reshape(each).astype(np.float32)).reshape(codes.shape)


FOLDED: Mapping[str, Fold] = {
    "aten.t.default": lambda _, arrays: np.ascontiguousarray(arrays[0].T),
    "aten.to.dtype": _cast,
    "aten.sum.dim_IntList": _total,
    "aten.mul.Tensor": _product,
    "aten.flatten.using_ints": _flat,
    "torchao.dequantize_affine.default": _dequantized,
}
"""Calls that are computed where they take constants alone."""
