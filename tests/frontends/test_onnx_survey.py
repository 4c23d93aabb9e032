"""How much of what people quantize for ONNX Runtime is read, and gives its bits.

Each test prints a line for each model that isn't read or isn't equal, with the reason,
and a line of sums: `pytest --long -s tests/frontends/test_onnx_survey.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_models import INT8_ALLOWED, make_session
from support.formats.onnx_singles import SINGLES, Single

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN, INTEGER, X86
from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

LEVELS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    INTEGER: ("ENABLE_ALL", INT8_ALLOWED),
    X86: ("ENABLE_ALL", {}),
    AS_WRITTEN: ("DISABLE_ALL", {}),
}

SHARE_OF_OPERATORS, SHARE_OF_NETWORKS = 75 / 83, 0.92


def verdict(path: Path, qdq: str, feeds: Sequence[Mapping[str, Array]]) -> str | None:
    """ "equal", the reason why the model isn't read or by how much it differs, or None
    where ONNX Runtime itself doesn't run it."""
    level, entries = LEVELS[qdq]
    try:
        session = make_session(path, level, entries)
        expected = [session.run(None, dict(feed)) for feed in feeds]
    except Exception:  # its errors have no class of their own
        return None
    try:
        run = qlower.jit(qlower.load(path, qdq=qdq))
    except QlowerError as error:
        return error.message.splitlines()[0]
    differing = total = 0
    for feed, wanted in zip(feeds, expected, strict=True):
        found = run.run([feed[spec.name] for spec in run.inputs], {})[0]
        for array, other in zip(found, wanted, strict=True):
            assert (array.shape, array.dtype) == (other.shape, other.dtype)
            total += array.size
            differing += int(np.sum(~_same(array, other)))
    return f"{differing} of {total} differ" if differing else "equal"


def _same(one: Array, other: Array) -> Array:
    return (one == other) | ((one != one) & (other != other))


def judge(single: Single, folder: Path) -> list[str]:
    """Verdicts of both types of codes in every reading, which ONNX Runtime runs."""
    found: list[str] = []
    for type in ("u1", "i1"):
        path = single.build(type).save(folder / "single.onnx")
        feeds = [single.feed(seed) for seed in range(2)]
        for qdq in LEVELS:
            answer = verdict(path, qdq, feeds)
            if answer is not None:
                found.append(answer)
    return found


def test_single_operators(tmp_path: Path) -> None:
    """An operator counts if it is equal in all its variants."""
    operators: dict[str, bool] = defaultdict(lambda: True)
    variants: Counter[bool] = Counter()
    for single in SINGLES:
        answers = judge(single, tmp_path)
        if not answers:
            continue
        wrong = [answer for answer in answers if answer != "equal"]
        variants[not wrong] += 1
        operators[single.operator] &= not wrong
        for answer in dict.fromkeys(wrong):
            print(f"\n{single.operator} {single.variant}: {answer}", end="")
    good = sum(operators.values())
    print(f"\n{good} of {len(operators)} operators", end=", ")
    print(f"{variants[True]} of {variants.total()} variants")
    assert good >= SHARE_OF_OPERATORS * len(operators)


@pytest.mark.parametrize("form", ["QDQ u8s8", "QDQ s8s8", "QOperator", "dynamic"])
def test_networks(form: str, tmp_path: Path) -> None:
    """A network counts if every reading of it that ONNX Runtime runs is equal."""
    networks: Any = pytest.importorskip("support.formats.onnx_networks")
    good: list[str] = []
    for name in networks.NETWORKS:
        network, path = networks.quantized(name, form, tmp_path)
        feeds = list(networks.examples(network, 2))
        answers = {qdq: verdict(path, qdq, feeds) for qdq in LEVELS}
        wrong = {q: said for q, said in answers.items() if said not in ("equal", None)}
        for qdq, said in wrong.items():
            print(f"\n{form} {name} {qdq}: {said}", end="")
        if not wrong:
            good.append(name)
    print(f"\n{form}: {len(good)} of {len(networks.NETWORKS)} networks")
    assert len(good) >= SHARE_OF_NETWORKS * len(networks.NETWORKS)
