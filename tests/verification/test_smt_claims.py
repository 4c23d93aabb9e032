"""What claims for SMT solvers say, read without a solver."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qlower.frontends.load import named
from qlower.text.parsing import parse_module
from qlower.verification.decide import Decision
from qlower.verification.equal import equal
from qlower.verification.functions import Lanes
from qlower.verification.smt import equality
from qlower.verification.smt.claims import Claim, Claims
from qlower.verification.smt.equality import add_equality

LINEAR = """
!x = !quant.uniform<INPUT:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.02>
!y = !quant.uniform<INPUT:f32, 1.0>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x3x!y> {
  %w = qnn.constant dense<[[1, -1], [1, -1], [1, -1]]>
    : tensor<3x2xi8> -> tensor<3x2x!w>
  %b = arith.constant dense<[BIAS]> : tensor<3xSUM>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x2x!x>, tensor<3x2x!w>, tensor<3xSUM>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}
"""

RULE = """
module attributes {contract.base = "tflite"} {
  func.func @number(%accumulator: i32, %channel: i32) -> i32
      attributes {contract.rules = ["linear"]} {
    %zero = arith.constant 0 : i32
    func.return RESULT : i32
  }
}
"""


def claims_of(a: str, b: str, type: str = "i8", bias: str = "0, 0, 0") -> Claims:
    claims = Claims()
    text = LINEAR.replace("INPUT", type).replace("BIAS", bias)
    text = text.replace("SUM", "i64" if type == "i16" else "i32")
    model = named(parse_module(text), None)
    decided = partial(add_equality, claims, (a, b))
    equal(a, b, model, native=False, decided=decided)
    return claims


def by_channel(claims: Claims) -> dict[str, Claim]:
    return {channel: claim for claim in claims for _, channel in claim.of}


@pytest.mark.parts(5)
def test_results_without_steps_are_told_apart(tmp_path: Path) -> None:
    """A channel's number, and 0: only what is claimed to be equal says which."""
    for name, result in (("one", "%channel"), ("zero", "%zero")):
        (tmp_path / f"{name}.mlir").write_text(RULE.replace("RESULT", result))
    pair = (str(tmp_path / f"{name}.mlir") for name in ("one", "zero"))
    found = by_channel(claims_of(*pair))
    assert {at: one.expected for at, one in found.items()} == {
        **{"0": "unsat", "1": "sat", "2": "sat"}
    }
    for at, claim in found.items():
        *_, last = claim.script.splitlines()
        one, zero = f"(_ bv{at} 32)", "(_ bv0 32)"
        assert last == f"(assert (not (and true true (= {one} {zero}))))"


def test_the_last_command_is_that_results_differ() -> None:
    (claim,) = claims_of("tflite", "tflm")
    *steps, last = claim.script.splitlines()
    names = [line.split()[1] for line in steps if line.startswith("(define-fun")]
    a, b = ([name for name in names if name[0] == side][-1] for side in "ab")
    assert last.startswith("(assert (not (and ")
    assert f"(= {a} {b})" in last
    assert claim.text().split("\n")[-3:] == [last, "(check-sat)", ""]
    assert claim.logic == "QF_BVFP"


def ends_of(claim: Claim) -> tuple[int, int]:
    """The least and the greatest accumulator that a claim is about."""
    _, command, *_ = claim.script.splitlines()
    found = re.fullmatch(
        r"\(assert \(and \(bvsle \(_ bv(\d+) (\d+)\) accumulator\) "
        r"\(bvsle accumulator \(_ bv(\d+) \2\)\)\)\)",
        command,
    )
    assert found is not None, command
    low, width, high = map(int, found.groups())
    half = 1 << (width - 1)
    least, most = ((end + half) % (2 * half) - half for end in (low, high))
    assert f" accumulator in [{least:,}, {most:,}]." in " ".join(claim.says.split())
    return least, most


