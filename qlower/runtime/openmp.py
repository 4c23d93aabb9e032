"""The OpenMP runtime that code for several threads calls.

One that is loaded already is best, for it has its threads: two runtimes would have
twice as many. Else it is what the system or an installed package has.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from qlower.codegen.program.team import OPENMP_SYMBOLS
from qlower.diagnostics import LOGGER, QlowerError

LIBRARY = "QLOWER_OPENMP"
"""Environment variable with the runtime's path."""

_NAMES = ("gomp", "omp", "iomp5")
_PACKAGES = ("intel-openmp", "torch", "scikit-learn")


@cache
def openmp_runtime() -> dict[str, int]:
    """The addresses of `OPENMP_SYMBOLS`, of one runtime that stays loaded.

    Raises QlowerError where there is none.
    """
    for name in _candidates():
        try:
            library = _load(name)
            found = {symbol: _address(library, symbol) for symbol in OPENMP_SYMBOLS}
        except (OSError, AttributeError) as error:
            LOGGER.debug("no OpenMP runtime: %s", error)
            continue
        LOGGER.debug("the OpenMP runtime is %s", name)
        _loaded.append(library)
        return found
    chosen = os.environ.get(LIBRARY)
    raise QlowerError(
        f"there is no OpenMP runtime at {chosen} (${LIBRARY})"
        if chosen
        else "several threads need an OpenMP runtime, and none is found",
        help="install the system's libgomp1 or libomp5, or the package intel-openmp; "
        f"${LIBRARY} can name a library",
    )


_loaded: list[ctypes.CDLL] = []

_POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_SPINS = "3000"
"""50 to 150 us, from one call to the next. libgomp's threads otherwise spin for
milliseconds when they wait, and take a core from whatever runs after the call."""


def _load(name: str | None) -> ctypes.CDLL:
    """The library, which reads how long to wait from the environment as it loads."""
    if any(policy in os.environ for policy in _POLICIES):
        return ctypes.CDLL(name)
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        return ctypes.CDLL(name)
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def _address(library: ctypes.CDLL, symbol: str) -> int:
    address = ctypes.cast(library[symbol], ctypes.c_void_p).value
    assert address is not None
    return address


def _candidates() -> Iterator[str | None]:
    """Libraries to try in turn; None is what is loaded for all."""
    chosen = os.environ.get(LIBRARY)
    if chosen:
        yield chosen
        return
    yield None
    yield from mapped_runtimes()
    for name in _NAMES:
        found = ctypes.util.find_library(name)
        if found is not None:
            yield found
    for package in _PACKAGES:
        try:
            present = files(package) or []
        except PackageNotFoundError:
            continue
        yield from (str(file.locate()) for file in present if _is_runtime(file.name))


def mapped_runtimes() -> Iterator[str]:
    """The runtimes that this process has loaded."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    paths = dict.fromkeys(line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    yield from (path for path in paths if _is_runtime(Path(path).name))


def _is_runtime(file: str) -> bool:
    return ".so" in file and file.startswith(
        tuple(f"lib{name}{end}" for name in _NAMES for end in (".", "-"))
    )
