"""Fixtures: a browser, and a page in it that must not complain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser


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
    assert browser.complaints() == []
