"""The page of examples/web in Chromium without a window."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from support.machines.browser import known_browser

import qlower
from qlower.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits"


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("index.html", "model.mjs"):
        shutil.copy(EXAMPLES / "web" / name, tmp_path)
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("localhost", 0), partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def shown(address: str, profile: Path) -> str:
    """The page as its script leaves it, as text of HTML."""
    browser = known_browser()
    if browser is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    options = ("--headless", "--no-sandbox", f"--user-data-dir={profile}")
    wait = "--virtual-time-budget=20000"
    done = subprocess.run(
        [browser, *options, wait, "--dump-dom", address],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.long
def test_the_page_reads_a_digit(folder: Path, address: str, tmp_path: Path) -> None:
    """The page's own picture is the first 7; an address has another."""
    model = DIGITS / "digits.mlir"
    target = ("--target", "wasm32-unknown-unknown", "--features", "+simd128")
    command = ["compile", str(model), "-o", str(folder), *target, "--emit", "wasm"]
    assert main(command) == 0
    run = qlower.jit(model)
    for digit, is_own in ((7, True), (3, False), (0, False)):
        image = np.load(DIGITS / "images" / f"{digit}.npy")
        ink = np.rint(run.inputs[0].dequantize(image) * 16).astype(int).flat
        drawing = "".join(np.base_repr(amount, 17).lower() for amount in ink)
        expected = np.asarray(run(image)).reshape(-1).tolist()
        end = "" if is_own else f"#{drawing}"
        page = shown(address + end, tmp_path / "profile")
        assert f"It is a {digit}." in page
        found = re.findall(r"%</td><td>(-?\d+)</td>", page)
        assert [int(one) for one in found] == expected


@pytest.mark.long
def test_the_page_says_what_is_missing(address: str, tmp_path: Path) -> None:
    page = shown(address, tmp_path / "profile")
    assert "no digits.wasm in this folder (404): README.md has the command" in page
