"""Mutated modules and contracts: refused at their place, or run alike everywhere.

Native code runs between pages that can't be touched. $QLOWER_TEST_MUTANTS is how many
mutants of each kind there are; another $QLOWER_TEST_MUTANTS_SEED draws others.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.damage.mutant_originals import KINDS, draw, examples
from support.damage.mutants import judge_all, mutate
from support.layers.run_files import SEPARATOR
from support.machines.native import guarded_runs

from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.linalg import complete_linalg
from qlower.frontends.tosa import complete_tosa
from qlower.interp import run_function
from qlower.interp.values import Array, InterpretationError
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import has_dialect
from qlower.model.printing import exact_module
from qlower.model.signature import TensorSpec
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

pytestmark = pytest.mark.usefixtures("verify_each")

MUTANTS = int(os.environ.get("QLOWER_TEST_MUTANTS", "8"))
SEED = os.environ.get("QLOWER_TEST_MUTANTS_SEED", "0")
LARGEST = 1 << 16
"""Elements of all inputs and outputs of a mutant that is run."""


def random_input(spec: TensorSpec, random: np.random.Generator) -> Array:
    if spec.numpy_dtype.kind == "f":
        values = random.normal(size=spec.shape) * 100
        values.flat[:3] = [np.nan, np.inf, -np.inf][: values.size]
        return values.astype(spec.numpy_dtype)
    raw = random.integers(0, 256, (*spec.shape, spec.numpy_dtype.itemsize), np.uint8)
    if spec.numpy_dtype.kind == "b":
        raw %= 2
    return raw.view(spec.numpy_dtype).reshape(spec.shape)


def judge(text: str, contract: Path) -> str:
    """ "refused" with a place, "alike", "undefined" by the input, or a fault.

    Rules that follow a module are its contract, for which the path is."""
    text, _, rules = text.partition(SEPARATOR)
    contract.write_text(rules)
    try:
        module = parse_module(text, "mutant.mlir")
        verify_module(module)
        if has_dialect(module, "tosa"):
            complete_tosa(module, ImportOptions())
        complete_linalg(module)
        model = Model(module)
        ports = (*model.inputs, *model.outputs)
        if sum(math.prod(spec.shape) for spec in ports) > LARGEST:
            return "too large"
        arith = lower_to_arith(model.module, str(contract) if rules else None)
        kernel = lower_to_kernel(arith, host_target())
        compiled = compile_module(kernel, host_target())
    except QlowerError as error:
        return "refused" if str(error).strip() else "fault: an empty message"
    random = np.random.default_rng(1)
    inputs = [random_input(spec, random) for spec in model.inputs]
    entry = main_function(arith).sym_name.data
    try:
        want = run_function(arith, entry, inputs)
    except InterpretationError:
        # Native code may give anything then, but stays inside its buffers.
        for _ in guarded_runs(compiled, inputs):
            pass
        return "undefined"
    for outputs in guarded_runs(compiled, inputs):
        for output, right in zip(outputs, want, strict=True):
            np.testing.assert_array_equal(output.view(right.dtype), right)
    again = parse_module(exact_module(arith))
    for output, right in zip(run_function(again, entry, inputs), want, strict=True):
        np.testing.assert_array_equal(output, right)
    return "alike"


def mutant(kind: str, choice: random.Random) -> str:
    """Of a module with a contract, the contract alone is changed."""
    *module, text = draw(kind, choice).split(SEPARATOR)
    return SEPARATOR.join([*module, mutate(text, choice)])


@pytest.mark.parts(7)
@pytest.mark.parametrize("kind", KINDS)
def test_mutants(kind: str, tmp_path: Path) -> None:
    choice = random.Random(f"{kind} {SEED}")
    originals = examples(kind)[:2]
    count = MUTANTS * (3 if kind in ("linalg", "stablehlo") else 1)
    texts = [*originals, *(mutant(kind, choice) for _ in range(count))]
    outcomes = judge_all(texts, partial(judge, contract=tmp_path / "mutant.mlir"))
    print(kind, Counter(outcome[:160] for outcome in outcomes).most_common())
    for text, outcome in zip(texts, outcomes, strict=True):
        assert not outcome.startswith("fault"), f"{outcome}\n{text}"
    assert set(outcomes[: len(originals)]) == {"alike"}
    if SEED == "0":  # by chance others have none
        assert outcomes[len(originals) :].count("alike") >= count // 10
