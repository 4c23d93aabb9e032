"""PyTorch: a program that `torch.export` saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

from qlower.bench.peers import Prepared, import_peer
from qlower.model.signature import Array


class _Program(Protocol):
    @property
    def example_inputs(self) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def module(self) -> Callable[..., object]: ...


def prepare(model: Path, inputs: Sequence[Array], threads: int) -> Prepared:
    """The program as PyTorch runs it, on the example inputs that it was saved with."""
    torch = import_peer("torch", "torch")
    torch.set_num_threads(threads)
    load = cast(Callable[[str], _Program], import_peer("torch", "torch.export").load)
    program = load(str(model))
    arguments, named = program.example_inputs
    run = program.module()

    def call() -> object:
        with torch.inference_mode():
            return run(*arguments, **named)

    return Prepared(call)
