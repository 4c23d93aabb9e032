"""The digest of a run: of its outputs, and of what decides them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from qlower.contracts import load_contract
from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import module_contract
from qlower.interp.values import Array
from qlower.kept.fingerprint import fingerprint
from qlower.model import Model
from qlower.model.layers import layers
from qlower.version import __version__


@dataclass(frozen=True)
class RunDigest:
    """SHA-256 in hex of a model, its contracts, a run's inputs and its outputs.

    Nothing in it is of the machine: every executor and target gives the same.
    """

    model: str
    contracts: Mapping[str, str]
    inputs: str
    outputs: str
    version: str = __version__

    @property
    def parts(self) -> Iterator[tuple[str, str]]:
        """The contents of the digest, each with its name."""
        yield "model", self.model
        yield from ((f"contract {name}", one) for name, one in self.contracts.items())
        yield "version", f"qlower {self.version}"
        yield "inputs", self.inputs
        yield "outputs", self.outputs

    @property
    def total(self) -> str:
        """The digest of all, by lines of `parts` with a space between. Contracts count
        by their text: the same one may have two names."""
        lines = (f"{name.partition(' ')[0]} {value}\n" for name, value in self.parts)
        return _digest("".join(lines))

    def __str__(self) -> str:
        wide = max(len(name) for name, _ in self.parts)
        lines = (f"  {name:{wide}}  {value}" for name, value in self.parts)
        return "\n".join([f"digest sha256:{self.total}, of", *lines])

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "sha256": self.total,
            "model": self.model,
            "contracts": dict(self.contracts),
            "version": self.version,
            "inputs": self.inputs,
            "outputs": self.outputs,
        }


def run_digest(
    model: Model,
    contract: str | None,
    inputs: Iterable[Mapping[str, Array]],
    outputs: Iterable[Mapping[str, Array]],
) -> RunDigest:
    """The digest of runs, in order: of each the stored arrays by name.

    `contract` is the one that the model ran by, None its own; layers may name others.
    """
    module = model.module
    own = [op.contract for op in layers(module) if isinstance(op, QnnOp)]
    names = dict.fromkeys([contract or module_contract(module), *own])
    return RunDigest(
        sha256(fingerprint(module, locations=False)).hexdigest(),
        {name: _digest(load_contract(name).source) for name in names if name},
        arrays_digest(inputs),
        arrays_digest(outputs),
    )


def arrays_digest(runs: Iterable[Mapping[str, Array]]) -> str:
    """SHA-256 of the arrays of runs by the order of their names: each one's name,
    type, shape, and numbers from the lowest byte on, where NaN is the quiet one."""
    digest = sha256()
    for arrays in runs:
        for name, array in sorted(arrays.items()):
            type = array.dtype.newbyteorder("<")
            numbers = np.ascontiguousarray(array, type)
            if type.kind == "f":
                numbers = np.where(np.isnan(numbers), np.array(np.nan, type), numbers)
            head = f"{name} {type.name} {'x'.join(map(str, array.shape))}\n"
            digest.update(head.encode() + numbers.astype(type).tobytes())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
