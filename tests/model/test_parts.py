"""Small parts of models: sizes, sets of inputs, states, contracts, texts, weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    i8,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.utils.test_value import create_ssa_value

import qlower
from qlower import build
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model import made_up_sizes, random_inputs
from qlower.model.contract_files import (
    name_contracts_from,
    name_contracts_from_here,
    name_contracts_wholly,
    text_in,
)
from qlower.model.cut import computed_names, cut_module
from qlower.model.entry import (
    defined_functions,
    main_function,
    mark_packed,
    name_tensors,
    refuse_packed,
    signature_of,
)
from qlower.model.input_sets import fits, input_set, ordered_input_set
from qlower.model.layer_contracts import with_layer_contracts
from qlower.model.layers import expose_layers, hide_layers, layers
from qlower.model.made_up_sizes import check_size
from qlower.model.outline import Outline, elements_digest
from qlower.model.printing import exact_module, readable_module
from qlower.model.scales import connected_values, result_types, with_scales
from qlower.model.selection import select_layers
from qlower.model.signature import (
    Signature,
    StateSpec,
    TensorSpec,
    assign_inputs,
    layout_hint,
)
from qlower.model.state import State, initial_memory, state_of, state_offsets
from qlower.model.tables import port_table
from qlower.model.weights import open_weights, weight_specs, with_weights
from qlower.model.windows import padded_image
from qlower.text.parsing import parse_module

TEXT = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>
!y = !quant.uniform<u8:f32, 0.25:7>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]>
    : tensor<2x4xi8> -> tensor<2x4x!w>
  %b = arith.constant dense<[10, -20]> : tensor<2xi32>
  %r = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("relu")
  %y = qnn.linear %r, %w, %b
    : (tensor<1x4x!x>, tensor<2x4x!w>, tensor<2xi32>) -> tensor<1x2x!y> loc("fc/last")
  return %y : tensor<1x2x!y>
}"""


def model(text: str = TEXT) -> qlower.Model:
    return qlower.Model(parse_module(text, "model.mlir"))


def refused(call: Callable[[], object]) -> tuple[str, str | None]:
    """What is said of a call that is refused, and the help."""
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value.message, caught.value.help


def test_sizes_of_made_up_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """x, r and y have 4 + 4 + 2 elements; constants don't count."""
    operations = list(layers(model().module))
    monkeypatch.setattr(made_up_sizes, "MOST_VALUES", 10)
    check_size(operations)
    assert refused(lambda: check_size(operations, 2)) == (
        "its values have 10 elements in all; where inputs are made up they are "
        "computed up to 5",
        "give inputs, or a smaller shape",
    )
    monkeypatch.setattr(made_up_sizes, "MOST_VALUES", 9)
    assert refused(lambda: check_size(operations))[0].endswith("computed up to 9")


def test_drawn_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_inputs, "MOST_ELEMENTS", 600)
    kinds = ("int8", "uint8", "bool", "float32", "float64", "int64")
    specs = [TensorSpec(kind, (20, 30), kind) for kind in kinds]
    found = dict(zip(kinds, random_inputs.random_inputs(specs, 3), strict=True))
    assert [one.dtype for one in found.values()] == [np.dtype(kind) for kind in kinds]
    assert (found["int8"].min(), found["int8"].max()) == (-128, 127)
    assert (found["uint8"].min(), found["uint8"].max()) == (0, 255)
    assert found["bool"].tolist() != np.zeros((20, 30)).tolist()
    assert 0.9 < found["float32"].std() < 1.1
    again = random_inputs.random_inputs(specs, 3)
    assert all(
        np.array_equal(found[k], one) for k, one in zip(kinds, again, strict=True)
    )
    many = random_inputs.random_input(specs[0], np.random.default_rng(0), count=2)
    assert many.shape == (2, 20, 30)
    large = TensorSpec("x", (601,), "int8")
    assert refused(lambda: random_inputs.random_inputs([large], 0)) == (
        "input 'x' has 601 elements; at most 600 are drawn",
        "give the input, or a smaller shape",
    )


STATES = (
    StateSpec("a", (3,), "int8", (0.5,), (1,), bytes([1, 2, 3])),
    StateSpec("b", (2, 1), "int32", initial=np.array([4, -5], np.int32).tobytes()),
    StateSpec("c", (9,), "uint8", initial=bytes(range(9))),
)


