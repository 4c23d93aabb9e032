"""Certificates: the checker, which needs no qlower, accepts them and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support import models_directory
from support.lanes import LARGE_VARIABLE, is_asked_for

from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.make import write_certificate

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
HELLO = models_directory() / "hello_world_int8" / "model.tflite"
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"
MOBILENET = models_directory() / "mobilenet_v2_1.0_224_int8" / "model.tflite"
LONG = pytest.mark.skipif(
    not is_asked_for(LARGE_VARIABLE), reason=f"minutes: {LARGE_VARIABLE} isn't set"
)


def check(model: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-I", str(folder / "check.py"), str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def needs(model: Path) -> None:
    if not model.exists():
        pytest.skip(f"{model} is not there")


def test_the_checker_accepts_and_says_what_it_does_not_cover(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(HELLO)
    command = ["verify", str(HELLO), "--equal", "tflm", "tosa-double"]
    assert main([*command, "--certificate", str(tmp_path)]) == 0
    assert f"check.py {HELLO}` checks it" in capsys.readouterr().out
    code, text = check(HELLO, tmp_path)
    assert code == 0, text
    assert "channels equal, 0 differ, 0 rejected." in text
    source = (tmp_path / "check.py").read_text()
    assert "import qlower" not in source
    assert "from qlower" not in source


def test_a_difference_is_certified_too(tmp_path: Path) -> None:
    needs(HELLO)
    write_certificate("tflite", "tflm", HELLO, tmp_path)
    code, text = check(HELLO, tmp_path)
    assert code == 1
    assert " 0 rejected." in text
    assert " 0 differ" not in text


def mutations(entry: dict[str, Any], stride: int) -> Iterator[dict[str, Any]]:
    """Every field of a channel's entry changed, and every interval, or one of `stride`,
    moved, cut or joined with the next."""
    for key, value in entry.items():
        yield {name: one for name, one in entry.items() if name != key}
        yield {**entry, key: None}
        if isinstance(value, int):
            yield from ({**entry, key: value + more} for more in (-1, 1))
            yield {**entry, key: float(value)}
    steps = entry["steps"]
    for at in range(0, len(steps), stride):
        distance = steps[at]
        for more in (-1, 1):
            yield {**entry, "steps": [*steps[:at], distance + more, *steps[at + 1 :]]}
            moved = [distance + more, *(one - more for one in steps[at + 1 : at + 2])]
            yield {**entry, "steps": [*steps[:at], *moved, *steps[at + 2 :]]}
        yield {**entry, "steps": [*steps[:at], *steps[at + 1 :]]}
        yield {**entry, "steps": [*steps[:at], distance, 0, *steps[at + 1 :]]}
        yield {**entry, "steps": [*steps[:at], distance / 1, *steps[at + 1 :]]}
    middle = (entry["low"] + entry["high"]) // 2
    yield {"differs": middle}
    yield {"differs": entry["high"] + 1}
    yield {**entry, "more": 0}


def rejects_all(
    model: Path, folder: Path, pair: tuple[str, str], channels: int, stride: int
) -> int:
    """How many mutated entries of some channels of each operator are rejected: all."""
    write_certificate(*pair, model, folder)
    record = json.loads((folder / "certificate.json").read_text())
    read = check_certificate.Model(model.read_bytes())
    texts = [(folder / f"{side}.mlir").read_text() for side in "ab"]
    contracts = [check_certificate.Contract(text) for text in texts]
    calls: list[tuple[Any, ...]] = []
    original = check_certificate.check_channel

    def recorded(*arguments: Any) -> bool:
        calls.append(arguments)
        return original(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_certificate, "check_channel", recorded)
        for number, entries in record["operators"].items():
            begin = len(calls)
            check_certificate.check_operator(read, int(number), contracts, entries)
            del calls[begin + channels :]
    count = 0
    for programs, entry, *bounds in calls:
        if "steps" not in entry:
            continue
        for mutated in mutations(deepcopy(entry), stride):
            with pytest.raises((check_certificate.Rejected, TypeError)):
                original(programs, mutated, *bounds)
            count += 1
    return count


def test_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(HELLO)
    assert rejects_all(HELLO, tmp_path, ("tflm", "tosa-double"), 1, 32) > 100


@LONG
def test_all_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(RESNET)
    assert rejects_all(RESNET, tmp_path, ("tflite", "tosa-double"), 2, 1) > 10_000


def test_other_models_contracts_and_records_are_rejected(tmp_path: Path) -> None:
    needs(HELLO)
    write_certificate("tflm", "tosa-double", HELLO, tmp_path)
    path = tmp_path / "certificate.json"
    text = path.read_text()
    record = json.loads(text)
    model = bytearray(HELLO.read_bytes())
    model[-1] ^= 1
    (tmp_path / "other.tflite").write_bytes(model)
    code, shown = check(tmp_path / "other.tflite", tmp_path)
    assert code == 1
    assert "about another model" in shown
    first = next(iter(record["operators"]))
    planted = [
        record | {"format": "qlower certificate 2"},
        record | {"operators": {}},
        record | {"operators": record["operators"] | {first: [{}]}},
        record | {"note": "trust me"},
    ]
    for one in planted:
        path.write_text(json.dumps(one))
        code, shown = check(HELLO, tmp_path)
        assert code == 1
        assert "rejected: " in shown


def test_a_changed_contract_or_weight_is_rejected_without_hashes(
    tmp_path: Path,
) -> None:
    needs(HELLO)
    write_certificate("tflm", "tosa-double", HELLO, tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    texts = [(tmp_path / f"{side}.mlir").read_text() for side in "ab"]
    data = HELLO.read_bytes()
    number, entries = next(iter(record["operators"].items()))

    def accepts(model: bytes, contracts: list[str]) -> bool:
        read = check_certificate.Model(model)
        made = [check_certificate.Contract(text) for text in contracts]
        try:
            check_certificate.check_operator(read, int(number), made, entries)
        except (check_certificate.Rejected, ArithmeticError, LookupError, TypeError):
            return False
        return True

    if number != "0":  # the first operator may be one of bytes
        number, entries = list(record["operators"].items())[1]
    assert accepts(data, texts)
    half_up = texts[0].replace("rounding = half_away", "rounding = floor")
    assert half_up != texts[0]
    assert not accepts(data, [half_up, texts[1]])
    read = check_certificate.Model(data)
    inputs = list[int](read.operators[int(number)].vector(1, "i"))
    weights = bytes(w & 255 for w in read.constant(inputs[1], "b"))
    assert data.count(weights) == 1
    changed = data.replace(weights, bytes([weights[0] ^ 1, *weights[1:]]))
    assert not accepts(changed, texts)


def test_only_tflite_files_have_certificates(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"about a \.tflite file"):
        write_certificate("tflm", "tosa-double", DIGITS, tmp_path)


@LONG
def test_every_channel_of_mobilenet_is_accepted(tmp_path: Path) -> None:
    needs(MOBILENET)
    write_certificate("tflite", "tosa-double", MOBILENET, tmp_path)
    code, text = check(MOBILENET, tmp_path)
    assert code == 0, text
