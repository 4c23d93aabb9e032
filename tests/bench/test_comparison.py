"""What a comparison holds and how it is printed, from given times and outputs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.table_forms import forms

import qlower
from qlower.bench import comparison
from qlower.bench.comparison import (
    Comparison,
    Machine,
    Options,
    PeerDifference,
    Report,
    compare,
    drawn_inputs,
    installed_versions,
    layer_times,
    model_name,
)
from qlower.bench.measure import Spread, Timings
from qlower.bench.peers import Prepared, Unavailable
from qlower.bench.report import as_data, as_html, as_markdown, as_text, comparison_table
from qlower.compilation.compilation import Compilation
from qlower.model.signature import TensorSpec
from qlower.runtime.profiling import KernelTime, Profile
from qlower.runtime.roof import Roof
from qlower.text.parsing import parse_module
from qlower.version import __version__

RELU = """
!t = !quant.uniform<i8:f32, 5.0e-01>
module { func.func @main(%x: tensor<1x8x!t>) -> tensor<1x8x!t> {
  %y = qnn.relu %x : (tensor<1x8x!t>) -> tensor<1x8x!t>
  return %y : tensor<1x8x!t>
} }
"""


def relu() -> Compilation:
    return Compilation(qlower.Model(parse_module(RELU)), "tflite")


def test_what_peers_compute_otherwise(monkeypatch: pytest.MonkeyPatch):
    """Counted against the timed code and against the peer's own contract; an output of
    another shape or type differs as a whole."""
    outputs: dict[str, Any] = {
        "litert": lambda x: np.maximum(x, 0) + (x == x.min()),
        "openvino": lambda x: np.maximum(x, 0).reshape(2, 4),
        "torch": lambda x: np.maximum(x, 0).astype(np.int16),
    }
    seen: dict[str, Any] = {}

    def prepare(peer: str, model: Path, file: Path | None, inputs: Any, threads: int):
        seen[peer] = file, threads
        if peer == "onnxruntime":
            raise Unavailable("no such thing")
        return Prepared(lambda: None, lambda: [outputs[peer](inputs[0])])

    def interleave(calls: Any, rounds: int, *, threads: int) -> Timings:
        assert (list(calls), rounds, threads) == (
            *(["qlower", "litert", "openvino", "torch"], 7, 1),
        )
        return Timings({name: np.full(7, 2.0**n) for n, name in enumerate(calls)})

    monkeypatch.setattr(comparison, "prepare_peer", prepare)
    monkeypatch.setattr(comparison, "interleave", interleave)
    against = {"litert": Path("other"), **dict.fromkeys(("onnxruntime", "openvino"))}
    options = Options({**against, "torch": None}, 7)
    found = compare(Path("a/net.tflite"), relu(), options)
    assert (found.model, found.threads) == ("net", 1)
    assert seen["litert"] == (Path("other"), 1)
    assert found.absent == {"onnxruntime": "no such thing"}
    assert found.times["litert"] == Spread(2.0, 2.0, 2.0)
    assert found.ratios == {
        peer: Spread(ratio, ratio, ratio)
        for peer, ratio in (("litert", 2.0), ("openvino", 4.0), ("torch", 8.0))
    }
    assert found.ratio_of_medians("torch") == 8.0
    differences = dict(found.differences)
    litert = differences.pop("litert")
    assert litert.contract == "tflite-xnnpack"
    assert 1 <= litert.differing == (litert.differing_by_contract or 0) < 8
    assert differences == dict.fromkeys(("openvino", "torch"), PeerDifference(8, 8))


def test_outputs_are_held_against_the_timed_code_and_the_peers_contract():
    """Where there is one that takes the model; else there is no count."""
    timed = relu()
    found = [np.zeros((1, 8), np.int8)]
    differing: Any = vars(comparison)["_differing"]
    difference: Any = vars(comparison)["_difference"]
    x = [np.array([[-1, -2, 3, 4, 5, 0, -7, 8]], np.int8)]
    assert differing(found, timed, x) == 4
    assert difference(found, timed, None, x) == PeerDifference(8, 4)
    assert difference(found, timed, "exact", x) == PeerDifference(8, 4, "exact", 4)
    assert difference(found, timed, "no-such", x) == PeerDifference(8, 4, "no-such")


def test_layers_are_timed_for_a_drawn_input():
    profiled = relu()
    profiled = replace(profiled, flavour=replace(profiled.flavour, is_profiled=True))
    times = layer_times(profiled, 2)
    assert [time.products for time in times] == [0]
    assert times[0].nanoseconds >= 0


def test_drawn_places_are_in_any_table():
    """Numbers of words, which ONNX Runtime refuses beyond its table."""
    kinds = ("int64", "int32", "int8", "uint8", "float32")
    words, other, signed, unsigned, real = drawn_inputs(
        [TensorSpec("x", (9, 9), kind) for kind in kinds]
    )
    assert {*words.flat} == {*other.flat} == {0, 1}
    assert signed.min() < 0 < signed.max() > 1
    assert unsigned.max() > 127
    assert real.min() < -1
    again = drawn_inputs([TensorSpec("x", (9, 9), "int64")])
    np.testing.assert_array_equal(again[0], words)


def test_names_and_versions():
    assert model_name(Path("/a/b/model.tflite")) == "b"
    assert model_name(Path("/a/b/net.tflite")) == "net"
    pytest.importorskip("onnx")
    versions = installed_versions([])
    assert versions == {"qlower": __version__}


KERNEL = KernelTime(
    *("f", "conv", ("conv",), "contraction", 8000, 900, 80, 7, 16, 1, False),
    nanoseconds=2000.0,
)
LAST = replace(KERNEL, layer="sum", products=0, nanoseconds=500.0)


def spread(median: float) -> Spread:
    return Spread(median, median * 0.75, median * 1.5)


def comparison_of(model: str, threads: int, litert: float) -> Comparison:
    return Comparison(
        model,
        threads,
        {"qlower": spread(8.0), "litert": spread(litert), "torch": spread(2000.0)},
        {"litert": spread(litert / 8), "torch": spread(250.0)},
        {"openvino": "not installed"},
        {
            "litert": PeerDifference(1234, 5, "tflite-xnnpack", 0),
            "torch": PeerDifference(7, 7),
        },
    )


def report() -> Report:
    roof = Roof(10.4, {16384: 50.4, 1 << 20: 20.6}, lanes=8, word_peak=4.6)
    return Report(
        Machine("a <cpu>", 2, 0.25, roof, {"qlower": "1", "litert": "2.1"}),
        [
            *(comparison_of("one", 1, 16.0), comparison_of("two", 1, 64.0)),
            *(comparison_of("one", 2, 8.0), comparison_of("two", 2, 32.0)),
        ],
        {"one": Profile((KERNEL, LAST))},
    )


MACHINE = (
    "a <cpu>, 2 cores, load 0.2; 10 GMAC/s (5 with 16-bit activations) are the "
    "measured peak of one in dot products; it reads 16 KB at 50, 1024 KB at 21 GB/s. "
    "qlower 1, litert 2.1."
)
ROWS = [
    ["one", "1", "8.00 (6.00-12.00)", "16.0 (12.0-24.0)", "2.00 (1.50-3.00)"],
    ["two", "1", "8.00 (6.00-12.00)", "64.0 (48.0-96.0)", "8.00 (6.00-12.00)"],
    ["one", "2", "8.00 (6.00-12.00)", "8.00 (6.00-12.00)", "1.00 (0.75-1.50)"],
    ["two", "2", "8.00 (6.00-12.00)", "32.0 (24.0-48.0)", "4.00 (3.00-6.00)"],
]
OTHERS = ["5 of 1,234", "0 of 1,234", "2000 (1500-3000)", "250.0 (187.5-375.0)"]
NOTES = [
    "us: the median and the quartiles of all rounds. x: the peer's time over qlower's "
    "in the same round, above 1 where qlower is faster.",
    "differ: outputs of the peer, on one drawn input, that differ from those of the "
    "timed code; by CONTRACT: from qlower's under the peer's own contract.",
    "litert, 1 thread: 4.00 x, the geometric mean over 2 models (2.00 to 8.00)",
    "torch, 1 thread: 250.00 x, the geometric mean over 2 models (250.00 to 250.00)",
    "litert, 2 threads: 2.00 x, the geometric mean over 2 models (1.00 to 4.00)",
    "torch, 2 threads: 250.00 x, the geometric mean over 2 models (250.00 to 250.00)",
    "Without openvino for one: not installed",
    "Without openvino for two: not installed",
]


def test_the_report_in_markdown():
    machine, table, layers = as_markdown(report()).split("\n\n", 2)
    assert machine == MACHINE
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
    ]
    head = ["model", "threads", "qlower us", "litert us", "x", "differ"]
    assert lines[0] == [*head, "by tflite-xnnpack", "torch us", "x", "differ"]
    assert lines[2:] == [[*row, *OTHERS, "7 of 7"] for row in ROWS]
    notes, _, profile = layers.partition("\n\n### one, one thread\n\n")
    assert [line.removeprefix("- ") for line in notes.splitlines()] == NOTES
    assert "| conv " in profile
    # 8000 / 10.4 ns and 900 / 50.4 ns, of 2000 and 500
    assert "Limits together: 0.79 us, 31%." in profile


def test_the_report_as_text_and_as_a_page():
    text = as_text(report())
    assert text.startswith(f"{MACHINE}\n\n")
    assert "\n\none, one thread:\n\n" in text
    for note in (*NOTES, "All together: 2.50 us."):
        assert note in " ".join(text.split()), note
    page = as_html(report())
    assert page.startswith(f"<p>{MACHINE.replace('<cpu>', '&lt;cpu&gt;')}</p>\n")
    assert page.index("64.0 (48.0-96.0)") < page.index("<h3>one, one thread</h3>")
    assert page.index("<h3>one, one thread</h3>") < page.index("contraction")
    bare = Report(replace(report().machine, roof=None), report().comparisons[:1])
    assert as_markdown(bare).startswith(
        "a <cpu>, 2 cores, load 0.2. qlower 1, litert 2.1.\n\n"
    )
    assert "geometric" not in as_text(bare)


def test_the_columns_of_a_comparison():
    head = ["model, left, cut to 16", "threads, right", "qlower us, right"]
    litert = ["litert us", "x", "differ", "by tflite-xnnpack"]
    titles = [*litert, "torch us", "x", "differ"]
    expected = [*head, *(f"{title}, right" for title in titles)]
    assert forms(comparison_table(report())) == expected


def test_the_report_as_data():
    data: Any = json.loads(json.dumps(as_data(report())))
    assert data["comparisons"][1]["ratios_of_medians"] == {"litert": 8, "torch": 250}
    assert data["comparisons"][1]["times"]["litert"] == {
        **{"median": 64, "low": 48, "high": 96},
    }
    assert data["layers"]["one"][0]["nanoseconds"] == 2000
    assert data["machine"]["cores"] == 2
    row = comparison_table(report()).records()[1]
    assert {key: row[key] for key in row if key.startswith("litert")} == {
        **{"litert_us": 64.0, "litert_us_low": 48.0, "litert_us_high": 96.0},
        **{"litert_ratio": 8.0, "litert_ratio_low": 6.0, "litert_ratio_high": 12.0},
        **{"litert_outputs": 1234, "litert_differing": 5},
        "litert_differing_by_contract": 0,
    }
    assert (row["torch_outputs"], row["torch_differing"]) == (7, 7)
    assert "torch_differing_by_contract" not in row


@pytest.mark.parametrize(
    ("median", "shown"),
    [(9.994, "9.99"), (10.0, "10.0"), (999.9, "999.9"), (1000.4, "1000")],
)
def test_a_time_has_three_digits_or_more(median: float, shown: str):
    one = Comparison("m", 1, {"qlower": Spread(median, median, median)}, {}, {})
    text = as_text(Report(Machine("c", 1, 0, None, {}), [one]))
    assert f" {shown} ({shown}-{shown})" in text


def test_open_dimensions_of_a_port():
    """ONNX Runtime's port fits an array of its type whose stated sizes are the same."""
    module: Any = pytest.importorskip("qlower.bench.peers.onnxruntime")
    takes, drawn = vars(module)["_takes"], vars(module)["_drawn"]
    port = SimpleNamespace(name="x", shape=["n", 3], type="tensor(float)")
    assert takes(port, np.zeros((5, 3), np.float32))
    assert not takes(port, np.zeros((5, 4), np.float32))
    assert not takes(port, np.zeros((5, 3, 1), np.float32))
    assert not takes(port, np.zeros((5, 3), np.int8))
    assert takes(SimpleNamespace(shape=[2], type="tensor(int8)"), np.zeros(2, np.int8))
    values = drawn(port)
    assert (values.shape, values.dtype) == ((1, 3), np.float32)
    assert values.std() > 0
