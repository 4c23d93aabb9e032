"""Parts of the runtime: calls, memory, schedules' times, and libraries."""

from __future__ import annotations

import ctypes.util
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.runtime import openmp, tuning
from qlower.runtime.executable import Executable
from qlower.runtime.library import load_library
from qlower.runtime.profiling import kernel_times
from qlower.runtime.tuning import check_tunable
from qlower.text.parsing import parse_module


def refused(call: Any) -> tuple[str, str | None]:
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value.message, caught.value.help


@pytest.fixture(scope="module")
def executable() -> Executable:
    model = qlower.Model(parse_module(SMALL_MODEL, "model.mlir"))
    return Executable(Compilation(model, "tflite").object)


def test_calls_of_code(executable: Executable) -> None:
    """With arrays that are copied where they lie elsewhere, alone or as a set."""
    (port,) = executable.signature.arguments
    x = np.arange(np.prod(port.shape), dtype=np.int8).reshape(port.shape)
    (y,) = executable([x])
    spread = np.zeros((*port.shape[:-1], 2 * port.shape[-1]), np.int8)[..., ::2]
    spread[...] = x
    assert np.array_equal(executable([spread])[0], y)
    assert refused(lambda: executable([x, x]))[0] == (
        "the model takes 1 input, given are 2"
    )
    assert refused(lambda: executable([]))[0] == "the model takes 1 input, given are 0"
    other = (x + 1).astype(np.int8)
    (both,) = executable.run_set([[x, other]])
    assert both.shape == (2, *y.shape)
    assert np.array_equal(both[0], y)
    assert np.array_equal(both[1], executable([other])[0])
    (same,) = executable.run_set([[spread]])
    assert np.array_equal(same[0], y)


