"""TOSA's own conformance tests of operators on tensors, as its generator makes them.

Expected results are the reference model's, in process. All run in the interpreter; one
in so many as native code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from support.formats.tosa import has_reference_model, installed, reference_outputs

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array
from qlower.runtime.executors import Executor

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not has_reference_model(), reason="tosa-tools is not installed"),
]

OPERATORS = (
    *("abs", "add", "argmax", "arithmetic_right_shift", "avg_pool2d", "bitwise_and"),
    *("bitwise_not", "bitwise_or", "bitwise_xor", "cast", "clamp", "clz", "concat"),
    *("const", "conv2d", "conv3d", "depthwise_conv2d", "equal", "gather", "greater"),
    *("greater_equal", "identity", "intdiv", "logical_and", "logical_left_shift"),
    *("logical_not", "logical_or", "logical_right_shift", "logical_xor", "matmul"),
    *("max_pool2d", "maximum", "minimum", "mul", "negate", "pad", "reduce_all"),
    *("reduce_any", "reduce_max", "reduce_min", "reduce_sum", "rescale", "reshape"),
    *("resize", "reverse", "scatter", "select", "slice", "sub", "table", "tile"),
    *("transpose", "transpose_conv2d"),
)

TESTS = 2241
"""Positive tests of the integer profile, with the extension of double rounding."""

NATIVE = 8
"""One in so many tests runs as native code, too."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """The folders of all tests, in twenty minutes."""
    folder = tmp_path_factory.mktemp("conformance")
    library = "tosa_reference_model/libtosa_reference_generate_lib.so"
    config = installed("conformance/cts-config_v1.0.json")
    options: dict[str, object] = {
        "profile": "tosa-pro-int",
        "extension": "tosa-ext-doubleround",
        "test-type": "positive",
        "tosa-version": "1.0.2",
        "output-type": "binary",
        "generate-lib-path": installed(library),
        "schema-path": installed("bin/tosa.fbs"),
        "flatc-path": installed("bin/flatc"),
        "ref-model-path": installed("bin/tosa_reference_model"),
        "build-directory": folder / "build",
        "output-directory": folder / "out",
        "cts-config-directory": config.parent,
        "cts-config": config,
    }
    (script,) = entry_points(
        group="console_scripts", name="tosa_verif_conformance_generator"
    )
    tools = Path(sys.executable).parent
    code = f"from {script.module} import {script.attr}; {script.attr}()"
    subprocess.run(
        [
            *(sys.executable, "-c", code, "--operators", *OPERATORS),
            *(f"--{name}={value}" for name, value in options.items()),
        ],
        check=True,
        capture_output=True,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
        },
    )
    return sorted(path.parent for path in (folder / "out").rglob("desc.json"))


def test_every_test(suite: Sequence[Path]):
    assert len(suite) == TESTS
    wrong = [
        test.name
        for number, test in enumerate(suite)
        if not passes(test, native=number % NATIVE == 0)
    ]
    assert not wrong, f"{len(wrong)} of {TESTS}"


def passes(test: Path, native: bool) -> bool:
    """Whether a test gives what the reference model gives."""
    description = json.loads((test / "desc.json").read_text())
    file = test / description["tosa_file"]
    inputs = [np.load(test / name) for name in description["ifm_file"]]
    expected = reference_outputs(file.read_bytes(), inputs)
    assert expected is not None, f"{test.name} is unpredictable"
    compilation = Compilation(qlower.load(file))
    executors: list[Executor] = [compilation.interpreter("arith")]
    if native:
        executors.append(compilation.function())
    given = [signless(array) for array in inputs]
    return all(
        np.array_equal(signless(found), signless(wanted))
        for executor in executors
        for found, wanted in zip(executor.run(given, {})[0], expected, strict=True)
    )


def signless(array: Array) -> Array:
    """The bits of integers as TOSA's files have them: without a sign of their own."""
    if array.dtype.kind == "u":
        return array.view(array.dtype.str.replace("u", "i"))
    return array
