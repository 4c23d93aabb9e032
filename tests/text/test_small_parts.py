"""Small functions on text: options, errors, hints, sizes of aliases, floats."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import bf16, f16, f32, f64, i32
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from qlower.diagnostics import QlowerError, make_file_location
from qlower.text import aliases
from qlower.text.aliases import DEEPEST, EXPANSIONS, Expansion
from qlower.text.floats import decimal_text, float_from_bits
from qlower.text.hints import set_hint
from qlower.text.parsing import LocatingParser, parse_module
from qlower.text.pass_options import quote_options
from qlower.text.source_errors import decode, first_line, located
from qlower.text.ways_out import WAYS_OUT, way_out

OPTIONS = {
    "cse": "cse",
    "lower-qnn{contract=tflite}": "lower-qnn{contract=tflite}",
    "lower-qnn{contract=./x.mlir}": 'lower-qnn{contract="./x.mlir"}',
    "lower-qnn{contract=a/b}": 'lower-qnn{contract="a/b"}',
    "a{b=1 c=-2 d=1.5 e=+1e5}": 'a{b=1 c=-2 d=1.5 e="+1e5"}',
    "a{b=1.5e-3}": "a{b=1.5e-3}",
    "a{b=1,2,3}": "a{b=1,2,3}",
    "a{b=x-y_z,4bit}": "a{b=x-y_z,4bit}",
    "a{f=+dotprod,-i8mm}": 'a{f="+dotprod,-i8mm"}',
    "a{f=x,-i8mm}": 'a{f="x,-i8mm"}',
    'a{b="x=./y"}': 'a{b="x=./y"}',
    r'a{b="x\"=./y"}': r'a{b="x\"=./y"}',
    "opt[--p=./x,y]": "opt[--p=./x,y]",
    r"opt[\]=./x]": r"opt[\]=./x]",
    "a{b=é}": 'a{b="é"}',
    "a{b=x},c{d=./y}": 'a{b=x},c{d="./y"}',
}


@pytest.mark.parametrize("given", OPTIONS)
def test_values_that_need_quotes_get_them(given: str) -> None:
    assert quote_options(given) == OPTIONS[given]
    assert quote_options(OPTIONS[given]) == OPTIONS[given]


@pytest.mark.parametrize(
    ("data", "position", "byte"),
    [
        (b"\xff", "1:1", "ff"),
        (b"ab\xfe", "1:3", "fe"),
        (b"\n\xff", "2:1", "ff"),
        (b"a\nbc\n d\x80\n\xff", "3:3", "80"),
        (b"ML\xefR\n", "1:3", "ef"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, position: str, byte: str) -> None:
    with pytest.raises(QlowerError) as caught:
        decode(data, "m.mlir")
    message = f"not MLIR text: byte 0x{byte} is not UTF-8"
    assert str(caught.value).startswith(f"m.mlir:{position}: error: {message}")
    advice = "binary MLIR (.mlirbc) has to be printed as text by mlir-opt first"
    assert caught.value.help == (advice if data.startswith(b"ML") else None)


def test_text_is_taken_as_it_is() -> None:
    assert decode("a\u00e9", "m") == decode("a\u00e9".encode(), "m") == "a\u00e9"


SENTENCES: list[tuple[Exception, str]] = [
    (ValueError("Some thing\nelse"), "some thing"),
    (ValueError("Operand 1:\ni8 is wrong\nmore"), "operand 1: i8 is wrong"),
    (ValueError("SSA value"), "SSA value"),
    (ValueError("A"), "A"),
    (ValueError("already low"), "already low"),
    (ValueError("  Blank  "), "blank"),
    (ValueError(""), "malformed text (ValueError: )"),
    (KeyError("x"), "malformed text (KeyError: 'x')"),
    (AssertionError("Odd"), "malformed text (AssertionError: Odd)"),
    (IndexError("out of range"), "malformed text (IndexError: out of range)"),
]


@pytest.mark.parametrize(("error", "sentence"), SENTENCES)
def test_any_exception_is_a_sentence(error: Exception, sentence: str) -> None:
    assert first_line(error) == sentence


def error_at(text: str, start: int, message: str) -> ParseError:
    return ParseError(Span(start, start + 1, Input(text, "m.mlir")), message)


@pytest.mark.parametrize(
    ("message", "start", "shown"),
    [
        ("Expected this!", 0, "expected this"),
        ("Expected this.", 0, "expected this"),
        ("", 0, "unexpected text"),
        ("", 6, "unexpected end of text"),
        (" in a list", 0, "unexpected text in a list"),
        (" in a list", 7, "unexpected end of text in a list"),
        ("SSA name", 2, "SSA name"),
    ],
)
def test_errors_of_the_parser_are_sentences(
    message: str, start: int, shown: str
) -> None:
    text = "ab cd \n\n"
    found = located(error_at(text, start, message), text, 10)
    assert found.message == shown
    line = text.count("\n", 0, start) + 11
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    head = str(found).splitlines()
    assert head[0] == f"m.mlir:{line}:{column}: error: {shown}"
    if line == 11:
        assert head[1:3] == ["  ab cd", " " * (column + 1) + "^"]


@pytest.mark.parametrize("dialect", WAYS_OUT)
def test_dialects_that_are_not_read_have_a_way_out(dialect: str) -> None:
    for message in (
        f"operation {dialect}.op is not registered",
        f"operation '{dialect}.op.x' is not supported; 3 others of it are",
        f"{dialect}.op is not registered",
    ):
        assert way_out(message) == WAYS_OUT[dialect]
    assert way_out(f"operation {dialect}.op is odd") is None
    assert way_out(f"operation {dialect}x.op is not registered") is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a", "a"), ("a_0", "a"), ("0", None), ("_", None), ("_12_", None), (None, None)],
)
def test_names_that_are_numbers_are_no_hints(
    name: str | None, hint: str | None
) -> None:
    value = test.TestOp.create(result_types=[i32]).results[0]
    value.name_hint = "before"
    set_hint(value, name)
    assert value.name_hint == hint
    set_hint(value, "")
    assert value.name_hint is None


def test_aliases_count_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each use its elements, strings none; definitions count where they are used."""
    monkeypatch.setattr(aliases, "LARGEST_EXPANSION", 10)
    text = '#a = [1, 2, 3, "x,y,z"] #b = [#a, #a]'
    expansion = Expansion(text)
    before = expansion.start()
    assert before == 0
    assert expansion.enter("") is None
    expansion.leave()
    expansion.define("#a", before, text.index("["), text.index("]"))
    before = expansion.start()
    assert before == 0
    for _ in range(2):
        assert expansion.enter("#a") is None
        expansion.leave()
    expansion.define("#b", before, text.rindex("["), text.rindex("]"))
    # #b has two elements, and twice the four of #a
    limit = max(10, EXPANSIONS * (1 + text.count(",")))
    assert limit == 21
    for used in range(1, 4):
        fault = expansion.enter("#b")
        expansion.leave()
        if used * 10 <= limit:
            assert fault is None
        else:
            assert fault == (
                "the aliases of the text up to here stand for more than "
                f"{limit} elements"
            )


