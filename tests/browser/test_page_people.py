"""The chat page with a sign-in: each person has their own threads, and what they wrote and did not send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import ROOT, Browser
from tests.browser.talking import ANSWER, MESSAGE, QUESTION, READY, say, send
from tests.support.serving import served


@pytest.fixture(scope="module")
def house() -> Iterator[str]:
    """The address of an application with a sign-in."""
    with served("tests.support.signed_in:app") as url:
        yield url


def test_what_was_not_sent_survives_a_sign_in(page: Browser, house: str) -> None:
    page.open(f"{house}/sign-in/ann")
    page.see(MESSAGE)
    page.fill(MESSAGE, "half a sen")
    page.upload("input[aria-label=Files]", ROOT / "examples" / "multimodal" / "sun.png")
    page.see("button[aria-label='Remove sun.png']")
    page.evaluate("location.reload()")
    page.see("button[aria-label='Remove sun.png']")
    assert page.value(MESSAGE) == "half a sen"
    page.click("button[aria-label='Remove sun.png']")
    say(page, "I am Ann")
    page.see(ANSWER)
    page.evaluate("location.reload()")
    page.see(ANSWER)
    assert page.value(MESSAGE) == ""

    conversation = page.evaluate("location.hash")
    page.evaluate(f"fetch('{house}/sign-out')")
    send(page, "one more question")
    page.see(".card.error:has-text('sign in first')")
    page.fill(MESSAGE, "and another")
    page.evaluate(f"location.href = '{house}/sign-in/ann'")
    page.see("text=What can I do for you?")
    assert page.value(MESSAGE) == ""
    page.evaluate(f"location.hash = {conversation!r}")
    page.see(".card.error:has-text('The message did not reach the server.')")
    assert page.value(MESSAGE) == "and another"
    page.click("button:text-is('Try again')")
    page.see(f"{ANSWER} >> nth=1")
    page.see(READY)
    assert page.texts("article[aria-label=You] .bubble") == ["I am Ann", "one more question"]
    page.open(f"{house}/sign-in/ann")  # Browsers report in the console what was refused.
    page.see("nav li:has(a)")


BACK = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
"""Browsers keep a page that was left, and show it as it was to whoever goes back. Tests have no such browser."""


def test_nothing_of_one_person_is_there_for_the_next(page: Browser, house: str) -> None:
    def sign_in(name: str, come_back: str) -> None:
        """In another window; then somebody comes back to this one."""
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('i'), { id: 'before', innerText: '.' }))"
        )
        page.evaluate(f"fetch('{house}/sign-in/{name}').then(() => {{ {come_back}; }})")
        page.miss("#before")
        page.see(MESSAGE)

    page.open(f"{house}/sign-in/ann")
    page.see(MESSAGE)
    page.choose("select[aria-label=Agent]", "Asker")
    send(page, "ask me")
    page.fill(f"{QUESTION} input", "secret of Ann")
    page.click("button:has-text('New chat')")
    page.fill(MESSAGE, "draft of Ann")
    sign_in("ann", "location.reload()")
    page.choose("select[aria-label=Agent]", "Asker")
    assert page.value(MESSAGE) == "draft of Ann"
    sign_in("bob", "dispatchEvent(new Event('focus'))")
    page.choose("select[aria-label=Agent]", "Asker")
    assert page.value(MESSAGE) == ""
    assert page.evaluate("Object.keys(sessionStorage)") == []
    page.see("text=No conversations yet.")
    page.fill(MESSAGE, "draft of Bob")
    sign_in("ann", BACK)
    page.choose("select[aria-label=Agent]", "Asker")
    assert page.value(MESSAGE) == ""


def test_users_behind_a_prefix_see_their_own(page: Browser, house: str) -> None:
    rows = "nav li:has(a)"
    page.open(f"{house}/sign-in/ann")
    page.see("nav strong:has-text('House')")
    say(page, "I am Ann")
    assert page.text(f"{ANSWER} >> nth=-1").endswith("w0 w1 w2 w3 w4")
    page.choose("select[aria-label=Agent]", "Asker")
    send(page, "ask me")
    page.see(f"{QUESTION}:has-text('really?')")
    page.fill(f"{QUESTION} textarea, {QUESTION} input", "yes")
    page.click(f"{QUESTION} button:text-is('Send')")
    page.see(f"{ANSWER}:has-text('you said yes')")
    page.choose("select[aria-label=Agent]", "Talker")
    page.see(f"{rows}:has-text('I am Ann')")

    page.open(f"{house}/sign-in/bob")
    page.see("text=No conversations yet.")
    assert page.texts(rows) == []
