"""Questions of agents in the chat page: approvals, forms, several at once, and what of them is there after a reload."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser
from tests.browser.talking import ANSWER, FOCUS, LAST, MESSAGE, QUESTION, READY, send
from tests.support.serving import served
from yai_nexus_agentkit.page.files import STATIC


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """The address of an application of one's own, whose graph asks for what the examples do not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAGE", str(STATIC))
        with served("tests.support.own_page:app") as url:
            yield url


@pytest.mark.parametrize("answer", ["Yes", "No"])
def test_an_approval_is_a_sentence_with_buttons(chat: Browser, answer: str) -> None:
    send(chat, "Pay Ada 50")
    chat.see(f"{QUESTION} >> text=Pay 50 € to Ada?")
    assert "{" not in chat.text(QUESTION)
    chat.picture("chat-question")
    chat.click(f"{QUESTION} button:text-is('{answer}')")
    chat.see(f"{ANSWER}:has-text('Done:')")
    chat.see(READY)
    assert ("paid 50 € to Ada" in chat.text(LAST)) is (answer == "Yes")


def test_an_approval_with_other_arguments_survives_a_reload(chat: Browser) -> None:
    send(chat, "Pay Ada 50")
    chat.see(QUESTION)
    chat.evaluate("location.reload()")
    amount = f"{QUESTION} .field:has-text('Amount') input"
    chat.click(f"{QUESTION} button:text-is('Edit')")
    chat.fill(amount, "20")
    chat.click(f"{QUESTION} button:text-is('Back')")
    chat.click(f"{QUESTION} button:text-is('Edit')")
    assert chat.value(amount) == "50", "Back forgets what was written"
    chat.fill(amount, "30")
    chat.evaluate("location.reload()")
    chat.see(amount)
    assert (chat.value(amount), chat.value(MESSAGE)) == ("30", "")
    chat.click("button:has-text('Run with changes')")
    chat.see(f"{ANSWER}:has-text('paid 30 € to Ada')")
    chat.miss(QUESTION)


def test_a_form_is_made_from_the_schema(chat: Browser) -> None:
    send(chat, "Book a flight")
    chat.see(f"{QUESTION}:has-text('A few details for your flight to Lisbon')")
    chat.click(f"{QUESTION} button:text-is('Send')")
    chat.see(f"{QUESTION} [aria-invalid=true]")
    date = f"{QUESTION} input[type=date]"
    chat.fill(date, "2026-12-24")
    conversation = chat.evaluate("location.hash")
    chat.click("button:has-text('New chat')")
    chat.see("text=What can I do for you?")
    chat.evaluate("location.reload()")
    chat.see("text=What can I do for you?")
    chat.evaluate(f"location.hash = {conversation!r}")
    chat.see(date)
    assert chat.value(date) == "2026-12-24"
    chat.click(f"{QUESTION} button:text-is('Send')")
    chat.see(f"{ANSWER}:has-text('Done: booked a flight to Lisbon on 2026-12-24, aisle seat')")
    chat.see(READY)
    assert chat.evaluate("Object.keys(sessionStorage)") == [], "what was sent is no draft any more"


def test_a_key_that_is_held_answers_once(page: Browser, shop: str) -> None:
    page.open(f"{shop}/chat/")
    page.see(MESSAGE)
    send(page, "Pay both")
    page.press(f"{QUESTION} .action button:text-is('Yes')", "Enter")
    page.see(f"{QUESTION} .action.row:has-text('Ada')")
    page.key("Enter")
    assert "Bob" in page.evaluate(FOCUS)
    for key in ("Tab", "Tab", "Enter"):
        page.key(key)
    page.see(f"{ANSWER}:has-text('approve, reject')")

    send(page, "Pay both")
    page.click(f"{QUESTION} .action button:text-is('No')")
    page.see(f"{QUESTION} .action.row:has-text('Ada')")
    page.evaluate("location.reload()")
    page.see(f"{QUESTION} .action.row:has-text('Ada')")
    page.click(f"{QUESTION} .action button:text-is('Yes')")
    page.see(f"{ANSWER}:has-text('reject, approve')")


def test_a_form_of_forms(page: Browser, shop: str) -> None:
    kept = "Object.values(sessionStorage).join()"
    page.open(f"{shop}/chat/")
    page.see(MESSAGE)
    send(page, "Adopt")
    for _ in range(2):
        page.click(f"{QUESTION} button:has-text('to Pets')")
    page.click(f"{QUESTION} label:has-text('Dog')")
    page.fill(f"{QUESTION} .field:has-text('Barks') input", "loud")
    page.fill(f"{QUESTION} .field:has-text('Purrs') input", "low")
    page.evaluate("location.reload()")
    page.press("button[aria-label='Remove Pets 1']", "Enter")
    assert page.evaluate("document.activeElement.type") == "radio", "the keyboard is at the next pet"
    assert page.value(f"{QUESTION} .field:has-text('Purrs') input") == "low"
    page.fill(f"{QUESTION} .field:has-text('Purrs') input", "high")
    assert "high" in page.evaluate(kept)
    page.click(f"{QUESTION} button:text-is('Send')")
    page.fill(f"{QUESTION} input[type=password]", "1234")
    assert "1234" not in page.evaluate(kept)
    page.click(f"{QUESTION} button:text-is('Send')")
    page.see(f"{ANSWER}:has-text('high')")
    assert page.text(f"{ANSWER} .markdown") == "[{'purrs': 'high'}], {'word': '1234'}"