def test_aliases_that_are_defined_between_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before a definition is no part of it, and counts on."""
    monkeypatch.setattr(aliases, "LARGEST_EXPANSION", 30)
    expansion = Expansion("")
    expansion._aliases["#a"] = aliases._Alias(4, 0)  # pyright: ignore
    for _ in range(3):
        assert expansion.enter("#a") is None
        expansion.leave()
    before = expansion.start()
    assert before == 12
    assert expansion.enter("#a") is None
    expansion.leave()
    expansion.define("#b", before, 0, 0)  # 5 elements: its own one, and #a
    assert expansion.start() == 12
    for used in range(1, 5):
        fault = expansion.enter("#b")
        expansion.leave()
        assert (fault is None) == (12 + 5 * used <= 30)


@pytest.mark.parametrize("size", [10, 11])
def test_the_limit_is_met_exactly(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "LARGEST_EXPANSION", 10)
    text = ", ".join("1" * size) if size < 4 else "x"
    expansion = Expansion(text)
    expansion._aliases["#a"] = aliases._Alias(size, 0)  # pyright: ignore
    for _ in range(2):  # which are no aliases
        assert expansion.enter("") is None
    fault = expansion.enter("#a")
    assert (fault is None) == (size <= 10)


def test_depth_is_counted_to_its_limit() -> None:
    expansion = Expansion("")
    for _ in range(DEEPEST):
        assert expansion.enter("") is None
    sentence = f"more than {DEEPEST} attributes are nested within each other"
    assert expansion.enter("") == sentence
    for _ in range(DEEPEST + 1):
        expansion.leave()


def test_depth_of_an_alias_is_that_of_its_definition() -> None:
    expansion = Expansion("")
    before = expansion.start()
    for _ in range(100):
        assert expansion.enter("") is None
    for _ in range(100):
        expansion.leave()
    expansion.define("#a", before, 0, 0)
    assert expansion.enter("#b") is None  # not defined
    before = expansion.start()
    expansion.define("#c", before, 0, 0)
    assert expansion._aliases["#c"].depth == 0  # pyright: ignore
    expansion.leave()
    for _ in range(DEEPEST - 101):
        assert expansion.enter("") is None
    assert expansion.enter("#a") is None  # 49 around, itself, and 100 within
    expansion.leave()
    assert expansion.enter("") is None
    assert expansion.enter("#a") is not None


FLOATS = {"f16": (f16, "<e", 16), "f32": (f32, "<f", 32), "f64": (f64, "<d", 64)}


@pytest.mark.parametrize("name", FLOATS)
def test_bits_of_floats(name: str) -> None:
    type, form, width = FLOATS[name]
    draw = np.random.default_rng(width)
    patterns = [int(one) for one in draw.integers(0, 1 << 16, 20)]
    patterns = [one << width - 16 | one for one in patterns]
    for bits in (0, 1, 1 << width - 1, (1 << width) - 1, *patterns):
        (wanted,) = struct.unpack(form, bits.to_bytes(width // 8, "little"))
        if math.isnan(wanted):
            continue
        assert float_from_bits(bits, type) == wanted
        assert math.copysign(1, float_from_bits(bits, type)) == math.copysign(1, wanted)
    for bits in (-1, 1 << width):
        with pytest.raises(ValueError, match=f"is not {width} bits of {name}"):
            float_from_bits(bits, type)


def test_decimal_text_is_for_what_xdsl_prints_as_bits() -> None:
    """Numbers that need more than six digits, and have no point within them."""
    assert decimal_text(16777217.0, f64) == "1.6777217000000000e+07"
    assert decimal_text(16777216.0, f32) == "1.67772160e+07"
    assert decimal_text(123456.0, f32) is None
    assert decimal_text(1234567.5, f64) is None
    assert decimal_text(float(np.float32(1e30)), f32) is None
    assert decimal_text(math.inf, f32) is None
    assert decimal_text(math.nan, f64) is None
    assert decimal_text(16777216.0, bf16) is None
    for exponent in range(20, 60):
        value = float((1 << exponent) + 1)
        text = decimal_text(value, f64)
        assert text is None or float(text) == value


class Failing(LocatingParser):
    """A parser that fails before it has read anything."""

    def __init__(self, *_: object) -> None:
        raise self.error

    error: BaseException = ValueError()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("odd"), "odd"),
        (RecursionError(), "the text is nested too deeply to be parsed"),
        (QlowerError("known"), "known"),
    ],
    ids=["any", "depth", "own"],
)
def test_texts_that_have_no_first_token(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Failing, "error", error)
    with pytest.raises(QlowerError) as caught:
        parse_module("text", "m.mlir", parser=Failing)
    assert caught.value.message == message
    if caught.value is not error:
        assert caught.value.location == make_file_location("m.mlir", 1, 1)
