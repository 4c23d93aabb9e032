"""Native objects of models, from the cache where possible.

A model that is given as a file is looked up by the file's bytes, before it is even read
as a model; a model in memory by the content of its module.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import CONTRACT
from qlower.frontends.load import check_model_path
from qlower.model import Model
from qlower.pipeline import generate_code, lower_to_arith, lower_to_kernel
from qlower.runtime.executors import (
    JitFunction,
    ModelOrPath,
    Variant,
    as_model,
    make_variant,
)

if TYPE_CHECKING:
    from qlower.codegen.program.flavour import Flavour
    from qlower.codegen.program.module import CompiledObject
    from qlower.codegen.targets.resolve import Target

NAMES_CONTRACT_FILE = re.compile(rb'contract\s*=\s*"[^"]*\.mlir"')
"""Text of a model whose meaning depends on another file of the user's."""


def jit_function(
    model: ModelOrPath,
    contract: str | None,
    target: Target,
    flavour: Flavour,
    with_layers: bool,
    tuned: bool = False,
) -> JitFunction:
    """The model as a function; compiled, unless the cache has its object.

    With `tuned`, schedules are measured or remembered before the object is looked up.
    """
    from qlower.runtime.cache import cached, fingerprint
    from qlower.runtime.executable import Executable

    if tuned:
        module, variant = make_variant(as_model(model), with_layers)
        kernel = tuned_kernel(lower_to_arith(module, contract), target)
        compiled = cached(
            [b"tuned", fingerprint(kernel), _own_code()],
            target,
            flavour,
            lambda: generate_code(kernel, target, flavour),
        )
        return JitFunction(Executable(compiled), variant)
    if not isinstance(model, Model) and not with_layers:
        path = check_model_path(model)
        data = _read(path)
        if path.suffix != ".mlir" or not NAMES_CONTRACT_FILE.search(data):
            key = [b"file", path.suffix.encode(), data]
            compiled = cached(
                [*key, *_contracts([contract])],
                target,
                flavour,
                lambda: _build(as_model(path).module, contract, target, flavour),
            )
            signature = compiled.signature
            variant = Variant(signature, {}, len(signature.outputs))
            return JitFunction(Executable(compiled), variant)
    module, variant = make_variant(as_model(model), with_layers)
    names = [contract, *_named_contracts(module)]
    compiled = cached(
        [b"module", fingerprint(module), *_contracts(names)],
        target,
        flavour,
        lambda: _build(module, contract, target, flavour),
    )
    return JitFunction(Executable(compiled), variant)


def tuned_kernel(arith: ModuleOp, target: Target) -> ModuleOp:
    """The kernel level with schedules that were measured on this machine."""
    from qlower.runtime.tuning import check_tunable, tune

    check_tunable(target)
    return tune(lower_to_kernel(arith, target), target)


def _build(
    module: ModuleOp, contract: str | None, target: Target, flavour: Flavour
) -> CompiledObject:
    arith = lower_to_arith(module, contract)
    return generate_code(lower_to_kernel(arith, target), target, flavour)


def _contracts(names: list[str | None]) -> Iterator[bytes]:
    """What a key has to say about contracts: their names, and the text of user's files.

    The contracts that come with qlower are part of its own code.
    """
    from qlower.contracts import contract_names, load_contract

    yield _own_code()
    for name in names:
        yield (name or "").encode()
        if name is not None and name not in contract_names():
            yield load_contract(name).source.encode()


def _named_contracts(module: ModuleOp) -> list[str]:
    """The contracts that the module and its operations name."""
    found = {
        name.data
        for op in module.walk()
        for key in ("contract", CONTRACT)
        for name in (op.properties.get(key), op.attributes.get(key))
        if isinstance(name, StringAttr)
    }
    return sorted(found)


@cache
def _own_code() -> bytes:
    """A hash of the state of qlower's files: a changed compiler makes other objects."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for folder, _, names in sorted(os.walk(package, followlinks=True)):
        for name in sorted(names):
            if name.endswith((".py", ".mlir")):
                state = Path(folder, name).stat()
                digest.update(f"{name} {state.st_size} {state.st_mtime_ns}".encode())
    return digest.digest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
