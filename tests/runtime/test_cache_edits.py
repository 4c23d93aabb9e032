"""Edits of one directory at random: what the cache gives is what is compiled anew.

After each edit, native code from a cache that is kept for all of them is compared with
native code from an empty one, and with the interpreter. `QLOWER_CACHE_EDITS` says how
many edits there are (12, of the long test 1,000), `QLOWER_CACHE_SEED` which.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_cases import CASES
from support.layers.custom_contracts import ADDING
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower import contracts
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.kept.cache import DIRECTORY
from qlower.model.signature import Array
from qlower.runtime import objects

EDITS, SEED = "QLOWER_CACHE_EDITS", "QLOWER_CACHE_SEED"

NAMED = (*3 * ("onnxruntime", "xnnpack"), "nosuch")
"""Contracts of ours, which are soon read, and one that isn't there."""

PLAIN = 'module attributes {{contract.base = "{}"}} {{}}\n'


@dataclass
class Directory:
    """The working directory: two folders of the same files with other contents, a link
    to one of them, contracts of the user's and of another package; and options."""

    dice: random.Random
    patch: pytest.MonkeyPatch
    plugin: Path = field(default_factory=Path)
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    done: list[str] = field(default_factory=list[str])

    def make(self) -> None:
        for folder in ("1", "2"):
            Path(folder, "bases").mkdir(parents=True)
            text = SMALL_MODEL.replace('"tflite"', '"./own.mlir"')
            Path(folder, "model.mlir").write_text(text)
            Path(folder, "own.mlir").write_text(PLAIN.format("bases/b.mlir"))
            Path(folder, "bases", "b.mlir").write_text(PLAIN.format("c.mlir"))
            self.write_adding(Path(folder, "bases", "c.mlir"))
            self.write_adding(Path(folder, "npu.mlir"))
            if find_spec("onnx") is not None:
                write_external(Path(folder), self.dice)
        Path("current").symlink_to("1")
        Path("user.mlir").write_text(PLAIN.format("1/bases/b.mlir"))
        self.edit_plugin()

    @property
    def models(self) -> list[str]:
        found = [f"{f}/model.mlir" for f in ("1", "2", "current")]
        return [*found, *(str(path) for path in sorted(Path().glob("*/model.onnx")))]

    def edit(self) -> None:
        """Change one thing or two."""
        edits: Sequence[Callable[[], None]] = (
            *(self.edit_numbers, self.edit_numbers, self.edit_external),
            *(self.edit_contract, self.edit_contract, self.edit_base),
            *(self.edit_link, self.edit_plugin, self.edit_folder, self.edit_time),
            *(self.edit_options, self.edit_options, self.edit_environment),
            *(self.edit_layer, self.edit_cache, self.undo),
        )
        self.keep()
        for _ in range(self.dice.choice((1, 1, 1, 2))):
            chosen = self.dice.choice(edits)
            self.done.append(chosen.__name__)
            chosen()

    def edit_numbers(self) -> None:
        """Another weight, bias, scale or zero point, or another layer's."""
        path = Path(self.any_folder, "model.mlir")
        text = path.read_text()
        number = str(self.dice.randint(-90, 90))
        pattern, replacement = self.dice.choice(
            (
                (r"\[\[\[\[-?\d+\]", f"[[[[{number}]"),
                (r"\[-?\d+, -200\]", f"[{number}00, -200]"),
                (r"\[1, -?\d+, 3\]>", f"[1, {number}, 3]>"),
                (r"\[0, 0, -?\d+", f"[0, 0, {number}"),
                (r"1\.\d62500e-02:-128", f"1.{number[-1]}62500e-02:-128"),
                (r"e-02:1\d\d>", f"e-02:1{number[-1]}8>"),
            )
        )
        path.write_text(re.sub(pattern, replacement, text))

    def edit_external(self) -> None:
        """Another weight in a file beside a model."""
        for path in self.some(Path(self.any_folder).glob("w.bin")):
            data = bytearray(path.read_bytes())
            data[self.dice.randrange(len(data))] = self.dice.randrange(128)
            path.write_bytes(data)

    def edit_contract(self) -> None:
        """Another number that a contract adds; or another comment, or it goes."""
        path = self.any_contract
        match self.dice.randrange(6):
            case 0:
                text = path.read_text() if path.exists() else PLAIN.format("xnnpack")
                path.write_text(f"// {self.dice.random()}\n{text}")
            case 1:
                path.unlink(missing_ok=True)
            case _:
                self.write_adding(path)

    def edit_base(self) -> None:
        """Another base: a contract of ours, of another package, or a file."""
        path = self.any_contract
        bases = (*NAMED, "npu", os.path.relpath(self.any_contract, path.parent))
        path.write_text(PLAIN.format(self.dice.choice(bases)))

    def edit_link(self) -> None:
        """The other folder is the current one."""
        Path("current").unlink()
        Path("current").symlink_to(self.any_folder)

    def edit_plugin(self) -> None:
        """The other package's file is elsewhere."""
        self.plugin = Path(self.any_folder, "npu.mlir").absolute()
        for module in (contracts, objects):
            self.patch.setattr(module, "plugin_contracts", lambda: {"npu": self.plugin})

    def edit_folder(self) -> None:
        """The folders change places, or one becomes a copy of the other."""
        shutil.move("1", "old")
        if self.dice.randrange(2):
            shutil.move("2", "1")
            shutil.move("old", "2")
        else:
            shutil.copytree("2", "1")
            shutil.rmtree("old")

    def edit_time(self) -> None:
        """Nothing but when a file was written."""
        for path in self.some(Path(self.any_folder).rglob("*.*")):
            os.utime(path, (1, self.dice.randrange(10**9)))

    def edit_options(self) -> None:
        """Other options, or none."""
        self.options = {}
        host = host_target()
        choices: dict[str, Any] = {
            "contract": (*NAMED, "npu", "./user.mlir", str(self.any_contract)),
            "threads": (2,),
            "with_layers": (True,),
            "profile": (True,),
            **({"cpu": ("x86-64", "x86-64-v2")} if "x86" in host.triple else {}),
            "layer_contracts": ({"linear": self.dice.choice((*NAMED, "user.mlir"))},),
        }
        for name in self.dice.sample([*choices], self.dice.choice((0, 1, 2))):
            self.options[name] = self.dice.choice(choices[name])

    def edit_environment(self) -> None:
        """A variable of qlower's."""
        self.patch.setenv("QLOWER_ANYTHING", str(self.dice.randrange(3)))

    def edit_layer(self) -> None:
        """A layer names a contract of its own, or none."""
        path = Path(self.any_folder, "model.mlir")
        text = re.sub(r'\{contract = "[^"]*", ', "{", path.read_text())
        name = self.dice.choice((*NAMED, "npu", "own.mlir", "bases/c.mlir", ""))
        path.write_text(
            text.replace("{stride", f'{{contract = "{name}", stride') if name else text
        )

    def edit_cache(self) -> None:
        """Entries are damaged, change places, or go."""
        entries = sorted(Path("cache").glob("*.*"))
        for path in self.dice.sample(entries, min(len(entries), 5)):
            data = path.read_bytes()
            match self.dice.randrange(4):
                case 0:
                    path.unlink()
                case 1:
                    path.write_bytes(data[: self.dice.randrange(len(data) + 1)])
                case 2:
                    path.write_bytes(self.dice.choice(entries).read_bytes())
                case _:
                    place = self.dice.randrange(len(data) + 1)
                    path.write_bytes(data[:place] + b"?" + data[place + 1 :])

    def undo(self) -> None:
        """As it was after some edit before."""
        shutil.rmtree("1")
        shutil.rmtree("2")
        kept = self.dice.choice([*self.kept])
        for folder in ("1", "2"):
            shutil.copytree(kept / folder, folder)

    def mend(self) -> None:
        """Most of what may be refused is as it was in the beginning."""
        self.options = {}
        Path("user.mlir").write_text(PLAIN.format("1/bases/b.mlir"))
        for folder in ("1", "2"):
            model = Path(folder, "model.mlir")
            model.write_text(model.read_text().replace('"nosuch"', '"npu"'))
            Path(folder, "own.mlir").write_text(PLAIN.format("bases/b.mlir"))
            Path(folder, "bases", "b.mlir").write_text(PLAIN.format("c.mlir"))
            for path in (Path(folder, "bases", "c.mlir"), Path(folder, "npu.mlir")):
                self.write_adding(path)

    def keep(self) -> None:
        """Keep what the folders hold for `undo`, of the last few times."""
        place = Path("kept", str(len(self.done) % 8))
        shutil.rmtree(place, ignore_errors=True)
        for folder in ("1", "2"):
            shutil.copytree(folder, place / folder)

    @property
    def kept(self) -> Iterator[Path]:
        return (path for path in Path("kept").iterdir())

    @property
    def any_folder(self) -> str:
        return self.dice.choice("12")

    @property
    def any_contract(self) -> Path:
        names = ("own.mlir", "npu.mlir", "../user.mlir", "bases/b.mlir", "bases/c.mlir")
        return Path(os.path.normpath(f"{self.any_folder}/{self.dice.choice(names)}"))

    def some(self, paths: Iterator[Path]) -> list[Path]:
        found = sorted(paths)
        return [self.dice.choice(found)] if found else []

    def write_adding(self, path: Path) -> None:
        added = self.dice.randrange(40)
        path.write_text(ADDING.format(base="onnxruntime", added=added))


