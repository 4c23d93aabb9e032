"""What rows of text say of options."""

from __future__ import annotations

import argparse

import pytest

from qlower.cli.rows import KINDS, add_rows

ROWS = """
models MODEL[=FILE] +  one model or more,
    in lines that go on
-o, --output FILE required  a file
--pair A B  two words
--order any|memory = any  one of two
--stack  whether
--stages N int = 2  a number
--max-ram BYTES bytes  a size
--crop N|HxW sizes = ''  a shape
--mean X[,Y] numbers = 0  numbers
--seed SEED int ? const 0  a number, or none
--port PORT=VALUE several  a list
--family either  or not
--float FILE as real  another name
@level qnn | the one that is meant
"""

SHARED = {"level": "[output]\n--at LEVEL = {0}  {1}\n--json const json as form  a word"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_rows(made, ROWS, SHARED)
    return made


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("n", "models", ["m", "n"]),
        ("", "output", "o"),
        ("--pair 1 2", "pair", ["1", "2"]),
        ("", "order", "any"),
        ("--order memory", "order", "memory"),
        ("", "stack", False),
        ("--stack", "stack", True),
        ("", "stages", 2),
        ("--max-ram 2K", "max_ram", 2048),
        ("", "crop", ()),
        ("--crop 2x3", "crop", (2, 3)),
        ("", "mean", (0.0,)),
        ("", "seed", None),
        ("--seed", "seed", 0),
        ("--seed 7", "seed", 7),
        ("", "port", []),
        ("--port a --port b", "port", ["a", "b"]),
        ("--no-family", "family", False),
        ("--float f", "real", "f"),
        ("", "at", "qnn"),
        ("--json", "form", "json"),
    ],
)
def test_values(words: str, name: str, value: object) -> None:
    found = parser().parse_args(["m", *words.split(), "--output", "o"])
    assert getattr(found, name) == value


def test_help() -> None:
    text = " ".join(parser().format_help().split())
    assert "one model or more, in lines that go on" in text
    assert "--pair A B two words" in text
    assert " output: --at LEVEL the one that is meant" in text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("share", "0.9", 0.9),
        ("share", "90%", 0.9),
        ("share", "100%", 1.0),
        ("share", "0", 0.0),
        ("share", "1", 1.0),
        ("share", "1.01", "'1.01' is not a share: 0.9, or 90%"),
        ("share", "-1%", "'-1%' is not a share: 0.9, or 90%"),
        ("share", "most", "'most' is not a share: 0.9, or 90%"),
        ("share", "nan", "'nan' is not a share: 0.9, or 90%"),
        ("names", "a,b", ["a", "b"]),
        ("names", "a", ["a"]),
        ("names", "", []),
        ("sizes", "224x112", (224, 112)),
        ("sizes", "", ()),
        ("numbers", "1,-2.5", (1.0, -2.5)),
        ("bytes", "65536", 65536),
        ("bytes", "64k", 65536),
        ("bytes", "3M", 3 << 20),
        ("bytes", "1G", "'1G' is no number of bytes, such as 65536 or 64K"),
        ("bytes", "", "'' is no number of bytes, such as 65536 or 64K"),
        ("bytes", "K", "'K' is no number of bytes, such as 65536 or 64K"),
    ],
)
def test_what_texts_are_read_as(kind: str, text: str, value: object) -> None:
    if isinstance(value, str):
        with pytest.raises(argparse.ArgumentTypeError) as caught:
            KINDS[kind](text)
        assert str(caught.value) == value
    else:
        assert KINDS[kind](text) == value


@pytest.mark.parametrize("words", ["m", "--output o", "m --output o --order most"])
def test_what_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(words.split())
    assert "error: " in capsys.readouterr().err
