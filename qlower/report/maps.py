"""Tensors as pictures: planes of cells, each a byte that a palette gives a colour.

A tensor with four dimensions or more has a plane for each channel of each image, and
one of all channels; another one is a single plane. Large tensors have fewer cells than
elements: of differences a cell has the largest, of values the first.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qlower.interp.values import Array
from qlower.observe.place import Index
from qlower.report.blocks import Block

WIDEST = 32
"""Cells in a row of a tensor that has but one row."""

LARGEST_DIFFERENCE = 127
"""The largest difference that is distinguished; greater ones look like it."""

SIGNED, VALUES = "signed", "values"
"""The palettes: of differences, 0 in the middle, and of values from the least on."""


@dataclass(frozen=True)
class Grid:
    """A tensor's elements in planes, rows and columns of cells.

    `shape` counts planes, rows and columns of elements; `steps` elements along each
    make a cell. A long tensor of one row is cut into rows of `WIDEST`.
    """

    shape: tuple[int, int, int]
    steps: tuple[int, int, int]
    is_wrapped: bool

    @staticmethod
    def of(shape: Sequence[int], most: int) -> Grid:
        """The grid for a tensor, with at most about `most` cells in all."""
        planes, rows, columns = _planes(shape)
        wrapped = planes == rows == 1 and columns > WIDEST
        if wrapped:
            rows, columns = -(-columns // WIDEST), WIDEST
        steps = [1, 1, 1]
        while math.prod(_cells((planes, rows, columns), steps)) > most:
            cells = _cells((planes, rows, columns), steps)
            longest = 0 if cells[0] > 4 else 1 + (cells[2] > cells[1])
            steps[longest] *= 2
        return Grid((planes, rows, columns), (steps[0], steps[1], steps[2]), wrapped)

    @property
    def cells(self) -> tuple[int, int, int]:
        """The number of planes, rows and columns of cells."""
        return _cells(self.shape, self.steps)

    def arrange(self, array: Array, filler: float) -> Array:
        """The elements as planes, rows and columns; `filler` where there are none."""
        if array.ndim >= 4:
            array = np.moveaxis(array, -1, -3)
        flat = array.reshape(-1)
        missing = math.prod(self.shape) - flat.size
        if missing:
            flat = np.concatenate([flat, np.full(missing, filler, flat.dtype)])
        return flat.reshape(self.shape)

    def cell(self, index: Index, shape: Sequence[int]) -> tuple[int, int, int]:
        """The cell that has an element of a tensor of `shape`."""
        if len(shape) >= 4:
            index, shape = (
                (*all[:-3], all[-1], *all[-3:-1]) for all in (index, tuple(shape))
            )
        number = np.ravel_multi_index(index, shape) if index else 0
        place = np.unravel_index(number, self.shape)
        plane, row, column = (
            int(at) // step for at, step in zip(place, self.steps, strict=True)
        )
        return plane, row, column


def difference_map(title: str, a: Array, b: Array, grid: Grid) -> Block:
    """A map of where two tensors differ, and by how much: `b - a`."""
    is_real = a.dtype.kind == "f"
    with np.errstate(invalid="ignore"):
        apart = b.astype(np.float64) - a.astype(np.float64)
    apart = np.nan_to_num(apart, posinf=0.0, neginf=0.0)
    largest = float(np.max(np.abs(apart)))
    is_fitted = largest and (is_real or largest <= LARGEST_DIFFERENCE)
    step = largest / LARGEST_DIFFERENCE if is_fitted else 1.0
    limits = (-LARGEST_DIFFERENCE, LARGEST_DIFFERENCE)
    pooled = _largest(grid.arrange(apart, 0), grid.steps)
    planes = [pooled]
    if len(pooled) > 1:
        planes.insert(0, _largest(pooled, (len(pooled), 1, 1)))
    codes = [np.rint(np.clip(plane / step, *limits)) + 128 for plane in planes]
    told = (step * n for n in range(-128, 128))
    labels = [f"{n:+.4g}" if is_real else f"{round(n):+}" for n in told]
    labels[128] = "equal"
    ends = labels[1], labels[255]
    if not is_real and largest > LARGEST_DIFFERENCE:
        ends = f"{ends[0]} or less", f"{ends[1]} or more"
        labels[1], labels[255] = ends
    note = "each cell has the largest difference of its elements"
    return _map(title, SIGNED, codes, labels, ends, grid, note)


def value_map(title: str, array: Array, grid: Grid) -> Block:
    """A tensor's stored values, from the least to the greatest."""
    planes, rows, columns = grid.steps
    real = np.nan_to_num(array.astype(np.float64), posinf=0.0, neginf=0.0)
    least, greatest = (float(end) for end in (real.min(), real.max()))
    step = (greatest - least) / 255 or 1.0
    taken = grid.arrange(real, least)[::planes, ::rows, ::columns]
    codes = np.rint((taken - least) / step)
    told = [least + step * n for n in range(256)]
    is_exact = array.dtype.kind in "iub" and greatest - least <= 255
    labels = [f"{round(n)}" if is_exact else f"{n:.6g}" for n in told]
    note = "each cell has the first of its elements"
    ends = labels[0], f"{greatest:.6g}"
    return _map(title, VALUES, [codes], labels, ends, grid, note)


