"""The pages that the documentation ends with: their files, saved as they stand there, in a real browser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.chromium import ROOT, Browser, installed
from tests.browser.talking import ANSWER, CARD, say
from tests.docs.blocks import blocks_of
from tests.support.server_process import serving
from tests.support.serving import served


def saved(page: str, folder: Path) -> None:
    """The files that a page shows."""
    for block in blocks_of(ROOT / "docs" / page):
        if block.title:
            (folder / block.title).write_text(block.text, "utf-8")


@contextmanager
def application(page: str, folder: Path) -> Iterator[str]:
    """The application of a page, from the files that it shows."""
    saved(page, folder)
    if (folder / "page.jsx").exists():
        bundle(folder)
    with served("my_app:app", folder=folder, factory=False) as url:
        yield url


def bundle(folder: Path) -> None:
    """As the page's command does, with the packages of other tests."""
    react, client = installed(ROOT / "tests" / "browser" / "page", "react"), ROOT / "tests" / "js"
    given = {**os.environ, "NODE_PATH": os.pathsep.join(str(where / "node_modules") for where in (client, react))}
    program = react / "node_modules" / ".bin" / "esbuild"
    options = ["--bundle", "--format=esm", "--jsx=automatic", "--log-level=warning", "--outfile=page.js"]
    subprocess.run([program, "page.jsx", *options], cwd=folder, env=given, check=True, timeout=60)


def test_getting_started_with_the_chat_page(page: Browser, tmp_path: Path) -> None:
    saved("getting-started.md", tmp_path)
    with serving(tmp_path, "--page", "my_agent:graph") as server:
        page.open(server.base + "/")
        page.see("nav strong:text-is('My agent')")
        say(page, "How is the weather?")
        assert "It is sunny in Berlin." in page.text(f"{ANSWER} >> nth=-1")
        assert "get_weather" in page.text(f"{CARD} >> nth=-1")


def test_getting_started_with_a_page_of_ones_own(page: Browser, tmp_path: Path) -> None:
    with application("getting-started.md", tmp_path) as url:
        page.open(url)
        for number in (1, 2):
            page.fill("input", "How is the weather?")
            page.click("button")
            page.see(f":nth-match(p:has-text('I had a look'), {number})")

    turn = [
        "You: How is the weather?",
        "Agent: One moment.",
        "(get_weather runs)",
        "☀ Berlin: sunny",
        "Agent: I had a look. It is sunny in Berlin.",
    ]
    assert page.texts("p") == turn * 2
    page.picture("getting-started")


def test_restore_on_load(page: Browser, tmp_path: Path) -> None:
    numbers = " ".join(map(str, range(1, 31)))
    with application("recipes/restore-on-load.md", tmp_path) as url:
        page.open(url)
        page.fill("input", "Count")
        page.click("button")
        page.see("p:has-text('assistant: 1 2 3')")
        page.evaluate("location.reload()")
        page.see("p:has-text('assistant: 1 2 3 4')")
        assert numbers not in page.text("p >> nth=-1")
        page.see(f"p:has-text('{numbers}')")
        assert page.texts("p") == ["user: Count", f"assistant: {numbers}"]

        page.evaluate("location.reload()")
        page.see(f"p:has-text('{numbers}')")
        assert page.texts("p") == ["user: Count", f"assistant: {numbers}"]


def test_charts_in_react(page: Browser, tmp_path: Path) -> None:
    with application("recipes/charts-in-react.md", tmp_path) as url:
        page.open(url)
        page.click("button")
        page.see("p:has-text('assistant: Sales are up.')")
        for _ in ("at once", "after a reload"):
            page.see("svg[aria-label=Sales] text:has-text('June')")
            assert page.evaluate("[...document.querySelectorAll('figure text')].map((t) => t.textContent)") == [
                "May",
                "June",
            ]
            page.evaluate("location.reload()")
        page.picture("charts-in-react")
