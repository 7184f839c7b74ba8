"""The example page made with the AI SDK's ``useChat``, built with Vite, in a real browser."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import ROOT, Browser, example, installed

SOURCES = ROOT / "examples" / "ai_sdk_page"
BUILT = Path(__file__).resolve().parent / "ai_sdk_page"
SIZES = {"desktop": (1360, 860), "phone": (390, 844)}

INPUT, SEND, STOP = "[aria-label=Message]", "form button:has-text('Send')", "form button:has-text('Stop')"
SAID = ".assistant p:not(.thought)"
USER, TOOL = ".user p", ".tool"
READY = "main[data-status=ready]"
USAGE = "Say: what is the weather in Lisbon, book Lisbon, or paint it teal."
QUESTION = "[role=alertdialog]"


@pytest.fixture(scope="module")
def built() -> Path:
    """The example beside its packages, bundled."""
    BUILT.mkdir(exist_ok=True)
    installed(BUILT, "@ai-sdk/react")
    for source in SOURCES.iterdir():
        if source.suffix in {".css", ".html", ".jsx", ".js"}:
            shutil.copy(source, BUILT)
    subprocess.run(["npm", "run", "--silent", "build"], cwd=BUILT, check=True, timeout=90, capture_output=True)
    return BUILT


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """The page's address."""
    with example("ai_sdk_page", built, "0.03") as url:
        yield url


@pytest.fixture(scope="module")
def slow(built: Path) -> Iterator[str]:
    """The same with an agent that takes its time: a page can be reloaded meanwhile."""
    with example("ai_sdk_page", built, "0.25") as url:
        yield url


def opened(page: Browser, address: str, size: str = "desktop") -> Browser:
    page.open(address)
    page.resize(*SIZES[size])
    page.see(INPUT)
    return page


@pytest.fixture(params=list(SIZES))
def desk(request: pytest.FixtureRequest, page: Browser, address: str) -> Iterator[Browser]:
    """A fresh page with a chat of its own. Nothing on it is wider than the screen."""
    yield opened(page, address, request.param)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def send(page: Browser, text: str) -> None:
    page.fill(INPUT, text)
    page.click(SEND)


def say(page: Browser, text: str, answer: str) -> None:
    """Send a message; wait for the end of the answer."""
    send(page, text)
    page.see(f"{SAID}:has-text({answer!r})")
    page.see(READY)


def test_text_streams_behind_a_thought(desk: Browser) -> None:
    desk.watch(SAID)
    say(desk, "hello", USAGE)
    said = desk.said()
    assert said[-1] == USAGE
    assert len(said) >= 4, said
    assert all(USAGE.startswith(text) for text in said)
    assert desk.texts(".thought") == ["They do not know what I can do."]


def test_a_tool_is_a_card(desk: Browser) -> None:
    say(desk, "weather in Oslo", "Done:")
    assert desk.texts(TOOL) == ['weather {"city":"Oslo"}\n{"city":"Oslo","degrees":12}']


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [("Yes", "output-available", "Done: booked Lisbon for 120 €."), ("No", "output-denied", "Done: The user did not")],
)
def test_a_question_is_answered(desk: Browser, answer: str, state: str, said: str) -> None:
    send(desk, "book Lisbon")
    desk.see(QUESTION)
    desk.click(f"{QUESTION} button:has-text('{answer}')")
    desk.see(f"{SAID}:has-text({said!r})")
    desk.see(READY)
    assert desk.attribute(TOOL, "data-state") == state
    say(desk, "hello", USAGE)
    assert len(desk.texts(TOOL)) == 1


def test_the_page_executes_its_tool(desk: Browser) -> None:
    say(desk, "paint it teal", "Done: the page is teal.")
    desk.see("header[style*=teal]")
    assert desk.texts(f"{TOOL} .result") == ["the page is teal"]


def test_a_reload_in_the_middle_of_an_answer_goes_on(page: Browser, slow: str) -> None:
    desk = opened(page, slow, "phone")
    send(desk, "hello")
    desk.see(f"{SAID}:has-text('Say: what')")
    desk.evaluate("location.reload()")
    desk.see(f"{SAID}:has-text('Say: what')")
    desk.watch(SAID)
    desk.see(f"{SAID}:has-text({USAGE!r})")
    desk.see(READY)
    said = desk.said()
    assert len(said) >= 3, "it streamed"
    assert all(USAGE.startswith(text) for text in said)
    assert (desk.texts(USER), desk.texts(SAID)) == (["hello"], [USAGE])


def test_a_question_is_there_after_a_reload(page: Browser, address: str) -> None:
    desk = opened(page, address)
    say(desk, "what is the weather in Lisbon?", "Done:")
    say(desk, "paint it teal", "Done: the page is teal.")
    send(desk, "book Lisbon")
    desk.see(QUESTION)
    desk.resize(760, 860)
    desk.picture("ai-sdk")
    desk.evaluate("location.reload()")
    desk.click(f"{QUESTION} button:has-text('Yes')")
    desk.see(f"{SAID}:has-text('Done: booked Lisbon for 120 €.')")
    desk.see(READY)
    assert [text.split()[0] for text in desk.texts(TOOL)] == ["weather", "paint", "book"]


def test_stop_ends_the_run_and_the_chat_goes_on(page: Browser, slow: str) -> None:
    desk = opened(page, slow)
    send(desk, "hello")
    desk.see(f"{SAID}:has-text('Say:')")
    desk.click(STOP)
    desk.see(READY)
    say(desk, "weather in Oslo", "Done:")
    assert desk.text(SAID) != USAGE
