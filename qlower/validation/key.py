"""Everything that decides the figures of a validation, by name: a hash of each part."""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias, cast

from qlower.contracts import load_contract
from qlower.dialects.qnn import QnnOp
from qlower.frontends.digest import file_digest
from qlower.kept.fingerprint import fingerprint
from qlower.kept.installed import releases
from qlower.kept.parts import digest_of
from qlower.model import Model
from qlower.model.layers import layers
from qlower.runtime.objects import own_code
from qlower.version import __version__

Key: TypeAlias = dict[str, str]


def model_key(model: Model, contracts: Iterable[str]) -> Key:
    """The model, the compiler, and each contract that is given or that a layer names,
    with its bases."""
    own = [op.contract for op in layers(model.module) if isinstance(op, QnnOp)]
    names = dict.fromkeys([*contracts, *(name for name in own if name is not None)])
    return {
        "model": fingerprint(model.module).hex(),
        **{f"contract {name}": contract_digest(name) for name in names},
        "qlower": f"{__version__} {own_code().hex()}",
    }


def contract_digest(name: str) -> str:
    """The hash of a contract's text and its bases'."""
    return hashlib.sha256(load_contract(name).source.encode()).hexdigest()


def reference_key(path: Path) -> Key:
    """A model's file, with external data of an ONNX file, and what runs it."""
    systems = releases(("ai_edge_litert", "onnxruntime"))
    return {
        "the reference's file": file_digest(path),
        "the reference's system": ", ".join(systems),
    }


def metric_key(metric: Callable[..., object]) -> Key:
    """The key of a user's function: its code, the code of its file, and the values that
    it captures."""
    return {"the metric's code": digest_of(_parts_of(metric, set())).hex()}


def _parts_of(value: object, seen: set[int]) -> Iterator[bytes]:
    """The parts that decide an object; `seen` are the objects that contain it."""
    if id(value) in seen:
        return
    seen = {*seen, id(value)}
    parts: Iterable[Any]
    match value:
        case partial():
            given = cast("partial[object]", value)
            parts = (given.func, given.args, *given.keywords.items())
        case MethodType():
            parts = (value.__func__, value.__self__)
        case FunctionType():
            yield from _code_of(value.__code__)
            yield from _file_of(value)
            closure = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = (value.__qualname__, value.__defaults__, closure)
        case tuple() | list():
            parts = cast("Iterable[object]", value)
        case _:
            yield _pickled(value)
            call = vars(type(value)).get("__call__")
            parts = [call] if isinstance(call, FunctionType) else []
    for part in parts:
        yield from _parts_of(part, seen)


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # of whatever class the object raises
        return type(value).__qualname__.encode()


def _code_of(code: CodeType) -> Iterator[bytes]:
    """A function's instructions and constants, without their source positions."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    constants: tuple[Any, ...] = code.co_consts
    for constant in constants:
        if isinstance(constant, CodeType):
            yield from _code_of(constant)
        elif isinstance(constant, frozenset):
            elements = cast("frozenset[object]", constant)
            yield repr(sorted(map(repr, elements))).encode()
        else:
            yield repr(constant).encode()


def _file_of(function: FunctionType) -> Iterator[bytes]:
    """The text around a function, which has what it calls; none in a notebook."""
    try:
        yield Path(inspect.getsourcefile(function) or "").read_bytes()
    except OSError:
        return
