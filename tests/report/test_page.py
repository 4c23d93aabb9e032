"""The page as text: what it holds, what it may do, and that names are only names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.report.layers import Limits
from qlower.report.measures import Measure
from qlower.report.page import policy
from qlower.verification.equal import equal

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
ROOM = Path(qlower.__file__).parent / "report"
HOSTILE = r"</script><img src=x onerror=alert(1)>\22 \27&amp;<!--\0A${x}"
"""A name as MLIR writes it: quotes, a line break, the ends of what it may stand in."""

SHOWN = "</script><img src=x onerror=alert(1)>\" '&amp;<!--\\n${x}"
"""The same on the page."""


@dataclass
class Parsed(HTMLParser):
    """A page as a browser reads it: elements with attributes, and scripts by id."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    scripts: dict[str, str] = field(default_factory=dict)
    style: str = ""
    _inside: str | None = None

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        self._inside = found.get("id", "") if tag == "script" else None
        if tag == "style":
            self._inside = "style"

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.style += data
        elif self._inside is not None:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data

    def layer(self, number: int) -> Any:
        """What is told of a layer."""
        return json.loads(
            zlib.decompress(base64.b64decode(self.scripts[f"layer-{number}"]))
        )

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        return [
            found
            for name, found in self.tags
            if name == tag and attributes.items() <= found.items()
        ]


def parse(html: str) -> Parsed:
    parsed = Parsed()
    parsed.feed(html)
    parsed.close()
    return parsed


def small(text: str = SMALL_MODEL) -> qlower.Model:
    return load_text(text.encode(), "small.mlir", ImportOptions())


@pytest.fixture(scope="module")
def report() -> qlower.Report:
    return qlower.make_report(
        small(), contract="tflite", against="tvm", native=False, verify=True
    )


@pytest.fixture(scope="module")
def page(report: qlower.Report) -> Parsed:
    return parse(report.html())


@pytest.mark.long
def test_the_page_runs_its_own_script_alone(page: Parsed) -> None:
    (meta,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    parts = dict(part.split(" ", 1) for part in meta["content"].split("; "))
    assert parts["default-src"] == "'none'"
    assert parts["base-uri"] == parts["form-action"] == "'none'"
    for name, text in (("script-src", page.scripts[""]), ("style-src", page.style)):
        digest = hashlib.sha256(text.encode()).digest()
        assert parts[name] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert page.scripts[""] == (ROOM / "page.js").read_text()
    assert page.style == (ROOM / "page.css").read_text()
    assert page.tags.index(("meta", meta)) < min(
        number
        for number, (tag, _) in enumerate(page.tags)
        if tag in ("style", "script")
    )


def test_nothing_is_loaded_and_nothing_is_inline(page: Parsed) -> None:
    for tag, attributes in page.tags:
        assert not {"src", "href", "style", "srcset", "action"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "img", "iframe", "object"})
    assert "url(" not in page.style
    assert "@import" not in page.style
    for word in (
        "innerHTML",
        "outerHTML",
        "eval(",
        "fetch(",
        "document.write",
        "http:",
    ):
        found = page.scripts[""].replace("http://www.w3.org/2000/svg", "").count(word)
        assert not found, word
    types = {found["type"] for found in page.all("script") if "type" in found}
    assert types == {"application/json", "text/plain"}


def test_the_page_is_for_the_keyboard_and_for_screen_readers(page: Parsed) -> None:
    nodes = page.all("g", role="option")
    assert [node["tabindex"] for node in nodes] == ["0"] + ["-1"] * (len(nodes) - 1)
    assert [node["aria-label"].split(", ")[0] for node in nodes] == [
        "image",
        "conv",
        "flat",
        "scores",
        "scores",
    ]
    assert page.all("svg", role="listbox")
    (search,) = page.all("input", role="combobox")
    assert page.all("ul", id=search["aria-controls"], role="listbox")
    assert page.all("label", **{"for": search["id"]})
    assert page.all("html", lang="en")
    assert page.all("p", role="status")
    for button in page.all("button"):
        assert button["type"] == "button"
    data = json.loads(page.scripts["data"])
    up, right, down, left = range(4)
    assert data["nodes"]["1"]["next"][up] == 0
    assert data["nodes"]["1"]["next"][down] == 2
    assert data["nodes"]["1"]["next"][left] == data["nodes"]["1"]["next"][right] == -1


