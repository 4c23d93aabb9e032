"""Einsum of two tensors: a batched product of matrices, as ONNX Runtime makes it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...entry import takes
from ..context import NodeContext
from ..values import Value, real_value
from .real_layers import product, real_tensor


def import_einsum(node: NodeContext) -> None:
    """Import an Einsum. Dimensions of both operands and the result count matrices;
    dimensions that the result lacks are summed in the order in which the equation names
    them (core/providers/cpu/math/einsum_utils)."""
    words, result = _read(node)
    values = [real_tensor(node, number) for number in range(len(words))]
    sizes = _sizes(node, words, values)
    left, right = words
    batch = [one for one in left if one in right and one in result]
    summed = [one for one in left if one in right and one not in result]
    rows = [one for one in left if one not in right]
    columns = [one for one in right if one not in left]
    if unused := [one for one in (*rows, *columns) if one not in result]:
        raise node.error(
            f"equation {node.text('equation')!r} sums {unused[0]!r} of one operand"
            " alone, which is not supported"
        )
    if not summed and not (rows and columns):
        raise node.error(
            f"equation {node.text('equation')!r} is no product of matrices, which is"
            " not supported"
        )
    lhs = _matrices(node, values[0], left, (batch, rows, summed), sizes)
    rhs = _matrices(node, values[1], right, (batch, summed, columns), sizes)
    found = product(node, lhs, rhs, suffix="product")
    order = [*batch, *rows, *columns]
    split = [sizes[one] for one in order]
    whole = node.reshaped(found, split)
    turned = Value(whole.ssa, tuple(result.index(one) for one in order), True)
    node.define(turned)


def _read(node: NodeContext) -> tuple[list[str], str]:
    """The words of two operands and the result, in which each letter is a dimension."""
    equation = node.text("equation").replace(" ", "")
    given, arrow, result = equation.partition("->")
    words = given.split(",")
    if not arrow:
        letters = "".join(words)
        result = "".join(sorted(one for one in letters if letters.count(one) == 1))
    if len(words) != node.count:
        raise node.error(
            f"equation {equation!r} has {len(words)} operands, the node {node.count}"
        )
    for word in (*words, result):
        if not (word.isalpha() and word.isascii()) and word:
            raise node.error(
                f"{word!r} in equation {equation!r} is not supported; expected letters"
            )
        if len(set(word)) != len(word):
            raise node.error(
                f"{word!r} in equation {equation!r} repeats a letter, which is not"
                " supported"
            )
    if len(words) != 2:
        raise node.error(
            f"equation {equation!r} of {len(words)} operands is not supported;"
            " expected 2"
        )
    if unknown := [one for one in result if one not in given]:
        raise node.error(f"{unknown[0]!r} of equation {equation!r} has no operand")
    return words, result


def _sizes(
    node: NodeContext, words: Sequence[str], values: Sequence[Value]
) -> dict[str, int]:
    """The size of each dimension, the same in both operands."""
    sizes: dict[str, int] = {}
    for word, value in zip(words, values, strict=True):
        if len(word) != len(value.shape):
            raise node.error(
                f"{word!r} names {len(word)} dimensions of {list(value.shape)}"
            )
        for one, size in zip(word, value.shape, strict=True):
            if sizes.setdefault(one, size) != size:
                raise node.error(
                    f"{one!r} is {sizes[one]} of one operand, {size} of the other"
                )
    return sizes


def _matrices(
    node: NodeContext,
    value: Value,
    word: str,
    groups: Sequence[Sequence[str]],
    sizes: dict[str, int],
) -> Value:
    """An operand as matrices: dimensions that count these, then rows and columns."""
    batch, *sides = groups
    perm = tuple(word.index(one) for group in groups for one in group)
    stored = node.in_order(value, perm)
    shape = [sizes[one] for one in batch]
    shape += [math.prod(sizes[one] for one in side) for side in sides]
    plain = real_value(stored.ssa)
    return node.reshaped(plain, shape)


IMPORTERS = {("", "Einsum"): takes("x, more*", import_einsum)}
