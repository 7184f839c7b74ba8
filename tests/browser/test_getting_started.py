"""The page that "Getting started" ends with: its files, saved as they stand there, in a real browser."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chromium import ROOT, Browser
from tests.docs.blocks import blocks_of
from tests.support.serving import served


def test_the_page_draws_messages_and_events(page: Browser, tmp_path: Path) -> None:
    for block in blocks_of(ROOT / "docs" / "getting-started.md"):
        if block.title:
            (tmp_path / block.title).write_text(block.text, "utf-8")
    with served("my_app:app", folder=tmp_path, factory=False) as url:
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
