"""Contracts ranked by what they explain of a dump, and dumps that say nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.table_forms import forms
from xdsl.dialects.builtin import ArrayAttr, StringAttr

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import load_contract
from qlower.contracts.family import Arithmetic
from qlower.contracts.family.choices import CHOICES
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import REMARKS
from qlower.explain.diff import no_progress
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.frontends.onnx.remarks import TRUNCATED_BIASES
from qlower.identification.batches import batched
from qlower.identification.device import Device
from qlower.identification.replay import FIRST, Explained, Explanation, Replay
from qlower.identification.search import Found
from qlower.model import build
from qlower.model.signature import Array
from qlower.sides.sides import Recorded

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
RESIDUAL = EXAMPLES / "glow-divergence" / "residual.mlir"
IMAGE = EXAMPLES / "digits" / "images" / "3.npy"
FEW = ["tflite", "tosa", "glow-cpu", "pytorch-qnnpack", "onnxruntime"]


def layers_of(model: Path, contract: str) -> dict[str, Array]:
    found: dict[str, Array] = {}
    qlower.interpret(model, np.load(IMAGE), contract=contract, at="qnn", layers=found)
    return found


@pytest.mark.long
def test_layers_name_their_contract() -> None:
    dump = layers_of(RESIDUAL, "glow-cpu")
    found = qlower.identify(dump, RESIDUAL, np.load(IMAGE), contracts=FEW)
    assert found.is_found
    assert found.names == ["glow-cpu"]
    outputs = [array.size for name, array in dump.items() if name != "flatten"]
    assert found.best.outputs == sum(outputs)
    assert "glow-cpu explains all of the" in str(found)
    assert "<table>" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.long
def test_counts_are_those_of_diff() -> None:
    dump = layers_of(DIGITS, "pow2-shift")
    image = np.load(IMAGE)
    found = qlower.identify(dump, DIGITS, image, contracts=["tflite"], family=False)
    (row,) = found.contracts
    apart = qlower.diff(dump, "tflite", DIGITS, image)
    for layer in apart.layers:
        if layer.name in row.layers:
            explained = row.layers[layer.name]
            assert layer.alone is not None
            missed = explained.outputs - explained.explained
            assert missed == layer.alone.differing
            if explained.miss is not None:
                assert layer.alone.first == (0, explained.miss.index)


def test_a_model_that_may_not_be_the_one_that_was_run() -> None:
    """Its own remarks say so, and no device is made up."""
    model = qlower.load(DIGITS)
    remarks = ArrayAttr([StringAttr(TRUNCATED_BIASES)])
    module = model.module.clone()
    module.attributes[REMARKS] = remarks
    dump = layers_of(DIGITS, "pow2-shift")
    image = np.load(IMAGE)
    found = qlower.identify(dump, qlower.Model(module), image, contracts=["tflite"])
    assert found.device is None
    assert f"the reason may be the model: {TRUNCATED_BIASES}" in str(found)
    assert found.to_dict()["doubt"] == TRUNCATED_BIASES


def test_whole_outputs_carry_what_each_contract_made() -> None:
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:4].reshape(4, 1, 8, 8, 1)
    outputs = qlower.interpret(DIGITS, images, contract="pow2-shift", at="qnn")
    assert isinstance(outputs, np.ndarray)
    name = qlower.load(DIGITS).outputs[0].name
    tried = ["tflite", "pow2-shift"]
    found = qlower.identify({name: outputs}, DIGITS, images, contracts=tried)
    assert found.names == ["pow2-shift"]
    assert found.runs == 4


@pytest.mark.long
def test_the_same_here_is_decided_for_all_inputs() -> None:
    image = np.load(IMAGE)
    dump = layers_of(DIGITS, "tflite")
    dump = {name: dump[name] for name in ("conv1", "pool")}
    tried = ["tflite", "gemmlowp", "tflite-single"]
    found = qlower.identify(dump, DIGITS, image, contracts=tried)
    verdicts = {one.name: one.verdict for one in found.alike}
    assert verdicts == dict.fromkeys(found.same, "equal") | {
        name: "differs" for name, verdict in verdicts.items() if verdict == "differs"
    }
    assert "gemmlowp" in verdicts


@pytest.mark.parts(4)
def test_a_layer_without_a_rule_is_told() -> None:
    dump = layers_of(DIGITS, "tflite")
    found = qlower.identify(
        dump, DIGITS, np.load(IMAGE), contracts=["pytorch-qnnpack"], family=False
    )
    assert not found.is_found
    refusal = found.best.layers["probabilities"].refusal
    assert refusal is not None
    assert "has no rule softmax_term" in refusal
    assert "no contract explains all" in str(found)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "device.npz"
    np.savez(path, **layers_of(RESIDUAL, "glow-cpu"))
    options = [str(path), str(RESIDUAL), "--input", str(IMAGE), "--json"]
    assert main(["identify", *options, "--contract", "glow-cpu,tflite"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] == "glow-cpu"
    assert [row["contract"] for row in found["contracts"]] == ["glow-cpu", "tflite"]
    options[-1] = "--no-family"
    assert main(["identify", *options, "--contract", "tflite"]) == ExitCode.FOUND
    assert "tflite explains the most" in capsys.readouterr().out
    assert main(["identify", "nobody", *options[1:]]) == ExitCode.USAGE


OUTPUT = "probabilities"


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ({"nothing": np.zeros(3)}, "none of its arrays"),
        ({OUTPUT: np.zeros((1, 11), np.int8)}, "none of its arrays"),
        ({OUTPUT: np.zeros((1, 10), np.int16)}, "none of its arrays"),
        ({OUTPUT: np.full((1, 10), np.nan, np.float32)}, "none of its arrays"),
    ],
)
def test_dumps_that_say_nothing(dump: dict[str, Array], message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        qlower.identify(dump, DIGITS, np.load(IMAGE), contracts=["tflite"])


def test_a_model_without_arithmetic() -> None:
    flat = build.quantized([6], 0.5)
    given = build.quantized([2, 3], 0.5)
    model = build.make_model([given], lambda x: [qnn.ReshapeOp(x, flat).result])
    x = np.arange(6, dtype=np.int8)
    with pytest.raises(QlowerError, match="no result that a contract"):
        qlower.identify({model.outputs[0].name: x}, model, x.reshape(2, 3))


def test_pickles_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evil.npy"
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    options = [str(path), str(DIGITS), "--input", str(IMAGE)]
    assert main(["identify", *options]) == ExitCode.WRONG_INPUT
    assert str(path) in capsys.readouterr().err


def explained(
    model: Path, dumps: list[dict[str, Array]], contracts: list[str], rows: int
) -> list[tuple[object, ...]]:
    """What each contract explains of runs, so many of which are taken in at a time."""
    replay = Replay(
        qlower.load(model), {name: load_contract(name) for name in contracts}
    )
    if rows == 1:
        for number, dump in enumerate(dumps):
            replay.run(number, dump)
    else:
        replay.run_all(dumps, no_progress)
    return [
        (one.name, {n: (x.outputs, x.explained, x.miss, x.refusal) for n, x in items})
        for one in replay.explanations
        for items in [one.layers.items()]
    ]


@pytest.mark.parts(12)
@pytest.mark.parametrize(
    ("model", "by", "kept"),
    [
        (DIGITS, "tflite-ruy", "all"),
        (DIGITS, "tflite-ruy", "outputs"),
        (RESIDUAL, "glow-cpu", "some"),
    ],
    ids=["all", "outputs", "some"],
)
def test_many_inputs_at_a_time_give_what_each_gives(
    model: Path, by: str, kept: str
) -> None:
    """By rules that ask where in a tensor a result is, too (tflite-ruy, for tails of
    vectors; pytorch-fbgemm)."""
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:4].reshape(4, 1, 8, 8, 1)
    loaded = qlower.load(model)
    dumps: list[dict[str, Array]] = []
    for image in images:
        layers: dict[str, Array] = {}
        qlower.interpret(model, image, contract=by, at="qnn", layers=layers)
        names = {"all": list(layers), "some": list(layers)[::3]}
        wanted = names.get(kept, [loaded.outputs[0].name])
        found = {name: array for name, array in layers.items() if name in wanted}
        dumps.append({loaded.inputs[0].name: image, **found})
    contracts = ["tflite-ruy", "pytorch-fbgemm", "exact", "tflite", "glow-cpu"]
    assert explained(model, dumps, contracts, 4) == explained(
        model, dumps, contracts, 1
    )


KEEPS_ROWS_APART = """
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<{given}x!x>) -> tensor<{result}x!x> {{
  %y = qnn.{op} : (tensor<{given}x!x>) -> tensor<{result}x!x>
  return %y : tensor<{result}x!x>
}}
"""


@pytest.mark.parametrize(
    ("op", "given", "result", "is_apart"),
    [
        ("relu %x", "1x6", "1x6", True),
        ("reshape %x", "1x6", "1x2x3", True),
        ("reshape %x", "1x6", "6", False),
        ("relu %x", "6", "6", False),
        ("relu %x", "2x3", "2x3", False),
        ("transpose %x {perm = [0, 2, 1]}", "1x2x3", "1x3x2", True),
        ("transpose %x {perm = [1, 0]}", "1x1", "1x1", False),
        ("mean %x {axes = [1]}", "1x6x2", "1x2", True),
        ("mean %x {axes = [0]}", "1x1x2", "1x2", False),
        ("softmax %x", "1", "1", False),
    ],
)
def test_rows_are_taken_together_where_they_stay_apart(
    op: str, given: str, result: str, is_apart: bool
) -> None:
    text = KEEPS_ROWS_APART.format(op=op, given=given, result=result)
    text = text.replace("softmax", "relu") if op.startswith("softmax") else text
    module = load_text(text.encode(), "rows.mlir", ImportOptions()).module
    assert (batched(module, 3) is not None) == is_apart


@pytest.mark.long
def test_contracts_that_are_far_behind_are_dropped() -> None:
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:40]
    images = images.reshape(40, 1, 8, 8, 1)
    outputs = qlower.jit(DIGITS, contract="tflite")(images)
    dump = {qlower.load(DIGITS).outputs[0].name: np.asarray(outputs)}
    tried = ["pow2-shift", "pytorch-qnnpack", "gemmlowp", "tflite"]
    found = qlower.identify(dump, DIGITS, images, contracts=tried, verify=False)
    counts = {one.name: one.outputs for one in found.contracts}
    assert counts == {
        "tflite": 400,
        "gemmlowp": 400,
        "pow2-shift": 10 * FIRST,
        "pytorch-qnnpack": 10 * FIRST,
    }
    assert found.best.name == "tflite"
    assert f"after the first {FIRST} inputs" in str(found)


@pytest.mark.parts(25)
@pytest.mark.parametrize(
    ("own", "title", "first"),
    [
        ("tflite", "device.npz", "tflite-single"),
        ("tvm", "device.npz", "tvm"),
        ("onnxruntime", "device.npz", "onnxruntime"),
        ("tflite", "live:onnxruntime", "onnxruntime"),
        ("pytorch-fbgemm", "device.npz", "tflite-single"),
    ],
)
def test_among_equals_the_own_family_is_first_and_exact_last(
    own: str, title: str, first: str
) -> None:
    """Contracts that give the same for all inputs here."""
    model = qlower.load(DIGITS)
    module = model.module.clone()
    module.attributes["qnn.contract"] = StringAttr(own)
    dump = {name: layers_of(DIGITS, "tvm")[name] for name in ("pool", "conv1")}
    side = Recorded(title, [dump])
    tried = ["exact", "tflite-single", "onnxruntime", "tvm"]
    found = qlower.identify(
        side, qlower.Model(module), np.load(IMAGE), contracts=tried, verify=False
    )
    assert found.names[0] == first
    assert found.names[-1] == "exact"
    assert len(found.names) == len(tried)


@pytest.mark.parts(3)
@pytest.mark.parametrize("explained", [89, 90, 100])
def test_what_is_far_from_all_is_not_identified(explained: int) -> None:
    """Of an arithmetic that explains less than nine tenths nothing is printed as found,
    and no contract is written."""
    dump = layers_of(DIGITS, "tflite")
    dump = {"conv1": np.random.default_rng(3).permuted(dump["conv1"])}
    plain = qlower.identify(
        dump, DIGITS, np.load(IMAGE), contracts=["tflite"], family=False
    )
    arithmetic = Arithmetic()
    found = Found(arithmetic, explained, 100, 1234, {name: [] for name in CHOICES})
    explanation = Explanation("device", load_contract("tflite"))
    explanation.layers["conv1"] = Explained(explained=511, outputs=512)
    device = Device(found, "// its contract", explanation)
    assert forms(device.table) == [
        *("step, left", "found, left"),
        "explains as much with all else equal, left, cut to 20",
    ]
    identified = replace(plain, device=device)
    text = " ".join(identified.render(80).split())
    is_near = explained >= 90
    assert ("nothing in the family of arithmetics comes near" in text) != is_near
    assert ("half_up" in text) == is_near
    assert (identified.text == "// its contract") == is_near
    assert "below 90% that is no identification" in text
    assert plain.text.startswith(
        "// A start for the arithmetic in dump: tflite explains"
    )
    assert identified.to_dict()["device"]


@pytest.mark.parts(2)
@pytest.mark.parametrize("explained", [0, 0.7])
def test_a_search_ends_soon_where_nothing_explains_a_dump(explained: float) -> None:
    """Pairs of choices are ten thousand members more; the same elements aren't searched
    twice."""
    image = np.load(IMAGE)
    dump = layers_of(DIGITS, "tflite")
    drawn = np.random.default_rng(3)
    for name in ("conv1", "depthwise", "pointwise", "logits"):
        away = drawn.random(dump[name].shape) >= explained
        dump[name] = np.where(away, dump[name] ^ 64, dump[name])
    found = qlower.identify(dump, DIGITS, image, contracts=["tflite"])
    assert found.device is not None
    assert found.device.found.tried < 3000
    assert not found.device.is_near


@pytest.mark.parts(4)
def test_misses_are_said_to_be_what_they_are() -> None:
    dump = layers_of(DIGITS, "tflite")
    found = qlower.identify(
        dump, DIGITS, np.load(IMAGE), contracts=["tflite-single"], family=False
    )
    if not found.is_found:
        assert " of a tie" in str(found)
    dump["conv1"] = np.roll(dump["conv1"], 1, axis=1)
    moved = qlower.identify(
        dump, DIGITS, np.load(IMAGE), contracts=["tflite"], family=False
    )
    assert "more than a rounding: dump is up to" in str(moved)
    assert "Suspect another layout" in str(moved)


def test_the_share_of_a_dump_with_one_other_element() -> None:
    dump = layers_of(DIGITS, "pow2-shift")
    dump["probabilities"] = dump["probabilities"].copy()
    dump["probabilities"].flat[0] += 1
    image = np.load(IMAGE)
    found = qlower.identify(dump, DIGITS, image, contracts=["pow2-shift"], family=False)
    (record,) = found.table.records()
    outputs = found.best.outputs
    assert found.best.explained == outputs - 1
    shares = [value for value in record.values() if value == (outputs - 1) / outputs]
    assert len(shares) == 1
    assert f"{100 * (outputs - 1) / outputs:.3f} %" in str(found)
