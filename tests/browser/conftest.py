"""Fixtures: a browser, and a page in it that must not complain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser
from tests.browser.talking import MESSAGE, SIZES, fits, page_served


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium with a profile of its own."""
    started = Browser()
    yield started
    started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Browser]:
    """`page.open(url)`; at the end, no error was in the page's console and it asked no other host for anything."""
    yield browser
    complaints = browser.complaints()
    browser.leave()
    assert complaints == []


@pytest.fixture(scope="session")
def showcase() -> Iterator[str]:
    """The address of the chat page with the example that shows everything."""
    with page_served("examples/showcase/agent.py:graph") as server:
        yield server.base + "/"


@pytest.fixture
def chat(page: Browser, showcase: str) -> Iterator[Browser]:
    """A new conversation on a desk. Nothing is wider than the screen at the end, and axe finds nothing."""
    page.open(showcase)
    page.resize(*SIZES["desktop"])
    page.see(MESSAGE)
    yield page
    assert fits(page)
    assert page.violations() == []
