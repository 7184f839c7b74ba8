"""The documentation as a site, in a real browser: nothing is cut off, on a phone and on a desk."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.browser.chromium import ROOT, Browser

# What is wider than the place it has: the page itself, blocks of code, tables of two or three columns.
WIDER = """(() => {
    const wider = (box) => box.scrollWidth > box.clientWidth + 1;
    const tables = [...document.querySelectorAll(".md-typeset table:not([class])")];
    const narrow = tables.filter((table) => table.rows[0].cells.length < 4).map((table) => table.closest("div"));
    const found = [document.documentElement, ...document.querySelectorAll(".md-typeset pre > code"), ...narrow];
    return found.filter(wider).map((box) => `${box.localName}: ${box.innerText.slice(0, 80)}`);
})()"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    python = ROOT / ".venvs" / "docs" / "bin" / "python"
    assert python.exists(), "make test sets it up: make .venvs/docs/.stamp"
    subprocess.run([python, "-m", "tests.docs.site"], cwd=ROOT, check=True, capture_output=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=ROOT / "site")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize(
    "path",
    ["", "serving/", "translation/", "command-line/", "performance/", "api/server/", "examples/demo/", "changelog/"],
)
def test_nothing_is_cut_off(page: Browser, site: str, path: str) -> None:
    page.open(site + path)
    for width in (360, 1280):
        page.resize(width, 800)
        assert page.evaluate(WIDER) == [], f"at a width of {width}"


def test_the_api_shows_no_private_name(site: str) -> None:
    shown = [page.read_text("utf-8") for page in (ROOT / "site" / "api").rglob("*.html")]

    assert len(shown) >= 7
    assert [name for text in shown for name in re.findall(r">(_[a-zA-Z_]\w*)<", text)] == []


def test_light_and_dark_and_the_next_page(page: Browser, site: str) -> None:
    page.open(site)
    page.resize(1280, 800)
    seen = set()
    for _ in range(3):
        page.click(".md-header label[for^=__palette]:visible")
        seen.add(page.attribute("body", "data-md-color-scheme"))
    assert seen == {"default", "slate"}

    page.click(".md-footer__link--next")
    page.see("h1:has-text('Getting started')")
    page.see(".md-footer__link--prev:has-text('Overview')")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("approval", "guide"),
        ("reload", "guide"),
        ("create_app", "api"),
        # Words that only a docstring has.
        ("pseudo-random", "api"),
    ],
)
def test_a_search_finds_guides_before_the_api(page: Browser, site: str, words: str, first: str) -> None:
    page.open(site)
    page.click(".md-search__button")
    page.fill("input:focus", words)
    page.see("dialog li a")
    section = page.text("dialog li a").splitlines()[1]
    assert section == "Reference" if first == "api" else section != "Reference"
