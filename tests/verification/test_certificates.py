"""Certificates: the checker, which needs no qlower, accepts them and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support import models_directory
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_models import fully_connected
from support.lanes import LARGE_VARIABLE, is_asked_for

from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.make import write_certificate

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
HELLO = models_directory() / "hello_world_int8" / "model.tflite"
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"
MOBILENET = models_directory() / "mobilenet_v2_1.0_224_int8" / "model.tflite"
LINEAR = 9
"""The code of FULLY_CONNECTED."""

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
    assert len(source.splitlines()) <= 400
    imported = re.findall(r"^(?:import|from) (\w+)", source, re.M)
    assert set(imported) <= sys.stdlib_module_names


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
    yield {"differs": (entry["low"] + entry["high"]) // 2}
    yield {"differs": entry["high"] + 1}
    yield {**entry, "more": 0}


def rules_in(folder: Path) -> list[Any]:
    return [json.loads((folder / f"{side}.json").read_bytes()) for side in "ab"]


def rejects_all(
    model: Path, folder: Path, pair: tuple[str, str], channels: int, stride: int
) -> int:
    """How many mutated entries of some channels of each operator are rejected: all."""
    write_certificate(*pair, model, folder)
    record = json.loads((folder / "certificate.json").read_text())
    read = check_certificate.read_model(model.read_bytes())
    contracts = rules_in(folder)
    calls: list[tuple[Any, ...]] = []
    original = check_certificate.check_channel

    def recorded(*arguments: Any) -> bool:
        calls.append(arguments)
        return original(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_certificate, "check_channel", recorded)
        for number, entries in record["operators"].items():
            begin = len(calls)
            check_certificate.check_operator(read[int(number)], contracts, entries)
            del calls[begin + channels :]
    count = 0
    for programs, entry, *bounds in calls:
        if "steps" not in entry:
            continue
        for mutated in mutations(deepcopy(entry), stride):
            with pytest.raises((ValueError, TypeError)):
                original(programs, mutated, *bounds)
            count += 1
    return count


@pytest.mark.long
def test_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(HELLO)
    assert rejects_all(HELLO, tmp_path, ("tflm", "tosa-double"), 1, 32) > 100


@LONG
def test_all_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(RESNET)
    assert rejects_all(RESNET, tmp_path, ("tflite", "tosa-double"), 2, 1) > 10_000


@pytest.mark.long
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
        record | {"format": "qlower certificate 1"},
        record | {"operators": {}},
        record | {"operators": record["operators"] | {first: [{}]}},
        record | {"note": "trust me"},
    ]
    for one in planted:
        path.write_text(json.dumps(one))
        code, shown = check(HELLO, tmp_path)
        assert code == 1
        assert "rejected: " in shown
    path.write_text(text.replace("{", '{"operators": {}, ', 1))
    code, shown = check(HELLO, tmp_path)
    assert code == 1
    assert "a key is there twice" in shown


def test_a_changed_contract_or_weight_is_rejected_without_hashes(
    tmp_path: Path,
) -> None:
    needs(HELLO)
    write_certificate("tflm", "tosa-double", HELLO, tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    contracts = rules_in(tmp_path)
    data = HELLO.read_bytes()
    model = check_certificate.read_model(data)
    number, entries = next(
        (int(number), entries)
        for number, entries in record["operators"].items()
        if model[int(number)][0] == LINEAR
    )

    def accepts(model: bytes, contracts: list[Any]) -> bool:
        one = check_certificate.read_model(model)[number]
        try:
            check_certificate.check_operator(one, contracts, entries)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return False
        return True

    assert accepts(data, contracts)
    text = json.dumps(contracts[0])
    floor = text.replace('["right", "half_away"', '["right", "floor"')
    assert floor != text
    assert not accepts(data, [json.loads(floor), contracts[1]])
    _, _, inputs, _ = model[number]
    weights = bytes(w & 255 for w in inputs[1].numbers())
    assert data.count(weights) == 1
    changed = data.replace(weights, bytes([weights[0] ^ 1, *weights[1:]]))
    assert not accepts(changed, contracts)


def test_a_layer_without_a_bias(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(fully_connected(has_bias=False, per_axis=True))
    write_certificate("tflite", "tflite", path, tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    ((number, entries),) = record["operators"].items()
    one = check_certificate.read_model(path.read_bytes())[int(number)]
    assert len(one[2]) == 2
    found = check_certificate.check_operator(one, rules_in(tmp_path), entries)
    assert found == [True] * 5


@pytest.mark.parametrize("is_old", [False, True])
def test_an_operator_has_its_code_in_either_field(is_old: bool) -> None:
    """Files from before 2020 have the first alone; codes beyond 127 are in the other,
    and 127 in the first."""
    schema: Any = pytest.importorskip("tflite", reason="tflite is not installed")
    builder = TFLiteBuilder()
    x, y = (builder.tensor(name, (4,), scale=0.1) for name in "xy")
    builder.operator("LOGISTIC" if is_old else "GELU", [x], [y])
    data = bytearray(builder.build([x], [y]))
    if is_old:
        table = schema.Model.GetRootAs(data, 0).OperatorCodes(0)._tab
        place = table.Pos + table.Offset(10)  # its fourth field
        assert data[place : place + 4] == bytes([14, 0, 0, 0])
        data[place : place + 4] = bytes(4)
    ((code, _, (one,), result),) = check_certificate.read_model(bytes(data))
    assert code == (14 if is_old else 150)
    assert list(one.shape) == list(result.shape) == [4]


def test_only_tflite_files_have_certificates(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"about a \.tflite file"):
        write_certificate("tflm", "tosa-double", DIGITS, tmp_path)


@LONG
def test_every_channel_of_mobilenet_is_accepted(tmp_path: Path) -> None:
    needs(MOBILENET)
    write_certificate("tflite", "tosa-double", MOBILENET, tmp_path)
    code, text = check(MOBILENET, tmp_path)
    assert code == 0, text