def _map(
    title: str,
    palette: str,
    planes: Sequence[Array],
    labels: Sequence[str],
    ends: tuple[str, str],
    grid: Grid,
    note: str,
) -> Block:
    """The map as the page draws it; `labels` name the meaning of each byte. `first` is
    the number of the first plane of a channel; a plane for all channels may precede
    it."""
    count, step = grid.shape[0], grid.steps[0]
    titles = [f"channel {_range(n, step, count)}" for n in range(grid.cells[0])]
    sizes = "x".join(map(str, grid.steps))
    about = f"A cell is {sizes} elements (channels, rows, columns): {note}."
    codes = np.concatenate(planes).astype(np.uint8)
    first = len(codes) - len(titles)
    return {
        "title": title,
        "palette": palette,
        "planes": [*["all channels"][:first], *titles],
        "first": first,
        "rows": grid.cells[1],
        "columns": grid.cells[2],
        "steps": list(grid.steps),
        "wrapped": grid.is_wrapped,
        "cells": base64.b64encode(codes.tobytes()).decode(),
        "labels": list(labels),
        "ends": list(ends),
        "about": about if math.prod(grid.steps) > 1 else "",
    }


def palettes() -> dict[str, str]:
    """The colours of all bytes, red, green and blue, in base64.

    Both are readable without colour: values go from dark to bright, as in cividis
    (Nuñez, Anderton and Renslow, 2018); differences from white to dark blue, for less,
    and to dark orange.
    """
    byte = np.arange(256)
    values = _between(
        byte, [(0, 32, 76), (124, 123, 120), (255, 233, 69)], [0, 128, 255]
    )
    ends = [(8, 48, 107), (66, 146, 198), (255, 255, 255), (230, 120, 30), (110, 38, 0)]
    signed = _between(byte, ends, [1, 127, 128, 129, 255])
    return {
        name: base64.b64encode(np.rint(colours).astype(np.uint8).tobytes()).decode()
        for name, colours in ((VALUES, values), (SIGNED, signed))
    }


def _between(
    byte: NDArray[np.int64], colours: Sequence[tuple[int, int, int]], at: Sequence[int]
) -> NDArray[np.float64]:
    parts = zip(*colours, strict=True)
    return np.stack([np.interp(byte, at, part) for part in parts], axis=-1)


def _planes(shape: Sequence[int]) -> tuple[int, int, int]:
    if len(shape) >= 4:
        *leading, rows, columns, channels = shape
        return math.prod(leading) * channels, rows, columns
    planes, rows, columns = (1, 1, 1, *shape)[-3:]
    return planes, rows, columns


def _cells(shape: Sequence[int], steps: Sequence[int]) -> tuple[int, int, int]:
    a, b, c = (-(-size // step) for size, step in zip(shape, steps, strict=True))
    return a, b, c


def _largest(array: Array, steps: Sequence[int]) -> Array:
    """The number farthest from 0 in each block of `steps` planes, rows and columns."""
    padding = [(0, -size % step) for size, step in zip(array.shape, steps, strict=True)]
    padded = np.pad(array, padding)
    a, b, c = (size // step for size, step in zip(padded.shape, steps, strict=True))
    blocks = padded.reshape(a, steps[0], b, steps[1], c, steps[2])
    blocks = blocks.transpose(0, 2, 4, 1, 3, 5).reshape(a, b, c, -1)
    place = np.argmax(np.abs(blocks), axis=-1)[..., None]
    return np.take_along_axis(blocks, place, axis=-1)[..., 0]


def _range(number: int, step: int, size: int) -> str:
    first, last = number * step, min((number + 1) * step, size) - 1
    return str(first) if first == last else f"{first} to {last}"
