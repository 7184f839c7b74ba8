"""The example page made with CopilotKit, in a real browser, without a Node server."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import ROOT, Browser, example, installed

SOURCES = ROOT / "examples" / "copilotkit_page"
BUILT = Path(__file__).resolve().parent / "page"

INPUT = "[data-testid=copilot-chat-textarea]"
SEND = "[data-testid=copilot-send-button]"
SAID = "[data-testid=copilot-assistant-message] p"
IDLE = "[data-testid=copilot-chat][data-copilot-running=false]"
USER = "[data-testid=copilot-user-message]"
USAGE = "Say: add Lisbon, compare the weather, paint it teal, or book the trip."
QUESTION = "[role=alertdialog]"


@pytest.fixture(scope="module")
def built() -> Path:
    """The example beside its packages, bundled."""
    installed(BUILT, "@copilotkit/react-core")
    for source in SOURCES.iterdir():
        if source.suffix in {".css", ".html", ".jsx", ".mjs"}:
            shutil.copy(source, BUILT)
    subprocess.run(["node", "build.mjs"], cwd=BUILT, check=True, timeout=60)
    return BUILT


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """Where the page is."""
    with example("copilotkit_page", built, "0.1") as url:
        yield url


@pytest.fixture(scope="module")
def slow(built: Path) -> Iterator[str]:
    """Where it is with an agent that takes its time: a page can be reloaded meanwhile."""
    with example("copilotkit_page", built, "0.6") as url:
        yield url


@pytest.fixture
def trip(page: Browser, address: str) -> Browser:
    """A fresh page with a thread of its own."""
    return opened(page, address)


def opened(page: Browser, address: str) -> Browser:
    page.open(address)
    page.see(INPUT)
    return page


def send(page: Browser, text: str) -> None:
    page.fill(INPUT, text)
    page.click(f"{SEND}:enabled")


def say(page: Browser, text: str, answer: str) -> None:
    """Send a message; wait for the end of the answer."""
    send(page, text)
    page.see(f"{SAID}:has-text({answer!r})")
    page.see(IDLE)


def calls(page: Browser) -> list[str]:
    """The tool calls in the chat, with their results."""
    return page.texts(".call")


def cities(page: Browser) -> list[str]:
    return [text.split()[0] for text in page.texts("aside li")]


def test_chat_streams(trip: Browser) -> None:
    trip.watch(SAID)
    say(trip, "hello", USAGE)

    said = trip.said()
    assert said[-1] == USAGE
    assert len(said) >= 4, said
    assert all(USAGE.startswith(text) for text in said)


def test_page_executes_its_tool(trip: Browser) -> None:
    say(trip, "paint it teal", "Done: the page is teal.")
    say(trip, "hello", USAGE)

    assert trip.evaluate("getComputedStyle(document.querySelector('aside')).backgroundColor") == "rgb(0, 128, 128)"
    assert calls(trip) == ["paint → the page is teal"]
    assert trip.texts(SAID) == ["Done: the page is teal.", USAGE]


def test_state_is_shared_both_ways(trip: Browser) -> None:
    say(trip, "add Lisbon", "Done: added Lisbon.")
    say(trip, "add Oslo", "Done: added Oslo.")
    assert cities(trip) == ["Lisbon", "Oslo"]

    trip.click("[aria-label='Remove Lisbon']")
    trip.miss("[aria-label='Remove Lisbon']")
    say(trip, "add Paris", "Done: added Paris.")

    assert cities(trip) == ["Oslo", "Paris"]
    send(trip, "book the trip")
    trip.see(f'{QUESTION}:has-text(\'["Oslo", "Paris"]\')')


@pytest.mark.parametrize(
    ("answer", "result"),
    [("Yes", "booked Lisbon for 120 €"), ("No", "The user did not approve the call of book.")],
)
def test_question_is_answered(trip: Browser, answer: str, result: str) -> None:
    say(trip, "add Lisbon", "Done: added Lisbon.")
    send(trip, "book the trip")
    trip.see(f"{QUESTION}:has-text('Allow book with')")
    assert calls(trip) == ["add_city → added Lisbon", "book …"]

    trip.click(f"{QUESTION} button:has-text('{answer}')")
    trip.see(f"{SAID}:has-text('Done: {result}')")
    trip.see(IDLE)
    say(trip, "hello", USAGE)

    assert len(calls(trip)) == 2
    assert calls(trip)[1].startswith(f"book → {result}")
    assert len(trip.texts(SAID)) == 3
    assert trip.texts(QUESTION) == []


def test_chart_is_a_picture(trip: Browser) -> None:
    say(trip, "add Lisbon", "Done: added Lisbon.")
    say(trip, "add Oslo", "Done: added Oslo.")
    say(trip, "compare the weather", "Done: drawn")
    say(trip, "paint it teal", "Done: the page is teal.")
    send(trip, "book the trip")
    trip.see(QUESTION)

    bars = "[...document.querySelectorAll('aside rect')]"
    heights = trip.evaluate(f"{bars}.map((bar) => bar.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert heights[0] > 50
    assert heights[1] / heights[0] == pytest.approx(12 / 27, rel=0.05)
    assert trip.attribute("aside svg", "aria-label") == "°C: Lisbon 27, Oslo 12"
    trip.picture("copilotkit")


def test_stop_and_send_again(trip: Browser) -> None:
    send(trip, "hello")
    trip.see(f"{SAID}:has-text('Say:')")
    trip.click(SEND)
    trip.see(IDLE)
    assert trip.text(f"{SAID} >> nth=-1") != USAGE

    say(trip, "add Lisbon", "Done: added Lisbon.")
    assert cities(trip) == ["Lisbon"]


def test_reload_in_the_middle_of_a_run_goes_on_streaming(page: Browser, slow: str) -> None:
    trip = opened(page, slow)
    say(trip, "add Lisbon", "Done: added Lisbon.")
    send(trip, "hello")
    trip.see(f"{SAID}:has-text('Say: add')")
    trip.evaluate("location.reload()")
    trip.see(f"{SAID}:has-text('Say:')")
    trip.watch(SAID)
    trip.see(f"{SAID}:has-text({USAGE!r})")
    trip.see(IDLE)

    said = trip.said()
    assert len(said) >= 3, "it streamed"
    assert all(USAGE.startswith(text) for text in said)
    assert trip.texts(SAID) == ["Done: added Lisbon.", USAGE]
    assert trip.texts(USER) == ["add Lisbon", "hello"]
    assert cities(trip) == ["Lisbon"]


def test_question_is_asked_again_after_a_reload(trip: Browser) -> None:
    say(trip, "add Lisbon", "Done: added Lisbon.")
    send(trip, "book the trip")
    trip.see(QUESTION)
    trip.evaluate("location.reload()")
    trip.see(f"{QUESTION}:has-text('Allow book with')")
    trip.click(f"{QUESTION} button:has-text('Yes')")
    trip.see(f"{SAID}:has-text('Done: booked Lisbon for 120 €')")
    trip.see(IDLE)
    assert calls(trip) == ["add_city → added Lisbon", "book → booked Lisbon for 120 €"]


def test_stop_after_a_reload(page: Browser, slow: str) -> None:
    trip = opened(page, slow)
    send(trip, "hello")
    trip.see(f"{SAID}:has-text('Say:')")
    trip.evaluate("location.reload()")
    trip.see(f"{SAID}:has-text('Say:')")
    trip.click(SEND)
    trip.see(IDLE)
    assert trip.text(f"{SAID} >> nth=-1") != USAGE
    say(trip, "add Lisbon", "Done: added Lisbon.")


def test_chart_is_there_after_a_reload(trip: Browser) -> None:
    say(trip, "add Lisbon", "Done: added Lisbon.")
    say(trip, "compare the weather", "Done: drawn")
    trip.evaluate("location.reload()")
    trip.see("aside svg")
    assert trip.attribute("aside svg", "aria-label") == "°C: Lisbon 27"
    assert trip.text(SAID) == "Done: added Lisbon."
