"""Arrays for a model's inputs, by `--input [NAME=]FILE` or `--random`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qlower.cli.colour import complain
from qlower.diagnostics import QlowerError, warn
from qlower.files.arrays import read_arrays
from qlower.model.input_sets import fits
from qlower.model.random_inputs import random_inputs
from qlower.model.signature import Array, TensorSpec
from qlower.tables.table import counted


def check_inputs(options: argparse.Namespace) -> None:
    """Refuse options of `add_inputs` that contradict each other."""
    if options.random is not None and (options.input or options.random < 0):
        raise QlowerError("--random takes a SEED of at least 0, and no --input")


def given_arrays(
    specs: Sequence[TensorSpec], options: argparse.Namespace
) -> dict[str, Array]:
    """The arrays that the options of `add_inputs` name, or random ones; in the order
    of the inputs."""
    check_inputs(options)
    if options.random is None:
        found = assign_inputs(specs, read_inputs(options.input))
        return {spec.name: found[spec.name] for spec in specs}
    drawn = random_inputs(specs, options.random)
    return {spec.name: array for spec, array in zip(specs, drawn, strict=True)}


@dataclass(frozen=True)
class Given:
    """A file of arrays, and the name of the input that it is for, if it was given."""

    name: str | None
    path: Path
    arrays: Mapping[str, Array]

    def array_for(self, spec: TensorSpec) -> Array:
        """The only array, the one with the input's name, or the only one whose shape
        and type fit. QlowerError where that leaves a choice."""
        if len(self.arrays) == 1:
            return next(iter(self.arrays.values()))
        fitting = [name for name, array in self.arrays.items() if fits(spec, array)]
        if not fitting:
            arrays = self.arrays.items()
            fitting = [n for n, array in arrays if fits(spec, as_stored(spec, array))]
        if spec.name in self.arrays:
            fitting = [spec.name]
        if len(fitting) != 1:
            names = ", ".join(self.arrays) or "none"
            raise QlowerError(
                f"{self.path} holds {len(self.arrays)} arrays ({names}), 1 is needed",
                help=f"{len(fitting)} of them fit {spec}; none is called {spec.name!r}",
            )
        others = ", ".join(name for name in self.arrays if name not in fitting)
        warn(f"{self.path}: input {spec.name!r} is {fitting[0]!r}; not read: {others}")
        return self.arrays[fitting[0]]


def read_inputs(arguments: Sequence[str]) -> list[Given]:
    """The files of `--input`, each with the name that it was given."""
    found: list[Given] = []
    for argument in arguments:
        name, separator, file = argument.rpartition("=")
        is_named = bool(separator) and not os.path.exists(argument)
        path = Path(file if is_named else argument)
        found.append(Given(name if is_named else None, path, read_arrays(path)))
    return found


def assign_inputs(
    specs: Sequence[TensorSpec], given: Sequence[Given]
) -> dict[str, Array]:
    """Every input's array of stored values by name; those without a name fill the
    remaining inputs in order, or are one file whose arrays have their names. Real
    values of a quantized input are quantized, with a note."""
    arrays = _assigned(specs, given)
    stored = {spec.name: as_stored(spec, arrays[spec.name]) for spec in specs}
    for spec in specs:
        is_other = stored[spec.name] is not arrays[spec.name]
        if is_other and fits(spec, stored[spec.name]):
            complain(
                f"note: input {spec.name!r} holds real values: quantized to "
                f"{spec.dtype} by scale {spec.scale:.9g}, zero point {spec.zero_point}"
            )
    return stored


def as_stored(spec: TensorSpec, array: Array) -> Array:
    """The array, or what is stored of it where it has real values of a quantized
    input."""
    is_real = array.dtype.kind == "f" and spec.scale is not None
    return spec.quantize(array) if is_real else array


def _assigned(specs: Sequence[TensorSpec], given: Sequence[Given]) -> dict[str, Array]:
    known = {spec.name: spec for spec in specs}
    expected = f"its inputs are {', '.join(map(str, specs))}"
    arrays: dict[str, Array] = {}
    for file in given:
        if file.name is None:
            continue
        if file.name not in known:
            raise QlowerError(f"the model has no input {file.name!r}", help=expected)
        if file.name in arrays:
            raise QlowerError(f"input {file.name!r} is given twice")
        arrays[file.name] = file.array_for(known[file.name])
    rest = [spec for spec in specs if spec.name not in arrays]
    unnamed = [file for file in given if file.name is None]
    if len(unnamed) == 1 < len(rest):
        found = unnamed[0].arrays
        if all(spec.name in found for spec in rest):
            return arrays | {spec.name: found[spec.name] for spec in rest}
    if len(unnamed) != len(rest):
        raise QlowerError(
            f"the model takes {counted(len(known), 'input')}, {len(given)} are given",
            help=f"{expected}; give each a file, or all one .npz file with their names",
        )
    for spec, file in zip(rest, unnamed, strict=True):
        arrays[spec.name] = file.array_for(spec)
    return arrays
