"""Who observes the compilations of a block, wherever in it they are made."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qlower.process.ambient import Ambient

if TYPE_CHECKING:
    from qlower.compilation.passes import Observer

_PRESENT: Ambient[tuple[Observer, ...]] = Ambient("observers", ())


@contextmanager
def observed_by(observers: tuple[Observer, ...]) -> Generator[None]:
    """Give these observers to compilations that are made while the block runs, in this
    thread; they are notified at its end."""
    with _PRESENT.within(observers):
        yield
    for observer in observers:
        observer.finish()


def present_observers() -> tuple[Observer, ...]:
    """The observers of the innermost block that names any."""
    return _PRESENT.get()
