"""Texts as savers keep them, against texts as clients have them."""

from __future__ import annotations

import pytest

from yai_nexus_agentkit.adapter.langgraph.request.alike import saved_as

TEXTS = [
    ("", "", True),
    ("plain", "plain", True),
    ("\ufffd", "\ufffd", True),
    ("\ufffd\U0001f600?", "????", True),
    ("\ufffd\U0001f600?", "?\U0001f600?", True),
    ("a?", "a", False),
    ("a", "a?", False),
    ("b", "?", False),
    ("\U0001f600", "?", False),
    ("?", "\ufffd", False),
]


@pytest.mark.parametrize(("sent", "stored", "same"), TEXTS)
def test_texts_as_savers_keep_them(sent: str, stored: str, same: bool) -> None:
    assert saved_as(sent, stored) is same
