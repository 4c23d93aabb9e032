"""Walks through arithmetics: the same wherever they run, and resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import models_directory

from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.exploration.explore import Plan, plan, run
from qlower.exploration.walk import Figures, checked_axes, front, generations, name_of
from qlower.validation.validate import prepare

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODEL, IMAGES = DIGITS / "digits.mlir", DIGITS / "test_images.npy"
KWS = models_directory() / "kws_dscnn_int8"

AXES = ("multiplier=2,8,12,32", "rounding=half_up,floor", "first=once")


def walk(points: int = 6, images: int = 8) -> Plan:
    job = prepare(MODEL, IMAGES, contracts=["tflite"], against="exact", limit=images)
    axes = [*AXES, "accumulator=32", "zero_point=after"]
    return plan(job, MODEL, choices=axes, points=points, unit="bits")


def test_a_front_has_what_nothing_beats() -> None:
    figures = {
        0: Figures(0.9, 50, 100),
        1: Figures(0.9, 40, 90),
        2: Figures(0.8, 10, 20),
        3: Figures(0.7, 10, 20),
        4: Figures(0.8, 10, 20),
    }
    assert front(figures) == [1, 2]


def test_a_walk_begins_at_the_base_and_goes_on_from_the_best() -> None:
    axes = checked_axes(["multiplier=32,12", "rounding=half_up,floor"])
    found: dict[int, Figures] = {}
    walked: list[str] = []
    for batch in generations(axes, 40, lambda: found):
        for one in batch:
            found[len(walked)] = Figures(1, len(name_of(one, "tflite")), 1)
            walked.append(name_of(one, "tflite"))
    assert walked[0] == "arithmetic: base tflite; multiplier 32 bits half_up"
    assert len(walked) == len(set(walked)) == 40
    with pytest.raises(QlowerError, match="has no choice 'wheels'"):
        checked_axes(["wheels=4"])
    with pytest.raises(QlowerError, match="rounding is none of these"):
        checked_axes(["rounding=sideways"])


@pytest.mark.long
def test_a_walk_that_is_resumed_or_in_two_processes_is_the_same(
    tmp_path: Path,
) -> None:
    whole = run(walk())
    state = tmp_path / "walk.json"
    part = run(walk(3), resume=state)
    done: list[int] = []
    resumed = run(walk(), resume=state, on_progress=done.append)
    assert [one.counts for one in part.points] == [
        one.counts for one in whole.points[:3]
    ]
    assert resumed.to_dict() == whole.to_dict()
    assert min(done) > 3
    assert whole.points[0].figures is not None
    assert whole.points[0].number in {one.number for one in whole.front} or any(
        one.figures and one.figures.beats(whole.points[0].figures)
        for one in whole.front
    )


@contextmanager
def a_scheduler(directory: Path) -> Generator[str]:
    """The address of a Dask scheduler with two workers."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=str(directory),
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "data", "points"),
    [
        pytest.param(MODEL, IMAGES, 24, id="digits"),
        pytest.param(KWS / "model.tflite", KWS / "inputs.npz", 500, id="DS-CNN"),
    ],
)
def test_one_core_two_and_a_cluster_print_the_same(
    model: Path, data: Path, points: int, tmp_path: Path
) -> None:
    """Every byte of the table and of all points' figures, each from an empty cache."""
    if not model.exists():
        pytest.skip(f"{model} is not there")
    command = [sys.executable, "-m", "qlower", "explore", str(model)]
    command += ["--data", str(data), "--against", "exact", "--points", str(points)]
    printed: dict[str, list[str]] = {}
    with a_scheduler(tmp_path) as scheduler:
        for name, given in {
            "one core": ["--jobs", "1"],
            "two cores": ["--jobs", "2"],
            "Dask": ["--scheduler", scheduler],
        }.items():
            walk = ["--resume", str(tmp_path / f"{name}.json")]
            cache = os.environ | {"QLOWER_CACHE_DIR": str(tmp_path / name)}
            begin = time.perf_counter()
            for form in ("csv", "json"):  # the second one finds all figures in `walk`
                done = subprocess.run(
                    [*command, *given, *walk, "--format", form],
                    capture_output=True,
                    text=True,
                    check=False,
                    env=cache,
                )
                assert done.returncode == 0, done.stderr
                printed.setdefault(name, []).append(done.stdout)
            print(f"{name}: {time.perf_counter() - begin:.0f} s")
    one = printed.pop("one core")
    assert len(json.loads(one[1])["points"]) == points
    assert printed == {"two cores": one, "Dask": one}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    labels = DIGITS / "test_labels.npy"
    page = tmp_path / "front.html"
    given = ["explore", str(MODEL), "--data", str(IMAGES), "--labels", str(labels)]
    choices = [word for one in AXES for word in ("--choice", one)]
    size = ["--points", "3", "--limit", "8", "--jobs", "1", "--area", "bits"]
    assert main([*given, *choices, *size, "--report", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "of 3 arithmetics that no other beats in top-1 accuracy" in printed
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "all arithmetics" in text


def test_what_cannot_be_ranked_is_refused(tmp_path: Path) -> None:
    job = prepare(MODEL, IMAGES, contracts=["tflite"], limit=8)
    with pytest.raises(QlowerError, match="nothing says which outputs are good"):
        plan(job, MODEL, unit="bits")
    with pytest.raises(QlowerError, match="the examples have no labels"):
        plan(job, MODEL, unit="bits", by="top1")
    state = tmp_path / "walk.json"
    run(walk(1), resume=state)
    with pytest.raises(QlowerError, match="written by a different run"):
        run(walk(1, images=9), resume=state)
