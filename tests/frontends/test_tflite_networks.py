"""Networks that TensorFlow's converter writes, beside LiteRT's reference kernels.

    QLOWER_TENSORFLOW_PYTHON=/path/to/python python -m pytest --long \
        tests/frontends/test_tflite_networks.py

`$QLOWER_TENSORFLOW_PYTHON` is a Python that has TensorFlow, by which
`tests/support/systems/tensorflow_worker.py` writes them; `$QLOWER_NETWORKS` is a folder
where they are kept, or are already.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.formats.tflite_cases import random_inputs
from support.systems.litert import run_litert, run_litert_steps
from support.values.same_numbers import assert_same

import qlower
from qlower.diagnostics import QlowerError

PYTHON = os.environ.get("QLOWER_TENSORFLOW_PYTHON")
FOLDER = os.environ.get("QLOWER_NETWORKS")
WORKER = Path(__file__).parents[1] / "support" / "systems" / "tensorflow_worker.py"
INPUTS, STEPS = 3, 50
LEAST_SHARE = 0.95
"""Of the networks that LiteRT runs, how many have to be imported."""

NOISE = frozenset({"distances.int16"})
"""Networks with a SUM of int16, of which LiteRT's reference kernel writes half."""

needs_tensorflow = pytest.mark.skipif(
    PYTHON is None and FOLDER is None,
    reason="$QLOWER_TENSORFLOW_PYTHON names no Python with TensorFlow",
)


def networks(folder: Path, wanted: str = "") -> list[Path]:
    """The files, of which the names have this part; written where there are none."""
    pytest.importorskip("ai_edge_litert")
    folder = folder if FOLDER is None else Path(FOLDER)

    def found() -> list[Path]:
        return sorted(path for path in folder.glob("*.tflite") if wanted in path.name)

    if not found():
        assert PYTHON is not None
        parts = [wanted] if wanted else []
        command = [PYTHON, "-I", str(WORKER), str(folder), *parts]
        subprocess.run(command, check=True, capture_output=True)
    return found()


@pytest.mark.long
@needs_tensorflow
def test_streams(tmp_path: Path) -> None:
    """Each step of models with state."""
    found = networks(tmp_path, "stream.")
    assert len(found) == 3
    for path in found:
        model = qlower.load(path)
        assert model.signature.states
        types = [(spec.shape, spec.dtype) for spec in model.inputs]
        steps = [random_inputs(types, seed) for seed in range(STEPS)]
        expected = run_litert_steps(path.read_bytes(), steps)
        function, state, other = qlower.jit(model), *(model.new_state() for _ in "ab")
        for inputs, (theirs,) in zip(steps, expected, strict=True):
            ours = function(*inputs, state=state)
            assert_same(ours, theirs)
            meant = qlower.interpret(model, *inputs, at="qnn", state=other)
            assert_same(meant, theirs)


@pytest.mark.long
@needs_tensorflow
def test_networks(tmp_path: Path) -> None:
    refused: list[str] = []
    equal: list[str] = []
    for path in networks(tmp_path):
        if path.stem in NOISE:
            continue
        try:
            model = qlower.load(path)
            function = qlower.jit(model)
        except QlowerError as error:
            refused.append(f"{path.name}: {error.message}")
            continue
        types = [(spec.shape, spec.dtype) for spec in model.inputs]
        for seed in range(INPUTS):
            inputs = random_inputs(types, seed)
            try:
                expected = run_litert(path.read_bytes(), inputs)
            except (ValueError, RuntimeError):
                break  # LiteRT has no reference kernel
            interpreted = qlower.interpret(model, *inputs, at="qnn")
            for found in (function(*inputs), interpreted):
                outputs = found if isinstance(found, tuple) else (found,)
                for ours, theirs in zip(outputs, expected, strict=True):
                    assert_same(ours, theirs)
        else:
            equal.append(path.name)
    print(f"{len(equal)} equal, {len(refused)} refused", *refused, sep="\n")
    assert len(equal) >= LEAST_SHARE * (len(equal) + len(refused))
