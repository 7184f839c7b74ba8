"""Driver. The chat page of ``serve`` in a browser: what a person does there, and what they see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.browser.chromium import ROOT, Browser
from tests.support.server_process import Server, serving

__all__ = [
    "ANSWER",
    "CARD",
    "FOCUS",
    "LAST",
    "MESSAGE",
    "QUESTION",
    "READY",
    "SIZES",
    "STOP",
    "fits",
    "page_served",
    "say",
    "send",
]

SIZES = {"desktop": (1280, 800), "phone": (360, 740)}
MESSAGE, READY, STOP = "textarea[aria-label=Message]", "button[aria-label=Send]", "button[aria-label=Stop]"
FOCUS = "(document.activeElement.innerText || document.activeElement.ariaLabel || '').trim()"
"""What has the focus: its text, or its label."""
ANSWER, CARD, QUESTION = "article[aria-label=Agent]", "details.tool", "section.question"
LAST = f"{ANSWER} >> nth=-1"


@contextmanager
def page_served(*agents: str, pause: str = "0.004") -> Iterator[Server]:
    """The examples behind ``serve``, with the chat page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXAMPLE_PAUSE", pause)
        shown = ["--title", "Showcase", "--example", "Quarterly report", "--example", "Make a plan"]
        with serving(ROOT, "--page", "--inspector", "--allow-host", "page.example", *shown, *agents) as server:
            yield server


def send(page: Browser, text: str) -> None:
    page.fill(MESSAGE, text)
    page.press(MESSAGE, "Enter")


def say(page: Browser, text: str) -> None:
    """Send a message; wait for the end of the run."""
    send(page, text)
    page.see(READY)


def fits(page: Browser) -> bool:
    """Whether nothing is wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
