"""Numbers of more digits than Python converts are refused in our words, where they
stand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from qlower.cli.given import shapes
from qlower.diagnostics import QlowerError
from qlower.files.digits import MOST_DIGITS, TOO_LONG, is_number, reason
from qlower.files.json_text import parse_json
from qlower.kept.cache import LIMIT, cache_limit
from qlower.text.parsing import parse_module
from qlower.validation.labels import read_labels

LONG = "9" * 5000

TEXTS = {
    "type": f"tensor<{LONG}xi8>",
    "width": f"i{LONG}",
    "zero point": f"!quant.uniform<i8:f32, 0.5:{LONG}>",
    "map": f"memref<2xi8, affine_map<(d0) -> (d0 + {LONG})>>",
    "elements": f"tensor<2xi8, dense<{LONG}> : tensor<2xi8>>",
    "list": f"tensor<2xi8, dense<[1, {LONG}]> : tensor<2xi8>>",
    "array": f"tensor<2xi8, array<i8: {LONG}>>",
    "attribute": f"tensor<2xi8, {LONG} : i32>",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    with pytest.raises(QlowerError) as caught:
        parse_module(f"\nfunc.func private @f({TEXTS[name]})", "x.mlir")
    assert TOO_LONG in caught.value.message
    assert str(caught.value).startswith("x.mlir:2:")
    assert "sys." not in str(caught.value)


def test_json() -> None:
    with pytest.raises(ValueError, match=f"^{TOO_LONG}$"):
        parse_json(f'{{"a": [{LONG}]}}')


def test_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"1\n{LONG}\n")
    with pytest.raises(
        QlowerError, match=r"labels.csv:2:1: error: '9{40}' is no label"
    ):
        read_labels(path)


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, LONG)
    with pytest.raises(QlowerError, match="not a number of megabytes"):
        cache_limit()
    with pytest.raises(QlowerError, match="is not NAME=SIZExSIZE"):
        shapes([f"x=1x{LONG}"])


def test_what_is_a_number() -> None:
    assert all(map(is_number, ("0", "9" * MOST_DIGITS)))
    assert not any(map(is_number, ("", "-1", "\u00b2", "9" * (MOST_DIGITS + 1))))
    assert reason(ValueError("other")) == "other"
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(MOST_DIGITS)
    try:
        assert int("9" * MOST_DIGITS)  # whatever the limit is
    finally:
        sys.set_int_max_str_digits(before)