def test_one_thread_needs_no_openmp(
    executable: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> dict[str, int]:
        raise QlowerError("there is none")

    monkeypatch.setattr(openmp, "openmp_runtime", missing)
    (port,) = executable.signature.arguments
    x = np.zeros(port.shape, np.int8)
    again = Executable(executable.compiled)
    assert np.array_equal(again([x])[0], executable([x])[0])


def test_memory_that_is_kept(executable: Executable) -> None:
    """As many as four arenas, at multiples of the target's alignment; a call gives
    back what it took."""
    arenas: list[Any] = vars(executable)["_arenas"]
    (port,) = executable.signature.arguments
    x = np.zeros(port.shape, np.int8)
    for call in (lambda: executable([x]), lambda: executable.run_set([[x]])):
        arenas.clear()
        call()
        (first,) = arenas
        call()
        assert len(arenas) == 1
        assert arenas[0] is first
    arenas.clear()
    code: Any = executable
    take, give = code._take_arena, code._return_arena
    taken = [take() for _ in range(6)]
    assert len({one.ctypes.data for one in taken}) == 6
    for one in taken:
        give(one)
    assert len(arenas) == 4
    assert take() is taken[3]
    unit = executable.compiled.target.alignment
    for size in (1, unit, unit + 1):
        memory = executable.aligned_bytes(size)
        assert (memory.nbytes, memory.ctypes.data % unit) == (size, 0)


def test_addresses_of_examples() -> None:
    module = vars(import_module("qlower.runtime.executable"))
    a, b, c = (np.zeros(3, np.int8) for _ in range(3))
    rows = module["_address_rows"](2, [[a, b], [c]])
    places = [one.ctypes.data for one in (a, b, c)]
    assert rows.tolist() == [[places[0], places[2]], [places[1], places[2]]]
    assert list(module["_addresses"]([a, c])) == [places[0], places[2]]


def test_kernels_times_are_medians() -> None:
    """Without the first call."""
    times = iter([[900, 9], [1, 5], [3, 7], [2, 100]])
    made: list[int] = []

    class Call:
        def __init__(self) -> None:
            self.times = [np.zeros(2, np.int64)]

        def __call__(self) -> None:
            made.append(1)
            self.times[0][:] = next(times)

    from qlower.codegen.program.compiled import Kernel

    kernel = Kernel("f", "conv", ("conv",), "contraction", 8, 9, 8, 7, 16, 1, False)
    call: Any = Call()
    found = kernel_times(call, [kernel, kernel], 3)
    assert [one.nanoseconds for one in found] == [2.0, 7.0]
    assert len(made) == 4
    assert found[0].giga_products_per_second == 4.0


def test_targets_that_cannot_be_timed() -> None:
    host = host_target()
    check_tunable(host)
    other: Any = SimpleNamespace(cpu="x", triple="other-triple", needs=frozenset())
    assert refused(lambda: check_tunable(other)) == (
        "code for x of other-triple can't be timed on this machine, which is "
        f"{host.cpu} of {host.triple}",
        "without --tune schedules are chosen by estimate",
    )
    more: Any = SimpleNamespace(
        cpu="x", triple=host.triple, needs=frozenset({*host.needs, "no-such-feature"})
    )
    assert "can't be timed" in refused(lambda: check_tunable(more))[0]
    less: Any = SimpleNamespace(cpu="x", triple=host.triple, needs=frozenset())
    check_tunable(less)


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ([1.0, 2.0, 3.0], 0),
        ([1.0, 0.98, 3.0], 0),
        ([1.0, 0.97, 3.0], 0),
        ([1.0, 0.96, 3.0], 1),
        ([1.0, 0.96, 0.5], 2),
    ],
)
def test_schedules_that_are_clearly_faster(
    times: list[float], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[Any] = ["a", "b", "c"]
    planned = SimpleNamespace(scheduled=lambda nest, schedule: schedule)
    monkeypatch.setattr(tuning, "plan", lambda module, target: planned)
    monkeypatch.setattr(tuning, "signature_of", lambda module: None)
    monkeypatch.setattr(tuning, "_call", lambda plan, signature: plan)
    monkeypatch.setattr(
        tuning, "_times", lambda calls: dict(zip(calls, times, strict=True))
    )
    monkeypatch.setattr(tuning, "NestOp", str)
    module: Any = SimpleNamespace(walk=lambda: ["nest"])
    fastest = vars(tuning)["_fastest"]
    assert fastest(module, host_target(), names) == names[chosen]


def test_candidates_are_taken_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen rounds of a fifth of a millisecond; the least time of a call counts."""
    clock = [0.0]
    order: list[str] = []
    steps = {"a": 1e-4, "b": 3e-4}

    def call(name: str) -> Any:
        def run() -> None:
            order.append(name)
            clock[0] += steps[name] * (2 if len(order) < 8 else 1)

        return run

    monkeypatch.setattr(tuning.time, "perf_counter", lambda: clock[0])
    given: Any = {name: call(name) for name in steps}
    found = vars(tuning)["_times"](given)
    assert found == pytest.approx(steps)
    rounds = "".join(order)
    assert rounds.startswith("aabbaabb")
    # one call that isn't timed, then as many as fill a round
    assert rounds.endswith(("aaabb", "aaaabb"))
    assert rounds.count("ab") == 15


MAPS = """\
00400000-0040b000 r-xp 00000000 08:01 11 /usr/bin/python
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7f0000001000-7f0000002000 r-xp 00000000 08:01 12 /usr/lib/libgomp.so.1
7f0000002000-7f0000003000 r--p 00000000 08:01 12 /usr/lib/libgomp.so.1
7f0000003000-7f0000004000 r-xp 00000000 08:01 13 /a b/libgomp-98b21ff3.so.1.0.0
7f0000005000-7f0000006000 r-xp 00000000 08:01 14 /usr/lib/libgomp.txt
7f0000007000-7f0000008000 r-xp 00000000 08:01 15 /usr/lib/libomp.so
7f0000009000-7f000000a000 r-xp 00000000 08:01 16 /usr/lib/libompat.so
7f000000b000-7f000000c000 r-xp 00000000 08:01 17 /usr/lib/libiomp5.so (deleted)
"""


def test_runtimes_that_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: MAPS)
    assert list(openmp.mapped_runtimes()) == [
        *("/usr/lib/libgomp.so.1", "/a b/libgomp-98b21ff3.so.1.0.0"),
        *("/usr/lib/libomp.so", "/usr/lib/libiomp5.so (deleted)"),
    ]

    def fails(self: Path) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", fails)
    assert list(openmp.mapped_runtimes()) == []


def test_runtimes_that_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is named, alone; or what is loaded, the system's, and packages'."""
    candidates = vars(openmp)["_candidates"]
    monkeypatch.setenv(openmp.LIBRARY, "/mine.so")
    assert list(candidates()) == ["/mine.so"]
    monkeypatch.delenv(openmp.LIBRARY)
    monkeypatch.setattr(openmp, "mapped_runtimes", lambda: iter(["/loaded.so"]))
    known = {"gomp": "libgomp.so.1", "iomp5": "libiomp5.so"}
    monkeypatch.setattr(ctypes.util, "find_library", known.get)

    def files(package: str) -> Any:
        if package == "torch":
            raise openmp.PackageNotFoundError
        if package == "scikit-learn":
            return None
        names = ("libiomp5.so", "libother.so")
        return [SimpleNamespace(name=n, locate=lambda n=n: f"/p/{n}") for n in names]

    monkeypatch.setattr(openmp, "files", files)
    assert list(candidates()) == [
        *(None, "/loaded.so", "libgomp.so.1", "libiomp5.so", "/p/libiomp5.so"),
    ]


def test_threads_that_wait_do_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a library is loaded, unless the user says how they wait."""
    seen: list[str | None] = []

    def load(name: str) -> str:
        seen.append(openmp.os.environ.get("GOMP_SPINCOUNT"))
        if name == "none":
            raise OSError
        return name

    monkeypatch.setattr(openmp.ctypes, "CDLL", load)
    for policy in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(policy, raising=False)
    loaded = vars(openmp)["_load"]
    assert loaded("a") == "a"
    with pytest.raises(OSError):  # noqa: PT011
        loaded("none")
    assert "GOMP_SPINCOUNT" not in openmp.os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    loaded("a")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    loaded("a")
    assert openmp.os.environ["GOMP_SPINCOUNT"] == "7"
    assert seen == ["3000", "3000", None, "7"]


def test_no_runtime_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = openmp.openmp_runtime.__wrapped__

    def load(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(openmp, "_load", load)
    monkeypatch.setattr(openmp, "_candidates", lambda: iter(["/a", "/b"]))
    monkeypatch.delenv(openmp.LIBRARY, raising=False)
    message, advice = refused(runtime)
    assert message == "several threads need an OpenMP runtime, and none is found"
    assert advice is not None
    assert openmp.LIBRARY in advice
    monkeypatch.setenv(openmp.LIBRARY, "/mine.so")
    assert refused(runtime)[0] == (
        f"there is no OpenMP runtime at /mine.so (${openmp.LIBRARY})"
    )
    symbols: list[str] = []

    def address(library: str, symbol: str) -> int:
        symbols.append(symbol)
        if library == "/a":
            raise AttributeError(symbol)
        return len(symbols)

    monkeypatch.setattr(openmp, "_load", lambda name: name)
    monkeypatch.setattr(openmp, "_address", address)
    kept: list[Any] = []
    monkeypatch.setattr(openmp, "_loaded", kept)
    found = runtime()
    assert list(found) == list(openmp.OPENMP_SYMBOLS)
    assert kept == ["/b"]


def test_libraries_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.so"
    assert refused(lambda: load_library(path)) == (
        f"there is no library {path}",
        "qlower compile MODEL -o DIR --emit shared",
    )
    assert refused(lambda: load_library(tmp_path))[0] == (
        f"{tmp_path} holds 0 shared libraries, 1 is expected"
    )
    for name in ("liba.so", "libb.so", "c.so"):
        (tmp_path / name).write_bytes(b"no library")
    assert refused(lambda: load_library(tmp_path))[0] == (
        f"{tmp_path} holds 2 shared libraries, 1 is expected"
    )
    message, _ = refused(lambda: load_library(tmp_path / "c.so"))
    assert message.startswith(f"cannot load {tmp_path / 'c.so'}: ")
    (tmp_path / "libb.so").unlink()
    assert refused(lambda: load_library(tmp_path))[0].startswith("cannot load")


@pytest.mark.parametrize(
    ("wanted", "entries", "expected"),
    [
        (None, ["a"], "a"),
        ("a", ["a", "b"], "a"),
        ("b", ["a", "b"], "b"),
        (None, ["a", "b"], "p has code for 2 shapes of the inputs"),
        ("c", ["a", "b"], "p has no entry 'c'"),
        ("c", ["a"], "p has no entry 'c'"),
    ],
)
def test_models_of_a_library(
    wanted: str | None, entries: list[str], expected: str
) -> None:
    entry = vars(import_module("qlower.runtime.library"))["_entry"]
    if len(expected) == 1:
        assert entry(Path("p"), wanted, entries) == expected
    else:
        assert refused(lambda: entry(Path("p"), wanted, entries)) == (
            expected,
            f"expected an entry: one of {', '.join(entries)}",
        )


def test_data_in_an_object() -> None:
    """One after the other, each behind the one before."""
    module = vars(import_module("qlower.runtime.changed"))
    placed, digest = module["_placed"], module["_digest"]
    code = b"abcabcxyz"
    found = placed([b"abc", b"abc", b"yz"], 3, code)
    assert [(one.place, one.offset, one.size) for one in found] == [
        *((3, 0, 3), (3, 3, 3), (3, 7, 2)),
    ]
    assert found[0].digest == found[1].digest == digest(b"abc")
    assert [one.bytes_in(code) for one in found] == [b"abc", b"abc", b"yz"]
    assert placed([b"yz", b"abc"], 0, code) is None
    assert placed([b"abc", b"q"], 0, code) is None
    assert placed([], 0, code) == []
