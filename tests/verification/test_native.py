"""Machine code and contract for all inputs: proofs that are wrong are found."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.layers.small_model import SMALL_MODEL
from support.values.every_input import draw_layer

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.codegen.skeletons.products import packing
from qlower.codegen.targets.resolve import (
    Target,
    host_target,
    levels_of,
    resolve_levels,
    resolve_target,
)
from qlower.emit.sums import multiply_accumulate
from qlower.model import Model
from qlower.sides.sides import Computed
from qlower.text.parsing import parse_module
from qlower.transforms import prove_epilogues
from qlower.transforms.lower_qnn import contraction
from qlower.transforms.prove_epilogues import cheapest
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.forms import Lines
from qlower.transforms.prove_epilogues.steps import Function, SeenSteps
from qlower.transforms.prove_epilogues.substitutes import Substitute, look_up
from qlower.verification.native import on_sums
from qlower.verification.native.reference import References
from qlower.verification.native.verdict import Native
from qlower.verification.native.verify import native
from qlower.verification.pieces import Pieces

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN_TESTS = Path(__file__).parents[1] / "run" / "qnn"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"
MOBILENET = models_directory() / "mobilenet_v2_1.0_224_int8" / "model.tflite"
HOST = {"host": host_target()}
VERIFYING = import_module("qlower.verification.native.verify")


def verdicts(found: Native) -> dict[str, str]:
    return {row.layer: row.verdict for row in found.layers}


@pytest.mark.long
def test_every_level_is_the_contract() -> None:
    found = native(DIGITS, levels_of(), contract="tflite", only=["depthwise"])
    assert found.holds
    assert len(found.layers) == len(levels_of())
    assert f"{len(found.layers)} equal, 0 differ, 0 undecided" in str(found)


MACHINES = [
    *("aarch64-linux-gnu", "riscv64-linux-gnu"),
    *("riscv32im-unknown-none-elf", "thumbv7em-none-eabi"),
]


@pytest.mark.parts(4)
@pytest.mark.parametrize("triple", MACHINES)
def test_other_machines_under_emulation(triple: str) -> None:
    level = {triple: resolve_target(triple)}
    found = native(DIGITS, level, contract="tflite", only=["conv1"])
    assert verdicts(found) == {"conv1": "equal"}


def test_what_cannot_be_decided_says_why() -> None:
    found = native(DIGITS, HOST, only=["pool", "probabilities"])
    assert set(verdicts(found).values()) == {"undecided"}
    pool, softmax = found.layers
    assert pool.how
    assert not pool.numbers
    assert softmax.how.endswith("not decided: all other rows")
    assert softmax.numbers
    assert not found.holds


def test_sums_that_wrap_are_not_called_wrong(tmp_path: Path) -> None:
    path = tmp_path / "residual.mlir"
    path.write_text(RESIDUAL.replace("[300, -2000]", "[2147483647, -2000]"))
    (row,) = native(path, HOST, contract="tflite").layers
    assert (row.verdict, row.how) == ("undecided", "the accumulator may wrap")


WORDS = """
!x = !quant.uniform<i16RANGE:f32, 0.5:0>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i16:f32, 4.0:0>
func.func @main(%x: tensor<1xDEPTHx!x>) -> tensor<1x3x!y> {
  %w = qnn.constant dense<"0xWEIGHTS"> : tensor<3xDEPTHxi8> -> tensor<3xDEPTHx!w>
  %b = arith.constant dense<[1099511627776, -2000, 31]> : tensor<3xi64>
  %y = qnn.linear %x, %w, %b
    : (tensor<1xDEPTHx!x>, tensor<3xDEPTHx!w>, tensor<3xi64>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}
"""


def words(path: Path, depth: int, weights: str, ends: str = "") -> Path:
    """A layer of words, whose sums have 64 bits."""
    text = WORDS.replace("DEPTH", str(depth)).replace("RANGE", ends)
    path.write_text(text.replace("WEIGHTS", weights))
    return path


def by_tflm(name: str, model: Model, contract: str | None) -> Computed:
    """Another contract than the code's."""
    return Computed("tflm", model, "tflm")


@pytest.mark.parts(5)
def test_sums_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum is tried, without the bias, which takes more bits than they do."""
    path = words(tmp_path / "y.mlir", 4, "7FC0812A05F911EE33D208B0", "<-99:500>")
    (row,) = native(path, HOST, contract="tflite").layers
    assert (row.verdict, row.how, row.channels) == ("equal", "every sum", 3)
    assert row.numbers > 300_000
    monkeypatch.setattr(VERIFYING, "Computed", by_tflm)
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.verdict == "differs"
    assert row.difference is not None
    assert row.difference.channel is not None


def test_products_of_words_that_leave_their_register(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The input for which parts of a sum are largest shows that they are too large."""
    monkeypatch.setattr(packing, "plan_parts", lambda contraction, weights: None)
    path = words(tmp_path / "y.mlir", 600, "7F" * 1800)
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.verdict == "differs", row.how
    assert row.difference is not None
    assert row.difference.of == "sum of products of element"


def test_sums_that_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code runs at both sides of each step, which finds a wrong step."""
    monkeypatch.setattr(on_sums, "_MOST", 1000)
    path = words(tmp_path / "y.mlir", 4, "7FC0812A05F911EE33D208B0", "<-99:500>")
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.verdict == "undecided"
    assert row.how.startswith("equal at ")
    assert row.how.endswith("sums, too many to try each")
    monkeypatch.setattr(VERIFYING, "Computed", by_tflm)
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.verdict == "differs"


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        *(("words", "sum"), ("grouped", "sum"), ("depthwise", "sum")),
        *(("pool", "sum"), ("reduction", "sum"), ("unary", "word")),
    ],
)
def test_layers_of_words(kind: str, how: str, tmp_path: Path) -> None:
    """They are decided, and groups of channels are told apart."""
    layers = (draw_layer(seed, kind) for seed in count())
    layer = next(one for one in layers if "!x = !quant.uniform<i16" in one.text)
    path = tmp_path / "layer.mlir"
    path.write_text(layer.text)
    (row,) = native(path, HOST, contract="tflite").layers
    assert (row.verdict, row.how) == ("equal", f"every {how}")
    expected = qlower.interpret(path, *layer.inputs, contract="tflite")
    result = qlower.jit(path, contract="tflite")(*layer.inputs)
    assert np.array_equal(result, expected)


def test_registers_that_cut_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """What code makes of all that a lane can hold, and whether lanes are cut at all."""
    matrices = RUN_TESTS / "matmul_in_turn.mlir"
    (row,) = native(matrices, HOST, contract="esp-dl-s3").layers
    assert row.verdict == "equal", row.how
    words = RUN_TESTS / "linear_word_weights.mlir"
    (row,) = native(words, HOST, contract="esp-dl-s3").layers
    assert (row.verdict, row.how) == (
        "undecided",
        "a register that is narrower than the sums may cut them",
    )
    monkeypatch.setattr(
        contraction, "_in_turn", lambda contract, op: multiply_accumulate
    )
    (row,) = native(matrices, HOST, contract="esp-dl-s3").layers
    assert row.verdict == "differs", row.how


def test_a_wrong_step_of_one_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is said to be right, but is off by one accumulator in channel 3."""
    planted: list[int] = []

    def believe(
        function: Function, lines: Lines, steps: SeenSteps, most: int
    ) -> Exceptions | None:
        found = find(function, lines, steps, most)
        if found is None or found.slots or planted:
            return found
        place = int(steps.places[3, 100])
        planted.append(place)
        x = np.zeros((len(steps.low), 1), np.int64)
        difference = np.zeros_like(x)
        x[3], difference[3] = place, 1
        return Exceptions(x, difference)

    find = cheapest.find_exceptions
    monkeypatch.setattr(cheapest, "find_exceptions", believe)
    found = native(DIGITS, HOST, contract="tflite", only=["conv1"])
    (row,) = found.layers
    assert row.verdict == "differs"
    assert row.difference is not None
    assert row.difference.channel == 3
    assert row.difference.numbers == (planted[0],)
    assert row.difference.native == row.difference.contract + 1


def flip_pairs(first: int, second: int, patch: pytest.MonkeyPatch) -> None:
    """Functions of two bytes are wrong for one pair."""

    def wrong(function: ByteFunction, **machine: bool) -> Substitute | None:
        if len(function.sources) != 2:
            return None
        bits = function.bits.copy()
        bits[first * 256 + second] ^= 1
        faulty = replace(function)
        faulty.__dict__["bits"] = bits
        return look_up(faulty)

    patch.setattr(prove_epilogues, "find_substitute", wrong)


@pytest.mark.parts(2)
@pytest.mark.skipif(not RESNET.exists(), reason=f"{RESNET} isn't there")
@pytest.mark.parametrize("pair", [(7, 250), (128, 0)])
def test_a_wrong_pair_of_bytes(
    pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum of two tensors that is wrong for one pair, in the convolution before it."""
    flip_pairs(*pair, monkeypatch)
    found = native(RESNET, HOST, only=["add"])
    (row,) = found.layers
    assert row.layer == "conv2d_2 + add"
    assert row.verdict == "differs"
    assert "every pair" in row.how
    assert row.difference is not None
    assert row.difference.native == row.difference.contract ^ 1


SMALL = {
    "clamp": ("tflite", "every byte"),
    "function": ("tflite", "every byte"),
    "linear": ("tflite", "every sum"),
    "matmul": ("tflite", "every sum"),
    "mean": ("tflite", "every sum"),
    "narrow_weights": ("onnxruntime-avx2", "every sum"),
    "resize": ("tflite-ruy", "every byte"),
    "sum": ("tflm", "every sum"),
}
"""Modules of the tests that run, a contract, and how their layers are decided."""


@pytest.mark.parts(8)
@pytest.mark.parametrize("name", SMALL)
def test_layers_of_all_kinds(name: str) -> None:
    contract, how = SMALL[name]
    found = native(RUN_TESTS / f"{name}.mlir", HOST, contract=contract)
    assert {row.how for row in found.layers} == {how}
    assert found.holds


ADD = """
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 0.3:7>
!x = tensor<256x256x!a>
!z = tensor<256x256x!b>
func.func @main(%x: !x, %z: !z) -> !z {
  %y = qnn.add %x, %z : (!x, !z) -> !z
  return %y : !z
}
"""


@pytest.mark.parametrize("wrong", [None, (7, 250)])
def test_a_sum_of_two_tensors(
    wrong: tuple[int, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every pair of bytes, of which one may be wrong."""
    if wrong is not None:
        flip_pairs(*wrong, monkeypatch)
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.numbers == 1 << 16
    assert row.verdict == ("equal" if wrong is None else "differs")


RESIDUAL = """
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 40.0:-3>
!c = !quant.uniform<i8:f32, 30.0:5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.3}>
!x = tensor<1x256x64x7x!a>
!y = tensor<1x256x64x2x!b>
!z = tensor<1x256x64x2x!c>
!weights = tensor<2x1x1x7x!w>
func.func @main(%x: !x, %z: !z) -> !z {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E01"> : tensor<2x1x1x7xi8>
    -> !weights
  %b = arith.constant dense<[300, -2000]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (!x, !weights, tensor<2xi32>) -> !y
  %s = qnn.add %y, %z : (!y, !z) -> !z
  return %s : !z
}
"""


@pytest.mark.parametrize(
    ("cpu", "features"),
    [("x86-64-v2", None), (None, "+avx512f,+avx512bw"), (None, None)],
)
def test_code_is_that_of_the_named_level_or_of_all(
    cpu: str | None, features: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[dict[str, Target]] = []
    room = import_module("qlower.verification.verify")
    monkeypatch.setattr(
        room, "verify_native", lambda _, given, **__: levels.append(given)
    )
    model, target = parse_module(SMALL_MODEL, "m.mlir"), "x86_64-linux-gnu"
    room.verify(Model(model), native=True, target=target, cpu=cpu, features=features)
    (found,) = levels
    named = cpu or features
    wanted = resolve_levels(target, cpu, features) if named else levels_of(target)
    assert found == wanted
    assert (len(found) == 1) == bool(named)


def test_a_convolution_and_a_sum(tmp_path: Path) -> None:
    """Few of the other bytes tell the convolution's results apart."""
    path = tmp_path / "residual.mlir"
    path.write_text(RESIDUAL)
    (row,) = native(path, HOST, contract="tflite").layers
    assert row.verdict == "equal"
    assert row.how.startswith("every pair of bytes, every sum with ")


def test_pieces() -> None:
    channel, x = np.array([0, 0, 1, 0, 1]), np.array([-5, 3, -2, 3, 4])
    pieces = Pieces.of(channel, x, np.array([7, 8, 1, 9, 1]))
    assert pieces.channel.tolist() == [0, 0, 1]
    assert pieces.x.tolist() == [-5, 3, -2]
    assert pieces.value.tolist() == [7, 9, 1]
    twice = pieces.spread(np.array([1, 0, 0]))
    assert twice.channel.tolist() == [0, 1, 1, 2, 2]
    assert twice.first_difference(twice) is None
    other = Pieces.of(twice.channel, twice.x + (twice.value == 9), twice.value)
    assert twice.first_difference(other) == (1, 3, 9, 7)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = tmp_path / "verdict.json"
    words = ["verify", str(DIGITS), "--native", "--cpu", "host"]
    assert main([*words, "-o", str(verdict)]) == ExitCode.FOUND
    assert "a second" in capsys.readouterr().out
    record = json.loads(verdict.read_text())
    assert {row["verdict"] for row in record["layers"]} == {"equal", "undecided"}
    assert all(f"code for {level}" in record["sha256"] for level in record["levels"])
    check = ["verify", str(DIGITS), "--check", str(verdict)]
    assert main(check) == 0
    record["layers"][0]["numbers"] += 1
    verdict.write_text(json.dumps(record))
    capsys.readouterr()
    assert main([*check, "--sample", "20"]) == ExitCode.FOUND
    assert "conv1" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.skipif(not MOBILENET.exists(), reason=f"{MOBILENET} isn't there")
def test_a_large_network() -> None:
    """MobileNetV2's 24 billion sums, by each level."""
    found = qlower.verify(MOBILENET, native=True, contract="tflite")
    assert {row.verdict for row in found.layers if "softmax" not in row.kind} == {
        "equal"
    }


ELEMENTS = """
!a = !quant.uniform<i8:f32, 5.0e-01:3>
!c = !quant.uniform<i8:f32, 4.1e-01:2>
func.func @main(%x: tensor<1x3x!a>) -> tensor<1x3x!c> {
  %y = qnn.requantize %x : (tensor<1x3x!a>) -> tensor<1x3x!c> loc("y")
  func.return %y : tensor<1x3x!c>
}
"""


def test_a_rule_that_asks_for_places_runs_on_many_trials_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model(parse_module(ELEMENTS))
    together = References(Computed("", model, "tflite-ruy")).trials(("y",))
    assert len(together) == 256
    monkeypatch.setattr(References, "_of_many", lambda *_: None)
    alone = References(Computed("", model, "tflite-ruy")).trials(("y",))
    for one, other in zip(together[::16], alone[::16], strict=True):
        assert np.array_equal(one.inputs, other.inputs)
        assert np.array_equal(one.result, other.result)
