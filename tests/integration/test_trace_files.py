"""How many files a reader has to open to follow one turn. Lower the figures when they fall."""

from __future__ import annotations

from tests.support.trace_files import trace_turn

PREPARATION = 37
"""Before the first native event."""
TURN = 51
TOKEN = 7


async def test_a_turn_with_one_tool_opens_few_files() -> None:
    found = await trace_turn()

    assert len(found.preparation.files) <= PREPARATION, found.preparation.files
    assert len(found.files) <= TURN, found.files
    token = [part for part in found.parts if part.event == "TEXT_MESSAGE_CONTENT"][-1]
    assert len(token.files) <= TOKEN, token.files