def write_external(folder: Path, dice: random.Random) -> None:
    """An ONNX file with weights in a file beside it."""
    onnx: Any = import_module("onnx")
    model = onnx.ModelProto.FromString(CASES["conv"]().build())
    tensor = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    (folder / "w.bin").write_bytes(dice.randbytes(len(tensor.raw_data)))
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    (folder / "model.onnx").write_bytes(model.SerializeToString())


INPUTS = {".mlir": (np.int8, (1, 2, 2, 1)), ".onnx": (np.uint8, (1, 3, 7, 6))}
"""Type and shape of the only input of each kind of model."""

Found = tuple[list[Array], dict[str, Array]] | str
"""Outputs and layers, or what an error says."""


def native(model: str, inputs: Sequence[Array], options: dict[str, Any]) -> Found:
    try:
        return result(qlower.jit(model, **options).run(inputs, {}))
    except QlowerError as error:
        return str(error)


def interpreted(model: str, inputs: Sequence[Array], options: dict[str, Any]) -> Found:
    names = ("contract", "with_layers", "layer_contracts")
    meant = {name: options[name] for name in names if name in options}
    try:
        return result(Compilation(model, **meant).interpreter().run(inputs, {}))
    except QlowerError as error:
        return str(error)


def result(found: tuple[tuple[Array, ...], dict[str, Array]]) -> Found:
    outputs, layers = found
    return [*outputs], layers