def test_states_lie_at_multiples_of_eight_bytes() -> None:
    assert state_offsets(STATES) == [0, 8, 16, 32]
    assert state_offsets([]) == [0]
    memory = initial_memory(STATES)
    assert memory[:8] == bytes([1, 2, 3, 0, 0, 0, 0, 0])
    assert memory[16:] == bytes(range(9)) + bytes(7)
    state = State(STATES)
    assert [array.tolist() for array in state.arrays] == [
        *([1, 2, 3], [[4], [-5]], list(range(9))),
    ]
    other = state.copy()
    other.update(
        [np.array([7, 8, 9], np.int8), np.array([[1], [2]], np.int32), np.arange(9)]
    )
    assert other.by_name["a"].tolist() == [7, 8, 9]
    assert other.by_name["b"].tolist() == [[1], [2]]
    assert state.by_name["a"].tolist() == [1, 2, 3]
    assert State(STATES, other.memory.tobytes()).arrays[0].tolist() == [7, 8, 9]
    assert repr(state) == (
        "<State of 32 bytes: a: 3xint8, scale 0.5, zero point 1, b: 2x1xint32, c: "
        "9xuint8>"
    )


def test_states_of_other_models() -> None:
    state = State(STATES)
    assert state_of(STATES, state) is state
    assert state_of(STATES, None).memory.tolist() == state.memory.tolist()
    assert refused(lambda: state_of(STATES, 3)) == (
        "state is int, not what new_state() gives",
        "an input that is called 'state' is given by position",
    )
    assert refused(lambda: state_of(STATES[:1], state)) == (
        f"{state!r} is of another model",
        "new_state() gives the model's own",
    )


def test_ports_as_a_table() -> None:
    signature = Signature(
        (TensorSpec("x", (1, 4), "int8", (0.1,), (-3,)),),
        (TensorSpec("y", (), "float32"),),
        STATES[:1],
    )
    table = port_table("title", signature, ["note"])
    lines = [line.split() for line in table.render("plain").splitlines()]
    assert [
        line for line in lines if line and line[0] in ("input", "output", "state")
    ] == [
        ["input", "x", "1x4", "int8", "0.1", "-3"],
        ["output", "y", "float32", "-", "-"],
        ["state", "a", "3", "int8", "0.5", "1"],
    ]
    assert table.notes == ["note"]


TWO = (TensorSpec("a", (1, 2), "int8"), TensorSpec("b", (3,), "float32"))
A, B = np.array([[1, 2]], np.int8), np.array([1, 2, 3], np.float32)
SETS: list[tuple[Array, Array, tuple[int, bool, bool] | str]] = [
    # the arrays; the runs, whether it is a set, and whether the model's axis counts
    (A, B, (1, False, False)),
    (A[0], B, (1, False, False)),
    (np.stack([A, A, A]), B, (3, True, False)),
    (np.stack([A, A]), np.stack([B, B]), (2, True, False)),
    (np.concatenate([A, A]), B, (2, True, True)),
    (np.concatenate([A, A]), np.stack([B, B]), (2, True, False)),
    (
        np.concatenate([A, A]),
        np.stack([B, B, B]),
        "the sets of inputs differ in size: 'a' has 2, 'b' has 3",
    ),
    (np.zeros((0, 1, 2), np.int8), B, "the set of inputs is empty"),
    (
        np.zeros((1, 3), np.int8),
        B,
        "input 'a' has shape [1, 3], the model takes [1, 2]",
    ),
    (
        np.zeros((2, 1), np.int8),
        B,
        "input 'a' has shape [2, 1], the model takes [1, 2]",
    ),
    (np.zeros((1, 2), np.int16), B, "input 'a' has type int16, the model takes int8"),
    (A, np.array([1], np.float32), "input 'b' has shape [1], the model takes [3]"),
]


@pytest.mark.parametrize(("a", "b", "expected"), SETS)
def test_sets_of_inputs(
    a: Array, b: Array, expected: tuple[int, bool, bool] | str
) -> None:
    if isinstance(expected, str):
        assert refused(lambda: ordered_input_set(TWO, [a, b]))[0] == expected
        return
    found = ordered_input_set(TWO, [a, b])
    assert (len(found.runs), found.is_set, found.merged) == expected
    for run in found.runs:
        assert (run["a"].shape, run["b"].shape) == ((1, 2), (3,))
    assert fits(TWO[0], a)
    assert len(found.arrays("b")) == (len(found.runs) if b.ndim > 1 else 1)
    one = [np.full((1, 2), n) for n in range(len(found.runs))]
    joined = found.join(one)
    count = len(found.runs)
    shape = (count, 2) if found.merged else (count, 1, 2) if found.is_set else (1, 2)
    assert joined.shape == shape
    stacked = np.stack(one)
    if found.is_set:
        assert np.array_equal(found.joined(stacked), joined)


