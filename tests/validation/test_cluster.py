"""A Dask cluster of several processes gives what one thread gives, whatever happens."""

from __future__ import annotations

import logging
import os
import signal
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.validation.schedule import machine
from qlower.validation.validate import prepare, run

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.mark.long
def test_a_worker_dies_and_one_is_added(
    model: Path, images: Array, labels: Array, tmp_path: Path
):
    path = tmp_path / "many.npz"
    np.savez(path, image=np.tile(images, (30, 1, 1, 1, 1)), label=np.tile(labels, 30))
    job = prepare(model, path, contracts=("tflite", "pow2-shift"), against="tflite")
    expected = run(job, jobs=1)
    job.task(resolve_target(None, "x86-64"))  # is in the cache from now on
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        (victim, *_) = client.run(os.getpid).values()

        def disturb(rows: int) -> None:
            if rows and not killed:
                cluster.scale(3)
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        found = run(job, client=client, on_progress=disturb)
        assert killed
    assert found == expected
    assert found.examples == 10_800


@pytest.mark.parts(2)
@pytest.mark.parametrize("call", ["run", "submit"])
def test_a_scheduler_that_dies(call: str, model: Path, stored: Path):
    def lose(*_: object, **__: object) -> None:
        raise distributed.comm.CommClosedError("in <TCP>: connection reset by peer")

    client = SimpleNamespace(run=lambda *_, **__: {"worker": machine()})
    setattr(client, call, lose)
    with pytest.raises(QlowerError, match="connection to the scheduler was lost: in <"):
        run(prepare(model, stored), client=client)


def test_a_lost_scheduler_is_said_once(model: Path, stored: Path):
    """By our error: Dask's own log of it, with tracebacks, is kept from the terminal,
    its warnings and what it logs before and after aren't."""
    log, text = logging.getLogger("distributed.client"), StringIO()
    handler = logging.StreamHandler(text)
    log.addHandler(handler)

    def lose(*_: object, **__: object) -> None:
        log.warning("a worker is slow")
        try:
            raise distributed.comm.CommClosedError("reset by peer")
        except OSError:
            log.exception("failed to reconnect")
            raise

    try:
        log.error("before")
        with pytest.raises(QlowerError, match="connection to the scheduler was lost"):
            run(prepare(model, stored), client=SimpleNamespace(run=lose))
        log.error("after")
    finally:
        log.removeHandler(handler)
    assert text.getvalue().splitlines() == ["before", "a worker is slow", "after"]


def test_a_machine_names_what_it_runs():
    cpu, features = machine()
    assert cpu
    assert isinstance(features, str)


def test_sums_of_groups(model: Path, images: Array, labels: Array, tmp_path: Path):
    """Workers that are threads of this process give the sums of one thread; those of
    a machine that has code of its own run that."""
    path = tmp_path / "many.npz"
    np.savez(path, image=images, label=labels)
    job = prepare(model, path, contracts=("tflite", "pow2-shift"), against="tflite")
    expected = run(job, jobs=1)
    with distributed.Client(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as client:
        assert run(job, client=client) == expected