def test_colours_are_told_in_words_and_bars(page: Parsed) -> None:
    data = json.loads(page.scripts["data"])
    assert [one["key"] for one in data["measures"]] == ["alone", "carried", "saturated"]
    assert [found["value"] for found in page.all("input", type="radio")] == [
        one["key"] for one in data["measures"]
    ]
    for measure in data["measures"]:
        assert len(measure["legend"]) == 6
        assert sorted(measure["order"]) == list(range(5))
        for colour, text, bar, share in measure["nodes"].values():
            assert text
            assert share.endswith(" %")
            assert bar == 220 * colour // 5


@pytest.mark.parametrize(
    "shares",
    [[], [0.0], [0.25], [0.1, 0.1], [1e-6, 0.0, 1.0], [0.0007, 0.0021, 0.0009]],
)
def test_colours_are_fitted_to_what_layers_have(shares: list[float]) -> None:
    names = {str(number): share for number, share in enumerate(shares)}
    measure = Measure("key", "title", "about", names, dict.fromkeys(names, ""))
    assert measure.edges == sorted(set(measure.edges))
    assert len(measure.legend) == 6
    assert len(set(measure.legend)) == 6
    found = {share: measure.colour(name) for name, share in names.items()}
    assert all((colour == 0) == (share == 0) for share, colour in found.items())
    if any(shares):
        assert found[max(shares)] == 5
        spread = max(shares) / min(share for share in shares if share) > 3
        assert not spread or found[min(filter(None, shares))] == 1


def test_the_verdict_comes_first(page: Parsed) -> None:
    image = np.load(DIGITS / "images" / "3.npy")
    report = qlower.make_report(
        DIGITS / "digits.mlir", image, against="tvm", native=False
    )
    found = qlower.diff("tflite", "tvm", DIGITS / "digits.mlir", image)
    apart = sum(bool(row.alone and row.alone.differing) for row in found.layers)
    last = found.layers[-1].carried
    assert last is not None
    first, *others = report.verdict
    assert first.startswith(f"tflite and tvm: {apart} of 7 layers differ")
    assert first.endswith(
        f"outputs: {last.differing} of {last.elements} elements differ"
    )
    assert others == found.verdict
    tags = [(tag, found.get("id")) for tag, found in page.tags]
    assert tags.index(("div", "verdict")) < tags.index(("details", "about"))
    assert tags.index(("details", "about")) < tags.index(("svg", "graph"))