def test_results_that_are_joined() -> None:
    merged = ordered_input_set(TWO, [np.concatenate([A, A]), B])
    scalars: Any = [np.int8(1), np.int8(2)]
    assert merged.join(scalars).tolist() == [1, 2]
    assert merged.join([np.zeros((2, 3))] * 2).shape == (2, 2, 3)
    assert merged.joined(np.zeros((2, 2, 3))).shape == (2, 2, 3)
    assert merged.joined(np.zeros(2)).shape == (2,)
    assert not fits(TWO[0], np.zeros((1, 3), np.int8))
    assert not fits(TWO[0], np.zeros((1, 2), np.int16))
    assert input_set(TWO, {"b": B, "a": A}).runs[0]["b"] is B


def test_help_for_a_set() -> None:
    _, advice = refused(lambda: ordered_input_set(TWO, [A, np.array([1], np.float32)]))
    assert advice == "a set of inputs has one more leading dimension"
    image = TensorSpec("x", (1, 4, 5, 3), "int8")
    given = np.zeros((1, 3, 4, 5), np.int8)
    channels_last = "NCHW? numpy.moveaxis(array, -3, -1) puts the channels last"
    assert refused(lambda: ordered_input_set([image], [given]))[1] == channels_last
    assert layout_hint((3, 4, 5), (1, 4, 5, 3)) == channels_last
    assert layout_hint((1, 4, 5, 3), (1, 4, 5, 3)) is not None
    assert layout_hint((5, 4), (4, 5)) == (
        "these are the model's dimensions in another order"
    )
    assert layout_hint((5, 4), (4, 6)) is None
    assert layout_hint((4, 5), (1, 4, 5, 3)) is None


X = TensorSpec("x", (2,), "int8", (0.5,), (3,))


@pytest.mark.parametrize(
    ("spec", "real", "stored"),
    [
        (
            X,
            [0.0, 0.25, 0.75, 1.25, -0.25, 1e9, -1e9, np.nan],
            [3, 3, 5, 5, 3, 127, -128, 3],
        ),
        (
            X,
            [np.inf, -np.inf, 62.0, 62.3, -65.5, -66.0],
            [127, -128, 127, 127, -128, -128],
        ),
        (replace(X, dtype="uint8"), [-1.5, -2.0, 126.0, 127.0], [0, 0, 255, 255]),
        (replace(X, dtype="int16"), [1e9, -1e9, 100.0], [32767, -32768, 203]),
    ],
)
def test_real_numbers_are_stored(
    spec: TensorSpec, real: list[float], stored: list[int]
) -> None:
    found = spec.quantize(real)
    assert (found.tolist(), found.dtype) == (stored, np.dtype(spec.dtype))
    back = spec.dequantize(found)
    assert back.dtype == np.float64
    assert back.tolist() == [(code - 3) * 0.5 for code in stored]


def test_tensors_that_are_not_quantized() -> None:
    plain = TensorSpec("p", (2,), "int32")
    assert (plain.scale, plain.zero_point) == (None, None)
    assert refused(lambda: plain.quantize([1.0]))[0] == (
        "'p' isn't quantized: it holds int32"
    )
    assert plain.dequantize(np.array([7], np.int32)).tolist() == [7.0]
    assert str(plain) == "p: 2xint32"
    assert str(TensorSpec("s", (), "int8")) == "s"
    assert str(X) == X.render(3) == "x: 2xint8, scale 0.5, zero point 3"
    assert X.to_dict() == {
        **{"name": "x", "shape": (2,), "dtype": "int8", "scales": (0.5,)},
        "zero_points": (3,),
    }


@pytest.mark.parametrize(
    ("dtype", "given", "advice"),
    [
        (
            "int8",
            "uint8",
            "where both stand for the same real values, subtract 128: "
            "(array ^ 0x80).view('int8')",
        ),
        (
            "uint8",
            "int8",
            "where both stand for the same real values, add 128: "
            "array.view('uint8') ^ 0x80",
        ),
        ("int8", "int16", None),
        (
            "int8",
            "float32",
            "real values are stored as round(real / 0.5) + 3, which "
            "`quantize` of this input computes",
        ),
    ],
)
def test_arrays_of_other_types(dtype: str, given: str, advice: str | None) -> None:
    spec = replace(X, dtype=dtype)
    message, found = refused(lambda: spec.check(np.zeros(2, given)))
    assert message == f"input 'x' has type {given}, the model takes {dtype}"
    assert found == advice
    array = np.zeros(2, dtype)
    assert spec.check(array) is array
    plain = TensorSpec("p", (2,), dtype)
    if given == "float32":
        assert refused(lambda: plain.check(np.zeros(2, given)))[1] is None


