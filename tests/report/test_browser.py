"""The page in a real browser without a window, for which playwright is installed.

That is $QLOWER_BROWSER, one that the system has, or the one of `playwright install
chromium`. Without any of it these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines.browser import known_browser

import qlower

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass
class Watched:
    """A page, what it complained of, and what it asked the network for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def focused(self) -> str:
        """The id of what has the keyboard."""
        return self.page.evaluate("document.activeElement.id")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as running:
        try:
            found = running.chromium.launch(
                executable_path=known_browser(), args=["--no-sandbox"]
            )
        except playwright.Error as error:
            pytest.skip(f"no browser runs here: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = np.load(EXAMPLES / "digits" / "images" / "3.npy")
    model = EXAMPLES / "digits" / "digits.mlir"
    path = tmp_path_factory.mktemp("report") / "report.html"
    qlower.make_report(model, image, against="tvm", native=False).save(path)
    return path


@pytest.fixture
def watched(browser: Any, file: Path) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1200, "height": 700}, offline=True)
    watched = Watched(context.new_page())
    watched.page.on(
        "console",
        lambda said: (
            watched.complaints.append(said.text)
            if said.type in ("error", "warning")
            else None
        ),
    )
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.page.on("request", lambda request: watched.requests.append(request.url))
    watched.page.goto(file.as_uri())
    yield watched
    assert watched.complaints == []
    assert watched.requests == [file.as_uri()]
    context.close()


def test_a_layer_is_found_opened_and_closed_by_keyboard(watched: Watched) -> None:
    keyboard = watched.page.keyboard
    keyboard.press("/")
    assert watched.focused() == "search"
    keyboard.type("depthw")
    assert watched.page.get_attribute("#search", "aria-expanded") == "true"
    assert watched.page.get_attribute("#search", "aria-activedescendant") == "match-0"
    assert watched.text("#matches li") == "depthwise, depthwise_conv2d, 2 differ, max 1"
    keyboard.press("Enter")
    watched.page.wait_for_selector("#panel:not([hidden])")
    assert watched.text("#panel-title") == "depthwise, depthwise_conv2d"
    assert watched.focused() == "panel-title"
    assert watched.page.get_attribute("#node-2", "aria-selected") == "true"
    body = watched.text("#blocks")
    for text in ("first that differs", "fma", "8 of 8 channels", "tvm.mlir:"):
        assert text in body
    keyboard.press("Escape")
    assert watched.page.is_hidden("#panel")
    assert watched.focused() == "node-2"


PHONE = {"width": 390, "height": 844}


def test_a_phone_shows_all_in_its_width(browser: Any, file: Path) -> None:
    """What is wider, as the table of layers, scrolls by itself, and the page doesn't
    grow: it would be laid out for the wider page, and shown in part."""
    context = browser.new_context(viewport=PHONE, is_mobile=True, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())

    def width() -> int:
        return page.evaluate("document.documentElement.scrollWidth")

    assert width() == PHONE["width"]
    assert not page.is_visible("#search")
    page.click("#controls > summary")
    assert page.is_visible("#search")
    assert width() == PHONE["width"]
    page.click("#listed")
    page.wait_for_selector("#list table")
    assert width() == PHONE["width"]
    page.click("#list tbody tr:nth-child(2)")
    page.wait_for_selector("#panel:not([hidden])")
    assert width() == PHONE["width"]
    assert page.evaluate("document.getElementById('panel').scrollWidth") <= width()
    context.close()


def test_arrows_walk_the_graph(watched: Watched) -> None:
    keyboard = watched.page.keyboard
    watched.page.focus("#node-0")
    for key, node in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 8)):
        keyboard.press(key)
        assert watched.focused() == f"node-{node}"
    keyboard.press("Home")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    watched.page.wait_for_selector("#panel:not([hidden])")
    assert watched.text("#panel-title") == "conv1, conv2d"


