"""Titles of threads, made from a request."""

from __future__ import annotations

from typing import Any

import pytest

from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.runs.titles import first_words

IMAGE = {"type": "image", "source": {"type": "url", "value": "https://x.example/a.png"}}
LONG = "Please compare the weather of all the cities of the trip with that of last year"


def user(content: Any, number: int = 1) -> dict[str, Any]:
    return {"id": f"u{number}", "role": "user", "content": content}


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        ([], ""),
        ([user("Hello there")], "Hello there"),
        ([user("  Two\n\n lines\tand a tab ")], "Two lines and a tab"),
        ([user("first"), user("second", 2)], "first"),
        ([user("   "), user("second", 2)], "second"),
        ([{"id": "s", "role": "system", "content": "secret"}, user("asked")], "asked"),
        ([{"id": "a", "role": "assistant", "content": "Hi!"}, user("asked")], "asked"),
        ([user([IMAGE])], ""),
        ([user([IMAGE, {"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}])], "What is this?"),
        ([user(LONG)], "Please compare the weather of all the cities of the trip…"),
        ([user("x" * 61)], f"{'x' * 59}…"),
        ([user("x" * 60)], "x" * 60),
        ([user("漢" * 10_000)], f"{'漢' * 59}…"),
    ],
)
def test_the_title_is_the_beginning_of_the_first_message_with_text(messages: list[Any], title: str) -> None:
    found = first_words(parse_request({"threadId": "t", "runId": "r", "messages": messages}, warnings=[]))
    assert found == title
    assert len(found) <= 60
