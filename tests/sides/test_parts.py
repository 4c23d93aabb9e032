"""Parts of sides: how arrays fit, what is said of them, versions and digests."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.sides.dumps import match_dump, pairs_by_name, stacked
from qlower.sides.run_digest import RunDigest, arrays_digest, run_digest
from qlower.sides.sides import Computed, Recorded, result_specs
from qlower.sides.structure import paired
from qlower.sides.versions import version_of
from qlower.text.parsing import parse_module

MODEL = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.25:7>
func.func @main(%x: tensor<1x2x3x4x!x>) -> tensor<1x24x!y> {
  %a = qnn.relu %x : (tensor<1x2x3x4x!x>) -> tensor<1x2x3x4x!x> loc("net/first/Relu")
  %b = qnn.requantize %a : (tensor<1x2x3x4x!x>) -> tensor<1x2x3x4x!y> loc("second_1")
  %c = qnn.reshape %b : (tensor<1x2x3x4x!y>) -> tensor<1x24x!y> loc("flat")
  return %c : tensor<1x24x!y>
}"""
RANDOM = np.random.default_rng(3)
FIRST = np.maximum(RANDOM.integers(-99, 99, (1, 2, 3, 4)), -3).astype(np.int8)
SECOND = RANDOM.integers(-99, 99, (1, 2, 3, 4)).astype(np.int8)
NAMES = ("Relu", "second_1", "flat")


def model(text: str = MODEL) -> qlower.Model:
    return qlower.Model(parse_module(text, "model.mlir"))


def names() -> list[str]:
    return list(result_specs(model()))


