"""The chat page on a phone, in the dark, by keyboard; what it loads and what it never does; and the other examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import ROOT, Browser
from tests.browser.talking import ANSWER, CARD, FOCUS, MESSAGE, QUESTION, READY, SIZES, fits, page_served, say, send

AGENTS = ("showcase", "chat", "approval", "generative_ui", "multimodal", "reasoning", "tools")
LARGEST = 350_000
"""Bytes of JavaScript, compressed, until the first message."""
LOADED = """performance.getEntriesByType("resource").filter(({name}) => name.endsWith(".js")).map(
    ({name, encodedBodySize}) => encodedBodySize)"""
MANY = """Promise.all(Array.from({ length: 55 }, (_, n) => fetch("showcase", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({
        threadId: `many-${n}`, runId: `r-${n}`, messages: [{ id: "u", role: "user", content: "hello" }] }),
}).then((answer) => answer.text())))"""
BEGINS = """new Promise((see) => setTimeout(() => see(document.scrollingElement.scrollTop === 0 &&
    document.querySelector(".question h3").getBoundingClientRect().top >=
    document.querySelector(".scroll").getBoundingClientRect().top), 300))"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with page_served(*(f"{name}=examples/{name}/agent.py:graph" for name in AGENTS)) as server:
        yield server.base + "/"


@pytest.fixture
def phone(page: Browser, address: str) -> Browser:
    page.open(address)
    page.resize(*SIZES["phone"])
    page.see(MESSAGE)
    return page


def test_it_is_small_until_the_first_message(page: Browser, address: str) -> None:
    page.open(address)
    page.see(MESSAGE)
    page.evaluate("document.fonts.ready")
    sizes = page.evaluate(LOADED)
    assert sizes
    assert 50_000 < sum(sizes) <= LARGEST


def test_nothing_of_an_answer_runs_or_asks_another_server(phone: Browser) -> None:
    """The page's fixture fails for each violation of the policy, and each request to another host."""
    say(phone, "hostile")
    assert phone.evaluate("window.hacked === undefined")
    assert "<script>" in phone.text(ANSWER)
    assert not [link for link in phone.evaluate("[...document.links].map((a) => a.href)") if "javascript" in link]
    assert phone.evaluate("document.querySelectorAll('main img').length") == 0


def test_what_cannot_be_drawn_does_not_take_the_page(page: Browser, address: str) -> None:
    page.open(f"{address}#/chat/%E0%A4%A")
    page.see(MESSAGE)
    page.choose("select[aria-label=Agent]", "chat")
    say(page, "Quoted:\n\n" + ">" * 6000)
    page.see(f"{ANSWER} .plain")
    page.open(address)  # React reports in the console what was caught.


DEEP = "\n".join("  " * n + "- item" for n in range(16))
ARABIC = "مرحبا بالعالم"
RIGHT = f"""(() => {{
    const bubble = [...document.querySelectorAll('.bubble')].at(-1), [text] = bubble.childNodes, range = new Range();
    range.setStart(text, text.data.indexOf('{ARABIC}'));
    range.setEnd(text, text.length);
    return bubble.getBoundingClientRect().right - range.getClientRects()[0].right < 20;
}})()"""
"""Whether the Arabic line of a message begins at its right."""
ODD = {
    # What an agent says -> what is asked of the page then, and the answer.
    f"###### Small\n\n{DEEP}": (
        "[...document.querySelectorAll('.markdown li')].every((li) => li.getBoundingClientRect().left < 300)",
        True,
    ),
    f"> {ARABIC}": ("getComputedStyle(document.querySelector('article:last-of-type blockquote')).direction", "rtl"),
    f"A long line in English\n{ARABIC}": (RIGHT, True),
    "```python\n" + "1\n" * 35 + "```": (
        """document.querySelector('figcaption').getBoundingClientRect().top >=
            document.querySelector('.scroll').getBoundingClientRect().top""",
        True,
    ),
}


def test_odd_answers_on_a_phone(page: Browser, address: str) -> None:
    page.open(address)
    page.resize(*SIZES["desktop"])
    page.choose("select[aria-label=Agent]", "chat")
    page.resize(*SIZES["phone"])
    for text, (question, answer) in ODD.items():
        say(page, f"Quoted:\n\n{text}\n\n")
        assert page.evaluate(question) == answer, text
        assert [*page.violations(), fits(page)] == [True], text
    assert page.printed() > 1, "on paper nothing scrolls"


def test_a_long_list_of_conversations(page: Browser, address: str) -> None:
    page.open(address)
    page.resize(*SIZES["desktop"])
    page.evaluate(MANY)
    page.evaluate("location.reload()")
    page.see("button:has-text('Show more')")
    page.press("button:has-text('Show more')", "Enter")
    page.miss("button:has-text('Show more')")
    links = page.evaluate("[...document.querySelectorAll('nav li a')].map((link) => link.href)")
    assert len(links) == len(set(links)) >= 55
    assert page.evaluate("document.activeElement.href") == links[50], "the keyboard goes on where the list did"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_in_both_colours(phone: Browser, dark: bool) -> None:
    phone.scheme(dark=dark)
    phone.evaluate("localStorage.clear(); location.reload()")
    phone.see(MESSAGE)
    assert [*phone.violations(), fits(phone)] == [True]
    for text in ("The weather in Berlin, Oslo and Paris?", "Quarterly report", "Make a plan", "Read a file"):
        say(phone, text)
        assert fits(phone), text
    assert phone.violations() == []
    for text in ("Pay Ada 50", "Book a flight"):
        send(phone, text)
        phone.see(QUESTION)
        assert [*phone.violations(), fits(phone)] == [True], text
        assert phone.evaluate(BEGINS), "a question is seen from its beginning"
        phone.picture(f"chat-phone-{'dark' if dark else 'light'}")
        phone.click(f"{QUESTION} button:text-is('{'No' if text.startswith('Pay') else 'Cancel'}')")
        phone.see(READY)
    phone.click("button[aria-label=Conversations]")
    phone.see("nav a[aria-current=page]")
    assert phone.evaluate(FOCUS) == "Close the list"
    assert [*phone.violations(), fits(phone)] == [True]
    phone.key("Escape")
    phone.miss("nav a[aria-current=page]")
    assert phone.evaluate(FOCUS) == "Conversations"
    phone.click("button[aria-label='State and events']")
    assert [*phone.violations(), fits(phone)] == [True]
    assert phone.evaluate("getComputedStyle(document.body).backgroundColor") != (
        "rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)"
    )
    phone.scheme(dark=False)


