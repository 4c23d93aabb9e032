"""A certificate of each kind of operator is accepted as it is written, no other is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.formats.tflite_cases import CASES
from support.formats.tflite_word_cases import WORDS

from qlower.diagnostics import QlowerError
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.make import write_certificate

Capture = pytest.CaptureFixture[str]

EQUAL = {
    **{"conv2d_same_strided": 6, "conv2d_uint8": 6, "conv2d_clipped": 6},
    **{"depthwise_conv2d_multiplier": 6, "fully_connected_no_bias": 5},
    **{"mean": 1, "requantize_sign": 1},
    **dict.fromkeys(("conv2d_float", "conv2d_hybrid", "quantize", "dequantize"), 0),
    **dict.fromkeys(("words conv2d", "words requantize_to_bytes", "words mean"), 0),
}
"""The channels that are covered, of files of one operator."""


def written(name: str, folder: Path, a: str = "tflite", b: str = "tflite") -> Path:
    kind, _, word = name.partition(" ")
    make: Callable[[], bytes] = (lambda: WORDS[word](0)) if word else CASES[kind]
    path = folder / "model.tflite"
    path.write_bytes(make())
    write_certificate(a, b, path, folder)
    return path


def check(path: Path, capsys: Capture) -> tuple[int, str]:
    code = check_certificate.main([str(path), str(path.parent)])
    return code, capsys.readouterr().out


@pytest.mark.parts(2)
@pytest.mark.parametrize("name", EQUAL)
def test_a_contract_and_itself(name: str, tmp_path: Path, capsys: Capture) -> None:
    """Operators on anything but bytes are said not to be covered."""
    code, told = check(written(name, tmp_path), capsys)
    count = EQUAL[name]
    assert code == 0
    whole = f"{int(count > 0)} operators: {count} channels equal, 0 differ, 0 rejected."
    assert told.startswith(whole)
    rest = "none" if count else "0"
    assert f"\nNot covered: operators {rest}; " in told


def test_channels_that_differ(tmp_path: Path, capsys: Capture) -> None:
    path = written("fully_connected_no_bias", tmp_path, b="tflm")
    code, told = check(path, capsys)
    assert code == 1
    assert told.startswith("1 operators: 0 channels equal, 5 differ, 0 rejected.")


@pytest.mark.parametrize("name", ["avg_pool2d", "fully_connected_computed"])
def test_layers_without_a_certificate(name: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"layer y0? has no certificate: "):
        written(name, tmp_path)
    assert not (tmp_path / "certificate.json").exists()


OTHER_MODEL = "about another model or other contracts, by SHA-256"
OTHER_FORMAT = "not in the format "


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "qlower certificate 0"}, OTHER_FORMAT),
        ({"note": "trust me"}, OTHER_FORMAT),
        ({"sha256": []}, OTHER_MODEL),
        ({"sha256": ["0" * 64] * 3}, OTHER_MODEL),
        ({"operators": {}}, "about other operators than the model has"),
        ({"operators": {"1": []}}, "about other operators than the model has"),
        ({"operators": {"0": []}}, "operator 0: ValueError('there are 5 channels')"),
        ({"operators": {"0": [{}] * 5}}, "operator 0: "),
        ({"operators": {"0": None}}, "operator 0: TypeError("),
    ],
)
def test_forged_records(
    change: dict[str, object], told: str, tmp_path: Path, capsys: Capture
) -> None:
    """What is rejected first is said, and nothing is called equal."""
    path = written("fully_connected_no_bias", tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    (tmp_path / "certificate.json").write_text(json.dumps({**record, **change}))
    code, found = check(path, capsys)
    assert code == 1
    assert re.search(r": 0 channels equal, 0 differ, 1 rejected\.\n", found)
    assert f"\nrejected: {told}" in found


@pytest.mark.parametrize("file", ["model.tflite", "a.json", "b.json"])
def test_other_files(file: str, tmp_path: Path, capsys: Capture) -> None:
    path = written("fully_connected_no_bias", tmp_path)
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(data + (b" " if file != path.name else b"\0"))
    code, told = check(path, capsys)
    assert code == 1
    assert f"rejected: {OTHER_MODEL}" in told


def test_a_key_that_is_there_twice(tmp_path: Path, capsys: Capture) -> None:
    path = written("mean", tmp_path)
    text = (tmp_path / "certificate.json").read_text()
    twice = text.replace("{", '{"format": "x", ', 1)
    (tmp_path / "certificate.json").write_text(twice)
    code, told = check(path, capsys)
    assert code == 1
    assert "\nrejected: a key is there twice" in told