@pytest.mark.parametrize(
    ("shape", "given", "runs", "first", "expected"),
    [
        ((1, 2, 3, 4), (1, 2, 3, 4), 1, False, (1, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (2, 3, 4), 1, False, (1, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (2, 3, 4), 2, False, None),
        ((1, 2, 3, 4), (2, 2, 3, 4), 2, False, (2, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (2, 1, 2, 3, 4), 2, False, (2, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (1, 2, 2, 3, 4), 2, False, None),
        ((1, 2, 3, 4), (1, 4, 2, 3), 1, True, (1, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (1, 1, 4, 2, 3), 1, True, (1, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (5, 4, 2, 3), 5, True, (5, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (5, 1, 4, 2, 3), 5, True, (5, 1, 2, 3, 4)),
        ((1, 2, 3, 4), (1, 2, 3, 4), 1, True, None),
        ((1, 2, 3, 4), (4, 2, 3), 1, True, None),
        ((1, 5), (1, 5), 1, True, (1, 1, 5)),
        ((1, 5), (5,), 1, False, (1, 1, 5)),
        ((1, 5), (1, 5, 1, 1), 1, False, (1, 1, 5)),
        ((1, 5), (1, 6), 1, False, None),
        ((1, 5), (3, 5), 3, False, (3, 1, 5)),
        ((), (1,), 1, False, (1,)),
        ((), (3,), 3, False, (3,)),
    ],
)
def test_arrays_that_fit(
    shape: tuple[int, ...],
    given: tuple[int, ...],
    runs: int,
    first: bool,
    expected: tuple[int, ...] | None,
) -> None:
    array = np.arange(np.prod(given, dtype=int)).reshape(given)
    found = stacked(TensorSpec("x", shape, "int8"), array, runs, first)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert found.shape == expected
    if first and len(shape) == 4:
        turned = array.reshape(runs, 4, 2, 3).transpose(0, 2, 3, 1)
        assert found.reshape(-1).tolist() == turned.reshape(-1).tolist()
    else:
        assert found.reshape(-1).tolist() == array.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Net/First_Relu:0", "net first relu"),
        ("conv1_output_0", "conv 1"),
        ("conv1_quantized", "conv 1"),
        ("CONV.1.QuantizeLinear", "conv 1"),
        ("output", "output"),
        ("output_0", "output"),
        ("a1b2", "a 1 b 2"),
        ("0", "0"),
        ("", ""),
    ],
)
def test_names_without_what_tools_add(name: str, words: str) -> None:
    assert vars(import_module("qlower.sides.dumps"))["_normal"](name) == words


def matched(dump: Any, runs: int = 1, **options: Any) -> Recorded:
    return match_dump("dump", dump, model(), runs, **options)


def refused(call: Any) -> QlowerError:
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value


def test_arrays_by_their_names() -> None:
    short = dict(zip(names(), (FIRST, SECOND, SECOND.reshape(1, 24)), strict=True))
    found = matched([short])
    assert found.notes == ("dump: 3 by name",)
    assert all(np.array_equal(found.runs[0][n], short[n]) for n in short)
    known = found.values(0, {"x": FIRST})
    assert set(known) == {"x", *short}
    full = {"net/first/Relu": FIRST, "second_1": np.moveaxis(SECOND, -1, 1)}
    found = matched([full])
    first = names()[0]
    assert found.notes == (
        "dump: 2 by name, 1 changed (second_1 channels moved last), without 1 layer "
        "(flat)",
    )
    assert np.array_equal(found.runs[0]["second_1"], SECOND)
    alike = {"NET.FIRST.RELU_output_0": FIRST, "Second:1": SECOND}
    assert matched([alike]).notes == (
        f"dump: 0 by name, 2 by likeness (NET.FIRST.RELU_output_0 is {first}, Second:1 "
        "is second_1), without 1 layer (flat)",
    )
    assert pairs_by_name(alike, model()) == {
        **{"NET.FIRST.RELU_output_0": first, "Second:1": "second_1"},
    }
    assert matched([{"any": SECOND.reshape(24)}]).notes == (
        f"dump: 0 by name, 1 by likeness (any is flat), without 2 layers ({first}, "
        "second_1)",
    )
    pairs = {"other": "second_1"}
    assert matched([{"other": SECOND, "x": FIRST}], pairs=pairs).notes == (
        "dump: 1 by name, left out 1 (x: no layer has this name), without 2 layers "
        f"({first}, flat)",
    )


def test_arrays_of_several_runs() -> None:
    images = np.concatenate([SECOND, SECOND + 1, SECOND + 2])
    found = matched([{"second_1": images}], 3)
    assert [
        np.array_equal(one["second_1"], SECOND + n) for n, one in enumerate(found.runs)
    ]
    each = matched([{"second_1": SECOND + n} for n in range(3)], 3)
    for one, other in zip(found.runs, each.runs, strict=True):
        assert np.array_equal(one["second_1"], other["second_1"])
    error = refused(lambda: matched([{"second_1": SECOND}] * 2, 3))
    assert error.message == "dump has 2 runs, there are 3 inputs"


def test_arrays_that_are_no_layer() -> None:
    error = refused(lambda: matched([{"p": SECOND, "q": np.zeros(5, np.int8)}]))
    assert error.message == "dump: none of its arrays (p, q) is a layer of the model"
    first = names()[0]
    assert list(error.notes) == [
        "p: no layer has this name",
        "q: no layer has this name",
        f"p may be {first}, second_1: numpy.savez(file, "
        f"{min((first, 'second_1'), key=lambda n: '/' in n)}=array) names it",
    ]
    assert error.help is not None
    cases = {
        "its shape is [5], the layer's [1, 2, 3, 4]": np.zeros(5, np.int8),
        "its type is int16, the layer's int8": SECOND.astype(np.int16),
        "its real numbers aren't those of stored ones": SECOND + np.float32(0.1),
    }
    for reason, array in cases.items():
        error = refused(lambda given=array: matched([{"second_1": given}]))
        assert error.notes[0] == f"second_1: {reason}"


def test_real_numbers_that_stand_for_stored_ones() -> None:
    real = ((SECOND.astype(float) - 7) * 0.25).astype(np.float32)
    found = matched([{"second_1": real}])
    assert "1 changed (second_1 quantized)" in found.notes[0]
    assert np.array_equal(found.runs[0]["second_1"], SECOND)
    turned = matched([{"second_1": np.moveaxis(real, -1, 1)}])
    assert "1 changed (second_1 channels moved last, quantized)" in turned.notes[0]
    near = matched([{"second_1": real + np.float32(0.25 * 0.0009)}])
    assert np.array_equal(near.runs[0]["second_1"], SECOND)
    far = real + np.float32(0.25 * 0.0011)
    assert refused(lambda: matched([{"second_1": far}])).notes[0].startswith("second_1")
    rounded = matched([{"second_1": far}], is_real=True)
    assert np.array_equal(rounded.runs[0]["second_1"], SECOND)
    kept = matched([{"second_1": far}], is_real=True, rounds=False)
    assert np.array_equal(kept.runs[0]["second_1"], far)


def test_many_names_are_cut() -> None:
    told = vars(import_module("qlower.sides.dumps"))["_told"]
    four = {str(n): "x" for n in range(4)}
    assert told(four, ": ") == "0: x, 1: x, 2: x, 3: x"
    assert told({**four, "4": "x"}, ": ") == "0: x, 1: x, 2: x, 3: x, ..."
    few = vars(import_module("qlower.sides.versions"))["_few"]
    assert few(["a", "b", "c"]) == "a, b, c"
    assert few(["a", "b", "c", "d"]) == "a, b, c, ..."


def test_an_image_that_another_layer_flattens() -> None:
    """It follows the image whose channels come first, if it has that one's numbers."""
    first = np.moveaxis(SECOND, -1, 1)
    found = matched([{"second_1": first, "flat": first.reshape(1, 24)}])
    assert np.array_equal(found.runs[0]["flat"], SECOND.reshape(1, 24))
    other = first.reshape(1, 24) + np.int8(1)
    found = matched([{"second_1": first, "flat": other}])
    assert np.array_equal(found.runs[0]["flat"], other)


def test_tensors_of_a_float_model() -> None:
    first = names()[0]
    reals = {
        "p": (FIRST.astype(np.float32) + 3) * np.float32(0.5),
        "q": np.moveaxis((SECOND.astype(np.float32) - 7) * np.float32(0.25), -1, 1),
        "r": np.zeros(5, np.float32),
    }
    own = {first: FIRST, "second_1": SECOND, "flat": SECOND.reshape(1, 24)}
    asked: list[int] = []

    def values() -> Mapping[str, Array]:
        asked.append(1)
        return own

    found = paired(reals, model(), {}, values)
    assert found == {"p": first, "q": "second_1"}
    assert asked == [1]
    found = paired(reals, model(), {first: "r", "second_1": "p", "flat": "q"}, values)
    assert found == {"r": first, "p": "second_1", "q": "flat"}
    assert asked == [1]
    named = paired({**reals, "second_1": reals["q"]}, model(), {}, values)
    assert named["second_1"] == "second_1"
    error = refused(lambda: paired(reals, model(), {"none": "p"}, values))
    assert error.message == "--match none=p: the model has no layer 'none'"
    error = refused(lambda: paired(reals, model(), {"flat": "none"}, values))
    assert error.message == "--match flat=none: the float model has no tensor 'none'"
    assert error.help == "it has p, q, r"


@pytest.mark.parametrize(
    ("angle", "is_like"), [(0.89, False), (0.91, True), (-0.95, False)]
)
def test_tensors_that_are_alike(angle: float, is_like: bool) -> None:
    nearest = vars(import_module("qlower.sides.structure"))["_nearest"]
    spec = TensorSpec("x", (2,), "int8", (1.0,), (0,))
    other = np.array([[angle, np.sqrt(1 - angle**2)]], np.float32)
    arrays = {
        "a": np.array([[0, 1]], np.float32),
        "b": other,
        "c": np.array([[1, 0]], np.int8),
    }
    found = nearest(spec, np.array([100, 0], np.int8), arrays)
    assert found == ("b" if is_like else None)
    assert nearest(spec, np.array([0, 0], np.int8), arrays) is None
    better = {"b": other, "d": np.array([[0.99, 0.1]], np.float32)}
    assert nearest(spec, np.array([100, 0], np.int8), better) == "d"


def version(text: str) -> Any:
    return version_of("other", model(), model(text), "exact", "interp")


def test_versions_of_a_model() -> None:
    first = names()[0]
    assert version(MODEL).notes == ("other: 3 layers by name",)
    scaled = version(MODEL.replace("0.25:7", "0.5:7"))
    assert scaled.notes == (
        "other: 3 layers by name",
        "2 layers with a different scale or zero point, whose stored integers mean "
        "different numbers: second_1, flat",
    )
    pointed = version(MODEL.replace("0.25:7", "0.25:8"))
    assert pointed.notes[1].startswith("2 layers with a different scale or zero point")
    renamed = version(MODEL.replace('"second_1"', '"third"'))
    assert renamed.notes == (
        "other: 2 layers by name, 1 in the first model alone (second_1), 1 in the "
        "second model alone (third)",
    )
    assert renamed.common == {first, "flat"}
    values = renamed.values(0, {"x": FIRST})
    assert set(values) == {"x", first, "flat"}
    assert renamed.is_ready(first, values)
    assert not renamed.is_ready("third", values)
    assert not renamed.is_ready("flat", values)
    none = MODEL
    for name in ("net/first/Relu", "second_1", "flat"):
        none = none.replace(f'"{name}"', f'"{name}_other"')
    assert refused(lambda: version(none)).message == (
        "other has no layer with the name, shape and type of one of the other model"
    )
    error = refused(lambda: version(MODEL.replace("x2x3x4x", "x3x2x4x")))
    assert error.message == (
        "the models take different inputs: x [1, 2, 3, 4] int8 | x [1, 3, 2, 4] int8"
    )


@pytest.mark.parts(3)
def test_layers_that_are_computed() -> None:
    first = names()[0]
    for executor in ("interp", "jit"):
        side = Computed("t", model(), "exact", executor)
        x = RANDOM.integers(-99, 99, (1, 2, 3, 4)).astype(np.int8)
        values = side.values(0, {"x": x})
        assert list(values) == ["x", *names()]
        assert np.array_equal(values[first], np.maximum(x, -3))
        alone = side.alone({"x": x, "second_1": SECOND})
        assert set(alone) == {first, "flat"}
        assert np.array_equal(alone["flat"], SECOND.reshape(1, 24))
        each = side.each_alone({"flat": {"second_1": SECOND}, first: {"x": FIRST}})
        assert set(each) == {first, "flat"}
        assert side.each_alone({}) == {}
        completed = side.completed({"second_1": SECOND})
        assert set(completed) == {"second_1", "flat"}
        assert np.array_equal(completed["flat"], SECOND.reshape(1, 24))
        other = Computed("u", model(), "tflite")
        assert not side.has_same_rules(other, "second_1")
        assert side.has_same_rules(Computed("u", model(), "exact"), "second_1")
        changed = model(MODEL.replace("0.25:7", "0.25:8"))
        assert not side.has_same_rules(Computed("u", changed, "exact"), "second_1")
        assert side.has_same_rules(Computed("u", changed, "exact"), first)


def test_digests_of_runs() -> None:
    runs = [{"b": np.array([1], np.int8), "a": np.array([np.nan, 1], np.float32)}]
    turned = [
        {
            "a": np.array([-np.nan, 1], np.float32).astype(">f4"),
            "b": np.array([1], np.int8),
        }
    ]
    assert arrays_digest(runs) == arrays_digest(turned)
    others = [
        [{"b": np.array([2], np.int8), "a": np.array([np.nan, 1], np.float32)}],
        [{"b": np.array([[1]], np.int8), "a": np.array([np.nan, 1], np.float32)}],
        [{"b": np.array([1], np.int16), "a": np.array([np.nan, 1], np.float32)}],
        [{"c": np.array([1], np.int8), "a": np.array([np.nan, 1], np.float32)}],
        [*runs, *runs],
    ]
    found = {arrays_digest(one) for one in (runs, *others)}
    assert len(found) == 6
    digest = RunDigest("m", {"exact": "c"}, "i", "o", "7")
    assert str(digest).splitlines()[1:] == [
        "  model           m",
        "  contract exact  c",
        "  version         qlower 7",
        "  inputs          i",
        "  outputs         o",
    ]
    assert str(digest).startswith(f"digest sha256:{digest.total}, of\n")
    again = RunDigest("m", {"other": "c"}, "i", "o", "7")
    assert again.total == digest.total
    assert RunDigest("m", {"exact": "d"}, "i", "o", "7").total != digest.total
    assert digest.to_dict()["contracts"] == {"exact": "c"}
    made = run_digest(model(), "exact", runs, runs)
    assert list(made.contracts) == ["exact"]
    assert (made.inputs, made.outputs) == (arrays_digest(runs),) * 2
    own = run_digest(model(), "tflite", runs, runs)
    assert own.model == made.model
    assert own.contracts != made.contracts
