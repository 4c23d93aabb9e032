"""The contract and the pass of another package, which is installed into a folder."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.cli.opt import main as opt
from qlower.files.contract_plugins import plugin_contracts

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What an installer would leave: the package, and what it says of itself."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    package = "qlower_plugin_example"
    shutil.copytree(EXAMPLE / package, site / package)
    info = site / f"{package}-{project['version']}.dist-info"
    info.mkdir()
    name, version = project["name"], project["version"]
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    lines: list[str] = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path / "cache"))
    Path("model.mlir").write_text(SMALL_MODEL)
    forget()
    yield site
    forget()


def forget() -> None:
    """Let the next test find its own copy of the package."""
    plugin_contracts.cache_clear()
    for module in [m for m in sys.modules if m.startswith("qlower_plugin_example")]:
        del sys.modules[module]


def test_the_contract_is_found_by_its_name(capsys: Capture, installed: Path):
    assert main(["contracts", "--format", "csv"]) == 0
    assert "halving" in capsys.readouterr().out
    x = np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)
    native = qlower.jit("model.mlir", contract="halving")(x)
    interpreted = qlower.interpret("model.mlir", x, contract="halving")
    np.testing.assert_array_equal(native, interpreted)
    assert isinstance(native, np.ndarray)
    assert not np.bitwise_and(native, 1).any()
    (file,) = installed.rglob("halving.mlir")
    file.write_text(file.read_text().replace("-2 : i32", "-4 : i32"))
    changed = qlower.jit("model.mlir", contract="halving")(x)
    assert isinstance(changed, np.ndarray)
    assert not np.bitwise_and(changed, 3).any()
    with pytest.raises(qlower.QlowerError, match="no contract 'halvin'") as caught:
        qlower.jit("model.mlir", contract="halvin")
    assert "did you mean halving?" in str(caught.value)


def test_the_pass_is_found_by_its_name(capsys: Capture):
    passes = "lower-qnn{contract=halving},count-rounding"
    assert opt(["model.mlir", "-p", passes]) == 0
    assert "example.roundings = " in capsys.readouterr().out
    options = ["--at", "arith", "--arith-passes", "count-rounding", "--timing"]
    assert main(["inspect", "model.mlir", *options]) == 0
    out, error = capsys.readouterr()
    assert "example.roundings = " in out
    assert "roundings found" in error
    compiled = ["compile", "model.mlir", "-o", "out", "--arith-passes"]
    assert main([*compiled, "count-rounding"]) == 0
    assert Path("out/model.o").exists()
    assert main([*compiled, "count-roundings"]) == 1
    assert "count-roundings" in capsys.readouterr().err


def test_a_contract_whose_file_is_missing(capsys: Capture, installed: Path):
    (file,) = installed.rglob("halving.mlir")
    file.unlink()
    assert main(["compile", "model.mlir", "-o", "out", "--contract", "halving"]) == 1
    error = capsys.readouterr().err
    assert "there is no halving.mlir in the package" in error
    assert "there is no contract 'halving'" in error