def are_equal(one: Found, other: Found) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    pairs = [*zip(one[0], other[0], strict=True)]
    pairs += [(one[1][name], other[1][name]) for name in one[1] | other[1]]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    "count", [6, pytest.param(1000, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_edits(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seed = int(os.environ.pop(SEED, "1"))
    count = int(os.environ.pop(EDITS, str(count)))
    monkeypatch.chdir(tmp_path)
    directory = Directory(random.Random(seed), monkeypatch)
    directory.make()
    numbers = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        directory.edit()
        model = directory.dice.choice(directory.models)
        given = directory.dice.choice((model, f"{tmp_path}/{model}"))
        dtype, shape = INPUTS[Path(model).suffix]
        inputs = [numbers.integers(0, 256, shape, np.uint8).view(dtype)]
        options = directory.options
        with monkeypatch.context() as patch:
            patch.setenv(DIRECTORY, f"{tmp_path}/none-{number}")
            fresh = native(given, inputs, options)
        with monkeypatch.context() as patch:
            patch.setenv(DIRECTORY, f"{tmp_path}/cache")
            kept = native(given, inputs, options)
        expected = interpreted(given, inputs, options)
        shutil.rmtree(f"none-{number}", ignore_errors=True)
        what = f"edit {number} of seed {seed}, {directory.done[-3:]}, {given} {options}"
        assert are_equal(kept, fresh), f"{what}: the cache gives {kept}, not {fresh}"
        assert are_equal(fresh, expected), f"{what}: {fresh} is not {expected}"
        if isinstance(fresh, str):
            seen["refused"] += 1
            directory.mend()
        else:
            seen["ran"] += 1
            seen["outputs"] += sum(array.size for array in fresh[0])
    print(f"{count} edits: {dict(seen)}, {Counter(directory.done)}")
    assert seen["ran"] > count / 3
