"""The subjects of a verdict, by SHA-256."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from qlower.contracts import load_contract
from qlower.dialects.qnn import QnnOp
from qlower.kept.fingerprint import fingerprint
from qlower.model import Model
from qlower.model.layers import layers
from qlower.version import __version__


def hashes_of(first: Model, second: Model, *contracts: str) -> dict[str, str]:
    """The hashes of a model by two sides, of the contracts, and of the compiler."""
    parts = [fingerprint(one.module, locations=False) for one in (first, second)]
    own = [
        op.contract
        for one in (first, second)
        for op in layers(one.module)
        if isinstance(op, QnnOp)
    ]
    names = dict.fromkeys([*contracts, *(name for name in own if name)])
    named = {f"contract {name}": load_contract(name).source for name in names}
    return {
        "model": sha256(b"".join(parts)).hexdigest(),
        **{name: sha256(source.encode()).hexdigest() for name, source in named.items()},
        f"qlower {__version__}": _compiler_hash(),
    }


@cache
def _compiler_hash() -> str:
    """The hash of the package, which a process loads once."""
    return sha256(b"".join(_compiler())).hexdigest()


def _compiler() -> Iterator[bytes]:
    """The files of the package that decide what a verdict says."""
    root = Path(__file__).parents[1]
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.mlir")]):
        yield path.relative_to(root).as_posix().encode()
        yield path.read_bytes()