def test_colours_are_switched(watched: Watched) -> None:
    assert watched.page.get_attribute("#node-2", "data-colour") == "5"
    watched.page.check("input[value=saturated]")
    label = watched.page.get_attribute("#node-2", "aria-label")
    assert label.startswith("depthwise, depthwise_conv2d, ")
    assert label.endswith("saturated")
    fills = watched.page.evaluate(
        "[...document.querySelectorAll('#legend span')]"
        ".map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(fills)) == 6
    watched.page.emulate_media(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert watched.page.evaluate(ground) == "rgb(22, 24, 29)"


def test_an_element_is_chosen_in_the_list_and_in_the_picture(watched: Watched) -> None:
    watched.page.click("#node-2")
    watched.page.wait_for_selector("#panel:not([hidden])")
    chosen = watched.page.locator(".element-list")
    first = watched.text("#blocks .parting")
    assert first.startswith(">")
    watched.page.focus(".picture svg")
    for key in ("ArrowRight", "ArrowDown"):
        watched.page.keyboard.press(key)
    assert "row 7, column 4" in watched.text("#blocks [role=status]")
    chosen.select_option(index=2)
    assert "row 7, column 4" not in watched.text("#blocks [role=status]")
    value = chosen.input_value()
    watched.page.locator(".mark").first.click()
    assert chosen.input_value() != value
    watched.page.locator("select[aria-label=channel]").select_option(label="channel 3")
    watched.page.locator("select[aria-label=picture]").select_option(label="result")


def test_the_view_zooms_and_moves(watched: Watched) -> None:
    def seen() -> list[float]:
        return [
            float(n) for n in watched.page.get_attribute("#graph", "viewBox").split()
        ]

    watched.page.focus("#node-0")
    before = seen()
    watched.page.keyboard.press("+")
    assert seen()[2] < before[2]
    watched.page.keyboard.press("Shift+ArrowDown")
    assert seen()[1] > before[1]
    watched.page.mouse.move(900, 500)
    watched.page.mouse.wheel(0, 300)
    watched.page.mouse.down()
    watched.page.mouse.move(800, 400)
    watched.page.mouse.up()
    watched.page.keyboard.press("0")
    left, above, width, height = seen()
    assert left < 0 < width + left
    assert above < 1
    assert above + height >= before[3]


def test_the_page_fits_a_phone(watched: Watched) -> None:
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    wide = "document.documentElement.scrollWidth"
    height = "document.querySelector('header').offsetHeight"
    assert page.evaluate(wide) == 390
    assert page.evaluate(height) < 844 * 0.3
    assert page.is_hidden("#search")
    page.keyboard.press("/")
    page.keyboard.type("depthw")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel:not([hidden])")
    assert page.locator("#panel").bounding_box()["width"] == 390
    assert page.evaluate(wide) == 390
    widths = "[...document.querySelectorAll('#panel dd')].map((dd) => dd.offsetWidth)"
    assert min(page.evaluate(widths)) > 150
    page.click("#close")
    assert page.is_hidden("#panel")
    watched.requests.pop()


def test_no_text_leaves_its_box(watched: Watched) -> None:
    """Longer text is cut where letters are wider than those that lengths are for."""
    widths = watched.page.evaluate(
        "[...document.querySelectorAll('#graph .node text')].map((text) =>"
        " text.getBBox().x + text.getBBox().width)"
    )
    assert widths
    assert max(widths) < 220


def test_layers_are_sorted_in_a_table(watched: Watched) -> None:
    def column(place: int) -> list[str]:
        cells = f"#list tbody td:nth-child({place})"
        return watched.page.locator(cells).all_inner_texts()

    assert watched.page.is_hidden("#list")
    watched.page.click("#listed")
    assert column(1) == sorted(column(1), key=int)
    watched.page.click("#list th:nth-child(2) button")
    assert column(2) == sorted(column(2))
    watched.page.click("#list th:nth-child(4) button")
    shares = [float(text.removesuffix(" %")) for text in column(4)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0
    heading = "#list th:nth-child(4)"
    assert watched.page.get_attribute(heading, "aria-sort") == "descending"
    name = column(2)[0]
    watched.page.click("#list tbody tr:first-child button")
    watched.page.wait_for_selector("#panel:not([hidden])")
    assert watched.text("#panel-title").startswith(f"{name}, ")
    assert watched.page.get_attribute("#list tr[aria-current]", "id") == "row-2"