ASSIGNED: list[tuple[int, list[str], str]] = [
    (2, [], ""),
    (1, ["b"], ""),
    (0, ["b", "a"], ""),
    (3, [], "3 inputs given, the model takes 2"),
    (3, ["a"], "3 inputs given, the model takes 2"),
    (1, ["c"], "the model has no input 'c'"),
    (2, ["a"], "input 'a' is given twice"),
    (1, ["a"], "input 'a' is given twice"),
    (1, [], "input 'b' is missing"),
    (0, ["b"], "input 'a' is missing"),
]


@pytest.mark.parametrize(("count", "named", "text"), ASSIGNED)
def test_arrays_by_position_and_name(count: int, named: list[str], text: str) -> None:
    given = [A, B, B][:count]
    by_name = {name: {"a": A, "b": B, "c": B}[name] for name in named}
    if text:
        message, advice = refused(lambda: assign_inputs(TWO, given, by_name))
        assert message == text
        assert advice == ("its inputs are 'a', 'b'" if "no input" in text else None)
        return
    found = assign_inputs(TWO, given, by_name)
    assert [array is wanted for array, wanted in zip(found, (A, B), strict=True)]
    bound = Signature(TWO, ()).bind(given, by_name)
    assert [array.shape for array in bound] == [(1, 2), (3,)]


def test_signatures_as_json() -> None:
    signature = Signature((X,), TWO, STATES)
    assert Signature.from_json(signature.to_json()) == signature
    assert signature.arguments == (X, *STATES)
    assert signature.results == (*TWO, *STATES)


def test_layers_that_are_meant() -> None:
    module = model().module
    assert select_layers(module, "0") == ["relu"]
    assert select_layers(module, "relu") == ["relu"]
    assert select_layers(module, "*") == ["relu", "fc/last"]
    assert select_layers(module, "fc*") == ["fc/last"]
    cases = {
        "rel": "did you mean 'relu'?",
        "*LAST*x": "it has 'relu', 'fc/last'",
        "relo": "did you mean 'relu'?",
        "*": None,
        "2": "it has 'relu', 'fc/last'",
        "LAST": "did you mean 'fc/last'?",
    }
    for wanted, advice in cases.items():
        if advice is not None:
            text = f"the model has no layer {wanted!r}"
            assert refused(lambda one=wanted: select_layers(module, one)) == (
                text,
                advice,
            )


def test_layers_under_contracts_of_their_own() -> None:
    def contracts(given: dict[str, str]) -> list[str | None]:
        changed = with_layer_contracts(model(), given)
        operations: list[Any] = list(layers(changed.module))
        return [op.contract for op in operations]

    assert contracts({}) == [None, None]
    assert contracts({"relu": "exact"}) == ["exact", None]
    assert contracts({"*": "exact", "linear": "tflite"}) == ["exact", "tflite"]
    assert contracts({"1": "tflite"}) == [None, "tflite"]
    assert contracts({"fc*": "tflite"}) == [None, "tflite"]
    assert refused(lambda: contracts({"none": "exact"}))[0] == (
        "the model has no layer 'none'"
    )


def test_contract_files_are_named_from_where_they_are_seen(tmp_path: Path) -> None:
    def named(own: str | None, layer: str | None) -> ModuleOp:
        module = model().module
        if own is not None:
            module.attributes["qnn.contract"] = StringAttr(own)
        for op in layers(module):
            if layer is not None:
                op.properties["contract"] = StringAttr(layer)
        return module

    def names(module: ModuleOp) -> list[str]:
        found = [module.attributes.get("qnn.contract")]
        found += [op.properties.get("contract") for op in layers(module)]
        return [one.data for one in found if isinstance(one, StringAttr)]

    module = named("a.mlir", "b/c.mlir")
    name_contracts_from_here(module, Path("d/model.mlir"))
    assert names(module) == ["d/a.mlir", "d/b/c.mlir", "d/b/c.mlir"]
    name_contracts_from(module, "d")
    assert names(module) == ["a.mlir", "b/c.mlir", "b/c.mlir"]
    name_contracts_from(module, "")
    assert names(module) == ["a.mlir", "b/c.mlir", "b/c.mlir"]
    text = text_in(module, "e")
    assert 'contract = "../b/c.mlir"' in text
    assert names(module) == ["a.mlir", "b/c.mlir", "b/c.mlir"]
    assert '"qnn.linear"' in text_in(module, "e", generic=True)
    assert '"qnn.linear"' not in text
    name_contracts_wholly(module)
    assert names(module) == [str(Path.cwd() / n) for n in ("a.mlir", *["b/c.mlir"] * 2)]
    kept = named("exact", str(tmp_path / "x.mlir"))
    before = names(kept)
    name_contracts_from_here(kept, Path("d/model.mlir"))
    assert names(kept) == before