def test_claims_are_about_sums_with_their_bias() -> None:
    """Channels alike are in one claim, about the ends of all, unless that fails."""
    (claim,) = claims_of("tflm", "tosa-double", bias="1500, -7, 0")
    assert ends_of(claim) == (-262, 1755)
    assert claim.expected == "unsat"
    assert sorted(channel for _, channel in claim.of) == ["0", "1", "2"]
    found = by_channel(claims_of("tflite", "tflm", bias="1500, -7, 0"))
    ends = [ends_of(found[str(channel)]) for channel in range(3)]
    assert ends == [(1245, 1755), (-262, 248), (-255, 255)]
    found = by_channel(claims_of("tflite", "tflm", bias="1500, 1501, 1502"))
    ends = [ends_of(found[str(channel)]) for channel in range(3)]
    assert ends == [(1245, 1755), (1246, 1756), (1247, 1757)]
    assert {claim.expected for claim in found.values()} == {"sat"}


def test_two_channels_alike() -> None:
    (claim,) = claims_of("tflm", "tosa-double", bias="-7, -7, 0")
    assert ends_of(claim) == (-262, 255)
    assert len(claim.of) == 3


@pytest.mark.parametrize(("type", "is_cut"), [("i8", True), ("i16", False)])
def test_accumulators_have_the_width_of_the_rule(type: str, is_cut: bool) -> None:
    """All 64 bits count where inputs have 16, else the lower 32 alone."""
    (claim,) = claims_of("tflite", "tflm", type)
    uses = [line for line in claim.script.splitlines() if " x0)" in line]
    assert uses
    assert all("((_ extract 31 0) x0)" in line for line in uses) == is_cut


@pytest.mark.parametrize(
    ("of", "lane", "channels"),
    [
        ([[[0]]], 0, [""]),
        ([[[0, 1, 0]]], 0, ["0", "2"]),
        ([[[0, 1, 0]]], 1, ["1"]),
        ([[[0, 1], [1, 0]]], 1, ["[0,0,1]"]),
        ([[[0], [1]]], 1, ["[0,1,0]"]),
    ],
)
def test_channels_of_a_lane(of: object, lane: int, channels: list[str]) -> None:
    lanes = np.array(of)
    shape = (1, *lanes.shape[1:])
    places = np.array([int(np.argmax(lanes.reshape(-1) == n)) for n in (0, 1)])
    found = vars(equality)["_channels"](Lanes(shape, places, lanes, {}), lane)
    assert list(found) == channels


@pytest.mark.parametrize(
    ("why", "factor", "apart", "status"),
    [
        (None, 5, [[1, 6, 9]], "unsat"),
        (None, 5, [[1, 6, 10]], "sat"),
        (None, 5, [[1, 5, 5]], "sat"),
        (None, 5, [[1, 1, 4], [1, 9, 11]], "sat"),
        (None, 5, [[0, 5, 5], [1, 1, 4]], "unsat"),
        (None, 5, [[1, -9, -6]], "unsat"),
        (None, 5, [[1, -10, -6]], "sat"),
        (None, 5, None, "unknown"),
        (None, 1, None, "sat"),
        ("too many", 1, None, "unknown"),
        ("too many", 1, [[1, 3, 3]], "sat"),
        ("too many", 1, [[0, 3, 3]], "unsat"),
        ("too many", 5, [[1, 3, 3]], "unsat"),
    ],
)
def test_the_verdict_on_an_interval(
    why: str | None, factor: int, apart: list[list[int]] | None, status: str
) -> None:
    """By the multiples of what weights share; or it isn't known."""
    own = SimpleNamespace(
        question=SimpleNamespace(
            domain=SimpleNamespace(lanes=np.array([0, 1])),
            lanes=SimpleNamespace(of=np.array([[0, 1]])),
            rows=np.array([[7, 7], [factor, 2 * factor]]),
        ),
        decision=Decision(0, "", (), frozenset({1}), why),
        _apart=None if apart is None else np.array(apart),
    )
    found = vars(vars(equality)["_Equality"])["_status"]
    assert found(own, 1) == (status, factor)
    if why is None:
        assert found(own, 0) == ("unsat", 1)
