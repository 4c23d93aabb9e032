"""The side of a comparison that a user's text means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from qlower.codegen.targets.resolve import resolve_target
from qlower.contracts import contract_names, is_contract
from qlower.diagnostics import QlowerError
from qlower.files.arrays import unmasked
from qlower.files.dumps import read_dump
from qlower.frontends.load import GRAPHS, as_model
from qlower.interp.values import Array
from qlower.model import Model
from qlower.sides.dumps import match_dump
from qlower.sides.live import LIVE, has_real_numbers, live_side, real_side
from qlower.sides.sides import Computed, Executor, Side
from qlower.sides.versions import version_of

MODELS = tuple(GRAPHS)
"""Ends of names that only models have; `.mlir` may be a contract."""

FEW_RUNS = 2
"""The most inputs whose interpretation takes less time than compiling the model."""


class UnknownSide(QlowerError):
    """Words that mean no side."""


SideLike: TypeAlias = Side | str | PathLike[str] | Mapping[str, Array]
"""A side, how it is written on the command line, or layers' results by name."""


def make_side(
    side: SideLike,
    model: Model,
    contract: str | None,
    runs: int,
    match: Mapping[str, str] | None = None,
    title: str | None = None,
) -> Side:
    """The side that a text names. Models and dumps are called `title`, or by their
    paths.

    `[CONTRACT:]EXECUTOR` or `CONTRACT`: a contract's name or an `.mlir` file, and
    `interp`, `jit` or a CPU of this machine (`x86-64-v3`). Without a contract it is
    `contract`, by default the model's own; without an executor it is the interpreter
    for few runs and native code for more. Or a model's file: the compared model itself,
    another version of it, or the float model that it was made of, which ONNX Runtime,
    LiteRT or PyTorch runs; `match` gives its tensors by layers. Or a dump: a file or
    folder of layers' results. Or a live
    system (`live.LIVE`): `litert`, `litert-ref`, `torch`, ...; `live:onnxruntime` where
    a contract has the same name.
    """
    if isinstance(side, Mapping):
        return match_dump(
            "dump", [{n: unmasked(array) for n, array in side.items()}], model, runs
        )
    if not isinstance(side, str | PathLike):
        return side
    text = str(side)
    name = text.removeprefix("live:")
    if name in LIVE and (name != text or name not in contract_names()):
        return live_side(text, name, model)
    default: Executor = "interp" if runs <= FEW_RUNS else "jit"
    if model.path is not None and Path(text) == model.path:
        return Computed(title or text, model, contract, default)
    if has_real_numbers(Path(text)):
        return real_side(Path(text), model, match)
    if Path(text).suffix in MODELS and os.path.exists(text):
        return version_of(title or text, model, as_model(text), contract, default)
    chosen, executor, cpu = _split(text)
    if executor is None and not is_contract(text) and os.path.exists(text):
        path = Path(text)
        found = match_dump(text, read_dump(path), model, runs)
        return replace(found, title=title or text)
    if chosen is not None and not is_contract(chosen):
        close = get_close_matches(text, [*contract_names(), *LIVE], n=1)
        raise UnknownSide(
            f"{text!r} is neither a contract, an executor, a system nor a file",
            help=f"did you mean {close[0]!r}?"
            if close
            else "contracts: qlower contracts; executors: interp, jit or a CPU such as "
            f"x86-64-v3; systems: {', '.join(LIVE)}",
        )
    return Computed(text, model, chosen or contract, executor or default, cpu)


def short_titles(*sides: SideLike) -> list[str | None]:
    """The shortest ends of paths that differ, as names of files in tables."""
    paths = [
        Path(os.path.abspath(side)).parts if isinstance(side, str | PathLike) else ()
        for side in sides
    ]
    for length in range(1, max(map(len, paths)) + 1):
        ends = [str(Path(*path[-length:])) if path else None for path in paths]
        if len(set(ends)) == len(ends):
            return ends
    return [None] * len(sides)


def _split(text: str) -> tuple[str | None, Executor | None, str | None]:
    """Contract, executor and CPU of `[CONTRACT:]EXECUTOR` or `CONTRACT`."""
    before, _, last = text.rpartition(":")
    contract = before or None
    if last == "interp":
        return contract, "interp", None
    if last == "jit":
        return contract, "jit", None
    if not is_contract(last) and _is_cpu(last):
        return contract, "jit", last
    return text, None, None


def _is_cpu(name: str) -> bool:
    try:
        resolve_target(None, name)
    except QlowerError:
        return False
    return True
