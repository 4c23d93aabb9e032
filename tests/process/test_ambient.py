"""Values that blocks set, what passes count in them, and forks beside other threads."""

from __future__ import annotations

import logging
import sys
from functools import cached_property
from threading import Thread

import pytest
from xdsl.ir import Operation

from qlower import tally
from qlower.process import forking
from qlower.process.ambient import Ambient
from qlower.tally import Rewrites, count, tallied, timed_layer
from qlower.text.parsing import parse_module

LAYERS = """
func.func @main(%x: i32) -> i32 {
  %c = arith.constant 3 : i32
  %a = arith.addi %x, %c : i32 loc("one")
  %b = arith.muli %a, %c : i32 loc("two")
  return %b : i32
}"""


def operations() -> dict[str, Operation]:
    return {op.name: op for op in parse_module(LAYERS).walk()}


def test_a_value_lasts_as_long_as_its_block() -> None:
    value = Ambient("value", 0)
    with value.within(1):
        with value.within(2):
            assert value.get() == 2
        assert value.get() == 1
        with pytest.raises(ZeroDivisionError), value.within(3):
            assert 1 / (value.get() - 3)
        assert value.get() == 1
    assert value.get() == 0


def test_what_is_counted_counts_around_it_too() -> None:
    count("nests merged")
    with tallied() as outer:
        count("nests merged", 2)
        with tallied() as inner:
            count("nests merged", 3)
            count("loops cut", 0)
            count("values flipped")
        assert str(inner) == "3 nests merged, 1 values flipped"
        assert str(outer) == "5 nests merged, 1 values flipped"
    with tallied() as other:
        pass
    assert str(other) == ""


def test_a_limit_lets_the_first_rewrites_pass(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An operation of no layer goes by its own name."""
    caplog.set_level(logging.DEBUG, "qlower")
    ops = operations()
    with tallied() as found:
        rewrites = Rewrites("rewrites", 2)
        allowed = [rewrites.allow(ops[name]) for name in ("arith.muli",) * 3]
        free = Rewrites("others", None)
        assert all(free.allow(ops["arith.addi"]) for _ in range(3))
        assert free.allow(ops["func.return"])
    assert allowed == [True, True, False]
    assert found.rewrites == ["two", "two", "one", "one", "one", "func.return"]
    assert str(found) == "2 rewrites, 4 others"
    assert caplog.messages[1:3] == ["rewrites: two", "others: one"]


def test_time_is_a_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant's is that of its readers, in equal parts."""
    looks = iter([1.0, 5.0, 10.0, 14.0, 20.0, 23.0])
    monkeypatch.setattr(tally, "perf_counter", lambda: next(looks))
    ops = operations()
    with timed_layer(ops["arith.addi"]):
        pass
    with tallied() as found:
        with timed_layer(ops["arith.addi"]):
            pass
        with timed_layer(ops["arith.addi"], ops["arith.muli"]):
            pass
        with timed_layer(ops["func.return"]):
            pass
    assert found.seconds == {"one": 4.0 + 2.0, "two": 2.0, "func.return": 3.0}
    assert next(looks, None) is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="properties have no locks")
def test_a_child_computes_properties_that_a_thread_was_computing() -> None:
    class Holder:
        @cached_property
        def value(self) -> int:
            return 5

    class Heir(Holder):
        @cached_property
        def other(self) -> int:
            return 6

    for owner, name in ((Holder, "value"), (Heir, "other")):
        lock = vars(vars(owner)[name])["lock"]
        thread = Thread(target=lock.acquire)
        thread.start()
        thread.join()
    vars(forking)["_begin_child"]()
    found: list[int] = []
    heir = Heir()
    reader = Thread(target=lambda: found.extend((heir.value, heir.other)), daemon=True)
    reader.start()
    reader.join(10)
    assert found == [5, 6]
