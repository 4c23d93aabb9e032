"""Code for a model in which only constants of some layers are new.

With the code of a model the cache keeps, under the model's outline, the means to
exchange data in it: the constants of each layer, and the call of each kernel. When
another model has this outline, the layers whose constants are new are compiled first,
with their neighbours, as a small model. If the code of their kernels is what it was but
for the data that is passed to it, then the code of the whole is what the cache has,
with other data; objects of data are all that is made.

What layers know of each other is what stands between them: shapes, types, signs, who
reads a result, where it lies. If the code is identical, none of these has changed. A
constant's bytes reach other layers in three more ways, which are ruled out:

- A layer may be defined only for the numbers that another one gives: of such a model
  nothing is kept.
- Layers with equal constants share what is computed of these alone: a constant that is
  new or gone must be no other layer's.
- Data that is equal is there once: what is new or gone must be passed to one kernel.

In all other cases the whole model is compiled.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import sha256
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from qlower.codegen.llvm.module import data_groups, data_name
from qlower.codegen.program.compiled import Call, CompiledObject
from qlower.codegen.program.module import data_object
from qlower.model.entry import main_function
from qlower.model.extract import extract_layers
from qlower.model.layers import is_layer, layer_name, layer_names, layers
from qlower.model.outline import Outline, elements_digest

_NEIGHBOURS = 2
"""The distance from a layer with new constants within which others are compiled, too:
it may be fused with the next, whose code depends on those after."""

Lower: TypeAlias = Callable[[ModuleOp], tuple[ModuleOp, Sequence[Call]] | None]
"""Gives a small model at the arith level, and the calls of its kernels; None if these
aren't defined whatever comes in."""


@dataclass(frozen=True)
class KeptCall:
    """The call of a kernel of these layers: a hash of its function, the numbers that
    are passed, and the data by position."""

    layers: tuple[str, ...]
    digest: str
    numbers: tuple[int, ...]
    data: tuple[int, ...]


@dataclass(frozen=True)
class KeptData:
    """The hash of some data, and where its bytes are: object, first byte, number."""

    digest: str
    place: int
    offset: int
    size: int

    def bytes_in(self, code: bytes) -> bytes:
        """The data, from the object that has it."""
        return code[self.offset : self.offset + self.size]