def test_models_that_are_cut() -> None:
    module = model().module
    name_tensors(module)
    assert computed_names(module) == ["relu", "fc/last"]
    first = cut_module(module, ["relu"])
    assert [op.name for op in layers(first)] == ["qnn.relu"]
    signature = signature_of(first)
    assert [spec.name for spec in signature.inputs] == ["x"]
    assert [(spec.name, spec.shape) for spec in signature.outputs] == [("relu", (1, 4))]
    both = cut_module(module, ["fc/last", "relu"])
    assert [spec.name for spec in signature_of(both).outputs] == ["fc/last", "relu"]
    assert len(list(layers(module))) == 2


def test_outlines_leave_out_the_bytes_of_constants() -> None:
    def outline(*changes: tuple[str, str]) -> Outline:
        text = TEXT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return Outline.of(parse_module(text, "model.mlir"))

    whole = outline()
    assert len(whole.constants) == len(set(whole.digests)) == 2
    other = outline(("[1, 2, 3, 4]", "[1, 2, 3, 5]"))
    assert other.digest == whole.digest
    assert [a == b for a, b in zip(whole.digests, other.digests, strict=True)] == [
        *(False, True),
    ]
    for change in (
        ("0.5:-3", "0.5:-2"),
        ("0.25:7", "0.125:7"),
        ("{0.25, 0.5}", "{0.25, 0.75}"),
        ("<-127:127>", ""),
        ("u8:f32", "i8:f32"),
        ('"relu"', '"other"'),
        ("qnn.relu", "qnn.reshape"),
    ):
        assert outline(change).digest != whole.digest, change
    assert outline(("%r", "%other")).digest == whole.digest

    def dense(type: Any, data: bytes) -> str:
        return elements_digest(DenseIntOrFPElementsAttr(type, BytesAttr(data)))

    types = [TensorType(i8, (4,)), TensorType(i8, (2, 2)), TensorType(i32, (1,))]
    assert len({dense(type, bytes(4)) for type in types}) == 3
    assert dense(types[0], bytes(4)) != dense(types[0], bytes([0, 0, 0, 1]))


def constants(count: int, element: str, value: str) -> str:
    return (
        f"func.func @main() -> tensor<{count}x{element}> {{\n"
        f"  %c = arith.constant dense<{value}> : tensor<{count}x{element}>\n"
        f"  return %c : tensor<{count}x{element}>\n}}"
    )


@pytest.mark.parametrize("element", ["i8", "i4", "i48", "f32"])
@pytest.mark.parametrize("count", [1, 16, 17, 100, 101])
def test_long_constants_are_left_out(count: int, element: str) -> None:
    """Of what is read, from 17 elements on; what is parsed has all."""
    point = ".5" if element == "f32" else ""
    values = [f"{n % 15 - 7}{point}" for n in range(count)]
    text = constants(count, element, f"[{', '.join(values)}]")
    module = parse_module(text, "m.mlir")
    read = readable_module(module)
    assert ("sha1:" in read) == (count > 16)
    assert (f"{count} x {element}, sha1:" in read) == (count > 16)
    whole = readable_module(module, constants=True)
    assert "sha1:" not in whole
    assert '"0x' not in whole
    for form in (exact_module(module), exact_module(module, generic=True)):
        assert ('"0x' in form) == (count > 100)
        again = parse_module(form, "m.mlir")
        assert Outline.of(again).digests == Outline.of(module).digests
    equal = readable_module(
        parse_module(constants(count, element, values[0]), "m.mlir")
    )
    assert "sha1:" not in equal


def test_long_names_of_types_are_cut() -> None:
    def named(count: int) -> str:
        scales = ", ".join(f"{n + 1}.5" for n in range(count))
        kind = f"!quant.uniform<i8:f32:0, {{{scales}}}>"
        text = (
            f"func.func @main(%x: tensor<{count}x{kind}>)"
            f" -> tensor<{count}x{kind}> {{\n"
            f"  return %x : tensor<{count}x{kind}>\n}}"
        )
        return readable_module(parse_module(text, "m.mlir")).splitlines()[0]

    assert named(4).startswith("!w0 = !quant.uniform<i8:f32:0, {1.5")
    assert "scales" not in named(4)
    assert named(5).endswith(", ... 5 scales}>")
    assert named(5).count(",") == 1 + 4
    text = readable_module(model().module)
    assert text.startswith("!q0 = ")
    assert "// relu\n" in text
    assert "// fc/last\n" in text
    assert "\n!q1 = " in text
    assert "\n!w0 = " in text


