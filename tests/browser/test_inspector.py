"""``serve --inspector`` in a real browser: what a person sees and can do on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.browser.chromium import ROOT, Browser
from tests.support.server_process import Server, serving

TRIP = "examples/copilotkit_page/agent.py:graph"
MESSAGE = "textarea[placeholder='Message the agent']"
SAID = "[data-entry=message][data-role=assistant] .agui-conv-body"
FINISHED = "[data-entry=run][data-status=finished]"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXAMPLE_PAUSE", "0.1")
        with serving(ROOT, "--inspector", f"trip={TRIP}", "chat=examples/chat/agent.py:graph") as started:
            yield started


@pytest.fixture
def inspector(page: Browser, server: Server) -> Browser:
    page.open(f"{server.base}/inspector/")
    return page


def say(page: Browser, text: str, *, runs: int) -> None:
    """Send a message; wait for the end of this many runs."""
    page.fill(MESSAGE, text)
    page.click("[aria-label='Send message']")
    page.see(f":nth-match({FINISHED}, {runs})")


def test_text_streams(inspector: Browser) -> None:
    inspector.watch(SAID)
    say(inspector, "hello", runs=1)

    answer = "Say: add Lisbon, compare the weather, paint it teal, or book the trip."
    said = inspector.said()
    assert said[-1] == answer
    assert len(said) >= 4, said
    assert all(answer.startswith(text) for text in said)


def test_tool_call_and_state(inspector: Browser) -> None:
    say(inspector, "add Lisbon", runs=1)
    say(inspector, "add Oslo", runs=2)

    assert (
        inspector.text("[data-entry=tool] [aria-label='Arguments of add_city'] >> nth=-1") == '{\n  "city": "Oslo"\n}'
    )
    assert inspector.texts("[data-entry=tool] [aria-label='Result of add_city']") == ["added Lisbon", "added Oslo"]
    inspector.click(".agui-app-tabs button:has-text('State')")
    inspector.see("text=add /cities >> visible=true")
    shown = inspector.texts("pre.agui-code:visible")
    assert {"cities": ["Lisbon", "Oslo"]} in [json.loads(text) for text in shown if text.startswith("{")]
    inspector.picture("inspector-state")


def test_interrupt_is_answered(inspector: Browser) -> None:
    say(inspector, "add Lisbon", runs=1)
    inspector.fill(MESSAGE, "book the trip")
    inspector.click("[aria-label='Send message']")

    inspector.see("[data-entry=interrupt][data-status=unanswered]")
    assert inspector.texts(".agui-conn-prompt") == ['Allow book with {"cities": ["Lisbon"], "price": 120}?']
    assert inspector.texts(".agui-conn-hint") == ["Response schema: object · fields: approved, editedArgs, reason"]
    inspector.picture("inspector-interrupt")

    inspector.fill("[aria-label^='Answer for interrupt']", '{"approved": true}')
    inspector.click("[aria-label^='Resolve interrupt']")
    inspector.see(f":nth-match({FINISHED}, 2)")
    assert inspector.texts("[aria-label='Result of book']") == ["booked Lisbon for 120 €"]
    assert inspector.text(f"{SAID} >> nth=-1") == "Done: booked Lisbon for 120 €."
    inspector.picture("inspector")


def test_frames_show_no_issue(inspector: Browser) -> None:
    """The page checks what it gets by rules of its own."""
    say(inspector, "add Lisbon", runs=1)
    say(inspector, "compare the weather", runs=2)

    assert int(inspector.attribute("[data-testid=frames]", "data-frame-total") or 0) > 20
    assert inspector.attribute("[data-issues-chip]", "data-has-issues") == "false"
    assert inspector.texts("[data-issues-chip] .agui-count") == ["0"]
    assert inspector.texts("[data-family-chip=ext] .agui-count") == ["1"]


def test_another_agent(inspector: Browser) -> None:
    inspector.click(".agui-settings-picker--bar button")
    inspector.click(".agui-settings-agents button:has-text('chat')")
    say(inspector, "I am Ada", runs=1)

    assert "Ada" in inspector.text(f"{SAID} >> nth=-1")