def test_colours_are_chosen_and_kept(phone: Browser) -> None:
    before = phone.evaluate("getComputedStyle(document.body).backgroundColor")
    phone.click("button[aria-label='Dark colours']")
    phone.evaluate("location.reload()")
    phone.see("button[aria-label='Light colours']")
    assert phone.evaluate("getComputedStyle(document.body).backgroundColor") != before
    phone.evaluate("localStorage.clear()")


def test_a_keyboard_is_enough(page: Browser, address: str) -> None:
    page.open(address)
    page.resize(*SIZES["desktop"])
    page.see(MESSAGE)
    page.type("Pay Ada 50")
    page.key("Enter")
    page.see(QUESTION)
    for key in ("Enter", "Space"):
        page.key(key)
    assert page.evaluate(FOCUS).startswith("Pay 50 € to Ada?"), "no key that was meant for the box answers"
    page.key("Tab")
    assert page.evaluate(FOCUS) == "Yes"
    page.press(f"{QUESTION} button:text-is('Edit')", "Enter")
    page.press(f"{QUESTION} button:text-is('Back')", "Enter")
    assert page.evaluate(FOCUS).startswith("amount"), "what was pressed is gone, the call is there"
    for key in ("Tab", "Tab", "Enter"):
        page.key(key)
    page.see(f"{ANSWER}:has-text('did not approve')")
    page.see(READY)
    assert page.evaluate(FOCUS) == "Message", "the focus comes back"

    page.type("Pay Ada 50\nThanks ")
    page.see(QUESTION)
    page.type("a lot")
    assert page.value(MESSAGE) == "Thanks a lot"
    page.click(f"{QUESTION} button:text-is('No')")
    page.see(READY)
    page.fill(MESSAGE, "Read a file")
    page.press(MESSAGE, "Enter")
    page.see(READY)
    for _ in range(40):
        page.key("Shift+Tab")
        if page.evaluate(FOCUS).startswith("pay"):
            break
    page.key("Enter")
    page.see(f"{CARD}:has-text('pay') >> text=Arguments")
    page.press("button[aria-label='State and events']", "Enter")
    page.press("button[aria-label='Close the panel']", "Enter")
    assert page.evaluate(FOCUS) == "State and events"
    page.key("Control+Shift+O")
    page.see("text=What can I do for you?")
    page.press("select[aria-label=Agent]", "ArrowDown")
    page.key("ArrowDown")
    assert page.value("select[aria-label=Agent]") == AGENTS[2]


TURNS = {
    "chat": ("I am Ada", "“I am Ada”"),
    "generative_ui": ("Show me the sales", "The chart, the table and the plan are on your page."),
    "multimodal": ("What is this?", "a PNG picture of 64 × 48 pixels"),
    "reasoning": ("How many letters?", ""),
    "tools": ("How much is 17/5?", "0 went wrong"),
}


def test_the_examples_talk_to_it(page: Browser, address: str) -> None:
    page.open(address)
    page.resize(*SIZES["desktop"])
    for name, (text, answer) in TURNS.items():
        page.choose("select[aria-label=Agent]", name)
        page.see("text=What can I do for you?")
        if name == "multimodal":
            page.upload("input[aria-label=Files]", ROOT / "examples" / "multimodal" / "sun.png")
        say(page, text)
        assert answer in page.text(f"{ANSWER} >> nth=-1")
        assert page.texts(".card.error") == []
        if name == "generative_ui":  # it has no checkpointer
            page.see("nav:has-text('This agent keeps no conversations')")
    page.choose("select[aria-label=Agent]", "approval")
    send(page, "Please pay Ada 50")
    page.click(f"{QUESTION} button:text-is('Yes')")
    page.see(f"{ANSWER}:has-text('paid 50 € to Ada')")

    page.click("button:has-text('New chat')")
    page.fill(MESSAGE, "a draft")
    page.evaluate("history.back()")
    page.see(f"{ANSWER}:has-text('paid 50 € to Ada')")
    page.evaluate("history.forward()")
    page.see("text=What can I do for you?")
    page.evaluate("location.reload()")
    page.see("text=What can I do for you?")
    assert (page.value("select[aria-label=Agent]"), page.value(MESSAGE)) == ("approval", "a draft")
    page.fill(MESSAGE, "")


def test_it_works_without_tls_on_another_machine(page: Browser, address: str) -> None:
    page.open(address.replace("127.0.0.1", "page.example"))
    page.see(MESSAGE)
    assert page.evaluate("isSecureContext") is False
    say(page, "hello")
    assert "Say: weather" in page.text(ANSWER)
    page.evaluate("location.reload()")
    page.see(f"{ANSWER}:has-text('Say: weather')")