ENTRIES: list[tuple[str, str]] = [
    (
        "func.func @a() { return }\nfunc.func @b() { return }",
        "the module has 2 functions, one of them must be called @main",
    ),
    ("module {}", "the module has 0 functions, one of them must be called @main"),
    ("func.func private @main()", "the model's function must have one block"),
    (
        "func.func @main(%x: i8) -> i8 {\n  return %x : i8\n}",
        "'x' has type i8; models take and give tensors of fixed shape, with at least "
        "one element",
    ),
    (
        "func.func @main(%x: tensor<0xi8>) -> tensor<0xi8> {\n"
        "  return %x : tensor<0xi8>\n}",
        "'x' has type tensor<0xi8>; models take and give tensors of fixed shape, with "
        "at least one element",
    ),
    (
        "func.func @main(%x: tensor<2xi4>) -> tensor<2xi4> {\n"
        "  return %x : tensor<2xi4>\n}",
        "'x' has element type i4, which no array can hold",
    ),
    (
        "func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {\n"
        "  return %x : tensor<2xbf16>\n}",
        "'x' has element type bf16, which no array can hold",
    ),
]


@pytest.mark.parametrize(("text", "message"), ENTRIES)
def test_functions_that_are_no_models(text: str, message: str) -> None:
    assert refused(lambda: signature_of(parse_module(text, "m.mlir")))[0] == message


def test_a_function_without_a_return() -> None:
    module = model().module
    last = main_function(module).body.block.last_op
    assert last is not None
    last.detach()
    assert refused(lambda: signature_of(module))[0] == (
        "the model's function must end with return"
    )


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        *(("i1", "bool"), ("i8", "int8"), ("ui8", "uint8"), ("si16", "int16")),
        *(("i32", "int32"), ("ui64", "uint64"), ("f32", "float32"), ("f64", "float64")),
        ("!quant.uniform<u8:f32, 0.5:3>", "uint8"),
        ("!quant.uniform<i16:f32, 0.5>", "int16"),
        ("!quant.uniform<i8:f32:0, {0.5, 0.25}>", "int8"),
    ],
)
def test_types_of_arrays(element: str, dtype: str) -> None:
    kind = f"tensor<2x{element}>"
    text = (
        f"func.func @main(%x: {kind}) -> ({kind}, {kind}) {{\n"
        f"  return %x, %x : {kind}, {kind}\n}}"
    )
    found = signature_of(parse_module(text, "m.mlir"))
    assert [spec.dtype for spec in (*found.inputs, *found.outputs)] == [dtype] * 3
    assert [spec.name for spec in found.outputs] == ["x", "x#1"]
    if "quant" in element:
        scales = () if ":0," in element else (0.5,)
        assert found.inputs[0].scales == scales
    else:
        assert found.inputs[0].scales == ()


def test_arguments_that_are_packed() -> None:
    module = model().module
    name_tensors(module)
    refuse_packed(module)
    mark_packed(module, ["x"])
    message, _ = refused(lambda: refuse_packed(module))
    assert message.endswith("is an attribute that only a compilation sets")
    assert defined_functions(module) == [main_function(module)]
    declared = parse_module(
        f"func.func private @f()\n{TEXT[TEXT.index('func') :]}".join(
            [TEXT[: TEXT.index("func")], ""]
        ),
        "m.mlir",
    )
    assert [f.sym_name.data for f in defined_functions(declared)] == ["main"]
    assert isinstance(main_function(declared), FuncOp)


