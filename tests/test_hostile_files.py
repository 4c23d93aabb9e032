"""No file that a command reads makes it fail itself, hang or take the machine.

The commands run as from the command line, in processes that may die: each ends with
success or a refusal, within 30 s and 2 GB, and leaves nothing half-written. A damaged
entry of the cache changes nothing. $QLOWER_TEST_HOSTILE is how many files of each kind
there are; another $QLOWER_TEST_HOSTILE_SEED draws others.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from support.damage import hostile_results
from support.damage.hostile_files import (
    MODEL,
    OPEN,
    Kind,
    kinds,
    prepare,
    with_flatbuffer,
)
from support.damage.kept_work import keep_work, weight
from support.damage.mutants import judge_all
from support.formats.tosa import has_tosa
from support.lanes import LARGE_VARIABLE, is_asked_for

from qlower import cli, load_compiled
from qlower.cli import opt
from qlower.diagnostics import QlowerError

FILES = int(
    os.environ.get(
        "QLOWER_TEST_HOSTILE", "300" if is_asked_for(LARGE_VARIABLE) else "2"
    )
)
SEED = os.environ.get("QLOWER_TEST_HOSTILE_SEED", "0")
SECONDS = 30.0
MEMORY = 2 << 30
BATCH = 200
"""Files of one process, so that no file pays for what those before it left."""

KINDS = (
    *(
        "tflite",
        "onnx",
        "pt2",
        "ncnn",
        "espdl",
        "tpu",
        "qnn",
        "tosa",
        "linalg",
        "stablehlo",
        "arith",
    ),
    *("kernel", "contract", "npz", "npy", "mlirbc", "tosa file"),
)
RESULTS = (
    *("dump", "dump folder", "tensor proto", "checkpoint", "certificate", "sets"),
    *("labels json", "labels text", "labels npy", "metric", "vectors", "cache"),
    *("library", "pictures", "class names", "parquet", *hostile_results.ARGUMENTS),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read besides the file."""
    folder = tmp_path_factory.mktemp("hostile")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[str, Kind]:
    found = kinds(folder)
    if has_tosa():
        with_flatbuffer(found, folder)
    return found


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Kind]:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()):
        patch.chdir(folder)
        return hostile_results.kinds(folder)


def outcome(command: Sequence[str], expected: str | None) -> str:
    """How a command ends, or a fault."""
    out, err = StringIO(), StringIO()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    written = [part for part in command if part.startswith("out.")]
    for path in written:
        Path(path).unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        while "=" in command[0]:
            patch.setenv(*command[0].split("=", 1))
            command = command[1:]
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = ended(command)
            except QlowerError as error:
                code = "refused" if str(error).strip() else "fault: an empty message"
            except RecursionError:
                code = "too deep"  # without --debug
            except TimeoutError:
                raise
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(frame.filename).name}:{frame.lineno}"
                return f"fault: {type(error).__name__}: {error} at {place}"
    if code.startswith("fault"):
        code += err.getvalue()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if (spent := after.ru_utime - before.ru_utime) > SECONDS:
        return f"fault: programs that it started took {spent} s"
    if "more memory than there is" in err.getvalue():
        return "fault: more than 2 GB"
    if code != "done" and any(map(os.path.exists, written)):
        return f"fault: {code}, but there is {written}"
    if expected is not None and out.getvalue() != expected:
        return f"fault: {code}: {out.getvalue()}{err.getvalue()}, not {expected}"
    return code


def ended(command: Sequence[str]) -> str:
    name, *rest = command
    if name == "LOAD":
        library = load_compiled(rest[0])
        library(*(np.zeros(one.shape, one.numpy_dtype) for one in library.inputs))
        return "done"
    match opt.main(rest) if name == "qlower-opt" else cli.main([*command, "--debug"]):
        case 0:
            return "done"
        case 1:
            return "found"
        case 2:
            return "usage"
        case code:
            return f"fault: exit code {code}"


def check(name: str, kind: Kind, folder: Path) -> None:
    choice = random.Random(f"{name} {SEED}")
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        keep_work(patch, (MODEL, OPEN, hostile_results.PICTURE_MODEL))
        expected = printed(kind.commands[0][1:]) if kind.is_healed else None
        for first in range(0, FILES, BATCH):
            where = Path(name, str(first))
            where.mkdir(parents=True)
            commands: list[list[str]] = []
            for number in range(min(BATCH, FILES - first)):
                path = where / f"{number}{kind.suffix}"
                given = kind.put(path, kind.mutant(choice))
                weights = [*map(weight, kind.commands)]
                (command,) = choice.choices(kind.commands, weights)
                commands.append([part.replace("FILE", given) for part in command])
            outcomes = judge_all(
                [str(number) for number in range(len(commands))],
                lambda number, all=commands: outcome(all[int(number)], expected),
                seconds=SECONDS,
                memory=MEMORY,
            )
            counts.update(text[:120] for text in outcomes)
            found = [
                f"{' '.join(command)[:400]}: {text}"
                for command, text in zip(commands, outcomes, strict=True)
                if text.startswith("fault")
            ]
            faults += found
            if not found:
                shutil.rmtree(where)
    print(name, counts.most_common())
    assert not faults, "\n".join([f"in {folder}:", *faults])


def printed(command: Sequence[str]) -> str:
    out = StringIO()
    with redirect_stdout(out):
        assert cli.main(command) == 0
    return out.getvalue()


@pytest.mark.parts(14)
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files(name: str, files: dict[str, Kind], folder: Path) -> None:
    if name not in files:
        pytest.skip(f"no tool reads {name} here")
    check(name, files[name], folder)


@pytest.mark.long
@pytest.mark.parametrize("name", RESULTS)
def test_damaged_results(name: str, results: dict[str, Kind], folder: Path) -> None:
    if name not in results:
        pytest.skip(f"no package reads {name} here")
    check(name, results[name], folder)
