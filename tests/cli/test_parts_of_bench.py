"""What `bench` asks for and prints, without measuring."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_lines import parsed

from qlower.bench.comparison import Report
from qlower.diagnostics import QlowerError
from qlower.tables.table import Column, Table

Capture = pytest.CaptureFixture[str]
bench: Any = import_module("qlower.cli.bench")


def refused(line: str) -> tuple[str, str | None]:
    with pytest.raises(QlowerError) as caught:
        bench.run(parsed(f"bench m {line}"))
    return caught.value.message, caught.value.help


TOGETHER = "--emulate cannot be combined with --against, --layers or --tune"
REFUSED: list[tuple[str, str, str | None]] = [
    (
        "--against litert --outputs a",
        "--against and --outputs: peers run models as a whole",
        None,
    ),
    (
        "--against litert --signature s",
        "--against cannot be combined with --signature: peers always run the first one",
        None,
    ),
    ("--cmsis-nn d", "--cmsis-nn is for --emulate: its kernels aren't timed", None),
    (
        "--target t",
        "--target t isn't timed here",
        "--emulate counts its instructions",
    ),
    ("--rounds 0", "--rounds must be positive, not 0", None),
    ("--emulate --against litert --target t", TOGETHER, None),
    ("--emulate --layers --target t", TOGETHER, None),
    ("--emulate --tune --target t", TOGETHER, None),
    ("--emulate", "--emulate needs a --target of another processor", None),
]


@pytest.mark.parametrize(("line", "message", "help"), REFUSED)
def test_what_is_not_measured(line: str, message: str, help: str | None) -> None:
    assert refused(line) == (message, help)


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    asked: list[Any] = []

    class Made:
        def __init__(self, *of: Any, **named: Any) -> None:
            asked.append(of)
            self.flavour = of[3]

    def compare(path: Path, made: Any, options: Any) -> Any:
        asked.append((path, made.flavour.threads, options.rounds))
        return SimpleNamespace(ratios={"b": 1, "a": 2})

    target = SimpleNamespace(cpu="cpu", optimized=lambda level: target)
    monkeypatch.setattr(bench, "Compilation", Made)
    monkeypatch.setattr(bench, "compare", compare)
    monkeypatch.setattr(bench, "resolve_target", lambda *of: asked.append(of) or target)
    monkeypatch.setattr(bench, "check_model_path", Path)
    monkeypatch.setattr(bench, "model_of", lambda path, _: path)
    monkeypatch.setattr(bench, "installed_versions", lambda names: {"of": names})
    monkeypatch.setattr(bench, "measured_roof", lambda _: "roof")
    monkeypatch.setattr(bench, "model_name", lambda path: path.name)
    monkeypatch.setattr(bench, "_written", lambda report, form: f"{form} report")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 1.5, 2.5))
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(
        bench,
        "layer_times",
        lambda made, rounds: (made.flavour.is_profiled, made.flavour.threads, rounds),
    )
    return asked


def test_every_model_is_measured_with_every_count(
    measuring: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    reports: list[Report] = []
    monkeypatch.setattr(
        bench, "as_data", lambda report: reports.append(report) or {"all": 1}
    )
    line = "bench m n --threads 1,2 --rounds 7 --contract c --json"
    assert bench.run(parsed(f"{line} -")) == 0
    assert json.loads(capsys.readouterr().out)["all"] == 1
    calls = [call for call in measuring if isinstance(call[0], Path)]
    assert calls == [(Path(m), count, 7) for m in "mn" for count in (1, 2)]
    assert measuring[0] == (None, None, None)
    machine = reports[0].machine
    assert (machine.cpu, machine.cores, machine.load, machine.roof) == (
        *("cpu", 1, 0.5, None),
    )
    assert machine.versions == {"of": ["a", "b"]}
    assert reports[0].layers == {}
    assert bench.run(parsed(f"{line} out.json --layers")) == 0
    assert capsys.readouterr().out == "plain report\n"
    assert json.loads(Path("out.json").read_text())["all"] == 1
    assert Path("out.json").read_text().endswith("}\n")
    assert reports[1].machine.roof == "roof"
    assert reports[1].layers == {"m": (True, 1, 7), "n": (True, 1, 7)}
    assert bench.run(parsed("bench m --format csv")) == 0
    assert capsys.readouterr().out == "csv report\n"
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("markdown", "as_markdown"), ("html", "as_html"), ("plain", "as_text")),
        ("csv", "comparison_table"),
    ],
)
def test_forms_of_a_report(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SimpleNamespace(render=lambda form: form)
    for other in ("as_markdown", "as_html", "as_text"):
        monkeypatch.setattr(bench, other, lambda *_, other=other: other)
    monkeypatch.setattr(bench, "comparison_table", lambda _: table)
    assert bench._written(None, form) == ("csv" if form == "csv" else name)


def rows(name: str) -> Table[str]:
    return Table(name, [name], [Column(name, name, lambda row: row)])


@pytest.mark.parametrize("models", ["m", "m n"])
def test_what_is_counted_under_emulation(
    models: str, measuring: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    target = SimpleNamespace(cpu="m4", is_bare_metal=True, identity={"cpu": "m4"})
    target.optimized = lambda level: target  # type: ignore[attr-defined]
    stacks: list[bool] = []

    def memory(with_stack: bool) -> Any:
        stacks.append(with_stack)
        return SimpleNamespace(table=lambda: rows("memory"), to_json=lambda: {"ram": 1})

    package = SimpleNamespace(
        memory=memory, interface=SimpleNamespace(model_sha256="sha")
    )
    made = SimpleNamespace(object=b"", target=target)
    for name, value in {
        "resolve_target": lambda *_: target,
        "Compilation": lambda *_, **__: made,
        "count_kernels": lambda _: ["kernel"],
        "count_table": lambda _: rows("counts"),
        "compile_levels": lambda levels, name: package,
        "model_table": lambda found, cpu: rows(f"{len(found)} on {cpu}"),
        "compare_layers": lambda *of: of[2],
        "layers_table": lambda found: rows(f"beside {found}"),
    }.items():
        monkeypatch.setattr(bench, name, value)
    line = f"bench {models} --emulate --target t"
    assert bench.run(parsed(f"{line} --json out.json --cmsis-nn d")) == 0
    out = capsys.readouterr().out
    lines = [one for one in out.splitlines() if one and not one.startswith("-")]
    whole = ["2 on m4", "2 on m4"] * (models == "m n")
    each = ["counts"] * 2 + ["memory"] * 2 + ["beside d"] * 2
    assert [one.strip() for one in lines] == [
        *whole,
        *(
            text
            for m in models.split()
            for text in (f"{m}, m4, under emulation:", *each)
        ),
    ]
    assert not out.endswith("\n\n")
    data = json.loads(Path("out.json").read_text())
    assert data["target"] == {"cpu": "m4"}
    assert data["models"] == [
        {
            **{"model": m, "kernels": [{"counts": "counts"}], "memory": {"ram": 1}},
            "cmsis_nn": [{"beside d": "beside d"}],
        }
        for m in models.split()
    ]
    assert stacks == [True] * len(models.split())
    target.is_bare_metal = False
    assert bench.run(parsed(f"{line} --json - --format csv")) == 0
    data = json.loads(capsys.readouterr().out)
    assert "cmsis_nn" not in data["models"][0]
    assert stacks[-1] is False
    assert bench.run(parsed(f"{line} --format csv")) == 0
    assert "under emulation" not in capsys.readouterr().out