def test_weights_and_their_exchange() -> None:
    given = model()
    weight, bias = weight_specs(given.module)
    assert (weight.name, bias.name) == ("fc/last.weight", "fc/last.bias")
    assert (weight.low, weight.high, weight.axis) == (-127, 127, 0)
    assert weight.real.tolist() == [[0.25, 0.5, 0.75, 1.0], [2.5, 3.0, 3.5, 4.0]]
    assert (bias.scales, bias.axis) == ((0.125, 0.25), 0)
    assert (bias.low, bias.high) == (-(1 << 31), (1 << 31) - 1)
    assert bias.real.tolist() == [1.25, -5.0]
    reals = np.array([[0.1, 0.125, 0.375, 99.0], [-99.0, 0.25, 0.75, 1.0]])
    assert weight.quantize(reals).tolist() == [[0, 0, 2, 127], [-127, 0, 2, 2]]
    assert weight.can_be_packed
    assert not bias.can_be_packed
    assert not replace(weight, high=-112).can_be_packed
    assert replace(weight, high=-111).can_be_packed
    assert not replace(weight, stored=weight.stored[:, :1]).can_be_packed
    assert replace(weight, stored=weight.stored[:, :2]).can_be_packed
    for size in (1, 2):
        whole = replace(weight, stored=weight.stored[:1, :size], axis=None)
        assert whole.can_be_packed == (size > 1)
    changed = with_weights(given, {"fc/last.bias": np.array([1, 2], np.int32)})
    assert weight_specs(changed.module)[1].stored.tolist() == [1, 2]
    assert refused(lambda: with_weights(given, {"x": np.array([1, 2], np.int32)})) == (
        "the model has no 'x'",
        "it has fc/last.weight, fc/last.bias",
    )
    assert refused(
        lambda: with_weights(given, {"fc/last.bias": np.array([1, 2], np.int8)})
    )[0] == ("'fc/last.bias' is [2] of int8, the model has [2] of int32")
    assert refused(
        lambda: with_weights(given, {"fc/last.bias": np.array([1], np.int32)})
    )[0] == ("'fc/last.bias' is [1] of int32, the model has [2] of int32")
    opened = signature_of(open_weights(given).module)
    assert [(spec.name, spec.shape, spec.dtype) for spec in opened.inputs] == [
        ("x", (1, 4), "int8"),
        ("fc/last.weight", (2, 4), "int8"),
        ("fc/last.bias", (2,), "int32"),
    ]


def test_scales_that_are_exchanged() -> None:
    given = model()
    name_tensors(given.module)
    assert connected_values(given.module) == [["x"], ["relu"], ["fc/last"]]
    narrow = QuantizedType.per_tensor(8, True, 0.25, -3)
    changed = with_scales(given, {"relu": narrow})
    assert result_types(changed.module)["relu"] == narrow
    assert result_types(changed.module)["x"] == result_types(given.module)["x"]
    weight, bias = weight_specs(changed.module)
    assert weight.stored.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert bias.stored.tolist() == [20, -40]
    wide = QuantizedType.per_tensor(16, True, 0.5)
    _, bias = weight_specs(
        with_scales(given, {"relu": wide, "x": wide, "fc/last": wide}).module
    )
    assert (bias.stored.dtype, bias.stored.tolist()) == (np.int64, [10, -20])
    # A bias that is an input keeps its type.
    ports, line = "(%x: tensor<1x4x!x>", "  %b = arith.constant dense<[10, -20]> :"
    text = TEXT.replace(ports, f"{ports}, %b: tensor<2xi32>")
    text = "\n".join(one for one in text.splitlines() if not one.startswith(line))
    computed = with_scales(model(text), {"relu": wide, "x": wide, "fc/last": wide})
    assert [spec.dtype for spec in computed.inputs] == ["int16", "int32"]
    halves = {"fc/last.weight": np.full((2, 4), 0.5)}
    weight, _ = weight_specs(with_scales(given, {}, real=halves).module)
    assert weight.stored.tolist() == [[2] * 4, [1] * 4]
    alone = TEXT.replace("%w, %b", "%w").replace(", tensor<2xi32>)", ")")
    (weight,) = weight_specs(with_scales(model(alone), {"x": narrow}).module)
    assert weight.stored.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert refused(lambda: with_scales(given, {"relu": wide}))[0] == (
        "qnn.linear: a result of 8 bits does not go with an input of 16"
    )
    assert refused(lambda: with_scales(given, {"b": narrow, "a": narrow}))[0] == (
        "the model has no 'a' to quantize"
    )


def test_images_with_zeros_around() -> None:
    image = create_ssa_value(TensorType(IntegerType(8), (1, 5, 6, 2)))
    op = padded_image(image, (1, 2, 3, 4))
    assert op.result.type.get_shape() == (1, 8, 13, 2)
    assert (tuple(op.low), tuple(op.high)) == ((0, 1, 3, 0), (0, 2, 4, 0))


