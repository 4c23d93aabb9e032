"""Which schedules are measured, and which of them is taken."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.layers.random_layers import LAYERS

import qlower
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp, Schedule, TileAttr, TileRegistersAttr
from qlower.kept.cache import keep_entry
from qlower.model.layers import layer_title
from qlower.runtime import tuning
from qlower.runtime.tuning import check_tunable, tune

TILES = [TileAttr(1, size) for size in range(1, 7)]
INNER = vars(import_module("qlower.runtime.tuning"))


@pytest.mark.parametrize(
    ("possible", "measured"),
    [
        ([], []),
        (TILES[:1], TILES[:1]),
        (TILES, TILES[:4]),
        (TILES[:4], TILES[:4]),
        ([TileRegistersAttr(), *TILES], [TileRegistersAttr(), *TILES[:4]]),
        ([*TILES, TileRegistersAttr()], [*TILES[:4], TileRegistersAttr()]),
    ],
)
def test_four_tiles_are_measured_and_tile_registers(
    possible: list[Schedule], measured: list[Schedule], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "possible_schedules", lambda *_: list(possible))
    assert INNER["_candidates"](None, None) == measured


@pytest.mark.parametrize(
    ("times", "taken"),
    [
        ([1.0, 1.0], 0),
        ([1.0, 0.98], 0),
        ([1.0, 0.97], 0),  # no less than the part that counts
        ([1.0, 0.96], 1),
        ([1.0, 0.96, 0.5, 0.7], 2),
        ([0.5, 0.96, 0.7], 0),
        ([1.0, 0.5, 0.5], 1),
    ],
)
def test_the_estimate_is_taken_unless_another_is_clearly_faster(
    times: list[float], taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = TILES[: len(times)]
    planned = SimpleNamespace(scheduled=lambda nest, schedule: schedule)
    nest = object.__new__(NestOp)
    monkeypatch.setattr(tuning, "plan", lambda *_: planned)
    monkeypatch.setattr(tuning, "signature_of", lambda _: None)
    monkeypatch.setattr(tuning, "_call", lambda schedule, _: schedule)

    def measured(calls: dict[Schedule, Schedule]) -> dict[Schedule, float]:
        assert [*calls.values()] == candidates  # each has its own code
        return dict(zip(calls, times, strict=True))

    monkeypatch.setattr(tuning, "_times", measured)
    module = SimpleNamespace(walk=lambda: iter([object(), nest]))
    assert INNER["_fastest"](module, None, candidates) == candidates[taken]


@dataclass
class Clock:
    """Seconds that only calls spend."""

    now: float = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_the_least_time_of_rounds_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round lasts 0.2 ms or more after a call that warms up, and no call may count
    for less than it took."""
    clock, order = Clock(), list[str]()
    numbers = {"slow": count(), "fast": count()}
    monkeypatch.setattr(tuning, "time", clock)

    def call(name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            order.append(name)
            # Every third call is disturbed.
            clock.now += seconds * (1 + next(numbers[name]) % 3)

        return run

    calls: Any = {"slow": call("slow", 3e-4), "fast": call("fast", 5e-5)}
    least = INNER["_times"](calls)
    # A round of "slow" is one call behind the one that warms up.
    assert least["slow"] == pytest.approx(3e-4)
    assert 5e-5 <= least["fast"] <= 1.26e-4
    assert order[:2] == ["slow", "slow"]
    turns = [
        name
        for name, before in zip(order, ["", *order], strict=False)
        if name != before
    ]
    assert turns == ["slow", "fast"] * 15


def test_a_round_has_calls_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = Clock(), count()
    monkeypatch.setattr(tuning, "time", clock)

    def run() -> None:
        next(calls)
        clock.now += 6e-5

    assert INNER["_times"]({"one": run}) == {"one": pytest.approx(6e-5)}
    assert next(calls) == 15 * (1 + 4)


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.tflite"
    path.write_bytes(LAYERS["conv2d"](0, "int8"))
    return path


def nests(module: Any) -> list[NestOp]:
    return [op for op in module.walk() if isinstance(op, NestOp)]


def test_contractions_alone_are_tuned(
    layer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy; others aren't asked about, and one with no way but one keeps its
    estimate."""
    target = host_target()
    kernel = lower_to_kernel(lower_to_arith(qlower.load(layer).module), target)
    (op,) = nests(kernel)
    op.schedule = TILES[5]
    other = op.clone()
    other.family = type(op.family)("depthwise")
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(other, op)
    asked: list[str] = []
    answers: list[Schedule | None] = []

    def schedule(op: NestOp, _: object) -> Schedule | None:
        assert op.schedule is None
        asked.append(op.family.data)
        return answers[-1]

    monkeypatch.setattr(tuning, "_schedule", schedule)
    for answer, wanted in [(TILES[2], TILES[2]), (None, TILES[5])]:
        asked.clear()
        answers.append(answer)
        found = {op.family.data: op.schedule for op in nests(tune(kernel, target))}
        assert asked == ["contraction"]
        assert found == {"depthwise": TILES[5], "contraction": wanted}
    assert op.schedule == TILES[5]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, None),
        (b"#kernel.tile<3, 1>", TileAttr(3, 1)),
        (b"#kernel.tile_registers", TileRegistersAttr()),
        (b"3 : i32", None),
    ],
)
def test_what_is_remembered(
    content: bytes | None, found: Schedule | None, tmp_path: Path
) -> None:
    path = tmp_path / "one.tuned"
    if content is not None:
        keep_entry(path, content)
    assert INNER["_remembered"](path) == found


@pytest.mark.parametrize(
    ("possible", "folder", "measures"),
    [(2, True, 1), (2, False, 2), (1, True, 0), (0, True, 0)],
)
def test_a_nest_is_measured_where_there_is_a_choice(
    possible: int,
    folder: bool,
    measures: int,
    layer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once, if there is a folder to remember it in."""
    caplog.set_level(logging.INFO, "qlower")
    target = host_target()
    kernel = lower_to_kernel(lower_to_arith(qlower.load(layer).module), target)
    calls = count()
    kept = tmp_path / "cache"

    def fastest(_: object, target_: object, candidates: list[Schedule]) -> Schedule:
        next(calls)
        assert (target_, candidates) == (target, TILES[:possible])
        return TILES[1]

    monkeypatch.setattr(tuning, "cache_folder", lambda: kept if folder else None)
    monkeypatch.setattr(tuning, "possible_schedules", lambda *_: TILES[:possible])
    monkeypatch.setattr(tuning, "_fastest", fastest)
    for _ in range(2):
        found = INNER["_schedule"](nests(kernel)[0], target)
        assert found == (TILES[1] if possible > 1 else None)
    assert next(calls) == measures
    told = [one for one in caplog.messages if one.startswith("tuned ")]
    title = layer_title(nests(kernel)[0])
    assert title is not None
    assert told == [f"tuned {title}: {TILES[1]}"] * measures
    assert len(list(kept.glob("*.tuned"))) == (possible > 1 and folder)


def test_which_targets_can_be_timed() -> None:
    host = host_target()
    check_tunable(host)
    check_tunable(replace(host, needs=frozenset()))
    more = replace(host, cpu="next", needs=host.needs | {"unheard-of"})
    for target in (more, resolve_target("riscv64-linux-gnu")):
        message = (
            f"code for {target.cpu} of {target.triple} can't be timed on this machine, "
            f"which is {host.cpu} of {host.triple}"
        )
        with pytest.raises(QlowerError) as caught:
            check_tunable(target)
        assert message in str(caught.value)
        assert caught.value.help == "without --tune schedules are chosen by estimate"
