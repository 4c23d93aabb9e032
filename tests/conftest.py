"""The lane of long tests, and an object cache that is thrown away.

`pytest --long` runs the tests that are marked `long`, every case of those marked
`parts`, and what the environment variables of `LONG_VARIABLES` ask for. Modules are
verified after each pass then; tests of passes have that always (`verify_each`).
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from support.lanes import (
    EVERY_TURN,
    LARGE_VARIABLE,
    LEVELS_VARIABLE,
    TURN_VARIABLE,
    cases_of_turn,
)

from qlower.compilation.passes import VERIFY_EACH

LONG_VARIABLES = (LARGE_VARIABLE, LEVELS_VARIABLE, VERIFY_EACH)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long tests, too")
    parser.addoption(
        "--bless",
        action="store_true",
        help="write results into files of tests/run, tests/contracts/answers, "
        "tests/frontends/changed_files, tests/frontends/read_modules.txt, "
        "tests/changed_operations, "
        "tests/codegen/written, tests/packages/recorded_c, tests/cli/answers.txt and "
        "tests/printed_modules.txt",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs with --long only")
    config.addinivalue_line(
        "markers", "parts(n): one in n of its cases runs, or itself in one turn of n"
    )
    # Which the process that started this one may have: tables would be cut to it.
    os.environ.pop("COLUMNS", None)
    # Passes leave cyclic garbage, but little of it at a time, and tests that are found
    # leave none: looking for it as often as Python does by default is a tenth of the
    # time.
    gc.set_threshold(50_000, 20, 20)
    # Without this limit oneDNN takes kernels for AMX where there is AMX.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")
    if config.getoption("--long"):
        os.environ.update(dict.fromkeys(LONG_VARIABLES, "1"))


@pytest.hookimpl(trylast=True)  # of what is asked for by name
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--long"):
        return
    long, of_parts = (defaultdict[str, list[pytest.Item]](list) for _ in range(2))
    for item in items:
        test = item.nodeid.partition("[")[0]
        if item.get_closest_marker("long") is not None:
            long[test].append(item)
        elif item.get_closest_marker("parts") is not None:
            of_parts[test].append(item)
    # Of thousands of cases, which would take half a minute to skip, one is skipped.
    others = {case for cases in long.values() for case in cases[1:]}
    for first, *_ in long.values():
        first.add_marker(pytest.mark.skip(reason="a long test: runs with --long"))
    turn = os.environ.get(TURN_VARIABLE, "0")
    if turn != EVERY_TURN:
        named = _named_files(config)
        for test, cases in of_parts.items():
            others.update(_of_other_parts(test, cases, int(turn), named))
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def _named_files(config: pytest.Config) -> set[Path]:
    """The files that the command line names, alone or for a test of theirs."""
    base = config.invocation_params.dir
    paths = (base / argument.partition("::")[0] for argument in config.args)
    return {path.resolve() for path in paths if path.is_file()}


def _of_other_parts(
    test: str, cases: Sequence[pytest.Item], turn: int, named: Collection[Path]
) -> Iterator[pytest.Item]:
    """All cases of a test but this turn's; a test whose file is named has some."""
    marker = cases[0].get_closest_marker("parts")
    assert marker is not None
    (parts,) = marker.args
    if cases[0].path.resolve() in named:
        parts = min(parts, len(cases))
    drawn = cases_of_turn(test, [case.nodeid for case in cases], parts, turn)
    yield from (case for case in cases if case.nodeid not in drawn)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--long") and TURN_VARIABLE not in os.environ:
        terminalreporter.write_line(
            "Tests marked parts(n) ran one case in n, long tests none: --long runs all."
        )


def pytest_collection_finish() -> None:
    """Garbage is looked for among what tests make, not among all modules and tests."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Look for garbage that complains once; pytest does it five times after this."""
    gc.collect()
    gc.freeze()


def _with_room(test: Callable[..., object], /, **arguments: object) -> object:
    """Call a test with a megabyte ready for the frames of what it calls.

    Python takes 16 KiB at a time for frames, and returns them at once: a loop of calls
    across such a border asks the system for memory with each, hundreds of thousands of
    times in a test. But a frame that says that it needs 1 MiB gets 2 MiB.
    """
    return test(**arguments)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=1 << 17)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(
    pyfuncitem: pytest.Function,
) -> Generator[None, object, object]:
    pyfuncitem.obj = partial(_with_room, pyfuncitem.obj)
    return (yield)


@pytest.fixture(scope="session", autouse=True)
def _own_object_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("object_cache")
        patch.setenv("QLOWER_CACHE_DIR", str(folder))
        yield


@pytest.fixture
def verify_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are verified after each pass, not after the last of a level alone."""
    monkeypatch.setenv(VERIFY_EACH, "1")
