"""A dump's arrays matched with layers' results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from xdsl.ir import OpResult

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.files.arrays import entry_name
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.layers import layer_name, layers
from qlower.model.signature import TensorSpec
from qlower.sides.sides import Recorded, result_specs
from qlower.tables.table import counted

MOST_TOLD = 4
"""The most names that are listed of what matches in one way, or not."""

ADDED = (
    *("output", "quantized", "0", "dequantized"),
    *("quantizelinear", "dequantizelinear", "quantizeinput"),
)
"""Words that tools add at the end of a name."""

LARGEST_MISFIT = 1e-3
"""The largest distance of a real number from the stored one it stands for, in steps."""


def match_dump(
    title: str,
    dump: Sequence[Mapping[str, Array]],
    model: Model,
    runs: int,
    *,
    is_real: bool = False,
    rounds: bool = True,
    pairs: Mapping[str, str] | None = None,
) -> Recorded:
    """The dump as results of the model's layers, for each of `runs` inputs.

    Arrays are found by the layer's name, short or as the file has it, then by what the
    names have in common once they are normalised, if the shape fits too. `pairs` gives
    the layers of some arrays, which come first. Real numbers have to stand for stored
    ones; if the dump `is_real` they are rounded to these, or left where it doesn't
    `rounds`. Raises `QlowerError` where nothing matches.
    """
    if len(dump) not in (1, runs):
        raise QlowerError(f"{title} has {len(dump)} runs, there are {runs} inputs")
    each = runs if len(dump) == 1 else 1
    matching = _Matching(model, each, is_real, rounds, pairs or {})
    found = [
        {name: array[number] for name, array in one.items()}
        for one in map(matching.match, dump)
        for number in range(each)
    ]
    if not found[0]:
        names = ", ".join(list(dump[0])[:MOST_TOLD])
        reasons = list(matching.left_out.items())[:MOST_TOLD]
        raise QlowerError(
            f"{title}: none of its arrays ({names}) is a layer of the model",
            notes=[f"{name}: {reason}" for name, reason in reasons]
            + matching.suggestions(dump[0]),
            help="qlower inspect MODEL --stats shows the names (--full-names: those of "
            "its file)",
        )
    return Recorded(title, found, tuple(matching.notes(title)))


def pairs_by_name(arrays: Mapping[str, Array], model: Model) -> dict[str, str]:
    """The layers of arrays whose names are theirs, or like theirs."""
    return _Matching(model, 1).pairs(arrays, result_specs(model))


@dataclass
class _Matching:
    """The known relation between a dump's names and a model's."""

    model: Model
    runs: int
    is_real: bool = False
    rounds: bool = True
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    exact: list[str] = field(default_factory=list[str])
    alike: dict[str, str] = field(default_factory=dict[str, str])
    changed: dict[str, str] = field(default_factory=dict[str, str])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    missing: list[str] = field(default_factory=list[str])

    def match(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The arrays by layers' names, each with a leading dimension for the runs."""
        specs = result_specs(self.model)
        pairs = self.pairs(arrays, specs)
        self.missing = [name for name in specs if name not in pairs.values()]
        ways = {
            given: [
                stacked(specs[name], arrays[given], self.runs, first) is not None
                for first in (True, False)
            ]
            for given, name in pairs.items()
            if len(specs[name].shape) == 4
        }
        # a cube fits either way: it lies as those do that leave no choice
        cubes_first = [True, False] in ways.values()
        firsts = {
            name: cubes_first if all(way) else way[0]
            for given, name in pairs.items()
            if (way := ways.get(given))
        }
        images = {
            name: arrays[given] for given, name in pairs.items() if firsts.get(name)
        }
        found: dict[str, Array] = {}
        for given, name in pairs.items():
            array = self._as_reshaped(name, arrays[given], images)
            stack = self._fit(given, specs[name], array, firsts.get(name, False))
            if stack is not None:
                found[name] = stack
        return found

    def _as_reshaped(
        self, name: str, array: Array, images: Mapping[str, Array]
    ) -> Array:
        """The array. Where it has the numbers of an image, whose channels come first,
        in another shape, it is that shape of the image with its channels last."""
        image = images.get(self._reshaped.get(name, ""))
        if image is None or not np.array_equal(array.reshape(-1), image.reshape(-1)):
            return array
        return np.moveaxis(image, -3, -1).reshape(array.shape)

    @cached_property
    def _reshaped(self) -> dict[str, str]:
        """The layers that give others another shape, with these."""
        return {
            name: source
            for op in layers(self.model.module)
            if isinstance(op, qnn.ReshapeOp) and isinstance(op.input, OpResult)
            if (name := layer_name(op)) and (source := layer_name(op.input.op))
        }

    def pairs(
        self, arrays: Mapping[str, Array], specs: Mapping[str, TensorSpec]
    ) -> dict[str, str]:
        """The layer of each array: by its name, then by one like it and its shape; a
        lone array of any name may be the only output."""
        names = {alias: name for name in specs for alias in self._aliases(name, specs)}
        pairs = {array: name for array, name in self.given.items() if array in arrays}
        self.exact += pairs
        for given in arrays:
            name = names.get(given)
            if given not in pairs and name is not None and name not in pairs.values():
                pairs[given] = name
                self.exact.append(given)
        for given, array in arrays.items():
            if given in pairs:
                continue
            like = dict.fromkeys(
                name
                for alias, name in names.items()
                if name not in pairs.values() and _normal(alias) == _normal(given)
            )
            if not like and len(arrays) == len(self.model.outputs) == 1:
                output = names.get(self.model.outputs[0].name)  # an input's, perhaps
                if output is not None and self._fits(specs[output], array):
                    like = {output: None}
            fitting = [n for n in like if self._fits(specs[n], array)] or list(like)
            if len(fitting) == 1:
                pairs[given] = self.alike[given] = fitting[0]
            elif fitting:
                self.left_out[given] = f"it may be any of {', '.join(fitting)}"
            else:
                self.left_out[given] = "no layer has this name"
        return pairs

    def suggestions(self, arrays: Mapping[str, Array]) -> list[str]:
        """The names for an array that may be the result of some layers, by its type and
        shape."""
        found: list[str] = []
        specs = result_specs(self.model)
        for given, array in list(arrays.items())[:MOST_TOLD]:
            fitting = {
                name: ""
                for name, spec in specs.items()
                if spec.numpy_dtype == array.dtype and self._fits(spec, array)
            }
            if fitting:
                one = min(fitting, key=lambda name: "/" in name)
                found.append(
                    f"{given} may be {_told(fitting, '')}: "
                    f"numpy.savez(file, {one}=array) names it"
                )
        return found

    def _fits(self, spec: TensorSpec, array: Array) -> bool:
        return any(
            stacked(spec, array, self.runs, first) is not None
            for first in (True, False)
        )

    def _aliases(self, name: str, specs: Mapping[str, TensorSpec]) -> Iterator[str]:
        """Possible names of a result: short, as in the file, as the model's output."""
        for known in (name, self.model.full_names.get(name, name)):
            yield known
            yield entry_name(known)
        yield specs[name].name

    def _fit(
        self, given: str, spec: TensorSpec, array: Array, first: bool
    ) -> Array | None:
        """The array in the layer's form, or None, which is noted; `first` means that
        images have their channels first."""
        stack = stacked(spec, array, self.runs, first)
        how = "channels moved last" if first and len(spec.shape) == 4 else ""
        if stack is None:
            shape = list(array.shape)
            self.left_out[given] = (
                f"its shape is {shape}, the layer's {list(spec.shape)}"
            )
            return None
        if stack.dtype == spec.numpy_dtype:
            if how:
                self.changed[given] = how
            return stack
        if stack.dtype.kind == "f" and spec.scale is not None:
            steps = stack / spec.scale + (spec.zero_point or 0)
            if self.is_real and not self.rounds:
                return stack
            stored = spec.quantize(stack)
            misfit = np.abs(steps - stored.astype(float))
            if self.is_real or np.all(misfit <= LARGEST_MISFIT):
                self.changed[given] = ", ".join(filter(None, (how, "quantized")))
                return stored
            self.left_out[given] = "its real numbers aren't those of stored ones"
            return None
        self.left_out[given] = f"its type is {array.dtype}, the layer's {spec.dtype}"
        return None

    def notes(self, title: str) -> Iterator[str]:
        """Notes on how arrays were matched, and which were not."""
        parts = [f"{len(self.exact)} by name"]
        if self.alike:
            parts.append(f"{len(self.alike)} by likeness ({_told(self.alike, ' is ')})")
        if self.changed:
            parts.append(f"{len(self.changed)} changed ({_told(self.changed, ' ')})")
        if self.left_out:
            parts.append(
                f"left out {len(self.left_out)} ({_told(self.left_out, ': ')})"
            )
        if self.missing:
            layers = dict.fromkeys(self.missing, "")
            parts.append(
                f"without {counted(len(layers), 'layer')} ({_told(layers, '')})"
            )
        yield f"{title}: {', '.join(parts)}"


def _told(names: Mapping[str, str], between: str) -> str:
    shown = [f"{name}{between}{what}" for name, what in names.items()][:MOST_TOLD]
    return ", ".join([*shown, *(["..."] if len(names) > len(shown) else [])])


def _normal(name: str) -> str:
    """A name without case, punctuation, and what tools add at its end."""
    words = re.findall(r"[a-z]+|[0-9]+", name.lower())
    while len(words) > 1 and words[-1] in ADDED:
        words.pop()
    return " ".join(words)


def stacked(spec: TensorSpec, array: Array, runs: int, first: bool) -> Array | None:
    """The array with a leading dimension for the runs; None if its shape doesn't fit.
    Images have their channels first, or last."""
    shape = spec.shape
    if first and len(shape) == 4:
        n, h, w, c = shape
        if array.shape not in ((runs * n, c, h, w), (runs, n, c, h, w)):
            return None
        return np.moveaxis(array, -3, -1).reshape(runs, *shape)
    whole = (runs, *shape)
    is_one = runs == 1 or array.shape[:1] == (runs,)
    if is_one and _without_ones(array.shape) == _without_ones(whole):
        return array.reshape(whole)
    return None


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)