@dataclass(frozen=True)
class KeptCode:
    """The means to exchange data in the code of a model.

    `content` is its key, `constants` are the hashes of the model's constants, in order.
    `tensors` are hashes of constants at the arith level, by the layers that read them
    or values computed from them alone.
    """

    content: tuple[bytes, ...]
    constants: tuple[str, ...]
    tensors: Mapping[str, frozenset[str]]
    calls: tuple[KeptCall, ...]
    data: tuple[KeptData, ...]

    @staticmethod
    def of(
        content: Sequence[bytes],
        outline: Outline,
        lowered: ModuleOp,
        code: CompiledObject,
    ) -> KeptCode | None:
        """The part to keep of code that was made in full, for a module at the arith
        level; None where its data can't be exchanged."""
        module = code.module
        if module is None or not module.units or module.has_constants:
            return None
        passed = [*module.passed]
        positions = {data: position for position, data in enumerate(passed)}
        groups = data_groups([*map(len, passed)])
        places: list[KeptData] = []
        for place, group in enumerate(groups, len(code.objects) - len(groups)):
            found = _placed([passed[n] for n in group], place, code.objects[place])
            if found is None:
                return None
            places += found
        calls = [
            KeptCall(
                call.layers,
                call.digest,
                call.numbers,
                tuple(positions[data] for data in call.data),
            )
            for call in code.calls
        ]
        return KeptCode(
            tuple(content),
            outline.digests,
            layer_tensors(lowered),
            tuple(calls),
            tuple(places),
        )

    def to_json(self) -> bytes:
        """Text that `from_json` reads back."""
        return json.dumps(
            [
                [part.hex() for part in self.content],
                self.constants,
                {layer: sorted(found) for layer, found in self.tensors.items()},
                [astuple(call) for call in self.calls],
                [astuple(data) for data in self.data],
            ]
        ).encode()

    @staticmethod
    def from_json(text: bytes) -> KeptCode:
        """The value that `to_json` wrote."""
        content, constants, tensors, calls, data = json.loads(text)
        return KeptCode(
            tuple(map(bytes.fromhex, content)),
            tuple(constants),
            {layer: frozenset(found) for layer, found in tensors.items()},
            tuple(
                KeptCall(tuple(layers), digest, tuple(numbers), tuple(positions))
                for layers, digest, numbers, positions in calls
            ),
            tuple(KeptData(*entry) for entry in data),
        )

    def exchanged(
        self, module: ModuleOp, outline: Outline, old: CompiledObject, lower: Lower
    ) -> tuple[KeptCode, CompiledObject] | None:
        """The part to keep for a module of the same outline, and its code: `old` with
        this module's data; None if that isn't enough."""
        changed = self._changed_layers(outline)
        if changed is None:
            return None
        if not changed:
            return replace(self, constants=outline.digests), old
        part = _with_neighbours(module, changed)
        lowered = None if part is None else lower(part)
        if lowered is None:
            return None
        level, calls = lowered
        tensors = self._changed_tensors(changed, level)
        data = self._changed_data(changed, calls)
        if tensors is None or data is None:
            return None
        exchanged = self._with_data(data, old)
        if exchanged is None:
            return None
        places, code = exchanged
        kept = replace(self, constants=outline.digests, tensors=tensors, data=places)
        return kept, code

    def _changed_layers(self, outline: Outline) -> dict[str, Operation] | None:
        """The layers that read new constants, by name; None if anything else does."""
        found: dict[str, Operation] = {}
        for (op, digest), kept in zip(outline.constants, self.constants, strict=True):
            if digest == kept:
                continue
            for use in (use for value in op.results for use in value.uses):
                name = layer_name(use.operation)
                if name is None or not is_layer(use.operation):
                    return None
                found[name] = use.operation
        return found

    def _changed_tensors(
        self, changed: Collection[str], lowered: ModuleOp
    ) -> Mapping[str, frozenset[str]] | None:
        """`tensors` with those of the changed layers, from a part at the arith level;
        None if another layer has what is new or gone, too."""
        found, none = layer_tensors(lowered), frozenset[str]()
        new = {layer: found.get(layer, none) for layer in changed}
        old = {layer: self.tensors.get(layer, none) for layer in changed}
        rest = {k: v for k, v in self.tensors.items() if k not in changed}
        moved = none.union(*new.values()) ^ none.union(*old.values())
        return None if moved & none.union(*rest.values()) else {**rest, **new}

    def _changed_data(
        self, changed: Mapping[str, Operation], calls: Sequence[Call]
    ) -> Mapping[int, bytes] | None:
        """The new data by position, from the calls of a part's kernels; None if there
        is more that is new, or the data isn't theirs alone."""
        mine = [call for call in calls if not changed.keys().isdisjoint(call.layers)]
        kept = [c for c in self.calls if not changed.keys().isdisjoint(c.layers)]
        if [(c.layers, c.digest, c.numbers) for c in mine] != [
            (c.layers, c.digest, c.numbers) for c in kept
        ]:
            return None
        uses = Counter(position for call in self.calls for position in call.data)
        known = {data.digest for data in self.data}
        found: dict[int, bytes] = {}
        for call, before in zip(mine, kept, strict=True):
            for new, position in zip(call.data, before.data, strict=True):
                place, digest = self.data[position], _digest(new)
                if digest == place.digest:
                    continue
                if len(new) != place.size or uses[position] > 1 or digest in known:
                    return None
                known.add(digest)
                found[position] = new
        return found

    def _with_data(
        self, new: Mapping[int, bytes], old: CompiledObject
    ) -> tuple[tuple[KeptData, ...], CompiledObject] | None:
        """The code with other data, of equal sizes, by position; and where that is."""
        objects, places = list(old.objects), list(self.data)
        for place in {self.data[position].place for position in new}:
            group = {
                position: new.get(position) or one.bytes_in(objects[place])
                for position, one in enumerate(self.data)
                if one.place == place
            }
            named = {data_name(position): data for position, data in group.items()}
            objects[place] = data_object(named, old.target)
            found = _placed([*group.values()], place, objects[place])
            if found is None:
                return None
            for position, one in zip(group, found, strict=True):
                places[position] = one
        return tuple(places), replace(old, objects=tuple(objects))


def layer_tensors(module: ModuleOp) -> dict[str, frozenset[str]]:
    """The hashes of the constants at the arith level that each layer's operations read,
    or what is computed of constants alone, by the layer's name."""
    block = main_function(module).body.block
    read: defaultdict[Operation, set[str]] = defaultdict(set)
    known: set[SSAValue] = set()
    for op in block.ops:
        if isinstance(op, arith.ConstantOp):
            if isinstance(op.value, DenseIntOrFPElementsAttr):
                read[op].add(elements_digest(op.value))
        elif not known.issuperset(op.operands):
            continue
        known.update(op.results)
        for use in (use for value in op.results for use in value.uses if read[op]):
            reader = block.find_ancestor_op_in_block(use.operation)
            assert reader is not None
            read[reader] |= read[op]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for op, digests in read.items():
        for name in () if isinstance(op, arith.ConstantOp) else layer_names(op):
            found[name] |= digests
    return {layer: frozenset(digests) for layer, digests in found.items()}


def _with_neighbours(
    module: ModuleOp, changed: Mapping[str, Operation]
) -> ModuleOp | None:
    """The changed layers and those around them as a model; None if that is most of
    it."""
    near = set(changed.values())
    for _ in range(_NEIGHBOURS):
        for op in tuple(near):
            users = [use.operation for value in op.results for use in value.uses]
            owners = [value.owner for value in op.operands]
            found = [one for one in (*users, *owners) if isinstance(one, Operation)]
            near |= set(filter(is_layer, found))
    if 2 * len(near) > len(list(layers(module))):
        return None
    return extract_layers(module, {name for op in near for name in layer_names(op)})


def _placed(group: Sequence[bytes], place: int, code: bytes) -> list[KeptData] | None:
    """The positions of data in the object of a group, one after the other; None if they
    aren't there."""
    found: list[KeptData] = []
    end = 0
    for data in group:
        offset = code.find(data, end)
        if offset < 0:
            return None
        end = offset + len(data)
        found.append(KeptData(_digest(data), place, offset, len(data)))
    return found


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
