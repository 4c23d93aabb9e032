"""The default float environment for what is computed in Python.

Scales become multipliers, tables and bounds by numpy, and the interpreter computes with
it: in the rounding mode that the process has set. Native code sets the environment
itself.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

_BYTES = 256
"""More than a fenv_t has anywhere."""

_DEFAULT = ctypes.c_void_p(-1)
"""FE_DFL_ENV of glibc and musl."""


@cache
def _library() -> ctypes.PyDLL | None:
    """The C library's functions for it, on systems whose FE_DFL_ENV is known."""
    if sys.platform != "linux":
        return None
    library = ctypes.PyDLL(None)
    return library if hasattr(library, "fesetenv") else None


@contextmanager
def default_floats() -> Generator[None, None, None]:
    """Round to nearest even, with subnormal numbers and without traps, in this thread.

    The thread's own environment is back afterwards. Off Linux nothing is changed.
    """
    library = _library()
    if library is None:
        yield
        return
    before = ctypes.create_string_buffer(_BYTES)
    library.fegetenv(before)
    library.fesetenv(_DEFAULT)
    try:
        yield
    finally:
        library.fesetenv(before)
