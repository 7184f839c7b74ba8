"""Two windows of one user, over web sockets: the one that asked is asked, the other sees that something waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser
from tests.support.serving import served


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served("examples.sockets.windows:app") as url:
        yield url


@pytest.fixture
def other() -> Iterator[Browser]:
    """Another window, with a profile of its own."""
    started = Browser()
    yield started
    assert started.complaints() == []
    started.close()


def test_an_approval_is_asked_in_the_window_that_caused_it(page: Browser, other: Browser, address: str) -> None:
    page.open(f"{address}/page?device=laptop")
    other.open(f"{address}/page?device=phone")
    other.resize(400, 800)
    page.fill("input", "book Lisbon")
    page.press("input", "Enter")

    page.see("#question button:has-text('Yes')")
    other.see("text=A question waits at laptop.")
    assert other.texts(".user") == ["book Lisbon"], "it sees the conversation"
    other.miss("#question")
    page.picture("two-windows-laptop")
    other.picture("two-windows-phone")

    page.click("#question button:has-text('Yes')")
    for window in (page, other):
        window.see("text=Done: booked Lisbon for 120 €.")
        window.miss("#question")
        window.miss("#elsewhere")