MOVED = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.25:7>
func.func @main(%x: tensor<1x4x4x1x!x>, %z: tensor<1x4x!y>) -> tensor<1x4x!x> {
  %a = qnn.reshape %x : (tensor<1x4x4x1x!x>) -> tensor<1x16x!x> loc("a")
  %b = qnn.relu %a : (tensor<1x16x!x>) -> tensor<1x16x!x> loc("b")
  %c = qnn.reshape %b : (tensor<1x16x!x>) -> tensor<1x4x4x1x!x> loc("c")
  %d = qnn.avg_pool2d %c {kernel = [4, 1], stride = [4, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x4x4x1x!x>) -> tensor<1x1x4x1x!x> loc("d")
  %e = qnn.avg_pool2d %c {kernel = [4, 1], stride = [4, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x4x4x1x!x>) -> tensor<1x1x4x1x!y> loc("e")
  %f = qnn.reshape %d : (tensor<1x1x4x1x!x>) -> tensor<1x4x!x> loc("f")
  %g = qnn.reshape %e : (tensor<1x1x4x1x!y>) -> tensor<1x4x!y> loc("g")
  %h = qnn.concat %g, %z {axis = 1 : i64}
    : (tensor<1x4x!y>, tensor<1x4x!y>) -> tensor<1x8x!y> loc("h")
  return %f : tensor<1x4x!x>
}"""


def test_values_that_share_a_scale() -> None:
    """Those that are moved, and of pools whose result has their operand's."""
    module = model(MOVED).module
    name_tensors(module)
    groups = {frozenset(group) for group in connected_values(module)}
    assert groups == {
        frozenset(group)
        for group in ({"x", "a"}, {"b", "c", "d", "f"}, {"e", "g", "h", "z"})
    }
    coarse = QuantizedType.per_tensor(8, True, 2.0, 1)
    changed = result_types(with_scales(model(MOVED), {"c": coarse}).module)
    assert {name for name, type in changed.items() if type == coarse} == set("bcdf")


KEPT = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x!x>, %s: tensor<1x4x!x>)
    -> (tensor<1x4x!x>, tensor<1x4x!x>)
    attributes {qnn.state = [dense<3> : tensor<1x4xi8>]} {
  %r = qnn.relu %s : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("r")
  %y = qnn.add %x, %r : (tensor<1x4x!x>, tensor<1x4x!x>) -> tensor<1x4x!x> loc("y")
  return %y, %r : tensor<1x4x!x>, tensor<1x4x!x>
}"""


def test_models_with_a_state() -> None:
    """It stays the last argument and result when layers are shown, hidden or cut."""
    module = model(KEPT).module
    name_tensors(module)
    signature = signature_of(module)
    assert [spec.initial for spec in signature.states] == [bytes([3] * 4)]
    exposed, names = expose_layers(module)
    shown = signature_of(exposed)
    assert [spec.name for spec in shown.outputs] == ["y", "r"]
    assert [spec.name for spec in shown.states] == [
        spec.name for spec in signature.states
    ]
    assert (len(shown.outputs), len(shown.states)) == (
        1 + len(set(names.values()) - {0}),
        1,
    )
    assert signature_of(hide_layers(exposed, 1)) == signature
    cut = signature_of(cut_module(module, ["r"]))
    assert [spec.name for spec in cut.outputs] == ["r"]
    assert [spec.initial for spec in cut.states] == [bytes([3] * 4)]
    assert [spec.name for spec in cut.inputs] == []
    # One that nothing reads stays an argument, since it is kept.
    unread = model(KEPT.replace("relu %s", "relu %x")).module
    name_tensors(unread)
    cut = signature_of(cut_module(unread, ["r"]))
    assert ([spec.name for spec in cut.inputs], len(cut.states)) == (["x"], 1)
    message, _ = refused(lambda: open_weights(model(KEPT)))
    assert message == (
        "the weights of a model that keeps values between calls can't be inputs"
    )


def test_names_of_results_stay_when_layers_are_shown() -> None:
    text = TEXT.replace("-> tensor<1x2x!y> {", '-> (tensor<1x2x!y> {qnn.name = "z"}) {')
    exposed, names = expose_layers(model(text).module)
    assert [spec.name for spec in signature_of(exposed).outputs] == ["z", "relu"]
    assert names == {"relu": 1, "fc/last": 0}
    hidden = signature_of(hide_layers(exposed, 1))
    assert [spec.name for spec in hidden.outputs] == ["z"]


@pytest.mark.parametrize(("given", "expected"), [(None, (0, 0)), ([3, -4], (3, -4))])
def test_zero_points_by_axis(
    given: list[int] | None, expected: tuple[int, ...]
) -> None:
    element = build.quantized_per_axis([2, 3], 0, [0.5, 0.25], given).element_type
    assert isinstance(element, QuantizedType)
    assert element.zero_points == expected
