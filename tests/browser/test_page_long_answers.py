"""Long answers in the chat page: they are drawn whole, and bit by bit, so that the page does not stand still."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser
from tests.browser.talking import ANSWER, MESSAGE, SIZES, page_served, send

# The most elements that came in one frame.
WATCH = """window.most = 0;
    (function look(before) {
        const now = document.querySelectorAll(".markdown *").length;
        window.most = Math.max(window.most, now - before);
        requestAnimationFrame(() => look(now));
    })(0)"""
PART = "window.most / document.querySelectorAll('.markdown *').length"
# Ask until this is the answer, for 20 seconds at most.
ASK = """(async () => {
    const ask = () => { try { return %s; } catch { return null; } };
    for (let n = 0; n < 200 && JSON.stringify(ask()) !== JSON.stringify(%s); n++)
        await new Promise((done) => setTimeout(done, 100));
    return ask();
})()"""
# What is asked of the page when all is there, and the answer.
WHOLE = {
    "paragraphs": ("document.querySelectorAll('.markdown p em').length", 5000),
    "table": (
        """[document.querySelectorAll('.markdown table').length, document.querySelectorAll('.markdown tbody tr').length,
            document.querySelector('.markdown tbody tr:last-child').innerText.trim()]""",
        [1, 5000, "row 4999\tvalue ©"],
    ),
    "list": (
        """[document.querySelectorAll('.markdown ul').length, document.querySelectorAll('.markdown li').length,
            document.querySelectorAll('.markdown li b, .markdown [href^=javascript]').length,
            document.querySelector('.markdown li:last-child').innerText]""",
        [1, 5000, 0, "item 4999 with <b>HTML</b> and x"],
    ),
    "linked": ("document.querySelectorAll('.markdown [href=\"https://example.com\"]').length", 5000),
    "code": (
        """[document.querySelectorAll('.markdown pre').length, document.querySelectorAll('.hljs-keyword').length,
            document.querySelector('.markdown code').innerText.split('\\n').slice(0, 6)]""",
        [1, 10000, ["def f0():", "    return 0", "", "def f1():", "    return 1", ""]],
    ),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with page_served("tests/support/long_answers.py:graph") as server:
        yield server.base + "/"


@pytest.mark.parametrize("message", [*WHOLE, "table stream", "code stream"])
def test_a_long_answer_is_drawn_bit_by_bit(page: Browser, address: str, message: str) -> None:
    question, answer = WHOLE[message.split()[0]]
    page.open(address)
    page.resize(*SIZES["desktop"])
    page.see(MESSAGE)
    page.evaluate(WATCH)
    send(page, message)
    page.see(f"{ANSWER} .tools")
    assert page.evaluate(ASK % (question, json.dumps(answer))) == answer
    if "code" not in message:  # That may be fast enough for one frame.
        assert page.evaluate(PART) < 0.8