def test_layers_are_counted_where_nothing_is_compared() -> None:
    """The first input of a set is shown."""
    images = np.load(DIGITS / "test_images.npy")[:2]
    report = qlower.make_report(DIGITS / "digits.mlir", images, native=False)
    assert report.verdict == ["7 layers by tflite"]
    alone = qlower.make_report(DIGITS / "digits.mlir", images[:1], native=False)
    assert report.layers == alone.layers


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 has it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_text_is_readable_in_light_and_in_dark(page: Parsed) -> None:
    schemes = re.findall(r":root \{(.*?)\}", page.style, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        pairs = [(f"c{n}", f"c{n}-ink") for n in range(6)]
        pairs += [
            ("paper", "ink"),
            ("soft", "ink"),
            ("paper", "faint"),
            ("soft", "faint"),
        ]
        for fill, ink in pairs:
            low, high = sorted(luminance(found[name]) for name in (fill, ink))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (fill, ink)


def kinds(blocks: Any) -> list[str]:
    return [block["kind"] for block in blocks]


def test_a_layer_opens_to_all_that_is_known(page: Parsed) -> None:
    blocks = page.layer(1)
    titles = {block["title"]: block for block in blocks}
    assert {"layer", "divergence", "pictures", "result", "scales"} <= set(titles)
    assert {"ranges", "proof", "qnn", "arith", "kernel"} <= set(titles)
    verdict = {b["title"]: b for b in page.layer(3)}["tflite and tvm for all inputs"]
    assert verdict["rows"] == [
        ["differs", "1/3", "32,388", "[0,1] at -2,434: 118 | 119"]
    ]
    assert verdict["notes"] == []
    facts = dict(titles["layer"]["rows"])
    assert facts["kernel"] == "1x1"
    assert facts["stride"] == "1x1"
    assert facts["pad"] == "0 0 0 0"
    (strip,) = (block for block in blocks if block["kind"] == "strip")
    assert [text.split(":")[0] for _, text in strip["marks"]] == [
        "channel 0",
        "channel 1",
    ]
    assert [at for at, _ in strip["marks"]] == [0, 1000]
    assert "qnn.conv2d" in titles["qnn"]["text"]
    assert "fixed.shift_right" in titles["arith"]["text"]
    assert ["proved for every accumulator", "2 of 2 channels"] in titles["proof"][
        "rows"
    ]
    assert sum(int(bar[1]) for bar in titles["result"]["bars"]) == 8
    assert titles["pictures"]["items"][0]["title"] == "differences alone"
    assert kinds(page.layer(2)).count("elements") == 0  # it moves elements


def test_chains_are_those_of_trace(report: qlower.Report, page: Parsed) -> None:
    model = small()
    image = np.random.default_rng(0).integers(-128, 127, (1, 2, 2, 1), endpoint=True)
    (elements,) = (one for one in page.layer(1) if one["kind"] == "elements")
    assert len(elements["items"]) == 8
    whys = " ".join(item["why"] for item in elements["items"])
    for why in (
        "least",
        "greatest",
        "nearest to a tie of",
        "cut at the low end",
        "any",
    ):
        assert why in whys
    for item in elements["items"]:
        at = f"conv{item['at']}"
        trace = qlower.trace(model, image.astype(np.int8), at=at, contract="tflite")
        assert item["value"].startswith(str(trace.result))
        assert str(trace.sum) == item["lines"][0]


def test_divergence_is_that_of_diff(report: qlower.Report) -> None:
    image = np.random.default_rng(0).integers(-128, 127, (1, 2, 2, 1), endpoint=True)
    found = qlower.diff("tflite", "tvm", small(), image.astype(np.int8))
    measures = {measure.key: measure for measure in report.measures}
    for row in found.layers:
        assert row.alone is not None
        share = row.alone.differing / row.alone.elements
        assert measures["alone"].shares[row.name] == share


def test_names_are_only_names() -> None:
    text = SMALL_MODEL.replace('"image"', f'"{HOSTILE}"')
    line = "-> tensor<1x2x2x2x!mid>\n    %flat"
    assert line in text
    named = f'-> tensor<1x2x2x2x!mid> loc("{HOSTILE}"("inside{HOSTILE}"))\n    %flat'
    model = small(text.replace(line, named))
    report = qlower.make_report(model, against="tvm", native=False)
    page = parse(report.html())
    data = json.loads(page.scripts["data"])
    assert data["nodes"]["0"]["said"] == SHOWN
    labels = [node["aria-label"] for node in page.all("g", role="option")]
    assert labels[0] == SHOWN
    assert labels[1].startswith(f"{SHOWN}#2, conv2d, ")
    assert not page.all("img")
    assert len(page.all("script")) == 2 + 3
    (layer,) = (block for block in page.layer(1) if block["title"] == "layer")
    rows = dict(layer["rows"])
    assert rows["in the file"].endswith(SHOWN)


@pytest.mark.long
def test_the_same_call_gives_the_same_page() -> None:
    pages = {
        qlower.make_report(small(), against="tvm", native=False).html()
        for _ in range(2)
    }
    assert len(pages) == 1


def test_times_and_llvm_come_with_native_code() -> None:
    report = qlower.make_report(small())
    assert [measure.key for measure in report.measures] == ["time", "saturated"]
    page = parse(report.html())
    titles = [block["title"] for block in page.layer(1)]
    assert "time of its kernels" in titles
    assert "llvm" in titles


def test_a_dump_is_a_side(tmp_path: Path) -> None:
    model, image = small(), np.zeros((1, 2, 2, 1), np.int8)
    layers: dict[str, Any] = {}
    qlower.interpret(model, image, layers=layers)
    layers["conv"][0, 0, 0, 1] += 1
    del layers["flat"]
    np.savez(tmp_path / "dump.npz", **layers)
    report = qlower.make_report(
        model, image, against=tmp_path / "dump.npz", native=False
    )
    alone = report.measures[0]
    assert alone.key == "alone"
    assert alone.texts["conv"] == "1 differ, max 1"
    (elements,) = (b for b in report.layers[1] if b["kind"] == "elements")
    items = elements["items"]
    assert isinstance(items, list)
    assert items[0]["at"] == "[0,0,0,1]"
    assert items[0]["why"].startswith("first that differs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to write"),
        (["-o", "x.html", "--verify"], "--verify is about two contracts"),
        (["-o", "x.html", "--against", "tflit"], "'tflit' is neither"),
    ],
)
def test_wrong_options(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(SMALL_MODEL)
    assert main(["report", "model.mlir", "--no-native", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.mlir"]


def test_model_explorer_gets_a_graph_and_node_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "model.mlir", tmp_path / "explorer"
    path.write_text(SMALL_MODEL)
    command = ["report", str(path), "--no-native", "--model-explorer", str(folder)]
    assert main([*command, "--against", "tvm", "-o", str(tmp_path / "x.html")]) == 0
    files = {file.name: json.loads(file.read_text()) for file in folder.iterdir()}
    assert set(files) == {"graph.json", "alone.json", "carried.json", "saturated.json"}
    page, *written = capsys.readouterr().out.splitlines()
    assert page.startswith(str(tmp_path / "x.html"))
    assert sorted(written) == sorted(str(folder / name) for name in files)
    (graph,) = files["graph.json"]["graphs"]
    ids = [node["id"] for node in graph["nodes"]]
    assert ids == ["0 image", "1 conv", "2 flat", "3 scores", "4 scores"]
    for place, node in enumerate(graph["nodes"]):
        for edge in node["incomingEdges"]:
            assert edge["sourceNodeId"] in ids[:place]
        assert all(isinstance(one["value"], str) for one in node["attrs"])
    for name in set(files) - {"graph.json"}:
        assert set(files[name]) == {graph["id"]}
        found = files[name][graph["id"]]
        assert set(found["results"]) <= {"1 conv", "2 flat", "3 scores"}
        assert [stop["stop"] for stop in found["gradient"]] == [0, 0.5, 1]


def test_the_policy_names_hashes() -> None:
    assert policy("a", "b").count("sha256-") == 2


def test_layers_take_little_room() -> None:
    tensor = "tensor<1x64x64x16x!in>"
    relu = f"qnn.relu %x : ({tensor}) -> {tensor}"
    text = f"""!in = !quant.uniform<i8:f32, 7.812500e-03:-3>
    module attributes {{qnn.contract = "tflite"}} {{
      func.func @main(%x: {tensor}) -> {tensor} {{
        %y = {relu}
        return %y : {tensor}
      }}
    }}"""
    report = qlower.make_report(small(text), native=False)
    page = parse(report.html())
    assert len(page.scripts["layer-1"]) < 60_000
    few, many = Limits.of(10), Limits.of(600)
    assert few.elements == 24
    assert many.elements == 8
    assert 600 * many.cells < 3_000_000 < 600 * few.cells


def test_only_an_input_that_was_drawn_is_called_drawn(report: qlower.Report) -> None:
    assert ("input", "drawn by seed 0") in report.about
    image = np.zeros((1, 2, 2, 1), np.int8)
    given = qlower.make_report(small(), image, against="tvm", native=False)
    assert not [text for name, text in given.about if name == "input"]


def test_the_verdict_is_about_both_contracts(report: qlower.Report) -> None:
    """One that is compared with itself is equal everywhere."""
    counted, itself = (
        equal("tflite", other, small()).table.notes[0] for other in ("tvm", "tflite")
    )
    assert report.verdict[-1] == f"For all inputs: {counted}" != itself
