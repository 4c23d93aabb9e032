"""Record which tests reach a probe, in the test's process and in those it starts."""

import builtins
import os
from pathlib import Path

_seen: set[tuple[int, str]] = set()


def _probe(number: int) -> None:
    """Note the test that runs now; `None`, so that `_probe(n) or x` is x."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (number, test) not in _seen:
        _seen.add((number, test))
        with (Path(os.environ["QLOWER_PROBES"]) / str(os.getpid())).open("a") as file:
            file.write(f"{number}\t{test}\n")


setattr(builtins, _probe.__name__, _probe)
